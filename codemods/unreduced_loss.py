"""`backward()` is called on a loss for each sample, not on one number.

## What it does
Finds a `backward()` without a gradient on a loss that was made with `reduction="none"`, and never reduced on the way.

## Why is this bad
Without a gradient to start with, autograd can only differentiate one number. It raises
"RuntimeError: grad can be implicitly created only for scalar outputs".

## Example
```python
criterion = nn.MSELoss(reduction="none")
for x, y in loader:
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Use instead
```python
criterion = nn.MSELoss(reduction="none")
for x, y in loader:
    loss = criterion(model(x), y).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Fix safety
Never safe: the mean and the sum of the losses train at different rates, and the code does not show which one is meant. Both are offered.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.subject import explaining
from graphfix.analysis.unreduced_losses import unreduced_losses
from graphfix.autograd.symptoms import NOT_SCALAR
from graphfix.codemods.base import rule
from graphfix.interpreter.recording import Unreduced
from graphfix.model import Finding, NoFix, in_time
from graphfix.source.quote import short
from graphfix.verify.expected import Expected


def find(evidence: Evidence) -> Iterator[Finding]:
    for loss in unreduced_losses(evidence):
        yield from evidence.told(report, loss)


def report(evidence: Evidence, loss: Unreduced) -> Finding:
    program = evidence.program
    told = {loss.root.site: "it still is one for each sample here", loss.made: "this gives a loss for each sample"}
    story = [evidence.label(site, words) for site, words in reversed(told.items()) if program.holds(site)]
    receiver = loss.receiver if loss.receiver is not None else loss.site
    return RULE.finding(
        evidence,
        f"`{short(program.source(receiver), 30)}` is a loss for each sample, and `backward()` needs one number",
        program.span(program.statement_of(loss.site)),
        in_time(*story, evidence.label(loss.site, "this backward() needs one number, and raises for more than one sample")),
        NoFix("the code does not show where the loss can be reduced"),
        subject=explaining([loss.root]),
        shown_by=loss,
    )


RULE = rule(
    "GF312",
    "unreduced-loss",
    globals(),
    find,
    repair="Make one number of the losses of all samples.",
    by_hand="write `{}.mean()`, or give `backward()` a gradient",
    shows=(NOT_SCALAR,),
    results=Expected(reason="the original trains nothing", losses=False, joins=True),
)
