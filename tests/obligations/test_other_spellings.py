"""The same fact, spelled otherwise: arrays of objects by position, ends of generators among others, errors under other names, bytes of files."""

from __future__ import annotations

import pytest

from tests.obligations.programs import SETUP, safe_titles

AGAIN = (
    SETUP
    + """
import numpy as np
from queue import Empty

def phases(hidden):
    yield "fit"
    return hidden.pow(2).mean()

def last_of(steps):
    try:
        while True:
            next(steps)
    except {ended} as stop:
        return stop.value

for step in range(4):
    hidden = net(torch.randn(5, 3))
    loss = hidden.mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    {use}
    opt.step()
"""
)
USED = {
    "an array of objects by position": ("StopIteration", "rows = np.empty(1, object); rows[0] = hidden.pow(2).mean(); rows.tolist()[0].backward()"),
    "the end of a generator": ("StopIteration", "last_of(phases(hidden)).backward()"),
    "the end of a generator among others": ("(StopIteration, GeneratorExit)", "last_of(phases(hidden)).backward()"),
}  # fmt: skip


@pytest.mark.parametrize("case", USED)
def test_a_graph_that_is_used_once_more(case: str) -> None:
    ended, use = USED[case]
    assert "GF305" not in [code for code, _ in safe_titles(AGAIN.format(ended=ended, use=use))]


CAUGHT = (
    SETUP
    + """
from queue import Empty
{full}
cell = nn.RNNCell(3, 4)
opt = torch.optim.SGD(cell.parameters(), lr=0.1)

def fit():
    h = torch.zeros(5, 4)
    for step in range(4):
        h = cell(torch.randn(5, 3), h)
        loss = h.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()

try:
    fit()
except {kind}:
    print("?")
"""
)


@pytest.mark.parametrize(
    ("full", "kind", "codes"),
    [
        ("", "Empty", ["GF201"]),
        ("Empty = (MemoryError, RuntimeError)", "Empty", []),
        ("class Empty(Exception):\n    pass", "Empty", ["GF201"]),
        ("", "RuntimeError", []),
    ],
)
def test_an_error_is_what_its_name_means(full: str, kind: str, codes: list[str]) -> None:
    assert [code for code, _ in safe_titles(CAUGHT.format(full=full, kind=kind))] == codes
