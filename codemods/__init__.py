"""All rules, listed by hand in code order."""

from __future__ import annotations

from graphfix.codemods import (
    accumulated_graph,
    backward_in_threads,
    carried_state,
    copied_graph,
    external_accumulator,
    external_graph,
    graph_in_evaluation,
    implicit_scalar,
    inplace_on_saved,
    leaf_in_place,
    legacy_data,
    legacy_scalar,
    legacy_variable,
    lost_graph,
    missing_backward,
    missing_detach,
    module_state,
    needless_create_graph,
    needless_retain,
    non_leaf_parameter,
    repeated_backward,
    retain_as_silencer,
    sequential_backward,
    step_between_backwards,
    stored_graph,
    unreduced_loss,
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
    non_leaf_parameter.RULE,
    sequential_backward.RULE,
    repeated_backward.RULE,
    missing_detach.RULE,
    step_between_backwards.RULE,
    needless_retain.RULE,
    retain_as_silencer.RULE,
    needless_create_graph.RULE,
    backward_in_threads.RULE,
    missing_backward.RULE,
    lost_graph.RULE,
    copied_graph.RULE,
    unreduced_loss.RULE,
    leaf_in_place.RULE,
    inplace_on_saved.RULE,
    legacy_scalar.RULE,
    legacy_data.RULE,
    legacy_variable.RULE,
    implicit_scalar.RULE,
)
CODES = tuple(rule.code for rule in RULES)
NAMES = {rule.name: rule.code for rule in RULES}
