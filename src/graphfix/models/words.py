"""What decides about a graph, as programs spell it: the one list that filters, entries and models ask."""

from __future__ import annotations

import re

# methods of trainers and launchers that run the backward pass of their first argument:
# https://lightning.ai/docs/pytorch/stable/common/optimization.html, and the toggling of
# https://lightning.ai/docs/pytorch/stable/common/lightning_module.html
LAUNCHERS = frozenset(("manual_backward", "toggled_backward", "optimizer_backward"))
# a backward pass
WALKS = frozenset(("backward", "grad")) | LAUNCHERS
# https://lightning.ai/docs/pytorch/stable/common/lightning_module.html: automatic optimization walks what it returns
WALKED_BY_TRAINER = frozenset(("training_step",))
# a number that is read out of a graph, an evaluation, and old ways to cut one
READS = frozenset(("item", "data", "tolist", "numpy", "eval", "Variable"))
# torch's own ways to ask for a gradient
ASKS = WALKS | {"requires_grad_", "requires_grad", "enable_grad", "set_grad_enabled"}

# the same in a text that is not parsed yet: a word may be the end of a longer one (`my_backward`), `grad` stands for too much
_WALK = re.compile(r"backward\b|\bautograd\b|\bgrad\(|" + "|".join(rf"\b{word}\b" for word in sorted(WALKED_BY_TRAINER)))
_READ = re.compile(r"\.data\b|\.item\b|\.tolist\b|\.numpy\b|\.eval\(|\bVariable\b")

# the same in bytes: what holds none of these does not match above
_WALK_BYTES = tuple(word.encode() for word in ("backward", "autograd", "grad(", *sorted(WALKED_BY_TRAINER)))
_READ_BYTES = tuple(word.encode() for word in (".data", ".item", ".tolist", ".numpy", ".eval(", "Variable"))


def spells_walk(text: str) -> bool:
    """Whether the text may hold a backward pass."""
    return _WALK.search(text) is not None


def spells_read(text: str) -> bool:
    """Whether the text may read a number out of a graph, or evaluate a module."""
    return "torch" in text and _READ.search(text) is not None


def may_spell(data: bytes) -> bool:
    """Whether a file with these bytes, in an encoding that writes ASCII as it is, may spell a walk or a read."""
    if any(word in data for word in _WALK_BYTES):
        return True
    return b"torch" in data and any(word in data for word in _READ_BYTES)
