"""What a call of a known function does: one model for each qualified name, registered where it is written."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.values import Arguments, Keywords, Value

# what the call gives; None where the model has nothing to say of these arguments
Model = Callable[[Interpreter, Arguments, Keywords, ast.AST], Value | None]
AnyModel = TypeVar("AnyModel", bound=Model)

_models: dict[str, Model] = {}


def models(*names: str) -> Callable[[AnyModel], AnyModel]:
    """Register the decorated function as what calls of `names` do. Raises ValueError for a name that has a model already."""

    def register(model: AnyModel) -> AnyModel:
        for name in names:
            if name in _models:
                raise ValueError(f"{name} has two models")
            _models[name] = model
        return model

    return register


def model_of(name: str) -> Model | None:
    """The model of the function with this qualified name, if there is one."""
    return _models.get(name)
