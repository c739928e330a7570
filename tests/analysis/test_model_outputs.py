"""What models give beside a loss: objects, named tuples and dicts, of models in sight and of unknown ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphfix.model import Fix
from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

TRAIN = """
def train(model, loader, optimizer):
    outs = []
    for x in loader:
        out = model(x)
        optimizer.zero_grad()
        {loss}.backward()
        optimizer.step()
        outs.append({kept})
    return outs
"""


class Output(dict):
    """A `ModelOutput`: items are attributes, too."""

    __getattr__ = dict.__getitem__


def kept_by(text: str) -> list[object]:
    names: dict[str, Callable[..., list[object]]] = {}
    exec(compile(text, "program.py", "exec"), names)  # type: ignore[arg-type]
    layer = torch.nn.Linear(2, 1)

    def model(x: object) -> Output:
        logits = layer(x)
        return Output(loss=logits.pow(2).mean(), logits=logits, count=3)

    return names["train"](model, [torch.ones(3, 2)] * 3, SimpleNamespace(zero_grad=layer.zero_grad, step=lambda: None))


def told(text: str) -> list[tuple[str, str, bool]]:
    """The code of each finding, the text that it points to, and whether it has a fix."""
    found = findings_of(Path("program.py"), text)
    return [(each.code, text.encode()[each.span.start : each.span.end].decode(), isinstance(each.fix, Fix)) for each in found]


@pytest.mark.parametrize(
    ("loss", "kept"),
    [("out.loss", "out.logits"), ("out['loss']", "out['logits']"), ("out['loss']", "out.logits")],
    ids=["attributes", "items", "both"],
)
def test_what_an_unknown_model_gives_beside_its_loss_is_kept_with_its_graph(loss: str, kept: str) -> None:
    text = TRAIN.format(loss=loss, kept=kept)
    assert all(each.grad_fn is not None for each in kept_by(text))  # type: ignore[attr-defined]
    assert told(text) == [("GF102", f"outs.append({kept})", True)]


def test_what_else_an_output_has_may_be_a_number() -> None:
    text = TRAIN.format(loss="out.loss", kept="out.count")
    assert kept_by(text) == [3, 3, 3]
    assert told(text) == []


def test_logits_whose_loss_nobody_walks_may_have_no_graph() -> None:
    assert told(TRAIN.format(loss="out.aux", kept="out.logits")) == []


@pytest.mark.parametrize("loss", ["out.loss", "out['loss']"])
def test_an_object_that_holds_a_loss_cannot_be_detached(loss: str) -> None:
    text = TRAIN.format(loss=loss, kept="out")
    assert all(each.loss.grad_fn is not None for each in kept_by(text))  # type: ignore[attr-defined]
    assert told(text) == [("GF102", "outs.append(out)", False)]
