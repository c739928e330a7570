"""What a project says of its own code where the code itself does not: settings that the analysis is given."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from graphfix.effects.schema import Row
from graphfix.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from graphfix.interpreter.witness import Witness

ACCUMULATE = ("auto", "item", "detach")
NAME_PATTERN = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$"


@dataclass(frozen=True)
class Conventions:
    """What the settings for a file say.

    `accumulate`: what a value becomes where it is put away: `detach` always, `item` a number also where readers that are out of
    sight may get it. `rows`: what functions and methods that are out of sight do; an analysis holds them in `effects.project_rows`.
    `witness`: what a traced run has shown of it. `trains_modules`: what a module's forward pass returns goes backward somewhere, as a
    run that has failed there shows. `allows_rounding`: where torch may only round otherwise, nothing changes.
    """

    accumulate: str = "auto"
    rows: tuple[Row, ...] = ()
    witness: Witness | None = None
    trains_modules: bool = False
    allows_rounding: bool = False

    @cached_property
    def walking(self) -> frozenset[str]:
        """The last words of the functions that walk."""
        return frozenset(row.name.rpartition(".")[2] for row in self.rows if row.backward)

    def spelled_in(self, text: str) -> bool:
        """Whether `text` spells a function that walks."""
        return bool(self.walking) and re.search(rf"\b(?:{'|'.join(sorted(self.walking))})\b", text) is not None

    def saw(self, path: Path) -> bool:
        """Whether a traced run went through the file."""
        return self.witness is not None and self.witness.speaks_of(path)


NO_CONVENTIONS = Conventions()
