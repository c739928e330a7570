"""Whether the files that an analysis has read still say what they said to it.

A comment says nothing, nor does a docstring that no code reads. But what is told of a file tells its lines, so that of such a file
every byte counts.
"""

from __future__ import annotations

import ast
import enum
import functools
import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from graphfix.lazy_dataclass import dataclass
from graphfix.source.decode import read, read_bytes
from graphfix.source.document import DEFINITIONS
from graphfix.source.errors import SourceError
from graphfix.source.reads import State, state_of

READS_DOCSTRINGS = "__doc__"  # what code that reads a docstring spells


class Care(enum.Enum):
    """How much of a file counts."""

    CODE = "code"
    DOCSTRINGS = "code and docstrings"
    BYTES = "bytes"


@dataclass(frozen=True)
class Met:
    """A file as an analysis met it. `said`: a digest of what counts of it; empty where only its state can tell of a change."""

    path: str
    state: State
    care: Care = Care.BYTES
    said: bytes = b""


def met(reads: Mapping[Path, State], told_of: Collection[str], text: str) -> tuple[Met, ...]:
    """The files of `reads`, for the analysis of `text` that tells of lines in the files `told_of`."""
    least = Care.CODE
    if READS_DOCSTRINGS in text or any(map(_reads_docstrings, reads)):
        least = Care.DOCSTRINGS
    if not _is_roomy(reads.values()):
        least = Care.BYTES
    files = []
    for path, state in reads.items():
        care = Care.BYTES if str(path) in told_of or path.suffix != ".py" else least
        said = _said(str(path), care)
        # one that has been written meanwhile may say something else by now
        files.append(Met(str(path), state, care, said if state_of(path) == state else b""))
    return tuple(files)


def as_before(files: Sequence[Met]) -> tuple[Met, ...] | None:
    """The files in their states of now, where they say what they said; None where one does not."""
    now = tuple(file if state_now(file.path) == file.state else replace(file, state=state_now(file.path)) for file in files)
    if now == files:
        return now
    changed = [file for file, before in zip(now, files, strict=True) if file.state != before.state]
    if not all(file.said and file.state is not None and file.said == _said(file.path, file.care) for file in changed):
        return None
    exact = all(file.care is Care.BYTES for file in changed)
    return now if exact or _is_roomy(file.state for file in now) else None


def _is_roomy(states: Iterable[State]) -> bool:
    """Whether files are so small together that their sizes decide nothing: no analysis leaves one out for that."""
    from graphfix.interpreter.imports import MAX_BYTES

    return sum(state[0] for state in states if state is not None) <= MAX_BYTES


def forget_now() -> None:
    """Look at all files anew from now on."""
    for known in (state_now, _said, _reads_docstrings):
        known.cache_clear()


@functools.lru_cache(maxsize=100_000)
def state_now(path: str) -> State:
    """The state of a file at its first use in a run."""
    return state_of(Path(path))


@functools.lru_cache(maxsize=4_000)
def _reads_docstrings(path: Path) -> bool:
    try:
        return READS_DOCSTRINGS.encode() in read_bytes(path)
    except SourceError:
        return False


@functools.lru_cache(maxsize=4_000)
def _said(path: str, care: Care) -> bytes:
    """A digest of what counts of a file; empty where it cannot be read."""
    try:
        data = read_bytes(Path(path))
        if care is Care.BYTES:
            return hashlib.sha256(data).digest()
        tree = ast.parse(read(Path(path)).text)
    except (SourceError, SyntaxError, ValueError, RecursionError, MemoryError):
        return b""
    from graphfix.project.importers import MAX_FILE_BYTES

    if care is Care.CODE:
        _silence(tree)
    is_large = len(data) > MAX_FILE_BYTES  # then it is no script to `project.importers`
    return hashlib.sha256(f"{is_large} {ast.dump(tree)}".encode("utf-8", "surrogatepass")).digest()


def _silence(tree: ast.Module) -> None:
    """Leave of each docstring only that it is there, and the names that the analysis takes a text for (`Document.words`)."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, *DEFINITIONS)) and ast.get_docstring(node, clean=False) is not None:
            constant = node.body[0].value  # type: ignore[attr-defined]
            constant.value = ".".join(word for word in constant.value.split(".") if word.isidentifier())
