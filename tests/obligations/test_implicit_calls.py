"""Code that goes backward and is called by no name: nothing is repaired by itself where it may get hold of the graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability
from graphfix.run.engine import findings_of

PROGRAM = """
import contextlib, json, logging, sys
from enum import Enum
import torch
from torch import nn

net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
log = logging.getLogger("training")

{before}

for step in range(4):
    loss = net(torch.randn(5, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    {walk}
    optimizer.step()
"""


def safe(text: str) -> list[str]:
    found = findings_of(Path("train.py"), text)
    return [each.code for each in found if each.fix is not None and each.fix.applicability is Applicability.SAFE]


def test_what_nobody_walks_again_is_not_retained() -> None:
    assert safe(PROGRAM.format(before="pass", walk="pass")) == ["GF305"]


UNNAMED = {
    "class Job:\n    def __init_subclass__(cls, value):\n        value.backward()": "class Mine(Job, value=loss): pass",
    "class Slot:\n    def __set__(self, owner, value):\n        value.backward()\nclass Job:\n    target = Slot()\njob = Job()": "job.target = loss",
    "class Slot:\n    def __set__(self, owner, value):\n        self.take(value)\n    def take(self, value):\n        self.end(value)\n"
    "    def end(self, value):\n        value.backward()\nclass Job:\n    target = Slot()\njob = Job()": "job.target = loss",
    "def end(value):\n    value.backward()\ndef take(value):\n    return end(value)\nclass Walk:\n    def __class_getitem__(cls, value):\n"
    "        take(value)": "Walk[loss]",
    "class Box(dict):\n    def __missing__(self, key):\n        self.begin(key)\n    def begin(self, key):\n        for each in (key,):\n"
    "            self.end(each)\n    def end(self, key):\n        key.backward()\nbox = Box()": "box[loss]",
    "class Box:\n    def __init__(self, v):\n        self.v = v\n    def __getattribute__(self, name):\n        "
    "object.__getattribute__(self, 'v').backward()": "Box(loss).go",
    "class Box(dict):\n    def __delitem__(self, key):\n        self[key].backward()\nbox = Box()": "box['x'] = loss; del box['x']",
    "class Box(dict):\n    def pop(self, key):\n        self[key].backward()\nbox = Box()": "box['x'] = loss; box.pop('x')",
    "class Box(dict):\n    def __missing__(self, key):\n        key.backward()\nbox = Box()": "box[loss]",
    "class Walk:\n    def __class_getitem__(cls, value):\n        value.backward()": "Walk[loss]",
    "class Job:\n    def __new__(cls, value):\n        value.backward()\n        return 1": "Job(loss)",
    "class Maker(type):\n    def __call__(cls, value):\n        value.backward()\nclass Job(metaclass=Maker): pass": "Job(loss)",
    "class Phase(Enum):\n    ONE = 1\n    @classmethod\n    def _missing_(cls, value):\n        value.backward()": "Phase(loss)",
    "sys.addaudithook(lambda event, args: args[0].backward() if event == 'walk' else None)": "sys.audit('walk', loss)",
    "log.addFilter(lambda record: record.args[0].backward() or False)": "log.warning('%s', loss)",
    "class Walks(logging.Filter):\n    def filter(self, record):\n        record.value.backward()\n"
    "log.addFilter(Walks())": "log.warning('x', extra={'value': loss})",
    "class Walks(json.JSONEncoder):\n    def default(self, value):\n        value.backward()": "json.dumps([loss], cls=Walks)",
    "nn.modules.module.register_module_forward_hook(lambda m, given, made: made.backward())\nspare = nn.Identity()": "spare(loss)",
    "pass": "torch.Tensor.backward.__get__(loss)()",
}


@pytest.mark.parametrize(("before", "walk"), UNNAMED.items())
def test_code_that_goes_backward_where_nobody_names_it(before: str, walk: str) -> None:
    assert safe(PROGRAM.format(before=before, walk=walk)) == []


TAME = {
    "class Box(dict):\n    def __delitem__(self, key):\n        super().__delitem__(key)\nbox = Box()": "box['x'] = 1; del box['x']",
    "class Walks(logging.Filter):\n    def filter(self, record):\n        return True\nlog.addFilter(Walks())": "pass",
    "class Net(nn.Module):\n    def update(self, loss):\n        loss.backward()": "pass",
    "class Net(nn.Module):\n    def update(self, loss):\n        loss.backward()\n    def __len__(self):\n        return self.size()\n"
    "    def size(self):\n        return 3": "pass",
}


@pytest.mark.parametrize(("before", "walk"), TAME.items())
def test_such_code_that_goes_nowhere(before: str, walk: str) -> None:
    assert "GF305" in safe(PROGRAM.format(before=before, walk=walk))


YIELDS = """
@contextlib.contextmanager
def session():
    held = {made}
    yield held
    for each in held:
        {walk}
"""


@pytest.mark.parametrize(
    ("made", "put"), [("[]", "s.append(loss)"), ("{}", "s[step] = loss"), ("set()", "s.add(loss)"), ("[]", "s.extend([loss])")]
)
@pytest.mark.parametrize(
    "taken",
    ["with session() as s:\n        {put}", "for s in session.__wrapped__():\n        {put}", "pass"],
    ids=["with", "for", "pass"],
)
def test_what_is_put_into_what_a_generator_yields(made: str, put: str, taken: str) -> None:
    text = PROGRAM.format(
        before=YIELDS.format(made=made, walk="(held[each] if isinstance(held, dict) else each).backward()"),
        walk=taken.format(put=put),
    )
    text = text.replace("session.__wrapped__()", "session()").replace(
        "@contextlib.contextmanager\n", "" if "for s in" in text else "@contextlib.contextmanager\n"
    )
    assert safe(text) == (["GF305"] if taken == "pass" else [])


def test_what_is_put_into_an_item_of_a_container() -> None:
    before = "from library import chosen"
    walk = "held = []\n    box = {'a': held}\n    box[chosen()].append(loss)\n    [each.backward() for each in held]"
    assert safe(PROGRAM.format(before=before, walk=walk)) == []
