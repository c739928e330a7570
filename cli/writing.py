"""What the commands that write into the tree share: leftovers of killed runs, files git could not restore, all files or none."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphfix.cli import session
from graphfix.cli.terminal import ERR
from graphfix.report.escape import escaped
from graphfix.report.report import count

LISTED = 20  # files that a refusal names; more are counted

if TYPE_CHECKING:
    from graphfix.files.together import Change


def journal_of(work: session.Session) -> Path:
    """The folder whose journal says which files are written as one: the project that holds all that is examined."""
    from graphfix.files.place import project_of

    return project_of(Path(os.path.commonpath(work.found.roots)))


def recover(work: session.Session) -> None:
    """Finish what a run that was killed had begun to write as one."""
    from graphfix.files.place import project_of
    from graphfix.files.together import recover

    folders = {journal_of(work), *(project_of(root) for root in work.found.roots)}
    done = sum(recover(folder) for folder in sorted(folders))
    if done and not work.options.quiet:
        ERR.say(f"finished writing {count(done, 'file')} of a run that was killed")


def sweep(work: session.Session) -> None:
    """Remove the temporary files that killed runs left beside the files that are looked at."""
    from graphfix.files.temporary import sweep

    swept = sweep(sorted({path.parent for path in work.found.files}))
    if swept and not work.options.quiet:
        ERR.say(f"removed {count(len(swept), 'temporary file')} of a run that was killed")


def refuses(paths: Iterable[Path]) -> bool:
    """Whether git could not restore some file that would be written; says which."""
    from graphfix.files.worktree import GitFailed, dirty

    try:
        states = dirty(paths)
    except GitFailed as error:
        ERR.say(f"graphfix: error: {escaped(str(error))}; use --allow-dirty to write all the same")
        return True
    if not states:
        return False
    ERR.say("graphfix: error: git could not restore these files; commit or stash them, or use --allow-dirty")
    if len(states) <= LISTED:
        for path, state in states:
            ERR.say(f"  {escaped(str(path))}: {state}")
    else:
        for state, number in sorted(Counter(state for _, state in states).items()):
            ERR.say(f"  {count(number, 'file')}: {state}")
    return True


def write_together(changes: Sequence[Change], work: session.Session) -> None:
    """All files or none."""
    from graphfix.files.together import replace_all
    from graphfix.files.write import NotWritten

    try:
        replace_all(changes, journal_of(work))
    except NotWritten as error:
        session.fail(f"{error}; no file was written")
