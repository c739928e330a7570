"""What is different between two sets of records about one program, by kind."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.golden.recording import Record

ALIKE = 0.1  # by how much the steps of two runs may differ
# of a finding; of a text only whether there is one counts where messages are left out
FIELDS = ("severity", "optional", "applicability", "operations", "patch", "symptoms")
TEXTS = ("message", "title", "doubt", "unfixed", "by_hand")


@dataclass(frozen=True)
class Difference:
    """One difference: its `kind`, the place, and what was and is there."""

    kind: str
    place: str
    detail: str = ""


def differences(old: Sequence[Record], new: Sequence[Record], *, with_texts: bool) -> Iterator[Difference]:
    """All that is different between two sets of records about one program."""
    file = (old or new)[0]["file"]
    if not old or not new:
        yield Difference("program: gone" if old else "program: new", file)
        return
    if old[0]["digest"] != new[0]["digest"]:
        yield Difference("program: other text, not compared", file)
        return
    by_kind: dict[str, tuple[list[Record], list[Record]]] = defaultdict(lambda: ([], []))
    for side, records in enumerate((old, new)):
        for record in records:
            by_kind[record["kind"]][side].append(record)
    for kind, (before, after) in by_kind.items():
        for one, two in pairs(before, after, KEYS[kind]):
            present = one or two
            assert present is not None
            where = f"{file} {' '.join(map(str, KEYS[kind](present)))}".strip()
            if one is None or two is None:
                yield Difference(f"{kind}: {'new' if one is None else 'lost'}", where, summary(present))
            elif one != two:
                yield from (Difference(f"{kind}: {name}", where, detail) for name, detail in COMPARED[kind](one, two, with_texts))


def pairs(
    old: Iterable[Record], new: Iterable[Record], key: Callable[[Record], tuple[str, ...]]
) -> Iterator[tuple[Record | None, Record | None]]:
    """The records of the same key side by side, in order where several have it."""
    sides: dict[tuple[str, ...], tuple[list[Record], list[Record]]] = defaultdict(lambda: ([], []))
    for side, records in enumerate((old, new)):
        for record in records:
            sides[key(record)][side].append(record)
    for one, two in sides.values():
        yield from itertools.zip_longest(one, two)


def summary(record: Record) -> str:
    """What a record says that is there on one side only."""
    if record["kind"] == "finding":
        return f"{record.get('applicability', 'no fix')}: {record['message']}"
    if record["kind"] == "run":
        return f"{record['steps']} steps, {record['ended']}"
    return ", ".join(state_of(each) for each in [record] if "open" in each)


def of_files(old: Record, new: Record, with_texts: bool) -> Iterator[tuple[str, str]]:
    if old["ended"] != new["ended"]:
        yield f"{old['ended']} -> {new['ended']}", ""
    if old.get("faults") != new.get("faults"):
        yield "other faults", f"{old.get('faults', [])} -> {new.get('faults', [])}"


def of_findings(old: Record, new: Record, with_texts: bool) -> Iterator[tuple[str, str]]:
    for name in (*FIELDS, *TEXTS):
        one, two = old.get(name, ""), new.get(name, "")
        if one == two:
            continue
        if name in ("severity", "applicability"):
            yield f"{name} {one or 'no fix'} -> {two or 'no fix'}", ""
        elif name in TEXTS and one and two:
            if with_texts:
                yield f"other {name}", f"{one!r} -> {two!r}"
        elif name in TEXTS and name != "title":
            yield f"{name} {'gone' if one else 'new'}", f"{one or two!r}"
        elif name not in TEXTS:
            yield f"other {name}", f"{shown(one)} -> {shown(two)}"
    yield from of_stories(old, new, with_texts)


def of_stories(old: Record, new: Record, with_texts: bool) -> Iterator[tuple[str, str]]:
    if old.get("story") != new.get("story"):
        yield "other story places", f"{old.get('story', [])} -> {new.get('story', [])}"
    elif with_texts and old.get("told") != new.get("told"):
        changed = [f"{one!r} -> {two!r}" for one, two in zip(old.get("told", ()), new.get("told", ())) if one != two]
        yield "other story texts", "; ".join(changed)


def of_proofs(old: Record, new: Record, with_texts: bool) -> Iterator[tuple[str, str]]:
    """How the answer to a proof question changed: its state, and the reasons that came and went."""
    if state_of(old) != state_of(new):
        yield f"{state_of(old)} -> {state_of(new)}", reasons(old["open"] or new["open"])
    one, two = (Counter(each["reason"] for each in record["open"]) for record in (old, new))
    if with_texts:
        yield from ((f"reason gone: {reason}", sites(old, reason)) for reason in one - two)
        yield from ((f"reason new: {reason}", sites(new, reason)) for reason in two - one)
    if (one == two or not with_texts) and [each["site"] for each in old["open"]] != [each["site"] for each in new["open"]]:
        yield "other places", f"{reasons(old['open'])} -> {reasons(new['open'])}"
    for name in ("ground", "operations"):
        if old[name] != new[name]:
            yield f"other {name}", f"{shown(old[name])} -> {shown(new[name])}"


def state_of(proof: Record) -> str:
    if any(each.get("contradicted") for each in proof["open"]):
        return "contradicted"
    return "open" if proof["open"] else "discharged"


def reasons(opened: Sequence[Record]) -> str:
    return "; ".join(f"{each['site']} {each['reason']}" for each in opened)


def sites(proof: Record, reason: str) -> str:
    return ", ".join(each["site"] for each in proof["open"] if each["reason"] == reason)


def of_runs(old: Record, new: Record, with_texts: bool) -> Iterator[tuple[str, str]]:
    if old["ended"] != new["ended"]:
        yield f"{old['ended']} -> {new['ended']}", ""
    if abs(old["steps"] - new["steps"]) > ALIKE * max(old["steps"], 1):
        yield "steps more than 10 % apart", f"{old['steps']} -> {new['steps']}"
    for name in ("walks", "hits", "left", "answers"):
        if old.get(name, 0) != new.get(name, 0):
            yield f"other {name}", f"{old.get(name, 0)} -> {new.get(name, 0)}"


def of_health(old: Record, new: Record, with_texts: bool) -> Iterator[tuple[str, str]]:
    for name in ("walks", "misused", "empty"):
        if old.get(name) != new.get(name):
            yield f"other {name}", f"{shown(old.get(name, 0))} -> {shown(new.get(name, 0))}"


def of_repairs(old: Record, new: Record, with_texts: bool) -> Iterator[tuple[str, str]]:
    for name in ("patch", "passes", "refused", "broken", "left", "ended"):
        if old.get(name) != new.get(name):
            yield f"other {name}", f"{shown(old.get(name, ''))} -> {shown(new.get(name, ''))}"


def shown(value: object) -> str:
    """The value, the lines of a patch in one."""
    text = " | ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


KEYS: dict[str, Callable[[Record], tuple[str, ...]]] = {
    "file": lambda record: (),
    "finding": lambda record: (record["place"], record["rule"]),
    "proof": lambda record: (record["place"], record["rule"]),
    "run": lambda record: (record.get("caller", ""), record["entry"], record["policy"]),
    "health": lambda record: (),
    "repair": lambda record: (record["wanted"],),
}
COMPARED: dict[str, Callable[[Record, Record, bool], Iterator[tuple[str, str]]]] = {
    "file": of_files,
    "finding": of_findings,
    "proof": of_proofs,
    "run": of_runs,
    "health": of_health,
    "repair": of_repairs,
}
