"""A script in the making: its imports, its definitions, its statements, and the dice."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import TypeVar

_T = TypeVar("_T")
HEAD = ("import torch", "import torch.nn as nn", "import torch.nn.functional as F")


def indented(lines: Iterable[str], depth: int = 1) -> list[str]:
    """The lines, `depth` levels deeper."""
    return ["    " * depth + line if line else line for line in lines]


def block(header: str, *parts: Iterable[str]) -> list[str]:
    """A compound statement; without a body it passes."""
    return [header, *indented([line for part in parts for line in part] or ["pass"])]


class Script:
    """What the scenes write into; names are unique in the whole script."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.imports: set[str] = set()
        self.definitions: list[list[str]] = []
        self.body: list[str] = []
        self.kept: list[str] = []
        self._names: dict[str, int] = {}

    def chance(self, share: float) -> bool:
        """True with this probability."""
        return self.random.random() < share

    def pick(self, *options: _T) -> _T:
        """One of the options."""
        return self.random.choice(options)

    def name(self, base: str) -> str:
        """A name that nothing else in the script has."""
        self._names[base] = self._names.get(base, 0) + 1
        return base if self._names[base] == 1 else f"{base}{self._names[base]}"

    def define(self, *lines: str) -> None:
        """A function or a class at the top of the script."""
        self.definitions.append(list(lines))

    def need(self, line: str) -> None:
        """An import."""
        self.imports.add(line)

    def text(self, seed: int) -> str:
        """The whole script; what it keeps is a module-level value also where the statements are in a function."""
        lines = [*HEAD, *sorted(self.imports), "", f"torch.manual_seed({seed % 1000})", ""]
        for definition in self.definitions:
            lines += ["", *definition, ""]
        kept = ", ".join(f'"{name}": {name}' for name in self.kept)
        form = self.pick("module", "module", "main", "guard")
        if form == "module":
            lines += ["", *self.body]
        else:
            lines += ["", *block("def main():", self.body, [f"return {{{kept}}}"]), "", ""]
            lines += ["result = main()"] if form == "main" else block('if __name__ == "__main__":', ["result = main()"])
        return "\n".join(lines) + "\n"
