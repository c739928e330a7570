"""What is assigned to, deleted or changed in place."""

from __future__ import annotations

from graphfix.ir.instructions import DeleteAttribute, DeleteItem, DeleteName, InPlace, Part, ReadItem, Unpack, WriteItem

from .executor.modules import run_module
from .lowering_of import module, names, of_kind


def test_a_tuple_is_unpacked_before_its_parts_are_assigned() -> None:
    code = module("a, *b[0], c.d = e")
    (unpack,) = of_kind(code, Unpack)
    assert (unpack.count, unpack.star) == (3, 1)
    assert [part.parts for part in of_kind(code, Part)] == [unpack.result] * 3


def test_the_value_comes_before_the_target() -> None:
    assert names(module("a[b] = c"))[:4] == ["ReadName", "ReadName", "ReadName", "WriteItem"]
    (write,) = of_kind(module("a[b] = c"), WriteItem)
    assert write.value < write.object < write.key


def test_a_change_in_place_evaluates_its_target_once() -> None:
    code = module("f()[g()] += h")
    (read,), (write,), (change,) = of_kind(code, ReadItem), of_kind(code, WriteItem), of_kind(code, InPlace)
    assert (read.object, read.key) == (write.object, write.key)
    assert (change.target, write.value) == (read.result, change.result)


def test_each_kind_is_deleted() -> None:
    code = module("del a, (b.c, [d[0]])")
    assert len(of_kind(code, DeleteName)) == len(of_kind(code, DeleteAttribute)) == len(of_kind(code, DeleteItem)) == 1


def test_targets_are_assigned_from_left_to_right() -> None:
    assert run_module("x = [0, 0]\ni = 0\ni, x[i] = 1, 2\na = b, *c = [3, 4]")["x"] == [0, 2]
