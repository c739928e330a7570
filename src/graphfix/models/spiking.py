"""Libraries of spiking networks: what puts the state of all neurons back before the next sample.

https://spikingjelly.readthedocs.io/zh-cn/latest/sub_module/spikingjelly.activation_based.functional.html (`reset_net`,
`detach_net`), https://snntorch.readthedocs.io/en/latest/snntorch.utils.html (`reset`).
"""

from __future__ import annotations

import ast

from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.values import NONE, Arguments, Instance, Keywords, NonTensor, Tensor, Value, nodes_in
from graphfix.models.modules import with_submodules
from graphfix.models.registry import models


@models(
    "spikingjelly.activation_based.functional.reset_net",
    "spikingjelly.activation_based.functional.net_config.reset_net",
    "spikingjelly.clock_driven.functional.reset_net",
    "snntorch.utils.reset",
)
def reset(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """Every module below gets the state back that it began with, which has no graph."""
    for module in with_submodules(arguments[0]) if arguments else ():
        if isinstance(module, Instance):
            for name, value in module.attributes.items():
                if nodes_in(value, attributes=False):
                    module.attributes[name] = NonTensor(("reset", module.key, name, m.now()))
    return NONE


@models("spikingjelly.activation_based.functional.detach_net", "spikingjelly.clock_driven.functional.detach_net")
def detach(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """The state stays, without its graph."""
    for module in with_submodules(arguments[0]) if arguments else ():
        if isinstance(module, Instance):
            for name, value in module.attributes.items():
                if value.node is not None:
                    module.attributes[name] = Tensor()
    return NONE
