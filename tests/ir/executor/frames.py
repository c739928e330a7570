"""One run of one code object: its values, and where its variables live."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping, MutableMapping
from types import CellType, FunctionType
from typing import Any

from graphfix.ir.blocks import Block, Code
from graphfix.ir.instructions import Instruction, Value
from graphfix.ir.lowering import Lowered
from graphfix.ir.variables import Home, Variable

from .liveness import Plan, plans

Cells = dict[Variable, CellType]
LOCAL = "cannot access local variable {!r} where it is not associated with a value"
FREE = "cannot access free variable {!r} where it is not associated with a value in enclosing scope"


def _call(function: Any, arguments: Any, keywords: Any) -> Any:
    return function(*arguments, **keywords)


# what it calls shall see no `from __future__` of this file
CALL = _call.__code__.replace(co_flags=_call.__code__.co_flags & ~annotations.compiler_flag)


class Program:
    """A module that is run. `call`: calls from a frame whose globals are those of the module, as callees can see.

    `start`: runs a frame.
    """

    def __init__(self, lowered: Lowered, namespace: dict[str, Any], filename: str, start: Callable[[Frame], Any]) -> None:
        self.start = start
        self.lowered = lowered
        self.namespace = namespace
        self.filename = filename
        self.call: Callable[[Any, Any, Any], Any] = FunctionType(CALL.replace(co_filename=filename), namespace)
        self.stubs: dict[ast.AST, Any] = {}
        self._plans: dict[ast.AST, dict[Block, Plan]] = {}
        self._captured = captures(lowered)

    def plan(self, code: Code) -> dict[Block, Plan]:
        found = self._plans.get(code.node)
        if found is None:
            self._plans[code.node] = found = plans(code)
        return found

    def captured(self, node: ast.AST) -> list[Variable]:
        """The variables of code objects around it that a code object, or one inside of it, uses."""
        return list(self._captured.get(node, ()))


def captures(lowered: Lowered) -> dict[ast.AST, dict[Variable, None]]:
    found: dict[ast.AST, dict[Variable, None]] = {}
    for scope in lowered.scopes.values():
        for name in scope.used:
            variable = scope.variable(name)
            above = scope
            while variable.home is Home.CELL and above.code is not variable.owner and above.outer is not None:
                found.setdefault(above.code, {})[variable] = None
                above = above.outer
    return found


class Frame:
    """`caught`: the exception for the next `Catch`. `given`: the arguments. `names`: the namespace of a module or a class body."""

    def __init__(self, program: Program, code: Code, cells: Mapping[Variable, CellType], given: list[Any]) -> None:
        self.program = program
        self.code = code
        self.plan = program.plan(code)
        self.given = given[::-1]
        self.cells: Cells = dict(cells)
        self.places: dict[Variable, Any] = {}
        self.values: dict[Value, Any] = {}
        self.exits: dict[Value, Callable[..., Any]] = {}
        self.caught: BaseException | None = None
        self.names: MutableMapping[str, Any] | None = None

    def forget(self, plan: Plan) -> None:
        """Keep the values that something uses from the begin of a block on."""
        if len(self.values) > len(plan.entering):
            self.values = {number: self.values[number] for number in plan.entering if number in self.values}

    def keep(self, instruction: Instruction, value: Any, dying: tuple[Value, ...]) -> None:
        """Keep what an instruction gives, and forget what nothing uses behind it."""
        if instruction.result is not None:
            self.values[instruction.result] = value
        for number in dying:
            self.values.pop(number, None)

    # -- variables ----------------------------------------------------------------------------------------------------

    def cell(self, variable: Variable) -> CellType:
        return self.cells.setdefault(variable, CellType())

    def owns(self, variable: Variable) -> bool:
        return variable.owner is self.code.node

    def read(self, variable: Variable) -> Any:
        home = variable.home
        if home is Home.LOCAL or home is Home.TEMPORARY:
            if variable not in self.places:
                raise UnboundLocalError(LOCAL.format(variable.name))
            return self.places[variable]
        if home is Home.CLASS or self._is_looked_for_in_class(variable):
            try:
                return self._namespace[variable.name]
            except KeyError:
                pass
        return self._cell_contents(variable) if home is Home.CELL else self._global(variable.name)

    def _is_looked_for_in_class(self, variable: Variable) -> bool:
        """A class body looks in its own namespace also for what it does not bind; another program may have put it there."""
        if not isinstance(self.code.node, ast.ClassDef):
            return False
        scope = self.code.scope
        return variable.name not in scope.bound and variable.name not in scope.globals and not self.owns(variable)

    def _cell_contents(self, variable: Variable) -> Any:
        try:
            return self.cell(variable).cell_contents
        except ValueError:
            pass
        if self.owns(variable):
            raise UnboundLocalError(LOCAL.format(variable.name))
        raise NameError(FREE.format(variable.name))

    @property
    def _namespace(self) -> MutableMapping[str, Any]:
        assert self.names is not None
        return self.names

    def _global(self, name: str) -> Any:
        namespace = self.program.namespace
        if name in namespace:
            return namespace[name]
        known = namespace.get("__builtins__", builtins)
        try:
            return (known if isinstance(known, dict) else vars(known))[name]
        except KeyError:
            pass
        raise NameError(f"name {name!r} is not defined", name=name)

    def write(self, variable: Variable, value: Any) -> None:
        home = variable.home
        if home is Home.CELL:
            self.cell(variable).cell_contents = value
        elif home is Home.GLOBAL:
            self.program.namespace[variable.name] = value
        elif home is Home.CLASS:
            self._namespace[variable.name] = value
        else:
            self.places[variable] = value

    def delete(self, variable: Variable) -> None:
        home = variable.home
        if home is Home.CELL:
            self._cell_contents(variable)
            del self.cell(variable).cell_contents
        elif home is Home.LOCAL or home is Home.TEMPORARY:
            self.read(variable)
            del self.places[variable]
        else:
            names = self._namespace if home is Home.CLASS else self.program.namespace
            try:
                del names[variable.name]
                return
            except KeyError:
                pass
            raise NameError(f"name {variable.name!r} is not defined", name=variable.name)

    def locals(self) -> MutableMapping[str, Any]:
        """What `locals()` gives: the namespace of a module or class, or a copy of what a function has bound."""
        if self.names is not None:
            return self.names
        scope = self.code.scope
        variables = dict.fromkeys([*self.code.signature, *map(scope.variable, scope.used), *self.cells])
        found: dict[str, Any] = {}
        for variable in variables:
            if variable in self.places:
                found[variable.name] = self.places[variable]
            elif variable in self.cells:
                try:
                    found[variable.name] = self.cells[variable].cell_contents
                except ValueError:
                    pass
        return found
