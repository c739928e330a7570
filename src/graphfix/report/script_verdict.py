"""What a trial showed, for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from graphfix.report.escape import escaped
from graphfix.verify.outcome import failure_of, said
from graphfix.verify.record import Ending, Run
from graphfix.verify.script import Trial
from graphfix.verify.shown import grows


def lines(trial: Trial, files: Sequence[str], fixes: int) -> list[str]:
    """The report in lines; `files`: each repaired file with its codes; `fixes`: how many repairs they have."""
    told = ("fixes", f"{fixes} in {len(files)} file{'s' * (len(files) != 1)}: {_listed(files)}")
    return [f"{name:8} {escaped(text)}" for name, text in (told, *rows(trial))]


def rows(trial: Trial) -> list[tuple[str, str]]:
    """What the runs have shown, each by a name."""
    before, after = trial.before, trial.after
    return [
        ("before", _end(before)),
        ("after", _end(after)),
        ("results", trial.results or "not compared"),
        ("graph", f"{_live(before)} before, {_live(after)} after"),
        ("memory", _memory(before, after)),
        ("time", f"{_seconds(before)} before, {_seconds(after)} after{_ratio(before, after)}"),
        ("verdict", trial.verdict.value + (f": {trial.reason}" if trial.reason else "")),
    ]


def as_json(trial: Trial, fixes: Sequence[str]) -> str:
    """One JSON object."""
    document = {
        "verdict": trial.verdict.value,
        "reason": trial.reason or None,
        "results": trial.results or None,
        "fixes": list(fixes),
        "before": _summary(trial.before),
        "after": _summary(trial.after),
    }
    return json.dumps(document, indent=2)


def _summary(run: Run) -> dict[str, Any]:
    failure = failure_of(run)
    return {
        "outcome": run.ending.value,
        "exit_code": run.exit_code,
        "error": said(failure) if failure is not None else None,
        "backward_passes": run.walk_count,
        "live_nodes": {"grow": grows(run), "peak": run.peak, "last": run.nodes[-1] if run.nodes else 0},
        "peak_saved_bytes": run.peak_saved_bytes,
        "peak_cuda_bytes": run.cuda_peak,
        "seconds": round(run.seconds, 3),
    }


def _listed(files: Sequence[str], most: int = 6) -> str:
    return ", ".join(files[:most]) + (f" and {len(files) - most} more" if len(files) > most else "")


def _end(run: Run) -> str:
    failure = failure_of(run)
    ending = said(failure) if failure is not None and run.ending is not Ending.LATE else run.ending.value
    return f"{ending}, after {run.walk_count} backward pass{'es' * (run.walk_count != 1)}"


def _live(run: Run) -> str:
    if not run.nodes:
        return "no nodes"
    return f"grows to {max(run.nodes)} nodes" if grows(run) else f"flat at {run.nodes[-1]} nodes"


def _memory(before: Run, after: Run) -> str:
    parts = [f"live nodes at most {before.peak} -> {after.peak}"]
    if before.peak_saved_bytes is not None and after.peak_saved_bytes is not None:
        parts.append(f"saved tensors {_size(before.peak_saved_bytes)} -> {_size(after.peak_saved_bytes)}")
    if before.cuda_peak and after.cuda_peak:
        parts.append(f"CUDA {_size(before.cuda_peak)} -> {_size(after.cuda_peak)}")
    return ", ".join(parts)


def _size(count: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def _seconds(run: Run) -> str:
    return f"{run.seconds:.1f} s"


def _ratio(before: Run, after: Run) -> str:
    """How much longer a backward pass takes; only where both made as many, others did other work."""
    if before.walk_count != after.walk_count or not before.seconds:
        return ""
    return f" (x {after.seconds / before.seconds:.2f})"


def refused(rows: Iterable[tuple[str, str]]) -> list[str]:
    """One line for each fix that was backed out, and why."""
    return [escaped(f"refused {fix}: {reason}") for fix, reason in rows]
