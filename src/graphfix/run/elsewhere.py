"""The further files that a fix changes: whether it may, and what it does to each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from graphfix.model import Finding
from graphfix.run.outcome import Elsewhere
from graphfix.run.suppression import suppressions
from graphfix.source.decode import decode, read, read_bytes
from graphfix.source.errors import SourceError
from graphfix.source.homes import changed_by, changes_others
from graphfix.source.text import Source


def may_change(file: Path) -> bool:
    """Whether fixes may change a file: it can be read, and does not say that it is to be skipped."""
    try:
        return not suppressions(decode(file, read_bytes(file)).text).skip_file
    except (SourceError, OSError):
        return False


def parts_of(source: Source, finding: Finding) -> Iterator[Elsewhere]:
    """What a fix that changes several files does to each of them, that of `source` included.

    Nothing of any other fix, or where one of the files may not be changed, or the fix cannot be written there.
    """
    from graphfix.rewrite import edits_of

    if finding.fix is None or not changes_others(finding.fix):
        return
    changes = changed_by(finding)
    others = [Path(path) for path in changes if path != finding.path]
    if not all(map(may_change, others)):
        return
    texts = {finding.path: source.text, **{str(path): read(path).text for path in others}}
    made = {path: edits_of(texts[path], replace(finding.fix, operations=own)) for path, own in changes.items()}
    if all(made.values()):
        yield from (Elsewhere(Path(path), texts[path], edits) for path, edits in made.items())
