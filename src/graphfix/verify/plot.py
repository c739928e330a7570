"""A picture of two runs: live autograd nodes behind each walk, and the saved bytes it took, before against after."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfix.installation import command
from graphfix.report.escape import escaped
from graphfix.verify.record import Run, Walk

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ENDINGS = (".svg", ".png")
BORN = 4  # lines of code named for each run
MARKS = 24  # on a line, however many walks there are
# told apart without colour: dash, mark and shade
STYLES: dict[str, dict[str, Any]] = {
    "before": {"color": "#b03020", "linestyle": (0, (5, 2)), "marker": "x", "markersize": 6, "linewidth": 1.6},
    "after": {
        "color": "#101010",
        "linestyle": "-",
        "marker": "o",
        "markersize": 4.5,
        "linewidth": 1.6,
        "markerfacecolor": "white",
    },
}


class NoPlotter(Exception):
    """The plotting library is not installed."""


def check() -> None:
    """`NoPlotter` where nothing could be drawn."""
    if importlib.util.find_spec("matplotlib") is None:
        raise NoPlotter(f"--plot needs matplotlib: {command(extra='plot')}")


def draw(before: Run, after: Run, path: Path, title: str = "") -> None:
    """Draw both runs into `path`, an .svg or .png; saved bytes only where both runs counted them."""
    check()
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import MaxNLocator

    counted = before.peak_saved_bytes is not None and after.peak_saved_bytes is not None
    # names may hold what matplotlib would read as mathematics
    with matplotlib.rc_context({"svg.fonttype": "none", "font.size": 10, "text.parse_math": False, "svg.hashsalt": "graphfix"}):
        figure, rows = pyplot.subplots(2 if counted else 1, 1, figsize=(10, 6.4 if counted else 4), sharex=True, squeeze=False)
        panels = [row[0] for row in rows]
        _panel(panels[0], before, after, [walk.live for walk in before.walks], [walk.live for walk in after.walks])
        panels[0].set_ylabel("live autograd nodes")
        if counted:
            factor, unit = _unit([walk.pass_bytes for walk in (*before.walks, *after.walks)])
            ours, theirs = ([walk.pass_bytes / factor for walk in run.walks] for run in (before, after))
            _panel(panels[1], before, after, ours, theirs)
            panels[1].set_ylabel(f"saved tensors, most ({unit})")
        panels[-1].set_xlabel("backward pass")
        panels[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
        panels[0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)
        for run in (before, after):
            _mark_error(panels[0], run)
        panels[0].text(1.02, 1.0, _births(before, after), transform=panels[0].transAxes, va="top", fontsize=9, linespacing=1.5)
        if title:
            figure.suptitle(title, x=0.01, ha="left", weight="bold")
        figure.tight_layout()
        figure.savefig(path, dpi=150, bbox_inches="tight", metadata={"Date": None} if path.suffix.lower() == ".svg" else None)
        pyplot.close(figure)


def _panel(axes: Axes, before: Run, after: Run, ours: Sequence[float], theirs: Sequence[float]) -> None:
    for name, run, values in (("before", before, ours), ("after", after, theirs)):
        places = [walk.index + 1 for walk in run.walks]
        axes.plot(places, values, label=name, markevery=max(1, len(places) // MARKS), clip_on=False, **STYLES[name])
    axes.set_ylim(0, 1.2 * max([*ours, *theirs], default=0) or 1)
    axes.grid(True, color="0.9")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _mark_error(axes: Axes, run: Run) -> None:
    """Where a run ended by an error."""
    if run.failure is None:
        return
    last = run.walks[-1] if run.walks else None
    place, value = (last.index + 1, last.live) if last else (1, 0)
    axes.plot([place], [value], marker="X", markersize=11, color="black", linestyle="none", zorder=5, clip_on=False)
    said = f"{run.failure.kind} in line {run.failure.line}" if run.failure.line else run.failure.kind
    box = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": "0.6"}
    axes.annotate(said, (place, value), xytext=(12, -18), textcoords="offset points", fontsize=9, bbox=box, zorder=6)


def _unit(values: Sequence[int]) -> tuple[int, str]:
    most = max(values, default=0)
    return next((unit for unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")) if most >= unit[0]), (1, "bytes"))


def _births(before: Run, after: Run) -> str:
    """Where the nodes were born that live behind the last walk."""
    parts = ["alive behind the last pass,", "by the line that made them"]
    for name, run in (("before", before), ("after", after)):
        if run.walks:
            parts += ["", f"{name}: {run.walks[-1].live}", *_lines(run.walks[-1])]
    return "\n".join(parts)


def _lines(walk: Walk) -> list[str]:
    named = [(escaped(place.rpartition("/")[2]), count) for place, count in walk.born.items()][:BORN]
    rest = walk.live - sum(count for _, count in named)
    return [f"  {count:>5}  {place}" for place, count in named] + ([f"  {rest:>5}  elsewhere"] if rest > 0 else [])
