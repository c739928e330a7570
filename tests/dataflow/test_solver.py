"""The solver, on blocks that are written by hand and on random ones, against every way that is short."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphfix.dataflow.solver import ALL, Direction, Over, solve
from graphfix.dataflow.ways import Ways
from graphfix.ir.blocks import Block, Code, Signature
from graphfix.ir.instructions import Branch, Constant, Instruction, Jump, Operator, Raise, Return
from graphfix.ir.variables import Scope

NODE = ast.Pass()


def step() -> Instruction:
    """An instruction that may raise, and does nothing else."""
    return Operator(NODE, 0, "+", ())


def code_of(blocks: list[Block]) -> Code:
    for number, block in enumerate(blocks):
        block.number = number
    scope = Scope(NODE, None, NODE, "f", "")
    return Code(NODE, scope, "f", Signature(), False, False, blocks, [Constant(NODE, 0, None)])


def block(*instructions: Instruction, handler: Block | None = None) -> Block:
    return Block(0, handler, (), instructions=list(instructions))


@pytest.fixture
def diamond() -> tuple[Ways, dict[str, Instruction]]:
    """Two ways from `top` to `end`, by `left` and by `right`."""
    points = {name: step() for name in ("top", "left", "right", "end")}
    end = block(points["end"], Return(NODE, None, 0))
    left, right = (block(points[name], Jump(NODE, None, end)) for name in ("left", "right"))
    top = block(points["top"], Branch(NODE, None, 0, left, right))
    return Ways(code_of([top, left, right, end])), points


@pytest.mark.parametrize(
    ("over", "gen", "holds"),
    [
        (Over.SOME, ["left"], True),
        (Over.EVERY, ["left"], False),
        (Over.EVERY, ["left", "right"], True),
        (Over.EVERY, ["top"], True),
        (Over.SOME, [], False),
    ],
)
def test_forward(diamond: tuple[Ways, dict[str, Instruction]], over: Over, gen: list[str], holds: bool) -> None:
    ways, points = diamond
    solution = solve(ways, {points[name]: 1 for name in gen}, {}, Direction.FORWARD, over)
    assert bool(solution.before(points["end"]) & 1) is holds


@pytest.mark.parametrize(("over", "gen", "holds"), [(Over.SOME, ["left"], True), (Over.EVERY, ["left"], False), (Over.EVERY, ["left", "right"], True)])
def test_backward(diamond: tuple[Ways, dict[str, Instruction]], over: Over, gen: list[str], holds: bool) -> None:
    ways, points = diamond
    solution = solve(ways, {points[name]: 1 for name in gen}, {}, Direction.BACKWARD, over)
    assert bool(solution.after(points["top"]) & 1) is holds


def test_an_instruction_ends_what_was_and_makes_it_anew(diamond: tuple[Ways, dict[str, Instruction]]) -> None:
    ways, points = diamond
    solution = solve(ways, {points["top"]: 3, points["left"]: 4}, {points["left"]: 7}, Direction.FORWARD, Over.SOME)
    assert (solution.before(points["left"]), solution.after(points["left"])) == (3, 4)
    assert solution.before(points["end"]) == 7


def test_what_holds_at_the_entry_and_where_it_returns(diamond: tuple[Ways, dict[str, Instruction]]) -> None:
    ways, points = diamond
    assert solve(ways, {}, {}, Direction.FORWARD, Over.EVERY, 5).before(points["end"]) == 5
    assert solve(ways, {}, {}, Direction.BACKWARD, Over.EVERY, 5).before(points["top"]) == 5


def test_an_exception_leaves_before_the_instruction_that_raises_it() -> None:
    handled, one, two = step(), step(), step()
    handler = block(handled, Return(NODE, None, 0))
    guarded = block(one, two, Return(NODE, None, 0), handler=handler)
    ways = Ways(code_of([guarded, handler]))
    assert solve(ways, {one: 1}, {}, Direction.FORWARD, Over.SOME).before(handled) == 1
    assert solve(ways, {one: 1}, {}, Direction.FORWARD, Over.EVERY).before(handled) == 0
    assert solve(ways, {two: 1}, {}, Direction.FORWARD, Over.SOME).before(handled) == 0
    assert solve(ways, {handled: 1}, {}, Direction.BACKWARD, Over.SOME).before(one) == 1


def test_where_no_way_leads_and_where_an_exception_leaves() -> None:
    last, dead = step(), step()
    ways = Ways(code_of([block(last, Raise(NODE, None, 0)), block(dead, Return(NODE, None, 0))]))
    assert solve(ways, {}, {}, Direction.FORWARD, Over.EVERY).before(dead) == ALL
    assert solve(ways, {last: 1}, {}, Direction.FORWARD, Over.SOME, 1).before(dead) == 0
    assert solve(ways, {}, {}, Direction.BACKWARD, Over.EVERY).before(last) == ALL
    assert solve(ways, {}, {}, Direction.BACKWARD, Over.SOME, 1).before(last) == 0


def test_facts_may_change_on_the_way_to_a_block(diamond: tuple[Ways, dict[str, Instruction]]) -> None:
    ways, points = diamond
    solution = solve(ways, {points["top"]: 1}, {}, Direction.FORWARD, Over.SOME, 0, lambda source, target, state: state << 1)
    assert (solution.before(points["left"]), solution.before(points["end"])) == (2, 4)


@st.composite
def graphs(draw: st.DrawFn) -> list[Block]:
    """Up to five blocks of up to two instructions, with any ways between them."""
    blocks = [block(*(step() for _ in range(draw(st.integers(0, 2))))) for _ in range(draw(st.integers(1, 5)))]
    chosen = st.sampled_from(blocks)
    for each in blocks:
        each.handler = draw(st.none() | chosen)
        ends = [lambda: Return(NODE, None, 0), lambda: Jump(NODE, None, draw(chosen)), lambda: Branch(NODE, None, 0, draw(chosen), draw(chosen))]
        each.instructions.append(draw(st.sampled_from(ends))())
    return blocks


def walks(ways: Ways, most: int) -> Iterator[list[Instruction]]:
    """The instructions of each way from the entry of at most `most` blocks, the last one not yet run."""
    pending: list[tuple[list[Instruction], Block, int]] = [([], ways.code.entry, most)]
    while pending:
        before, at, left = pending.pop()
        for index, instruction in enumerate(at.instructions):
            done = [*before, *at.instructions[:index]]
            yield [*done, instruction]
            if at.handler is not None and isinstance(instruction, (Operator, Branch)) and left:
                pending.append((done, at.handler, left - 1))
        pending += [([*before, *at.instructions], target, left - 1) for target in at.successors if left]


@given(graphs(), st.data())
def test_it_says_of_each_point_what_the_ways_there_say(blocks: list[Block], data: st.DataObject) -> None:
    ways = Ways(code_of(blocks))
    points = [each for each in ways.code.instructions() if isinstance(each, Operator)]
    gen = data.draw(st.sets(st.sampled_from(points))) if points else set()
    kill = data.draw(st.sets(st.sampled_from(points))) if points else set()
    may = solve(ways, dict.fromkeys(gen, 1), dict.fromkeys(kill, 1), Direction.FORWARD, Over.SOME)
    must = solve(ways, dict.fromkeys(gen, 1), dict.fromkeys(kill, 1), Direction.FORWARD, Over.EVERY)
    seen: dict[Instruction, set[bool]] = {}
    for *before, last in walks(ways, 7):
        holds = False
        for each in before:
            holds = each in gen or holds and each not in kill
        seen.setdefault(last, set()).add(holds)
    for point, answers in seen.items():
        assert bool(may.before(point) & 1) is (True in answers)
        assert bool(must.before(point) & 1) is (False not in answers)
