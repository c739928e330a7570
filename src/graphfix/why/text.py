"""What `why` says to the one who has the error on the screen: plain lines of at most 80 columns."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace

from graphfix.model import Applicability
from graphfix.report.escape import escaped, shown
from graphfix.report.text import Line, Piece, columns, indexes_of, story
from graphfix.run.engine import by_failure
from graphfix.source.lines import shown_cell
from graphfix.why.detail import detail_of, is_a_result
from graphfix.why.diagnosis import Cause, Diagnosis, Nearness
from graphfix.why.errors import Frame
from graphfix.why.graph_kinds import WRITTEN_IN_PLACE
from graphfix.why.kinds import Kind, Way
from graphfix.why.names import fitting, with_names
from graphfix.why.places import Nowhere, shortest
from graphfix.why.repair import commands, patch_of
from graphfix.why.trace import trace_of
from graphfix.why.whose import below, owner, users

WIDTH = 80  # and less on a narrower terminal
ROOM = 58  # for a path
MOST = 6  # causes on a screen
_STYLES = {"+": "green", "-": "red"}
_LEADS = {
    Nearness.LINE: "This is the cause:",
    Nearness.FUNCTION: "This finding is close by, and very likely the cause:",
    Nearness.FILE: "This finding is in the same file, and probably the cause:",
    Nearness.IMPORTED: "This finding is in an imported file, and probably the cause:",
    Nearness.PROJECT: "This finding is elsewhere in the project; it is the cause if the failed run used that code:",
}


def explanation(kind: Kind) -> Iterator[Line]:
    """All that is known of an error without a traceback."""
    yield (Piece(kind.heading, "bold"),)
    yield ()
    yield from _prose(kind.says)
    yield ()
    yield from _prose(kind.repair)
    yield ()
    shown_ways = kind.ways[:MOST]
    if len(kind.ways) > 1:
        many = "The most frequent causes" if len(kind.ways) > MOST else f"{_COUNTS[len(kind.ways)]} causes"
        yield _plain(f"{many}, and what to write instead:")
    else:
        yield _plain("The cause, and what to write instead:")
    for number, way in enumerate(shown_ways, 1):
        yield ()
        yield from _way(number, way)
    yield from _more(kind, shown_ways)
    yield ()
    yield _plain("To find which one it is, give graphfix the whole traceback:")
    yield _plain("  python3 train.py 2>&1 | graphfix why")
    if kind.codes:
        yield _plain("or check the code: graphfix check .")


_ANOMALY = """\
Or put torch.autograd.set_detect_anomaly(True) at the beginning of the script, run it again, and give graphfix all that it
prints: that names the line of the forward pass."""

_COUNTS = {2: "Two", 3: "Three", 4: "Four", 5: "Five", 6: "Six"}


def _more(kind: Kind, shown_ways: Sequence[Way]) -> Iterator[Line]:
    """Where the causes are that are not shown."""
    if len(shown_ways) < len(kind.ways):
        yield ()
        yield _plain(f"All {len(kind.ways)} causes:")
        yield (Piece(kind.page, whole=True),)


def _way(number: int, way: Way) -> Iterator[Line]:
    rules = f" ({', '.join(way.codes)})" if way.codes else ""
    indent = f"{number}. "
    for line in textwrap.wrap(f"{indent}{way.title}{rules}", _columns(), subsequent_indent=" " * len(indent)):
        yield (Piece(line, "bold"),)
    for line in way.change.split("\n"):
        yield (Piece(f"   {line}", _STYLES.get(line[:1], "")),)


def told(diagnosis: Diagnosis) -> Iterator[Line]:
    """What is known of an error with its traceback: what it is, where, why, and what to type next."""
    headline = diagnosis.trouble.headline or "a traceback that does not end in an error"
    for line in textwrap.wrap(escaped(headline), _columns(), max_lines=2, placeholder=" ...", break_on_hyphens=False):
        yield (Piece(line, "bold red"),)
    yield from _where(diagnosis)
    if diagnosis.kind is None:
        yield from _unknown(diagnosis)
        return
    yield ()
    yield from _prose(diagnosis.kind.brief if diagnosis.causes else diagnosis.kind.says)
    detail = detail_of(diagnosis.trouble.message)
    if detail:
        yield from _prose(detail)
    yield ()
    if not diagnosis.causes:
        yield from _unexplained(diagnosis, diagnosis.kind)
        return
    yield (Piece(_LEADS[diagnosis.causes[0].nearness], "bold"),)
    for cause in diagnosis.causes:
        yield ()
        yield from _cause(cause)
    if diagnosis.others:
        many = "Another finding" if diagnosis.others == 1 else f"{diagnosis.others} other findings"
        yield ()
        yield from _prose(f"{many} in these files could lead to this error, too. All findings are told by")
        yield _plain("graphfix check .")


def _where(diagnosis: Diagnosis) -> Iterator[Line]:
    """The user's line, and what it calls."""
    trouble = diagnosis.trouble
    own = users(trouble.frames)
    if own:
        frame = own[-1]
        yield from _labelled("your line:", f"{_named(frame)}{_inside(frame)}")
        yield from _code(frame)
        library = below(trouble.frames)
        if library is not None:
            yield from _labelled("it calls:", f"{owner(library)}, {_tail(library)}{_inside(library)}")
    elif trouble.frames:
        yield from _labelled("your line:", "none: every line of the traceback is in a library")
    made = users(trouble.made)
    if made:
        yield from _labelled("made at:", f"{_named(made[-1])}{_inside(made[-1])}")
        yield from _code(made[-1])
    for place in diagnosis.places[:3]:
        if place.note:
            yield from _labelled("note:", place.note)


def _named(frame: Frame) -> str:
    if frame.cell is not None:
        name = f"notebook cell In[{frame.cell}]" if frame.cell >= 0 else "a notebook cell"
        return f"{name}, line {frame.row}" if frame.row else name
    name = escaped(_fitting(shortest(frame.file)))
    return f"{name}:{frame.row}" if frame.row else name


def _fitting(name: str) -> str:
    """The end of a path that is too long for a line, from a folder on."""
    if len(name) <= ROOM:
        return name
    parts = re.split(r"(?<=[\\/])", name)
    while len(parts) > 1 and sum(map(len, parts)) > ROOM - 4:
        del parts[0]
    return ".../" + "".join(parts)


def _inside(frame: Frame) -> str:
    return f", in {escaped(frame.function)}" if frame.function and not frame.function.startswith("<") else ""


def _tail(frame: Frame) -> str:
    """The end of a library's path, from its package on."""
    path = frame.file.replace("\\", "/")
    path = re.sub(r"^.*(?:(?:site|dist)-packages|/lib/python[\d.]*)/", "", path)
    return f"{escaped(path)}:{frame.row}" if frame.row else escaped(path)


def _code(frame: Frame) -> Iterator[Line]:
    if frame.code:
        yield _indented(frame.code)


def _indented(code: str) -> Line:
    text = shown(code)
    return (Piece(" " * 15 + (text if len(text) <= _columns() - 15 else text[: _columns() - 19] + " ...")),)


def _labelled(label: str, text: str) -> Iterator[Line]:
    first = f"  {label:<11}"
    for line in textwrap.wrap(
        escaped(text), _columns(), initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False
    ):
        yield _plain(line)


def _cause(cause: Cause) -> Iterator[Line]:
    assert cause.outcome.source is not None
    yield from story(cause.finding, indexes_of(cause.outcome.source), cells=columns())
    patch = patch_of(cause)
    if patch:
        yield ()
        for line in patch:
            yield (Piece("    " + shown(line), _STYLES.get(line[:1], "")),)
    if cause.finding.fix is not None and cause.finding.fix.applicability is Applicability.UNSAFE:
        yield ()
        yield from _prose(
            "Only this error shows that the module is trained, so `graphfix apply` does not change it: edit it by hand."
            if by_failure(cause.finding)
            else "This fix may change what the program computes: read it before you apply it."
        )
    yield ()
    yield from _next(commands(cause))


def _next(lines: list[tuple[str, str]]) -> Iterator[Line]:
    yield _plain("Next:")
    width = max(len(command) for command, _ in lines)
    for command, does in lines:
        if width + len(does) + 5 > _columns():
            yield (Piece(f"  {command}", "bold", whole=True),)
            yield _plain(f"    {does}")
            continue
        yield (Piece(f"  {command:<{width}}", "bold", whole=True), Piece(f"   {does}"))


def _unexplained(diagnosis: Diagnosis, kind: Kind) -> Iterator[Line]:
    yield from _prose(kind.repair)
    yield ()
    for problem in diagnosis.problems:
        yield from _prose(escaped(problem))
    if diagnosis.places:
        yield from _at_a_place(diagnosis, kind)
    elif diagnosis.missing:
        yield from _missing(diagnosis.missing[0])
    else:
        yield from _prose("The traceback contains no line of your code; paste all of it, from its first line.")
        yield from _next([(f"graphfix why {_quoted(kind)}", "shows the possible causes")])


def _at_a_place(diagnosis: Diagnosis, kind: Kind) -> Iterator[Line]:
    """No finding explains it, but the code is here."""
    place = diagnosis.places[0]
    at = f"{escaped(str(place.source.path))}:{shown_cell(place.cell)}{place.row}"
    if kind.is_local:
        traced = trace_of(diagnosis) if kind.is_traced else []
        yield from _prose(
            f"The line to change is {at}, or the one that makes its tensor{', which a traced run names' if traced else ''}:"
        )
        if traced:
            yield from _next(traced)
    else:
        yield from _prose(f"Reading the code does not show why {at} raises this.")
        yield from _next(trace_of(diagnosis))
        if kind is WRITTEN_IN_PLACE and not diagnosis.trouble.made:
            yield from _prose(_ANOMALY)
        yield ()
        yield _plain("Possible causes:")
    # of a result, only what writes to it is the cause
    only_written = kind is WRITTEN_IN_PLACE and is_a_result(diagnosis.trouble.message)
    listed = (
        kind.ways[:1] if only_written else kind.ways_in(frame.file for frame in diagnosis.trouble.frames if owner(frame))[:MOST]
    )
    ways = fitting(listed, kind, place)
    for number, way in enumerate(ways, 1):
        yield ()
        yield from _way(number, replace(way, change=with_names(way.change, kind, place)))
    yield from _more(kind, ways)


def _quoted(kind: Kind) -> str:
    return f'"{kind.phrases[0]}"'


def _missing(missing: Nowhere) -> Iterator[Line]:
    frame = missing.frame
    yield from _prose(f"The code of {_named(frame)} is needed to find out why, and is not here: {escaped(missing.reason)}.")
    what = "NOTEBOOK.ipynb" if frame.cell is not None else "FOLDER"
    yield from _next([(f"graphfix why --project {what}", "sets the project folder; then paste again")])


def _unknown(diagnosis: Diagnosis) -> Iterator[Line]:
    yield ()
    name = diagnosis.trouble.type.rpartition(".")[2] or "error"
    article = "an" if name[:1].lower() in "aeiou" else "a"
    yield from _prose(f"graphfix explains errors of PyTorch's autograd graph; this is {article} {escaped(name)} of another kind.")


def _prose(text: str) -> Iterator[Line]:
    for line in textwrap.wrap(escaped(" ".join(text.split())), _columns() - 2, break_on_hyphens=False, break_long_words=False):
        yield _plain(line)


def _plain(text: str) -> Line:
    return (Piece(text),)


def _columns() -> int:
    return min(WIDTH, columns())
