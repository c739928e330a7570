from __future__ import annotations

import ast
import contextlib
import gc
import multiprocessing
import os
import random
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import graphfix.run.again
import graphfix.run.engine
from graphfix.run import limits, pool
from graphfix.run.again import forget_files
from graphfix.run.engine import Analysis
from graphfix.run.examine import Job
from graphfix.run.outcome import Outcome, Status
from graphfix.run.workers import LARGE, MIN_FILES, examine_all, examined_here

pytestmark = pytest.mark.deep


def many(folder: Path, loops: SimpleNamespace, number: int = 60) -> list[Path]:
    files = [folder / f"f{count:03}.py" for count in range(number)]
    for count, file in enumerate(files):
        file.write_text([loops.total, loops.legacy, loops.clean, "backward("][count % 4])
    return files


def seen(outcomes: list[Outcome]) -> list[tuple[object, ...]]:
    return [(outcome.path, outcome.status, outcome.findings, outcome.after) for outcome in outcomes]


@pytest.mark.parametrize("repair", [False, True])
def test_any_number_of_workers_gives_the_same(tmp_path: Path, loops: SimpleNamespace, repair: bool) -> None:
    files = many(tmp_path, loops)
    job = Job((tmp_path,), repair=repair)
    alone = seen(list(examine_all(files, job, 1)))
    assert [outcome[0] for outcome in alone] == files
    for jobs in (2, 5):
        assert seen(list(examine_all(files, job, jobs))) == alone


def test_the_order_of_files_does_not_change_any_outcome(tmp_path: Path, loops: SimpleNamespace) -> None:
    files = many(tmp_path, loops, 12)
    job = Job((tmp_path,), repair=True)
    expected = sorted(seen(list(examine_all(files, job, 1))), key=str)
    random.Random(7).shuffle(files)
    assert sorted(seen(list(examine_all(files, job, 1))), key=str) == expected


def test_a_worker_that_dies_costs_its_file_only(tmp_path: Path, loops: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    files = many(tmp_path, loops, 40)

    def dies(path: Path, text: str, *how: object) -> Analysis:
        if path.name == "f010.py":
            os._exit(9)
        return Analysis()

    monkeypatch.setattr(graphfix.run.engine, "analyse", dies)
    outcomes = list(examine_all(files, Job((tmp_path,)), 2))
    failed = [outcome.path.name for outcome in outcomes if outcome.status is Status.INTERNAL]
    assert [outcome.path for outcome in outcomes] == files
    assert failed == ["f010.py"]


def test_no_worker_is_left_once_the_last_outcome_is_there(tmp_path: Path, loops: SimpleNamespace) -> None:
    """Whoever counts the outcomes asks for no further one."""
    files = many(tmp_path, loops, 40)
    outcomes = examine_all(files, Job((tmp_path,)), 2)
    assert [next(outcomes).path for _ in files] == files
    assert not multiprocessing.active_children()
    outcomes.close()


@pytest.mark.parametrize("error", [ValueError("odd"), RecursionError(), KeyError("x")])
def test_an_engine_that_raises_costs_its_file_only(
    tmp_path: Path, loops: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    files = many(tmp_path, loops, 2)

    def raises(path: Path, text: str, *how: object) -> Analysis:
        if path == files[0]:
            raise error
        return Analysis()

    monkeypatch.setattr(graphfix.run.engine, "analyse", raises)
    first, second = examine_all(files, Job((tmp_path,)), 1)
    assert (first.status, second.status) == (Status.INTERNAL, Status.EXAMINED)
    assert type(error).__name__ in first.reason


def test_a_file_that_takes_too_long_is_told_and_the_others_go_on(
    tmp_path: Path, loops: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = many(tmp_path, loops, 3)

    def endless(path: Path, text: str, *how: object) -> Analysis:
        while path == files[1]:
            with contextlib.suppress(Exception):  # as a rule's own fault would be survived
                hash(text)
        return Analysis()

    monkeypatch.setattr(graphfix.run.engine, "analyse", endless)
    monkeypatch.setattr(limits, "SECONDS", 0.3)
    outcomes = list(examine_all(files, Job((tmp_path,)), 1))
    assert [bool(outcome.unfinished) for outcome in outcomes] == [False, True, False]
    assert "takes more than" in outcomes[1].unfinished and not outcomes[1].changed
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_an_end_that_python_swallows_comes_again_and_is_not_printed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    class Lingering:
        def __del__(self) -> None:
            while not ended:
                len(ended)

    ended: list[None] = []
    monkeypatch.setattr(limits, "SECONDS", 0.2)
    with pytest.raises(limits.TookTooLong), limits.limited_time():
        Lingering()
        while True:
            len(ended)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("cost", ["memory", "code that heeds no signal"])
def test_a_worker_that_has_to_be_ended_costs_the_file_it_was_at(
    tmp_path: Path, loops: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, cost: str
) -> None:
    files = many(tmp_path, loops, 40)

    def costs(path: Path, text: str, *how: object) -> Analysis:
        if path == files[10]:
            bytearray(3 << 30) if cost == "memory" else time.sleep(600)
        return Analysis()

    monkeypatch.setattr(graphfix.run.engine, "analyse", costs)
    monkeypatch.setattr(limits, "PATIENCE", 2.0)
    outcomes = list(examine_all(files, Job((tmp_path,)), 2))
    assert [outcome.path for outcome in outcomes] == files
    wrong = {outcome.path: outcome.status for outcome in outcomes if outcome.status not in (Status.EXAMINED, Status.UNREADABLE)}
    assert wrong == {files[10]: Status.SKIPPED if cost == "memory" else Status.INTERNAL}


def test_one_process_has_the_memory_of_a_worker(tmp_path: Path, loops: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    files = many(tmp_path, loops, 3)

    def costs(path: Path, text: str, *how: object) -> Analysis:
        if path == files[1]:
            bytearray(3 << 30)  # not touched: where nothing limits it, it does no harm
        return Analysis()

    monkeypatch.setattr(graphfix.run.engine, "analyse", costs)
    before = resource.getrlimit(resource.RLIMIT_AS)
    outcomes = list(examine_all(files, Job((tmp_path,)), 1))
    assert [outcome.status for outcome in outcomes] == [Status.EXAMINED, Status.SKIPPED, Status.EXAMINED]
    assert outcomes[1].reason == "it takes more than 1 GiB of memory"
    # what else the process does, or starts, has its own
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert examined_here(files[1], Job((tmp_path,)), files[1].read_bytes()).status is Status.SKIPPED


def test_a_large_file_may_end_its_process_and_costs_itself_only(
    tmp_path: Path, loops: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As libcst's parser does, which is no Python, where it gets no more memory."""
    files = many(tmp_path, loops, 3)
    files[1].write_text(loops.total + "# x\n" * LARGE)

    def costs(path: Path, text: str, *how: object) -> Analysis:
        if path == files[1]:
            os.kill(os.getpid(), signal.SIGKILL)
        return Analysis()

    monkeypatch.setattr(graphfix.run.engine, "analyse", costs)
    outcomes = list(examine_all(files, Job((tmp_path,)), 1))
    assert [outcome.status for outcome in outcomes] == [Status.EXAMINED, Status.INTERNAL, Status.EXAMINED]
    assert examined_here(files[1], Job((tmp_path,)), files[1].read_bytes()).reason.startswith("its worker process died")
    assert not multiprocessing.active_children()


def test_files_that_are_only_kept_are_let_go_once_there_is_much_more(monkeypatch: pytest.MonkeyPatch) -> None:
    now, forgotten = {"used": 0}, []
    monkeypatch.setattr(limits, "memory_in_use", lambda: now["used"])
    monkeypatch.setattr(limits, "_bearable", limits.PLENTY)
    monkeypatch.setattr(graphfix.run.again, "let_go", lambda: forgotten.append(now["used"]))
    for used in (
        limits.PLENTY - 1,
        limits.PLENTY,
        limits.PLENTY + 1,
        limits.PLENTY + limits.MORE - 1,
        limits.PLENTY + limits.MORE,
    ):
        now["used"] = used
        limits.spare_memory()
    assert forgotten == [limits.PLENTY, limits.PLENTY + limits.MORE]


def test_no_tree_of_a_file_outlives_the_files_that_are_forgotten(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("def of_no_other_file(net, x):\n    for _ in range(3):\n        x = net(x)\n    return x\n")
    training = "import torch\nfrom net import of_no_other_file\nof_no_other_file(torch.nn.Linear(1, 1), torch.ones(1)).sum().backward()\n"
    (tmp_path / "train.py").write_text(training)
    (tmp_path / "other.py").write_text("import torch\ntorch.ones(1, requires_grad=True).sum().backward()\n")
    files = [tmp_path / "train.py", tmp_path / "other.py"]
    assert all(outcome.status is Status.EXAMINED for outcome in examine_all(files, Job(roots=(tmp_path,)), 1))
    forget_files()
    gc.collect()
    left = [each for each in gc.get_objects() if isinstance(each, ast.FunctionDef) and each.name == "of_no_other_file"]
    assert left == []


def test_files_that_are_only_kept_are_let_go_before_one_that_needs_much_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgotten: list[str] = []
    monkeypatch.setattr(graphfix.run.again, "let_go", lambda: forgotten.append("let go"))
    monkeypatch.setattr(limits, "memory_in_use", lambda: limits.ROOM - limits.TIMES * 2 * LARGE)
    path = tmp_path / "a.py"
    path.write_bytes(b" " * (2 * LARGE + 1))
    limits.make_room(path, None)
    limits.make_room(path, b"x = 1\n")
    limits.make_room(path, b" " * (2 * LARGE))
    limits.make_room(tmp_path / "gone.py", None)
    assert forgotten == ["let go"]
    limits.make_room(tmp_path / "gone.py", b" " * (2 * LARGE + 1))
    assert len(forgotten) == 2
    monkeypatch.setattr(limits, "memory_in_use", lambda: limits.ROOM)
    limits.make_room(path, b" " * LARGE)
    assert len(forgotten) == 2


@pytest.mark.parametrize(("text", "is_loaded"), [("import torch\ntorch.ones(1).backward()\n", True), ("import torch\n", False)])
def test_workers_share_the_analysis_where_a_file_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, is_loaded: bool
) -> None:
    loads: list[bool] = []
    monkeypatch.setattr(pool, "warm_analysis", lambda job: loads.append(True))
    files = [tmp_path / f"{number}.py" for number in range(MIN_FILES + 1)]
    for path in files[:-1]:
        path.write_text("")
    files[5].write_text(text)  # and the last one is not there
    outcomes = list(examine_all(files, Job(roots=(tmp_path,)), 2))
    assert [outcome.status for outcome in outcomes] == [*[Status.EXAMINED] * MIN_FILES, Status.UNREADABLE]
    assert bool(loads) == is_loaded


def test_memory_that_is_let_go_goes_back_to_the_system() -> None:
    kept = [bytes(2000) for _ in range(100_000)]
    last = bytes(2000)  # what lives on behind it keeps a heap from shrinking
    full = limits.memory_in_use()
    del kept
    limits._let_go()
    assert limits.memory_in_use() < full - (50 << 20) and last
