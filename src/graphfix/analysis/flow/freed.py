"""Whether the graph of a value has surely been freed where it is read: a walk lies on every way there.

What a run shows was freed in that run. Here the code says that it is freed in all: the call that walks it stands before the
reader in the same block or in one around it (it dominates the reader, Aho et al., Compilers, 2nd ed., section 9.6.1), and
the name means the same value at both. Where a function is given the value, all its callers have to show that.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.flow.calls import name_of
from graphfix.analysis.flow.expressions import arguments
from graphfix.analysis.flow.places import Place
from graphfix.analysis.flow.scopes import FUNCTIONS, parameters
from graphfix.models.words import LAUNCHERS
from graphfix.source.subtree import children, subtree

DEPTH = 4
LOOPS = (ast.For, ast.AsyncFor, ast.While)


class Freed:
    """Asks the flow of a file for walks that surely come first."""

    def __init__(self, flow) -> None:
        self.flow = flow
        self.graph = flow.graph
        self.parents: dict[ast.AST, ast.AST] = {}
        for document in flow.code.documents.values():
            self.parents.update(document.parents)
        self.callers: dict[ast.AST, list[ast.Call]] = {}
        for call, functions in flow.calls.targets.items():
            for function in functions:
                self.callers.setdefault(function, []).append(call)

    def before(self, expression: ast.expr, depth: int = DEPTH, strict: bool = False) -> bool:
        """Whether the graph of `expression`, or a part of it, is surely freed where it is read.

        `strict`: the value has to be what was walked, or a term of it: data from which that was made has no graph to be freed.
        """
        if depth <= 0:
            return False
        if isinstance(expression, ast.Name):
            definitions = list(self.graph.values.get(expression, ()))
            return bool(definitions) and all(self.defined_freed(expression, each, depth, strict) for each in definitions)
        if isinstance(expression, (ast.Attribute, ast.Subscript)):
            if self.walked_between(expression, None):
                return True
            return isinstance(expression, ast.Subscript) and self.before(expression.value, depth - 1)
        if isinstance(expression, ast.BinOp):
            return self.before(expression.left, depth, True) or self.before(expression.right, depth, True)
        if isinstance(expression, ast.UnaryOp):
            return self.before(expression.operand, depth, True)
        if isinstance(expression, ast.Call):
            inner = [*arguments(expression), *([expression.func.value] if isinstance(expression.func, ast.Attribute) else [])]
            return any(
                self.before(each, depth - 1, True) for each in inner if isinstance(each, (ast.Name, ast.Attribute, ast.BinOp))
            )
        if isinstance(expression, (ast.Tuple, ast.List)):
            return bool(expression.elts) and all(self.before(each, depth) for each in expression.elts)
        return False

    def defined_freed(self, read: ast.Name, definition: Place, depth: int, strict: bool) -> bool:
        """Whether this definition of a name that is read holds a graph that is freed by then."""
        if isinstance(definition, ast.arg):
            return self.given_freed(definition, depth, strict)
        if not isinstance(definition, ast.Name):
            return False
        if self.walked_between(read, definition, strict):
            return True
        bound = self.parents.get(definition)
        if (
            isinstance(bound, ast.Assign)
            and isinstance(bound.value, (ast.Name, ast.Attribute, ast.BinOp, ast.Call))
            and bound.value is not read
        ):
            return self.before(bound.value, depth - 1, strict)
        return False

    def given_freed(self, parameter: ast.arg, depth: int, strict: bool) -> bool:
        """Whether every caller gives the function what is freed already, or the function itself walks it first."""
        if parameter in self.graph.opaque:
            return False
        function = next((f for f in self.flow.code.functions if parameter in parameters(f)), None)
        callers = self.callers.get(function, []) if function is not None else []
        given = [place for place in self.graph.values.get(parameter, ()) if isinstance(place, ast.expr)]
        return bool(callers) and bool(given) and all(self.before(each, depth - 1, strict) for each in given)

    def has_backward(self, read: ast.expr) -> bool:
        """Whether `read.backward()` has surely run before on what a name means: no number has that, nor has what holds tensors."""
        definitions = list(self.graph.values.get(read, ())) if isinstance(read, ast.Name) else []
        before = list(self.dominating(self.statement(read))) if definitions else []
        return bool(definitions) and all(any(self.calls_backward(each, read, place) for each in before) for place in definitions)

    def calls_backward(self, statement: ast.stmt, read: ast.expr, definition: Place) -> bool:
        """Whether a statement is `name.backward()`, with the name that is read and the meaning that it has by this definition."""
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "backward":
            return False
        if ast.dump(call.func.value) != ast.dump(read) or definition not in self.graph.values.get(call.func.value, ()):
            return False
        return isinstance(definition, ast.arg) or isinstance(definition, ast.Name) and self.comes_after(statement, definition)

    def walked_between(self, read: ast.expr, definition: ast.Name | None, strict: bool = False) -> bool:
        """Whether a walk of what is read surely lies before it, and after its `definition`."""
        at = self.statement(read)
        for statement in self.dominating(at):
            if definition is not None and not self.comes_after(statement, definition):
                continue
            if self.surely_walks(statement, read, definition, DEPTH) and not (strict and self.is_data_of(statement, definition)):
                return True
        return False

    def is_data_of(self, statement: ast.stmt, definition: Place | None) -> bool:
        """Whether what `statement` walks is only computed from the definition, by calls, and has it as no term."""
        if definition is None:
            return False
        roots = [
            call.func.value for call in subtree(statement) if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        ]
        given = [argument for call in subtree(statement) if isinstance(call, ast.Call) for argument in arguments(call)]
        return not any(definition in self.terms(root) for root in (*roots, *given))

    def terms(self, root: ast.expr) -> set[Place]:
        """What a value is the sum, product, mean or another name of."""
        seen: set[Place] = {root}
        pending: list[Place] = [root]
        while pending:
            place = pending.pop()
            parts: list[Place] = list(self.graph.values.get(place, ()))
            if isinstance(place, (ast.BinOp, ast.UnaryOp)):
                parts += [part for part in children(place) if isinstance(part, ast.expr)]
            elif isinstance(place, ast.AugAssign):
                parts += [*self.graph.made_of.get(place, ())]
            elif isinstance(place, ast.Call) and isinstance(place.func, ast.Attribute):
                parts.append(place.func.value)
            for part in parts:
                if part not in seen:
                    seen.add(part)
                    pending.append(part)
        return seen

    def before_next(self, loop: ast.For | ast.AsyncFor | ast.While, text: str, until: ast.stmt | None = None) -> bool:
        """Whether what an iteration leaves in the variable or attribute `text` is surely freed when the next begins.

        `until`: by the end of this statement of the loop's body instead.
        """
        definitions = self.left_by(loop, text)
        return bool(definitions) and all(
            self.walk_follows(loop, place, statement, until)
            or not self.flow.computations_below(place)
            or isinstance(place, ast.Name)
            and self.handed_on_freed(place, DEPTH)
            for place, statement in definitions
        )

    def handed_on_freed(self, definition: ast.Name, depth: int) -> bool:
        """Whether a name only gets what another name held, and that was walked before, be it in an earlier iteration: `older, old = old, h`."""
        value = value_of(self.parents.get(definition), definition, self.parents)
        if not isinstance(value, ast.Name) or depth <= 0:
            return False
        sources = list(self.graph.values.get(value, ()))
        return bool(sources) and all(
            isinstance(source, ast.Name)
            and (
                not self.flow.computations_below(source)
                or self.walked_between(value, source)
                or self.handed_on_freed(source, depth - 1)
            )
            for source in sources
        )

    def left_by(self, loop: ast.stmt, text: str) -> list[tuple[Place, ast.stmt]]:
        """The definitions of `text` that an iteration makes, each with the statement of the loop's body which leads there."""
        found: list[tuple[Place, ast.stmt]] = []
        for statement in loop.body:  # type: ignore[attr-defined]
            for code in self.flow.reached(statement):
                for part in subtree(code):
                    context = getattr(part, "ctx", None)
                    if not isinstance(context, ast.Store):
                        continue
                    own = isinstance(part, ast.Name) and code is statement and part.id == text
                    if own or isinstance(part, ast.Attribute) and "." in text and part.attr == text.rpartition(".")[2]:
                        found.append((part, self.statement(part) if code is statement else statement))
        return found

    def walk_follows(self, loop: ast.stmt, definition: ast.AST, statement: ast.stmt, until: ast.stmt | None) -> bool:
        """Whether each way from the definition to the end of the iteration surely walks what it defined.

        `statement`: that of the loop's body which leads to the definition, in this function or another.
        """
        own = self.statement(definition)
        follows = self.followed(own, loop, definition, until)
        if follows is None and own is not statement:
            follows = self.walks_what_it_makes(statement, definition) or self.followed(statement, loop, definition, until)
        return bool(follows)

    def walks_what_it_makes(self, statement: ast.stmt, definition: ast.AST) -> bool:
        """Whether a statement walks what it calls for the definition: `net(x).sum().backward()`, in which `net` keeps state."""
        if not isinstance(statement, (ast.Expr, ast.Assign)):
            return False
        function = next((each for each in self.around(definition) if isinstance(each, FUNCTIONS)), None)
        leading = {c for c in subtree(statement) if isinstance(c, ast.Call) and function in self.flow.reached(c)}
        for call in certain_calls(statement.value):
            if name_of(call.func) == "backward" and isinstance(call.func, ast.Attribute):
                within = set(subtree(call.func.value))
                if self.call_walks(call, ast.Constant(None), definition, DEPTH) and leading <= within | {call}:
                    return True
        return False

    def followed(self, statement: ast.stmt, loop: ast.stmt, definition: Place, until: ast.stmt | None) -> bool | None:
        """Whether a walk surely follows `statement` in its function; None where the function ends before that is known."""
        read = ast.Constant(None)
        current: ast.AST = statement
        apart = all(each is not loop for each in self.around(statement))
        while current is not loop and not isinstance(current, (*FUNCTIONS, ast.Module)):
            parent = self.parents[current]
            for block in blocks(parent):
                for later in block[block.index(current) + 1 :] if current in block else ():
                    if self.surely_walks(later, read, definition, DEPTH):
                        return True
                    if later is until or leaves(later):
                        return None if apart else False
            current = parent
        return None

    def block_of(self, statement: ast.stmt) -> list[ast.stmt]:
        """The block that a statement stands in."""
        return next((block for block in blocks(self.parents.get(statement)) if statement in block), [statement])

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What the node stands in."""
        above = self.parents.get(node)
        while above is not None:
            yield above
            above = self.parents.get(above)

    def comes_after(self, statement: ast.stmt, definition: ast.Name) -> bool:
        """Whether `statement` runs after the definition in the same iteration: it stands below it."""
        bound = self.statement(definition)
        if isinstance(bound, LOOPS):
            return bound.lineno < statement.lineno
        return (bound.end_lineno or bound.lineno) <= statement.lineno and bound is not statement

    def statement(self, node: ast.AST) -> ast.stmt:
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def dominating(self, statement: ast.stmt) -> Iterator[ast.stmt]:
        """The statements that have run whenever `statement` does, in its function, the closest first."""
        current: ast.AST = statement
        while True:
            parent = self.parents.get(current)
            for block in blocks(parent):
                if current in block:
                    yield from reversed(block[: block.index(current)])
            if parent is None or isinstance(parent, (*FUNCTIONS, ast.ClassDef, ast.Module)):
                return
            current = parent

    def surely_walks(self, statement: ast.stmt, read: ast.expr, definition: Place | None, depth: int) -> bool:
        """Whether each way through `statement` walks, and frees, what `read` means."""
        if isinstance(statement, ast.If):
            return bool(statement.orelse) and all(
                self.block_walks(side, read, definition, depth) for side in (statement.body, statement.orelse)
            )
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            quiet = any("suppress" in ast.unparse(item.context_expr) for item in statement.items)
            return not quiet and self.block_walks(statement.body, read, definition, depth)
        if not isinstance(statement, (ast.Expr, ast.Assign, ast.AugAssign, ast.Return)) or statement.value is None:
            return False
        return any(self.call_walks(call, read, definition, depth) for call in certain_calls(statement.value))

    def block_walks(self, block: list[ast.stmt], read: ast.expr, definition: Place | None, depth: int) -> bool:
        for statement in block:
            if self.surely_walks(statement, read, definition, depth):
                return True
            if leaves(statement):
                return False
        return False

    def call_walks(self, call: ast.Call, read: ast.expr, definition: Place | None, depth: int) -> bool:
        name = name_of(call.func)
        if name == "backward" or name in LAUNCHERS:
            if any(keyword.arg != "gradient" and not is_false(keyword.value) for keyword in call.keywords) or len(call.args) > 1:
                return False
            roots = [*call.args, *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]
            return any(self.leads_to(root, read, definition) for root in roots)
        functions = self.flow.calls.targets.get(call, {})
        if not functions or call in self.flow.calls.opaque or depth <= 0:
            return False
        return all(self.enters_walk(function, call, read, definition, depth - 1) for function in functions)

    def enters_walk(self, function: ast.AST, call: ast.Call, read: ast.expr, definition: Place | None, depth: int) -> bool:
        """Whether the function surely walks the argument that is made of what is read."""
        body = function.body  # type: ignore[attr-defined]
        if not isinstance(body, list):
            return False
        given = [each for each in arguments(call) if self.leads_to(each, read, definition)]
        for parameter in parameters(function):  # type: ignore[arg-type]
            if any(each in self.graph.values.get(parameter, ()) for each in given):
                if self.block_walks(body, ast.Name(parameter.arg, ast.Load()), parameter, depth):
                    return True
        return False

    def leads_to(self, root: ast.expr, read: ast.expr, definition: Place | None) -> bool:
        """Whether the graph below `root` holds what `read` means by this definition."""
        if definition is not None:
            return definition in self.graph.below(root)
        if ast.dump(root) == ast.dump(read):
            return self.names(root) == self.names(read)
        if isinstance(root, (ast.BinOp, ast.Call)):
            return any(self.leads_to(part, read, None) for part in children(root) if isinstance(part, ast.expr))
        return isinstance(root, ast.Attribute) and self.leads_to(root.value, read, None)

    def names(self, expression: ast.expr) -> list[set[Place]]:
        """What each name of an expression may mean."""
        return [set(self.graph.values.get(part, ())) for part in subtree(expression) if isinstance(part, ast.Name)]


def leaves(statement: ast.stmt) -> bool:
    """Whether the block that holds the statement may be left by it."""
    pending: list[tuple[ast.AST, bool]] = [(statement, False)]
    while pending:
        part, looped = pending.pop()
        if isinstance(part, ast.Return) or isinstance(part, (ast.Continue, ast.Break)) and not looped:
            return True
        if not isinstance(part, (*FUNCTIONS, ast.ClassDef)):
            pending.extend((inner, looped or isinstance(part, LOOPS)) for inner in children(part))
    return False


def value_of(bound: ast.AST | None, definition: ast.Name, parents: dict[ast.AST, ast.AST]) -> ast.expr | None:
    """What an assignment gives to one of its targets, where that is written there. `bound`: what the target stands in."""
    if isinstance(bound, ast.Assign):
        return bound.value
    above = parents.get(bound) if isinstance(bound, ast.Tuple) else None
    if isinstance(above, ast.Assign) and isinstance(above.value, ast.Tuple) and len(above.value.elts) == len(bound.elts):  # type: ignore[union-attr]
        plain = not any(isinstance(part, ast.Starred) for part in (*above.value.elts, *bound.elts))  # type: ignore[union-attr]
        return above.value.elts[bound.elts.index(definition)] if plain else None  # type: ignore[union-attr]
    return None


def blocks(node: ast.AST | None) -> list[list[ast.stmt]]:
    found = [getattr(node, field, None) for field in ("body", "orelse", "finalbody")]
    return [block for block in found if isinstance(block, list)]


def certain_calls(expression: ast.expr) -> Iterator[ast.Call]:
    """The calls that evaluating an expression surely makes."""
    pending: list[ast.AST] = [expression]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Call):
            yield part
        if isinstance(part, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            continue
        if isinstance(part, ast.IfExp):
            pending.append(part.test)
        elif isinstance(part, ast.BoolOp):
            pending.append(part.values[0])
        else:
            pending.extend(children(part))


def surely_called(statement: ast.stmt) -> list[ast.Call]:
    """The calls that a statement surely makes when it runs."""
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        return [call for inner in statement.body for call in surely_called(inner)]
    if isinstance(statement, (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return)) and statement.value is not None:
        return list(certain_calls(statement.value))
    return []


def is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False
