"""`deepcopy` meets a tensor that has a graph.

## What it does
Finds `copy.deepcopy(x)` where `x` is, or holds, a tensor that an operation has computed from what is trained: what `forward` leaves on
a module, a weight that is computed from others, a list of losses.

## Why is this bad
torch copies no graphs, and raises
"RuntimeError: Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment".
What keeps the tensor keeps its graph alive, too.

## Example
```python
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(4, 4)
        self.weights = None

    def forward(self, x):
        weights = self.score(x).softmax(dim=-1)
        self.weights = weights
        return weights * x

model = Attention()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
best = copy.deepcopy(model)
```

## Use instead
```python
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(4, 4)
        self.weights = None

    def forward(self, x):
        weights = self.score(x).softmax(dim=-1)
        self.weights = weights.detach()
        return weights * x

model = Attention()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
best = copy.deepcopy(model)
```

## Fix safety
Safe if what is stored is detached there, and nothing goes backward through it. Where a backward pass needs what is stored, it is detached
right before the copy, which is unsafe: code behind the copy may go on from its graph.

## References
- https://docs.pytorch.org/docs/stable/tensors.html#torch.Tensor.is_leaf
- https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.parametrizations.weight_norm.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.copied_graphs import CopiedGraph, copied_graphs
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.subject import Subject
from graphfix.autograd.symptoms import COPIED
from graphfix.codemods.base import rule
from graphfix.interpreter.recording import Store
from graphfix.model import Finding, Label, NoFix, in_time
from graphfix.source.quote import short
from graphfix.verify.expected import Expected

COPIES = "torch copies no graph: this raises"


def find(evidence: Evidence) -> Iterator[Finding]:
    for fault in copied_graphs(evidence):
        yield from evidence.told(report, fault)


def report(evidence: Evidence, fault: CopiedGraph) -> Finding:
    program, site = evidence.program, fault.copied.site
    stores = list({store.target: store for _, store in fault.kept if store is not None}.values())
    path = next((held.path for held, _ in fault.kept if held.path is not None), "")
    whole = short((ast.unparse(site.args[0]) if site.args else "it") + path, 40)
    story = [kept(evidence, store) for store in stores]
    if not stores:
        made = [held.node.site for held, _ in fault.kept if program.holds(held.node.site)]
        story = [evidence.label(made[0], "this records the graph")] if made and made[0] is not site else []
    names = ", ".join(f"`{short(ast.unparse(store.target))}`" for store in stores[:3])
    several = "keep graphs" if len(stores) > 1 else "keeps a graph"
    message = (
        f"{names} {several}, which `deepcopy` does not copy"
        if stores
        else f"`{whole}` has a graph, which `deepcopy` does not copy"
    )
    blamed = stores[0].target if stores else site
    nodes = frozenset(held.node for held, _ in fault.kept)
    return RULE.finding(
        evidence,
        message,
        program.span(program.statement_of(blamed)),
        in_time(*story, evidence.label(site, COPIES)),
        NoFix("the code does not show where the graph can be cut"),
        subject=Subject(about=frozenset([site]), nodes=nodes),
        shown_by=fault.copied,
    )


def kept(evidence: Evidence, store: Store) -> Label:
    return evidence.label(evidence.program.statement_of(store.target), "this keeps a tensor with its graph")


RULE = rule(
    "GF311",
    "copied-graph",
    globals(),
    find,
    repair="Detach what is kept, so that it can be copied.",
    by_hand="detach `{}` where it is stored, set it to None before the copy, or copy `state_dict()` into a new model",
    shows=(COPIED,),
    results=Expected(reason="the original ends at the copy", strict=True),
)
