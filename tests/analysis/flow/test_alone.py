"""What an augmented assignment puts into an object: only its variable shows it, unless something else holds that object."""

from __future__ import annotations

import ast

import pytest

from graphfix.analysis.flow.flow import flow_of
from graphfix.source.document import Document

PROGRAM = """
import torch
store, kept = {{}}, []
class Box: pass
box = Box()
def keep(x):
    kept.append(x)
def main(data, net, crit):
    for a, b in data:
        for i in range(3):
            loss = {made}
            loss.backward()
        {before}
        loss += crit(net(b))
        {after}
"""
SHARED = {
    "another name": ("kept_loss = loss", "kept_loss.backward()"),
    "a list": ("kept.append(loss)", "kept[-1].backward()"),
    "a display": ("pair = [loss]", "pair[0].backward()"),
    "an attribute": ("box.x = loss", "box.x.backward()"),
    "an item": ("store['x'] = loss", "store['x'].backward()"),
    "a method of it": ("walk = loss.backward", "walk()"),
    "a function around it": ("walk = lambda: loss.backward()", "walk()"),
    "a function that keeps it": ("keep(loss)", "kept[-1].backward()"),
    "a view": ("view = loss.view(1)", "view.backward()"),
    "a view that a function gives": ("view = torch.reshape(loss, (1,))", "view.backward()"),
    "a choice": ("chosen = loss if a is not None else None", "chosen.backward()"),
    "another total": ("chosen = loss or 1", "chosen.backward()"),
}


def walked(before: str, after: str, made: str = "crit(net(a)).mean()") -> set[str]:
    """The calls of backward() that may go through what is added."""
    document = Document("page.py", PROGRAM.format(made=made, before=before, after=after))
    flow = flow_of(document, lambda name, importing: None)
    (added,) = (part for part in ast.walk(document.tree) if isinstance(part, ast.Call) and ast.unparse(part) == "crit(net(b))")
    return {ast.unparse(each.site) for each in flow.graph.reach([added]).arrivals if each.sink.name == "WALKED"}


@pytest.mark.parametrize(("before", "after"), SHARED.values(), ids=SHARED)
def test_who_holds_the_object_gets_what_is_added(before: str, after: str) -> None:
    expected = {"walk()": "loss.backward"}.get(after, after)
    assert any(each.startswith(expected) for each in walked(before, after))


@pytest.mark.parametrize(("before", "after"), [("pass", "print(loss.item())"), ("print(loss.item())", "keep(loss)")])
def test_a_backward_of_a_new_object_is_none_of_the_old_one(before: str, after: str) -> None:
    assert walked(before, after) == set()


@pytest.mark.parametrize("made", ["-box.total", "box.total * 1", "torch.sum(box.total)", "torch.nn.MSELoss()(net(a), b)", "box.total.mean()"])
def test_what_is_computed_is_a_new_object(made: str) -> None:
    assert walked("pass", "print(loss.item())", made) == set()


def test_what_is_added_goes_backward_behind_it() -> None:
    assert walked("pass", "loss.sum().backward()") == {"loss.sum().backward()"}


@pytest.mark.parametrize(
    "made",
    [
        "crit(net(a))",
        "box.total",
        "data[0]",
        "+box.total",
        "box.total.squeeze()",
        "torch.as_tensor(box.total)",
        "torch.atleast_1d(box.total)",
        "torch.nn.functional.dropout(box.total, 0.5, False)",
        "torch.nn.Identity()(box.total)",
        "torch.relu_(box.total)",
        "sum([], box.total)",
        "torch.add(a, b, out=box.total)",
    ],
)
def test_an_object_that_may_be_an_older_one_is_shared(made: str) -> None:
    assert walked("pass", "print(loss.item())", made) == {"loss.backward()"}
