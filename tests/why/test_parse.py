"""Reading tracebacks, in each form in which they are pasted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphfix.why.errors import Trouble
from graphfix.why.kinds import kind_of
from graphfix.why.parse import troubles
from graphfix.why.whose import below, owner, users

from .forms import ANOMALY, FORMS, PLAIN

PIECES = [line + "\n" for form in FORMS.values() for line in form.splitlines()]


def known(text: str) -> Trouble:
    """The last error of the graph's kind."""
    return [trouble for trouble in troubles(text) if kind_of(trouble.headline) is not None and trouble.frames][-1]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_lines(form: str) -> None:
    trouble = known(FORMS[form])
    own = users(trouble.frames)
    assert trouble.type.endswith("RuntimeError")
    assert [frame.row for frame in own] == [12, 8]
    assert own[-1].file.replace("\\", "/").endswith("train.py")
    assert own[-1].code == "loss.backward()"
    library = below(trouble.frames)
    assert library is not None
    assert (owner(library), library.row) == ("torch", 623)


@pytest.mark.parametrize("form", ["IPython 8.30", "IPython 8.0", "IPython 7", "Colab"])
def test_a_cell_is_known_by_its_prompt(form: str) -> None:
    first = known(FORMS[form]).frames[0]
    assert (first.cell, first.row, first.code) == (3, 12, "main()")


@pytest.mark.parametrize("form", ["plain", "rich", "IPython 8.30", "IPython 7", "logging", "exception group"])
def test_functions_are_named(form: str) -> None:
    assert users(known(FORMS[form]).frames)[-1].function == "main"


def test_anomaly_mode_tells_where_the_node_was_made() -> None:
    trouble = known(ANOMALY)
    assert [(frame.file.rpartition("/")[2], frame.row, frame.code) for frame in trouble.made] == [
        ("train.py", 12, "main()"),
        ("net.py", 5, "y = torch.sigmoid(x)"),
    ]
    assert len(trouble.frames) == 3


def test_of_two_runs_in_a_log_both_are_read() -> None:
    found = troubles(PLAIN + "restarting\n" + PLAIN.replace("line 8", "line 9"))
    assert [users(trouble.frames)[-1].row for trouble in found] == [8, 9]


def test_a_message_goes_on_until_an_empty_line() -> None:
    (found,) = troubles(
        'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nValueError: one\ntwo\n\nthree\n'
    )
    assert found.message == "one\ntwo"


def test_an_error_that_is_code_is_no_error() -> None:
    (found,) = troubles('Traceback (most recent call last):\n  File "a.py", line 1, in f\n    raise ValueError\nKeyError: 1\n')
    assert (found.type, found.frames[0].code) == ("KeyError", "raise ValueError")


def test_a_syntax_error_has_its_place() -> None:
    (found,) = troubles("  File \"a.py\", line 3\n    loss.backward(\n                 ^\nSyntaxError: '(' was never closed\n")
    assert (found.type, found.frames[0].row, found.frames[0].function) == ("SyntaxError", 3, "")


def test_many_frames_and_long_lines_do_no_harm() -> None:
    text = (
        "Traceback (most recent call last):\n" + '  File "a.py", line 3, in f\n    f()\n' * 50_000 + "RecursionError: too deep\n"
    )
    (found,) = troubles(text)
    assert len(found.frames) == 2_000
    assert troubles("(" * 1_000_000) == []
    assert troubles('File "' * 100_000 + "\n") == []


def test_a_hash_in_the_name_of_a_cell_is_no_prompt() -> None:
    text = f"""{"-" * 75}
RuntimeError                              Traceback (most recent call last)
[/tmp/ipython-input-773422404.py](https://localhost:8080/#) in <cell line: 0>()
----> 1 trainer.train()

RuntimeError: Trying to backward through the graph a second time
"""
    (found,) = troubles(text)
    assert [(frame.cell, frame.row, frame.code) for frame in found.frames] == [(-1, 1, "trainer.train()")]


def test_prose_is_no_traceback() -> None:
    assert troubles("") == []
    assert troubles("epoch 1: loss 0.5\nepoch 2: loss 0.25\n") == []


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    troubles(text)


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=20)), max_size=30))
def test_any_mixture_of_lines_can_be_read(pieces: list[str]) -> None:
    for trouble in troubles("".join(pieces)):
        users(trouble.frames)
        below(trouble.frames)
