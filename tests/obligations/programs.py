"""What small programs are told in the tests of proofs."""

from __future__ import annotations

import textwrap
from pathlib import Path

from graphfix.model import Applicability, Finding
from graphfix.run.engine import findings_of

SETUP = """
import torch
from torch import nn

net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
"""


def found(text: str) -> list[Finding]:
    return [finding for finding in findings_of(Path("train.py"), textwrap.dedent(text)) if not finding.optional]


def only(text: str) -> Finding:
    findings = found(text)
    assert len(findings) == 1, findings
    return findings[0]


def safe_titles(text: str) -> list[tuple[str, str]]:
    """The code and title of each safe fix."""
    return [(f.code, f.fix.title) for f in found(text) if f.fix is not None and f.fix.applicability is Applicability.SAFE]
