"""Toy programs on the tape: what a test of the simulation is written in."""

from __future__ import annotations

from pathlib import Path

from graphfix.analysis.explore import Explorer, Tape
from graphfix.analysis.second_backward import second_backwards
from graphfix.source.document import Document

HEAD = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
net = nn.Linear(4, 4)
w = torch.randn(4, requires_grad=True)
x = torch.randn(4)
"""
OFFSET = HEAD.count("\n")


def explored(body: str) -> Tape:
    return Explorer(Document("toy.py", HEAD + body), (Path("/nowhere"),)).explore()


def hits(body: str) -> set[tuple[int, str]]:
    """The backward calls of `body` that meet a freed graph: (line of `body`, name of the cause)."""
    return {(walk.walk.site.lineno - OFFSET, walk.cause.name) for walk in second_backwards(explored(body))}


def walks(body: str) -> list[int]:
    """The lines of `body` whose backward passes walk something, in the order of the first run."""
    return [event.site.lineno - OFFSET for event in explored(body).runs[0].recording.walks]


def stale(body: str) -> set[int]:
    """The lines of `body` whose backward passes meet a parameter of another version."""
    events = [event for run in explored(body).runs for event in run.recording.walks]
    return {event.site.lineno - OFFSET for event in events if event.stale}
