"""Models of single functions."""

from __future__ import annotations

import builtins
import importlib

import pytest

import graphfix.models.assembly  # noqa: F401 - registers all models
from graphfix.models.registry import _models as registered
from graphfix.models.registry import model_of, models


def test_a_model_is_found_by_each_of_its_names() -> None:
    assert model_of("torch.no_grad") is model_of("torch.inference_mode") is not None
    assert model_of("torch.relu") is None


def test_a_name_has_one_model() -> None:
    with pytest.raises(ValueError, match="torch.no_grad has two models"):
        models("torch.no_grad")(lambda m, arguments, keywords, site: None)


@pytest.mark.parametrize("name", sorted(name for name in registered if name.startswith(("builtins.", "torch."))))
def test_every_model_is_of_something_that_exists(name: str) -> None:
    if name.startswith("builtins."):
        assert hasattr(builtins, name.removeprefix("builtins."))
        return
    holder, _, word = name.rpartition(".")
    found = None
    for part in [holder, holder.rpartition(".")[0]]:
        try:
            found = importlib.import_module(part)
            break
        except ImportError:
            continue
    for step in name.removeprefix(f"{found.__name__}.").split(".") if found is not None else ():
        found = getattr(found, step, None)
    assert found is not None, word
