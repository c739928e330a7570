"""A picture of one run: the nodes that are alive behind each backward pass, by the line that made them, and the life of one graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from graphfix.report.escape import escaped
from graphfix.traced.record import Failure, Place, Trace
from graphfix.verify.plot import check

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINES = 5  # of code that get a colour of their own
# told apart on white paper, without colour by their order in the legend: https://jfly.uni-koeln.de/color/
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#999999")


def draw(trace: Trace, path: Path, title: str = "") -> None:
    """Draw the run into `path`, an .svg or .png; `NoPlotter` where nothing can be drawn."""
    check()
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import MaxNLocator

    failure = trace.failures[-1] if trace.failures else None
    settings = {"svg.fonttype": "none", "font.size": 10, "text.parse_math": False, "svg.hashsalt": "graphfix"}
    with matplotlib.rc_context(settings):
        heights = [3, 1.4] if failure is not None else [3]
        figure, rows = pyplot.subplots(len(heights), 1, figsize=(10, 2 + sum(heights)), height_ratios=heights, squeeze=False)
        _nodes(rows[0][0], trace)
        if failure is not None:
            _life(rows[1][0], failure)
        for row in rows:
            row[0].xaxis.set_major_locator(MaxNLocator(integer=True))
            for side in ("top", "right"):
                row[0].spines[side].set_visible(False)
        if title:
            figure.suptitle(title, x=0.01, ha="left", weight="bold")
        figure.tight_layout()
        figure.savefig(path, dpi=150, bbox_inches="tight", metadata={"Date": None} if path.suffix.lower() == ".svg" else None)
        pyplot.close(figure)


def _nodes(axes: Axes, trace: Trace) -> None:
    walks = trace.run.walks
    at = [walk.index + 1 for walk in walks]
    totals: dict[str, int] = {}
    for walk in walks:
        for line, count in walk.born.items():
            totals[line] = max(totals.get(line, 0), count)
    named = sorted(totals, key=lambda line: -totals[line])[:LINES]
    series = [[walk.born.get(line, 0) for walk in walks] for line in named]
    rest = [walk.live - sum(walk.born.get(line, 0) for line in named) for walk in walks]
    labels = [_short(line) for line in named]
    if any(rest):
        series.append([max(0, count) for count in rest])
        labels.append("elsewhere")
    if len(at) > 3:
        axes.stackplot(at, series, labels=labels, colors=COLOURS)
    else:
        below = [0] * len(at)
        for label, counts, colour in zip(labels, series, COLOURS):
            axes.bar(at, counts, bottom=below, label=label, color=colour, width=0.4)
            below = [one + two for one, two in zip(below, counts)]
    if at:
        handles, names = axes.get_legend_handles_labels()
        axes.legend(handles[::-1], names[::-1], title="made at", loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("autograd nodes alive")
    axes.set_xlabel("backward pass")


def _life(axes: Axes, failure: Failure) -> None:
    """When the graph of an error was made, freed, taken in again, and hit."""
    events: list[tuple[str, Place]] = []
    for word, place in (
        ("made", failure.made),
        ("freed", failure.freed),
        ("written to", failure.write),
        ("taken in", failure.crossing),
    ):
        if place is not None:
            events.append((word, place))
    events.append(("error", failure.now))
    axes.axhline(0, color="0.6", linewidth=1)
    for number, (word, place) in enumerate(events):
        # what happens between two walks stands between their marks
        step = failure.now.step if place.step < 0 else place.step
        x = step + (1.0 if word in ("freed", "error") else 0.4 + 0.1 * number)
        last = word == "error"
        axes.plot(
            [x], [0], marker="X" if last else "o", markersize=11 if last else 8, color="black" if last else COLOURS[number % 6]
        )
        axes.annotate(
            f"{word}\n{_short(f'{place.file}:{place.line}')}", (x, 0), xytext=(0, 12 if number % 2 == 0 else -34),
            textcoords="offset points", ha="center", fontsize=9,
        )  # fmt: skip
    axes.set_ylim(-1, 1)
    axes.margins(x=0.15)
    axes.set_yticks([])
    axes.set_ylabel("one graph's life")
    axes.set_xlabel("backward pass")


def _short(line: str) -> str:
    return escaped(line.rpartition("/")[2])
