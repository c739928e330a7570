"""Parameters that are not trained although nothing freezes them: no optimizer has them, or nothing that is recorded reads them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.runs import Run
from graphfix.autograd.backward import BackwardPass
from graphfix.autograd.gradients import Update
from graphfix.autograd.graph import Leaf, history, position
from graphfix.autograd.severed import How, Severed
from graphfix.interpreter.recording import Mode
from graphfix.interpreter.values import Value, leaves_in
from graphfix.lazy_dataclass import dataclass
from graphfix.models.registered import reached
from graphfix.models.submodules import is_module

UNREAD = (How.UNRECORDED, How.CHECKPOINTED)
Key = tuple[ast.AST | None, str]


@dataclass(frozen=True, eq=False)
class Untrained:
    """The layer or parameter that `made` makes, the backward pass and the step that pass it by, and where the graph is lost on the way.

    `severed`: None where gradients come to it, and the optimizer of the step, which `optimizers` make, does not have it. `is_idle`: no
    backward pass comes to anything that the step changes. `copied_at`: where a copy is made, which gets the gradients.
    """

    made: ast.AST
    walk: BackwardPass
    step: Update
    severed: Severed | None = None
    optimizers: tuple[tuple[ast.AST, tuple[Value, ...]], ...] = ()
    is_idle: bool = False
    copied_at: ast.AST | None = None


def untrained(evidence: Evidence) -> Iterator[Untrained]:
    """Those of a program, each once: of parameters that every run knows all about, and passes by in the same way."""
    if evidence.tape.truncated:
        return
    trains = [run for run in evidence.tape.runs if any(update.steps for update in run.recording.updates)]
    if not all(map(is_known, trains)):
        return
    is_clear = all(map(is_whole, trains))
    shown = [(run, {key(leaf): told for leaf, told in (*without_graph(run), *without_optimizer(run))}) for run in trains]
    held = {key(leaf) for run, own in shown for leaf in held_in(run) if key(leaf) not in own}
    walked = {key(leaf) for run, own in shown for leaf in walked_in(run) if key(leaf) not in own}
    walked |= {key(leaf) for run in evidence.tape.runs if run not in trains for leaf in walked_in(run)}
    found: dict[Key, Untrained] = {}
    for name, told in (each for _, own in shown for each in own.items()):
        is_other = name in (held if told.severed is None else walked)
        if is_other and told.severed is not None and told.severed.how is How.CHECKPOINTED:
            # a run that goes another way around the checkpoint says nothing of those that go through it
            is_other = any(is_walked_through(run, told.severed.site) for run in evidence.tape.runs)
        if not is_other and (is_clear or told.severed is None) and evidence.program.holds(told.made):
            found.setdefault(name, told)
    yield from found.values()


def is_walked_through(run: Run, site: ast.AST) -> bool:
    """Whether a backward pass of a run goes through what an expression makes."""
    return any(node.site is site for walk in run.recording.walks for node in walk.below)


def key(leaf: Leaf) -> Key:
    """What a parameter of one run is in another, where layers that one line makes share it."""
    return leaf.site, leaf.name


def is_known(run: Run) -> bool:
    """Whether all that steps in a run is known with all its parameters, but for those of modules that are not in sight."""
    is_ended = any(hit.certain for walk in run.recording.walks for hit in walk.hits)  # by an error: that is told
    return not is_ended and all(update.complete for update in run.recording.updates if update.steps)


def is_whole(run: Run) -> bool:
    """Whether no code out of sight may lie between the parameters of a run and its losses."""
    guessed = any(update.guessed for update in run.recording.updates if update.steps)
    return not guessed and all(node.certain for walk in run.recording.walks for node in walk.below)


def walked_in(run: Run) -> set[Leaf]:
    """The parameters that some backward pass of a run reaches."""
    return {leaf for walk in run.recording.walks for leaf in walk.leaves}


def held_in(run: Run) -> set[Leaf]:
    """The parameters that something trains, may train, or freezes in a run: nobody is told of these."""
    recording = run.recording
    stepped = {leaf for update in recording.updates if update.steps for leaf in update.leaves}
    given = set(reached(value for _, values in recording.optimizers for value in values))
    # whoever steps by hand reads gradients
    return stepped | given | elsewhere(run) | (recording.reached if run.reads_gradients(clipping=False) else set())


def elsewhere(run: Run) -> set[Leaf]:
    """The parameters that a run shows no more of: handed on, hidden, passed over by a loop, evaluated on purpose, or loaded."""
    recording = run.recording
    plain = {leaf for kept in recording.unregistered for leaf in kept.leaves}
    values = [*(value for each in recording.handed for value in each.values), *(value for rest in recording.passed_over.values() for value in rest)]
    return set(reached(values)) | recording.loaded | plain | evaluated(run)


def evaluated(run: Run) -> set[Leaf]:
    """The parameters that some backward pass comes to in evaluation mode: an evaluation between two of training says nothing of them."""
    found: set[Leaf] = set()
    modes: dict[Leaf, bool | None] = {}
    events: list[Mode | BackwardPass] = [*run.recording.modes, *run.recording.walks]
    for event in sorted(events, key=lambda each: each.order):
        if isinstance(event, BackwardPass):
            found.update(leaf for leaf, training in modes.items() if training is False)
        elif event.module is not None:
            modes.update(dict.fromkeys(reached([event.module]), event.training))
    return found


def without_optimizer(run: Run) -> Iterator[tuple[Leaf, Untrained]]:
    """The layers that a backward pass gives gradients, where the step that it is made for changes others."""
    held, walked = held_in(run), walked_in(run)
    # whoever asks for a gradient by name has a use for it
    asked = {leaf for walk in run.recording.walks if walk.targets is not None for leaf in walk.targets[1]}
    for walk, step in steps_of(run):
        is_idle = walked.isdisjoint(step.leaves)
        if not any(leaf.module for leaf in step.leaves):
            continue  # an input is trained, and what it goes through stays as it is
        for leaf in ordered(walk.leaves - held):
            # the gradient of a parameter that is no layer's may be what the program is after
            if not leaf.module or not leaf.requires_grad or leaf.is_parameter or leaf.site is None or is_part_of(walk, leaf, step):
                continue
            is_copy = is_idle and leaf.copied_at is not None
            if is_copy or leaf.origin is None and leaf not in asked:  # a copy beside what is trained is another fault
                yield leaf, Untrained(leaf.site, walk, step, None, tuple(run.recording.optimizers), is_idle, leaf.copied_at)


def ordered(leaves: Iterable[Leaf], second: Mapping[Leaf, ast.AST] = MappingProxyType({})) -> list[Leaf]:
    """Leaves in the order of the places that make them, and then of `second` ones."""
    return sorted(leaves, key=lambda leaf: (position(leaf.site), position(second.get(leaf))))


def is_part_of(walk: BackwardPass, leaf: Leaf, step: Update) -> bool:
    """Whether an optimizer has other layers of the same module: that a part of it stays as it is, as in transfer learning, is meant then."""
    frames = dict.fromkeys(frame for node in walk.below if leaf in node.leaves for frame, _ in node.trace)
    modules = [value for frame in frames for value in frame.env.in_reach() if is_module(value)]
    return any(leaf in (leaves := set(leaves_in(module))) and bool(leaves & step.leaves) for module in modules)


def without_graph(run: Run) -> Iterator[tuple[Leaf, Untrained]]:
    """The parameters of an optimizer of which the loss knows a value alone.

    Nothing was recorded where they are read, or a new tensor was made of what was computed with them.
    """
    recording, others = run.recording, walked_in(run) | elsewhere(run)
    for walk, step in steps_of(run):
        lost = {cut.site for node in walk.below if (cut := recording.partial.get(node)) is not None and cut.how in UNREAD}
        unread = {leaf: recording.unrecorded[leaf] for leaf in step.leaves if leaf in recording.unrecorded and leaf not in others}
        idle = ordered(unread, {leaf: cut.site for leaf, cut in unread.items()})
        if any(unread[leaf].site in lost for leaf in idle):
            for leaf in idle:
                if leaf.site is not None and leaf.requires_grad:
                    yield leaf, Untrained(leaf.site, walk, step, unread[leaf])
        for cut in (cut for _, cut in walk.told_to_require if cut.how is How.COPIED):
            made_of = {leaf for node in history(list(cut.nodes)) for leaf in node.leaves}
            for leaf in ordered(made_of & step.leaves - others):
                if leaf.site is not None and leaf.requires_grad:
                    yield leaf, Untrained(leaf.site, walk, step, cut)


def steps_of(run: Run) -> Iterator[tuple[BackwardPass, Update]]:
    """Each backward pass with the first step behind it that uses its gradients; where no step uses any, with the first that there is."""
    steps = [update for update in run.recording.updates if update.steps and update.leaves]
    walked = walked_in(run)
    is_idle = not any(step.leaves & walked for step in steps)
    for walk in run.recording.walks:
        step = next((each for each in steps if each.order > walk.order and (is_idle or each.leaves & walk.leaves)), None)
        if step is not None:
            yield walk, step
