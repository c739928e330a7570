"""What values say of themselves."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from graphfix.analysis.explore import Explorer
from graphfix.autograd.graph import Leaf
from graphfix.interpreter.values import (
    NONE,
    BoundMethod,
    Class,
    Constant,
    External,
    Instance,
    Mapping,
    NonTensor,
    Sequence,
    Tensor,
    TorchModule,
    Unknown,
    Value,
    counter,
    cut_of,
    leaves_in,
)
from graphfix.source.document import Document

CLASS = Class("Net", [External("torch.nn.Module")], {}, None)


@pytest.mark.parametrize(
    ("value", "truth"),
    [
        (Constant(0), False),
        (Constant("x"), True),
        (NONE, False),
        (NonTensor(("len", 1)), None),
        (counter("loop", 0), False),
        (counter("loop", 1), True),
        (Sequence("list", []), False),
        (Sequence("list", [], open_=True), None),
        (Mapping({"a": NONE}), True),
        (Tensor(), None),
        (Unknown("x"), None),
        (External("torch.nn"), True),
        (External("sys.flags.debug"), None),
        (CLASS, True),
    ],
)
def test_what_bool_makes_of_it(value: Value, truth: bool | None) -> None:
    assert value.truth is truth


def test_flags_and_what_is_not_given() -> None:
    assert [value.is_off for value in (Constant(False), Constant(0), NONE, Constant(True), Unknown("x"))] == [True] * 3 + [
        False
    ] * 2
    assert [value.is_none for value in (NONE, Constant(0), Tensor())] == [True, False, False]


def test_equal_identities_mean_equal_values() -> None:
    assert NonTensor(("len", 1)).identity == NonTensor(("len", 1)).identity
    assert Constant(3).identity == Constant(3).identity != Constant(4).identity
    assert Tensor().identity != (other := Tensor()).identity == other.identity
    numbers = Sequence("list", [Constant(1)])
    before = numbers.identity
    numbers.items.append(Constant(2))
    assert numbers.identity != before


def test_what_is_held() -> None:
    inner = Tensor()
    instance = Instance(CLASS, "net")
    instance.attributes["weight"] = inner
    assert list(Sequence("list", [inner]).members()) == [inner] == list(Mapping({"a": inner}).members())
    assert list(instance.members()) == [] and list(instance.members(attributes=True)) == [inner]


@pytest.mark.parametrize(
    ("value", "name", "answer"),
    [
        (Constant(1), "int", True),
        (Constant(1), "Number", True),
        (Constant("1"), "Number", False),
        (NonTensor("size"), "Tensor", None),
        (NonTensor("size", cut="item"), "Tensor", False),
        (Sequence("tuple", []), "tuple", True),
        (Sequence("tuple", []), "list", False),
        (Mapping({}), "dict", True),
        (Tensor(), "Tensor", True),
        (TorchModule("Linear", None), "Module", True),
        (Instance(CLASS, "net"), "Module", True),
        (Instance(CLASS, "net"), "Tensor", False),
        (Instance(Class("Net", [Unknown("base")], {}, None), "net"), "Tensor", None),
        (Unknown("x"), "Tensor", None),
    ],
)
def test_whether_it_is_of_a_class(value: Value, name: str, answer: bool | None) -> None:
    assert value.is_a(name) is answer


def test_what_is_copied_is_new_and_holds_the_same() -> None:
    inner = Tensor()
    for value in (Sequence("list", [inner], open_=True), Mapping({"a": inner})):
        copy = value.copied()
        assert copy is not value and list(copy.members()) == [inner] and copy.open is value.open
    assert NONE.copied() is NONE


def test_a_module_has_the_parameters_of_its_parts() -> None:
    weights = [Leaf("0"), Leaf("1"), Leaf("2")]
    module = TorchModule("Sequential", weights[0], [TorchModule("Linear", weights[1])])
    module.attributes["extra"] = Tensor(leaf=weights[2])
    assert list(leaves_in(BoundMethod(module, "parameters"))) == weights == list(leaves_in(Sequence("list", [module, module])))
    assert list(leaves_in(BoundMethod(module, "forward"))) == []


def test_a_number_knows_the_repair_that_made_it() -> None:
    site = ast.Name("loss")
    assert cut_of(NonTensor("a"), NonTensor("b", cut=site)) is site
    assert cut_of(Constant(1)) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Constant("a"), "<Constant 'a'>"),
        (Tensor(leaf=Leaf("w"), shape=(1,)), "<Tensor leaf w shape (1,)>"),
        (Sequence("deque", [NONE], open_=True), "<Sequence deque of 1 or more>"),
        (BoundMethod(TorchModule("Linear", None), "forward"), "<BoundMethod <TorchModule Linear>.forward>"),
        (Instance(CLASS, "net"), "<Instance of Net>"),
        (External("torch.relu"), "<External torch.relu>"),
    ],
)
def test_a_value_can_be_looked_at(value: Value, text: str) -> None:
    assert repr(value) == text


DIAMOND = """\
import torch
w = torch.randn(2, requires_grad=True)
class Base:
    def keep(self, loss):
        self.kept = loss
class Left(Base):
    pass
class Right(Base):
    def keep(self, loss):
        pass
class Both(Left, Right):
    pass
both = Both()
both.keep((w * w).sum())
"""


def test_the_method_of_the_nearer_class_is_taken() -> None:
    tape = Explorer(Document("toy.py", DIAMOND), (Path("/nowhere"),)).explore()
    assert not [store for run in tape.runs for store in run.recording.stores if "kept" in ast.unparse(store.target)]
