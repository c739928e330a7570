"""The wheel: every module once, and nothing else at the top."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = {
    "graphfix/cli": ROOT / "cli",
    "graphfix/codemods": ROOT / "codemods",
    "graphfix/fixtures": ROOT / "fixtures",
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


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    if setuptools_version() < 77:
        pytest.skip("setuptools is too old to build the wheel without a download")
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "source"
    for part in ("src", "cli", "codemods", "fixtures"):
        shutil.copytree(ROOT / part, copy / part, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    words = ["wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(folder), str(copy)]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, timeout=600)
    (wheel,) = folder.glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


def test_the_wheel_holds_every_module_once(names: list[str]) -> None:
    assert sorted(name for name in names if name.endswith(".py")) == modules()


def test_nothing_else_lies_at_the_top(names: list[str]) -> None:
    tops = {name.split("/")[0] for name in names}
    assert "graphfix" in tops
    assert all(top == "graphfix" or (top.startswith("graphfix-") and top.endswith(".dist-info")) for top in tops)


def test_what_single_fixtures_expect_is_in_the_wheel(names: list[str]) -> None:
    wanted = {
        f"graphfix/fixtures/{path.relative_to(ROOT / 'fixtures').as_posix()}" for path in (ROOT / "fixtures").rglob("*.toml")
    }
    assert wanted and wanted <= set(names)


def test_the_recorded_facts_about_torch_are_in_the_wheel(names: list[str]) -> None:
    wanted = [f"graphfix/models/{path.name}" for path in (ROOT / "src/graphfix/models").glob("*.json")]
    assert wanted and set(wanted) <= set(names)
