"""Objects that launch training for a program: they wrap what is trained, and go backward for it.

Sources: https://huggingface.co/docs/accelerate/package_reference/accelerator, https://lightning.ai/docs/fabric/stable/api/fabric_methods.html,
https://deepspeed.readthedocs.io/en/latest/training.html
"""

from __future__ import annotations

import ast

from graphfix.autograd.backward import WalkKind
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.values import NONE, Arguments, Keywords, Optimizer, Sequence, Unknown, Value
from graphfix.models.autograd_calls import flags
from graphfix.models.registry import models

# contexts in which gradients are collected, and what works on gradients: they keep nothing of the modules and parameters that they get
KEEPS_NOTHING = frozenset(
    (
        "accumulate", "no_sync", "no_backward_sync", "autocast", "join_uneven_inputs",
        "clip_grad_norm_", "clip_grad_value_", "clip_gradients",
    )
)  # fmt: skip
# modules are given back wrapped: the same parameters, the same graph
WRAPS = frozenset(("prepare", "prepare_model", "unwrap_model", "setup", "setup_module"))


@models(
    "accelerate.Accelerator",
    "accelerate.accelerator.Accelerator",
    "lightning.Fabric",
    "lightning.fabric.Fabric",
    "lightning_fabric.Fabric",
)
def launcher(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    return Unknown(("launcher", site, m.now()))


@models("deepspeed.initialize")
def engine(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """The engine, which is the model, too; an optimizer, a loader and a scheduler."""
    others = [Unknown((f"deepspeed {part}", site, m.now())) for part in ("optimizer", "loader", "scheduler")]
    return Sequence("tuple", [launcher(m, arguments, keywords, site), *others])


def launcher_method(
    m: Interpreter, receiver: Unknown, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST
) -> Value | None:
    """`accelerator.backward(loss)`, `accelerator.prepare(model, ...)` and what keeps nothing; None for other methods.

    An optimizer that is given back may skip steps, and is another one.
    """
    if name == "backward" and arguments and isinstance(site, ast.Call):
        retains, creates, keyword = flags(keywords)
        m.backward(
            site, arguments[:1], retains=retains, creates=creates, keyword=keyword, kind=WalkKind.LAUNCHER,
            receiver=site.args[0], proves=True,
        )  # fmt: skip
        return NONE
    if name in WRAPS and arguments:
        made = [
            Unknown(("prepared", site, number, m.now())) if isinstance(value, Optimizer) else value
            for number, value in enumerate(arguments)
        ]
        return made[0] if len(made) == 1 else Sequence("tuple", made)
    if name in KEEPS_NOTHING:
        return Unknown(("launcher", name, site, m.now()))
    return None
