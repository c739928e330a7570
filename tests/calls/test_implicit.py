"""The methods that Python runs by itself, as an object tells that has them all."""

from __future__ import annotations

import pytest

from graphfix.calls.implicit import asked_by

from .programs import graph_of


class Told:
    """Notes which of its special methods are run."""

    def __init__(self) -> None:
        self.run: set[str] = set()


def _telling(name: str, answer: object):
    def method(self: Told, *given: object) -> object:
        self.run.add(name)
        return self if answer is Told else answer

    return method


ANSWERS = {
    **dict.fromkeys("add radd iadd sub mul neg pos invert getitem enter".split(), Told),
    **dict.fromkeys("lt gt le ge eq ne contains bool".split(), True),
    "setitem": None,
    "delitem": None,
    "exit": None,
    "hash": 1,
    "str": "",
    "repr": "",
    "format": "",
}
for _name, _answer in ANSWERS.items():
    setattr(Told, f"__{_name}__", _telling(f"__{_name}__", _answer))
Told.__iter__ = lambda self: (self.run.add("__iter__"), iter([1]))[1]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text",
    [
        "a + 1", "1 + a", "a - 1", "a * 1", "-a", "+a", "~a", "a[0]", "a[0] = 1", "del a[0]", "a < 1", "a > 1", "1 < a", "a == 1",
        "1 in a", "not a", "if a: pass", "while a: break", "assert a", "x = 1 if a else 2", "a and 1", "for x in a: pass", "x, = a",
        "[*a]", "f'{a}'", "f'{a!r}'", "f'{a!s}'", "with a: pass", "a += 1", "{a: 1}", "{a}", "d[a]",
    ],
)  # fmt: skip
def test_what_a_run_calls_is_asked_for(text: str) -> None:
    told = Told()
    names = {"a": told, "d": {told: 1}}
    told.run.clear()
    exec(compile(text, "<text>", "exec", dont_inherit=True), names)
    assert told.run
    graph = graph_of(f"{text}\n")
    code = graph.program.main.module
    asked = {name for each in code.instructions() for question in asked_by(each) for name in question.methods}
    assert told.run <= asked
