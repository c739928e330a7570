"""What a traced run has shown of the values of names: a witness where the text says nothing, and never a proof."""

from __future__ import annotations

import ast
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from graphfix.interpreter.values import NonTensor, Tensor, Unknown, Value
from graphfix.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from graphfix.interpreter.interpreter import Interpreter


@dataclass(frozen=True)
class Witness:
    """`seen`: file, function (`<module>` outside of any), name (`self.x`) and kind: number, data, scalar or graph."""

    seen: tuple[tuple[str, str, str, str], ...] = ()

    @cached_property
    def kinds(self) -> dict[tuple[str, str, str], str]:
        return {(os.path.realpath(file), function, name): kind for file, function, name, kind in self.seen}

    def speaks_of(self, path: Path) -> bool:
        """Whether names of the file were seen."""
        real = os.path.realpath(path)
        return any(file == real for file, _, _ in self.kinds)


def witnessed(m: Interpreter, target: ast.expr, value: Value) -> Value:
    """`value`, which the text does not tell, as the run has shown it where `target` was bound."""
    witness = m.conventions.witness
    if witness is None or not isinstance(value, Unknown):
        return value
    function = getattr(m.frame.definition, "name", "<module>")
    kind = witness.kinds.get((os.path.realpath(m.frame.env.document.path), function, ast.unparse(target)))
    if kind == "number":
        return NonTensor(("witnessed", target, m.now()))
    if kind == "data":
        return Tensor()
    if kind is not None and value.node is not None:
        m.recording.proven.add(value.node)
        if kind == "scalar":
            m.recording.single.add(value.node)
    return value
