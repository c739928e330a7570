"""Several files written as one: the tree is as it was, or all of them are new, whenever the writer is stopped.

All new contents reach the disk beside their files first. Then a journal names them, and they take their places with signals
held back. A run that is killed in between leaves the journal: the next one takes the remaining files to their places.

The journal lies with the user, not in the tree: what came with a tree is never obeyed.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from graphfix.files.store import store
from graphfix.files.temporary import PREFIX, is_alive, staged, sync_folder
from graphfix.files.write import NotWritten, check, holds, like, why
from graphfix.lazy_dataclass import dataclass
from graphfix.source.errors import SourceError
from graphfix.source.reading import STATE_BYTES, read_bytes, read_json


@dataclass(frozen=True)
class Change:
    """New bytes for the file at the real path `target`, which has to hold `before` until then."""

    target: Path
    before: bytes
    after: bytes


@dataclass(frozen=True)
class _Move:
    """What a journal says of one file: `temporary`, which holds `after`, takes the place of `target`, which held `before`."""

    temporary: Path
    target: Path
    before: str
    after: str

    def is_ours(self, root: Path) -> bool:
        """Whether the temporary file is one of this module, with what it wrote, beside a target below `root`."""
        if not Path(os.path.realpath(self.target)).is_relative_to(os.path.realpath(root)) or self.temporary.is_symlink():
            return False
        if self.temporary.parent != self.target.parent or not self.temporary.name.startswith(PREFIX):
            return False
        return _digest(read_bytes(self.temporary)) == self.after

    def is_due(self) -> bool:
        """Whether the target is still what it was: what somebody has changed since then wins."""
        return _digest(read_bytes(self.target)) == self.before


def journal_of(root: Path) -> Path:
    """Where the journal for files below `root` lies: in the user's folder for state, named after the root."""
    from platformdirs import user_state_path

    return user_state_path("graphfix", appauthor=False) / f"journal-{_digest(os.fsencode(os.path.realpath(root)))[:20]}.json"


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def replace_all(changes: Sequence[Change], root: Path) -> None:
    """Make all `changes`, which lie below the folder `root`, or raise `NotWritten` and make none."""
    journal = journal_of(root)
    try:
        journal.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise NotWritten(f"no journal can be kept in {journal.parent}: {why(error)}") from error
    try:
        with contextlib.ExitStack() as files:  # those that have not moved go at its end
            waiting = [(files.enter_context(_stage(change)), change) for change in changes]
            moves = [[str(new), str(change.target), _digest(change.before), _digest(change.after)] for new, change in waiting]
            with _signals_held_back():
                for change in changes:
                    _check_unchanged(change)
                store(journal, json.dumps({"process": os.getpid(), "moves": moves}).encode())
                _move(waiting, journal)
    except OSError as error:
        raise NotWritten(why(error)) from error


def recover(root: Path) -> int:
    """Finish what a run that was killed had begun to write below `root`; the number of files that were still old."""
    journal = journal_of(root)
    try:
        document = read_json(journal, STATE_BYTES)
        moves = [_Move(Path(temporary), Path(target), before, after) for temporary, target, before, after in document["moves"]]
        process = int(document["process"])
    except (SourceError, ValueError, KeyError, TypeError, OverflowError):
        return 0  # none, or not readable: nothing is touched
    if is_alive(process):
        return 0
    done = 0
    for move in moves:
        with contextlib.suppress(OSError, SourceError, ValueError):  # ValueError: a name that no file can have
            if move.is_ours(root) and move.is_due():
                os.replace(move.temporary, move.target)
                sync_folder(move.target.parent)
                done += 1
    with contextlib.suppress(OSError):
        journal.unlink()
    return done


def _stage(change: Change) -> contextlib.AbstractContextManager[Path]:
    state = os.lstat(change.target)
    check(change.target, state)
    return staged(change.target, change.after, like(change.target, state))


def _check_unchanged(change: Change) -> None:
    if not holds(change.target, change.before):
        raise NotWritten(f"{change.target.name} changed meanwhile")


def _move(waiting: Sequence[tuple[Path, Change]], journal: Path) -> None:
    moved: list[Change] = []
    try:
        for temporary, change in waiting:
            os.replace(temporary, change.target)
            moved.append(change)
    except OSError:
        # a folder that became read-only meanwhile, or the like: back to what was there
        for change in moved:
            with contextlib.suppress(OSError):
                with staged(change.target, change.before, like(change.target, os.lstat(change.target))) as temporary:
                    os.replace(temporary, change.target)
        raise
    finally:
        with contextlib.suppress(OSError):
            journal.unlink()
    for folder in {change.target.parent for change in moved}:
        sync_folder(folder)


@contextlib.contextmanager
def _signals_held_back() -> Iterator[None]:
    """Ctrl-C, a hang-up and a request to end wait until the block is left."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    held = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    old = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)
