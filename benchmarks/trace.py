"""Score `graphfix trace` on scripts of which the fault is known.

usage: python3 -m benchmarks.trace CARRIERS FOLDER

CARRIERS is a JSON file: the name of a script's folder below FOLDER -> the names under which an expert would say that its graph
is carried, or written to. Each folder holds before.py, and may hold a case.toml with the `lines` that are at fault. A script is
counted right in its lines where the story, or the way from the loss to the node, runs through one of them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import tomllib


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("carriers", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    lines = names = ran = 0
    for name, wanted in json.loads(options.carriers.read_text()).items():
        folder = options.folder / name
        failure = traced(folder / "before.py")
        if failure is None:
            print(f"{name:40} no error of autograd")
            continue
        ran += 1
        through = rows(failure)
        expected = tomllib.loads((folder / "case.toml").read_text()).get("lines", []) if (folder / "case.toml").exists() else []
        carrier = " ".join(held["name"] for part in ("carrier", "through") if (held := failure.get(part)))
        on_the_way = not expected or bool(through & set(expected))
        right = bool(words_of(carrier) & set(wanted))
        lines += on_the_way
        names += right
        print(f"{name:40} {failure['kind']:8} lines {'ok' if on_the_way else f'{expected} not in {sorted(through)}':30} ", end="")
        print(f"carrier {carrier or '-'} {'ok' if right else f'instead of {wanted}'}")
    print(f"{ran} errors: lines right in {lines}, carrier right in {names}")


def traced(script: Path) -> dict[str, Any] | None:
    with tempfile.NamedTemporaryFile(suffix=".json") as kept:
        command = [sys.executable, "-m", "graphfix", "trace", "--quiet", "--save", kept.name, "--after", "120", script.name]
        subprocess.run(command, cwd=script.parent, capture_output=True, check=False)
        failures = json.loads(Path(kept.name).read_text() or "{}").get("trace", {}).get("failures", [])
    return failures[-1] if failures else None


def rows(failure: dict[str, Any]) -> set[int]:
    """The lines of the story, and of the way from the loss to the node."""
    told = [failure.get(part) for part in ("made", "freed", "crossing", "write", "now")]
    places = [place for place in (*told, *failure.get("path", ())) if place]
    return {place["line"] for place in places} | {line for place in places for _, line in place.get("callers", ())}


def words_of(names: str) -> set[str]:
    return {word.split("[")[0] for name in names.split() for word in name.split(".")}


if __name__ == "__main__":
    main()
