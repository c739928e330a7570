"""The fixture `autograd_probe`: what a test pins of its graphs.

def test_a_step_leaks_no_graph(autograd_probe):
    for batch in batches:
        train_step(model, batch)
    assert autograd_probe.growth == 0
    assert not autograd_probe.failures
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from graphfix.traced.live import Live


@pytest.fixture
def autograd_probe() -> Iterator[Live]:
    """Follows the graphs of one test; see `graphfix.trace`."""
    pytest.importorskip("torch")
    from graphfix.traced.live import Live

    with Live() as live:
        yield live
