"""What the probe costs: training scripts by hand and under the probe, side by side.

usage: python3 -m benchmarks.probe [--repeats N]

Each script takes the processor time of its own loop, on one thread, start-up of Python and torch left out; by hand and under
the probe take turns, so that what else the machine does hits both. Printed are the least of the times and, as the
cost, their ratio.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from graphfix.verify.launch import PROBE

HEAD = """\
import sys, time
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
torch.set_num_threads(1)
"""
TAIL = """
steps(20)
started = time.process_time()
steps({steps})
open(sys.argv[1], "w").write(str(time.process_time() - started))
"""
SCRIPTS = {
    "small: 3 layers, 32 wide, Adam": (
        """
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.randn(64, 8), torch.randn(64, 1)
def steps(count):
    total = 0.0
    for _ in range(count):
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
""",
        1500,
    ),
    "small: hand-written cell, 20 steps, SGD": (
        """
cell, head = nn.Linear(24, 16), nn.Linear(16, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)
x = torch.randn(20, 16, 8)
def steps(count):
    for _ in range(count):
        h, loss = torch.zeros(16, 16), 0.0
        for step in range(20):
            h = torch.tanh(cell(torch.cat([x[step], h], dim=1))) * 0.9 + 0.1 * h
            loss = loss + (head(h) - x[step].sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
        100,
    ),
    "matrix work: 4 layers, 1024 wide, batch 256": (
        """
model = nn.Sequential(*(part for _ in range(4) for part in (nn.Linear(1024, 1024), nn.GELU())))
optimizer = torch.optim.AdamW(model.parameters())
x = torch.randn(256, 1024)
def steps(count):
    for _ in range(min(count, 12)):
        loss = F.mse_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
""",
        12,
    ),
    "matrix work: 2 transformer layers, 256 wide": (
        """
layer = nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True)
model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
optimizer = torch.optim.AdamW(model.parameters())
x = torch.randn(8, 64, 256)
def steps(count):
    for _ in range(min(count, 12)):
        loss = F.mse_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()
""",
        12,
    ),
}


def seconds(command: list[str], folder: Path) -> float:
    """The time that the script's own loop took."""
    told = folder / "seconds"
    subprocess.run([*command, str(told)], check=True)
    return float(told.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description="what the probe costs")
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    print(f"{'script':46} {'by hand':>9} {'probe':>9} {'cost':>6} {'with --saved':>13}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        probe = [sys.executable, str(PROBE), "--report", str(folder / "report.json")]
        for title, (body, steps) in SCRIPTS.items():
            script = folder / "script.py"
            script.write_text(HEAD + body + TAIL.format(steps=steps))
            commands = [[sys.executable, str(script)], [*probe, str(script)], [*probe, "--saved", str(script)]]
            times = list(zip(*([seconds(command, folder) for command in commands] for _ in range(repeats))))
            hand, plain, saved = (min(row) for row in times)
            print(f"{title:46} {hand:8.3f}s {plain:8.3f}s {plain / hand:5.2f}x {saved / hand:12.2f}x", flush=True)


if __name__ == "__main__":
    main()
