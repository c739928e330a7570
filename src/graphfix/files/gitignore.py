"""Nested `.gitignore` files, read as git reads them; git itself is not run."""

from __future__ import annotations

import functools
import os
import re
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphfix.lazy_dataclass import dataclass
from graphfix.source.errors import SourceError
from graphfix.source.reading import read_bytes

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


# git reads larger files and longer patterns, nobody writes them
MAX_BYTES = 1 << 18
MAX_PATTERN = 1_000
# patterns that RE2 takes together: its memory for one set is limited
MOST_AT_ONCE = 500


def compiled(lines: Iterable[str]) -> GitIgnoreSpec:
    """The matcher for patterns of `.gitignore`; ValueError where one means nothing.

    RE2 takes time linear in the name whatever the pattern (https://github.com/google/re2/wiki/WhyRE2), where Python's `re`
    tries every way to read `*-*-*-*-*.tmp`.
    """
    import re2
    from pathspec import GitIgnoreSpec

    lines = list(lines)
    if any(len(line) > MAX_PATTERN for line in lines):
        raise ValueError(f"longer than {MAX_PATTERN} characters")
    try:
        with warnings.catch_warnings():
            # `[[` in a pattern may mean something else to a later Python: nothing that its author could do about
            warnings.simplefilter("ignore", FutureWarning)
            return GitIgnoreSpec.from_lines(lines, backend="re2")
    except (re.error, re2.error) as error:
        raise ValueError(str(error)) from error


@dataclass(frozen=True)
class Matcher:
    """Patterns of `.gitignore`, any number of them. `wrong`: those that mean nothing, which git passes over."""

    specs: tuple[GitIgnoreSpec, ...]
    wrong: tuple[str, ...]

    def verdict(self, name: str) -> bool | None:
        """What the last pattern that speaks of a path says: that it is ignored, or not; None where none does."""
        for spec in reversed(self.specs):
            verdict = spec.check_file(name).include
            if verdict is not None:
                return verdict
        return None


@functools.lru_cache(maxsize=64)
def matcher(lines: tuple[str, ...]) -> Matcher:
    """The matcher for `lines`: what is checked when settings are read is kept until paths are matched."""
    specs: list[GitIgnoreSpec] = []
    wrong: list[str] = []
    for start in range(0, len(lines), MOST_AT_ONCE):
        _compile(lines[start : start + MOST_AT_ONCE], specs, wrong)
    return Matcher(tuple(specs), tuple(wrong))


def _compile(lines: Sequence[str], specs: list[GitIgnoreSpec], wrong: list[str]) -> None:
    """Add one matcher for `lines`, or one for each half where a pattern means nothing or all are too much for RE2."""
    try:
        specs.append(compiled(lines))
    except ValueError:
        if len(lines) == 1:
            wrong.extend(lines)
            return
        middle = len(lines) // 2
        _compile(lines[:middle], specs, wrong)
        _compile(lines[middle:], specs, wrong)


def matched_name(path: str) -> str:
    """The path as patterns name it: with slashes, and bytes that are no UTF-8 replaced, as where a pattern holds them."""
    return os.fsencode(path.replace(os.sep, "/")).decode("utf-8", "replace")


def _lines(file: Path) -> list[str]:
    """The patterns in a file; none in a device, a pipe, or what is too large to have been written by a person."""
    try:
        return read_bytes(file, MAX_BYTES).decode("utf-8", "replace").splitlines()
    except SourceError:
        return []


@dataclass(frozen=True)
class Ignored:
    """The ignore files that hold for one folder, outermost first."""

    layers: tuple[tuple[str, Matcher], ...] = ()

    @staticmethod
    def above(folder: Path) -> Ignored:
        """The rules that the folders around `folder` set, up to the top of its git work tree."""
        start = Path(os.path.abspath(folder))
        around = []
        for parent in start.parents if not os.path.lexists(start / ".git") else ():
            around.append(parent)
            if os.path.lexists(parent / ".git"):
                break
        else:
            around = []
        rules = Ignored()
        for parent in reversed(around):
            rules = rules.within(parent, {".gitignore"})
        return rules

    def within(self, folder: Path, names: set[str]) -> Ignored:
        """These rules and those of the `.gitignore` among the `names` in `folder`."""
        if ".gitignore" not in names:
            return self
        base = os.path.abspath(folder)
        return Ignored((*self.layers, (base, matcher(tuple(_lines(folder / ".gitignore"))))))

    def ignores(self, path: Path, *, folder: bool) -> bool:
        """Whether the innermost rule that speaks of `path` ignores it."""
        absolute = os.path.abspath(path)
        for base, rules in reversed(self.layers):
            relative = matched_name(os.path.relpath(absolute, base))
            verdict = rules.verdict(relative + "/" if folder else relative)
            if verdict is not None:
                return verdict
        return False
