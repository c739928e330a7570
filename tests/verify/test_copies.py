"""Copies to run in: everything that a script may read is there, and nothing that it writes gets out."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from graphfix.files.place import project_of
from graphfix.verify import copies
from graphfix.verify.copies import TooLarge, copied, import_paths, leading_out


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    for name, text in {
        "train.py": "old", "data/a.csv": "1,2", ".git/config": "", "venv/pyvenv.cfg": "", "venv/lib/x.py": "",
        "pkg/__pycache__/m.pyc": "", "pkg/m.py": "m", "build/weights.bin": "w",
    }.items():  # fmt: skip
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "latest").symlink_to("data")
    (root / "empty").mkdir()
    return root


def test_what_a_copy_has(project: Path) -> None:
    with copied(project, {project / "train.py": b"new"}) as copy:
        found = {str(path.relative_to(copy)) for path in copy.rglob("*")}
        assert (copy / "train.py").read_bytes() == b"new"
        assert (copy / "latest").is_symlink() and (copy / "latest/a.csv").read_text() == "1,2"
    assert found >= {"train.py", "data/a.csv", "pkg/m.py", "build/weights.bin", "empty"}
    assert not any(name.startswith((".git", "venv")) or "__pycache__" in name for name in found)
    assert not copy.exists()
    assert (project / "train.py").read_text() == "old"


def test_what_is_written_in_a_copy_stays_there(project: Path) -> None:
    with copied(project, {}) as copy:
        (copy / "data/a.csv").write_text("changed")
        (copy / "latest/b.csv").write_text("made")
    assert (project / "data/a.csv").read_text() == "1,2"
    assert not (project / "data/b.csv").exists()


def test_a_link_into_the_project_leads_into_the_copy(project: Path, tmp_path: Path) -> None:
    """Also by an absolute name, by the name of a link to the project, by way of what lies around it, and by other links."""
    (tmp_path / "alias").symlink_to(project)
    (project / "pkg/deep").mkdir()
    links = {
        "absolute": project / "data", "by_alias": tmp_path / "alias/data", "around": Path("../work/data"), "pkg/deep/chain": project / "latest",
        "file": project / "data/a.csv", "new": project / "data/made_later", "top": project,
    }  # fmt: skip
    for name, place in links.items():
        (project / name).symlink_to(place)
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file() and not path.is_symlink()}
    with copied(project, {}) as copy:
        for name in ("absolute", "by_alias", "around", "pkg/deep/chain", "top/data"):
            assert (copy / name).resolve() == copy / "data"
            (copy / name / f"{len(name)}.txt").write_text("made")
        (copy / "file").write_text("changed")
        (copy / "new").write_text("made")
        assert (copy / "data/made_later").read_text() == "made" and (copy / "latest/a.csv").read_text() == "changed"
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file() and not path.is_symlink()} == before
    assert leading_out(project) == []


def test_links_that_lead_out_lead_where_they_did_and_are_known(project: Path, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/b.csv").write_text("3")
    (project / "pkg/relative").symlink_to("../../shared")
    (project / "dangling").symlink_to(tmp_path / "gone")
    with copied(project, {}) as copy:
        assert (copy / "pkg/relative/b.csv").read_text() == "3"
    assert leading_out(project) == [(Path("dangling"), tmp_path / "gone"), (Path("pkg/relative"), tmp_path / "shared")]


def test_too_much_to_copy_is_said_before_anything_is(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "LIMIT", 3)
    with pytest.raises(TooLarge, match="GiB"), copied(project, {}):
        pass


def test_a_project_is_its_git_work_tree_or_the_folder(project: Path, tmp_path: Path) -> None:
    assert project_of(project / "pkg/m.py") == project
    (tmp_path / "alone").mkdir()
    assert project_of(tmp_path / "alone") == tmp_path / "alone"


def test_the_folders_that_an_interpreter_imports_from(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after `pip install -e`: a copy has to be imported from the copy."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(project / "pkg"), "/elsewhere")))
    assert import_paths((sys.executable,), project) == [Path("pkg")]
