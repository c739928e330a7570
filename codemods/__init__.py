"""All rules, listed by hand in code order."""

from __future__ import annotations

from graphfix.codemods import (
    accumulated_graph,
    carried_state,
    external_accumulator,
    external_graph,
    graph_in_evaluation,
    inplace_on_saved,
    legacy_scalar,
    module_state,
    needless_retain,
    repeated_backward,
    sequential_backward,
    step_between_backwards,
    stored_graph,
)
from graphfix.codemods.base import Rule

RULES: tuple[Rule, ...] = (
    accumulated_graph.RULE,
    stored_graph.RULE,
    graph_in_evaluation.RULE,
    carried_state.RULE,
    module_state.RULE,
    external_graph.RULE,
    external_accumulator.RULE,
    sequential_backward.RULE,
    repeated_backward.RULE,
    step_between_backwards.RULE,
    needless_retain.RULE,
    inplace_on_saved.RULE,
    legacy_scalar.RULE,
)
