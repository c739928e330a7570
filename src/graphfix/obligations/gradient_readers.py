"""Who reads gradients, or steps with them: a fix that drops gradients must not change what they get."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from graphfix.analysis.flow.calls import name_of
from graphfix.analysis.flow.places import Place, Sink
from graphfix.dataflow.between import arrives
from graphfix.dataflow.dominance import dominated
from graphfix.ir.instructions import Call
from graphfix.models.words import WALKS
from graphfix.obligations.inquiry import Inquiry, Open
from graphfix.source.subtree import subtree

# what shows, or keeps, the gradient of a tensor that is no leaf
ASKS_FOR_GRADIENT = frozenset(("retain_grad", "register_hook"))


class Lost(NamedTuple):
    """What gets no gradient any more: `below` the cuts, of which `leaves` are calls that make parameters; `walks` that would reach it.

    `computed`: what lies below, and what is cut.
    """

    below: set[Place]
    computed: set[Place]
    leaves: set[ast.Call]
    walks: set[ast.AST]


class Observers(Inquiry):
    """Asks the flow of one file."""

    def unseen_steps(self, trained: bool, cuts: list[ast.expr]) -> Iterator[Open]:
        """Every step that the code may make was seen in a run, and nobody reads the gradients that the `cuts` drop.

        `trained`: whether what lies below is trained all the same.
        """
        lost = self.lost_by(cuts)
        if not trained:
            yield from self.given_to_optimizers(lost.leaves)
        for place in self.graph.opaque:
            if isinstance(place, (ast.Call, ast.alias)) and place in lost.below:
                yield Open(place, "is not analysed and may create parameters that are trained elsewhere")
        for document in self.flow.code.documents.values():
            for part in subtree(document.tree):
                if isinstance(part, ast.Constant) and part.value == "step":
                    yield Open(part, "may step")
                elif isinstance(part, ast.Subscript) and regroups(part):
                    yield Open(part, "may be given the parameters that lose their gradient")
                elif isinstance(part, ast.Call):
                    yield from self.at_call(part, lost)
                elif isinstance(part, ast.Attribute):
                    yield from self.at_attribute(part, lost)
                    if not trained and part.attr in ("requires_grad_", "requires_grad") and freezes(part, document.parents.get(part)):
                        yield Open(part, "may leave no other parameter for backward() to reach")

    def lost_by(self, cuts: list[ast.expr]) -> Lost:
        """What gets no gradient any more once the `cuts` are made."""
        below = {place for cut in cuts for place in self.graph.below(cut, objects=False)}
        calls = {place for place in below if isinstance(place, ast.Call)}
        calls |= {maker for call in calls for maker in self.flow.calls.callables.makers(call.func)}
        walks = {arrival.site for arrival in self.graph.reach(cuts).of(Sink.WALKED)}
        return Lost(below, {*below, *cuts}, {call for call in calls if self.makes_leaves(call)}, walks)

    def given_to_optimizers(self, leaves: set[ast.Call]) -> Iterator[Open]:
        for call, dotted in self.flow.code.calls.items():
            gives = dotted.startswith("torch.optim.") or name_of(call.func) == "add_param_group"
            if gives and not leaves.isdisjoint(self.leaves_of(call)):
                yield Open(call, "may be given the parameters that lose their gradient")

    def at_call(self, call: ast.Call, lost: Lost) -> Iterator[Open]:
        if name_of(call.func) == "zero_grad" and leaves_zeros(call):
            yield Open(call, "sets gradients to zero instead of None, and an optimizer still applies zeros")
        if reads_some_attribute(call) and not lost.leaves.isdisjoint(self.leaves_of(call.args[0])):
            yield Open(call, "may read the gradients")

    def at_attribute(self, part: ast.Attribute, lost: Lost) -> Iterator[Open]:
        """What a method or an attribute, by its name, does with gradients that are lost."""
        if part.attr == "step" and part not in self.steps_seen or part.attr == "methodcaller":
            yield Open(part, "may step")
        call = self.evidence.program.parent(part)
        clips = part.attr.startswith("clip_grad") and isinstance(call, ast.Call) and not self.cleared_before(call, lost.walks)
        clipped = call.args if clips and isinstance(call, ast.Call) else []
        reads = "_hook" in part.attr or part.attr == "grad" and not self.flow.code.dotted_in(part)
        if (
            part.attr.startswith("register_module_") and part.attr.endswith("hook")
            or any(not lost.leaves.isdisjoint(self.leaves_of(argument)) for argument in clipped)
            or part.attr in ASKS_FOR_GRADIENT and not lost.computed.isdisjoint(self.leaves_of(part.value))
            or reads and not lost.leaves.isdisjoint(self.leaves_of(part.value))
        ):
            yield Open(part, "may read the gradients")

    @cached_property
    def steps_seen(self) -> set[ast.AST | None]:
        """The `step` of each call by which a run showed that an optimizer steps, and when."""
        updates = [update for run in self.evidence.tape.runs for update in run.recording.updates]
        ahead = {update.site for update in updates if update.ahead}
        return {getattr(update.site, "func", None) for update in updates if update.site not in ahead}

    def cleared_before(self, site: ast.AST, dropped: set[ast.AST]) -> bool:
        """Whether each way to `site` clears the gradients, and then leaves them by no backward pass that is `dropped`, but by another."""
        ways = self.flow.paths.ways(site)
        calls = [(each, each.node) for each in ways.code.instructions() if isinstance(each, Call)]
        named = [(each, call, name_of(call.func)) for each, call in calls if isinstance(call, ast.Call)]
        cleared = [each for each, _, name in named if name == "zero_grad"]
        kept = [each for each, call, name in named if name in WALKS and call not in dropped]
        ended = [each for each, call, name in named if name in WALKS and call in dropped]
        at = self.flow.paths.raising(site)
        return bool(at) and all(
            dominated(ways, cleared, each, ended) and not arrives(ways, cleared, each, kept) for each in at
        )

    def leaves_of(self, place: Place) -> set[Place]:
        """Every place of which a value may be made, or that it may be a parameter of."""
        seen = {place}
        pending = [place]
        known: set[Place] = set()
        while pending:
            current = pending.pop()
            parts = list(self.graph.parts(current, known))
            if isinstance(current, ast.Call):
                parts += [*current.args, *([current.func.value] if isinstance(current.func, ast.Attribute) else [])]
            for part in parts:
                if part not in seen:
                    seen.add(part)
                    pending.append(part)
        return seen

    def makes_leaves(self, call: ast.Call) -> bool:
        """Whether a call makes a module or a parameter."""
        dotted = self.flow.code.calls.get(call, "")
        if dotted:
            return dotted.startswith("torch.nn.") or any(keyword.arg == "requires_grad" for keyword in call.keywords)
        return any(isinstance(source, ast.ClassDef) for source in self.graph.sources(call.func))


def regroups(part: ast.Subscript) -> bool:
    """Whether the parameters of a group of an optimizer are set."""
    other = isinstance(part.slice, ast.Constant) and part.slice.value != "params"
    return not other and isinstance(part.ctx, ast.Store) and "param_groups" in ast.unparse(part.value)


def reads_some_attribute(call: ast.Call) -> bool:
    """Whether `getattr(p, name)` may read a gradient."""
    named = call.args[1] if name_of(call.func) == "getattr" and len(call.args) > 1 else None
    return named is not None and (not isinstance(named, ast.Constant) or named.value == "grad")


def leaves_zeros(call: ast.Call) -> bool:
    """Whether gradients are cleared to zeros: https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html."""
    given = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "set_to_none")]
    return any(not (isinstance(value, ast.Constant) and value.value is True) for value in given)


def freezes(attribute: ast.Attribute, above: ast.AST | None) -> bool:
    """Whether parameters are told to need no gradient."""
    if isinstance(attribute.ctx, ast.Store):
        return True
    return isinstance(above, ast.Call) and any(
        not (isinstance(value, ast.Constant) and value.value is True) for value in above.args
    )
