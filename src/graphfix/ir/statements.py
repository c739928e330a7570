"""Lowering of statements, and of a whole code object."""

from __future__ import annotations

import ast

from graphfix.ir.blocks import Block, Code, Signature
from graphfix.ir.builder import Builder, Handler, Loop, Steps, body_of
from graphfix.ir.comprehensions import COMPREHENSIONS, generator_body
from graphfix.ir.expressions import EXPRESSIONS, condition, defaults, given
from graphfix.ir.instructions import (
    ENDS,
    Argument,
    Build,
    Call,
    Constant,
    Import,
    Iterate,
    Jump,
    Kind,
    MakeClass,
    MakeFunction,
    Next,
    Parameter,
    Part,
    Raise,
    Return,
    Unpack,
    WriteItem,
)
from graphfix.ir.patterns import of_match
from graphfix.ir.regions import of_try, of_with
from graphfix.ir.targets import assigned, changed, deleted
from graphfix.ir.variables import FUNCTIONS, Home, Variable, parameters


def of_expression(builder: Builder, node: ast.Expr) -> Steps:
    yield node.value


def of_assign(builder: Builder, node: ast.Assign) -> Steps:
    value = yield node.value
    for target in node.targets:
        yield assigned(builder, target, value)


def of_annotated(builder: Builder, node: ast.AnnAssign) -> Steps:
    """A module and a class keep the annotations of their names; a function does not evaluate its own."""
    if node.value is not None:
        yield assigned(builder, node.target, (yield node.value))
    elif not isinstance(node.target, ast.Name):
        yield from parts_of(node.target)
    if isinstance(builder.code.node, FUNCTIONS):
        return
    if not node.simple:
        if not builder.future:
            yield node.annotation
    elif isinstance(node.target, ast.Name):
        annotation = yield annotated(builder, node.annotation)
        kept = builder.read(builder.scope.variable("__annotations__"), node)
        name = builder.give(Constant, node.target, builder.scope.spelled(node.target.id))
        builder.write(WriteItem(node, None, kept, name, annotation))


def parts_of(target: ast.expr) -> Steps:
    """What a target is made of is evaluated also where nothing is assigned to it."""
    if isinstance(target, (ast.Attribute, ast.Subscript)):
        yield target.value
    if isinstance(target, ast.Subscript):
        yield target.slice


def annotated(builder: Builder, node: ast.expr) -> Steps:
    if builder.future:
        return builder.give(Constant, node, ast.unparse(node))
    if isinstance(node, ast.Starred):  # `*args: *each`
        parts = builder.give(Unpack, node, (yield node.value), 1, None)
        return builder.give(Part, node, parts, 0)
    return (yield node)


def of_augmented(builder: Builder, node: ast.AugAssign) -> Steps:
    return changed(builder, node)


def of_delete(builder: Builder, node: ast.Delete) -> Steps:
    return deleted(builder, node.targets)


def of_pass(builder: Builder, node: ast.stmt) -> None:
    """`pass`, `global` and `nonlocal` do nothing when they run."""


def of_if(builder: Builder, node: ast.If) -> Steps:
    yes, no, behind = builder.new(), builder.new(), builder.new()
    yield condition(builder, node.test, yes, no)
    builder.begin(yes)
    yield body_of(node.body)
    builder.jump(behind, node)
    builder.begin(no)
    yield body_of(node.orelse)
    builder.flow_into(behind, node)


def of_while(builder: Builder, node: ast.While) -> Steps:
    around, behind, no = builder.loops, builder.new(), builder.new()
    builder.loops = (*around, node)
    header, body = builder.new(node), builder.new()
    builder.flow_into(header, node)
    yield condition(builder, node.test, body, no)
    yield rounds(builder, node, header, body, behind, no, around)


def of_for(builder: Builder, node: ast.For | ast.AsyncFor) -> Steps:
    asynchronous = isinstance(node, ast.AsyncFor)
    items = builder.give(Iterate, node, (yield node.iter), asynchronous)
    around, behind, no = builder.loops, builder.new(), builder.new()
    builder.loops = (*around, node)
    header, start, body = builder.new(node), builder.new(), builder.new()
    builder.flow_into(header, node)
    item = builder.give(Next, node, items, start, no, asynchronous)
    builder.begin(start)
    yield assigned(builder, node.target, item)
    builder.jump(body, node)
    yield rounds(builder, node, header, body, behind, no, around)


def rounds(
    builder: Builder,
    node: ast.For | ast.AsyncFor | ast.While,
    header: Block,
    body: Block,
    behind: Block,
    no: Block,
    around: tuple[ast.AST, ...],
) -> Steps:
    """The body of a loop, and what runs where it ends by itself (`no`)."""
    builder.begin(body)
    builder.exits.append(Loop(node, header, behind))
    yield body_of(node.body)
    builder.jump(header, node)
    builder.exits.pop()
    builder.loops = around
    builder.begin(no)
    yield body_of(node.orelse)
    builder.flow_into(behind, node)


def of_break(builder: Builder, node: ast.Break | ast.Continue) -> Steps:
    loops = [position for position, each in enumerate(builder.exits) if isinstance(each, Loop)]
    if not loops:
        builder.hide(node, [])
        return
    loop = builder.exits[loops[-1]]
    assert isinstance(loop, Loop)
    yield builder.leave(loops[-1] + 1, node)
    builder.jump(loop.behind if isinstance(node, ast.Break) else loop.again, node)


def of_return(builder: Builder, node: ast.Return) -> Steps:
    value = (yield node.value) if node.value is not None else builder.give(Constant, node, None)
    yield builder.leave(0, node)
    builder.end(Return(node, None, value))


def of_raise(builder: Builder, node: ast.Raise) -> Steps:
    if node.exc is None:
        builder.end(Raise(node, None, builder.caught[-1] if builder.caught else None, None, True))
        return
    exception = yield node.exc
    cause = (yield node.cause) if node.cause is not None else None
    builder.end(Raise(node, None, exception, cause))


def of_assert(builder: Builder, node: ast.Assert) -> Steps:
    holds, fails = builder.new(), builder.new()
    yield condition(builder, node.test, holds, fails)
    builder.begin(fails)
    error = builder.give(Constant, node, AssertionError)  # whatever the name means
    arguments = (Argument((yield node.msg)),) if node.msg is not None else ()
    builder.end(Raise(node, None, builder.give(Call, node, error, arguments)))
    builder.begin(holds)


def of_import(builder: Builder, node: ast.Import) -> None:
    for alias in node.names:
        value = builder.give(Import, alias, alias.name, 0, None, alias.asname is None)
        builder.keep(builder.scope.variable(alias.asname or alias.name.split(".")[0]), value, alias)


def of_import_from(builder: Builder, node: ast.ImportFrom) -> None:
    for alias in node.names:
        value = builder.give(Import, alias, node.module or "", node.level, alias.name)
        if alias.name != "*":
            builder.keep(builder.scope.variable(alias.asname or alias.name), value, alias)


def of_function(builder: Builder, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Steps:
    decorators = []
    for each in node.decorator_list:
        decorators.append((yield each))
    values = yield defaults(builder, node.args)
    marks = []
    own = node.args
    for parameter in (*own.args, *own.posonlyargs, own.vararg, *own.kwonlyargs, own.kwarg):
        if parameter is not None and parameter.annotation is not None:
            marks.append(Argument((yield annotated(builder, parameter.annotation)), builder.scope.spelled(parameter.arg)))
    if node.returns is not None:
        marks.append(Argument((yield annotated(builder, node.returns)), "return"))
    made = builder.give(MakeFunction, node, node, values, tuple(marks))
    for decorator in reversed(decorators):
        made = builder.give(Call, node, decorator, (Argument(made),))
    builder.keep(builder.scope.variable(node.name), made, node)


def of_class(builder: Builder, node: ast.ClassDef) -> Steps:
    decorators = []
    for each in node.decorator_list:
        decorators.append((yield each))
    made = builder.give(MakeClass, node, node, (yield given(builder, node.bases, node.keywords)))
    for decorator in reversed(decorators):
        made = builder.give(Call, node, decorator, (Argument(made),))
    builder.keep(builder.scope.variable(node.name), made, node)


HANDLERS: dict[type[ast.AST], Handler] = {
    **EXPRESSIONS,
    **COMPREHENSIONS,
    ast.Expr: of_expression,
    ast.Assign: of_assign,
    ast.AnnAssign: of_annotated,
    ast.AugAssign: of_augmented,
    ast.Delete: of_delete,
    ast.Pass: of_pass,
    ast.Global: of_pass,
    ast.Nonlocal: of_pass,
    ast.If: of_if,
    ast.While: of_while,
    ast.For: of_for,
    ast.AsyncFor: of_for,
    ast.Break: of_break,
    ast.Continue: of_break,
    ast.Return: of_return,
    ast.Raise: of_raise,
    ast.Assert: of_assert,
    ast.Import: of_import,
    ast.ImportFrom: of_import_from,
    ast.FunctionDef: of_function,
    ast.AsyncFunctionDef: of_function,
    ast.ClassDef: of_class,
    ast.With: of_with,
    ast.AsyncWith: of_with,
    ast.Try: of_try,
    ast.Match: of_match,
}


def lowered(builder: Builder) -> Code:
    """The code object of the builder's scope."""
    node = builder.code.node
    signature = parameters_of(builder, node)
    builder.run(whole(builder, node, signature), HANDLERS)
    return sealed(builder, signature)


def whole(builder: Builder, node: ast.AST, signature: Signature) -> Steps:
    """All that a code object does."""
    for variable, parameter in zip(signature, arguments_of(node)):
        builder.write(Parameter(parameter, None, variable))
    if isinstance(node, ast.Lambda):
        builder.write(Return(node, None, (yield node.body)))
        return
    if isinstance(node, ast.GeneratorExp):
        items = builder.read(signature.positional_only[0], node)
        builder.write(Return(node, None, (yield generator_body(builder, node, items))))
        return
    if not isinstance(node, FUNCTIONS) and "__annotations__" in builder.scope.bound:
        empty = builder.give(Build, node, Kind.DICT, ())
        builder.keep(builder.scope.variable("__annotations__"), empty, node)
    yield body_of(node.body)  # type: ignore[attr-defined]
    builder.write(Return(node, None, builder.give(Constant, node, None)))


def arguments_of(node: ast.AST) -> list[ast.AST]:
    """The syntax of the parameters, in the order of a `Signature`."""
    return [node] if isinstance(node, ast.GeneratorExp) else list(parameters(node))


def parameters_of(builder: Builder, node: ast.AST) -> Signature:
    if isinstance(node, ast.GeneratorExp):
        return Signature(positional_only=(Variable(".0", Home.LOCAL, node),))
    if not isinstance(node, FUNCTIONS):
        return Signature()
    variable = builder.scope.variable
    given = node.args
    return Signature(
        tuple(variable(each.arg) for each in given.posonlyargs),
        tuple(variable(each.arg) for each in given.args),
        variable(given.vararg.arg) if given.vararg is not None else None,
        tuple(variable(each.arg) for each in given.kwonlyargs),
        variable(given.kwarg.arg) if given.kwarg is not None else None,
    )


def sealed(builder: Builder, signature: Signature) -> Code:
    """The code object, without blocks in which nothing was written and to which nothing leads."""
    node = builder.code.node
    led_to = {id(target) for block in builder.blocks for target in block.successors}
    led_to |= {id(block.handler) for block in builder.blocks if block.handler is not None}
    kept = [block for block in builder.blocks if block.instructions or id(block) in led_to or block.number == 0]
    for block, later in zip(kept, [*kept[1:], None]):
        if not block.instructions or not isinstance(block.instructions[-1], ENDS):
            assert later is not None
            block.instructions.append(Jump(node, None, later))
    for number, block in enumerate(kept):
        block.number = number
    return Code(
        node,
        builder.code,
        builder.code.name,
        signature,
        builder.yields,
        isinstance(node, ast.AsyncFunctionDef) or isinstance(node, ast.GeneratorExp) and builder.awaits,
        kept,
        builder.givers,
        builder.opaque,
    )
