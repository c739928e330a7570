"""What decides about a graph, as programs spell it: the one list that filters, entries and models ask."""

from __future__ import annotations

import functools
import heapq
import re
from collections.abc import Iterator

from graphfix.source.strings import texts

# methods of trainers and launchers that run the backward pass of their first argument:
# https://lightning.ai/docs/pytorch/stable/common/optimization.html, and the toggling of
# https://lightning.ai/docs/pytorch/stable/common/lightning_module.html
LAUNCHERS = frozenset(("manual_backward", "toggled_backward", "optimizer_backward"))
# a backward pass
WALKS = frozenset(("backward", "grad")) | LAUNCHERS
# https://lightning.ai/docs/pytorch/stable/common/lightning_module.html: automatic optimization walks what it returns;
# https://huggingface.co/docs/transformers/main_classes/trainer: so does the training step with the loss
WALKED_BY_TRAINER = frozenset(("training_step", "compute_loss"))
# https://lightning.ai/docs/pytorch/stable/common/lightning_module.html#hooks: the trainer evaluates without recording
UNRECORDED_BY_TRAINER = frozenset(
    f"{when}{stage}_{what}"
    for stage in ("validation", "test", "predict")
    for when, what in [
        ("", "step"), ("", "step_end"), ("", "epoch_end"), ("on_", "start"), ("on_", "end"), ("on_", "epoch_start"),
        ("on_", "epoch_end"), ("on_", "batch_start"), ("on_", "batch_end"),
    ]
)  # fmt: skip
# a number that is read out of a graph, an evaluation, and old ways to cut one
OLD_READS = frozenset(("data", "Variable"))
READS = frozenset(("item", "tolist", "numpy", "eval")) | OLD_READS

# what a model of `transformers` gives beside its loss: https://huggingface.co/docs/transformers/main_classes/output
OUTPUTS = frozenset(
    "logits start_logits end_logits prediction_logits seq_relationship_logits logits_per_image logits_per_text last_hidden_state "
    "pooler_output encoder_last_hidden_state image_embeds text_embeds".split()
)

# https://pytorch.org/docs/stable/nn.init.html: these write into their first argument
INITIALISERS = frozenset(
    f"{name}_"
    for name in (
        "uniform normal trunc_normal constant ones zeros eye dirac sparse orthogonal "
        "xavier_uniform xavier_normal kaiming_uniform kaiming_normal"
    ).split()
)
# torch's own ways to ask for a gradient
ASKS = WALKS | {"requires_grad_", "requires_grad", "enable_grad", "set_grad_enabled"}
# an unknown object with these methods is a module
PROVES_MODULE = frozenset(("train", "eval", "parameters", "zero_grad", "state_dict", "load_state_dict", "named_parameters"))
# what a file imports that builds networks, by its dotted name: see `models.networks`
NETWORKS = re.compile(r"torchvision\.models(?:\.\w+)*|timm(?:\.\w+)*|transformers\.(?:\w+\.)*\w*(?:Model|For[A-Z]\w*)", re.ASCII)
# a walk or a read in code that is not parsed yet: a word may be the end of a longer one (`my_backward`), `grad` stands for too much
_BY_TRAINER = "|".join(sorted(WALKED_BY_TRAINER))
_WALK = re.compile(rf"backward\b|\bautograd\b|\bgrad\(|\b(?:{_BY_TRAINER})\b", re.ASCII)
_WALK_OR_READ = re.compile(
    rf"{_WALK.pattern}|(?<!\btorch\.utils)\.data\b|\.item\b|\.tolist\b|\.numpy\b|\.eval\(|\bVariable\b|\.zero_grad\(", re.ASCII
)
_WORD = re.compile(r"['\"]*\w*['\"]*", re.ASCII)
# what holds none of these does not match above: sought many times as fast
_WALK_PARTS = tuple(word.encode() for word in ("backward", "autograd", "grad(", *sorted(WALKED_BY_TRAINER)))
_READ_PARTS = tuple(word.encode() for word in (".data", ".item", ".tolist", ".numpy", ".eval(", "Variable", ".zero_grad("))


def spells(data: bytes) -> bool:
    """Whether the bytes may hold a backward pass, read a number out of a graph, evaluate a module, or clear gradients.

    Whatever they are, Python or JSON, in an encoding that writes ASCII as it is.
    """
    return any(part in data for part in _WALK_PARTS) or b"torch" in data and any(part in data for part in _READ_PARTS)


@functools.lru_cache(maxsize=1)
def spelled_by_code(data: bytes) -> bool:
    """The same of Python, of which comments and the texts in strings decide nothing; the last answer is kept."""
    if not spells(data):
        return False
    text = data.decode("latin-1")  # each byte a character, whatever the encoding
    silent = ((start, end) for start, end, _ in texts(text) if not _may_run(text, start, end))
    start = end = 0
    for at in _spelled(text):
        while end <= at:
            start, end = next(silent, (len(text), len(text) + 1))
        if at < start:
            return True
    return False


def _spelled(text: str) -> Iterator[int]:
    """Where the words stand in a text, in its order."""
    pattern, parts = (_WALK_OR_READ, (*_WALK_PARTS, *_READ_PARTS)) if "torch" in text else (_WALK, _WALK_PARTS)
    places = heapq.merge(*(_places(text, part.decode()) for part in parts))
    return (at for at in places if pattern.match(text, at))


def _places(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _may_run(text: str, start: int, end: int) -> bool:
    """Whether what a comment or string says may run: one word may name an attribute, and an f-string holds expressions.

    What is left open is no string.
    """
    if end > len(text):
        return True
    if text[start] == "#":
        return False
    prefix = text[max(start - 2, 0) : start].lower()
    return prefix.endswith("f") or prefix == "fr" or _WORD.fullmatch(text, start, end) is not None
