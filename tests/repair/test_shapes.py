"""A carried state is cut item by item, in a container of the same class, and is never thrown away."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability, Fix, InsertBefore
from graphfix.rewrite import apply_fixes
from graphfix.run.engine import analyse

torch = pytest.importorskip("torch")

HEAD = """\
from collections import OrderedDict, defaultdict, namedtuple

import torch
from torch import nn

torch.manual_seed(0)
State = namedtuple("State", "h c extra")
Pair = namedtuple("Pair", "h c")
cell, lstm, head = nn.GRUCell(4, 8), nn.LSTMCell(4, 8), nn.Linear(8, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *lstm.parameters(), *head.parameters()], lr=0.1)
"""
LOOP = """
kinds = []
for step in range(4):
    y, state = forward(torch.randn(2, 4), state)
    loss = head(y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    kinds.append(type(state))
"""
ORDERED = """
def forward(x, state):
    for name in ("a", "b"):
        h = cell(x, state.get(name))
        state[name] = h
        state.move_to_end(name, last=False)
    return h, state

state = OrderedDict()
"""
WITH_DEFAULT = """
def forward(x, state):
    h = cell(x, state["now"])
    made = defaultdict(lambda: torch.zeros(2, 8))
    made["now"], made["n"] = h, 1
    return h + made["other"], made

state = defaultdict(lambda: torch.zeros(2, 8))
state["now"], state["n"] = torch.zeros(2, 8), 0
"""
NAMED_TUPLES_OF_DICTS = """
def forward(x, state):
    old = state[0].h["now"] if state is not None else None
    h, c = lstm(x, (old, state[0].c) if state is not None else None)
    return h, [State({"now": h, "last": c}, c, "name")]

state = None
"""
DICTS_OF_NAMED_TUPLES = """
def forward(x, state):
    made = []
    for i in range(2):
        h, c = lstm(x, tuple(state[i]["pair"]) if state is not None else None)
        made.append({"pair": Pair(h, c), "name": str(i)})
    return h, made

state = None
"""
OWN = """
def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)

"""
TUPLE = """
def forward(x, state):
    h, c = lstm(x, state)
    return h, (h, c)

state = torch.zeros(2, 8), torch.zeros(2, 8)
"""


def repaired(folder: Path, program: str) -> tuple[Fix, str]:
    (finding,) = [each for each in analyse(folder / "train.py", HEAD + program, (folder,)).findings if not each.yields_to]
    assert finding.fix is not None
    return finding.fix, apply_fixes(HEAD + program, [finding.fix]).text


@pytest.mark.parametrize("state", [ORDERED, WITH_DEFAULT, NAMED_TUPLES_OF_DICTS, DICTS_OF_NAMED_TUPLES, TUPLE, OWN + TUPLE])
def test_a_state_is_cut_and_stays_of_its_class(tmp_path: Path, state: str) -> None:
    fix, after = repaired(tmp_path, state + LOOP)
    names: dict[str, object] = {}
    exec(compile(after, "train.py", "exec"), names)
    kinds = names["kinds"]
    assert isinstance(kinds, list) and len(kinds) == 4 and len(set(kinds)) == 1
    assert "state = None" not in "".join(getattr(each, "text", "") for each in fix.operations)


def test_the_project_s_own_form_is_used(tmp_path: Path) -> None:
    fix, after = repaired(tmp_path, OWN + TUPLE + LOOP)
    assert "    state = repackage_hidden(state)\n" in after
    assert fix.applicability is Applicability.SAFE


@pytest.mark.parametrize(
    "does_more",
    [
        OWN.replace("    if", "    seen.append(h)\n    if", 1).replace("def", "seen = []\ndef", 1),
        OWN.replace("        return h.detach()", "        print(h)\n        return h.detach()"),
        OWN.replace("(h):", "(h, deep):").replace("hidden(v)", "hidden(v, deep)"),
        OWN.replace("(h):\n    if", "(h):\n    global state\n    if"),
    ],
)
def test_a_function_that_does_more_is_no_form_of_a_cut(tmp_path: Path, does_more: str) -> None:
    _, after = repaired(tmp_path, does_more + TUPLE + LOOP)
    assert "state = repackage_hidden(state)" not in after and "detach() for s in state)" in after


def test_the_own_form_of_another_file_is_used(tmp_path: Path) -> None:
    (tmp_path / "states.py").write_text("import torch\n" + OWN)
    fix, _ = repaired(tmp_path, "from states import repackage_hidden as cut\n" + TUPLE + LOOP)
    assert any(isinstance(each, InsertBefore) and each.text == "state = cut(state)" for each in fix.operations)


@pytest.mark.parametrize("compared", ["state is start", "id(state) == id(start)", "start is not state"])
def test_a_container_that_is_compared_by_identity_is_not_rebuilt_safely(tmp_path: Path, compared: str) -> None:
    loop = LOOP.replace("    y, state =", f"    first = {compared}\n    y, state =")
    fix, _ = repaired(tmp_path, TUPLE + "start = state\n" + loop)
    assert fix.applicability is Applicability.UNSAFE
