"""Findings that were accepted once: known again by what they say, never by where they stand."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from graphfix.lazy_dataclass import dataclass
from graphfix.model import Finding
from graphfix.run.fingerprint import Mark, marks
from graphfix.run.outcome import Outcome, Status
from graphfix.run.selection import UnknownCode, exact_code
from graphfix.source.errors import SourceError
from graphfix.source.reading import STATE_BYTES, NotJson, read_json

VERSION = 1


class BaselineError(Exception):
    """A baseline that cannot be read, and why."""


@dataclass(frozen=True)
class Baseline:
    """How often each mark was accepted, by file; names are relative to the folder of the baseline itself."""

    path: Path
    files: Mapping[str, Mapping[Mark, int]] = field(default_factory=dict)

    def name_of(self, path: Path) -> str:
        """The name that the baseline has for the file at `path`."""
        folder = Path(os.path.realpath(self.path)).parent
        try:
            return Path(os.path.relpath(os.path.realpath(path), folder)).as_posix()
        except ValueError:  # another drive
            return Path(os.path.realpath(path)).as_posix()

    def of(self, path: Path) -> Mapping[Mark, int]:
        """What was accepted in the file at `path`."""
        return self.files.get(self.name_of(path), {})

    def gone(self) -> dict[str, Mapping[Mark, int]]:
        """What was accepted in files that are no more."""
        folder = Path(os.path.realpath(self.path)).parent
        return {name: known for name, known in self.files.items() if not os.path.lexists(folder / name)}


class Known:
    """The accepted findings of one file, also while fixes change its text."""

    def __init__(self, accepted: Mapping[Mark, int]) -> None:
        self._accepted = accepted
        self._met: Counter[Mark] | None = None
        self.stale = 0

    @property
    def met(self) -> int:
        """How many accepted findings there were."""
        return sum(self._met.values()) if self._met is not None else 0

    def without(self, text: str, every: Sequence[Finding], visible: Sequence[Finding]) -> list[Finding]:
        """The `visible` findings of `text` that were not accepted; `every` finding tells what has become stale."""
        if self._met is None:
            present = Counter(marks(text, every))
            self.stale = sum(max(0, count - present[mark]) for mark, count in self._accepted.items())
            left, self._met = Counter(self._accepted), Counter()
            return [finding for mark, finding in zip(marks(text, visible), visible, strict=True) if not self._meets(mark, left)]
        left = Counter(self._met)
        new = [pair for pair in zip(marks(text, visible), visible, strict=True) if not _takes(pair[0], left)]
        # a fix beside it may have changed the accepted line: the same rule in the same function is still the same finding
        places = Counter({(mark.code, mark.place): count for mark, count in left.items() if count > 0})
        return [finding for mark, finding in new if not _takes((mark.code, mark.place), places)]

    def _meets(self, mark: Mark, left: Counter[Mark]) -> bool:
        assert self._met is not None
        taken = _takes(mark, left)
        if taken:
            self._met[mark] += 1
        return taken


def _takes(key: object, left: Counter) -> bool:  # type: ignore[type-arg]
    if left[key] <= 0:
        return False
    left[key] -= 1
    return True


def load(path: Path) -> Baseline:
    """The baseline at `path`, or `BaselineError`."""
    try:
        document = read_json(path, STATE_BYTES)
        if document["version"] != VERSION:
            raise BaselineError(f"{path}: a baseline of version {document['version']!r:.40}, this graphfix knows {VERSION}")
        return Baseline(path, {_string(name): _marks(entries) for name, entries in document["files"].items()})
    except NotJson as error:
        place = f":{error.row}: not a baseline" if error.row else ": not a baseline"
        raise BaselineError(f"{path}{place}: {error.reason}") from error
    except SourceError as error:
        raise BaselineError(f"{path}: cannot be read: {error.reason}") from error
    except UnknownCode as error:
        raise BaselineError(f"{path}: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BaselineError(f"{path}: not a baseline written by graphfix") from error


def _marks(entries: Iterable[Mapping[str, object]]) -> dict[Mark, int]:
    found: Counter[Mark] = Counter()
    for entry in entries:
        count = entry["count"]
        if not isinstance(count, int) or count < 1:
            raise TypeError
        found[Mark(_code(_string(entry["code"])), _string(entry["in"]), _string(entry["line"]))] += count
    return found


def _code(word: str) -> str:
    """The code that is listed, or that the rule of a listed name has; a code may be one of a rule that is no more."""
    if "-" not in word:
        return word
    from graphfix.codemods import CODES, NAMES

    return exact_code(word, CODES, NAMES)


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def renewed(path: Path, outcomes: Iterable[Outcome]) -> dict[str, Mapping[Mark, int]]:
    """What the baseline at `path` has to list after a run: its findings, and the old ones of files that it did not look at."""
    old = load(path) if os.path.lexists(path) else Baseline(path)
    gone = old.gone()
    files = {name: known for name, known in old.files.items() if name not in gone}
    for outcome in outcomes:
        name = old.name_of(outcome.path)
        if outcome.status is Status.EXAMINED:
            files.pop(name, None)
        if outcome.source is not None and outcome.findings:
            files[name] = Counter(marks(outcome.source.text, outcome.findings))
    return files


def written(files: Mapping[str, Mapping[Mark, int]]) -> bytes:
    """The bytes of a baseline: sorted, one finding a line, so that two branches seldom get into each other's way."""
    parts = []
    for name, known in sorted(files.items()):
        entries = [
            json.dumps({"code": mark.code, "in": mark.place, "line": mark.line, "count": count})
            for mark, count in sorted(known.items())
        ]
        if entries:
            parts.append(f"    {json.dumps(name)}: [\n      " + ",\n      ".join(entries) + "\n    ]")
    body = "{\n" + ",\n".join(parts) + "\n  }" if parts else "{}"
    return f'{{\n  "version": {VERSION},\n  "files": {body}\n}}\n'.encode()
