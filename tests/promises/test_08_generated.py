"""Promise 8: a safe fix leaves training as it was, also where nobody thought of the program."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = 160

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="the programs are run"),
    pytest.mark.xdist_group("generated"),
]


def python(*arguments: str) -> str:
    """What Python prints in the root of the checkout; the programs are run in forks, which a process of pytest is too large for."""
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_no_safe_fix_harms_a_generated_program() -> None:
    shown = python("-m", "benchmarks.generated", "--programs", str(PROGRAMS))
    fixed = re.search(r"(\d+) with a safe fix", shown)
    assert fixed is not None and int(fixed[1]) > PROGRAMS // 4, shown
    assert len(re.findall(r"^GF\d+ ", shown, re.M)) >= 8, shown


PAIRS = """
from benchmarks.generated.harness import verdict
from benchmarks.generated.running import run, warm
warm()
HEAD = "import torch\\nw = torch.ones(2, requires_grad=True)\\nopt = torch.optim.SGD([w], lr=0.1)\\n"
WALK = "total = 0.0\\nfor i in range(4):\\n    loss = (w * i).tanh().sum()\\n    {}\\ntotal.backward()\\nopt.step()\\n"
TWICE = "s = (w * w).sum()\\nfor i in range(2):\\n    opt.zero_grad()\\n    {}\\n    opt.step()\\n"
for one, two in (
    (WALK.format("total = total + loss"), WALK.format("total += loss")),
    (WALK.format("total = total + loss"), WALK.format("total = total + loss.detach()")),
    (WALK.format("total = total + loss"), WALK.format("total = total.detach() + loss if i > 1 else loss")),
    ("total = w.sum()\\nprint(total)\\n", "total = w.sum().item()\\nprint(total)\\n"),
    ("total = w.sum()\\nprint(total)\\n", "total = w.sum()\\nprint(total + 1)\\n"),
    ("kept = w.sum().item()\\n", "kept = (sum([w * 1 for i in range(20)]) / 20).sum().item()\\n"),
    (TWICE.format("s.backward()"), TWICE.format("s = (w * w).sum(); s.backward()")),
    (TWICE.format("s.backward()"), TWICE.format("s.backward(); print(1)")),
    (TWICE.format("s.backward()"), TWICE.format("(w * w.detach()).sum().backward()")),
    ("opt.step(1, 2, 3)\\n", "opt.step(1, 2, 3)\\nw = 0\\n"),
):
    print(verdict(run(HEAD + one), run(HEAD + two), ["GF201"]).split(":")[0])
"""


def test_what_a_wrong_fix_does_is_noticed() -> None:
    assert python("-c", PAIRS).splitlines() == [
        "same",
        "HARM crash",
        "HARM numbers",
        "same",
        "HARM numbers",
        "HARM grows",
        "repaired",
        "HARM still raises",
        "SUSPECT gradients",
        "raises as before",
    ]
