"""Modules and buffers inside of modules: what the analysis says of programs that go through them is what torch does."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

pytest.importorskip("torch")

HEAD = """\
import torch
from torch import nn

torch.manual_seed(0)
"""
NEURONS = """
class Leaky(nn.Module):
    def __init__(self):
        super().__init__()
        self.mem = torch.zeros(1)

    def forward(self, current):
        self.mem = 0.9 * self.mem + current
        return torch.sigmoid(self.mem)

    def clear(self):
        self.mem = torch.zeros(1)


def reset(net):
    for layer in {layers}:
        if isinstance(layer, Leaky):
            layer.clear()


net = nn.Sequential({net})
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(3):
    reset(net)
    loss = net(torch.randn(5, 3)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
FLAT = "nn.Linear(3, 4), Leaky()"
NESTED = "nn.Sequential(nn.Linear(3, 4), Leaky()), nn.Linear(4, 2)"
REACHING = {
    "modules": "net.modules()",
    "named_modules": "dict(net.named_modules()).values()",
    "a list made of them": "[each for each in net.modules() if isinstance(each, Leaky)]",
}
DIRECT = {
    "_modules": "net._modules.values()",
    "items of _modules": "[layer for name, layer in net._modules.items()]",
    "children": "net.children()",
    "named_children": "[layer for name, layer in net.named_children()]",
}
HOOKS = """
features = {}


def save(name):
    def hook(module, given, made):
        features[name] = made

    return hook


net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
for name, module in net.named_modules():
    module.register_forward_hook(save(name))
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(3):
    loss = net(torch.randn(2, 3)).mean() + features["1"].pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
BUFFERS = """
class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.register_buffer("scale", torch.ones(2))

    def forward(self, x):
        return self.layer(x) * self.scale


class Replicated(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module
        self.source = {{name: buffer.clone() for name, buffer in module.named_buffers()}}

    def forward(self, x):
        with torch.no_grad():
            for name, buffer in self.module.named_buffers():
                buffer.copy_(self.source[name])
        return self.module(x)


critic = Replicated(Critic())
optimizer = torch.optim.SGD(critic.parameters(), 0.1)
for _ in range(2):
    {passes}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
TWO = "loss = critic(torch.randn(3, 4)).mean() - critic(torch.randn(3, 4)).mean()"
ONE = "loss = critic(torch.randn(3, 4)).mean()"


def error(text: str) -> str:
    """What torch raises; empty where the program works."""
    try:
        exec(compile(text, "program.py", "exec"), {"__name__": "__main__"})
    except RuntimeError as raised:
        return str(raised)
    return ""


def told(text: str) -> list[tuple[str, str]]:
    """The code of each finding, and the text that it points to."""
    found = findings_of(Path("program.py"), text)
    return [(finding.code, text.encode()[finding.span.start : finding.span.end].decode()) for finding in found]


@pytest.mark.parametrize("layers", DIRECT.values(), ids=DIRECT)
def test_a_reset_of_the_direct_children_leaves_the_state_of_nested_ones(layers: str) -> None:
    nested, flat = (HEAD + NEURONS.format(layers=layers, net=net) for net in (NESTED, FLAT))
    assert "second time" in error(nested)
    assert told(nested) == [("GF202", "self.mem = 0.9 * self.mem + current")]
    assert not error(flat) and told(flat) == []


@pytest.mark.parametrize("layers", REACHING.values(), ids=REACHING)
def test_a_reset_of_all_modules_leaves_no_state(layers: str) -> None:
    text = HEAD + NEURONS.format(layers=layers, net=NESTED)
    assert not error(text) and told(text) == []


def test_what_a_hook_keeps_under_the_name_of_its_module_is_that_of_the_last_forward_pass() -> None:
    assert not error(HEAD + HOOKS) and told(HEAD + HOOKS) == []


def test_a_hook_keeps_what_it_gets_also_under_a_name_that_is_not_known() -> None:
    text = HEAD + "import os\n" + HOOKS.replace("hook(save(name)", "hook(save(os.path.join(name, 'x'))").replace('"1"', '"1/x"')
    assert not error(text) and told(text) == []


def test_a_buffer_that_is_written_before_each_forward_pass_is_stale_for_the_first_of_two() -> None:
    text = HEAD + BUFFERS.format(passes=TWO)
    assert "inplace operation" in error(text)
    assert told(text) == [("GF401", "buffer.copy_(self.source[name])")]


def test_a_buffer_that_is_written_before_the_only_forward_pass_is_fine() -> None:
    text = HEAD + BUFFERS.format(passes=ONE)
    assert not error(text) and told(text) == []
