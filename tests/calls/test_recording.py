"""Where recording is surely off, as torch has it there."""

from __future__ import annotations

import pytest
import torch

from graphfix.calls.recording import Recording

from .programs import graph_of

HEAD = "import torch\nfrom torch import no_grad as quiet, inference_mode, enable_grad\n"
OFF = [
    "with torch.no_grad():\n    here()",
    "with quiet():\n    here()",
    "with inference_mode():\n    here()",
    "with torch.inference_mode(True):\n    here()",
    "with torch.set_grad_enabled(False):\n    here()",
    "with (torch.no_grad() if 1 else inference_mode()):\n    here()",
    "guard = torch.no_grad()\nwith guard:\n    here()",
    "def mode(): return torch.no_grad()\nwith mode():\n    here()",
    "with torch.no_grad(), open('/dev/null'):\n    for x in [1]:\n        here()",
    "torch.set_grad_enabled(False)\nhere()",
    "with torch.no_grad():\n    try:\n        here()\n    finally:\n        pass",
]
ON = [
    "here()",
    "with torch.no_grad():\n    pass\nhere()",
    "with torch.no_grad():\n    with enable_grad():\n        here()",
    "with torch.inference_mode(False):\n    here()",
    "with torch.set_grad_enabled(True):\n    here()",
    "torch.set_grad_enabled(False)\ntorch.set_grad_enabled(True)\nhere()",
    "with torch.no_grad():\n    torch.set_grad_enabled(True)\n    here()",
    "torch.inference_mode(True)\nhere()",
    "torch.no_grad()\nhere()",
    "try:\n    with torch.no_grad():\n        raise ValueError\nexcept ValueError:\n    here()",
]
UNKNOWN = [
    "import sys\nguard = torch.no_grad() if sys.argv else sys.stdout\nwith guard:\n    here()",
    "def mode(x): return x\nwith mode(torch.no_grad()):\n    here()",
]


def is_off(text: str) -> bool:
    graph = graph_of(HEAD + text + "\n")
    recording = Recording(graph)
    (found,) = {
        recording.is_off(code, call)
        for code, call in graph.program.main.calls
        if getattr(getattr(call.node, "func", None), "id", "") == "here"
    }
    return found


@pytest.mark.parametrize("text", OFF + ON + UNKNOWN)
def test_it_is_said_only_where_torch_has_it_so(text: str) -> None:
    modes: list[bool] = []
    with torch.enable_grad():
        exec(HEAD + text, {"here": lambda: modes.append(torch.is_grad_enabled())})
    torch.set_grad_enabled(True)
    assert is_off(text) is (text in OFF)
    assert not is_off(text) or modes == [False]


@pytest.mark.parametrize(
    ("decorator", "expected"),
    [("torch.no_grad()", True), ("torch.no_grad", True), ("quiet()", True), ("enable_grad()", False), ("wraps", False)],
)
def test_a_decorator_switches_it_off_in_all_of_a_function(decorator: str, expected: bool) -> None:
    graph = graph_of(f"{HEAD}@{decorator}\ndef f(): pass\n")
    assert Recording(graph).is_decorated(graph.program.main.tree.body[-1]) is expected  # type: ignore[arg-type]
