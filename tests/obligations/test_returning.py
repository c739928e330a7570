"""What went to code out of sight before a walk may come back from there, and then is walked while its graph has to be there."""

from __future__ import annotations

import pytest

from tests.obligations.programs import SETUP, safe_titles

PROGRAM = (
    SETUP
    + """
import asyncio, concurrent.futures, queues

async def train():
    loop = asyncio.get_running_loop()
    for step in range(4):
        hidden = net[:2](torch.randn(5, 3))
        {put}
        opt.zero_grad()
        hidden.pow(2).mean().backward(retain_graph=True)
        {taken}
        opt.step()

asyncio.run(train())
"""
)
RETURNED = {
    "a promise": ("kept = loop.create_future(); kept.set_result(net[2](hidden).mean())", "(await kept).backward()"),
    "a future": ("kept = concurrent.futures.Future(); kept.set_result(net[2](hidden).mean())", "kept.result().backward()"),
    "a future that is waited for": (
        "kept = asyncio.Future(); kept.set_result(net[2](hidden).mean())",
        "torch.autograd.backward(await asyncio.wait_for(kept, 1))",
    ),
    "a library's queue": ("kept = queues.make(); kept.put(net[2](hidden).mean())", "(await kept).backward()"),
}
KEPT_THERE = {
    "what is only told": ("job = queues.log(net[2](hidden).mean())", "job.done()"),
    "what a criterion gives": ("size = queues.size_of(hidden)", "print(size)"),
    "a walk of something else": ("job = queues.log(net[2](hidden).mean())", "net(torch.randn(2, 3)).mean().backward()"),
}


@pytest.mark.parametrize("case", RETURNED)
def test_what_comes_back_needs_its_graph(case: str) -> None:
    put, taken = RETURNED[case]
    assert safe_titles(PROGRAM.format(put=put, taken=taken)) == []


@pytest.mark.parametrize("case", KEPT_THERE)
def test_what_does_not_come_back_needs_none(case: str) -> None:
    put, taken = KEPT_THERE[case]
    assert [code for code, _ in safe_titles(PROGRAM.format(put=put, taken=taken))] == ["GF305"]
