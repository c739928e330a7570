"""What was decided on findings, kept between runs: known by what a finding says, never by where it stands."""

from __future__ import annotations

import enum
import json
import os
from collections.abc import Mapping
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from typing import Any

from graphfix.lazy_dataclass import dataclass
from graphfix.model import Applicability
from graphfix.run.fingerprint import Mark
from graphfix.source.errors import SourceError
from graphfix.source.reading import STATE_BYTES, NotJson, read_json

VERSION = 1


class BadProgress(Exception):
    """A file of progress that cannot be read, and why."""


class Choice(enum.Enum):
    """What is done about a finding."""

    TAKE = "take"
    OTHER = "other"
    LEAVE = "leave"
    SUPPRESS = "suppress"
    EDIT = "edit"


@dataclass(frozen=True)
class Decision:
    """One answer. `path` is relative to the project.

    `rest`: also of the following findings of this rule those whose fixes are this safe. `follows` from such a decision.
    `old`, `new`, `row`: the lines that an editor was given and gave back, and where they stood.
    """

    path: str
    mark: Mark
    choice: Choice
    reason: str = ""
    rest: Applicability | None = None
    follows: bool = False
    old: str = ""
    new: str = ""
    row: int = 0


@dataclass(frozen=True)
class Progress:
    """The decisions in the order in which they were made; of each file what it was, and what they make of it."""

    decisions: tuple[Decision, ...] = ()
    files: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def digest(data: bytes) -> str:
    """What a file's bytes are known by."""
    return sha256(data).hexdigest()


def place_of(project: Path) -> Path:
    """Where the progress of a review of `project` is kept: with the user, not with the project."""
    from platformdirs import user_state_path

    return user_state_path("graphfix", appauthor=False) / f"review-{digest(bytes(project))[:20]}.json"


def load(path: Path) -> Progress:
    """The progress at `path`, none if there is no such file; else `BadProgress`."""
    if not os.path.lexists(path):
        return Progress()
    try:
        document = read_json(path, STATE_BYTES)
        if document["version"] != VERSION:
            raise BadProgress(f"progress of version {document['version']!r:.40}, this graphfix knows {VERSION}")
        files = {str(name): (str(before), str(after)) for name, (before, after) in document["files"].items()}
        return Progress(tuple(_decision(entry) for entry in document["decisions"]), files)
    except NotJson as error:
        raise BadProgress("not what graphfix writes") from error
    except SourceError as error:
        raise BadProgress(error.reason) from error
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise BadProgress("not what graphfix writes") from error


def written(progress: Progress, project: Path) -> bytes:
    """The bytes of a file of progress."""
    document = {
        "version": VERSION,
        "project": str(project),
        "files": {name: list(digests) for name, digests in sorted(progress.files.items())},
        "decisions": [_entry(decision) for decision in progress.decisions],
    }
    return (json.dumps(document, indent=1) + "\n").encode()


def _entry(decision: Decision) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "path": decision.path,
        "code": decision.mark.code,
        "in": decision.mark.place,
        "line": decision.mark.line,
        "choice": decision.choice.value,
    }
    if decision.rest is not None:
        entry["rest"] = decision.rest.value
    entry |= {name: value for name in ("reason", "follows", "old", "new", "row") if (value := getattr(decision, name))}
    return entry


def _decision(entry: Mapping[str, Any]) -> Decision:
    rest = entry.get("rest")
    return Decision(
        str(entry["path"]),
        Mark(str(entry["code"]), str(entry["in"]), str(entry["line"])),
        Choice(entry["choice"]),
        str(entry.get("reason", "")),
        None if rest is None else Applicability(rest),
        bool(entry.get("follows", False)),
        str(entry.get("old", "")),
        str(entry.get("new", "")),
        int(entry.get("row", 0)),
    )
