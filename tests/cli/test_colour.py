"""`--color`, NO_COLOR and FORCE_COLOR, of every command that writes in colours."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from .terminals import on_terminal

pytestmark = pytest.mark.deep

Run = Callable[..., subprocess.CompletedProcess[bytes]]
RED = b"\x1b[1;31m"
TRACEBACK = b"""\
Traceback (most recent call last):
  File "x.py", line 11, in <module>
    loss.backward()
RuntimeError: Trying to backward through the graph a second time
"""


@pytest.fixture
def project(tmp_path: Path, loops: SimpleNamespace) -> Path:
    (tmp_path / "x.py").write_text(loops.total)
    return tmp_path


@pytest.mark.parametrize(
    ("extra", "words", "coloured"),
    [
        ({}, (), False),
        ({"FORCE_COLOR": "1"}, (), True),
        ({"FORCE_COLOR": "0"}, (), True),
        ({"FORCE_COLOR": ""}, (), False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, (), True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, (), False),
        ({"FORCE_COLOR": "1", "NO_COLOR": ""}, (), True),
        ({"FORCE_COLOR": "1"}, ("--color", "never"), False),
        ({"FORCE_COLOR": "1"}, ("--color", "auto"), True),
        ({"NO_COLOR": "1"}, ("--color", "always"), True),
        ({"TERM": "dumb"}, ("--color", "always"), True),
        ({}, ("--color", "always"), True),
    ],
)
@pytest.mark.parametrize("form", ["text", "concise"])
def test_in_a_pipe(
    project: Path, graphfix: Run, extra: dict[str, str], words: tuple[str, ...], coloured: bool, form: str
) -> None:
    done = graphfix("check", "--output-format", form, *words, env=os.environ | extra)
    assert (done.returncode, done.stderr) == (1, b"")
    assert (RED in done.stdout) is coloured
    assert (b"\x1b" in done.stdout) is coloured
    # a link would have another number each time
    assert b"\x1b]8" not in done.stdout


@pytest.mark.parametrize(
    ("extra", "words", "coloured"),
    [
        ({}, [], True),
        ({"NO_COLOR": "1"}, [], False),
        ({"NO_COLOR": ""}, [], True),
        ({"TERM": "dumb"}, [], False),
        ({}, ["--color", "never"], False),
        ({"FORCE_COLOR": "1"}, ["--color", "never"], False),
        ({"NO_COLOR": "1"}, ["--color", "always"], True),
    ],
)
@pytest.mark.parametrize("name", ["check", "diff"])
def test_on_a_terminal(project: Path, command: str, extra: dict[str, str], words: list[str], coloured: bool, name: str) -> None:
    # quiet, for on a busy machine there may be a progress bar
    assert (b"\x1b[" in on_terminal([command, name, "-q", *words], project, **extra)) is coloured


def test_a_patch_in_a_pipe_is_for_git_unless_colours_are_asked_for(project: Path, graphfix: Run) -> None:
    patch = graphfix("diff").stdout
    assert patch.startswith(b"--- a/x.py\n")
    assert graphfix("diff", env=os.environ | {"FORCE_COLOR": "1"}).stdout == patch
    coloured = graphfix("diff", "--color", "always").stdout
    assert b"\x1b[32m+    total += loss.item()\x1b[0m\n" in coloured
    assert graphfix("check", "--diff", "--color", "always").stdout == coloured


@pytest.mark.parametrize("form", ["json", "jsonl", "sarif", "github", "gitlab", "junit", "rdjson"])
def test_machines_get_no_colours(project: Path, graphfix: Run, form: str) -> None:
    plain = graphfix("check", "--output-format", form).stdout
    assert graphfix("check", "--output-format", form, "--color", "always").stdout == plain != b""


def test_files_get_no_colours(project: Path, graphfix: Run) -> None:
    graphfix("check", "--color", "always", "-o", "found.txt")
    assert b"\x1b" not in (project / "found.txt").read_bytes()
    graphfix("diff", "--color", "always", "-o", "x.patch")
    assert b"\x1b" not in (project / "x.patch").read_bytes()


def test_what_apply_leaves_is_coloured(tmp_path: Path, graphfix: Run) -> None:
    fixtures = Path(__file__).parents[2] / "fixtures/GF303-missing-detach"
    text = min(fixtures.glob("unsafe_*/before.py")).read_text()
    (tmp_path / "x.py").write_text(text)
    assert RED in graphfix("apply", "--color", "always").stdout
    # with code on standard output, what is said is on the other stream
    done = graphfix("apply", "-", "--color", "always", input=text.encode())
    assert (RED in done.stderr, done.stdout) == (True, text.encode())


def test_why_has_the_option(project: Path, graphfix: Run) -> None:
    assert b"\x1b" not in graphfix("why", input=TRACEBACK).stdout
    assert b"\x1b[" in graphfix("why", "--color", "always", input=TRACEBACK).stdout


def test_trace_and_verify_have_the_option(project: Path, graphfix: Run, loops: SimpleNamespace) -> None:
    pytest.importorskip("torch")
    (project / "x.py").write_text(loops.quick)
    assert b"\x1b" not in graphfix("trace", "x.py").stderr
    assert b"\x1b[" in graphfix("trace", "--color", "always", "x.py").stderr
    words = ("verify", "--case", "ok_micro_batches", "--device", "cpu")
    assert b"\x1b[32mok" in graphfix(*words, "--color", "always", env=os.environ | {"TERM": "dumb"}).stdout


def test_another_word_is_misuse(project: Path, graphfix: Run) -> None:
    done = graphfix("check", "--color", "sometimes")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"auto" in done.stderr and b"never" in done.stderr
