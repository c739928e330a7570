"""What `why` knows, for programs."""

from __future__ import annotations

import json
from dataclasses import replace

from graphfix.report.jsonform import records
from graphfix.report.view import plain
from graphfix.why.diagnosis import Cause, Diagnosis
from graphfix.why.errors import Frame
from graphfix.why.kinds import Kind
from graphfix.why.places import Nowhere, Place
from graphfix.why.repair import commands, patch_of
from graphfix.why.trace import trace_of
from graphfix.why.whose import below, owner, users


def explanation(kind: Kind) -> str:
    """An error without a traceback, as one JSON object; ASCII only."""
    return _dumped({"error": None, "kind": _kind(kind), "findings": []})


def told(diagnosis: Diagnosis) -> str:
    """An error with its traceback, as one JSON object; ASCII only."""
    trouble = diagnosis.trouble
    own = users(trouble.frames)
    library = below(trouble.frames)
    nexts = [pair for cause in diagnosis.causes for pair in commands(cause)] or (trace_of(diagnosis) if diagnosis.kind else [])
    return _dumped(
        {
            "error": {"type": trouble.type, "message": trouble.message},
            "kind": _kind(diagnosis.kind) if diagnosis.kind is not None else None,
            "frame": _frame(own[-1]) if own else None,
            "below": _frame(library) if library is not None else None,
            "frames": [_frame(frame) for frame in trouble.frames],
            "made": [_frame(frame) for frame in trouble.made],
            "places": [_place(place) for place in diagnosis.places],
            "missing": [_missing(missing) for missing in diagnosis.missing],
            "findings": [_finding(cause) for cause in diagnosis.causes],
            "others": diagnosis.others,
            "problems": list(diagnosis.problems),
            "commands": [command for command, _ in nexts],
        }
    )


def _dumped(value: object) -> str:
    return json.dumps(value, indent=2)


def _kind(kind: Kind) -> dict[str, object]:
    ways = [{"title": way.title, "codes": list(way.codes), "change": way.change, "says": way.says} for way in kind.ways]
    return {
        "key": kind.key,
        "title": kind.title,
        "page": kind.page,
        "says": " ".join(kind.says.split()),
        "repair": " ".join(kind.repair.split()),
        "codes": list(kind.codes),
        "ways": ways,
    }


def _frame(frame: Frame) -> dict[str, object]:
    return {
        "filename": plain(frame.file) or None,
        "row": frame.row or None,
        "function": frame.function or None,
        "code": frame.code or None,
        "prompt": frame.cell,
        "library": owner(frame) or None,
    }


def _place(place: Place) -> dict[str, object]:
    return {"filename": plain(str(place.source.path)), "cell": place.cell, "row": place.row, "note": place.note or None}


def _missing(missing: Nowhere) -> dict[str, object]:
    return {**_frame(missing.frame), "reason": missing.reason}


def _finding(cause: Cause) -> dict[str, object]:
    number = cause.outcome.findings.index(cause.finding)
    edits = cause.outcome.edits[number : number + 1]
    others = cause.outcome.others[number : number + 1]
    (record,) = records([replace(cause.outcome, findings=(cause.finding,), edits=edits, others=others, unfinished="")])
    return {**record, "nearness": cause.nearness.name.lower(), "patch": patch_of(cause)}
