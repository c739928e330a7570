"""GF902: reads of `.data` that cut a graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from .toys import has_to_be_asked_for, is_left_alone, repaired

LEFT_ALONE = {
    "there is no graph to cut": """
v = x.data.max()
""",
    "a number is read": """
v = loss.data.item()
""",
    "it is written to in place": """
v = net(x).data
v += 1
""",
    "a view of it is written to in place": """
v = net(x).data
v[0].zero_()
""",
    "it is written to by out": """
v = net(x).data
torch.add(x, x, out=v)
""",
    "a parameter is initialised": """
nn.init.zeros_(net.weight.data)
""",
    "the data of a packed sequence": """
p = nn.utils.rnn.pack_sequence([net(x)])
v = p.data
""",
    "the output for a packed sequence": """
r = nn.GRU(3, 3)
o, h = r(nn.utils.rnn.pack_sequence([x]))
print(o.data)
""",
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(tmp_path: Path, program: str) -> None:
    assert is_left_alone(tmp_path, program)


UNSAFE = {
    "it is handed to code that is not in sight": """
import other
other.keep(net(x).data)
""",
    "a step writes to a parameter": """
v = net.weight.data.norm(2, 1)
""",
}


@pytest.mark.parametrize("program", UNSAFE.values(), ids=UNSAFE)
def test_what_has_to_be_asked_for(tmp_path: Path, program: str) -> None:
    assert has_to_be_asked_for(tmp_path, program)


REPAIRED = {
    "an output": (
        """
v = net(x).data.max(1)[1]
""",
        """
v = net(x).detach().max(1)[1]
""",
    ),
}


@pytest.mark.parametrize(("before", "after"), REPAIRED.values(), ids=REPAIRED)
def test_what_is_repaired(tmp_path: Path, before: str, after: str) -> None:
    assert repaired(tmp_path, before) == after
