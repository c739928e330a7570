"""What the backward passes of a run train: the parameters, and the ways on which gradients come to them."""

from __future__ import annotations

import ast

from graphfix.analysis.runs import Run
from graphfix.autograd.backward import BackwardPass, WalkKind
from graphfix.autograd.graph import Leaf, Node
from graphfix.lazy_dataclass import dataclass

Use = tuple[Node, object]  # a node, and one that it is computed from, or a parameter, or a module that is defined elsewhere


@dataclass(frozen=True)
class Uses:
    """The uses of parameters in one run.

    `only_trained`: of those alone that an optimizer, or a write by hand, trains. `constant_in`: a loop whose iterations do not count what
    was computed before it.
    """

    run: Run
    only_trained: bool = False
    constant_in: ast.AST | None = None

    def of(self, event: BackwardPass, *, is_fresh: bool = False) -> set[Use]:
        """The steps, from a node down, by which a backward pass brings gradients to where they are used.

        `is_fresh`: as far as no earlier backward pass has freed the way.
        """

        entry = next(
            (entry for entry, _ in event.context if self.constant_in is not None and entry.loop is self.constant_in), None
        )

        def counts(node: Node) -> bool:
            if entry is not None and all(active is not entry for active, _ in node.context):
                return False
            return not is_fresh or node in event.roots or node.freed_by is None or node.freed_by.order >= event.order

        asked = event.targets if event.kind is WalkKind.GRAD else None
        leading = set(asked[0] if asked is not None else ())
        found: set[Use] = set()
        for node in sorted(event.below, key=lambda each: each.order):
            if not counts(node):
                continue
            below: list[object] = [parent for parent in node.parents if parent in leading]
            below += [leaf for leaf in node.leaves if self.receives(event, leaf)]
            below += [node.callee] if node.callee is not None and not node.parents else []
            if below:
                leading.add(node)
                found.update((node, each) for each in below)
        return found

    def receives(self, event: BackwardPass, leaf: Leaf) -> bool:
        """Whether a backward pass brings a gradient to a leaf that somebody may use."""
        if event.kind is WalkKind.GRAD and event.targets is not None:  # no other gradient is computed
            return leaf in event.targets[1]
        if self.run.fates.is_dropped(event, leaf) or self.run.is_past(event, leaf):
            return False
        return leaf.trained or not self.only_trained

    @property
    def all(self) -> set[Use]:
        """Those of parameters, by any of the backward passes."""
        return {use for event in self.run.recording.walks for use in self.of(event) if not isinstance(use[1], Node)}

    @property
    def parameters(self) -> set[object]:
        """The parameters that the backward passes train, and the modules defined outside of the analysed code."""
        return {below for _, below in self.all}

    def trained(self) -> int:
        """How many uses of parameters the backward passes train; what a step has used already does not count again."""
        steps = [update.order for update in self.run.recording.updates if update.steps]
        used: dict[Use, int] = {}
        count = 0
        for event in self.run.recording.walks:
            number = sum(order < event.order for order in steps)
            for use in self.of(event):
                if not isinstance(use[1], Node):
                    count += used.setdefault(use, number) == number
        return count
