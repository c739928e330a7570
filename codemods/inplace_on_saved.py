"""A tensor that a backward pass still needs is changed in place.

## What it does
Finds in-place writes (`x += r`, `x[mask] = 0`, `x.relu_()`, `inplace=True`) to a tensor that an earlier operation has saved for
its gradient, when a later `backward()` goes through that operation. If the write is in an imported file, where it may be right by
itself, the finding is at the `backward()` that it makes fail.

## Why is this bad
The gradient would be computed with the new values. Autograd notices it by the version counter: `backward()` raises
"RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation".
Sigmoid, tanh, relu, exp and softmax save their output; products, powers and layers save their inputs; sums save nothing.

## Example
```python
class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.value = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        gate = torch.sigmoid(self.gate(x))
        gate += 0.1
        return gate * self.value(x)

Gated()(x).sum().backward()
```

## Use instead
```python
class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.value = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        gate = torch.sigmoid(self.gate(x))
        gate = gate + 0.1
        return gate * self.value(x)

Gated()(x).sum().backward()
```

## Fix safety
The out-of-place form computes the same values. If the statement that writes has itself saved the old values
(`h[i] = torch.tanh(h[i - 1] * w)`), the value is computed first, and then written to a copy of `h`. The fix is safe if every run
with this write raises later, so no working run changes, and if no other variable refers to the old tensor or a view of it. It is unsafe if
some run does not raise. If another variable may refer to the tensor, it would no longer see the change: then the operation that saves
the tensor works with a copy of it, where that ends the fault. That fix is unsafe: the gradient is computed with the values from before
the write.

## References
- https://pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.overwrites import Overwrite, overwrites
from graphfix.autograd.symptoms import WRITTEN_IN_PLACE
from graphfix.codemods.base import rule
from graphfix.model import Finding, in_time
from graphfix.repair.out_of_place import out_of_place
from graphfix.source.quote import short
from graphfix.verify.expected import Expected


def find(evidence: Evidence) -> Iterator[Finding]:
    for fault in overwrites(evidence):
        yield from evidence.told(report, fault)


def report(evidence: Evidence, fault: Overwrite) -> Finding:
    statement = evidence.program.statement_of(fault.write.site)
    story = [evidence.label(fault.write.site, "this changes the tensor in place")]
    if evidence.program.holds(fault.overwritten.node.site):
        story.insert(0, evidence.label(fault.overwritten.node.site, "this operation saves a tensor for its gradient"))
    if evidence.program.holds(fault.walk.site):
        story.append(evidence.label(fault.walk.site, "backward() needs the saved values and raises"))
    text = short(ast.unparse(statement).splitlines()[0], 36)
    message = f"`{text}` overwrites values that backward() needs"
    return RULE.finding(evidence, message, evidence.program.span(statement), in_time(*story), out_of_place(evidence, fault))


RULE = rule(
    "GF401",
    "inplace-on-saved",
    globals(),
    find,
    repair="Write out of place to tensors that a backward pass still needs.",
    by_hand="make a new tensor, as in `x = x + y`, in place of `{}`",
    shows=(WRITTEN_IN_PLACE,),
    results=Expected("copy"),
)
