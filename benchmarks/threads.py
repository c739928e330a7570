"""How many public cries for help does graphfix name, repair and trace? docs/threads.md tells how one becomes a case.

usage: python3 -m benchmarks.threads FOLDER [--only PART] [--tool COMMAND]

FOLDER holds a folder for each case. Printed is, for each: whether `check` names a line of the cause (`lines`), which repairs make the program
run with the numbers of the reference (`safe`, else `unsafe`), and whether `trace` names a line of the cause, and `why`, which is given the
error. The line that raises, which every traceback shows, counts only where it is all that there is. Exit 1: a repair breaks a program that ran.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from graphfix.settings.toml import loads

NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")
PLACE = re.compile(r"(?<![\w/.\\-])(\w+\.py):(\d+)")
RAISED = re.compile(r'File "[^"]*?(\w+\.py)", line (\d+)')
SECONDS = 120
APART = 1  # lines from that of the cause
Places = set[tuple[str, int]]


@dataclass(frozen=True)
class Ran:
    """What came of a program: the numbers that it printed, its error, the last of its own lines that the error went through, and all it `said`."""

    numbers: tuple[float, ...]
    error: str
    raised: Places
    said: str = ""

    def like(self, other: Ran) -> bool:
        """Whether it ran, and printed the numbers of the other one."""
        pairs = zip(self.numbers, other.numbers)
        near = all(math.isclose(one, two, rel_tol=2e-3, abs_tol=2e-5) for one, two in pairs)
        return not self.error and len(self.numbers) == len(other.numbers) and near


@dataclass(frozen=True)
class Score:
    """What graphfix made of a case. `fix`: `safe`, `unsafe`, `told` or `wrong`."""

    name: str
    named: bool
    fix: str
    traced: bool
    why: str = ""


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", metavar="PART", help="of the names of cases")
    parser.add_argument("--tool", default="graphfix", metavar="COMMAND")
    options = parser.parse_args(words)
    scores = []
    for case in sorted(path.parent for path in options.folder.glob("*/case.toml") if options.only in path.parent.name):
        with tempfile.TemporaryDirectory() as scratch:
            score = scored(case, shlex.split(options.tool), Path(scratch))
        scores.append(score)
        print(
            f"{score.name:<36} {'named' if score.named else '-':<6} {score.fix:<7} {'traced' if score.traced else '-':<7} {score.why}",
            flush=True,
        )
    if not scores:
        print(f"{options.folder} holds no case", file=sys.stderr)
        return 2
    repaired = sum(score.fix in ("safe", "unsafe") for score in scores)
    named, traced = sum(each.named for each in scores), sum(each.traced for each in scores)
    told, errors = sum(each.why == "told" for each in scores), sum(bool(each.why) for each in scores)
    print(f"{len(scores)} cases: {named} named, {repaired} repaired, {traced} traced; of {errors} errors {told} told")
    return int(any(score.fix == "wrong" for score in scores))


def scored(case: Path, tool: list[str], scratch: Path) -> Score:
    """Put one case to the tool, in copies of it."""
    about = loads((case / "case.toml").read_text("utf-8"))
    before, reference = program(case, scratch / "before"), program(case, scratch / "reference", is_cured=True)
    first, cured = run(before), run(reference)
    wanted = causes(about)
    clear = wanted - first.raised or wanted  # what no traceback says
    found = findings(tool, before)
    named = any(near(places, clear) for places in found)
    fix = repaired(case, tool, scratch, first, cured) or ("told" if named else "-")
    traced = called([*tool, "trace", "--isolated", "--python", sys.executable, "before.py"], before)
    return Score(case.name, named, fix, near(places_in(traced), clear), explained(tool, before, first, clear))


def places_in(text: str) -> Places:
    """The lines of files that a text names."""
    return {(file, int(row)) for file, row in PLACE.findall(text)}


def explained(tool: list[str], folder: Path, first: Ran, clear: Places) -> str:
    """Whether `why`, which is given the traceback, names a line of the cause: `told`, else `-`; empty where nothing was raised."""
    if not first.error:
        return ""
    command = [*tool, "why", "--isolated"]
    try:
        done = subprocess.run(
            command, cwd=folder, input=first.said, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "-"
    return "told" if near(places_in(done.stdout), clear) else "-"


def causes(about: dict[str, object]) -> Places:
    """The lines of the cause: `lines` in before.py, `lines_NAME` in NAME.py."""
    found: Places = set()
    for key, rows in about.items():
        if key == "lines" or key.startswith("lines_"):
            file = f"{key.removeprefix('lines_') if key != 'lines' else 'before'}.py"
            found |= {(file, int(row)) for row in rows}  # type: ignore[attr-defined]
    return found


def program(case: Path, target: Path, *, is_cured: bool = False) -> Path:
    """A copy of a case's program, or of that of its reference, without what would tell."""
    target.mkdir()
    for path in case.iterdir():
        if path.is_file() and path.name not in ("reference.py", "case.toml"):
            shutil.copy(path, target)
    if is_cured and (case / "reference").is_dir():
        shutil.copytree(case / "reference", target, dirs_exist_ok=True)
    elif is_cured:
        shutil.copy(case / "reference.py", target / "before.py")
    return target


def run(folder: Path) -> Ran:
    """Run the program in a folder."""
    try:
        done = subprocess.run(
            [sys.executable, "before.py"], cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return Ran((), f"no end in {SECONDS} seconds", set())
    own = [(file, int(row)) for file, row in RAISED.findall(done.stderr) if (folder / file).exists()]
    error = (
        done.stderr.strip().splitlines()[-1]
        if done.returncode and done.stderr.strip()
        else ""
        if not done.returncode
        else "ended"
    )
    return Ran(tuple(map(float, NUMBER.findall(done.stdout))), error, set(own[-1:]) if error else set(), done.stderr)


def findings(tool: list[str], folder: Path) -> Iterator[Places]:
    """The places of each finding: where it stands, and those of its story."""
    told = called([*tool, "check", "--no-cache", "--isolated", "--output-format", "json", "."], folder, is_error_told=False)
    for each in json.loads(told or "[]"):
        story = [(place["filename"], place["row"]) for place in each["story"]]
        yield {(Path(file).name, row) for file, row in [(each["filename"], each["location"]["row"]), *story]}


def repaired(case: Path, tool: list[str], scratch: Path, first: Ran, cured: Ran) -> str:
    """How safe the repairs are that make the program run as its reference does; `wrong` where they break what ran, empty where none does."""
    for level, flags in (("safe", []), ("unsafe", ["--unsafe-fixes"])):
        folder = program(case, scratch / level)
        text = {path: path.read_bytes() for path in folder.iterdir()}
        called([*tool, "apply", "--no-cache", "--isolated", *flags, "."], folder)
        if {path: path.read_bytes() for path in folder.iterdir()} == text:
            continue
        after = run(folder)
        if after.like(cured):
            return level
        if not first.error and after.error:
            return "wrong"
    return ""


def called(command: list[str], folder: Path, *, is_error_told: bool = True) -> str:
    """What a command says in a folder."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout + (done.stderr if is_error_told else "")


def near(found: Places, wanted: Places) -> bool:
    """Whether one of the places is one of those wanted, or beside it."""
    return any(file == name and abs(row - line) <= APART for file, row in found for name, line in wanted)


if __name__ == "__main__":
    sys.exit(main())
