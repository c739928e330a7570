"""Whether the graphs of a traced run grow, who holds them, and what was kept or built for nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from graphfix.report.text import Line, Piece
from graphfix.traced.record import Holder, Look, Place, Trace
from graphfix.traced.spelled import called_from, line_at, name_of, size_of, times, where
from graphfix.verify import record

GROWING = "memory grows"
LEAST = 3  # iterations that show a rise
SMALL = 64  # nodes that are lost are not worth a line


def rise(trace: Trace) -> int:
    """How many more nodes each iteration leaves alive, over the second half of the run; 0 where they do not rise steadily."""
    cycle = trace.cycle or 1
    walks = [walk for walk in trace.run.walks if walk.index % cycle == cycle - 1]
    # what one iteration holds while the next one runs makes no rise beyond the second
    walks = walks[len(walks) // 2 :] if len(walks) >= 2 * LEAST else walks[1:]
    counts = [walk.live for walk in walks]
    if len(counts) < LEAST or any(later < earlier for earlier, later in zip(counts, counts[1:])):
        return 0
    steps = (walks[-1].index - walks[0].index) / cycle
    return round((counts[-1] - counts[0]) / steps)


def waves(trace: Trace) -> list[tuple[record.Walk, record.Walk]]:
    """Where the nodes that are alive rise with each of many walks, and fall again: the first and the last walk of each rise.

    One line has to walk in several iterations of it: the losses of one step rise, too, but from line to line.
    """
    found: list[tuple[record.Walk, record.Walk]] = []
    walks = trace.run.walks
    start = 0
    for number, walk in enumerate(walks):
        if number and walk.live <= walks[number - 1].live:
            start = number
        falls = number + 1 == len(walks) or walks[number + 1].live <= walk.live
        if falls and most_of_one_line(walks[start : number + 1]) > LEAST:
            found.append((walks[start], walk))
    return found


def most_of_one_line(walks: Iterable[record.Walk]) -> int:
    """How many of the walks are asked for at one line, at most."""
    return max(Counter((walk.file, walk.line) for walk in walks).values())


def tides(trace: Trace) -> Iterator[Line]:
    """What is kept over many iterations, and let go then, as at an epoch's end; who holds it at most."""
    found = waves(trace)
    if len(found) < 2:
        return
    first, last = max(found, key=lambda wave: wave[1].live)
    count = last.index - first.index
    nodes = round((last.live - first.live) / count)
    yield (
        Piece(GROWING, "bold yellow"),
        Piece(f": {count + 1} backward() in a row leave {nodes} nodes of graph behind each, which are let go then;"),
    )
    yield (Piece(f"       at most {last.live} nodes are alive"),)
    look = max(trace.looks, key=lambda each: each.live, default=None)
    holders = look.holders if look is not None else ()
    yield from _holders([each for each in holders if each.nodes > 2 * nodes][:2])
    yield from _born(last)
    yield ()


def growth(trace: Trace) -> Iterator[Line]:
    """Whether the graphs that are alive grow, and who holds them."""
    nodes, walks = rise(trace), trace.run.walks
    if not nodes:
        yield from tides(trace)
        return
    first, last = walks[len(walks) // 2 - 1], walks[-1]
    steps = (last.index - first.index) / (trace.cycle or 1)
    size, seconds = (last.saved_bytes - first.saved_bytes) / steps, last.seconds - first.seconds
    rate = f"{nodes} nodes" + (f" and {size_of(size)}" if size >= 1 else "")
    yield (
        Piece(GROWING, "bold yellow"),
        Piece(f": each iteration leaves {rate} of graph behind; {last.live} nodes are alive after {last.index + 1} backward()"),
    )
    if size >= 1 and seconds > 0:
        yield (Piece(f"       at this rate {size_of(size * steps / seconds * 3600)} of saved tensors in an hour"),)
    yield from _holders(_growing(trace.looks))
    yield from _in_gradients(trace)
    yield from _born(last)
    yield ()


def _in_gradients(trace: Trace) -> Iterator[Line]:
    """Gradients that have a graph are held by their leaf, which their graph holds.

    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html warns of it.
    """
    for place in trace.graded[:2]:
        yield (Piece("       "), Piece(where(place), "blue"), Piece(f"  {line_at(place)}"))
        yield (Piece("       gives leaves a `.grad` that has a graph, which holds the leaf: a cycle, which nothing frees."),)
        yield (Piece("       Set `.grad = None` after its use, or ask torch.autograd.grad() for these gradients."),)


def _holders(holders: list[Holder]) -> Iterator[Line]:
    for holder in holders:
        made = f"; the newest was made at {where(holder.made)}" if holder.made is not None else ""
        yield (Piece(f"       {name_of(holder.carrier)} keeps {holder.nodes} nodes{made}"),)


def _born(walk: record.Walk) -> Iterator[Line]:
    """The lines that have made most of what is alive after a walk."""
    for born, count in list(walk.born.items())[:3]:
        file, _, line = born.rpartition(":")
        place = Place(file, int(line))
        yield (Piece(f"{count:>6}  "), Piece(where(place), "blue"), Piece(f"  {line_at(place)}"))


def _growing(looks: tuple[Look, ...]) -> list[Holder]:
    """Those that hold more at each look; by the last look alone where there was one."""
    if not looks:
        return []
    last = max(looks[-2:], key=lambda look: (bool(look.holders), look.step))
    earlier = [look for look in looks if look.step < last.step and look.holders]
    if not earlier:
        return list(last.holders[:2])
    before = {(h.carrier.function, h.carrier.name): h.nodes for h in earlier[-1].holders}
    growing = [h for h in last.holders if h.nodes > before.get((h.carrier.function, h.carrier.name), 0)]
    return growing[:3]


def waste(trace: Trace) -> Iterator[Line]:
    """What the run kept, or built, for nothing."""
    for kept in trace.retained:
        what = f"keeps {kept.nodes} nodes and {size_of(kept.size)}"
        often = times(kept.times) if kept.times == kept.out_of else f"{kept.times} of {times(kept.out_of)}"
        yield (
            Piece("needless retain_graph=True", "bold yellow"),
            Piece(f": {what} that no later backward() used, {often}"),
        )
        yield (Piece("       "), Piece(where(kept.place), "blue"), Piece(f"  {line_at(kept.place)}"))
    yield from _unused(trace)


def _unused(trace: Trace) -> Iterator[Line]:
    """Graphs that no backward() used: the lines that recorded them with those that called, and who holds them in the end."""
    # an output that goes unused, such as the last state of an LSTM, costs nothing
    large = [each for each in trace.unwalked if each.nodes >= SMALL and each.size]
    wasted = [each for each in large if each.times] or large
    if not wasted:
        return
    size = sum(each.size for each in wasted)
    held = f"; the program still holds {trace.held} of them" if trace.held else ""
    yield (
        Piece("graphs for nothing", "bold yellow"),
        Piece(f": {trace.lost + trace.held} nodes ({size_of(size)} saved) were recorded and no backward() used them{held}"),
    )
    yield (Piece("       `torch.no_grad()` around the loop that records them avoids that"),)
    for each in wasted[:3]:
        often = f"{each.times:>6}x " if each.times else f"{each.nodes:>6}  "
        yield (Piece(often), Piece(where(each.place), "blue"), Piece(f"  {line_at(each.place)}"))
        yield from called_from(each.place)
    if trace.held >= SMALL and trace.looks:
        yield from _holders(list(trace.looks[-1].holders[:2]))
