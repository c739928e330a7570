"""One player's loss reaches the other player's network, for a gradient that nothing uses.

## What it does
Finds two backward passes through one graph where one of them only leaves a gradient that is cleared before any step reads it: a
discriminator or critic that gets the generator's output, a policy loss weighted by an advantage with the critic's
graph, a target that keeps its graph. It also finds a single loss that leads into a network for nothing: what it leaves there is always
cleared before a step (the discriminator's loss on a fake that the generator makes for it alone), or no optimizer steps that network (a
target network, which is a copy of the trained one, or a teacher in evaluation mode).

## Why is this bad
The backward pass uses, and frees, a graph that belongs to the other loss. The other loss's `backward()` raises
"RuntimeError: Trying to backward through the graph a second time", or, if an optimizer has stepped in between,
"RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation".
`retain_graph=True` hides the former, and the pass through the other network remains wasted time and memory.

## Example
```python
fake = generator(z)
d_loss = criterion(critic(real), ones) + criterion(critic(fake), zeros)
critic_optimizer.zero_grad()
d_loss.backward()
critic_optimizer.step()

g_loss = criterion(critic(fake), ones)
generator_optimizer.zero_grad()
g_loss.backward()
generator_optimizer.step()
```

## Use instead
```python
fake = generator(z)
d_loss = criterion(critic(real), ones) + criterion(critic(fake.detach()), zeros)
critic_optimizer.zero_grad()
d_loss.backward()
critic_optimizer.step()

g_loss = criterion(critic(fake), ones)
generator_optimizer.zero_grad()
g_loss.backward()
generator_optimizer.step()
```

## Fix safety
The fix is safe if every gradient behind the detached value is known to be cleared before a step reads it: training stays the same
as with a retained graph. If an optimizer steps between the two passes, it is safe only if the detached value is a weight or a target of
the loss (an advantage, a target value), and unsafe if it is the input of a network that the loss trains: then the unused gradient may
be intended, or may be the fault itself. If the gradients of both passes are used, nothing is detached: see sequential-backward and
step-between-backwards. For a single loss the same holds. If a single loss reaches a network that no optimizer steps, the fix is unsafe, because an optimizer
outside the analysed code may have its parameters.

## References
- https://pytorch.org/tutorials/beginner/dcgan_faces_tutorial.html
- https://pytorch.org/docs/stable/notes/autograd.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.conflicts import Meeting, meetings, weighs_only
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.idle_networks import IdleNetwork, idle_networks
from graphfix.analysis.subject import Subject
from graphfix.analysis.unretained import unretained
from graphfix.analysis.walked_again import in_sight
from graphfix.autograd.symptoms import RETAINS, SECOND_WALK, WALKS_MORE, WRITTEN_IN_PLACE
from graphfix.codemods.base import rule
from graphfix.model import Append, Finding, Ground, Operation, RemoveArgument, Severity, in_time
from graphfix.repair.fixes import fix, unless
from graphfix.source.quote import short
from graphfix.verify.expected import Expected


def find(evidence: Evidence) -> Iterator[Finding]:
    done: set[ast.expr] = set()
    for meeting in meetings(evidence):
        if meeting.cuts and not done & set(meeting.cuts):
            done.update(meeting.cuts)
            yield from evidence.told(report, meeting, meeting.cuts)
    for network in idle_networks(evidence):
        if not done & set(network.cuts):
            done.update(network.cuts)
            yield from evidence.told(report_idle, network)


def report(evidence: Evidence, meeting: Meeting, cuts: list[ast.expr]) -> Finding:
    program = evidence.program
    names = ", ".join(dict.fromkeys(f"`{short(program.source(cut), 20)}`" for cut in cuts))
    conflict = meeting.conflicts[0]
    story = [evidence.label(cut, "this keeps the graph of a network that this loss does not train") for cut in cuts]
    if conflict.first is not None and evidence.program.holds(conflict.first.site):
        kept = "keeps the shared graph for" if meeting.retained else "frees the shared graph before"
        story.append(evidence.label(conflict.first.site, f"this backward() {kept} the other loss"))
    for update in conflict.steps[:1]:
        if evidence.program.holds(update.site):
            story.append(evidence.label(update.site, "this step changes parameters that the shared graph has saved"))
    story.append(
        evidence.label(
            meeting.site, "this backward() goes through the shared graph again" + ("" if meeting.retained else " and raises")
        )
    )
    operations: list[Operation] = [Append(evidence.program.span(cut), ".detach()") for cut in cuts]
    retained = kept_for_this(evidence, meeting)
    if retained is not None:
        operations.append(RemoveArgument(evidence.program.span(retained), "retain_graph"))
    sure = meeting.always and (not meeting.is_stale or weighs_only(meeting))
    doubt = unless(meeting.always, "only some runs go through the shared graph twice")
    doubt = doubt or unless(sure, "a step comes in between, and a new forward pass with the stepped parameters may be meant")
    repair = fix(f"detach {names}", *operations, ground=Ground.DROPPED, doubt=doubt)
    blamed = program.statement_of(cuts[0])
    message = f"{short(names)} connects a loss to a network that it does not train"
    severity = Severity.WARNING if meeting.retained else Severity.ERROR
    written = meeting.is_stale and all(each.first is None for each in meeting.conflicts)
    shown = RETAINS if meeting.retained else WRITTEN_IN_PLACE if written else SECOND_WALK
    # other backward passes that the same detach parts raise no more
    sites = [each.site for each in meetings(evidence) if not each.retained and not set(cuts).isdisjoint(each.cuts or ())]
    return RULE.finding(
        evidence,
        message,
        evidence.program.span(blamed),
        in_time(*story),
        repair,
        severity=severity,
        shown=shown,
        subject=Subject(about=frozenset([meeting.site]), explains=frozenset(sites)),
    )


def report_idle(evidence: Evidence, network: IdleNetwork) -> Finding:
    program, cuts = evidence.program, network.cuts
    names = ", ".join(dict.fromkeys(f"`{short(program.source(cut), 20)}`" for cut in cuts))
    trained = network.is_trained
    which, unread = ("this loss does not train", "are cleared unused") if trained else ("no optimizer steps", "nothing reads")
    story = [evidence.label(cut, f"this keeps the graph of a network that {which}") for cut in cuts]
    story.append(evidence.label(network.site, f"this backward() also computes gradients for its parameters, which {unread}"))
    repair = fix(
        f"detach {names}",
        *(Append(evidence.program.span(cut), ".detach()") for cut in cuts),
        ground=Ground.DROPPED if trained else Ground.UNTRAINED,
        doubt=unless(trained, "an optimizer outside the analysed code may step this network"),
    )
    message = f"{short(names)} connects a loss to a network that {'it does not train' if trained else 'no optimizer trains'}"
    return RULE.finding(
        evidence,
        message,
        evidence.program.span(program.statement_of(cuts[0])),
        in_time(*story),
        repair,
        severity=Severity.WARNING,
        shown=WALKS_MORE,
    )


def kept_for_this(evidence: Evidence, meeting: Meeting) -> ast.Call | None:
    """The first walk, where it retains its graph for nothing but the walk that the detach makes independent."""
    hidden, first = unretained(evidence), meeting.conflicts[0].first
    if not meeting.retained or hidden is None or first is None or hidden.sites[first.site].arg != "retain_graph":
        return None
    others = [w for w in hidden.evidence.second_backwards if w.freed_by.site is first.site and w.walk.site is not meeting.site]
    sure = all(in_sight(c.run, c.first) for c in meeting.conflicts if c.first is not None)
    return first.site if sure and not others else None


RULE = rule(
    "GF303",
    "missing-detach",
    globals(),
    find,
    repair="Detach what connects a loss to a network that it does not train.",
    by_hand="write `{}.detach()` where this loss uses it",
    shows=(RETAINS, WALKS_MORE, SECOND_WALK, WRITTEN_IN_PLACE),
    results=Expected("retain"),
    yields_to=("GF306",),
)
