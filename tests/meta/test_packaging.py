"""The wheel: every module once, and nothing else at the top. The source distribution: the tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from graphfix.verify.cases import cases_in

ROOT = Path(__file__).parents[2]
SOURCES = {
    "graphfix/cli": ROOT / "cli",
    "graphfix/codemods": ROOT / "codemods",
    "graphfix": ROOT / "src/graphfix",
}


def setuptools_version() -> int:
    try:
        return int(version("setuptools").split(".")[0])
    except PackageNotFoundError:
        return 0


def modules() -> list[str]:
    """Where each module of the sources belongs in the wheel."""
    return sorted(
        f"{package}/{path.relative_to(folder).as_posix()}"
        for package, folder in SOURCES.items()
        for path in folder.rglob("*.py")
        # the linked folders are counted where they really are
        if package != "graphfix" or path.relative_to(folder).parts[0] not in ("cli", "codemods")
    )


def too_old() -> None:
    if setuptools_version() < 77:
        pytest.skip("setuptools is too old to build without a download")


def copied(copy: Path) -> Path:
    """The tree without what was built in it, so that building leaves nothing behind."""
    drop = shutil.ignore_patterns("__pycache__", "*.egg-info", ".git", ".venv", "build", "dist", ".*_cache", ".hypothesis")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=drop)
    return copy


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    too_old()
    return built(tmp_path_factory.mktemp("wheel"))


def built(folder: Path) -> Path:
    """The wheel of a copy of the tree, as for a release: with the time that all its files are given."""
    words = ["wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(folder), str(copied(folder / "source"))]
    subprocess.run(
        [sys.executable, "-m", "pip", *words], check=True, timeout=600, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    )
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def names(wheel: Path) -> list[str]:
    """What the wheel holds."""
    return zipfile.ZipFile(wheel).namelist()


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The files of the source distribution."""
    too_old()
    folder = tmp_path_factory.mktemp("sdist")
    program = f"import setuptools.build_meta as backend; backend.build_sdist({str(folder)!r})"
    done = subprocess.run([sys.executable, "-c", program], cwd=copied(folder / "source"), capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        return {member.name.partition("/")[2] for member in tar if member.isfile()}


def test_two_wheels_of_one_tree_are_the_same(wheel: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    again = built(tmp_path / "elsewhere")
    assert again.name == wheel.name
    assert again.read_bytes() == wheel.read_bytes()


def test_the_wheel_holds_every_module_once(names: list[str]) -> None:
    assert sorted(name for name in names if name.endswith(".py")) == modules()


def test_nothing_else_lies_at_the_top(names: list[str]) -> None:
    tops = {name.split("/")[0] for name in names}
    assert "graphfix" in tops
    assert all(top == "graphfix" or (top.startswith("graphfix-") and top.endswith(".dist-info")) for top in tops)


def test_the_fixtures_are_one_archive_of_the_wheel(wheel: Path, names: list[str], tmp_path: Path) -> None:
    assert [name for name in names if "fixtures" in name and not name.endswith(".py")] == ["graphfix/verify/fixtures.zip"]
    zipfile.ZipFile(wheel).extractall(tmp_path)
    folder = ROOT / "fixtures"
    wanted = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.suffix in (".py", ".toml")}
    assert wanted == set(zipfile.ZipFile(tmp_path / "graphfix/verify/fixtures.zip").namelist())


def test_an_installed_package_unpacks_its_fixtures(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    program = "from graphfix.verify.cases import bundled, cases_in; print(bundled(), len(cases_in(bundled())))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site"), "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    folder, count = done.stdout.split()
    assert folder.startswith(str(tmp_path / "graphfix-fixtures-")) and int(count) == len(cases_in(ROOT / "fixtures"))
    assert not Path(folder).exists()


def test_what_is_known_of_libraries_is_in_the_wheel(names: list[str]) -> None:
    folder = ROOT / "src/graphfix/effects"
    wanted = [f"graphfix/effects/{path.name}" for kind in ("*.json", "*.toml") for path in folder.glob(kind)]
    assert len(wanted) > 2 and set(wanted) <= set(names)


def test_the_wheel_says_that_it_has_types(names: list[str]) -> None:
    assert "graphfix/py.typed" in names


@pytest.mark.parametrize("folder", ["tests", "fixtures", "docs", "scripts", "benchmarks", "cli", "codemods", ".ci"])
def test_the_source_distribution_holds_what_lies_in(folder: str, packed: set[str]) -> None:
    wanted = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix not in (".pyc", ".pyo")
    }
    assert wanted and wanted <= packed


def test_the_source_distribution_holds_the_sources_once(packed: set[str]) -> None:
    assert {"src/graphfix/py.typed", "src/graphfix/effects/torch_table.json", "pyproject.toml", "LICENSE", "README.md"} <= packed
    assert [name for name in packed if name.startswith(("src/graphfix/cli/", "src/graphfix/codemods/"))] == []
