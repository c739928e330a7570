"""What should be trained is not a leaf: an operation stands between the parameter and the variable.

## What it does
Finds `nn.Parameter(...).softmax(0)`, `torch.randn(..., requires_grad=True) * 0.1` and similar code, where the result is kept, and
used by the `backward()` of every iteration or passed to an optimizer, while no variable holds the leaf itself. A non-leaf tensor
that is passed to an optimizer is also found if the leaf and the operation stand in different statements or functions.

## Why is this bad
The gradient goes to the leaf, which no code can reach: the result's `.grad` stays None, a module does not register it, and an
optimizer refuses it ("ValueError: can't optimize a non-leaf Tensor"). Its graph is recorded once: the second `backward()` raises
"RuntimeError: Trying to backward through the graph a second time".

## Example
```python
class Mixture(nn.Module):
    def __init__(self, parts):
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(parts)).softmax(dim=0)

    def forward(self, votes):
        return votes @ self.weights

model = Mixture(4)
optimizer = torch.optim.Adam(model.parameters())
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Use instead
```python
class Mixture(nn.Module):
    def __init__(self, parts):
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(parts))

    def forward(self, votes):
        return votes @ self.weights.softmax(dim=0)

model = Mixture(4)
optimizer = torch.optim.Adam(model.parameters())
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Fix safety
`(torch.randn(3) * 0.1).requires_grad_()` is safe if the program raises as it is: the result was meant to be the leaf. Moving an
operation from `__init__` to the places that read the attribute is unsafe: a parameter that was constant starts to train. If the
operation stands apart from the leaf, there is no fix, because the code does not show which of the two should be trained.
Putting a tensor into a list, where `chain` gave its rows to the optimizer, is unsafe: another run may chain a list of tensors.

## References
- https://pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
- https://pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.flow.circular import true_of_itself
from graphfix.analysis.nameless_leaves import nameless, refused
from graphfix.analysis.subject import explaining
from graphfix.autograd.graph import Node
from graphfix.autograd.symptoms import NOT_A_LEAF, SECOND_WALK
from graphfix.codemods.base import rule
from graphfix.interpreter.recording import Read
from graphfix.model import Append, Finding, Fix, Ground, NoFix, RemoveArgument, Replace, in_time
from graphfix.repair.fixes import fix, unless
from graphfix.source.quote import short
from graphfix.source.subtree import subtree
from graphfix.verify.expected import Expected

# methods that make of each element another one: https://docs.pytorch.org/docs/stable/tensors.html
ELEMENTWISE = frozenset("to cuda cpu float double half type mul div add sub abs exp sqrt neg clone contiguous".split())
REFUSED = "the optimizer gets the result, which is not a leaf"
MET_AGAIN = "each backward() goes through the graph of the result, which the first one has freed"


def find(evidence: Evidence) -> Iterator[Finding]:
    for statement, (leaf, user, refuses) in nameless(evidence).items():
        assert isinstance(leaf.site, ast.Call)
        story = [evidence.label(leaf.site, "this leaf gets the gradient, but no variable holds it")]
        if evidence.program.holds(user):
            story.append(evidence.label(user, REFUSED if refuses else MET_AGAIN))
        target = short(ast.unparse(statement.targets[0]))
        yield RULE.finding(
            evidence,
            f"`{target}` is not a leaf: what it is computed from is never trained",
            evidence.program.span(statement),
            story,
            repair_of(evidence, statement, leaf.site),
            shown=NOT_A_LEAF if refuses else SECOND_WALK,
            subject=explaining([statement]),
        )
    told: set[ast.AST] = set()
    for node, read in refused(evidence).items():
        if read.site not in told and not evidence.swallows(read.site):
            told.add(read.site)
            yield refusal(evidence, node, read)


def refusal(evidence: Evidence, node: Node, read: Read) -> Finding:
    """What is given to the optimizer is computed from a leaf, in another statement or function."""
    story = [evidence.label(node.site, "this computes it: the result is not a leaf")] if evidence.program.holds(node.site) else []
    story.append(evidence.label(read.site, "the optimizer gets the result and raises"))
    unfixed = whole_of_rows(evidence, node) or NoFix("the code does not show whether the leaf or the result should be trained")
    message = "the optimizer gets a tensor that is not a leaf"
    blamed = evidence.program.statement_of(read.site)
    return RULE.finding(evidence, message, evidence.program.span(blamed), in_time(*story), unfixed, subject=explaining([node]))


def whole_of_rows(evidence: Evidence, node: Node) -> Fix | None:
    """For a leaf of which a chain gives the rows: a list of the leaf."""
    site = node.site
    if not node.leaves or not isinstance(site, ast.Call) or evidence.flow.code.calls.get(site, "") != "itertools.chain":
        return None
    named = [each for each in site.args if isinstance(each, (ast.Name, ast.Attribute))]
    if len(named) != 1:
        return None
    text = evidence.program.source(named[0])
    doubt = f"`{short(text, 20)}` may be a list of tensors in another run"
    return fix(f"chain `[{short(text, 20)}]`, not its rows", Replace(evidence.program.span(named[0]), f"[{text}]"), ground=Ground.RAISES, doubt=doubt)


def repair_of(evidence: Evidence, statement: ast.Assign, made: ast.Call) -> Fix | NoFix:
    if any(keyword.arg == "requires_grad" for keyword in made.keywords):
        return fix(
            f"build `{short(ast.unparse(statement.targets[0]), 30)}` first, then call `.requires_grad_()`",
            RemoveArgument(evidence.program.span(made), "requires_grad"),
            Append(evidence.program.span(statement.value), ".requires_grad_()"),
            ground=Ground.RAISES,
            doubt=unless(keeps_elements(evidence, statement.value, made), "the result is trained in place of the leaf, and gets other gradients"),
        )  # fmt: skip
    target = statement.targets[0]
    if is_scaling(statement.value, made) and len(made.args) == 1 and not made.keywords:
        inner, outer = evidence.program.source(made.args[0]), evidence.program.source(made.func)
        scaled = spliced(evidence, statement.value, made, inner)
        return fix(
            "make the scaled tensor the parameter",
            Replace(evidence.program.span(statement.value), f"{outer}({scaled})"),
            doubt="the parameter is trained from now on, with the gradients of the scaled tensor",
        )
    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
        return applied_where_read(evidence, statement, target, made)
    return NoFix("the code does not show whether the leaf or the result should be trained")


def applied_where_read(evidence: Evidence, statement: ast.Assign, target: ast.Attribute, made: ast.Call) -> Fix | NoFix:
    """Keep the parameter in the attribute, and compute with it where the attribute is read."""
    program = evidence.program
    owner = program.enclosing(statement, (ast.ClassDef,))
    method = program.enclosing(statement, (ast.FunctionDef,))
    if owner is None or not isinstance(method, ast.FunctionDef):
        return NoFix("the code does not show whether the leaf or the result should be trained")
    same = [
        part for part in subtree(owner)
        if isinstance(part, ast.Attribute) and part.attr == target.attr and ast.unparse(part) == ast.unparse(target)
    ]  # fmt: skip
    reads = [part for part in same if isinstance(part.ctx, ast.Load)]
    others = [
        part
        for part in subtree(program.tree_of(statement))
        if isinstance(part, ast.Attribute) and part.attr == target.attr and part not in same
    ]
    local = {argument.arg for argument in method.args.args} | {
        part.id for part in subtree(method) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
    parameter = set(subtree(made))
    used = {part.id for part in subtree(statement.value) if isinstance(part, ast.Name) and part not in parameter}
    if not reads or len(same) != len(reads) + 1 or others or used & local or any(read in subtree(method) for read in reads):
        return NoFix(f"`{ast.unparse(target)}` is read or set in other places, too")
    applied = spliced(evidence, statement.value, made, program.source(target))
    return fix(
        f"keep the parameter in `{ast.unparse(target)}` and compute with it where it is read",
        Replace(evidence.program.span(statement.value), program.source(made)),
        *(Replace(evidence.program.span(read), applied) for read in reads),
        doubt="the parameter is trained from now on, which changes the results",
    )  # fmt: skip


def spliced(evidence: Evidence, value: ast.expr, part: ast.expr, text: str) -> str:
    """The source of `value` with `part` of it replaced by `text`."""
    source, start, span = evidence.program.source(value).encode(), evidence.program.span(value).start, evidence.program.span(part)
    return (source[: span.start - start] + text.encode() + source[span.end - start :]).decode()


def keeps_elements(evidence: Evidence, value: ast.expr, made: ast.Call) -> bool:
    """Whether each element of the initial value becomes one of the result: no two share a number, or memory, with one another."""
    if value is made:
        return True
    if isinstance(value, ast.UnaryOp):
        return keeps_elements(evidence, value.operand, made)
    if isinstance(value, ast.BinOp):
        inner, other = (value.left, value.right) if made in subtree(value.left) else (value.right, value.left)
        return keeps_elements(evidence, inner, made) and is_number(evidence, other)
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute) or value.func.attr not in ELEMENTWISE:
        return False
    return made in subtree(value.func.value) and keeps_elements(evidence, value.func.value, made)


@true_of_itself
def is_number(evidence: Evidence, value: ast.expr) -> bool:
    """Whether an operand is surely no tensor: numbers, and what `math` makes of anything."""
    flow = evidence.flow
    if isinstance(value, ast.BinOp):
        return is_number(evidence, value.left) and is_number(evidence, value.right)
    if isinstance(value, ast.UnaryOp):
        return is_number(evidence, value.operand)
    sources = [each for each in flow.graph.sources(value) if isinstance(each, ast.expr)]
    return bool(sources) and all(
        isinstance(each, ast.Constant)
        or isinstance(each, ast.Call)
        and flow.code.calls.get(each, "").split(".")[0] in ("math", "float", "int", "len")
        or isinstance(each, (ast.BinOp, ast.UnaryOp))
        and each is not value
        and is_number(evidence, each)
        for each in sources
    )


def is_scaling(value: ast.expr, made: ast.Call) -> bool:
    """Whether the operation only scales or shifts the initial value by numbers: that belongs into the parameter."""
    if value is made:
        return True
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, (ast.Mult, ast.Div, ast.Add, ast.Sub)):
        return False
    sides = [side for side in (value.left, value.right) if made in subtree(side)]
    return len(sides) == 1 and is_scaling(sides[0], made)


RULE = rule(
    "GF205",
    "non-leaf-parameter",
    globals(),
    find,
    repair="Make what is trained a leaf.",
    by_hand="compute the tensor first, call `.requires_grad_()` on the result, and give that to the optimizer",
    shows=(NOT_A_LEAF, SECOND_WALK),
    results=Expected(reason="what was computed from a hidden leaf is the trained leaf now"),
)
