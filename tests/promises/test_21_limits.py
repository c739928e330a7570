"""Promise 21: no program makes the analysis explode, however it piles one value on another."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from . import bombs

pytestmark = pytest.mark.deep

HEAD = """\
import numpy as np
import torch
given = load()
model = torch.nn.Linear(2, 2)
k = np.mean(given)
"""
# each asks for the truth of `k`, so that it is looked up
TAIL = """\
if k > 3:
    print(k)
loss = model(torch.ones(2)).sum()
loss.backward()
"""
RUNGE_KUTTA = """\
k1 = np.sin(k)
k2 = np.sin(k + k1 / 2)
k3 = np.sin(k + k2 / 2)
k4 = np.sin(k + k3)
k = k + (k1 + 2 * k2 + 2 * k3 + k4) / 6
"""
PERCEPTRON = """\
for epoch in range(100):
    for i in range(100):
        for j in range(100):
            p = np.dot(given[i], k)
            k = k + given[i] * p - k * p if p * given[j] <= 0 else k - p * k
"""
CLASSES = "class A0: pass\nclass B0: pass\n" + "".join(
    f"class A{n}(A{n - 1}, B{n - 1}): pass\nclass B{n}(A{n - 1}, B{n - 1}): pass\n" for n in range(1, 40)
)
BOMBS = {
    "extremes": "k = min(k, max(k, k))\n" * 40,
    "products": "k = k @ k.T\n" * 40,
    "runge-kutta": RUNGE_KUTTA * 12,
    "perceptron": PERCEPTRON,
    "negations": "k = not k\n" * 3_000,
    "class diamonds": CLASSES + "k = A39().missing()\nk = A39().other\n",
    "text": "k = 'ab'\n" + "k = k + k\n" * 60,
    "bytes": "k = b'ab'\n" + "k = k + k\n" * 60,
    "replaced text": "k = 'ab'\n" + "k = k.replace('a', 'aaaaaaaaaa')\n" * 60,
    "wide format": "k = '%900000000d' % 1\n",
    "given width": "k = '%*d' % (900000000, 1)\n",
    "wide bytes": "k = b'%.900000000d' % 1\n",
    "list times": "k = [1, 2]\n" + "k = k * 2\n" * 60,
    "list sum": "k = [given, given]\n" + "k = k + k\n" * 60,
    "tuple of itself": "k = (1, 2)\n" + "k = (k, k)\n" * 60 + "k = k == k or k in (1, k)\n",
    "list of itself": "k = [given]\n" + "k = [k, k]\n" * 60 + "k = torch.stack(k)\n",
    "unpacked": "k = [1, 2]\n" + "k = [*k, *k]\n" * 60,
    "power": "k = 9\n" + "k = k ** 9\n" * 60,
    "clique": "".join(f"def f{n}(a):\n" + "".join(f"    f{m}(a)\n" for m in range(500) if m % 7 == n % 7) for n in range(500)),
}


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of memory")
@pytest.mark.parametrize("bomb", BOMBS)
def test_the_rest_of_the_program_is_analysed(command: str, tmp_path: Path, bomb: str) -> None:
    (tmp_path / "bomb.py").write_text(HEAD + BOMBS[bomb] + TAIL + bombs.TAIL)
    done = subprocess.run(
        [command, "check", "--isolated", "--output-format", "concise", "bomb.py"],
        cwd=tmp_path, capture_output=True, timeout=300, preexec_fn=limit_memory,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert b"GF101" in done.stdout and not done.stderr, done.stdout + done.stderr


def limit_memory() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


def test_a_pipe_among_the_files_that_may_import_is_not_waited_for(command: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "bomb.py").write_text(
        "import torch\nclass Keeper:\n    def walk(self, loss):\n        self.last = loss\n        loss.backward()\n"
    )
    os.mkfifo(tmp_path / "pipe.py")
    done = subprocess.run([command, "check", "bomb.py"], cwd=tmp_path, capture_output=True, timeout=300)
    assert done.returncode in (0, 1), done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of memory")
def test_the_fault_behind_each_bomb_is_found(command: str, tmp_path: Path) -> None:
    """All at once, so that what one of them costs would be taken from the others."""
    for name, code in bombs.BOMBS.items():
        (tmp_path / f"{name.replace(' ', '_')}.py").write_text(bombs.HEAD + code + bombs.TAIL)
    done = subprocess.run(
        [command, "check", "--isolated", "--no-cache", "--select", "GF101", "--output-format", "concise", "."],
        cwd=tmp_path, capture_output=True, timeout=900,
    )  # fmt: skip
    told = {line.split(b":")[0].decode() for line in done.stdout.splitlines() if b": GF101 " in line}
    unfinished = {line.split(b":")[0].decode() for line in done.stderr.splitlines() if b"not analysed to the end" in line}
    assert {path.name for path in tmp_path.iterdir()} == told
    assert unfinished <= bombs.TOO_LONG
    assert done.returncode == 1, done.stderr
