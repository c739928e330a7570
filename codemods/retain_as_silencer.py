"""`retain_graph=True` in a loop hides that a graph is carried from one iteration into the next.

## What it does
Finds a `backward()` whose graph is retained only because the next iteration's `backward()` goes through it again: through
carried state, a running total, or a tensor that is computed before the loop.

## Why is this bad
The error "RuntimeError: Trying to backward through the graph a second time" is gone, the fault is not: each
`backward()` goes through the graphs of all earlier iterations, so time and memory grow with every iteration. As soon as
an optimizer changes a parameter that the old graph saved, `backward()` raises all the same:
"RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation".

## Example
```python
h = torch.zeros(1, batch, hidden)
for x, y in loader:
    out, h = rnn(x, h)
    loss = F.mse_loss(out, y)
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
```

## Use instead
```python
h = torch.zeros(1, batch, hidden)
for x, y in loader:
    h = h.detach()
    out, h = rnn(x, h)
    loss = F.mse_loss(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Fix safety
If the `backward()` with the retained graph works, detaching ends the gradient at the start of each iteration (truncated
backpropagation through time), while one `backward()` on the sum of the losses would keep it. That is a choice, so the fix is unsafe. It is
safe if `backward()` raises in spite of `retain_graph=True`, because a step has changed what the old graph saved.

## References
- https://pytorch.org/docs/stable/generated/torch.Tensor.backward.html
- Williams and Peng (1990), An efficient gradient-based algorithm for on-line training of recurrent network trajectories
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Iterator

from graphfix.analysis.carried import carried_finding
from graphfix.analysis.conflicts import Conflict, stale_below
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.hidden import Hidden, hidden
from graphfix.analysis.old_totals import accumulated
from graphfix.analysis.outer_graph import external
from graphfix.analysis.second_backward import Cause, SecondBackward
from graphfix.analysis.subject import Draft, Subject
from graphfix.analysis.unretained import Unretained, across_iterations
from graphfix.autograd.symptoms import GROWS, SECOND_WALK, WRITTEN_IN_PLACE
from graphfix.codemods.base import rule
from graphfix.model import Finding, Fix, Ground, NoFix, Operation, RemoveArgument, Severity, in_time
from graphfix.repair.candidate import Candidate
from graphfix.repair.candidates import proposed
from graphfix.repair.entering import at_boundary
from graphfix.repair.fixes import fix, unless
from graphfix.repair.stored_value import piled_up
from graphfix.source.quote import short
from graphfix.verify.expected import Expected


def find(evidence: Evidence) -> Iterator[Finding]:
    trial = across_iterations(evidence)
    if trial is None:
        return
    for group in hidden(evidence):
        sites = list(dict.fromkeys(walk.freed_by.site for walk in group.walks))
        for finding, repair in shown(trial.evidence, group):
            yield told(evidence, trial, sites, finding, repair, [walk.walk.site for walk in group.walks])


CHANGES = "training changes: gradients no longer reach earlier iterations through the retained graphs"


def shown(trial: Evidence, group: Hidden) -> Iterator[tuple[Finding, Fix | NoFix]]:
    """What the walks would be told as without retaining, and the repair for that."""
    if group.cause is Cause.CARRIED:
        found = state(trial, group.loop, group.carriers)
        if found is not None:
            yield found
        return
    what, findings = without_retaining(trial, group)
    for finding in findings:
        yield dataclasses.replace(finding, message=what), repair_for(trial, finding)


def repair_for(trial: Evidence, finding: Finding) -> Fix | NoFix:
    """What its own rule would propose for the finding that the walks are without retaining."""
    if not isinstance(finding, Draft) or finding.fix is not None or not isinstance(finding.shown_by, (SecondBackward, Conflict)):
        return finding.fix or NoFix(finding.unfixed)
    found = next(iter(proposed(trial, finding.shown_by)), NoFix(finding.unfixed))
    return found.fix if isinstance(found, Candidate) else found


def without_retaining(trial: Evidence, group: Hidden) -> tuple[str, Iterable[Finding]]:
    """What the walks meet, in words, and the findings of the rule for that."""
    if group.pile is not None:
        finding = piled_up(trial, group.pile, RULE.finding)
        return "a container keeps old graphs", [finding] if finding is not None else []
    if group.cause is Cause.TOTAL:
        return "a total still holds old losses", accumulated(trial, group.walks, RULE.finding)
    return "a graph from before the loop is used again", external(trial, group.walks, RULE.finding)


def state(trial: Evidence, loop: ast.AST | None, carriers: dict[str, list[SecondBackward]]) -> tuple[Finding, Fix | NoFix] | None:
    """All that one loop carries, detached together: with a part of it still attached the walk would raise."""
    findings = [carried_finding(trial, loop, name, group, RULE.finding) for name, group in carriers.items()]
    told = [finding for finding in findings if finding is not None]
    if not told:
        return None
    repairs = [at_boundary(trial, loop, name, group[0]) for name, group in carriers.items()]
    operations = [operation for repair in repairs if isinstance(repair, Candidate) for operation in repair.operations]
    refused = [repair for repair in repairs if isinstance(repair, NoFix)]
    names = ", ".join(f"`{name}`" for name in carriers)
    whole = refused[0] if refused else fix(f"detach {names} where an iteration begins", *operations)
    kept = "keeps old graphs" if len(carriers) == 1 else "keep old graphs"
    return dataclasses.replace(told[0], message=f"{short(names, 22)} {kept}"), whole


def told(
    evidence: Evidence,
    trial: Unretained,
    sites: list[ast.Call],
    finding: Finding,
    repair: Fix | NoFix,
    walks: list[ast.Call],
) -> Finding:
    """The finding that the loop would be without retaining, told as what retaining hides."""
    statement = evidence.program.statement_of(sites[0])
    walked = {evidence.program.span(site) for site in sites}
    story = in_time(
        *(label for label in finding.story if label.span not in walked),
        evidence.label(trial.sites[sites[0]].value, "this hides it: every backward() goes through all earlier iterations"),
    )
    whole: Fix | NoFix = repair
    raised = raised_anyway(evidence, sites)
    raises = raised is not None
    if isinstance(repair, Fix):
        removed: list[Operation] = [RemoveArgument(evidence.program.span(site), str(trial.sites[site].arg)) for site in sites]
        title = f"{repair.title}, and free each graph"
        whole = fix(title, *repair.operations, *removed, ground=Ground.RAISES, doubt=unless(raises, CHANGES) or repair.doubt)
    message = f"`{trial.sites[sites[0]].arg}=True` hides that {finding.message}"
    severity = Severity.ERROR if raises else Severity.WARNING
    about = finding.subject.about if isinstance(finding, Draft) else frozenset()
    return RULE.finding(
        evidence,
        message,
        evidence.program.span(statement),
        story,
        whole,
        severity=severity,
        shown=WRITTEN_IN_PLACE if raises else None,
        subject=Subject(about=about, explains=frozenset(walks)),
        shown_by=raised,
    )


def raised_anyway(evidence: Evidence, sites: list[ast.Call]) -> Conflict | None:
    """The first retained walk of a second iteration, where all of these raise, in every run, as a step has changed what the old graph saved."""
    later = [
        (run, event)
        for run in evidence.tape.runs
        for event in run.recording.walks
        if event.site in sites and any(iteration > 0 for _, iteration in event.context[-1:])
    ]
    if not later or not all(any(stale.certain for stale in event.stale) for _, event in later):
        return None
    run, event = later[0]
    stale, steps = stale_below(run, event)
    return Conflict(run, event, None, set(), stale, steps) if steps else None


RULE = rule(
    "GF306",
    "retain-as-silencer",
    globals(),
    find,
    repair="Detach what retain_graph=True carries on, and free each graph.",
    by_hand="detach what one iteration hands to the next, then remove `retain_graph=True`",
    shows=(GROWS, SECOND_WALK, WRITTEN_IN_PLACE),
    severity=Severity.WARNING,
    results=Expected("cut", "the gradient ends where the iteration begins"),
    yields_to=("GF205",),
)
