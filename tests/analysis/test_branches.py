"""Every side of every branch is taken by some run, as far as it can matter to a graph."""

from __future__ import annotations

import ast

import pytest

from .toys import OFFSET, explored, hits

CHAIN = """
import sys
total = 0
for x in data:
    kind = input()
    loss = net(x).sum()
    if kind == "a":
        pass
    elif kind == "b":
        {middle}
    elif kind == "c":
        loss = loss * 2
        if x.flag:
            {inner}
    else:
        loss = loss * 3
    loss.backward()
"""
AGAIN = "loss.backward(); loss.backward()"


@pytest.mark.parametrize("places", [{"middle": AGAIN, "inner": "pass"}, {"middle": "pass", "inner": AGAIN}])
def test_the_middle_of_a_chain_is_run(places: dict[str, str]) -> None:
    assert hits(CHAIN.format(**places))


def test_both_sides_of_a_choice_between_choices_are_run() -> None:
    tape = explored("for x in data:\n    loss = net(x) if a() else w.sum() if b() else w.prod()\n    loss.sum().backward()\n")
    choices = [part for part in ast.walk(tape.document.tree) if isinstance(part, ast.IfExp)]
    covered = {side for run in tape.runs for side in run.recording.covered}
    assert covered == {(choice, side) for choice in choices for side in (True, False)}


def test_to_leave_code_without_graphs_is_worth_no_run() -> None:
    reads = "def read(path):\n    if exists(path):\n        return\n    print(path)\n"
    training = "for x in data:\n    read('a')\n    if x is None:\n        continue\n    net(x).sum().backward()\n"
    tape = explored(reads + training)
    taken = {ast.unparse(site.test) for run in tape.runs for site, side in run.recording.covered if side}
    assert taken == {"x is None"}


def test_what_the_program_decides_takes_no_run_from_other_branches() -> None:
    decided = "".join(f"    if OFF:\n        print({number})\n        continue\n" for number in range(6))
    middle = "    if x.mode == 'a':\n        pass\n    elif x.mode == 'b':\n        loss.backward()\n    loss.backward()\n"
    assert hits(f"OFF = False\nfor x in data:\n    loss = net(x).sum()\n{decided}{middle}")


def test_to_give_something_back_from_code_without_graphs_is_worth_no_run() -> None:
    reads = "def named(path):\n    if path.flag:\n        return path.stem\n    return path.name\n"
    tape = explored(reads + "for x in data:\n    print(named(x))\n    net(x).sum().backward()\n")
    assert not any(run.policy.forced for run in tape.runs)


REFUSED = "for x in data:\n    loss = net(x).sum()\n    if x.flag:\n        raise ValueError(x)\n    loss.backward()\n"
CAUGHT = f"try:\n{''.join('    ' + line for line in REFUSED.splitlines(True))}except ValueError:\n    pass\n"


def test_what_code_refuses_is_worth_no_run() -> None:
    assert [run for run in explored(REFUSED).runs if run.policy.forced] == []


def test_what_code_refuses_is_looked_at_where_it_may_be_caught() -> None:
    assert [run for run in explored(CAUGHT).runs if run.policy.forced]


def test_no_run_repeats_another() -> None:
    once = explored("if a():\n    w = w * 2\n(w * x).sum().backward()\n")
    assert [run.policy.kind.name for run in once.runs] == ["USUAL", "OTHER"]
    later = explored("for x in data:\n    if x.flag:\n        w = w * 2\n    (w * x).sum().backward()\n")
    assert [run.policy.kind.name for run in later.runs] == ["USUAL", "OTHER", "LATE", "EARLY"]


KINDS = """
class Net(nn.Module):
    def __init__(self, kind):
        super().__init__()
        if kind == "a":
            self.layer = nn.Linear(4, 4)
        elif kind == "b":
            self.layer = nn.ReLU()
        else:
            {refusal}

    def forward(self, x):
        return self.layer(x)

Net(kinds)(w).sum().backward()
"""


@pytest.mark.parametrize(("refusal", "known"), [("raise ValueError(kind)", True), ("assert False, kind", True), ("pass", False)])
def test_a_side_that_refuses_is_not_the_way_of_any_run(refusal: str, known: bool) -> None:
    runs = explored(KINDS.format(refusal=refusal)).runs
    assert all(not run.recording.foreign for run in runs) is known


@pytest.mark.parametrize(
    ("asked", "taken"),
    [
        ("type(loss) == np.ndarray", {False}),
        ("np.ndarray is type(loss)", {False}),
        ("type(loss) is not list", {True}),
        ("type(loss) == torch.Tensor", {False, True}),
        ("type(given) == np.ndarray", {False, True}),
        ("type(walked) == np.ndarray", {False}),
        ("type(walked) == list", {False, True}),
    ],
)
def test_the_type_of_a_tensor_is_no_other_librarys(asked: str, taken: set[bool]) -> None:
    program = "import numpy as np\nimport torch\ndef f(given, make):\n    loss = torch.ones(1, requires_grad=True).exp()\n"
    program += (
        f"    walked = make(given)\n    walked.backward()\n    if {asked}:\n        print(1)\n    else:\n        print(2)\n"
    )
    assert {side for run in explored(program).runs for site, side in run.recording.covered if isinstance(site, ast.If)} == taken


DECORATED = """
def documented(function):
    if input():
        {side}
    return function

@documented
def step(x):
    net(x).sum().backward()

for x in data:
    step(x)
"""


@pytest.mark.parametrize(
    ("side", "kinds"), [("function.__doc__ = ''", ["USUAL"]), ("function = torch.no_grad()(function)", ["USUAL", "OTHER"])]
)
def test_what_a_decorator_asks_is_worth_a_run_only_where_it_may_switch_recording(side: str, kinds: list[str]) -> None:
    assert [run.policy.kind.name for run in explored(DECORATED.format(side=side)).runs if run.entry.is_module] == kinds


def test_what_a_decorator_asks_is_worth_a_run_where_others_ask_it_too() -> None:
    program = DECORATED.format(side="pass").replace("    step(x)", "    step(x)\n    documented(x)")
    assert len([run for run in explored(program).runs if run.entry.is_module]) > 1


def test_a_run_for_a_side_knows_what_the_code_refused_in_the_run_that_it_follows() -> None:
    refused = "def train(x, is_odd, kind):\n    if is_odd:\n        x = x + 1\n    loss = net(x).sum()\n    if is_odd:\n        raise ValueError\n"
    sides = "".join(f"    {'el' if number else ''}if kind == {number}:\n        loss = loss * {number}\n" for number in range(3))
    tape = explored(f"{refused}{sides}    loss.backward()\n")
    assert [run for run in tape.runs if run.policy.forced and run.answers]
    assert len(tape.interpreters) == len(tape.runs) + 1, "the code refuses it in one run, which begins anew"


DISPATCH = """
import sys

class Trainer:
    def __init__(self, kind):
        self.kind = kind
        self.layer = nn.Linear(4, 4)

    def loss(self, x):
        if self.kind == "a":
            return self.layer(x).mean()
        {second} self.kind == "b":
            return self.layer(x).exp().mean()
        {second} self.kind == "c":
            return self.layer(x).sum()
        {second} self.kind == "d":
            return self.layer(x).norm()
        raise ValueError(self.kind)

    def step(self, x):
        loss = self.loss(x)
        loss.backward()

trainer = Trainer(sys.argv[1])
for _ in range(3):
    trainer.step(x)
"""
ARMS = {OFFSET + DISPATCH[: DISPATCH.index(f'"{kind}"')].count("\n") + 2 for kind in "abcd"}


def walked(text: str) -> set[int]:
    """The lines that make what a backward pass of the script goes through."""
    runs = (run for run in explored(text).runs if run.entry.is_module)
    return {node.site.lineno for run in runs for event in run.recording.walks for node in event.nodes}


@pytest.mark.parametrize("second", ["if", "elif"])
def test_each_arm_of_a_dispatch_that_ends_in_raise_is_taken(second: str) -> None:
    assert ARMS <= walked(DISPATCH.format(second=second))


def test_a_raise_to_which_the_program_surely_comes_is_one() -> None:
    assert not ARMS & walked(DISPATCH.format(second="elif").replace("sys.argv[1]", '"e"'))


ASKED_BEFORE = """
class Trainer:
    def __init__(self, options):
        self.options = options

    def step(self, x):
        if {first}:
            self.name = "deep"
        loss = net(x).sum()
        if self.kind == "nothing":
            return
        elif self.kind == "all":
            if {second}:
                loss.backward()
        loss.backward()
"""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("self.options.deep", "self.options.deep"),
        ("not self.options.deep", "self.options.deep"),
        ("self.options.deep", "not self.options.deep"),
    ],
)
def test_a_side_that_an_earlier_answer_decides_is_taken_too(first: str, second: str) -> None:
    assert hits(ASKED_BEFORE.format(first=first, second=second))
