"""A number is put away for a tensor only where 64 bits come to the same as 32, and where nobody reads its text."""

from __future__ import annotations

import pytest

from tests.repairs.programs import SETUP, safe_titles

TOTAL = """
import math
total, lines, flat = 0.0, [], 0
for step in range(4):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    total {adds} loss
    {reads}
"""
AVERAGE = """
ema, flat = None, 0
for step in range(4):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema = loss if ema is None else 0.9 * ema + 0.1 * loss
    if {test}:
        flat += 1
print(flat)
"""


@pytest.mark.parametrize(
    ("adds", "reads", "titles"),
    [
        ("+=", "print(total)", [("GF101", "put away `loss.item()`")]),
        ("+=", "print('total ' + str(total))", [("GF101", "put away `loss.item()`")]),
        ("+=", "print(f'{total:.2f}')", [("GF101", "put away `loss.item()`")]),
        ("*=", "flat += math.isinf(total)", [("GF101", "put away `loss.detach()`")]),
        ("+=", "lines.append(str(total))", []),
        ("+=", "lines.append(f'{total!r}')", []),
    ],
)
def test_readers_of_a_total(adds: str, reads: str, titles: list[tuple[str, str]]) -> None:
    assert safe_titles(SETUP + TOTAL.format(adds=adds, reads=reads)) == titles


@pytest.mark.parametrize(("test", "cut"), [("ema <= 0.3", "detach"), ("ema <= 0.5", "item"), ("ema < float('inf')", "item")])
def test_what_a_number_is_compared_with(test: str, cut: str) -> None:
    """`tensor(0.3) <= 0.3`, but `tensor(0.3).item()` is 0.30000001192092896."""
    ((code, title),) = safe_titles(SETUP + AVERAGE.format(test=test))
    assert code == "GF101"
    assert title.endswith(f".{cut}()`")
