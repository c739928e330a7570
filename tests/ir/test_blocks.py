"""Blocks end with the instruction that says where they go on, and know their handler and their loops."""

from __future__ import annotations

from graphfix.ir.instructions import ENDS, Call, Return

from .lowering_of import codes, module, of_kind

TEXT = "for x in a:\n    try:\n        f(x)\n    except E:\n        g(x)\n    finally:\n        h(x)\nwhile b:\n    if c: break\nelse:\n    d()\n"


def test_each_block_ends_once_and_at_its_end() -> None:
    for block in module(TEXT).blocks:
        assert isinstance(block.instructions[-1], ENDS)
        assert not any(isinstance(each, ENDS) for each in block.instructions[:-1])


def test_blocks_are_numbered_in_order_and_lead_to_blocks_of_the_code() -> None:
    code = module(TEXT)
    assert [block.number for block in code.blocks] == list(range(len(code.blocks)))
    for block in code.blocks:
        assert {*block.successors, block.handler} - {None} <= set(code.blocks)


def test_a_call_in_a_loop_knows_the_loop_and_the_handler() -> None:
    code = module(TEXT)
    block = next(block for block in code.blocks if any(isinstance(each, Call) for each in block.instructions))
    assert [type(loop).__name__ for loop in block.loops] == ["For"]
    assert block.handler is not None and len(block.handler.handling) == 1


def test_a_returning_block_has_no_successors() -> None:
    code = module("x = 1")
    assert of_kind(code, Return) and code.blocks[-1].successors == ()


def test_a_signature_gives_the_parameters_with_stars_last() -> None:
    code = codes("def f(a, /, b, *c, d, **e): pass")[1]
    assert [each.name for each in code.signature] == ["a", "b", "d", "c", "e"]
