"""Which backward pass meets a freed graph, and why: loops, state and losses."""

# ruff: noqa: E501  one toy program a line

from __future__ import annotations

import pytest

from .toys import hits, stale

LOOPS = {
    "fresh graph in each iteration": ("for i in range(3):\n    (w * x).sum().backward()", set()),
    "carried by a name": ("h = x\nfor i in range(3):\n    h = torch.tanh(net(h))\n    h.sum().backward()", {(4, "CARRIED")}),
    "carried, detached": ("h = x\nfor i in range(3):\n    h = torch.tanh(net(h.detach()))\n    h.sum().backward()", set()),
    "carried, cut by data": ("h = x\nfor i in range(3):\n    h = torch.tanh(net(h.data))\n    h.sum().backward()", set()),
    "carried, detached in place": ("h = x\nfor i in range(3):\n    h = net(h)\n    h.sum().backward()\n    h.detach_()", set()),
    "carried as a number": ("s = 1.0\nfor i in range(3):\n    l = (w * s).exp().sum()\n    l.backward()\n    s = l.item()", set()),
    "carried, retained": ("h = x\nfor i in range(3):\n    h = net(h)\n    h.sum().backward(retain_graph=True)", set()),
    "carried in a tuple": ("s = (x, x)\nfor i in range(3):\n    a, b = s\n    a = net(a)\n    a.sum().backward()\n    s = (a, b)", {(5, "CARRIED")}),
    "carried in a dict": ("s = {'h': x}\nfor i in range(3):\n    s['h'] = net(s['h'])\n    s['h'].sum().backward()", {(4, "CARRIED")}),
    "one step behind": ("p = x\nfor i in range(3):\n    l = net(p).sum()\n    l.backward()\n    p = w * l", {(4, "CARRIED")}),
    "running total": ("t = 0\nfor i in range(3):\n    t = t + (w * x).sum()\n    t.backward()", {(4, "TOTAL")}),
    "running total, augmented": ("t = 0\nfor i in range(3):\n    t += (w * x).sum()\n    t.backward()", {(4, "TOTAL")}),
    "total walked once after the loop": ("t = 0\nfor i in range(3):\n    t += (w * x).sum()\nt.backward()", set()),
    "total of parts that save nothing": ("t = 0\nfor i in range(3):\n    t = t + w.sum()\n    t.backward()", set()),
    "built before the loop": ("s = w.exp()\nfor i in range(3):\n    (s * x).sum().backward()", {(3, "EXTERNAL")}),
    "stacked leaves before the loop": ("s = torch.stack([w, w]).exp()\nfor i in range(3):\n    s.sum().backward()", {(3, "EXTERNAL")}),
    "saving nothing before the loop": ("s = w.view(2, 2)\nfor i in range(3):\n    s.sum().backward()", set()),
    "before the loop without grad": ("with torch.no_grad():\n    s = w.exp()\nfor i in range(3):\n    (s * w).sum().backward()", set()),
    "two losses on one graph": ("h = net(x).exp()\na = h.sum()\nb = h.mean()\na.backward()\nb.backward()", {(5, "SEQUENTIAL")}),
    "two losses, first retained": ("h = net(x).exp()\nh.sum().backward(retain_graph=True)\nh.mean().backward()", set()),
    "two losses on two graphs": ("net(x).exp().sum().backward()\nnet(x).exp().sum().backward()", set()),
    "same loss twice": ("l = net(x).exp().sum()\nl.backward()\nl.backward()", {(3, "REPEATED")}),
    "a loop over losses": ("h = net(x).exp()\nfor l in [h.sum(), h.mean()]:\n    l.backward()", {(3, "SEQUENTIAL")}),
    "kept in a list": ("k = []\nfor i in range(3):\n    h = net(x).exp()\n    k.append(h)\n    sum(k).sum().backward()", {(5, "KEPT")}),
    "kept in a list, and in a total that is read later": ("k, t = [], None\nfor i in range(3):\n    h = net(x).exp().sum()\n    k.append(h)\n    sum(k).backward()\n    t = h if t is None else t + h", {(5, "KEPT")}),
    "kept in a list that is cleared": ("for i in range(3):\n    k = []\n    h = net(x).exp()\n    k.append(h)\n    sum(k).sum().backward()", set()),
    "inner loop walks what the outer made": ("for e in range(2):\n    s = w.exp()\n    for i in range(2):\n        (s * x).sum().backward()", {(4, "EXTERNAL")}),
    "window of two steps, then detached": ("h = x\nfor e in range(2):\n    l = 0\n    for i in range(2):\n        h = net(h)\n        l = l + h.sum()\n    l.backward()\n    h = h.detach()", set()),
}  # fmt: skip

CONTROL = {
    "break after the first walk": ("h = net(x).exp()\nfor i in range(3):\n    h.sum().backward()\n    break", set()),
    "continue past the walk": ("h = net(x).exp()\nh.sum().backward()\nfor i in range(3):\n    continue\n    h.sum().backward()", set()),
    "else of a loop": ("l = net(x).exp().sum()\nfor i in range(3):\n    pass\nelse:\n    l.backward()\nl.backward()", {(6, "REPEATED")}),
    "else of a loop that breaks": ("l = net(x).exp().sum()\nfor i in range(3):\n    break\nelse:\n    l.backward()\nl.backward()", set()),
    "while over a count": ("i = 0\ns = w.exp()\nwhile i < 3:\n    s.sum().backward()\n    i += 1", {(4, "EXTERNAL")}),
    "while over nothing": ("s = w.exp()\nwhile False:\n    s.sum().backward()\ns.sum().backward()", set()),
    "try and finally": ("l = net(x).exp().sum()\ntry:\n    l.backward()\nfinally:\n    l.backward()", {(5, "REPEATED")}),
    "with a context that changes nothing": ("l = net(x).exp().sum()\nwith torch.autograd.detect_anomaly():\n    l.backward()\nl.backward()", {(4, "REPEATED")}),
    "match": ("l = net(x).exp().sum()\nmatch 1:\n    case _:\n        l.backward()\nl.backward()", {(5, "REPEATED")}),
    "opposite sides of one question": ("import sys\nf = len(sys.argv) > 1\nl = net(x).exp().sum()\nif f:\n    l.backward()\nif not f:\n    l.backward()", set()),
    "walrus": ("(l := net(x).exp().sum()).backward()\nl.backward()", {(2, "REPEATED")}),
    "conditional expression": ("l = net(x).exp().sum()\nk = l if True else None\nl.backward()\nk.backward()", {(4, "REPEATED")}),
}  # fmt: skip

NAMES = {
    "list comprehension": ("h = net(x).exp()\n[l.backward() for l in [h.sum(), h.mean()]]", {(2, "SEQUENTIAL")}),
    "comprehension makes the losses": ("h = net(x).exp()\nfor l in [h.sum() for _ in range(2)]:\n    l.backward()", {(3, "SEQUENTIAL")}),
    "alias": ("l = net(x).exp().sum()\nk = l\nk.backward()\nl.backward()", {(4, "REPEATED")}),
    "starred target": ("a, *b = [net(x).exp().sum(), 1, 2]\na.backward()\na.backward()", {(3, "REPEATED")}),
    "starred rest": ("l = net(x).exp().sum()\n_, *b = [0, l]\nl.backward()\nb[0].backward()", {(4, "REPEATED")}),
    "constant key": ("d = {'a': net(x).exp().sum(), 'b': net(x).exp().sum()}\nd['a'].backward()\nd['b'].backward()", set()),
    "same constant key": ("d = {'a': net(x).exp().sum()}\nd['a'].backward()\nd['a'].backward()", {(3, "REPEATED")}),
    "swap": ("a, b = net(x).exp().sum(), net(x).exp().sum()\na, b = b, a\na.backward()\nb.backward()", set()),
    "rebound after del": ("l = net(x).exp().sum()\nl.backward()\ndel l\nl = net(x).exp().sum()\nl.backward()", set()),
    "deleted item": ("k = [net(x).exp().sum(), net(x).exp().sum()]\nk[0].backward()\ndel k[0]\nk[0].backward()", set()),
    "global": ("h = x\ndef step():\n    global h\n    h = net(h)\n    h.sum().backward()\nfor i in range(3):\n    step()", {(5, "CARRIED")}),
    "local of the same name": ("h = x\ndef step():\n    h = net(x)\n    h.sum().backward()\nfor i in range(3):\n    step()", set()),
    "nonlocal": ("def main():\n    h = x\n    def step():\n        nonlocal h\n        h = net(h)\n        h.sum().backward()\n    for i in range(3):\n        step()\nmain()", {(6, "CARRIED")}),
    "closure reads an outer graph": ("def main():\n    s = w.exp()\n    def step():\n        s.sum().backward()\n    for i in range(3):\n        step()\nmain()", {(4, "EXTERNAL")}),
}  # fmt: skip

IN_PLACE = {
    "added in place, walked in each iteration": ("t = torch.zeros(())\nfor i in range(3):\n    t += (w * x).sum()\n    t.backward()", {(4, "TOTAL")}),
    "seen through an alias": ("l = net(x).exp().sum()\nt = l\nt += 1\nt.backward()\nl.backward()", {(5, "REPEATED")}),
    "number added in place": ("for i in range(3):\n    l = net(x).exp().sum()\n    l += 1\n    l.backward()", set()),
    "added to a detached alias": ("t = torch.zeros(())\nfor i in range(3):\n    l = (w * x).sum()\n    l.backward()\n    t += l.detach()", set()),
}  # fmt: skip

ALL = [pytest.param(*case, id=name) for table in (LOOPS, CONTROL, NAMES, IN_PLACE) for name, case in table.items()]


@pytest.mark.parametrize(("body", "expected"), ALL)
def test_hits(body: str, expected: set[tuple[int, str]]) -> None:
    assert hits(body) == expected


STALE = {
    "step between two walks": (
        "deep = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))\nopt = torch.optim.SGD(deep.parameters(), 0.1)\n"
        "h = deep(x)\nh.sum().backward(retain_graph=True)\nopt.step()\nh.mean().backward()",
        {6},
    ),
    "a parameter written in place by hand": (
        "deep = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))\nh = deep(x)\nh.sum().backward(retain_graph=True)\n"
        "with torch.no_grad():\n    deep[1].weight.mul_(0.5)\nh.mean().backward()",
        {6},
    ),
    "step after both walks": (
        "opt = torch.optim.SGD(net.parameters(), 0.1)\nh = net(x).exp()\nh.sum().backward(retain_graph=True)\n"
        "h.mean().backward()\nopt.step()",
        set(),
    ),
    "a fresh forward after the step": (
        "opt = torch.optim.SGD(net.parameters(), 0.1)\nfor i in range(3):\n    net(x).exp().sum().backward()\n    opt.step()",
        set(),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), [pytest.param(*case, id=name) for name, case in STALE.items()])
def test_stale_parameters(body: str, expected: set[int]) -> None:
    assert stale(body) == expected


UNKNOWN_PLACES = """
for step in range(9):
    outs = []
    for place in places:
        outs.append(net(x).exp())
    for place in places:
        {again}outs[place].sum().backward()
"""


def test_an_unknown_index_names_another_item_in_each_iteration() -> None:
    assert hits(UNKNOWN_PLACES.format(again="")) == set()
    assert hits(UNKNOWN_PLACES.format(again="for _ in range(2):\n            ")) == {(8, "EXTERNAL")}
