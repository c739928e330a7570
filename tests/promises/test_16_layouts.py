"""Promise 16: nothing is written outside of the given folders, whatever leads there."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

Run = Callable[..., subprocess.CompletedProcess[bytes]]
Lay = Callable[[Path, Path], object]


def chain(root: Path, out: Path) -> None:
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("three")
    (root / "three").symlink_to(out)


def environment(root: Path, out: Path) -> None:
    (root / "env").symlink_to(out)
    (out / "pyvenv.cfg").touch()


def packages(root: Path, out: Path) -> None:
    (root / "lib").mkdir()
    (root / "lib/site-packages").symlink_to(out)


# in each of them `out` is a folder beside the given one, with a fault in x.py
LAYOUTS: dict[str, Lay] = {
    "a link to a file": lambda root, out: (root / "x.py").symlink_to(out / "x.py"),
    "a relative link to a file": lambda root, out: (root / "x.py").symlink_to("../out/x.py"),
    "a link to a link": lambda root, out: ((root / "y.py").symlink_to("x.py"), (root / "x.py").symlink_to(out / "x.py")),
    "a hard link": lambda root, out: os.link(out / "x.py", root / "x.py"),
    "a link to a folder": lambda root, out: (root / "sub").symlink_to(out),
    "a link to the folder above": lambda root, out: (root / "up").symlink_to(".."),
    "a link to the root": lambda root, out: (root / "all").symlink_to("/"),
    "a loop": lambda root, out: (root / "loop").symlink_to("."),
    "a chain of links": chain,
    "a link named like a notebook": lambda root, out: (root / "n.ipynb").symlink_to(out / "x.py"),
    "an environment": environment,
    "installed packages": packages,
}
ASKED = {
    "the folder": ["apply", "--allow-dirty", "."],
    "by way of the folder above": ["apply", "--allow-dirty", "../root"],
    "by two ways": ["apply", "--allow-dirty", ".", "../root/."],
    "all that is in it": ["apply", "--allow-dirty", "*"],
    "each rule": ["apply", "--allow-dirty", "--unsafe-fixes", "--jobs", "2", "."],
}


def seen(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """The files of a folder: their bytes, and what tells one file from another in its place."""
    return {path.name: (path.read_bytes(), path.stat().st_ino, path.stat().st_mtime_ns) for path in folder.iterdir()}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_lies_outside_stays_as_it_was(
    tmp_path: Path, graphfix: Run, loops: SimpleNamespace, layout: str, asked: str
) -> None:
    root, out = tmp_path / "root", tmp_path / "out"
    root.mkdir()
    out.mkdir()
    (root / "good.py").write_text(loops.total)
    (out / "x.py").write_text(loops.total)
    LAYOUTS[layout](root, out)
    before = seen(out)
    words = [word for given in ASKED[asked] for word in (sorted(os.listdir(root)) if given == "*" else [given])]
    if layout == "a link to a folder" and asked == "all that is in it":
        words.remove("sub")  # whoever names a folder gives it
    if asked == "all that is in it" and layout in (
        "a link to the folder above",
        "a link to the root",
        "a chain of links",
        "an environment",
    ):
        words = [word for word in words if word.endswith(".py") or word.startswith(("apply", "--"))]
    done = graphfix(*words, cwd=root)
    assert b"Traceback" not in done.stderr
    assert seen(out) == before
    assert (root / "good.py").read_text() == loops.total_fixed
