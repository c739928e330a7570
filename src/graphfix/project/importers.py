"""Which files of the project import a given file: the other direction of `imports`, found in the text alone."""

from __future__ import annotations

import functools
import itertools
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from graphfix.files.discovery import JUNK
from graphfix.files.gitignore import Ignored
from graphfix.source.decode import read_bytes, writes_ascii
from graphfix.source.errors import SourceError
from graphfix.source.finder import Finder
from graphfix.source.reads import note_read
from graphfix.source.real import real_path

# A project that is larger is not searched: the files that were found would depend on where the search ended
MAX_ENTRIES = 20_000
MAX_BYTES = 100_000_000
MAX_FILE_BYTES = 200_000
IMPORT = re.compile(rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]*)|import[ \t]+([^\n#;]*))", re.MULTILINE)
WORD = re.compile(rb"[\w.]+")
# Files that drive a module through another one, such as a subclass of a trainer, are one step further away
STEPS = 2
# Programs that are asked what they show of one file
MAX_IMPORTING = 32


# Last word of an imported name: the files that may import it, and by which dotted name; under ANY all files
ANY = ""
Imports = dict[str, list[tuple[Path, str]]]


def importing(path: Path, roots: tuple[Path, ...]) -> Iterator[Path]:
    """The scripts of ordinary size below `roots` that import `path`, those that do so themselves first; close ones before far ones."""
    real = Path(os.path.realpath(path))
    roots = tuple(Path(os.path.realpath(root)) for root in roots)
    seen = {real}
    current = [real]
    for _ in range(STEPS):
        found: dict[Path, None] = {}
        for target in current:
            for root in roots:
                found.update(dict.fromkeys(file for file in direct(target, root, roots) if file not in seen and is_script(file)))
        current = sorted(found, key=lambda file: (distance(file, real), file.parts))
        seen.update(current)
        yield from current


def programs_of(path: Path, roots: tuple[Path, ...]) -> list[Path]:
    """The scripts of ordinary size below `roots` that come to `path` by their imports, over however many others; close ones first.

    No more than MAX_IMPORTING of them.
    """
    real = Path(real_path(path))
    roots = tuple(Path(real_path(root)) for root in roots)
    found: dict[Path, None] = {}
    current = [real]
    while current and len(found) < MAX_IMPORTING:
        further = {file for target in current for root in roots for file in direct(target, root, roots)}
        current = sorted(further - found.keys() - {real}, key=lambda file: (distance(file, real), file.parts))
        found.update(dict.fromkeys(filter(is_script, current)))
    return list(found)[:MAX_IMPORTING]


def beside(path: Path, word: str, roots: tuple[Path, ...]) -> Iterator[Path]:
    """The scripts of ordinary size below `roots` that may spell a word and run together with `path`, as another program comes to both.

    Close ones come first.
    """
    real = Path(real_path(path))
    programs = set(programs_of(real, roots))
    indexes = (imports_below(Path(real_path(root))) or {} for root in roots if programs)
    files = {file for index in indexes for file, _ in index.get(ANY, ())}
    for file in sorted(files - {real}, key=lambda file: (distance(file, real), file.parts)):
        if is_script(file) and spells(file, (word,)) and not programs.isdisjoint((file, *programs_of(file, roots))):
            yield file


def is_offered(path: Path, roots: tuple[Path, ...]) -> bool:
    """Whether other code may use what a file defines: it is part of a package, a file of the project imports it, or may do so."""
    real = Path(os.path.realpath(path))
    if is_packaged(real):
        return True
    roots = tuple(Path(os.path.realpath(root)) for root in roots)
    return any(imports_below(root) is None or any(True for _ in direct(real, root, roots)) for root in roots)


def is_used_unread(path: Path, roots: tuple[Path, ...]) -> bool:
    """Whether a notebook, or a file that is too large to be read, imports `path`."""
    real = Path(os.path.realpath(path))
    roots = tuple(Path(os.path.realpath(root)) for root in roots)
    return any(not is_script(file) for root in roots for file in direct(real, root, roots))


def is_packaged(path: Path) -> bool:
    """Whether a file is part of a package, which code outside of the project may import."""
    return (path.parent / "__init__.py").is_file()


def direct(target: Path, root: Path, roots: tuple[Path, ...]) -> Iterator[Path]:
    word = target.parent.name if target.name == "__init__.py" else target.stem
    for file, name in (imports_below(root) or {}).get(word, ()):
        if file != target and Finder(file, roots).find(name, file) == target:
            yield file


def distance(one: Path, two: Path) -> int:
    """How many folders lie between two files."""
    shared = len(os.path.commonpath((one, two)).split(os.sep))
    return len(one.parts) + len(two.parts) - 2 * shared


def are_searched(roots: tuple[Path, ...]) -> bool:
    """Whether the files below `roots` are few enough that all that import something are found."""
    return all(imports_below(Path(os.path.realpath(root))) is not None for root in roots)


@functools.lru_cache(maxsize=8)
def imports_below(root: Path) -> Imports | None:
    """What the files below `root` import; None where there is too much."""
    by_word: Imports = {}
    read = 0
    files = programs_below(root)
    if files is None:
        return None
    for path, size in files:
        read += size
        if read > MAX_BYTES:
            return None
        by_word.setdefault(ANY, []).append((path, ANY))
        for name in map(sys.intern, names_imported(path)):
            by_word.setdefault(name.rsplit(".", 1)[-1], []).append((path, name))
    return by_word


def is_script(path: Path) -> bool:
    note_read(path)
    return path.suffix == ".py" and path.stat().st_size <= MAX_FILE_BYTES


def spells(path: Path, words: Iterable[str]) -> bool:
    """Whether the bytes of a file may spell one of the words; seen without parsing it."""
    note_read(path)
    try:
        data = read_bytes(path)
    except SourceError:
        return False
    # a name that is not written in ASCII may be another spelling of one that is (PEP 3131)
    return not (data.isascii() and writes_ascii(data)) or any(_spells(data, word) for word in words)


def _spells(data: bytes, word: str) -> bool:
    name = word.encode()
    return name in data and re.search(rb"\b%s\b" % re.escape(name), data) is not None


def programs_below(root: Path) -> list[tuple[Path, int]] | None:
    """The Python files and notebooks of the project at `root`, sorted; None where there are too many files of any kind to look at.

    A work tree below it is another project, as it is where files to check are looked for.
    """
    found: list[tuple[Path, int]] = []
    pending = [(root, Ignored.above(root))]
    left = MAX_ENTRIES
    while pending:
        folder, rules = pending.pop()
        entries = entries_of(folder, left + 1)
        left -= len(entries)
        if left < 0:
            return None
        names = {entry.name for entry in entries}
        if folder != root and ".git" in names:
            continue
        rules = rules.within(folder, names)
        for entry in entries:
            path = folder / entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in JUNK and not entry.name.startswith(".") and not rules.ignores(path, folder=True):
                    pending.append((path, rules))
            elif entry.name.endswith((".py", ".ipynb")) and entry.is_file(follow_symlinks=False):
                if not rules.ignores(path, folder=False):
                    found.append((path, entry.stat(follow_symlinks=False).st_size))
    return sorted(found)


def entries_of(folder: Path, limit: int) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(itertools.islice(entries, limit))
    except OSError:
        return []


def names_imported(path: Path) -> list[str]:
    """Every dotted name that the import statements of a file may mean as a module."""
    try:
        data = read_bytes(path)
    except SourceError:
        return []
    if path.suffix == ".ipynb":  # each line of a cell is a text of JSON
        data = data.replace(b"\\n", b"\n").replace(b'"', b"\n")
    return names_imported_in(data)


def names_imported_in(data: bytes) -> list[str]:
    """The same of the bytes of a program."""
    found: dict[str, None] = {}
    for package, members, modules in IMPORT.findall(data):
        base = package.decode("ascii", "replace")
        prefix = base if base.endswith(".") or not base else f"{base}."
        if base:
            found[base] = None
        for part in (members or modules).strip(b"()").split(b","):
            words = WORD.findall(part)  # what follows is `as` and another name
            if words:
                found[prefix + words[0].decode("ascii", "replace")] = None
    return list(found)
