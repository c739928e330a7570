"""GF401: a tensor that a backward pass still needs is written to in place."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability
from graphfix.rewrite import apply_fixes
from graphfix.run.engine import analyse

from .toys import PREAMBLE, has_to_be_asked_for, told

LEFT_ALONE = {
    "another name for it on some paths only: code that works takes the others": """
for i, layer in enumerate(heads):
    x = layer(x)
    if i == start:
        kept = x
x -= kept * logits
x.sum().backward()
""",
    "out of place": """
gate = torch.sigmoid(model(x))
gate = gate + 0.1
(gate * trunk(x)).sum().backward()
""",
    "a sum saves nothing": """
gate = model(x) + 1
gate += 0.1
gate.sum().backward()
""",
    "a copy is written to": """
gate = torch.sigmoid(model(x))
copy = gate.clone()
copy += 0.1
(gate * trunk(x)).sum().backward()
""",
    "it is written to behind the walk": """
gate = torch.sigmoid(model(x))
gate.sum().backward()
with torch.no_grad():
    gate += 0.1
""",
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    assert told(program) == set()


TOLD = {
    "the output of a sigmoid": """
gate = torch.sigmoid(model(x))
gate += 0.1
(gate * trunk(x)).sum().backward()
""",
    "an item of it": """
gate = torch.sigmoid(model(x))
gate[gate > 0.5] = 0
(gate * trunk(x)).sum().backward()
""",
}


@pytest.mark.parametrize("program", TOLD.values(), ids=TOLD)
def test_what_is_told(program: str) -> None:
    assert told(program) == {"GF401"}


@pytest.mark.parametrize(
    ("offset", "is_safe"),
    [
        ("0.1", True),
        ("torch.randn(8)", True),
        ("torch.linspace(0, 1, 8, dtype=torch.float64)", False),
        ("torch.from_numpy(a)", False),
    ],
)
def test_out_of_place_is_safe_only_where_the_type_stays(offset: str, is_safe: bool) -> None:
    program = f"""
gate = torch.sigmoid(model(x))
gate += {offset}
(gate * trunk(x)).sum().backward()
"""
    (finding,) = analyse(Path("page.py"), PREAMBLE + program).findings
    assert finding.fix is not None
    assert (finding.fix.applicability is Applicability.SAFE) is is_safe


def test_a_sum_of_two_precisions_has_to_be_asked_for(tmp_path: Path) -> None:
    program = "shift = nn.Parameter(torch.randn(3))\na = torch.tanh(net(x).to(torch.bfloat16))\na += shift\na.float().sum().backward()\n"
    assert has_to_be_asked_for(tmp_path, "\n" + program, select=())


SET_LATER = """
act, drop, out = nn.Sigmoid(), nn.ReLU(), nn.Linear(4, 1)
for layer in (act, drop):
    if isinstance(layer, nn.ReLU):
        layer.inplace = True
loss = out(drop(act(trunk(x))))
loss.sum().backward()
"""


def test_a_flag_that_is_set_later_is_set_to_false() -> None:
    (finding,) = analyse(Path("page.py"), PREAMBLE + SET_LATER).findings
    assert finding.fix is not None and finding.fix.title == "write `layer.inplace = False`"
    repaired = apply_fixes(PREAMBLE + SET_LATER, [finding.fix]).text
    assert "layer.inplace = False" in repaired and not analyse(Path("page.py"), repaired).findings


def test_a_flag_that_is_set_to_false_counts() -> None:
    program = SET_LATER.replace("nn.ReLU()", "nn.ReLU(inplace=True)").replace("inplace = True", "inplace = False")
    assert not analyse(Path("page.py"), PREAMBLE + program).findings
