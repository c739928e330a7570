"""Why code that is to run without recording may want a gradient all the same."""

from __future__ import annotations

import ast
from collections.abc import Container, Sequence

from graphfix.analysis.explore import Tape
from graphfix.analysis.flow.library import walks_nothing
from graphfix.analysis.region import Doubt, Region
from graphfix.autograd.graph import history
from graphfix.interpreter.recording import Foreign
from graphfix.source.quote import short
from graphfix.source.subtree import subtree

# https://pytorch.org/docs/stable/generated/torch.nn.TransformerEncoder.html: these take a fast path where no gradient is recorded
FAST_PATHS = ("Transformer", "MultiheadAttention")
# oneDNN computes this one by another kernel for inference, by grad mode alone; those of GRU, RNN and the cells are the same in both modes:
# https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/mkldnn/RNN.cpp
BY_KERNEL = frozenset(["LSTM"])


def doubt_about(region: Region, tape: Tape, foreign: Container[ast.AST]) -> Doubt | None:
    """Why something in the region may want a gradient, or compute otherwise without; None where all its code is analysed and ran.

    `foreign`: the statements that lead to calls of code that is not analysed.
    """
    if tape.truncated:
        return Doubt("the analysis budget ran out")
    if any(part in foreign for part in region.repaired):
        site = foreign_in(region, tape)
        named = f"`{short(ast.unparse(site.func if isinstance(site, ast.Call) else site))}`" if site is not None else "a callee"
        return Doubt(f"{named} is defined outside the analysed code, and may call backward() or need gradients", site)
    missed = missed_in(region.repaired, tape)
    if missed is not None:
        return Doubt("no simulated run reaches this statement, which may need gradients", missed)
    by_kernel = BY_KERNEL if not tape.conventions.allows_rounding else ()
    layers = (layer for node, _ in region.forwards for below in history([node]) for layer in below.leaves)
    fast = next((layer for layer in layers if layer.name.startswith(FAST_PATHS) or layer.name in by_kernel), None)
    if fast is None:
        return None
    if fast.name in BY_KERNEL:
        return Doubt(f"what `{fast.name}` computes may differ in the last digit where no gradients are recorded", fast.site)
    return Doubt(f"`{fast.name}` computes by another formula where no gradients are recorded", fast.site)


def foreign_in(region: Region, tape: Tape) -> ast.AST | None:
    """The first call in the region of code that is not analysed."""
    calls = (call for run in tape.runs for call in run.recording.foreign if region.holds(call.trace) and not is_tame(call))
    return next((call.site for call in calls), None)


def is_tame(call: Foreign) -> bool:
    """Whether a library is called that is known to walk no graph; what it keeps of the region is asked of the flow."""
    return isinstance(call.callee, str) and walks_nothing(call.callee)


def missed_in(parts: Sequence[ast.stmt], tape: Tape) -> ast.stmt | None:
    """The first statement inside of `parts` that no run has come to."""
    executed = tape.executed
    inner = (s for part in parts for s in subtree(part) if isinstance(s, ast.stmt) and s is not part)
    return next((statement for statement in inner if statement not in executed), None)
