"""Dropout in place: what writes, and so breaks what an operation has saved, is what writes in torch."""

from __future__ import annotations

import pytest

from tests.analysis.toys import HEAD, explored

torch = pytest.importorskip("torch")

LAYERS = {
    "nn.Dropout(0.0, inplace=True)": False,
    "nn.Dropout(p=0, inplace=True)": False,
    "nn.Dropout(0, True)": False,
    "nn.AlphaDropout(0.0, inplace=True)": False,
    "nn.Dropout(0.5, inplace=True).eval()": False,
    "nn.Dropout(0.5, inplace=True)": True,
    "nn.Dropout(inplace=True)": True,
    "nn.Sequential(nn.Identity(), nn.Dropout(0.0, inplace=True))": False,
}
PROGRAM = """\
layer = {layer}
seen = w.sigmoid()
layer(seen)
seen.sum().backward()
"""


@pytest.mark.parametrize(("layer", "writes"), LAYERS.items())
def test_dropout_in_place_writes_what_torch_writes(layer: str, writes: bool) -> None:
    scope: dict[str, object] = {}
    before, behind = (HEAD + PROGRAM.format(layer=layer)).split("layer(seen)\n")
    exec(f"{before}version = seen._version\nlayer(seen)\nversion = seen._version - version\n", scope)
    assert bool(scope["version"]) is writes
    assert bool(explored(PROGRAM.format(layer=layer)).runs[0].recording.writes) is writes


def test_what_is_dropped_later_counts() -> None:
    body = "layer = nn.Dropout(0.0, inplace=True)\nlayer.p = 0.5\nseen = w.sigmoid()\nlayer(seen)\n"
    assert explored(body).runs[0].recording.writes
