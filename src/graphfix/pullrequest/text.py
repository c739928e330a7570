"""What a maintainer reads: commit messages, and the text of the pull request."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from graphfix import __version__
from graphfix.codemods.base import Rule
from graphfix.installation import command
from graphfix.lazy_dataclass import dataclass
from graphfix.model import Applicability, Finding
from graphfix.pullrequest.forge import Forge
from graphfix.pullrequest.markdown import cell, code, fence, prose
from graphfix.report.escape import escaped
from graphfix.report.remedy import NOT_PROVEN
from graphfix.report.report import count

BEGIN, END = (
    "<!-- graphfix: `graphfix pr --update` rewrites everything up to the end mark -->",
    "<!-- graphfix: end -->",
)
_HUNK = re.compile(r"@@ -(\d+)")
MAX_LINES = 14
# what a forge takes, with room for what people add; and how many excerpts and places are told to stay below it
MAX_LENGTH = 60_000
ROOMS = ((3, 60), (1, 30), (1, 8), (0, 3))


@dataclass(frozen=True)
class Place:
    """A finding in the commit that the branch starts from. `row` 0: no line of it."""

    name: str
    row: int
    cell: int | None
    finding: Finding

    @property
    def where(self) -> str:
        inside = "" if self.cell is None else f":cell {self.cell + 1}"
        return f"{self.name}{inside}" + (f":{self.row}" if self.row else "")


@dataclass(frozen=True)
class Change:
    """The repairs of one rule: where, and the patch of each file."""

    rule: Rule
    places: tuple[Place, ...]
    patches: tuple[bytes, ...]


@dataclass(frozen=True)
class Check:
    """A command that passed on the result."""

    command: str
    seconds: float


@dataclass(frozen=True)
class Proof:
    """A script that ran before and after: what came of it, row by row (results, live graph, memory, time)."""

    command: str
    rows: tuple[tuple[str, str], ...]
    refused: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Story:
    """All that a pull request tells. `left`: what was found and not repaired; `reproduce`: the commands that make the same.

    `install`: how graphfix is installed, if not as by default.
    """

    changes: tuple[Change, ...]
    left: tuple[Place, ...]
    base: str
    base_name: str
    reproduce: tuple[str, ...]
    forge: Forge | None = None
    checks: tuple[Check, ...] = ()
    proofs: tuple[Proof, ...] = ()
    part: str = ""
    failed: tuple[str, ...] = ()
    room: tuple[int, int] = ROOMS[0]
    install: str = ""

    @property
    def places(self) -> list[Place]:
        return [place for change in self.changes for place in change.places]


def section(rule: Rule, name: str) -> str:
    """The body of one section of a rule's page."""
    match = re.search(rf"^## {re.escape(name)}\n(.*?)(?=^## |\Z)", rule.page, re.MULTILINE | re.DOTALL)
    return match[1].strip() if match else ""


def title(story: Story) -> str:
    """What the pull request is called."""
    rules = list(dict.fromkeys(change.rule.name for change in story.changes))
    if len(rules) == 1:
        head = f"Repair {rules[0]} in {count(len(story.places), 'place')}"
    else:
        head = f"Repair {count(len(story.places), 'misuse')} of autograd graphs"
    part = escaped(story.part)
    return f"{head} ({part})" if part and part not in head else head


def commit_message(change: Change, checks: Sequence[Check]) -> str:
    """What, why, how validated, files."""
    rule, kinds = change.rule, _kinds(change.places)
    parts = [
        f"Repair {rule.name} in {count(len(change.places), 'place')}",
        _wrapped(f"{rule.summary}."),
        _wrapped(_plain(section(rule, "Why is this bad"))),
        _wrapped(_validated(kinds)),
        *(_wrapped(f"`{escaped(check.command)}` passes with all commits of this branch.") for check in checks),
        "\n".join(_file_line(place) for place in change.places),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _file_line(place: Place) -> str:
    fix = place.finding.fix
    repair = f": {escaped(fix.title)}" if fix is not None else ""
    return f"- {escaped(place.where)}{repair}"


def _validated(kinds: Counter[Applicability]) -> str:
    parts = [f"Found by graphfix {__version__}, which simulates autograd on the code without running it; the fixed code parses."]
    if kinds[Applicability.SAFE]:
        parts.append(
            f"{_number(kinds, Applicability.SAFE)} safe: a program that worked before computes the same"
            + (", which graphfix has proven." if not kinds[Applicability.UNSAFE] else ".")
        )
    if kinds[Applicability.UNSAFE]:
        parts.append(f"{_number(kinds, Applicability.UNSAFE)} unsafe: it may change what the program computes, for the reason given there.")
    return " ".join(parts)


def _number(kinds: Counter[Applicability], kind: Applicability) -> str:
    number, total = kinds[kind], sum(kinds.values())
    if number == total:
        return "The repair is" if total == 1 else "All repairs are"
    return f"{number} of {total} repairs {'is' if number == 1 else 'are'}"


def _kinds(places: Iterable[Place]) -> Counter[Applicability]:
    return Counter(place.finding.fix.applicability for place in places if place.finding.fix is not None)


def _plain(markdown: str) -> str:
    return re.sub(r"```.*?```", "", markdown, flags=re.DOTALL)


def _wrapped(text: str) -> str:
    return "\n\n".join(textwrap.fill(" ".join(part.split()), 72) for part in text.split("\n\n") if part.strip())


def body(story: Story) -> str:
    """The text of the pull request, as much of it as a forge takes."""
    texts = (_body(replace(story, room=room)) for room in ROOMS)
    text = next(texts)
    for shorter in texts:
        if len(text) <= MAX_LENGTH:
            break
        text = shorter
    return text


def _body(story: Story) -> str:
    parts = [BEGIN, *_summary(story)]
    for change in merged(story.changes):
        parts += _rule(change, story)
    parts += _verification(story)
    parts += _left(story)
    parts += _reproduction(story)
    return "\n\n".join([*parts, END]) + "\n"


def _flowing(markdown: str) -> str:
    """Paragraphs of one line each: forges keep the line breaks of a comment. What is indented, listed or code stays."""
    parts = re.split(r"(```.*?```)", markdown, flags=re.DOTALL)
    flowing = (re.sub(r"(?<=\S)\n(?=[^\s\-*|#>])", " ", part) for part in parts[::2])
    return "".join(text for pair in zip_longest(flowing, parts[1::2], fillvalue="") for text in pair).strip()


def merged(changes: Sequence[Change]) -> list[Change]:
    """One change for each rule, also where it came in several steps."""
    found: dict[str, Change] = {}
    for change in changes:
        old = found.get(change.rule.code)
        found[change.rule.code] = (
            change if old is None else Change(old.rule, old.places + change.places, old.patches + change.patches)
        )
    return [
        replace(change, places=tuple(sorted(change.places, key=lambda place: (place.name, place.cell or 0, place.row))))
        for _, change in sorted(found.items())
    ]


def _summary(story: Story) -> Iterator[str]:
    files, kinds = len({place.name for place in story.places}), _kinds(story.places)
    what = f"{count(len(story.places), 'place')} in {count(files, 'file')}"
    yield (
        f"[graphfix](https://github.com/graphfix/graphfix) {__version__} fixed {what} where training code misuses the autograd graph. "
        "One commit for each rule; nothing else is touched."
    )
    if not kinds[Applicability.UNSAFE]:
        yield "Every fix is **safe**: a program that worked before computes the same. The reason is given below."
    else:
        yield (
            f"{_number(kinds, Applicability.SAFE)} **safe**: a program that worked before computes the same. "
            * bool(kinds[Applicability.SAFE])
            + f"{_number(kinds, Applicability.UNSAFE)} **unsafe**: it may change what the program computes; the reason is given below, for you to decide."
        )
    rows = ["| rule | what was wrong | places | files | repair |", "|---|---|---|---|---|"]
    for change in merged(story.changes):
        own = _kinds(change.places)
        kind = ", ".join(f"{own[kind]} {kind.value}" if len(own) > 1 else kind.value for kind in Applicability if own[kind])
        rule = change.rule
        rows.append(
            f"| [{rule.code} {rule.name}]({rule.url}) | {cell(rule.summary)} | {len(change.places)} "
            f"| {len({place.name for place in change.places})} | {kind} |"
        )
    yield "\n".join(rows)


def _rule(change: Change, story: Story) -> Iterator[str]:
    rule = change.rule
    yield f"## {rule.code} {rule.name}"
    yield _flowing(section(rule, "Why is this bad"))
    yield f"Each place, what is done there, and why that is safe or not proven so ([what it takes]({rule.url}#fix-safety)):"
    yield "\n".join(_listed(change.places, story, "- "))
    shown = [excerpt for patch in change.patches for excerpt in hunks(patch)]
    most = story.room[0]
    for excerpt in shown[:most]:
        yield fence("diff", excerpt)
    if len(shown) > most:
        yield f"{count(len(shown) - most, 'place')} more in the commit."


def _listed(places: Sequence[Place], story: Story, bullet: str, *, kind: bool = False) -> Iterator[str]:
    most = story.room[1]
    for place in places[:most]:
        yield f"{bullet}{_link(place, story)}: {_sentence(place, kind=kind)}"
    if len(places) > most:
        yield f"{bullet}and {len(places) - most} more"


def _sentence(place: Place, *, kind: bool) -> str:
    finding, fix = place.finding, place.finding.fix
    named = f"{finding.code} {finding.name}: " if kind else ""
    repair = ""
    if fix is not None:
        is_safe = fix.applicability is Applicability.SAFE
        repair = f"; {prose(fix.title)} ({fix.applicability.value}{f': {fix.ground.value}' if is_safe and not kind else ''})"
        if fix.doubt:
            repair += f", {NOT_PROVEN}{prose(fix.doubt)}"
    elif finding.unfixed:
        repair = f"; no fix: {prose(finding.unfixed)}"
    return f"{named}{prose(finding.message)}{repair}"


def _link(place: Place, story: Story) -> str:
    if story.forge is None:
        return code(place.where)
    return f"[{code(place.where)}]({story.forge.link(story.base, place.name, place.row if place.cell is None else 0)})"


def hunks(patch: bytes) -> list[str]:
    """The hunks of a patch, each under its place; long ones are cut."""
    lines = patch.decode("utf-8", "replace").replace("\r", "").split("\n")
    name = lines[1].removeprefix("+++ ").rstrip("\t").strip('"').removeprefix("b/") if len(lines) > 1 else ""
    starts = [number for number, line in enumerate(lines) if _HUNK.match(line)]
    return [
        _trimmed(name, [line for line in lines[start:end] if line])
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)
    ]


def _trimmed(name: str, lines: list[str]) -> str:
    """A hunk with one line of context around its changes, under the line of the old file where these begin."""
    match = _HUNK.match(lines[0])
    changed = [number for number, line in enumerate(lines) if number and line[0] in "+-"]
    assert match is not None and changed
    row = int(match[1]) + sum(line[0] in " -" for line in lines[1 : changed[0]])
    part = lines[max(1, changed[0] - 1) : changed[-1] + 2]
    cut = ["..."] if len(part) > MAX_LINES else []
    return "\n".join([f"@@ {name}:{row} @@", *part[:MAX_LINES], *cut])


def _verification(story: Story) -> Iterator[str]:
    yield "## Verification"
    lines = [
        "- Every file parses after every commit, and a second run of graphfix changes nothing.",
        "- Everything outside the fixed statements is unchanged, byte for byte: nothing is reformatted.",
    ]
    lines += [f"- {code(check.command)} passes on the result ({check.seconds:.0f} s)." for check in story.checks]
    if not story.checks and not story.proofs:
        lines.append("- Nothing was run: graphfix was given neither a check nor a script. The fixes follow from the code alone.")
    yield "\n".join(lines)
    for proof in story.proofs:
        yield f"{code(proof.command)} ran before and after:"
        yield "\n".join(["| | |", "|---|---|", *(f"| {name} | {cell(prose(value))} |" for name, value in proof.rows)])
        if proof.refused:
            yield "\n".join(f"- backed out: {code(fix)}: {prose(reason)}" for fix, reason in proof.refused)


def _left(story: Story) -> Iterator[str]:
    if story.left:
        yield "## Found, but not changed"
        yield "These need a decision by you. Nothing in this pull request depends on them."
        yield "\n".join(_listed(story.left, story, "- [ ] ", kind=True))
    if story.failed:
        yield "## Not analysed"
        yield "\n".join(f"- {prose(line)}" for line in story.failed)


def _reproduction(story: Story) -> Iterator[str]:
    yield "## How to reproduce"
    yield fence("sh", "\n".join([command(story.install), f"git switch --detach {story.base}", *story.reproduce]))


def renewed(old: str, new: str) -> str | None:
    """An open pull request's text with graphfix's part written anew; None where that part is not there any more."""
    start, end = old.find(BEGIN), old.find(END)
    if start < 0 or end < start:
        return None
    return old[:start] + new.rstrip("\n") + old[end + len(END) :]
