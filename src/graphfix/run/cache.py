"""What was worked out of files, kept from run to run. What an analysis finds holds as long as the text, the settings that the analysis
goes by, what the files of its project import of each other, and what the files that it has read say are as they were.

Whatever is wrong with what was kept, a run goes on without it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import graphfix
from graphfix.interpreter.conventions import Conventions
from graphfix.lazy_dataclass import dataclass, fields, is_dataclass
from graphfix.run import store
from graphfix.run.plain_data import NotPlain, read, written
from graphfix.run.unchanged import Met, as_before, forget_now
from graphfix.source.reads import State

MAX_PROGRAMS = 20_000  # of a project: to see whether one of more has changed takes longer than it saves
MAX_ENTRIES = 200_000  # of all kinds, below the roots of a project
Value = TypeVar("Value")


_MOST_MARKS = 64
_marks: dict[int, tuple[Conventions, bytes]] = {}


@dataclass(frozen=True)
class Cache:
    """What holds under one `stamp`: a digest of all that the files of a run have in common. Travels to workers.

    `own`: a digest of graphfix itself; `place`: of what else does not change with the project's files; `now`: of the states of these.
    `file`: the database; None where nothing is to be found by a later run. `aside`: where to keep what this run works out instead.
    """

    file: Path | None
    stamp: bytes
    place: bytes
    own: bytes
    now: bytes = b""
    aside: dict[bytes, tuple[object, Sequence[Met]]] | None = None

    def key(self, kind: str, *parts: object, project: bool = False) -> bytes:
        """What names a value of a `kind` that is made of `parts`, and, in a `project`, of the files there."""
        return _digest(self.stamp if project else self.own, kind.encode(), *(map(_spelled, parts)))

    def get(self, key: bytes, kind: type[Value]) -> Value | None:
        """The value that was kept under `key`, if there is one of this kind, and the files that it goes by say what they said."""
        if self.aside is not None and key in self.aside:
            found: Any = self.aside[key]
        else:
            found = self._read(key, tuple[kind, tuple[Met, ...]])  # type: ignore[valid-type]
        if found is None or not isinstance(found[0], kind):
            return None
        value, files = found
        now = as_before(files)
        if now is not None and now != files:
            self.put({key: (value, now)})  # next time their states tell
        return value if now is not None else None

    def put(self, values: Mapping[bytes, tuple[object, Sequence[Met]]]) -> None:
        """Keep values by their keys, each with the files that it goes by."""
        if self.aside is not None:
            self.aside.update(values)
        else:
            self._write(values)

    def plan(self, asked: object, kind: type[Value]) -> Value | None:
        """What was kept of the files that are `asked` for, as long as no file of the project has changed; None where nothing was."""
        return self._read(self._plan_key(asked), kind) if self.now else None

    def keep_plan(self, asked: object, plan: object) -> None:
        """Keep what `plan` gives from now on."""
        if self.now:
            self._write({self._plan_key(asked): plan})

    def _plan_key(self, asked: object) -> bytes:
        return _digest(b"plan", self.now, _spelled(asked))

    def idle(self, rules: object) -> dict[str, State] | None:
        """The files that cannot matter under these `rules`, by their absolute names, each with its state when that was seen.

        None before the first run.
        """
        found: dict[str, State] | None = self._read(self._idle_key(rules), dict[str, State])
        return found

    def keep_idle(self, rules: object, files: dict[str, State]) -> None:
        """Keep what `idle` gives from now on."""
        self._write({self._idle_key(rules): files})

    def _idle_key(self, rules: object) -> bytes:
        return _digest(b"idle", self.place, _spelled(rules))

    def _read(self, key: bytes, kind: Any) -> Any:
        """The value of a kind that the database has under `key`; None where it has none that can be read."""
        found = store.got(self.file, key) if self.file is not None else None
        with contextlib.suppress(NotPlain):
            return read(kind, found) if found is not None else None

    def _write(self, values: Mapping[bytes, object]) -> None:
        if self.file is not None and values:
            with contextlib.suppress(NotPlain):  # such as an error that an analysis has met
                store.put(self.file, {key: written(value) for key, value in values.items()})


def opened(roots: Sequence[Path], where: Path | None = None) -> Cache | None:
    """The cache for a run over projects at `roots`, in the folder `where`; None where they cannot be looked through for changes.

    Raises `store.Refused` where others than the user may have written what lies there.
    """
    file = store.place(where or store.folder(), roots)
    programs = _programs(roots)
    if programs is None:
        return None
    store.trim(file)
    forget_now()
    own = _digest(*map(os.fsencode, (graphfix.__version__, sys.version, platform.machine(), *_own_files())))
    place = _digest(own, _spelled(list(roots)))
    common = _digest(place, *map(os.fsencode, programs))
    # who imports whom decides which files an analysis may go by; it is found out again only where any file has changed
    as_now = _digest(common, *(_spelled(state) for state in programs.values()))
    imports = store.got(file, as_now)
    if imports is None:
        imports = _imports(roots)
        store.put(file, {as_now: imports})
    return Cache(file, _digest(common, imports), place, own, as_now)


def for_this_run() -> Cache:
    """A cache that no later run reads."""
    return Cache(None, b"", b"", b"", aside={})


def _imports(roots: Sequence[Path]) -> bytes:
    """A digest of what the files of the projects import, as far as an analysis asks who imports a file."""
    from graphfix.project.importers import imports_below

    made = hashlib.sha256()
    for root in roots:
        found = imports_below(Path(os.path.realpath(root)))
        made.update(b"too many" if found is None else b"all")
        # Word by word: all of it at once would take as much memory as a large file.
        for word, users in sorted((found or {}).items()):
            made.update(_spelled((word, users)))
    return made.digest()


def _digest(*parts: bytes) -> bytes:
    made = hashlib.sha256()
    for part in parts:
        made.update(len(part).to_bytes(8, "little"))
        made.update(part)
    return made.digest()


def _spelled(value: object) -> bytes:
    """Data as bytes, the same in each process: sets have no order of their own."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return repr(_ordered(value)).encode("utf-8", "surrogateescape")


def _ordered(value: object) -> object:
    if isinstance(value, Conventions):
        return _mark(value)
    if is_dataclass(value):
        return type(value).__name__, [(one.name, _ordered(getattr(value, one.name))) for one in fields(value)]
    if isinstance(value, (set, frozenset)):
        return sorted(repr(_ordered(part)) for part in value)
    if isinstance(value, (list, tuple)):
        return [_ordered(part) for part in value]
    if hasattr(value, "items"):
        return sorted((repr(_ordered(key)), repr(_ordered(part))) for key, part in value.items())
    return value if isinstance(value, (str, bytes, int, float, bool, type(None))) else str(value)


def _mark(conventions: Conventions) -> bytes:
    """A digest of settings, which are asked for of each file and may hold thousands of rows: worked out once for each object."""
    known = _marks.get(id(conventions))
    if known is None or known[0] is not conventions:
        if len(_marks) >= _MOST_MARKS:
            _marks.clear()
        parts = [(one.name, _ordered(getattr(conventions, one.name))) for one in fields(conventions)]
        known = _marks[id(conventions)] = conventions, _digest(repr(parts).encode("utf-8", "surrogateescape"))
    return known[1]


def _own_files() -> Iterator[str]:
    """What tells this graphfix from one that was changed without a new version."""
    rules = find_spec("graphfix.codemods")
    assert rules is not None
    for package in (*graphfix.__path__, *(rules.submodule_search_locations or ())):
        for path, state in sorted(_below(Path(package), enters_links=True)):
            yield f"{path} {state.st_size} {state.st_mtime_ns}"


def _programs(roots: Sequence[Path]) -> dict[str, State] | None:
    """The programs that an analysis may read, sorted, each with its state; None where there are too many.

    Imports lead nowhere but into folders and files whose names are Python's; None also where a link leads into a folder elsewhere.
    """
    found: dict[str, State] = {}
    for root in dict.fromkeys(map(os.path.abspath, roots)):
        try:
            for path, state in _below(Path(root)):
                found[path] = (state.st_size, state.st_mtime_ns, state.st_ctime_ns)
                if len(found) > MAX_PROGRAMS:
                    return None
        except _Unbounded:
            return None
    return dict(sorted(found.items()))


class _Unbounded(Exception):
    """A tree that is too large to be looked through, or that goes on elsewhere by a link."""


def _below(folder: Path, *, enters_links: bool = False) -> Iterator[tuple[str, os.stat_result]]:
    pending = [str(folder)]
    left = MAX_ENTRIES
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    left -= 1
                    if not left:
                        raise _Unbounded
                    if entry.name.endswith((".py", ".ipynb")) or entry.name == ".gitignore":  # what is ignored imports nothing
                        with contextlib.suppress(OSError):  # a link to nothing
                            yield entry.path, entry.stat()
                    elif entry.name.isidentifier() and entry.is_dir():
                        if entry.is_symlink() and not enters_links:
                            raise _Unbounded
                        pending.append(entry.path)
        except OSError:
            continue
