"""`graphfix review` through a real pseudo-terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pexpect
import pytest

from tests.repair.programs import ADVERSARIES, HEAD

ASKS = r"(?:take it|leave it)\? \[[^]]*\] "
CONFIRMS = r"write \d+ files?(?: so far)?\? \[[^]]*\] "


class Sitting:
    """One run of the command, answered key by key."""

    def __init__(self, command: str, folder: Path, words: tuple[str, ...], environment: dict[str, str]) -> None:
        variables = os.environ | {"XDG_STATE_HOME": str(folder.parent / "state"), "TERM": "dumb"} | environment
        self.child = pexpect.spawn(
            command, ["review", *words], cwd=folder, env=variables, encoding="utf-8", timeout=300, dimensions=(50, 160)
        )

    def shown(self, prompt: str = ASKS) -> str:
        """What is said up to the next question."""
        self.child.expect(prompt)
        return str(self.child.before).replace("\r\n", "\n")

    def answer(self, keys: str, prompt: str = ASKS) -> str:
        """Answer question by question; what is said before the last one."""
        said = ""
        for key in keys:
            said = self.shown(prompt)
            self.child.send(key)
        return said

    def end(self) -> tuple[str, int]:
        """What is said at the end, and the exit code."""
        self.child.expect(pexpect.EOF)
        self.child.close()
        return str(self.child.before).replace("\r\n", "\n"), self.child.exitstatus


Start = Callable[..., Sitting]


@pytest.fixture
def folder(tmp_path: Path, loops: SimpleNamespace) -> Path:
    """Two files: two findings in the first, one in the second."""
    made = tmp_path / "project"
    made.mkdir()
    (made / "a.py").write_text(loops.both)
    (made / "b.py").write_text(loops.total)
    return made


@pytest.fixture
def start(command: str, folder: Path) -> Start:
    return lambda *words, **environment: Sitting(command, folder, words, environment)


def contents(folder: Path) -> list[str]:
    return [(folder / name).read_text() for name in ("a.py", "b.py")]


def fixed(text: str) -> str:
    return text.replace("+= loss\n", "+= loss.item()\n").replace("loss.data[0]", "loss.item()")


def test_taken_fixes_are_written_once_confirmed(folder: Path, start: Start) -> None:
    before = contents(folder)
    sitting = start()
    said = sitting.answer("y")
    assert "3 findings to decide on in 2 files" in said and "error[GF901]" in said
    assert "-    print(loss.data[0])\n+    print(loss.item())" in said
    said = sitting.answer("yy")
    assert "b.py: 3 of 3" in said and "+    total += loss.item()" in said
    sitting.shown(r"write 2 files\? \[y,N,u\] ")
    assert contents(folder) == before
    sitting.child.send("y")
    said, code = sitting.end()
    assert ("Wrote 2 files: a.py, b.py" in said, code) == (True, 0)
    assert contents(folder) == [fixed(text) for text in before]
    assert not list((folder.parent / "state").rglob("*.json"))


def test_it_ends_with_what_takes_it_back(folder: Path, start: Start) -> None:
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    before = contents(folder)
    sitting = start()
    sitting.answer("yny")
    sitting.answer("y", CONFIRMS)
    said, code = sitting.end()
    assert (said.splitlines()[-1], code) == ("Undo: git restore a.py b.py", 1)
    subprocess.run(["bash", "-c", said.splitlines()[-1].removeprefix("Undo: ")], cwd=folder, check=True)
    assert contents(folder) == before


def test_left_findings_stay_and_count(folder: Path, start: Start) -> None:
    before = contents(folder)
    sitting = start()
    sitting.answer("nny")
    sitting.answer("y", CONFIRMS)
    said, code = sitting.end()
    assert code == 1 and "2 findings left" in said
    assert contents(folder) == [before[0], fixed(before[1])]


def test_keys_typed_ahead_are_answers(folder: Path, start: Start) -> None:
    before = contents(folder)
    sitting = start()
    sitting.child.send("yyyy")
    said, code = sitting.end()
    assert code == 0, said
    assert contents(folder) == [fixed(text) for text in before]


@pytest.mark.parametrize("key", ["\x1b[A", "é"], ids=["arrow", "two bytes"])
def test_a_key_of_several_characters_is_one_answer(folder: Path, start: Start, key: str) -> None:
    sitting = start("b.py")
    sitting.shown()
    sitting.child.send(key)
    assert sitting.answer("q").count("take this fix") == 1
    assert "take this fix" not in sitting.end()[0]


def test_a_closed_terminal_has_no_more_keys() -> None:
    ours, theirs = os.openpty()
    program = (
        "import sys\n"
        "from graphfix.cli.keys import keys_at_once, next_key\n"
        "with keys_at_once():\n"
        "    print('ready', file=sys.stderr, flush=True)\n"
        "    try:\n"
        "        next_key()\n"
        "    except EOFError:\n"
        "        print('ended', file=sys.stderr)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=theirs, stderr=subprocess.PIPE, text=True) as process:
        os.close(theirs)
        assert process.stderr is not None and process.stderr.readline() == "ready\n"
        os.close(ours)
        assert process.stderr.read() == "ended\n"
    assert process.returncode == 0


def test_nothing_taken_nothing_asked(folder: Path, start: Start) -> None:
    before = contents(folder)
    sitting = start()
    sitting.answer("nnn")
    said, code = sitting.end()
    assert code == 1 and "3 findings left" in said and "write" not in said
    assert contents(folder) == before


def test_all_of_a_rule_reaches_over_files(folder: Path, start: Start) -> None:
    before = contents(folder)
    sitting = start()
    sitting.answer("na")
    sitting.answer("y", CONFIRMS)
    assert sitting.end()[1] == 1
    assert contents(folder) == [before[0].replace("+= loss\n", "+= loss.item()\n"), fixed(before[1])]


def test_undo_takes_back_what_followed_too(folder: Path, start: Start) -> None:
    before = contents(folder)
    sitting = start()
    sitting.answer("na")
    sitting.answer("u", CONFIRMS)
    assert "a.py: 2 of 3" in sitting.answer("u")
    assert "a.py: 1 of 3" in sitting.answer("u")
    assert "nothing to undo" in sitting.answer("y")
    sitting.answer("nn")
    sitting.answer("y", CONFIRMS)
    sitting.end()
    assert contents(folder) == [before[0].replace("loss.data[0]", "loss.item()"), before[1]]


def test_a_comment_silences_and_says_why(folder: Path, start: Start) -> None:
    sitting = start("b.py")
    sitting.answer("s")
    sitting.child.expect(r"why\? ")
    sitting.child.sendline("")
    assert "a comment needs a reason" in sitting.answer("s")
    sitting.child.expect(r"why\? ")
    sitting.child.sendline("the whole graph is wanted")
    sitting.answer("y", CONFIRMS)
    assert sitting.end()[1] == 0
    assert "    total += loss  # graphfix: ignore[GF101] the whole graph is wanted\n" in (folder / "b.py").read_text()


def test_a_comment_goes_behind_a_statement_of_several_lines(folder: Path, start: Start) -> None:
    """Where the first line ends in a backslash there is no room."""
    text = (folder / "b.py").read_text().replace("total += loss\n", "total \\\n        += loss\n")
    (folder / "b.py").write_text(text)
    sitting = start("b.py")
    sitting.answer("s")
    sitting.child.expect(r"why\? ")
    sitting.child.sendline("so be it")
    sitting.answer("y", CONFIRMS)
    assert sitting.end()[1] == 0
    assert "total \\\n        += loss  # graphfix: ignore[GF101] so be it\n" in (folder / "b.py").read_text()


def editor(folder: Path, program: str) -> dict[str, str]:
    """An editor that does what `program` says with the `text` that it is given."""
    script = folder.parent / "editor.py"
    script.write_text(
        "import os, sys\nfrom pathlib import Path\nfile = Path(sys.argv[1])\ntext = file.read_text()\n"
        f"{program}\nfile.write_text(text)\nos.utime(file, (2e9, 2e9))\n"
    )
    return {"VISUAL": f"{sys.executable} {script}"}


def test_an_edited_fix_is_what_is_written(folder: Path, start: Start) -> None:
    (folder / "b.py").write_bytes((folder / "b.py").read_bytes().replace(b"\n", b"\r\n"))
    before = (folder / "b.py").read_bytes()
    change = "assert 'loss.item()' in text\ntext = text.replace('loss.item()', 'float(loss.detach())\\n    print(step)')"
    sitting = start("b.py", **editor(folder, change))
    sitting.answer("e")
    sitting.answer("y", CONFIRMS)
    assert sitting.end()[1] == 0
    assert (folder / "b.py").read_bytes() == before.replace(b"+= loss\r\n", b"+= float(loss.detach())\r\n    print(step)\r\n")


def test_an_edit_that_does_not_parse_is_asked_for_again(folder: Path, start: Start) -> None:
    program = "text = text.replace('(((', 'loss.detach()') if '(((' in text else text.replace('loss.item()', '(((')"
    sitting = start("b.py", **editor(folder, program))
    sitting.answer("e")
    assert "that cannot be done: 13: syntax error" in sitting.answer("y", r"edit again\? \[y,N\] ")
    sitting.answer("y", CONFIRMS)
    assert sitting.end()[1] == 0
    assert "total += loss.detach()\n" in (folder / "b.py").read_text()


def test_a_stopped_review_goes_on(folder: Path, start: Start) -> None:
    before = contents(folder)
    sitting = start()
    sitting.answer("yq")
    sitting.answer("n", CONFIRMS)
    said, code = sitting.end()
    assert code == 1 and "your answers are kept" in said
    assert contents(folder) == before
    # lines above what was decided, and below it
    (folder / "a.py").write_text("# a comment\n\n" + before[0])
    sitting = start()
    said = sitting.answer("u")
    assert "2 findings to decide on" in said and "1 answer of last time kept" in said and "a.py: 2 of 3" in said
    assert "a.py: 1 of 3" in sitting.answer("y")
    sitting.answer("yn")
    sitting.answer("y", CONFIRMS)
    assert sitting.end()[1] == 1
    assert contents(folder) == ["# a comment\n\n" + fixed(before[0]), before[1]]


def test_what_is_decided_so_far_can_be_written(folder: Path, start: Start) -> None:
    before = contents(folder)
    sitting = start()
    sitting.answer("ynq")
    sitting.answer("y", r"write 1 file so far\? \[y,N\] ")
    said, code = sitting.end()
    assert code == 1 and "1 finding to go" in said
    assert contents(folder) == [before[0].replace("loss.data[0]", "loss.item()"), before[1]]
    said = start().answer("q")
    assert "1 finding to decide on" in said and "b.py: 2 of 2" in said


def test_a_new_start_forgets(folder: Path, start: Start) -> None:
    sitting = start()
    sitting.answer("yyq")
    sitting.answer("n", CONFIRMS)
    sitting.end()
    assert "3 findings to decide on" in start("--restart").answer("q")


def test_the_page_of_the_rule_is_at_hand(folder: Path, start: Start) -> None:
    sitting = start("b.py")
    assert "\nFix safety\n" in sitting.answer("rq")


@pytest.mark.parametrize(
    ("words", "terminal", "coloured"),
    [([], "dumb", False), (["--color", "always"], "dumb", True), ([], "xterm", True), (["--color", "never"], "xterm", False)],
)
def test_colours_are_those_that_are_wanted(folder: Path, start: Start, words: list[str], terminal: str, coloured: bool) -> None:
    review = start(*words, TERM=terminal)
    assert ("\x1b[1;31m" in review.shown()) is coloured
    review.child.send("q")


def test_another_key_says_which_there_are(folder: Path, start: Start) -> None:
    assert "take this fix" in start("b.py").answer("zq")


@pytest.mark.parametrize("stop", ["\x03", "\x04"], ids=["ctrl-c", "ctrl-d"])
def test_stopped_by_the_terminal_answers_are_kept(folder: Path, start: Start, stop: str) -> None:
    before = contents(folder)
    sitting = start()
    sitting.answer("y" + stop)
    if stop == "\x04":
        sitting.answer("n", CONFIRMS)
    said, code = sitting.end()
    assert code == (130 if stop == "\x03" else 1) and "your answers are kept" in said and "Traceback" not in said
    assert contents(folder) == before
    assert "2 findings to decide on" in start().answer("q")


def test_unsafe_fixes_are_shown_and_marked(folder: Path, start: Start) -> None:
    case = Path(__file__).parents[2] / "fixtures/GF303-missing-detach"
    (before,) = sorted(case.glob("unsafe_*/before.py"))[:1]
    (folder / "c.py").write_text(before.read_text())
    said = start("c.py").answer("q")
    assert "fix (unsafe)" in said and "unsafe: it may change what a run computes" in said


def test_a_finding_without_a_fix_cannot_be_taken(folder: Path, start: Start) -> None:
    (before,) = sorted((Path(__file__).parents[2] / "fixtures").glob("*/display_*/before.py"))[:1]
    (folder / "c.py").write_text(before.read_text())
    sitting = start("c.py")
    said = sitting.answer("y")
    assert "no fix to apply" in said
    assert "take this fix" not in sitting.answer("n").replace("\n  a  ", "")


def test_notebooks_too(folder: Path, start: Start, loops: SimpleNamespace) -> None:
    import json

    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": loops.total}]
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    (folder / "n.ipynb").write_text(text)
    sitting = start("n.ipynb")
    sitting.answer("s")
    sitting.child.expect(r"why\? ")
    sitting.child.sendline("kept")
    sitting.answer("y", CONFIRMS)
    assert sitting.end()[1] == 0
    assert (folder / "n.ipynb").read_text() == text.replace("+= loss\\n", "+= loss  # graphfix: ignore[GF101] kept\\n")


def test_files_that_git_could_not_restore_are_refused(folder: Path, start: Start) -> None:
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    said, code = start().end()
    assert code == 2 and "a.py: untracked" in said
    assert "take it" not in said
    assert start("--allow-dirty").answer("q")


def test_a_terminal_is_needed(folder: Path, graphfix: Callable[..., subprocess.CompletedProcess[bytes]]) -> None:
    done = graphfix("review", cwd=folder)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"graphfix: error: review asks at a terminal, which this is not; diff and apply need none\n"


def test_progress_that_cannot_be_read_is_said(folder: Path, start: Start) -> None:
    sitting = start()
    sitting.answer("yq")
    sitting.answer("n", CONFIRMS)
    sitting.end()
    (kept,) = (folder.parent / "state").rglob("*.json")
    kept.write_text("{")
    said, code = start().end()
    assert code == 2 and "not what graphfix writes; --restart forgets it" in " ".join(said.split())


def test_a_file_that_changed_meanwhile_is_not_written(folder: Path, start: Start) -> None:
    sitting = start()
    sitting.answer("yyy")
    sitting.shown(CONFIRMS)
    (folder / "b.py").write_text("# new\n")
    before = contents(folder)
    sitting.child.send("y")
    said, code = sitting.end()
    assert code == 2 and "b.py changed meanwhile; no file was written" in said
    assert contents(folder) == before


METER = """
class Meter:
    def __init__(self):
        self.sum, self.count = 0, 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n
"""
STEP = """
def {name}(loss, optimizer, meter):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    meter.update(loss, 8)
"""
BOTH = """
import torch
from torch import nn
from first import one
from meters import Meter
from second import two

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
meter, plain = Meter(), Meter()
for batch in torch.randn(5, 8, 4):
    one(model(batch).mean(), optimizer, meter)
    two(model(batch).pow(2).mean(), optimizer, meter)
    plain.update(0.5)
print(meter.sum, plain.sum)
"""


def test_a_fix_of_several_files_is_taken_and_undone_as_a_whole(tmp_path: Path, command: str) -> None:
    project = tmp_path / "project"
    project.mkdir()
    files = {"meters.py": METER, "first.py": STEP.format(name="one"), "second.py": STEP.format(name="two"), "main.py": BOTH}
    for name, text in files.items():
        (project / name).write_text(text)
    sitting = Sitting(command, project, (), {})
    asked = sitting.shown(r"take it\? \[y,n,a,s,u,r,q,\?\] ")  # what is edited by hand is one file
    assert all(f"+++ b/{name}" in asked for name in ("first.py", "second.py")) and asked.count("loss.item(), 8)") == 2
    sitting.child.send("y")
    sitting.answer("u", r"write 2 files\? \[[^]]*\] ")
    sitting.answer("y")
    sitting.answer("y", CONFIRMS)
    sitting.end()
    now = {name: (project / name).read_text() for name in files}
    assert now == {name: text.replace("update(loss, 8)", "update(loss.item(), 8)") for name, text in files.items()}


def test_the_other_of_two_repairs_is_taken(tmp_path: Path, command: str) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text(HEAD + ADVERSARIES)
    sitting = Sitting(command, folder, ("--select", "GF304"), {})
    said = sitting.answer("o")
    assert "or: compute `score" in said and "[y,o,n,a,s,e,u,r,q,?]" in str(sitting.child.after)
    sitting.answer("y", CONFIRMS)
    said, code = sitting.end()
    assert "Wrote 1 file" in said
    text = (folder / "a.py").read_text()
    assert text.count("score = judge(painter(x))") == 2 and "inputs=" not in text


def test_an_enter_behind_a_key_answers_nothing(folder: Path, start: Start) -> None:
    """Whoever is used to lines ends each answer with it; the files are written all the same."""
    sitting = start()
    for prompt in (ASKS, ASKS, ASKS, CONFIRMS):
        sitting.shown(prompt)
        sitting.child.send("y\r")
    said, code = sitting.end()
    assert ("Wrote 2 files: a.py, b.py" in said, code) == (True, 0)
