"""Objects that hold values by ways of their own: what they hand out is used once more, so that its graph has to be retained."""

from __future__ import annotations

import pytest

from tests.obligations.programs import SETUP, safe_titles

PROGRAM = (
    SETUP
    + """
import collections, functools, inspect
norms = []
{define}
for step in range(4):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
    {use}
print(norms)
"""
)
WALK = "norms.append(torch.autograd.grad({}, net[0].bias)[0].sum().item())"
AUDIT = """
def audit(step):
    signature = inspect.signature(step)
    @functools.wraps(step)
    def inner(*args, **keywords):
        bound = signature.bind(*args, **keywords)
        return walked(*bound.args, **bound.kwargs)
    return inner

def walked(loss):
    return torch.autograd.grad(loss, net[0].bias)[0].sum().item()

@audit
def noted(loss):
    pass
"""
HELD = {
    "attributes that are items": ("class R(dict):\n    __setattr__ = dict.__setitem__\nr = R()", "r.loss = loss; " + WALK.format("r['loss']")),
    "items that are attributes": ("class R(dict):\n    __getattr__ = dict.__getitem__\nr = R()", "r['loss'] = loss; " + WALK.format("r.loss")),
    "a dict that keywords fill": ("class R(dict):\n    pass", WALK.format("R(loss=loss)['loss']")),
    "an ordered one": ("class R(collections.OrderedDict):\n    pass", WALK.format("R(loss=loss).popitem()[1]")),
    "a list": ("class R(list):\n    pass", WALK.format("R([loss])[0]")),
    "bound arguments": ("def f(l, n):\n    pass", WALK.format("inspect.signature(f).bind(loss, 1).args[0]")),
    "bound arguments by name": ("def f(l, n):\n    pass", WALK.format("inspect.signature(f).bind(loss, n=1).arguments['l']")),
    "a decorator that binds them": (AUDIT, "norms.append(noted(loss))"),
}  # fmt: skip


@pytest.mark.parametrize("case", HELD)
def test_what_an_object_hands_out_is_walked_again(case: str) -> None:
    define, use = HELD[case]
    assert "GF305" not in [code for code, _ in safe_titles(PROGRAM.format(define=define, use=use))]


def test_what_holds_other_things_stands_in_no_way() -> None:
    program = PROGRAM.format(define="class R(dict):\n    pass", use="norms.append(len(R(step=step)))")
    assert "GF305" in [code for code, _ in safe_titles(program)]
