"""Copies of a project to run in: what a script writes there never reaches the user's tree."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from graphfix.verify.folders import temporary

LIMIT = 4 << 30  # bytes of one copy
# caches, and environments that are used from where they are; everything else may be what a script reads
LEFT_OUT = frozenset(
    (".git", ".hg", ".svn", ".mypy_cache", ".nox", ".pytest_cache", ".ruff_cache", ".tox", "__pycache__", "node_modules")
)
# where an interpreter finds modules: also what the finders of editable installations know
ASK_PATHS = """\
import json, os, sys
paths = list(sys.path)
for finder in sys.meta_path:
    module = sys.modules.get(getattr(finder, "__module__", ""))
    mapping = getattr(module, "MAPPING", None)
    if isinstance(mapping, dict):
        paths += [os.path.dirname(str(path)) for path in mapping.values()]
print(json.dumps(paths))
"""


class TooLarge(Exception):
    """A project that is too large to copy, or no room for it."""


@contextmanager
def copied(project: Path, changes: Mapping[Path, bytes]) -> Iterator[Path]:
    """A copy of the folder `project` in which the files `changes` (real paths) have other bytes; gone when the block ends.

    A link into the project leads to the same place of the copy; one that leads out of it leads where it did (`leading_out`).
    Raises `TooLarge` before anything is copied.
    """
    files = list(_files(project))
    with temporary() as folder:
        _check_room(files, folder)
        copy = Path(os.path.realpath(folder)) / project.name
        copy.mkdir()
        for path in files:
            target = copy / path.relative_to(project)
            if path.is_symlink():
                real = Path(os.path.realpath(path))
                inside = real.is_relative_to(project)
                target.symlink_to(os.path.relpath(copy / real.relative_to(project), target.parent) if inside else real)
            elif path.is_dir():
                target.mkdir(exist_ok=True)
            elif path in changes:
                target.write_bytes(changes[path])
                shutil.copystat(path, target)
            else:
                shutil.copy2(path, target)
        yield copy


def leading_out(project: Path) -> list[tuple[Path, Path]]:
    """The links in a copy of `project` by which a run reaches what is no copy, below it, and where they lead."""
    links = ((path, Path(os.path.realpath(path))) for path in _files(project) if path.is_symlink())
    return sorted((path.relative_to(project), real) for path, real in links if not real.is_relative_to(project))


def _files(project: Path) -> Iterator[Path]:
    """Folders before what is in them; only what can be copied."""
    for folder, folders, names in os.walk(project):
        here = Path(folder)
        links = [name for name in folders if os.path.islink(here / name)]
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT and not os.path.lexists(here / name / "pyvenv.cfg"))
        yield from (here / name for name in folders)
        yield from (here / name for name in names if os.path.islink(here / name) or os.path.isfile(here / name))
        folders[:] = [name for name in folders if name not in links]


def _check_room(files: list[Path], folder: Path) -> None:
    size = sum(path.lstat().st_size for path in files)
    if size > LIMIT:
        raise TooLarge(f"{size / (1 << 30):.1f} GiB, and a copy may have {LIMIT >> 30}")
    if size > shutil.disk_usage(folder).free:
        raise TooLarge(f"{size / (1 << 20):.0f} MiB, which do not fit in {folder.parent}")


def import_paths(python: tuple[str, ...], project: Path) -> list[Path]:
    """The folders inside of `project` from which the interpreter imports wherever it is started, relative to it.

    Installed in place (`pip install -e .`), a project would be imported from the user's tree also by a script in a copy.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(
        [*python, "-c", ASK_PATHS], capture_output=True, text=True, check=False, cwd=tempfile.gettempdir(), env=environment
    )
    if done.returncode:
        return []
    found = (Path(os.path.realpath(entry)) for entry in json.loads(done.stdout.splitlines()[-1]) if entry)
    return list(dict.fromkeys(path.relative_to(project) for path in found if path.is_relative_to(project)))
