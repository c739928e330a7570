"""Repairs for a write in place to what a backward pass still needs: the out-of-place form, or a copy that is written to."""

from __future__ import annotations

import ast

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.overwrites import Overwrite
from graphfix.effects.table import facts
from graphfix.interpreter.values import TorchModule
from graphfix.model import Delete, Fix, Ground, InsertAfter, InsertBefore, NoFix, Operation, RemoveArgument, Replace
from graphfix.repair.fixes import fix, unless
from graphfix.repair.saved_copy import saving_copy
from graphfix.source.quote import short
from graphfix.source.subtree import subtree

OPERATORS: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.MatMult: "@"}
# what makes, or turns a tensor into, one of another type than the default
OTHER_TYPES = frozenset("from_numpy as_tensor asarray double half bfloat16 type type_as complex".split())
# what computes in another precision than the default: a sum of both takes the larger
OTHER_PRECISION = frozenset("half bfloat16 float16 double float64 complex64 complex128 set_default_dtype autocast".split())
CLOSED = (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript)


def out_of_place(evidence: Evidence, fault: Overwrite) -> Fix | NoFix:
    """The out-of-place form, where nobody else holds what is written to."""
    layer = fault.write.layer
    made = layer.site if isinstance(layer, TorchModule) else None
    writes = [
        (run, write) for run in evidence.tape.runs for write in run.recording.writes
        if write.site is fault.write.site or (made is not None and isinstance(write.layer, TorchModule) and write.layer.site is made)
    ]  # fmt: skip
    if evidence.tape.truncated:
        return NoFix("the analysis did not come to its end, and other variables may refer to this tensor")
    others = any(write.others for _, write in writes)
    written = None if others else of_layer(evidence, layer) if isinstance(layer, TorchModule) else without_write(evidence, fault)
    if written is None:
        copy = saving_copy(evidence, fault.overwritten.node.site, fault.write.site)
        others_hold = "other variables may refer to this tensor, and would no longer see the change"
        return copy or NoFix(others_hold if others else "this write has no out-of-place form")
    title, operations = written
    doubt = unless(
        all(run in fault.raising for run, _ in writes), "in some runs this write does no harm, and others may rely on it"
    )
    doubt = doubt or unless(
        not may_promote(evidence, fault.write.site), "the new tensor may have another dtype than the one that is written to"
    )
    doubt = doubt or unless(not is_hooked(evidence), "a forward hook may hold the tensor that is written to")
    return fix(title, *operations, ground=Ground.RAISES, doubt=doubt)


def is_hooked(evidence: Evidence) -> bool:
    """Whether hooks get what modules give: they may keep the very tensor that is written to."""
    documents = evidence.flow.code.documents.values()
    return any(word.startswith(("register_forward", "register_module_forward")) for each in documents for word in each.words)


def may_promote(evidence: Evidence, site: ast.AST) -> bool:
    """Whether the value that is written may be of another type than what it is written to: out of place, the result takes its type.

    https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
    """
    if any(document.words & OTHER_PRECISION for document in evidence.flow.code.documents.values()):
        return True
    written = [site.value] if isinstance(site, ast.AugAssign) else [*site.args] if isinstance(site, ast.Call) else []
    for place in (place for value in written for place in evidence.flow.graph.below(value, objects=False)):
        if isinstance(place, ast.Call):
            name = place.func.attr if isinstance(place.func, ast.Attribute) else ""
            if name in OTHER_TYPES or any(keyword.arg == "dtype" for keyword in place.keywords):
                return True
    return False


def without_write(evidence: Evidence, fault: Overwrite) -> tuple[str, tuple[Operation, ...]] | None:
    site = fault.write.site
    statement = evidence.program.statement_of(site)
    if isinstance(site, ast.AugAssign) and isinstance(site.target, ast.Name):
        return rebinding(evidence, site, site.target.id, augmented(evidence, site))
    if isinstance(site, (ast.AugAssign, ast.Subscript)):
        target = site.target if isinstance(site, ast.AugAssign) else site
        return item_written(evidence, statement, target, is_saved_by(fault, statement))
    if not isinstance(site, ast.Call):
        return None
    if any(keyword.arg == "inplace" for keyword in site.keywords):
        if isinstance(statement, ast.Expr):
            return None
        return "remove `inplace=True`", (RemoveArgument(evidence.program.span(site), "inplace"),)
    text = plain_call(evidence, site)
    if text is None:
        return None
    if isinstance(statement, ast.Expr) and statement.value is site:
        receiver = site.func.value if isinstance(site.func, ast.Attribute) else None
        return rebinding(evidence, statement, receiver.id, text) if isinstance(receiver, ast.Name) else None
    return f"use `{short(text)}`", (Replace(evidence.program.span(site), text),)


def rebinding(evidence: Evidence, statement: ast.stmt, name: str, text: str | None) -> tuple[str, tuple[Operation, ...]] | None:
    """`name = text` in the place of a statement."""
    if text is None or "\n" in text:
        return None
    line = f"{name} = {text}"
    span = evidence.program.span(statement)
    return f"write `{short(line)}`", (InsertBefore(span, line), Delete(span))


def augmented(evidence: Evidence, site: ast.AugAssign) -> str | None:
    """`x + r` for `x += r`."""
    operator = OPERATORS.get(type(site.op))
    if operator is None or not isinstance(site.target, ast.Name):
        return None
    value = evidence.program.source(site.value)
    return f"{site.target.id} {operator} {value if isinstance(site.value, CLOSED) else f'({value})'}"


def is_saved_by(fault: Overwrite, statement: ast.stmt) -> bool:
    """Whether the writing statement itself computes what saves the tensor, as `h[i] = torch.tanh(h[i - 1] * w)` does."""
    return any(active is statement for node in fault.savers for _, active in node.trace)


def item_written(
    evidence: Evidence, statement: ast.stmt, target: ast.AST, saves: bool
) -> tuple[str, tuple[Operation, ...]] | None:
    """`x = x.masked_fill(mask, number)` for `x[mask] = number`, else a copy of `x` that may be written to.

    `saves`: the statement computes what saves the old `x`, and so has to compute it before there is a copy.
    """
    if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
        return None
    name = target.value.id
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(target.slice, ast.Compare):
        value = statement.value
        number = value.operand if isinstance(value, ast.UnaryOp) else value
        if isinstance(number, ast.Constant) and isinstance(number.value, (int, float)):
            source = evidence.program.source
            return rebinding(evidence, statement, name, f"{name}.masked_fill({source(target.slice)}, {source(value)})")
    copy = InsertBefore(evidence.program.span(statement), f"{name} = {name}.clone()")
    if not saves:
        return f"write to a copy of `{name}`", (copy,)
    title = f"compute the value first, and write it to a copy of `{name}`"
    computed, written = evidence.program.file_of(target).fresh("value", f"new_{name}"), evidence.program.source(target)
    if isinstance(statement, ast.AugAssign) and "\n" not in evidence.program.source(statement.value):
        first = InsertBefore(evidence.program.span(statement), f"{computed} = {evidence.program.source(statement.value)}")
        return title, (first, copy, Replace(evidence.program.span(statement.value), computed))
    if not isinstance(statement, ast.Assign) or len(statement.targets) > 1:
        return None
    return title, (
        Replace(evidence.program.span(target), computed),
        InsertAfter(evidence.program.span(statement), copy.text),
        InsertAfter(evidence.program.span(statement), f"{written} = {computed}"),
    )


def plain_call(evidence: Evidence, site: ast.Call) -> str | None:
    """`x.relu()` for `x.relu_()`."""
    function = site.func
    if not isinstance(function, ast.Attribute) or not function.attr.endswith("_"):
        return None
    known = facts(f"torch.Tensor.{function.attr[:-1]}")
    if known is None or known.inplace or known.cuts or known.result != "tensor":
        return None
    text, head = evidence.program.source(site), evidence.program.source(function)
    return head[:-1] + text[len(head) :]


def of_layer(evidence: Evidence, layer: TorchModule) -> tuple[str, tuple[Operation, ...]] | None:
    """The layer without its in-place flag, where it is made or where the flag is set later."""
    if "inplace" not in layer.attributes:
        return made_without(evidence, layer.site) if layer.site is not None else None
    executed = evidence.tape.executed
    found = [
        part
        for document in evidence.program.files
        for part in subtree(document.tree)
        if isinstance(part, ast.Assign) and part in executed and isinstance(part.targets[0], ast.Attribute) and part.targets[0].attr == "inplace"
    ]
    if len(found) != 1 or not isinstance(found[0].value, ast.Constant):
        return None
    title = f"write `{short(ast.unparse(found[0].targets[0]))} = False`"
    return title, (Replace(evidence.program.span(found[0].value), "False"),)


def made_without(evidence: Evidence, made: ast.AST) -> tuple[str, tuple[Operation, ...]] | None:
    """The layer's constructor without its in-place flag."""
    if not isinstance(made, ast.Call) or not evidence.program.holds(made):
        return None
    if any(keyword.arg == "inplace" for keyword in made.keywords):
        return "create the layer without `inplace=True`", (RemoveArgument(evidence.program.span(made), "inplace"),)
    if len(made.args) != 1 or made.keywords:
        return None
    text = f"{evidence.program.source(made.func)}()"
    return f"write `{short(text)}`", (Replace(evidence.program.span(made), text),)
