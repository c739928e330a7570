"""What a name, attribute or item may hold while a program is simulated.

Identity is aliasing: containers, instances and tensors are mutable.
"""

from __future__ import annotations

from graphfix.interpreter.values.code import (
    KEPT,
    BoundMethod,
    Class,
    Exit,
    ExitStack,
    External,
    Function,
    Instance,
    Manager,
    Partial,
    Pending,
    Project,
    SuperProxy,
)
from graphfix.interpreter.values.containers import MAX_ITEMS, Mapping, Sequence, slot_of
from graphfix.interpreter.values.data import (
    MAX_TEXT,
    NONE,
    Address,
    Constant,
    Counted,
    NonTensor,
    Tensor,
    Unknown,
    counter,
    cut_of,
)
from graphfix.interpreter.values.graphs import (
    Arguments,
    Keywords,
    OpenKeywords,
    all_parts,
    content_of_parameters,
    given,
    held_leaves,
    identities,
    leaves_in,
    nodes_in,
    note_copied,
)
from graphfix.interpreter.values.torch import GradMode, Optimizer, Parameters, ParametersForm, TorchModule
from graphfix.interpreter.values.value import Value, is_hashable

__all__ = [
    "Address",
    "KEPT",
    "given",
    "Arguments",
    "BoundMethod",
    "Class",
    "Exit",
    "ExitStack",
    "External",
    "Function",
    "GradMode",
    "Instance",
    "Keywords",
    "Constant",
    "Counted",
    "TorchModule",
    "MAX_ITEMS",
    "MAX_TEXT",
    "Manager",
    "Mapping",
    "NONE",
    "Unknown",
    "OpenKeywords",
    "Optimizer",
    "Parameters",
    "ParametersForm",
    "Partial",
    "Pending",
    "NonTensor",
    "Project",
    "Sequence",
    "SuperProxy",
    "Tensor",
    "Value",
    "counter",
    "cut_of",
    "all_parts",
    "content_of_parameters",
    "held_leaves",
    "identities",
    "is_hashable",
    "leaves_in",
    "nodes_in",
    "note_copied",
    "slot_of",
]
