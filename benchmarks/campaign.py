"""A campaign over many repositories, killed again and again: is each done exactly once, and what does a stage take?

`python3 -m benchmarks.campaign FOLDER ... [--kills 10] [--workers 2] [--seed 0] [--keep DIR]`: each folder, a bare repository or one with
a commit, is a target. Printed are what became of them, the steps that happened more than once (there should be none), the figures
that a report tells, and from the measured times of stages how long 10,000 such repositories take on 200 workers.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from graphfix.campaign.state import ENDED, Stage, State

GRAPHFIX = (sys.executable, "-m", "graphfix", "campaign")
MANY, WORKERS = 10_000, 200


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m benchmarks.campaign")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--between", type=float, default=20.0, help="the longest time in seconds before it is killed")
    parser.add_argument("--keep", type=Path, help="where the campaign is left to be looked at")
    given = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary) / "campaign"
        folder.mkdir(parents=True)
        urls = json.dumps([folder.resolve().as_uri() for folder in given.folders])
        (folder / "campaign.toml").write_text(f"[targets]\nurls = {urls}\n")
        clock = ran(folder, given)
        return told(folder, clock)


def ran(folder: Path, given: argparse.Namespace) -> float:
    """Seconds until all is done, with the kills."""
    command = (*GRAPHFIX, "run", str(folder), "--quiet", "--workers", str(given.workers))
    chance, started = random.Random(given.seed), time.perf_counter()
    for _ in range(given.kills):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            process.wait(chance.uniform(0.1, given.between))
            break  # it was faster
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
    subprocess.run(command, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def told(folder: Path, clock: float) -> int:
    """Print what came of it; 1 where a step happened twice, or a repository is neither done nor told to have failed."""
    state = State(folder)
    targets, steps = state.targets(), state.steps()
    state.close()
    print(f"{len(targets)} repositories in {clock:.0f} s:", dict(Counter(target.stage.value for target in targets)))
    again = [key for key, times in Counter((step.name, step.was, step.now) for step in steps).items() if times > 1]
    open_still = [target.name for target in targets if target.stage not in {*ENDED, Stage.BRANCHED}]
    print("steps that happened twice:", again or "none", "| not done:", open_still or "none")
    for target in targets:
        if target.stage is Stage.FAILED:
            print(f"  {target.name}: {target.reason}")
    taken: dict[str, dict[str, float]] = defaultdict(dict)
    for step in steps:
        if step.seconds:
            taken[step.name][step.was.value] = step.seconds
    for stage in dict.fromkeys(step.was.value for step in steps if step.seconds):
        seconds = sorted(held[stage] for held in taken.values() if stage in held)
        print(f"  {stage:<12}{len(seconds):>5} times{seconds[len(seconds) // 2]:>9.2f} s median{seconds[-1]:>9.1f} s most")
    print(
        f"{MANY} such repositories on {WORKERS} workers: {simulated([sum(held.values()) for held in taken.values()]) / 60:.0f} minutes"
    )
    return 1 if again or open_still else 0


def simulated(seconds: Sequence[float], seed: int = 0) -> float:
    """The time until the last of `WORKERS` is done, if `MANY` repositories take times drawn from the measured ones."""
    chance = random.Random(seed)
    free = [0.0] * WORKERS
    for _ in range(MANY):
        heapq.heappush(free, heapq.heappop(free) + chance.choice(seconds))
    return max(free)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
