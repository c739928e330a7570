"""Nested `.gitignore` files, read as git reads them; git itself is not run."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


def _spec(lines: list[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error):
        # git passes over a pattern that means nothing
        return GitIgnoreSpec.from_lines(line for line in lines if not why_no_pattern(line))


def why_no_pattern(line: str) -> str:
    """What is wrong with a pattern, or nothing."""
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error) as error:
        return str(error)
    return ""


@dataclass(frozen=True)
class Ignored:
    """The ignore files that hold for one folder, outermost first."""

    layers: tuple[tuple[str, GitIgnoreSpec], ...] = ()

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
        try:
            lines = (folder / ".gitignore").read_text("utf-8", "replace").splitlines()
        except OSError:
            return self
        return Ignored((*self.layers, (os.path.abspath(folder), _spec(lines))))

    def ignores(self, path: Path, *, folder: bool) -> bool:
        """Whether the innermost rule that speaks of `path` ignores it."""
        absolute = os.path.abspath(path)
        for base, spec in reversed(self.layers):
            relative = os.path.relpath(absolute, base).replace(os.sep, "/")
            verdict = spec.check_file(relative + "/" if folder else relative).include
            if verdict is not None:
                return verdict
        return False
