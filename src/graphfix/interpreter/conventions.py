"""What a project says of its own code where the code itself does not: settings that the analysis is given."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphfix.interpreter.witness import Witness

ACCUMULATE = ("auto", "item", "detach")
NAME_PATTERN = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$"


@dataclass(frozen=True)
class Conventions:
    """A name with dots is that of an import (`mylib.losses.focal`); one without is the last word of what is called.

    `accumulate`: what a value becomes where it is put away: `detach` always, `item` a number also where readers that are out of
    sight may get it. `tensor_functions`: their result is a tensor on the graph of their arguments. `backward_functions`: they
    walk the graph of their first argument. `witness`: what a traced run has shown of it. `trains_modules`: what a module's forward pass
    returns goes backward somewhere, as a run that has failed there shows.
    """

    accumulate: str = "auto"
    tensor_functions: tuple[str, ...] = ()
    backward_functions: tuple[str, ...] = ()
    witness: Witness | None = None
    trains_modules: bool = False

    @cached_property
    def walking(self) -> frozenset[str]:
        """The last words of the functions that walk."""
        return frozenset(name.rpartition(".")[2] for name in self.backward_functions)

    def spelled_in(self, text: str) -> bool:
        """Whether `text` spells a function that walks."""
        return bool(self.walking) and re.search(rf"\b(?:{'|'.join(sorted(self.walking))})\b", text) is not None

    def saw(self, path: Path) -> bool:
        """Whether a traced run went through the file."""
        return self.witness is not None and self.witness.speaks_of(path)

    @cached_property
    def names_none(self) -> bool:
        """Whether it names no function at all."""
        return not (self.backward_functions or self.tensor_functions)

    def walks(self, name: str) -> bool:
        """Whether the function with the qualified `name` walks its first argument."""
        return _names(self.backward_functions, name)

    def makes_tensor(self, name: str) -> bool:
        """Whether the function with the qualified `name` makes a tensor on the graph of its arguments."""
        return _names(self.tensor_functions, name)


def _names(listed: tuple[str, ...], name: str) -> bool:
    return name in listed or name.rpartition(".")[2] in listed


NO_CONVENTIONS = Conventions()
