"""What has to be examined again once files have changed, by what the files of the project import."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from graphfix.analysis.flow.places import after
from graphfix.effects.table import facts
from graphfix.interpreter.imports import Importer, known_document, known_file
from graphfix.project.importers import MAX_BYTES, imports_below, names_imported, programs_below
from graphfix.relevance import reach
from graphfix.source.finder import module_file, search_path
from graphfix.source.reads import forget_states

# for each file those that it imports
Imports = Mapping[Path, frozenset[Path]]


def forget_files() -> None:
    """Let the next analysis of this process read all files anew."""
    let_go()
    for known in (module_file, search_path, imports_below):
        known.cache_clear()
    reach.forget()
    forget_states()


def let_go() -> None:
    """Give back the memory of the files that are parsed, and of answers that are soon found again.

    Of these few objects each holds a MiB of what lies around it. Who imports whom stays known: that takes long to find out.
    """
    for known in (known_document, known_file, after, facts):
        known.cache_clear()


def imports_of(roots: Iterable[Path]) -> Imports | None:
    """What the files of the projects below `roots` import of each other; None where there is too much, which no analysis reads either."""
    roots = tuple(Path(os.path.realpath(root)) for root in roots)
    files: dict[Path, int] = {}
    for root in roots:
        programs = programs_below(root)
        if programs is None or sum(size for _, size in programs) > MAX_BYTES:
            return None
        files.update(programs)
    words = {word for file in files for word in (file.stem, file.parent.name)}
    return {file: _targets(file, roots, words) for file in files}


def touched(changed: Iterable[Path], before: Imports, now: Imports) -> set[Path]:
    """The files whose findings may be others once `changed` files are, with those themselves.

    These are the files that import one, and all that such a file comes to, over however many others: a program shows something of any of
    its files.
    """
    imports = {file: before.get(file, frozenset()) | now.get(file, frozenset()) for file in {*before, *now}}
    importing: dict[Path, set[Path]] = {}
    for file, targets in imports.items():
        for target in targets:
            importing.setdefault(target, set()).add(file)
    reached: set[Path] = set()
    pending = list(changed)
    while pending:
        file = pending.pop()
        if file not in reached:
            reached.add(file)
            pending.extend(importing.get(file, ()))
    pending = list(reached)
    while pending:
        further = imports.get(pending.pop(), frozenset()) - reached
        reached |= further
        pending.extend(further)
    return reached


def _targets(file: Path, roots: tuple[Path, ...], words: set[str]) -> frozenset[Path]:
    importer = Importer(file, roots)
    names = {name for name in names_imported(file) if not name.rstrip(".") or name.rpartition(".")[2] in words}
    found = (importer.find(name, file) for name in names)
    return frozenset(target for target in found if target is not None and target != file)
