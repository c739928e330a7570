"""Methods of named tuples: what they keep has its graph, on real torch and on the tape."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

HEAD = """\
import dataclasses
from collections import namedtuple
from typing import Any, NamedTuple
import torch
w = torch.ones(3, requires_grad=True)
Step = namedtuple("Step", ("value", "reward"))

class Typed(NamedTuple):
    value: Any
    reward: float = 0.0

@dataclasses.dataclass
class Data:
    value: Any
    reward: float = 0.0

"""
AGAIN = "value.sum().backward()\nvalue.sum().backward()\n"
KEPT = {
    "a field is replaced": "value = Step(w.exp(), 1.0)._replace(reward=2.0).value\n",
    "a field of a class is replaced": "value = Typed(w.exp())._replace(reward=2.0).value\n",
    "a field of a dataclass is replaced": "value = dataclasses.replace(Data(w.exp()), reward=2.0).value\n",
    "the field itself is replaced": "value = Step(0, 1.0)._replace(value=w.exp()).value\n",
    "it is made of a list": "value = Step._make([w.exp(), 1.0]).value\n",
    "it becomes a dict": "value = Step(w.exp(), 1.0)._asdict()['value']\n",
}
REPLACED = "value = Step(w.exp(), 1.0)._replace(value=w + 1).value\n"


@pytest.mark.parametrize("made", KEPT.values(), ids=KEPT)
def test_what_is_kept_has_its_graph(made: str) -> None:
    with pytest.raises(RuntimeError, match="second time"):
        exec(compile(HEAD + made + AGAIN, "program.py", "exec"), {"__name__": "__main__"})
    assert [finding.code for finding in findings_of(Path("program.py"), HEAD + made + AGAIN)] == ["GF301"]


def test_what_is_replaced_has_none() -> None:
    exec(compile(HEAD + REPLACED + AGAIN, "program.py", "exec"), {"__name__": "__main__"})
    assert [finding.code for finding in findings_of(Path("program.py"), HEAD + REPLACED + AGAIN)] == []
