"""`try` and `with`: where exceptions go, and what runs on every way out."""

from __future__ import annotations

from graphfix.ir.blocks import Block, Code
from graphfix.ir.instructions import Call, Catch, Enter, Exit, Instruction, Match, Raise, Return

from .executor.modules import run_module
from .lowering_of import codes, module, of_kind, reachable


def block_of(code: Code, instruction: Instruction) -> Block:
    return next(block for block in code.blocks if instruction in block.instructions)


def test_a_handler_begins_with_what_it_catches() -> None:
    code = module("try: a()\nexcept E: b()\nelse: c()\nfinally: d()")
    handlers = {block.handler for block in code.blocks} - {None}
    assert handlers and all(isinstance(block.instructions[0], Catch) for block in handlers if block is not None)


def test_an_error_in_else_or_in_a_handler_does_not_come_back() -> None:
    code = module("try: a()\nexcept E: b()\nelse: c()")
    first, *others = (block_of(code, call) for call in of_kind(code, Call))
    assert first.handler is not None and [block.handler for block in others] == [None, None]


def test_a_handler_knows_what_it_handles_and_a_return_out_of_it_no_longer() -> None:
    code = codes("def f():\n    try:\n        try: a()\n        except E: return 1\n    finally: b()")[1]
    (match,) = of_kind(code, Match)
    assert block_of(code, match).handling == (match.value,)
    leaving = next(block for block in code.blocks if any(isinstance(each, Return) for each in block.instructions))
    assert leaving.handling == ()


def test_each_way_out_of_with_leaves_the_manager() -> None:
    code = codes("def f():\n    for x in y:\n        with a:\n            if b: return 1\n            if c: break\n            if d: continue")[1]
    assert len(of_kind(code, Enter)) == 1
    assert len([each for each in of_kind(code, Exit) if each.exception is None]) == 4
    assert len([each for each in of_kind(code, Exit) if each.exception is not None]) == 1


def test_finally_is_copied_to_each_way_out() -> None:
    code = codes("def f():\n    try:\n        if a: return 1\n    finally: b()")[1]
    assert len(of_kind(code, Call)) == 3


def test_nested_finally_does_not_explode() -> None:
    """Those in bodies need no copies of each other; those in `finally` bodies would double, and the innermost ones are opaque."""
    sizes = []
    for between in ("try:", "try: a()\n{}finally:"):
        text = "def f():\n" + "".join("    " * depth + between.format("    " * depth) + "\n" for depth in range(1, 13)) + "    " * 13 + "b()\n"
        if between == "try:":
            text += "".join("    " * depth + "finally: c()\n" for depth in reversed(range(1, 13)))
        code = codes(text)[1]
        sizes.append(len(list(code.instructions())))
        assert bool(code.opaque) == (between != "try:")
    assert sizes[0] < 500 and sizes[1] < 60_000


def test_many_handlers_in_a_row_stay_small() -> None:
    sizes = [len(list(module("try: a()\n" + "except E: b()\n" * number).instructions())) for number in (100, 200)]
    assert sizes[1] < 2.1 * sizes[0]


def test_except_star_is_opaque() -> None:
    code = module("try: a()\nexcept* E as e: b = 1")
    assert [type(node).__name__ for node in code.opaque] == ["TryStar"]
    (opaque,) = [each for each in code.instructions() if type(each).__name__ == "Opaque"]
    assert [each.name for each in opaque.writes] == ["b", "e"]  # type: ignore[attr-defined]


def test_a_bare_raise_has_what_its_handler_caught() -> None:
    inside, outside = (of_kind(code, Raise) for code in codes("try: a()\nexcept E: raise\ndef f(): raise"))
    assert inside[0].exception is not None and inside[0].again
    assert outside[0].exception is None and outside[0].again


def test_what_follows_a_return_is_reached_by_no_way() -> None:
    code = codes("def f():\n    try: return 1\n    finally: pass\n    a()")[1]
    (call,) = of_kind(code, Call)
    assert block_of(code, call) not in reachable(code)


def test_a_return_in_finally_takes_the_exception() -> None:
    text = "def f():\n    for i in (1, 2):\n        try: 1 / 0\n        finally:\n            if i == 1: continue\n            return i\nresult = f()"
    assert run_module(text)["result"] == 2


def test_the_name_of_a_handler_is_gone_behind_it() -> None:
    assert "e" not in run_module("try: 1 / 0\nexcept ZeroDivisionError as e: pass")
