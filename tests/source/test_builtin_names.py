"""The names of Python, and those that Python 2 had."""

from __future__ import annotations

import builtins
from pathlib import Path

import pytest

from graphfix.model import Applicability
from graphfix.run.engine import findings_of
from graphfix.source.builtin_names import OLD, builtin_of

EVALUATION = """
import torch
from torch import nn

net = nn.Linear(4, 2)


def evaluate(count):
    for number in xrange(count):
        print(net(torch.randn(3, 4)).argmax(1).sum().item(), unicode(long(number)))


for step in xrange(3):
    net(torch.randn(3, 4)).mean().backward()
evaluate(2)
"""


@pytest.mark.parametrize(("name", "known"), [("len", "len"), ("xrange", "range"), ("unicode", "str"), ("net", None), ("", None)])
def test_what_a_name_means(name: str, known: str | None) -> None:
    assert builtin_of(name) == known


def test_no_old_name_hides_one_of_today() -> None:
    assert all(not hasattr(builtins, old) and hasattr(builtins, new) for old, new in OLD.items())


def test_old_names_stand_in_no_proofs_way() -> None:
    (finding,) = findings_of(Path("train.py"), EVALUATION)
    assert finding.code == "GF103" and finding.fix is not None and finding.fix.applicability is Applicability.SAFE
