"""What `graphfix trace` costs: time and memory of a training loop with the probe, as multiples of those without.

usage: python3 -m benchmarks.trace_overhead [--rounds N]

Two loops, each in processes of its own: tiny steps, in which all time is spent between operations, and steps in which large
matrices are multiplied. Each is run N times with and without the probe, in turn; the medians are compared.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

LOOP = """
import resource, sys, time
import torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
width, depth, batch, steps = {width}, {depth}, {batch}, {steps}
net = nn.Sequential(*[part for _ in range(depth) for part in (nn.Linear(width, width), nn.ReLU())])
optimizer = torch.optim.Adam(net.parameters())
x = torch.randn(batch, width)
def step():
    loss = (net(x) - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
for _ in range(5):
    step()
started = time.perf_counter()
for _ in range(steps):
    step()
seconds = time.perf_counter() - started
with open({out!r}, "w") as file:
    file.write(str(seconds) + " " + str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
"""
LOOPS = {"tiny steps": (8, 3, 4, 400), "large matrices": (1500, 4, 400, 8)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    told = {}
    for name, (width, depth, batch, steps) in LOOPS.items():
        plain, traced = [], []
        with tempfile.TemporaryDirectory() as folder:
            out, script = Path(folder) / "out", Path(folder) / "loop.py"
            script.write_text(LOOP.format(width=width, depth=depth, batch=batch, steps=steps, out=str(out)))
            for _ in range(rounds):
                plain.append(figures([sys.executable, str(script)], out))
                traced.append(figures([sys.executable, "-m", "graphfix", "trace", "--quiet", str(script)], out))
        times, sizes = ([statistics.median(row[part] for row in rows) for rows in (plain, traced)] for part in (0, 1))
        told[name] = {"time": round(times[1] / times[0], 2), "extra_mebibytes": round((sizes[1] - sizes[0]) / 1024, 1)}
        print(f"{name}: {told[name]['time']}x the time, {told[name]['extra_mebibytes']} MiB more memory", flush=True)
    print(json.dumps(told))


def figures(command: list[str], out: Path) -> tuple[float, float]:
    """Seconds of the loop, and the most memory of its process in KiB."""
    subprocess.run(command, check=True, capture_output=True)
    seconds, size = out.read_text().split()
    return float(seconds), float(size)


if __name__ == "__main__":
    main()
