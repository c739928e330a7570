"""What `graphfix verify` says of the fixtures: a table, and the same for machines."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from graphfix.report.escape import escaped
from graphfix.verify.compare import ABSOLUTE, RELATIVE
from graphfix.verify.fixtures import Verdict
from graphfix.verify.record import Run

WIDTH = 160  # where there is no terminal
ALL = 140  # cells for all columns of the table; with less, it has those of WORDS
WORDS = 5


def table(verdicts: Iterable[Verdict], *, terminal: bool, colour: bool) -> str:
    """One row for each case and device; on a narrow terminal without the figures."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    made = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    width = shutil.get_terminal_size((WIDTH, 24)).columns if terminal else WIDTH
    titles = ("rule", "case", "device", "before", "after", "results", "live nodes", "saved KiB", "seconds")
    titles = titles if width >= ALL else titles[:WORDS]
    for title in titles:
        figure = title in ("live nodes", "saved KiB", "seconds")
        is_whole = figure or title in ("rule", "case", "device")
        made.add_column(title, justify="right" if figure else "left", no_wrap=is_whole, overflow="fold")
    made.add_column("verdict", no_wrap=True)
    for verdict in verdicts:
        said = Text("ok", "green") if verdict.good else Text("short", "bold red")
        made.add_row(*(Text(escaped(cell)) for cell in _cells(verdict)[: len(titles)]), said)
    out = io.StringIO()
    # the colours are chosen by whoever calls, not by what the environment says of a terminal
    console = Console(
        file=out,
        width=width,
        force_terminal=colour,
        no_color=not colour,
        color_system="standard" if colour else None,
        highlight=False,
    )
    console.print(made)
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip("\n").split("\n"))


def _cells(verdict: Verdict) -> tuple[str, ...]:
    before, after = verdict.runs.before, verdict.runs.after
    return (
        verdict.case.code,
        verdict.case.name,
        verdict.device,
        verdict.symptom or "no symptom",
        verdict.outcome,
        verdict.results,
        _pair(f"{before.peak}", None if after is None else f"{after.peak}"),
        _pair(_kib(before), None if after is None else _kib(after)),
        _pair(f"{before.seconds:.2f}", None if after is None else f"{after.seconds:.2f}"),
    )


def _pair(before: str, after: str | None) -> str:
    return before if after is None else f"{before} -> {after}"


def _kib(run: Run) -> str:
    return f"{(run.peak_saved_bytes or 0) / 1024:.1f}"


def problems(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """Why a case falls short."""
    for verdict in verdicts:
        for problem in verdict.problems:
            yield f"{verdict.case.key} on {verdict.device}: {problem}"


def summary(verdicts: Sequence[Verdict], torch: str, seconds: float) -> str:
    """The last line."""
    short = sum(not verdict.good for verdict in verdicts)
    pairs = sum(verdict.runs.after is not None for verdict in verdicts)
    end = f"{short} fall{'s' * (short == 1)} short" if short else "all in order"
    return f"Ran {len(verdicts)} cases, {pairs} of them repaired, with torch {torch} in {seconds:.0f} s: {end}"


def as_json(verdicts: Iterable[Verdict], torch: str, devices: Sequence[str]) -> str:
    """An object with all that the table says, and more of each run."""
    data = {
        "torch": torch,
        "devices": list(devices),
        "tolerance": {"relative": RELATIVE, "absolute": ABSOLUTE},
        "verdicts": [_row(verdict) for verdict in verdicts],
    }
    return json.dumps(data, indent=2)


def _row(verdict: Verdict) -> dict[str, Any]:
    runs = verdict.runs
    return {
        "rule": verdict.case.code,
        "case": verdict.case.name,
        "kind": verdict.case.kind.value,
        "unsafe": verdict.case.unsafe,
        "device": verdict.device,
        "verdict": "ok" if verdict.good else "short",
        "problems": list(verdict.problems),
        "symptom": verdict.symptom,
        "outcome": verdict.outcome,
        "equal": verdict.equal,
        "results": verdict.results,
        "before": _run(runs.before),
        "after": _run(runs.after) if runs.after is not None else None,
    }


def _run(run: Run) -> dict[str, Any]:
    failure = run.failure
    return {
        "outcome": run.ending.value,
        "error": {"type": failure.kind, "message": failure.message, "line": failure.line} if failure else None,
        "walks": run.walk_count,
        "made_nodes": run.made,
        "peak_live_nodes": run.peak,
        "live_nodes": list(run.nodes),
        "peak_saved_bytes": run.peak_saved_bytes,
        "reads": run.reads,
        "waits": run.waits,
        "cuda_peak_bytes": run.cuda_peak,
        "seconds": run.seconds,
    }
