"""Whose attribute is meant by `object.name`, as far as the text of a file tells."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable

from graphfix.source.subtree import subtree

# what an attribute is asked of: the name of a variable, a class of the file or what comes after it in its order, or else None
Receiver = str | ast.ClassDef | tuple[ast.ClassDef] | None


def receiver_of(value: ast.expr, owner: ast.ClassDef | None = None, own: str | None = None) -> Receiver:
    """What `value.name` is asked of; `owner`, `own`: the class of a method, and what the method calls its object."""
    if isinstance(value, ast.Name):
        return owner if owner is not None and value.id == own else value.id
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "super" and owner is not None:
        return (owner,)
    return "torch" if _is_module_of_torch(value) else None


def targets_of(binding: ast.Assign | ast.AnnAssign) -> list[ast.AST]:
    """The nodes of what a statement binds."""
    targets = binding.targets if isinstance(binding, ast.Assign) else [binding.target]
    return [each for target in targets for each in subtree(target)]


def _is_module_of_torch(node: ast.expr) -> bool:
    """Whether an expression spells a module in torch, as `torch.utils` does: modules are in lower case (PEP 8)."""
    while isinstance(node, ast.Attribute) and node.attr.islower():
        node = node.value
    return isinstance(node, ast.Name) and node.id == "torch"


class Receivers:
    """The classes and the imported modules of a file, which all of it has to be seen for first."""

    def __init__(self, classes: Iterable[ast.ClassDef]) -> None:
        """`classes`: those at the top of the file."""
        self.classes = classes
        self.modules: set[str] = set()  # names that are imported as modules
        self.rebound: set[str] = set()  # names that mean something else somewhere
        self.stored: set[tuple[Receiver, str]] = set()  # attributes that are set
        self._meanings: dict[tuple[Receiver, str], str] = {}

    def see(self, node: ast.AST) -> None:
        """Note what a node imports or binds; names of variables, functions and arguments are noted by who meets them."""
        if isinstance(node, ast.Import):
            self.modules.update(alias.asname or alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            self.rebound.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.comprehension):
            self.rebound.update(each.id for each in subtree(node.target) if isinstance(each, ast.Name))
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            self.rebound.update([node.name] if node.name else ())
        elif isinstance(node, ast.MatchMapping):
            self.rebound.update([node.rest] if node.rest else ())
        elif isinstance(node, ast.Lambda):
            self.rebound.update(each.arg for each in subtree(node.args) if isinstance(each, ast.arg))

    def meant(self, receiver: Receiver, attribute: str) -> str:
        """The word of an attribute: `Class.x` of the classes of this file that inherit from one another, `:x` of what other files define,
        `.x` of what nobody knows.
        """
        asked = receiver, attribute
        if asked not in self._meanings:
            self._meanings[asked] = self._meant(receiver, attribute)
        return self._meanings[asked]

    def _meant(self, receiver: Receiver, attribute: str) -> str:
        if isinstance(receiver, str):
            if receiver in self.rebound:
                return f".{attribute}"
            if receiver in self.modules:
                return f":{attribute}"
            receiver = self._by_name.get(receiver)
        elif isinstance(receiver, tuple):
            (receiver,) = receiver
            if receiver in self._families and not self._is_given(attribute, receiver, inherited=True):
                return f":{attribute}"
        if receiver is not None and self._is_given(attribute, receiver):
            return self.of_class(receiver, attribute)
        return f".{attribute}"

    def _is_given(self, attribute: str, cls: ast.ClassDef, *, inherited: bool = False) -> bool:
        """Whether the family of a class has an attribute; `inherited`: those of it that come after the class itself."""
        family = self._families.get(cls, ())
        return any(attribute in self.given.get(each, ()) for each in family if not inherited or each is not cls)

    def of_class(self, cls: ast.ClassDef, attribute: str) -> str:
        """The word by which code of the file comes to an attribute of one of its classes, who knows whose it is."""
        family = self._families.get(cls)
        return f"{family[0].name}.{attribute}" if family else f".{attribute}"

    @functools.cached_property
    def given(self) -> dict[ast.ClassDef, set[str]]:
        """The attributes that each class defines, or that are set of its objects in the file."""
        found: dict[ast.ClassDef, set[str]] = {}
        for cls in self.classes:
            found[cls] = given = set()
            for part in cls.body:
                if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    given.add(part.name)
                elif isinstance(part, (ast.Assign, ast.AnnAssign)):
                    given.update(each.id for each in targets_of(part) if isinstance(each, ast.Name))
        for receiver, attribute in self.stored:
            cls = self._by_name.get(receiver) if isinstance(receiver, str) else receiver
            if isinstance(cls, ast.ClassDef) and cls in found:
                found[cls].add(attribute)
        return found

    @functools.cached_property
    def _by_name(self) -> dict[str, ast.ClassDef]:
        counted = [cls.name for cls in self.classes]
        return {cls.name: cls for cls in self.classes if counted.count(cls.name) == 1 and cls.name not in self.rebound}

    @functools.cached_property
    def _families(self) -> dict[ast.ClassDef, list[ast.ClassDef]]:
        """The classes that inherit from one another, whichever way."""
        families = {cls: [cls] for cls in self._by_name.values()}
        for cls in list(families):
            for base in cls.bases:
                above = self._by_name.get(base.id) if isinstance(base, ast.Name) else None
                if above is not None and families[above] is not families[cls]:
                    joined = families[above] + families[cls]
                    families.update(dict.fromkeys(joined, joined))
        return families
