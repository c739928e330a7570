"""What torch's message says of the tensor at fault, in plain words."""

from __future__ import annotations

import re

_WRITTEN = re.compile(
    r"\[torch\.(?:\w+\.)?\w*Tensor \[(?P<shape>[\d, ]*)\]\](?:, which is output (?P<output>\d+) of (?P<made>\w+?)(?:Backward\d*)?,)?"
    r" is at version (?P<now>\d+); expected version (?P<then>\d+)"
)
# how a weight looks that a layer has saved: its transpose, or a view of it
_OF_WEIGHTS = ("T", "AsStrided", "Transpose", "Permute", "View")


def detail_of(message: str) -> str:
    """A sentence on the tensor that the message names, empty where it names none."""
    match = _WRITTEN.search(" ".join(message.split()))
    if match is None:
        return ""
    times = int(match["now"]) - int(match["then"])
    written = f"written to {'once' if times == 1 else f'{times} times'} since" if times > 0 else "written to since"
    shape = f"of shape [{match['shape']}]" if match["shape"] else "with one element"
    made = match["made"]
    if made is None:
        return (
            f"torch names a tensor {shape} that no operation made, such as a parameter, a buffer or an input; it was {written}."
        )
    if made in _OF_WEIGHTS:
        which = "a weight that optimizer.step() changed, or a slice of a tensor that is filled step by step"
        return f"torch names a tensor {shape}, a view of another ({made}): {which}; it was {written}."
    return f"torch names the tensor: a result of {_plain(made)}, {shape}, {written}."


def is_a_result(message: str) -> bool:
    """Whether the message names the result of an operation, which no optimizer's step writes to."""
    match = _WRITTEN.search(" ".join(message.split()))
    return match is not None and match["made"] is not None and match["made"] not in _OF_WEIGHTS


def _plain(name: str) -> str:
    """`NativeLayerNorm` as `native layer norm`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
