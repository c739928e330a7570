"""Several files written as one: the tree is as it was, or all of them are new, whenever the writer is stopped.

All new contents reach the disk beside their files first. Then a journal names them, and they take their places with signals
held back. A run that is killed in between leaves the journal: the next one takes the remaining files to their places.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from graphfix.rewrite.store import store
from graphfix.rewrite.write import PREFIX, SUFFIX, NotWritten, check, fill, is_alive, sync_folder, why

JOURNAL = f"{PREFIX}journal.json"


@dataclass(frozen=True)
class Change:
    """New bytes for the file at the real path `target`, which has to hold `before` until then."""

    target: Path
    before: bytes
    after: bytes


def replace_all(changes: Sequence[Change], root: Path) -> None:
    """Make all `changes`, or raise `NotWritten` and make none. The journal lies in the folder `root`."""
    staged: list[tuple[Path, Change]] = []
    journal = root / JOURNAL
    try:
        for change in changes:
            staged.append((_stage(change), change))
        moves = [[str(temporary), str(change.target), sha256(change.before).hexdigest()] for temporary, change in staged]
        with _signals_held_back():
            for _, change in staged:
                _check_unchanged(change)
            store(journal, json.dumps({"process": os.getpid(), "moves": moves}).encode())
            _move(staged, journal)
    except OSError as error:
        raise NotWritten(why(error)) from error
    finally:
        # of what was staged and not moved; also on Ctrl-C
        for temporary, _ in staged:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def recover(root: Path) -> int:
    """Finish what a run that was killed had begun to write below `root`; the number of files that were still old."""
    journal = root / JOURNAL
    try:
        document = json.loads(journal.read_bytes())
        moves = [(Path(temporary), Path(target), str(digest)) for temporary, target, digest in document["moves"]]
        process = int(document["process"])
    except FileNotFoundError:
        return 0
    except (OSError, ValueError, KeyError, TypeError):
        return 0  # not ours, or not readable: nothing is touched
    if is_alive(process):
        return 0
    done = 0
    for temporary, target, digest in moves:
        with contextlib.suppress(OSError):
            # what somebody has changed since then wins
            if _is_ours(temporary, target, root) and sha256(target.read_bytes()).hexdigest() == digest:
                os.replace(temporary, target)
                sync_folder(target.parent)
                done += 1
    with contextlib.suppress(OSError):
        journal.unlink()
    return done


def _is_ours(temporary: Path, target: Path, root: Path) -> bool:
    """Whether a journal names what this module makes, a temporary file beside its target: it may have come with the tree."""
    if not Path(os.path.realpath(target)).is_relative_to(os.path.realpath(root)) or temporary.is_symlink():
        return False
    return temporary.parent == target.parent and temporary.name.startswith(PREFIX) and temporary.name.endswith(SUFFIX)


def _stage(change: Change) -> Path:
    state = os.lstat(change.target)
    check(change.target, state)
    temporary = change.target.with_name(f"{PREFIX}{os.getpid()}-{secrets.token_hex(6)}{SUFFIX}")
    try:
        fill(temporary, change.after, state, change.target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return temporary


def _check_unchanged(change: Change) -> None:
    if change.target.read_bytes() != change.before:
        raise NotWritten(f"{change.target.name} changed meanwhile")


def _move(staged: Sequence[tuple[Path, Change]], journal: Path) -> None:
    moved: list[Change] = []
    try:
        for temporary, change in staged:
            os.replace(temporary, change.target)
            moved.append(change)
    except OSError:
        # a folder that became read-only meanwhile, or the like: back to what was there
        for change in moved:
            with contextlib.suppress(OSError):
                state = os.lstat(change.target)
                temporary = change.target.with_name(f"{PREFIX}{os.getpid()}-{secrets.token_hex(6)}{SUFFIX}")
                fill(temporary, change.before, state, change.target)
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
    held = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    old = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)
