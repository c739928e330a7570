"""The names of torch 0.3: `Variable`, `volatile`, `retain_variables`, and a gradient for a loss of one dimension.

## What it does
Finds `volatile=True`, which torch ignores, `retain_variables=True`, which it refuses, and a gradient of shape `(1,)` for a loss
that has no dimension (`loss.backward(torch.FloatTensor([1]))`), which does not match. A `Variable(x)` without such a fault is an
optional finding, and so is an unused import of `Variable`: they are reported if `--select` names this rule, as in
`--select GF9`.

## Why is this bad
Because `volatile` is ignored, an evaluation records its graph, and memory grows as it did not in torch 0.3; torch only warns:
"volatile was removed and now has no effect". `retain_variables` raises
"TypeError: Tensor.backward() got an unexpected keyword argument 'retain_variables'", the gradient of the wrong shape raises
"RuntimeError: Mismatch in shape". A plain `Variable(x)` is `x.detach()`: it does nothing, or it cuts a graph without saying so.

## Example
```python
from torch.autograd import Variable

noise = Variable(torch.randn(64, 100), volatile=True)
fake = netG(noise)
save_image(fake.data, "fake.png")
```

## Use instead
```python
noise = torch.randn(64, 100)
with torch.no_grad():
    fake = netG(noise)
save_image(fake.data, "fake.png")
```

## Fix safety
`volatile` and its wrapper are removed, and everything computed from it runs under `no_grad`. That is safe if graphfix sees all code
that uses the results and no `backward()` goes through them, and unsafe if code that is not analysed can reach them. There is no fix if a
`backward()` does reach them or another function continues the computation. `retain_variables` and a gradient of the wrong shape raise in
every run, so their fix is safe. `Variable(x)` becomes `x` if `x` has no graph, `x.detach()` if it has one, and
`x.detach().requires_grad_()` if the code creates a new leaf: safe if the simulation knows `x`, or if a `DataLoader` returned it.

## References
- https://pytorch.org/blog/pytorch-0_4_0-migration-guide/
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from graphfix.analysis.evaluations import regions
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.explore import Run, Tape
from graphfix.analysis.mended import by_not_recording
from graphfix.analysis.region import Region as Evaluation
from graphfix.analysis.subject import Subject, explaining
from graphfix.analysis.volatile import Region, computed_from, flag, flagged, flagged_in, region, trial
from graphfix.analysis.walked_again import in_sight, needed
from graphfix.autograd.backward import BackwardPass, WalkKind
from graphfix.autograd.symptoms import OLD_ARGUMENT, OLD_FLAG, OLD_SHAPE
from graphfix.codemods.base import rule
from graphfix.interpreter.recording import AliasKind, Seed
from graphfix.interpreter.shapes import ONE, SCALAR, shape_of
from graphfix.model import (
    OUTSIDE,
    AddArgument,
    Append,
    Delete,
    Finding,
    Fix,
    Ground,
    InsertBefore,
    Label,
    NoFix,
    Operation,
    RemoveArgument,
    Replace,
    Severity,
    Wrap,
)
from graphfix.repair.fixes import fix, naming_torch, unless
from graphfix.repair.no_grad import doubt_of, doubted_at, no_grad_around, recording_part, story_of
from graphfix.repair.unwrap import Seen, Unwrapped, operations, unwrapped
from graphfix.source.quote import short
from graphfix.source.subtree import subtree
from graphfix.verify.expected import Expected

MAY_BE_USED = f"{OUTSIDE}may call backward() on what is computed there"
OTHERS_HOLD = "the tensor that is wrapped may be used elsewhere, where it would no longer be the same object"
IGNORED = "is ignored: the graph is recorded"
NO_PLACE = "the statements of the evaluation do not stand together in one block"
ORIGINS = ("torch.autograd", "torch.autograd.variable")


def find(evidence: Evidence) -> Iterator[Finding]:
    yield from wraps(evidence)
    yield from types(evidence)
    yield from retained(evidence)
    yield from gradients(evidence)
    yield from imports(evidence)


def wraps(evidence: Evidence) -> Iterator[Finding]:
    """`Variable(...)`, one finding a statement."""
    statements: dict[ast.stmt, dict[ast.Call, Seen]] = {}
    for run in evidence.tape.runs:
        for alias in run.recording.aliases:
            if alias.kind is AliasKind.VARIABLE and isinstance(alias.site, ast.Call) and evidence.program.holds(alias.site):
                statement = evidence.program.statement_of(alias.site)
                statements.setdefault(statement, {}).setdefault(alias.site, []).append((run, alias))
    volatile = flagged(evidence)
    held = {site: around for around in regions(evidence).found for site in flagged_in(evidence, around)}
    tried = trial(evidence, volatile) if volatile else None
    evaluations: dict[Evaluation, list[dict[ast.Call, Seen]]] = {}
    blocks: dict[int, list[dict[ast.Call, Seen]]] = {}
    for statement, sites in statements.items():
        old = sites.keys() & volatile
        if old and old <= held.keys():
            evaluations.setdefault(held[next(iter(old))], []).append(sites)
        elif old and tried is not None:
            blocks.setdefault(id(evidence.program.block_of(statement)), []).append(sites)
        elif (finding := plain(evidence, sites)) is not None:
            yield finding
    for parts in blocks.values() if tried is not None else ():
        yield from ignored_in(evidence, tried, parts, volatile)
    for around, parts in evaluations.items():
        yield in_evaluation(evidence, around, parts, volatile)


def ignored_in(evidence: Evidence, tried: Tape, parts: list[dict[ast.Call, Seen]], volatile: set[ast.Call]) -> Iterator[Finding]:
    """One finding for the inputs and the labels of a block, where one repair does for all of them; else one for each statement."""
    sites = {site: seen for part in parts for site, seen in part.items()}
    whole = ignored(evidence, tried, sites, sites.keys() & volatile)
    if len(parts) == 1 or whole.fix is not None:
        yield whole
        return
    yield from (ignored(evidence, tried, part, part.keys() & volatile) for part in parts)


def ignored(evidence: Evidence, tried: Tape, sites: dict[ast.Call, Seen], old: set[ast.Call]) -> Finding:
    """A `volatile=True` that builds a graph all the same."""
    place = region(evidence, tried, old)
    ready = {site: made for site, made in texts_of(evidence, sites).items() if made.safe or site in old}
    repair: Fix | NoFix = NoFix(NO_PLACE)
    if place is not None and old <= ready.keys() and all(map(is_constant, old)):
        repair = without_graph(evidence, place, ready, all(ready[site].alone for site in old))
    what = "has no effect here" if place is not None and not place.statements else IGNORED
    computed = computed_from(tried, old)
    recording = sorted((each for each in computed if place and place.statements), key=lambda each: each.lineno)[:1]
    story = [evidence.label(recording_part(each), "this records a graph that no backward() uses") for each in recording]
    ends = by_not_recording(evidence, place.statements, place.statements) if place is not None else None
    return told(evidence, old, what, story, repair, Subject(explains=frozenset(computed), ends=ends))


def in_evaluation(
    evidence: Evidence, held: Evaluation, statements: list[dict[ast.Call, Seen]], volatile: set[ast.Call]
) -> Finding:
    """An evaluation that `volatile` was to keep from building graphs: all of it is one fault."""
    edits: list[Operation] = []
    old = {site for sites in statements for site in sites if site in volatile}
    alone = True
    for sites in statements:
        ready = {site: made for site, made in texts_of(evidence, sites).items() if made.safe or site in old}
        alone &= all(site in ready and ready[site].alone for site in sites if site in old)
        if ready:
            edits += operations(evidence, {site: made.text for site, made in ready.items()}, held.function is not None)
    around = no_grad_around(evidence, held)
    doubt = doubt_of(held) or unless(alone, OTHERS_HOLD)
    repair = fix(around[0], *edits, *around[1], doubt=doubt) if around is not None else NoFix(NO_PLACE)
    story = [*story_of(evidence, held), *(doubted_at(evidence, held) if around is not None else ())]
    ways = frozenset(node.way for node, _ in held.forwards)
    meant = Subject(explains=ways, ends=by_not_recording(evidence, held.parts, held.repaired))
    return told(evidence, old, IGNORED, story, repair, meant)


def told(
    evidence: Evidence, old: set[ast.Call], what: str, story: Iterable[Label], repair: Fix | NoFix, subject: Subject | None = None
) -> Finding:
    first = min(old, key=lambda site: (site.lineno, site.col_offset))
    keyword = next((k for k in first.keywords if k.arg == "volatile"), None)
    label = evidence.label(first if keyword is None else keyword.value, "`volatile` was removed in torch 0.4")
    message = f"`volatile` of `{short(evidence.program.source(first), 28)}` {what}"
    return RULE.finding(evidence, message, evidence.blamed(first), [label, *story], repair, subject=subject)


def texts_of(evidence: Evidence, sites: dict[ast.Call, Seen]) -> dict[ast.Call, Unwrapped]:
    texts = {site: unwrapped(evidence, site, seen) for site, seen in sites.items()}
    return {site: made for site, made in texts.items() if made is not None}


def is_constant(site: ast.Call) -> bool:
    """Whether the flag is written out: what is passed on as a parameter is another caller's business, too."""
    return any(k.arg == "volatile" and isinstance(k.value, ast.Constant) for k in site.keywords)


def without_graph(evidence: Evidence, place: Region, ready: dict[ast.Call, Unwrapped], alone: bool) -> Fix:
    inside = {part for statement in place.statements for part in subtree(statement)}
    edits = operations(evidence, {site: made.text for site, made in ready.items()}, not any(site in inside for site in ready))
    if not place.statements:
        return fix("drop the wrap", *edits, doubt=unless(alone, OTHERS_HOLD))
    doubt = unless(place.safe, MAY_BE_USED) or unless(alone, OTHERS_HOLD)
    wrap: Operation = Wrap(
        tuple(evidence.program.span(statement) for statement in place.statements), f"with {evidence.program.file_of(place.statements[0]).torch}.no_grad():"
    )
    return fix("compute this under `torch.no_grad()`", *edits, *naming_torch(evidence, place.statements[0], wrap), doubt=doubt)


def plain(evidence: Evidence, sites: dict[ast.Call, Seen]) -> Finding | None:
    """`Variable(x)` that does what the tensor itself, or its `detach()`, does."""
    texts = {site: unwrapped(evidence, site, seen) for site, seen in sites.items() if is_settled(seen)}
    ready = {site: made for site, made in texts.items() if made is not None}
    if not ready:
        return None
    first = min(ready, key=lambda site: (site.lineno, site.col_offset))
    safe = all(made.safe for made in ready.values())
    words = dict.fromkeys(f"`{short(made.text, 30)}`" for made in ready.values())
    repair = fix(
        f"use {', '.join(list(words)[:2])}",
        *operations(evidence, {s: made.text for s, made in ready.items()}),
        doubt=unless(safe, "what is wrapped may be something other than a tensor, or may require grad"),
    )
    message = f"`{short(evidence.program.source(first))}` is a tensor since torch 0.4"
    story = (evidence.label(first, "since torch 0.4, this returns a plain tensor"),)
    return RULE.finding(evidence, message, evidence.blamed(first), story, repair, optional=True)


def types(evidence: Evidence) -> Iterator[Finding]:
    """`type(x) == Variable`, which no tensor fulfils any more."""
    aliases = (alias for run in evidence.tape.runs for alias in run.recording.aliases if alias.kind is AliasKind.TYPE)
    for site in dict.fromkeys(alias.site for alias in aliases if evidence.program.holds(alias.site)):
        assert isinstance(site, ast.Compare) and isinstance(site.left, ast.Call)
        denied = "not " if isinstance(site.ops[0], (ast.NotEq, ast.IsNot)) else ""
        torch = evidence.program.file_of(site).torch
        text = f"{denied}isinstance({evidence.program.source(site.left.args[0])}, {torch}.Tensor)"
        doubt = "code that never ran with today's torch would run"
        repair = fix(f"test `{short(text)}`", *naming_torch(evidence, site, Replace(evidence.program.span(site), text)), doubt=doubt)
        story = (evidence.label(site, "every tensor is of type `torch.Tensor` since torch 0.4"),)
        message = f"`{short(evidence.program.source(site))}` is {'always' if denied else 'never'} true of a tensor"
        yield RULE.finding(evidence, message, evidence.blamed(site), story, repair if torch else None)


def is_settled(seen: Seen) -> bool:
    return all(flag(alias, "volatile") is False for _, alias in seen)


def retained(evidence: Evidence) -> Iterator[Finding]:
    """`retain_variables`, which no backward pass takes any more."""
    sites: dict[ast.Call, list[tuple[Run, BackwardPass]]] = {}
    for run in evidence.tape.runs:
        for event in run.recording.walks:
            if isinstance(event.site, ast.Call) and event.kind is not WalkKind.LAUNCHER and evidence.program.holds(event.site):
                sites.setdefault(event.site, []).append((run, event))
    for site, events in sites.items():
        keyword = next((k for k in site.keywords if k.arg == "retain_variables"), None)
        if keyword is None:
            continue
        keeps = any(event.creates or needed(event, None) or not in_sight(run, event) for run, event in events)
        edits: list[Operation] = [RemoveArgument(evidence.program.span(site), "retain_variables")]
        title = "remove `retain_variables`"
        if keeps or not isinstance(keyword.value, ast.Constant):
            edits.append(AddArgument(evidence.program.span(site), "retain_graph", evidence.program.source(keyword.value)))
            title = "rename it to `retain_graph`"
        given = any(
            isinstance(root.callee, tuple) and root.callee[:1] == ("given",) for _, event in events for root in event.roots
        )
        story = (evidence.label(keyword.value, "this argument was removed in torch 0.4: the call raises"),)
        yield RULE.finding(
            evidence,
            "backward() no longer has an argument `retain_variables`",
            evidence.blamed(site),
            story,
            fix(title, *edits, ground=Ground.RAISES, doubt=unless(not given, "a caller may call backward() on this loss again")),
            severity=Severity.ERROR,
            subject=explaining([site]),
        )


def gradients(evidence: Evidence) -> Iterator[Finding]:
    """A gradient of shape (1,) for a root that has no dimension."""
    sites: dict[ast.Call, list[Seed]] = {}
    for run in evidence.tape.runs:
        for seed in run.recording.seeds:
            if evidence.program.holds(seed.site):
                sites.setdefault(seed.site, []).append(seed)
    for site, seeds in sites.items():
        given = site.args[0] if site.args else next((k.value for k in site.keywords if k.arg == "gradient"), None)
        if given is None or any((shape_of(seed.root), shape_of(seed.gradient)) != (SCALAR, ONE) for seed in seeds):
            continue
        root = site.func.value if isinstance(site.func, ast.Attribute) else site.func
        story = (evidence.label(given, "the gradient must have the shape of the loss"),)
        repair = fix("remove its dimension with `.squeeze()`", Append(evidence.program.span(given), ".squeeze()"), ground=Ground.RAISES)
        names = short(evidence.program.source(given), 25), short(evidence.program.source(root), 25)
        message = f"`{names[0]}` has one dimension, `{names[1]}` has none"
        yield RULE.finding(evidence, message, evidence.blamed(site), story, repair, severity=Severity.ERROR, shown=OLD_SHAPE)


def imports(evidence: Evidence) -> Iterator[Finding]:
    """An import of `Variable` that nothing in the file uses."""
    tree = evidence.program.main.tree
    parts = list(subtree(tree)) if "Variable" in evidence.program.main.text else []
    used = {part.id for part in parts if isinstance(part, ast.Name)}
    used |= {part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)}
    for statement in parts:
        if not isinstance(statement, ast.ImportFrom) or statement.module not in ORIGINS or statement.level:
            continue
        unused = [alias for alias in statement.names if alias.name == "Variable" and (alias.asname or alias.name) not in used]
        if not unused or "#" in evidence.program.source(statement):
            continue
        others = ", ".join(ast.unparse(alias) for alias in statement.names if alias not in unused)
        edits: list[Operation] = [Delete(evidence.program.span(statement))]
        if others:
            edits.insert(0, InsertBefore(evidence.program.span(statement), f"from {statement.module} import {others}"))
        story = (evidence.label(statement, "nothing in this file uses it"),)
        repair = fix(
            "remove the import", *edits, doubt=unless(is_script(tree), "other files may import `Variable` from this one")
        )
        yield RULE.finding(
            evidence, "`Variable` is imported and not used", evidence.program.span(statement), story, repair, optional=True
        )


def is_script(tree: ast.Module) -> bool:
    """Whether the file is started, and not a module from which others may import the name."""
    started = any(isinstance(part, ast.If) and "__main__" in ast.unparse(part.test) for part in tree.body)
    inside = [part for each in tree.body if isinstance(each, ast.With) for part in each.body]
    return started or any(isinstance(part, (ast.For, ast.While)) for part in (*tree.body, *inside))


RULE = rule(
    "GF903",
    "legacy-variable",
    globals(),
    find,
    repair="Replace Variable, volatile and retain_variables by what they are today.",
    by_hand="use the tensor itself, and `with torch.no_grad():` in place of `volatile`",
    shows=(OLD_ARGUMENT, OLD_SHAPE, OLD_FLAG),
    severity=Severity.WARNING,
    results=Expected("old"),
)
