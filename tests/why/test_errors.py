"""Each kind of error is known by what real torch prints of real programs, with the user's line; and its cure makes it go."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphfix.why.errors import Trouble
from graphfix.why.kinds import Kind, all_kinds, kind_of, kind_of_words
from graphfix.why.parse import troubles
from graphfix.why.whose import users

from ..conftest import Run
from .error_programs import CURED, MESSAGES, PROGRAMS
from .raised import printed

KINDS = {kind.key: kind for kind in all_kinds()}
CASES = [(key, number) for key, texts in PROGRAMS.items() for number in range(len(texts))]


def is_printed(kind: Kind, message: str) -> bool:
    """Whether the message is one of those that the page shows, with other text in the place of its three dots."""
    dense = re.sub(r"\s", "", message)
    patterns = (re.escape(re.sub(r"\s", "", shown)).replace(r"\.\.\.", ".*") for shown in kind.printed)
    return any(re.match(pattern, dense) for pattern in patterns)


def of_kind(text: str, key: str) -> Trouble:
    """The last error or warning of that kind."""
    found = [trouble for trouble in troubles(text) if (kind := kind_of(trouble.headline)) and kind.key == key]
    assert found, text
    return found[-1]


@pytest.mark.parametrize(("key", "number"), CASES)
def test_what_torch_prints_is_known(tmp_path: Path, key: str, number: int) -> None:
    text = PROGRAMS[key][number]
    path = tmp_path / "train.py"
    path.write_text(text)
    trouble = of_kind(printed(path), key)
    rows = [row for row, line in enumerate(text.splitlines(), 1) if line.endswith("# here")]
    own = users(trouble.frames)
    assert [frame.row for frame in own[-1:]] == rows
    assert all(frame.code and frame.code in text for frame in own)
    assert is_printed(KINDS[key], trouble.headline), trouble.headline


@pytest.mark.parametrize("key", MESSAGES)
def test_what_is_not_raised_here_is_known_by_its_message(key: str) -> None:
    for message in MESSAGES[key]:
        found = kind_of(message)
        assert found is not None and found.key == key


@pytest.mark.parametrize("name", CURED)
def test_the_cure_makes_it_go(tmp_path: Path, name: str) -> None:
    path = tmp_path / "train.py"
    path.write_text(CURED[name])
    assert [kind_of(trouble.headline) for trouble in troubles(printed(path))] == []


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient.",
        "NotImplementedError: The operator 'aten::foo' is not currently implemented for the MPS device.",
        "NotImplementedError: sorting is not implemented",
        "ValueError: optimizer got an empty list of groups",
        "UserWarning: torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly.",
    ],
)
def test_other_messages_of_these_libraries_are_nothing(text: str) -> None:
    assert kind_of(text) is None


def test_three_dots_of_a_phrase_stand_for_a_few_words() -> None:
    far = "x " * 200
    assert kind_of("derivative for aten::foo is not implemented") is KINDS["no-derivative"]
    assert kind_of(f"derivative for aten::foo {far} is not implemented") is None
    for kind in KINDS.values():
        assert kind_of_words(kind.phrases[0]) is kind


def lines(text: bytes) -> Iterator[str]:
    yield from text.decode().splitlines()


@pytest.mark.parametrize(("key", "number"), [("ddp-unused", 0), ("view-in-place", 2), ("non-leaf-grad", 0), ("to-number", 0)])
def test_the_command_names_the_line_and_what_to_write(graphfix: Run, tmp_path: Path, key: str, number: int) -> None:
    (tmp_path / "train.py").write_text(PROGRAMS[key][number])
    done = graphfix("why", input=printed(tmp_path / "train.py").encode())
    said = done.stdout.decode()
    (here,) = [line.strip() for line in PROGRAMS[key][number].splitlines() if line.endswith("# here")]
    assert done.stderr == b""
    assert "your line: train.py:" in said and here in said
    assert KINDS[key].ways[0].change.split("\n")[0] in said or "warning[" in said or "error[" in said


def test_a_warning_counts_only_if_no_error_is_known(graphfix: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAMS["non-leaf-grad"][0])
    warning = printed(tmp_path / "train.py")
    assert b"UserWarning: The .grad attribute" in graphfix("why", input=f"epoch 1\n{warning}epoch 2\n".encode()).stdout
    other = 'Traceback (most recent call last):\n  File "train.py", line 1, in <module>\n    d[1]\nKeyError: 1\n'
    assert b"this is a KeyError of another kind" in b" ".join(graphfix("why", input=f"{warning}{other}".encode()).stdout.split())
    known = 'Traceback (most recent call last):\n  File "train.py", line 1, in <module>\n    a()\nRuntimeError: Can\'t detach views in-place\n'
    for text in (f"{warning}{known}", f"{known}{warning}"):
        assert b"RuntimeError: Can't detach views in-place" in graphfix("why", input=text.encode()).stdout


def test_a_warning_from_inside_of_torch_is_explained_without_a_line(graphfix: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAMS["checkpoint-without-grad"][0])
    done = graphfix("why", input=printed(tmp_path / "train.py").encode())
    assert done.returncode == 0
    assert next(lines(done.stdout)) == "No input of a reentrant checkpoint requires grad"


def test_causes_of_a_library_in_the_traceback_come_first(graphfix: Run, tmp_path: Path) -> None:
    kind = KINDS["second-backward"]
    first = kind.ways_in(["train.py", r"C:\venv\Lib\site-packages\deepspeed\runtime\engine.py"])[0]
    assert first.title.startswith("DeepSpeed")
    assert kind.ways_in(["train.py", "/venv/lib/python3.11/site-packages/torch/_tensor.py"]) == list(kind.ways)
    text = (
        'Traceback (most recent call last):\n  File "train.py", line 1, in <module>\n    step(loss)\n'
        '  File "/venv/lib/python3.11/site-packages/deepspeed/runtime/engine.py", line 9, in backward\n    loss.backward()\n'
        "RuntimeError: Trying to backward through the graph a second time\n"
    )
    (tmp_path / "train.py").write_text("step(loss)\n")
    said = graphfix("why", input=text.encode()).stdout.decode()
    assert re.findall(r"^\d\. (\w+)", said, re.MULTILINE)[0] == "DeepSpeed"


def test_the_page_is_named_if_there_are_more_causes_than_a_screen_holds(graphfix: Run) -> None:
    said = graphfix("why", KINDS["second-backward"].phrases[0]).stdout.decode()
    assert f"All {len(KINDS['second-backward'].ways)} causes:\n{KINDS['second-backward'].page}\n" in said
    assert "docs/errors" not in graphfix("why", KINDS["numpy"].phrases[0]).stdout.decode()
