"""One analysis of a text serves whatever is asked of it, and holds as long as the files that it has read say the same."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import graphfix.run.engine
from graphfix.model import Applicability, Decorate, Finding, Fix, Label, Span, Wrap
from graphfix.run import cache, store
from graphfix.run.again import forget_files
from graphfix.run.baseline import Baseline
from graphfix.run.engine import Analysis
from graphfix.run.examine import Job, examine
from graphfix.run.outcome import Outcome
from graphfix.run.selection import Wanted
from graphfix.run.together import covers, repaired_once, together
from graphfix.server.examination import Found, examined

ASKED: dict[str, dict[str, Any]] = {
    "check": {"ahead": True},
    "check without what repairs show": {},
    "another selection": {"wanted": Wanted(select=("GF101",)), "ahead": True},
    "nothing ignored but": {"wanted": Wanted(ignore=("GF103",)), "ahead": True},
    "unsafe fixes": {"wanted": Wanted(unsafe=True), "ahead": True},
    "another format": {"edits": True, "ahead": True},
    "diff": {"repair": True},
    "pr": {"repair": True, "stages": True},
    "a baseline": {"baseline": Baseline(Path("known.json"), {}), "ahead": True},
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHFIX_CACHE_DIR", str(tmp_path / "kept"))


@pytest.fixture
def project(tmp_path: Path, loops: SimpleNamespace) -> Path:
    (tmp_path / "p/sub").mkdir(parents=True)
    (tmp_path / "p/pyproject.toml").write_text("")
    (tmp_path / "p/sub/train.py").write_text(loops.total)
    return tmp_path / "p"


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files of which a text was analysed."""
    met: list[str] = []
    analyse = graphfix.run.engine.analyse

    def noted(path: Path, *rest: Any) -> Analysis:
        met.append(path.name)
        return analyse(path, *rest)

    monkeypatch.setattr(graphfix.run.engine, "analyse", noted)
    return met


def asked(root: Path, path: Path, kept: bool = True, **what: Any) -> Outcome:
    """What a process of its own says of a file."""
    forget_files()
    job = Job((root,), cache=cache.opened((root,)) if kept else None, **what)
    return replace(examine(path, job), seconds=0.0)


@pytest.mark.parametrize("second", ASKED.values(), ids=list(ASKED))
def test_what_one_command_has_analysed_no_other_one_analyses(project: Path, looked: list[str], second: dict[str, Any]) -> None:
    path = project / "sub/train.py"
    asked(project, path, ahead=True)
    assert looked
    looked.clear()
    found = asked(project, path, **second)
    # what is written is analysed to its end; a check only looks whether that brings something to light
    assert looked == ["train.py"] * ("repair" in second)
    assert found == asked(project, path, kept=False, **second)


def test_a_repair_leaves_a_text_that_is_known(project: Path, looked: list[str]) -> None:
    path = project / "sub/train.py"
    path.write_bytes(asked(project, path, repair=True).after)
    looked.clear()
    assert asked(project, path, ahead=True).findings == ()
    assert looked == []


def test_a_run_that_starts_elsewhere_goes_by_the_same_analysis(
    project: Path, looked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    first = asked(project, Path("sub/train.py"), ahead=True)
    looked.clear()
    monkeypatch.chdir(project / "sub")
    second = asked(project, Path("train.py"), ahead=True)
    assert looked == []
    assert {finding.path for finding in second.findings} == {"train.py"}
    assert {label.path for finding in second.findings for label in finding.story} == {"train.py"}
    assert [finding.span for finding in second.findings] == [finding.span for finding in first.findings]


def test_only_texts_that_no_command_has_made_are_analysed(project: Path, looked: list[str], loops: SimpleNamespace) -> None:
    path = project / "sub/train.py"
    path.write_text(loops.both)
    asked(project, path, ahead=True)
    looked.clear()
    assert asked(project, path, wanted=Wanted(select=("GF901",)), repair=True).changed
    assert looked == ["train.py"]  # the text with that one fix


def test_an_optional_finding_is_proven_once_it_is_asked_for(project: Path, looked: list[str]) -> None:
    path = project / "sub/train.py"
    path.write_text(path.read_text() + "print(loss.data)\nvalue = float(loss)\n")
    assert {finding.code for finding in asked(project, path).findings} == {"GF101"}
    old = Wanted(extend=("GF9",))
    found = asked(project, path, wanted=old)
    assert len(found.findings) > 1
    assert found == asked(project, path, kept=False, wanted=old)
    looked.clear()
    assert asked(project, path, wanted=old) == found
    assert len(asked(project, path).findings) == 1
    assert looked == []


def test_an_editor_is_told_what_a_check_has_found(project: Path, looked: list[str]) -> None:
    path = project / "sub/train.py"
    first = asked(project, path, ahead=True)
    looked.clear()
    (found, *_) = examined(path, path.read_text(), ())
    assert isinstance(found, Found) and found.outcome.findings == first.findings
    assert looked == ["train.py"]  # the repaired text, for its edits
    list(examined(path, path.read_text() + "# more\n", ()))
    before = store.size(store.folder())
    list(examined(path, path.read_text() + "# and more\n", ()))
    assert looked == ["train.py"]  # a comment changes no more than places
    list(examined(path, path.read_text() + "more = 1\n", ()))
    assert len(looked) == 3 and store.size(store.folder()) == before  # what nobody has saved is not kept


# a module, and the programs that import it: one whose finding tells of it, and one whose finding does not
MODULE = '''\
"""What is lost."""
LIMIT = 3  # steps
def mean(values):
    """The mean."""
    return values.mean()  # of all
class Store:
    def keep(self, value):
        self.last = value
'''
ALONE = """\
import torch
import losses
net, total = torch.nn.Linear(2, 1), 0
for x in torch.ones(4, 1, 2):
    loss = losses.mean(net(x))
    loss.backward()
    total += loss
print(total)
"""


TOLD = """\
import torch
from losses import scale_
out = torch.sigmoid(torch.nn.Linear(4, 1)(load()))
y = out * out
scale_(out)
y.sum().backward()
"""


@pytest.fixture
def importing(project: Path) -> Path:
    (project / "losses.py").write_text(MODULE)
    (project / "alone.py").write_text(ALONE)
    return project


CHANGES: dict[str, tuple[Callable[[str], str], bool]] = {
    "a comment": (lambda text: text.replace("# steps", "# of training"), False),
    "a comment of its own": (lambda text: "# all of it\n\n" + text, False),
    "a docstring": (lambda text: text.replace("The mean.", "What is\n    in the middle."), False),
    "nothing but its time": (lambda text: text, False),
    "a number": (lambda text: text.replace("3", "4"), True),
    "an operation": (lambda text: text.replace(".mean()  #", ".sum()  #"), True),
    "a docstring more": (lambda text: text.replace("class Store:\n", 'class Store:\n    """It keeps."""\n'), True),
    "a docstring that is a name": (lambda text: text.replace("The mean.", "backward"), True),
    "a text that is none": (lambda text: text.replace("LIMIT = 3", 'LIMIT = "3"'), True),
    "its syntax": (lambda text: text + "(\n", True),
}


@pytest.mark.parametrize(("change", "counts"), CHANGES.values(), ids=list(CHANGES))
def test_what_an_imported_file_says_counts_and_not_its_comments(
    importing: Path, looked: list[str], change: Callable[[str], str], counts: bool
) -> None:
    path, module = importing / "alone.py", importing / "losses.py"
    asked(importing, path)
    module.write_text(change(MODULE))
    os.utime(module, ns=(1, 1))
    looked.clear()
    again = asked(importing, path)
    assert looked == ["alone.py"] * counts
    assert again == asked(importing, path, kept=False)
    looked.clear()
    asked(importing, path)
    assert looked == []


def test_a_file_that_drives_another_is_looked_at_for_it(project: Path, looked: list[str]) -> None:
    drives = "import torch\nfrom step import step\nw = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\nstep(loss)\n"
    path, driver = project / "step.py", project / "drive.py"
    path.write_text("kept = []\n\ndef step(loss):\n    loss.backward()\n    kept.append(loss)\n")
    driver.write_text(drives)
    first = asked(project, path)
    looked.clear()
    path.write_text("# steps\n" + path.read_text())
    driver.write_text(drives)
    assert asked(project, path).findings == first.findings == ()
    looked.clear()
    driver.write_text(drives + "for _ in range(9):\n    step((w * w).sum())\n")
    assert asked(project, path).findings
    assert looked == ["drive.py"]


def test_a_docstring_that_a_program_reads_counts(importing: Path, looked: list[str]) -> None:
    path, module = importing / "alone.py", importing / "losses.py"
    path.write_text(ALONE + "print(losses.mean.__doc__)\n")
    asked(importing, path)
    looked.clear()
    module.write_text(MODULE.replace("# steps", "# of training"))
    asked(importing, path)
    assert looked == []
    module.write_text(MODULE.replace("The mean.", "What is in the middle."))
    asked(importing, path)
    assert looked == ["alone.py"]


def test_lines_that_are_told_are_never_those_of_before(importing: Path, looked: list[str]) -> None:
    """A story that goes through the imported file has its places there."""
    other, path = importing / "alone.py", importing / "losses.py"
    path.write_text("def scale_(x):\n    x.mul_(2)\n")
    other.write_text(TOLD)
    first = asked(importing, path)
    assert {Path(label.path).name for finding in first.findings for label in finding.story} >= {"alone.py"}
    looked.clear()
    other.write_text("# more\n" + other.read_text())
    again = asked(importing, path)
    assert looked == ["alone.py"]
    assert again == asked(importing, path, kept=False) != first


def test_of_files_so_large_that_some_may_be_left_out_every_byte_counts(
    importing: Path, looked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, module = importing / "alone.py", importing / "losses.py"
    asked(importing, path)
    monkeypatch.setattr("graphfix.interpreter.imports.MAX_BYTES", len(MODULE) + len(ALONE))
    module.write_text(MODULE + "#" * len(ALONE) * 2)
    looked.clear()
    asked(importing, path)
    assert looked == ["alone.py"]


def test_a_fault_elsewhere_with_the_repair_of_one_here_is_told_once() -> None:
    decorate = Fix(Applicability.UNSAFE, "run `f` under no_grad", (Decorate(Span(10, 90), "torch.no_grad()"),))
    here = Finding("GF103", "graph-in-evaluation", "here", "a.py", Span(40, 50), (Label("a.py", Span(40, 50), "records"),), decorate)
    elsewhere = replace(here, message="elsewhere", span=Span(10, 90), story=(Label("b.py", Span(7, 9), "records"),))
    other = replace(elsewhere, code="GF101")
    assert repaired_once([elsewhere, here, other], {elsewhere, other}) == (here, other)
    assert repaired_once([elsewhere, here], ()) == (elsewhere, here)
    assert repaired_once([elsewhere], {elsewhere}) == (elsewhere,)


def test_the_repair_of_a_function_ends_what_another_program_shows_inside_of_it() -> None:
    """It decorates the function in which the other one wraps statements; of two that are safe alike the first one is told."""
    decorated = Fix(Applicability.UNSAFE, "run `f` under no_grad", (Decorate(Span(10, 90), "torch.no_grad()"),))
    wrapped = replace(decorated, operations=(Wrap((Span(60, 70),), "with torch.no_grad():"),))
    whole = Finding("GF103", "graph-in-evaluation", "whole", "a.py", Span(40, 50), (Label("a.py", Span(40, 50), "records"),), decorated)
    inner = replace(whole, message="inner", span=Span(60, 70), fix=wrapped)
    other = replace(inner, message="other", span=Span(50, 60), fix=decorated)
    safe = replace(inner, message="safe", fix=replace(wrapped, applicability=Applicability.SAFE))
    outside = replace(inner, message="outside", span=Span(91, 95), fix=replace(wrapped, operations=(Wrap((Span(91, 95),), "with torch.no_grad():"),)))
    left = [
        [finding.message for finding in together("a.py", analysis(first), analysis(second)).findings]
        for first, second in ((whole, inner), (inner, whole), (whole, other), (whole, safe), (whole, outside))
    ]
    assert left == [["whole"], ["whole"], ["whole"], ["whole", "safe"], ["whole", "outside"]]
    assert not covers(wrapped.operations[0], decorated.operations[0])


def analysis(*findings: Finding) -> Analysis:
    return Analysis(findings)
