"""What is kept from run to run: used where nothing has changed, and nowhere else."""

from __future__ import annotations

import os
import pickle
import random
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import graphfix.run.engine
from graphfix.effects.schema import Returns, Row
from graphfix.interpreter.conventions import Conventions
from graphfix.run import cache, limits, store
from graphfix.run.again import forget_files
from graphfix.run.engine import Analysis, Fault
from graphfix.run.examine import Job, examine
from graphfix.run.outcome import Outcome
from graphfix.run.selection import Wanted


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHFIX_CACHE_DIR", str(tmp_path / "kept"))


@pytest.fixture
def project(tmp_path: Path, loops: SimpleNamespace) -> Path:
    (tmp_path / "p/sub").mkdir(parents=True)
    (tmp_path / "p/train.py").write_text(f"from sub.rates import rate\nprint(rate)\n{loops.total}")
    (tmp_path / "p/sub/rates.py").write_text("from sub.base import rate\n")
    (tmp_path / "p/sub/base.py").write_text("rate = 1\n")
    (tmp_path / "p/sub/other.py").write_text("x = 1\n")
    return tmp_path / "p"


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were analysed."""
    met: list[Path] = []
    analyse = graphfix.run.engine.analyse

    def noted(path: Path, *rest: object) -> Analysis:
        met.append(path)
        return analyse(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(graphfix.run.engine, "analyse", noted)
    return met


def run(project: Path, wanted: Wanted | None = None, repair: bool = False) -> Outcome:
    """What a process of its own would say."""
    forget_files()
    job = Job((project,), wanted or Wanted(), repair, cache=cache.opened((project,)))
    return examine(project / "train.py", job)


def test_the_second_run_only_reads(project: Path, looked: list[Path]) -> None:
    first, second = run(project), run(project)
    assert first == second and len(first.findings) == 1
    assert len(looked) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda project: (project / "train.py").write_text((project / "train.py").read_text() + "more = 1\n"),
        lambda project: (project / "sub/rates.py").write_text("rate = 2\n"),
        lambda project: (project / "sub/base.py").write_text("rate = 2\n"),
        lambda project: (project / "sub/other.py").write_text("import train\n"),
        lambda project: (project / "sub/new.py").write_text(""),
        lambda project: (project / "sub/other.py").unlink(),
        lambda project: (project / ".gitignore").write_text("sub\n"),
    ],
    ids=["its code", "what it imports", "what that imports", "who imports whom", "a new file", "a file that is gone", "ignored"],
)
def test_what_has_changed_is_looked_at_again(project: Path, looked: list[Path], change: Callable[[Path], object]) -> None:
    run(project)
    change(project)
    run(project)
    assert looked[:2] == [project / "train.py"] * 2


def test_what_no_analysis_has_read_may_change(project: Path, looked: list[Path]) -> None:
    first = run(project)
    (project / "sub/other.py").write_text("x = 2\n")
    assert run(project) == first
    assert len(looked) == 1


def test_a_file_that_drives_another_is_looked_at_for_it(project: Path, looked: list[Path]) -> None:
    (project / "step.py").write_text("def step(loss):\n    loss.backward()\n    return loss\n")
    drives = "import torch\nfrom step import step\nw = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\n"
    (project / "drive.py").write_text(drives + "step(loss)\n")
    job = Job((project,), Wanted(), False, cache=cache.opened((project,)))
    assert examine(project / "step.py", job).findings == ()
    (project / "drive.py").write_text(drives + "step(loss)\nstep(loss)\n")
    forget_files()
    job = Job((project,), Wanted(), False, cache=cache.opened((project,)))
    examine(project / "step.py", job)
    assert looked == [project / "step.py", project / "drive.py", project / "drive.py"]


def test_a_change_that_keeps_size_and_time_is_seen(project: Path, looked: list[Path]) -> None:
    run(project)
    other = project / "sub/rates.py"
    before = other.stat()
    other.write_text("from sub.cast import rate\n")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    run(project)
    assert len(looked) == 2


def test_a_link_to_nothing_hides_no_change(project: Path, looked: list[Path]) -> None:
    (project / "sub/a.py").symlink_to("nothing.py")
    run(project)
    (project / "sub/rates.py").write_text("rate = 22\n")
    run(project)
    assert len(looked) == 2


def test_other_wishes_are_other_outcomes(project: Path) -> None:
    assert len(run(project).findings) == 1
    assert run(project, Wanted(ignore=("GF101",))).findings == ()
    assert run(project, repair=True).changed
    assert not run(project).changed


@pytest.mark.parametrize("broken", [b"", b"no database", b"SQLite format 3\0" + b"x" * 5000])
def test_a_broken_database_costs_nothing_but_time(project: Path, broken: bytes) -> None:
    first = run(project)
    store.close()
    (project.parent / "kept" / store.NAME).write_bytes(broken)
    assert [run(project) for _ in range(3)] == [first] * 3
    assert cache.opened((project,)) is not None
    with sqlite3.connect(project.parent / "kept" / store.NAME) as database:
        # its source, its analysis, which files that tells of, what says the same, and who imports whom
        assert database.execute("SELECT COUNT(*) FROM outcome").fetchone() == (5,)


@pytest.mark.parametrize("made", [b"\0\xff", b"null", b'["text",[]]', b'[["Analysis"],null]', b'[["Analysis"],["train.py"]]', pickle.dumps((Analysis(), ()))])
def test_what_is_kept_but_no_analysis_is_not_used(project: Path, looked: list[Path], made: bytes) -> None:
    run(project)
    with sqlite3.connect(project.parent / "kept" / store.NAME) as database:
        database.execute("UPDATE outcome SET made = ?", (made,))
    assert len(run(project).findings) == 1
    assert len(looked) == 2


def test_a_place_that_cannot_be_had_is_done_without(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project.parent / "file").write_text("")
    monkeypatch.setenv("GRAPHFIX_CACHE_DIR", str(project.parent / "file"))
    assert len(run(project).findings) == 1


def test_links_to_folders_are_not_trusted(project: Path) -> None:
    (project / "linked").symlink_to(project.parent)
    assert cache.opened((project,)) is None


def test_a_tree_without_end_is_not_looked_through(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        (project / f"data{number}.txt").touch()
    assert cache.opened((project,)) is not None
    monkeypatch.setattr(cache, "MAX_ENTRIES", 20)
    monkeypatch.setattr(cache, "_own_files", lambda: ())
    assert cache.opened((project,)) is None


def test_what_may_turn_out_otherwise_is_not_kept(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(path: Path, *rest: object) -> Analysis:
        return Analysis(faults=(Fault("GF101", ValueError("odd")),))

    def endless(path: Path, *rest: object) -> Analysis:
        while True:
            pass

    monkeypatch.setattr(limits, "SECONDS", 0.2)
    for analyse in (faulty, endless):
        monkeypatch.setattr(graphfix.run.engine, "analyse", analyse)
        assert run(project).findings == ()
    monkeypatch.undo()
    monkeypatch.setenv("GRAPHFIX_CACHE_DIR", str(project.parent / "kept"))
    assert len(run(project).findings) == 1


def test_it_stays_within_its_bounds(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = cache.opened((project,))
    assert kept is not None
    for number in range(50):
        kept.put({bytes([number]): (bytes(20_000), ())})
    where = store.folder()
    before = store.size(where)
    monkeypatch.setattr(store, "MAX_BYTES", 200_000)
    store.trim(where / store.NAME)
    assert store.size(where) < before
    assert kept.get(bytes([0]), bytes) is None or kept.get(bytes([49]), bytes) is not None


# each file of a project in the forms that it goes through, which its neighbours' findings depend on
FORMS = {
    "losses.py": [
        "def total(net, x):\n    return net(x).sum()\n",
        "def total(net, x):\n    return net(x).sum().item()\n",
        "from shared import LIMIT\ndef total(net, x):\n    loss = net(x).sum()\n    loss.backward()\n    return loss\n",
    ],
    "shared.py": ["LIMIT = 3\n", "LIMIT = None\n"],
    "engine.py": [
        "from losses import total\ndef epoch(net, data):\n    seen = 0\n    for x in data:\n        seen += total(net, x)\n    return seen\n",
        "from losses import total\nclass Engine:\n    def step(self, net, x):\n        self.last = total(net, x)\n        return self.last\n",
    ],
    "train.py": [
        "import torch\nfrom engine import epoch\nnet = torch.nn.Linear(2, 1)\nprint(epoch(net, torch.ones(4, 1, 2)))\n",
        "import torch\nfrom engine import Engine\nnet, engine = torch.nn.Linear(2, 1), Engine()\nfor x in torch.ones(4, 1, 2):\n"
        "    engine.step(net, x).backward()\n    engine.last.backward()\n",
        "import torch\n",
    ],
}  # fmt: skip


def test_whatever_is_changed_the_cache_says_what_a_fresh_run_says(tmp_path: Path) -> None:
    chance = random.Random(7)
    found = 0
    (tmp_path / "p").mkdir()
    for name, forms in FORMS.items():
        (tmp_path / "p" / name).write_text(forms[0])
    for _ in range(60):
        name = chance.choice(sorted(FORMS))
        comments = chance.choice(["", "", "# first\n", '"""What it does."""\n', "# first\n\n# and second\n"])
        (tmp_path / "p" / name).write_text(comments + chance.choice(FORMS[name]))
        told = []
        for kept in (cache.opened((tmp_path / "p",)), None):
            forget_files()
            job = Job((tmp_path / "p",), Wanted(), False, cache=kept)
            told.append([replace(examine(path, job), seconds=0.0) for path in sorted((tmp_path / "p").iterdir())])
        assert told[0] == told[1] and not any(outcome.faults for outcome in told[0])
        found += any(outcome.findings for outcome in told[0])
    assert found > 5


def test_settings_are_spelled_once_for_all_files(monkeypatch: pytest.MonkeyPatch) -> None:
    spelled = 0
    ordered = cache._ordered

    def counted(value: object) -> object:
        nonlocal spelled
        spelled += 1
        return ordered(value)

    monkeypatch.setattr(cache, "_ordered", counted)
    rows = tuple(Row(f"m.f{number}", Returns.NUMBER) for number in range(100))
    kept = cache.for_this_run()
    one, equal, other = Conventions(rows=rows), Conventions(rows=tuple(list(rows))), Conventions(rows=rows[1:])
    first = kept.key("analysis", "a.py", one)
    assert spelled > 100
    spelled = 0
    assert kept.key("analysis", "a.py", one) == first and kept.key("analysis", "b.py", one) != first
    assert spelled < 10
    assert kept.key("analysis", "a.py", equal) == first != kept.key("analysis", "a.py", other)
