"""Which files a change touches: those that import what changed, and what those drive."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.project import importers
from graphfix.project.importers import importing
from graphfix.run import again
from graphfix.run.again import imports_of, touched


def tree(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)


def names(folder: Path, changed: str, before: dict[Path, frozenset[Path]] | None = None) -> list[str]:
    again.forget_files()
    now = imports_of([folder])
    assert now is not None
    return sorted(path.stem for path in touched({folder / f"{changed}.py"}, before or now, now))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path.resolve()


def test_a_file_that_nobody_knows_stands_alone(folder: Path) -> None:
    tree(folder, a="x = 1\n", b="import os, torch\nfrom a_b import c\n")
    assert names(folder, "a") == ["a"]
    assert names(folder, "b") == ["b"]


def test_importers_over_any_number_of_files(folder: Path) -> None:
    tree(folder, a="", b="import a\n", c="from b import x\n", d="from c import (\n    x,\n    y)\n", e="from .d import x\n", z="")
    assert names(folder, "a") == ["a", "b", "c", "d", "e"]


def test_what_a_file_drives(folder: Path) -> None:
    tree(folder, a="", b="import a\n", c="import b\n", d="import c\n")
    assert names(folder, "c") == ["a", "b", "c", "d"]
    assert names(folder, "d") == ["a", "b", "c", "d"]


def test_what_else_an_importer_drives(folder: Path) -> None:
    tree(folder, a="", other="", main="import a, other\n")
    assert names(folder, "a") == ["a", "main", "other"]


def test_an_import_that_is_gone_counts_once_more(folder: Path) -> None:
    tree(folder, a="", b="import a\n")
    before = imports_of([folder])
    assert before is not None
    (folder / "b.py").write_text("")
    again.forget_files()
    assert names(folder, "b", dict(before)) == ["a", "b"]


def test_a_file_that_is_new_or_gone_touches_who_imports_it(folder: Path) -> None:
    tree(folder, b="import a\n")
    before = imports_of([folder])
    assert before is not None
    tree(folder, a="")
    assert names(folder, "a", dict(before)) == ["a", "b"]
    again.forget_files()
    there = imports_of([folder])
    (folder / "a.py").unlink()
    assert names(folder, "a", dict(there or {})) == ["a", "b"]


def test_packages_and_circles(folder: Path) -> None:
    (folder / "pkg").mkdir()
    tree(folder, main="import pkg\n")
    tree(folder / "pkg", __init__="from .one import x\n", one="from . import two\n", two="from pkg.one import x\n")
    assert names(folder, "pkg/two") == ["__init__", "main", "one", "two"]
    assert names(folder, "main") == ["__init__", "main", "one", "two"]


def test_too_large_a_project_is_not_known(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(folder, a="x = 1\n")
    monkeypatch.setattr(again, "MAX_BYTES", 1)
    assert imports_of([folder]) is None


def test_to_give_memory_back_costs_no_second_search_for_who_imports_whom(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(folder, net="", train="import net\n")
    again.forget_files()
    assert list(importing(folder / "net.py", (folder,))) == [folder / "train.py"]
    searched: list[Path] = []
    monkeypatch.setattr(importers, "programs_below", lambda root: searched.append(root))
    again.let_go()
    assert list(importing(folder / "net.py", (folder,))) == [folder / "train.py"] and not searched
    again.forget_files()
    assert list(importing(folder / "net.py", (folder,))) == [] and searched == [folder]
    again.forget_files()
