"""Modules, optimizers and grad modes of torch."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterable

from graphfix.autograd.graph import Leaf
from graphfix.interpreter.values.value import Value


class TorchModule(Value):
    """A `torch.nn` module: `kind` is its class; `children` where it is a container of modules."""

    __slots__ = ("kind", "leaf", "children", "names", "keywords", "attributes", "site")

    def __init__(self, kind: str, leaf: Leaf | None, children: list[Value] | None = None) -> None:
        self.kind = kind
        self.leaf = leaf
        self.site: ast.AST | None = None
        self.children = children
        self.names: dict[str, Value] = {}
        self.keywords: dict[str, Value] = {}
        self.attributes: dict[str, Value] = {}

    @property
    def namespace(self) -> dict[str, Value]:
        return self.attributes

    def parts(self) -> Iterable[Value]:
        return (*(self.children or []), *self.names.values(), *self.attributes.values())

    def is_a(self, name: str) -> bool | None:
        return name in (self.kind, "Module")

    def _told(self) -> str:
        return f" {self.kind}"


class ParametersForm(enum.Enum):
    """What a value that stands for parameters is to the program."""

    ALL = "an iterable of them"
    NAMED = "an iterable of names and parameters"
    ONE = "one of them"
    PAIR = "a name and a parameter"
    DATA = "the content of one of them, or what is computed from it: no graph"


class Parameters(Value):
    """What `module.parameters()` gives: the leaves of `owners`, looked up when they are needed.

    `form`: whether it is all of them, all with their names, or any one of these. `some`: it may stand for some of them only, as they
    were told apart. `cut_at`: where the content was taken out.
    """

    __slots__ = ("owners", "form", "some", "cut_at")

    def __init__(
        self, owners: list[Value], form: ParametersForm = ParametersForm.ALL, some: bool = False, cut_at: ast.AST | None = None
    ) -> None:  # fmt: skip
        self.owners = owners
        self.form = form
        self.some = some
        self.cut_at = cut_at

    @property
    def item(self) -> Parameters:
        """Any one of them: what a loop over them sees."""
        forms = {ParametersForm.ALL: ParametersForm.ONE, ParametersForm.NAMED: ParametersForm.PAIR}
        return Parameters(self.owners, forms.get(self.form, self.form), self.some)

    def content(self, site: ast.AST) -> Parameters:
        """The content of any one of them: what `.data` gives at `site`."""
        return Parameters(self.owners, ParametersForm.DATA, self.some, site)

    def parts(self) -> Iterable[Value]:
        return () if self.form is ParametersForm.DATA else self.owners


class Optimizer(Value):
    """A `torch.optim` optimizer over the leaves of `parameters`."""

    __slots__ = ("kind", "parameters", "attributes")

    def __init__(self, kind: str, parameters: list[Value]) -> None:
        self.kind = kind
        self.parameters = parameters
        self.attributes: dict[str, Value] = {}

    @property
    def namespace(self) -> dict[str, Value]:
        return self.attributes

    def parts(self) -> Iterable[Value]:
        return self.parameters


class GradMode(Value):
    """A context manager or decorator that sets grad mode; None where the flag is not known."""

    __slots__ = ("enabled",)

    def __init__(self, enabled: bool | None) -> None:
        self.enabled = enabled
