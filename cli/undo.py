"""How what `apply` did is taken back: the patch that it leaves, and what to type."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from graphfix.cli import diff, session
from graphfix.report.escape import typed
from graphfix.report.report import Report, count

LISTED = 5  # files that are named in what to type


def keep(report: Report, work: session.Session, written: Iterable[Path] | None = None) -> None:
    """Leave the patch of what changes, or of what is `written` of it, in the file that is asked for.

    Where nothing changes that file stays as it is: it may be the patch of the last time. A file whose patch would be wrong is
    not written: its outcome in `report` becomes the fault.
    """
    path = work.options.kept_patch
    if path is None or written is None and not report.changed:
        return
    base, names = diff.base_of(work.found), None if written is None else set(written)
    patches = []
    for number, outcome in enumerate(report.outcomes):
        if names is None or outcome.path in names:
            patch, report.outcomes[number] = diff.patch_of(outcome, base)
            patches.append(patch)
    session.store_bytes(path, b"".join(patches))


def ways(changed: list[Path], work: session.Session) -> Iterator[str]:
    """What to type to take the changes back, a line for each repository, and that there is nothing to type for what lies in none."""
    options = work.options
    if not changed:
        return
    if options.kept_patch is not None:
        base = diff.base_of(work.found)
        if base == os.path.realpath(os.curdir):
            yield _line("git", "apply", "-R", str(options.kept_patch))
        else:
            yield _line("git", "-C", base, "apply", "-R", os.path.abspath(options.kept_patch))
    elif not options.allow_dirty:
        yield from _restored([Path(os.path.realpath(path)) for path in changed])


def _restored(paths: list[Path]) -> Iterator[str]:
    """Git gives the files back: each was as it is in the index."""
    from graphfix.files.worktree import top_of

    by_top: dict[Path, list[Path]] = {}
    lost: list[Path] = []
    for path in paths:
        top = top_of(path)
        if top is not None:
            by_top.setdefault(top, []).append(path)
        else:
            lost.append(path)
    here = Path(os.path.realpath(os.curdir))
    for top, inside in by_top.items():
        base = here if here.is_relative_to(top) else top
        words = ["git"] if base == here else ["git", "-C", str(base)]
        names = [os.path.relpath(path, base) for path in inside]
        # git would read these as patterns and the like
        words += ["--literal-pathspecs"] if any(set(name) & set("*?[\\") or name.startswith(":") for name in names) else []
        words += ["restore", "--"] if any(name.startswith("-") for name in names) else ["restore"]
        if len(names) <= LISTED:
            yield _line(*words, *names)
        else:
            yield f"{_line(*words)} FILES, the {len(names)} that are named above"
    if lost:
        yield f"No undo for {count(len(lost), 'file')} outside of git; next time, --output FILE keeps the patch"


def _line(*words: str) -> str:
    return f"Undo: {typed(*words)}"
