"""A campaign on this machine and on a Dask cluster of as many processes: the same bytes, and what the cluster costs.

`python3 -m benchmarks.campaign_engines FOLDER ... [--workers 1 2 4]`: each folder, a bare repository or one with a commit, is a target.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

GRAPHFIX = (sys.executable, "-m", "graphfix", "campaign")


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m benchmarks.campaign_engines")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    given = parser.parse_args(words)
    urls = json.dumps([folder.resolve().as_uri() for folder in given.folders])
    same = True
    with tempfile.TemporaryDirectory() as temporary:
        for workers in given.workers:
            here = Path(temporary) / f"local{workers}"
            there = Path(temporary) / f"dask{workers}"
            first = campaign(here, urls, "--workers", str(workers))
            with cluster(workers) as address:
                second = campaign(there, urls, "--engine", "dask", "--scheduler", address)
            equal = results(here) == results(there)
            same = same and equal
            more = (second - first) / len(given.folders)
            print(f"{workers} workers: local {first:.1f} s, dask {second:.1f} s, {more:+.2f} s a repository, same bytes: {equal}")
    return 0 if same else 1


def campaign(folder: Path, urls: str, *words: str) -> float:
    """Seconds that a whole campaign takes."""
    folder.mkdir()
    (folder / "campaign.toml").write_text(f"[targets]\nurls = {urls}\n")
    started = time.perf_counter()
    subprocess.run([*GRAPHFIX, "run", str(folder), "--quiet", *words], stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


@contextlib.contextmanager
def cluster(workers: int) -> Iterator[str]:
    """A cluster of processes with one thread each; in its block the address of its scheduler."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None) as made:
        yield made.scheduler_address


def results(folder: Path) -> dict[str, bytes]:
    """Every file of the results but logs, and what the branches hold."""
    held = folder / "results"
    files = {
        str(path.relative_to(held)): path.read_bytes()
        for path in sorted(held.rglob("*.*"))
        if path.name not in ("log.txt", ".lock")
    }
    words = ("log", "--format=%T %s%n%b", "graphfix/autograd", "--")
    made = {
        clone.name: subprocess.run(["git", *words], cwd=clone, capture_output=True).stdout
        for clone in (folder / "clones").iterdir()
    }
    return files | made


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
