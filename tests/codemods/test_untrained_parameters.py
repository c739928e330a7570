"""GF316: parameters that no optimizer has, or that the loss is computed from without recording."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability, Finding
from graphfix.rewrite import apply_fixes
from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
data = [(torch.randn(6, 4), torch.randn(6, 4)) for _ in range(3)]
"""
STEP = "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"
# a program; the name of what is not trained; the line that the repair makes, None where there is none
NO_OPTIMIZER = {
    "a second layer": (
        """
net, aux = nn.Linear(4, 4), nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    loss = F.mse_loss(aux(net(x)), y)
    STEP
""",
        "aux",
        "SGD([*net.parameters(), *aux.parameters()], 0.1)",
    ),
    "a second layer on lines of their own": (
        """
net = nn.Linear(4, 4)
aux = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
opt = torch.optim.Adam(net.parameters(), lr=0.1)
for x, y in data:
    loss = F.mse_loss(net(x) + aux(x), y)
    STEP
""",
        "aux",
        "Adam([*net.parameters(), *aux.parameters()], lr=0.1)",
    ),
    "the optimizer was made before the network was replaced": (
        """
net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), 0.1)
net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
for x, y in data:
    loss = F.mse_loss(net(x), y)
    STEP
""",
        "net",
        None,
    ),
    "a loss with layers": (
        """
class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Linear(4, 4)
    def forward(self, a, b):
        return F.mse_loss(self.scale(a), b)
net = nn.Linear(4, 4)
criterion = Loss()
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    loss = criterion(net(x), y)
    STEP
""",
        "self.scale",
        None,
    ),
    "in a training function": (
        """
def train():
    net = nn.Linear(4, 4)
    embed = nn.Linear(4, 4)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for x, y in data:
        loss = F.mse_loss(net(embed(x)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
train()
""",
        "embed",
        "SGD([*net.parameters(), *embed.parameters()], 0.1)",
    ),
    "of two optimizers none": (
        """
net, aux = nn.Linear(4, 4), nn.Linear(4, 4)
third = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), 0.1)
other = torch.optim.SGD(third.parameters(), 0.1)
for x, y in data:
    loss = F.mse_loss(third(aux(net(x))), y)
    opt.zero_grad(); other.zero_grad()
    loss.backward()
    opt.step(); other.step()
""",
        "aux",
        None,
    ),
}
# an optimizer that steps nothing of what computes the loss
ANOTHER_NETWORK = {
    "a second network of the same class": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
    def forward(self, x):
        return self.b(self.a(x).relu())
net = Net()
opt = torch.optim.SGD(net.parameters(), 0.1)
net = Net()
print(sum(p.abs().sum().item() for p in net.parameters()))
for x, y in data:
    loss = F.mse_loss(net(x), y)
    STEP
""",
    "a copy that is adapted": """
import copy
net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    adapted = copy.deepcopy(net)
    for p, g in zip(adapted.parameters(), torch.autograd.grad(F.mse_loss(adapted(x), y), adapted.parameters(), create_graph=True)):
        p.data -= 0.1 * g
    loss = F.mse_loss(adapted(x), y)
    STEP
""",
}
UNRECORDED = {
    "a part of a weight": (
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain, self.head = nn.Parameter(torch.ones(4, 2)), nn.Linear(4, 4)
    def clipped(self, gain):
        with torch.no_grad():
            return gain[:, 0].clamp(0, 1)
    def forward(self, x):
        return self.head(x * self.clipped(self.gain))
net = Net()
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    net.train()
    loss = F.mse_loss(net(x), y)
    STEP
    net.eval()
    print(F.mse_loss(net(x), y).item())
""",
        "self.gain",
    ),
    "a weight of its own": (
        """
net = nn.Linear(4, 4)
scale = nn.Parameter(torch.ones(4))
opt = torch.optim.SGD([*net.parameters(), scale], 0.1)
for x, y in data:
    with torch.no_grad():
        x = x * scale
    loss = F.mse_loss(net(x), y)
    STEP
""",
        "scale",
    ),
    "an encoder in forward()": (
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(4, 4)
        self.head = nn.Linear(4, 4)
    def forward(self, x):
        with torch.no_grad():
            h = torch.relu(self.enc(x))
        return self.head(h)
net = Net()
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    loss = F.mse_loss(net(x), y)
    STEP
""",
        "self.enc",
    ),
    "a decorated method": (
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(4, 4)
        self.head = nn.Linear(4, 4)
    @torch.no_grad()
    def encode(self, x):
        return self.enc(x)
    def forward(self, x):
        return self.head(self.encode(x))
net = Net()
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    loss = F.mse_loss(net(x), y)
    STEP
""",
        "self.enc",
    ),
    "two networks": (
        """
net, aux = nn.Linear(4, 4), nn.Linear(4, 4)
opt = torch.optim.SGD([*net.parameters(), *aux.parameters()], 0.1)
for x, y in data:
    with torch.no_grad():
        h = aux(x)
    loss = F.mse_loss(net(h), y)
    STEP
""",
        "aux",
    ),
    "behind set_grad_enabled": (
        """
net, aux = nn.Linear(4, 4), nn.Linear(4, 4)
opt = torch.optim.SGD([*net.parameters(), *aux.parameters()], 0.1)
for x, y in data:
    with torch.set_grad_enabled(False):
        h = aux(x)
    loss = F.mse_loss(net(x) + h, y)
    STEP
""",
        "aux",
    ),
}
COPIED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.make, self.head, self.mix = nn.Linear(4, 4), nn.Linear(4, 4), nn.Parameter(torch.eye(4))
    def forward(self, x):
        self.mix = nn.Parameter(self.make(self.mix))
        return self.head(x @ self.mix)
net = Net()
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    loss = F.mse_loss(net(x), y)
    STEP
"""
LEFT_ALONE = {
    "evaluated in training, though an optimizer has it": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 4)
    def forward(self, x):
        with torch.no_grad():
            h = self.body(x)
        return self.head(h)
net = Net()
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    net.train()
    net.body.eval()
    loss = F.mse_loss(net(x), y)
    STEP
""",
    "a penalty on the gradient of what was made": """
made, judge = nn.Linear(4, 4), nn.Linear(4, 4)
opt, made_opt = torch.optim.SGD(judge.parameters(), 0.1), torch.optim.SGD(made.parameters(), 0.1)
for x, y in data:
    image = made(x).detach().requires_grad_()
    out = judge(image)
    grads = torch.autograd.grad(out.sum(), image, create_graph=True)[0]
    loss = out.mean() + (grads.norm() - 1).pow(2)
    STEP
    made_opt.zero_grad()
    judge(made(x)).mean().backward()
    made_opt.step()
""",
    "a weight that is cut down, and a new optimizer": """
net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    loss = F.mse_loss(net(x), y)
    STEP
net.weight = nn.Parameter(net.weight * (net.weight.abs() > 0.1))
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    loss = F.mse_loss(net(x), y)
    STEP
""",
    "an input that is looked for from what another network gave": """
import copy
net, other = nn.Linear(4, 4), nn.Linear(4, 4)
opt = torch.optim.SGD(other.parameters(), 0.1)
for x, y in data:
    loss = F.mse_loss(other(x), y)
    STEP
image = nn.Parameter(other(torch.ones(2, 4)))
opt = torch.optim.SGD([image], 0.1)
for x, y in data:
    loss = net(image).pow(2).mean()
    STEP
""",
    "all are given": """
net, aux = nn.Linear(4, 4), nn.Linear(4, 4)
opt = torch.optim.SGD([*net.parameters(), *aux.parameters()], 0.1)
for x, y in data:
    loss = F.mse_loss(aux(net(x)), y)
    STEP
""",
    "a group each": """
net, aux = nn.Linear(4, 4), nn.Linear(4, 4)
opt = torch.optim.SGD([{'params': net.parameters()}, {'params': aux.parameters(), 'lr': 1.0}], 0.1)
for x, y in data:
    loss = F.mse_loss(aux(net(x)), y)
    STEP
""",
    "given later": """
net, aux = nn.Linear(4, 4), nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), 0.1)
opt.add_param_group({'params': aux.parameters()})
for x, y in data:
    loss = F.mse_loss(aux(net(x)), y)
    STEP
""",
    "frozen": """
net, aux = nn.Linear(4, 4), nn.Linear(4, 4)
aux.requires_grad_(False)
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    loss = F.mse_loss(aux(net(x)), y)
    STEP
""",
    "frozen one by one": """
net, aux = nn.Linear(4, 4), nn.Linear(4, 4)
for p in aux.parameters():
    p.requires_grad = False
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    loss = F.mse_loss(aux(net(x)), y)
    STEP
""",
    "in evaluation mode": """
net, aux = nn.Linear(4, 4), nn.Linear(4, 4)
aux.eval()
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    loss = F.mse_loss(aux(net(x)), y)
    STEP
""",
    "loaded": """
net, aux = nn.Linear(4, 4), nn.Linear(4, 4)
aux.load_state_dict(nn.Linear(4, 4).state_dict())
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    loss = F.mse_loss(aux(net(x)), y)
    STEP
""",
    "stepped by hand": """
net, aux = nn.Linear(4, 4), nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    loss = F.mse_loss(aux(net(x)), y)
    STEP
    for p in aux.parameters():
        p.data -= 0.1 * p.grad
""",
    "stepped by hand with gradients that are asked for": """
net, aux = nn.Linear(4, 4), nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    loss = F.mse_loss(aux(net(x)), y)
    for p, g in zip(aux.parameters(), torch.autograd.grad(loss, aux.parameters(), retain_graph=True)):
        p.data -= 0.1 * g
    loss = F.mse_loss(aux(net(x)), y)
    STEP
""",
    "two sides of a game": """
d, g = nn.Linear(4, 1), nn.Linear(4, 4)
opt_d, opt_g = torch.optim.SGD(d.parameters(), 0.1), torch.optim.SGD(g.parameters(), 0.1)
for x, _ in data:
    opt_d.zero_grad()
    (d(g(x).detach()).mean() - d(x).mean()).backward()
    opt_d.step()
    opt_g.zero_grad()
    d(g(x)).mean().neg().backward()
    opt_g.step()
""",
    "an average of the weights": """
import copy
net = nn.Linear(4, 4)
mean = copy.deepcopy(net)
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    with torch.no_grad():
        goal = mean(x)
    loss = F.mse_loss(net(x), goal)
    STEP
    with torch.no_grad():
        for a, b in zip(mean.parameters(), net.parameters()):
            a.lerp_(b, 0.1)
""",
    "a target": """
net, target = nn.Linear(4, 4), nn.Linear(4, 4)
target.load_state_dict(net.state_dict())
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    with torch.no_grad():
        goal = target(y)
    loss = F.mse_loss(net(x), goal)
    STEP
""",
    "an adapter": """
net, aux = nn.Linear(4, 4), nn.Linear(4, 4)
net.requires_grad_(False)
opt = torch.optim.SGD(aux.parameters(), 0.1)
for x, y in data:
    loss = F.mse_loss(net(x) + aux(x), y)
    STEP
""",
    "an input is trained through a network": """
net = nn.Linear(4, 4)
image = torch.zeros(6, 4, requires_grad=True)
opt = torch.optim.SGD([image], 0.1)
for x, y in data:
    loss = F.mse_loss(net(image), y)
    STEP
""",
    "read with a graph, too": """
net, aux = nn.Linear(4, 4), nn.Linear(4, 4)
opt = torch.optim.SGD([*net.parameters(), *aux.parameters()], 0.1)
for x, y in data:
    with torch.no_grad():
        h = aux(x)
    loss = F.mse_loss(net(h), y) + aux(x).pow(2).mean()
    STEP
""",
    "a frozen encoder whose parameters were given, too": """
net, aux = nn.Linear(4, 4), nn.Linear(4, 4)
aux.eval()
opt = torch.optim.SGD([*net.parameters(), *aux.parameters()], 0.1)
for x, y in data:
    with torch.no_grad():
        h = aux(x)
    loss = F.mse_loss(net(h), y)
    STEP
""",
    "given to code out of sight": """
from elsewhere import prepare
net, aux = nn.Linear(4, 4), nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), 0.1)
aux = prepare(aux)
for x, y in data:
    loss = F.mse_loss(aux(net(x)), y)
    STEP
""",
    "an optimizer out of sight": """
from elsewhere import Ranger
net, aux = nn.Linear(4, 4), nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), 0.1)
other = Ranger(aux.parameters())
for x, y in data:
    loss = F.mse_loss(aux(net(x)), y)
    STEP
    other.step()
""",
    "trained in another phase": """
net, aux = nn.Linear(4, 4), nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    loss = F.mse_loss(aux(net(x)), y)
    STEP
opt = torch.optim.SGD(aux.parameters(), 0.1)
for x, y in data:
    loss = F.mse_loss(aux(net(x)), y)
    STEP
""",
    "only the last layer is given": """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
opt = torch.optim.SGD(net[1].parameters(), 0.1)
for x, y in data:
    loss = F.mse_loss(net(x), y)
    STEP
""",
    "only a head is given": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.head = nn.Linear(4, 4)
    def forward(self, x):
        return self.head(self.body(x))
net = Net()
opt = torch.optim.SGD(net.head.parameters(), 0.1)
for x, y in data:
    loss = F.mse_loss(net(x), y)
    STEP
""",
    "many layers, whose parameters a function gathers": """
def gathered(layers):
    found = []
    for layer in layers:
        found.extend(layer.parameters())
    return found
layers = [nn.Linear(4, 4) for _ in range(4)]
last, very_last = nn.Linear(4, 4), nn.Linear(4, 4)
opt = torch.optim.SGD(gathered([*layers, last, very_last]), 0.1)
for x, y in data:
    loss = F.mse_loss(very_last(last(layers[0](x))), y)
    STEP
""",
    "no step at all": """
net, aux = nn.Linear(4, 4), nn.Linear(4, 4)
for x, y in data:
    F.mse_loss(aux(net(x)), y).backward()
print(net.weight.grad.norm())
""",
    "layers in a list": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = [nn.Linear(4, 4) for _ in range(2)]
        self.head = nn.Linear(4, 4)
    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return self.head(x)
net = Net()
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in data:
    loss = F.mse_loss(net(x), y)
    STEP
""",
}


def whole(program: str) -> str:
    """A program that can be run: a line STEP stands for a training step with the `loss`."""
    return HEAD + program.replace("    STEP\n", STEP)


def told(program: str) -> list[Finding]:
    return [each for each in findings_of(Path("train.py"), whole(program)) if each.code == "GF316" and not each.yields_to]


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    if "elsewhere" not in program:
        exec(compile(whole(program), "train.py", "exec"), {})
    assert told(program) == []


@pytest.mark.parametrize(("program", "name", "line"), NO_OPTIMIZER.values(), ids=NO_OPTIMIZER)
def test_what_no_optimizer_has(program: str, name: str, line: str | None) -> None:
    exec(compile(whole(program), "train.py", "exec"), {})
    (finding,) = told(program)
    assert finding.message == f"no optimizer has `{name}`, which gets gradients"
    if line is None:
        assert finding.fix is None and finding.unfixed
        return
    assert finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
    repaired = apply_fixes(whole(program), [finding.fix]).text
    assert line in repaired
    exec(compile(repaired, "train.py", "exec"), {})


def test_a_layer_that_each_call_makes_anew_is_to_be_made_once() -> None:
    program = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(4, 4)\n"
    program += "    def forward(self, x):\n        h = nn.LayerNorm(4)(self.a(x))\n        return h\n\nnet = Net()\n"
    program += f"opt = torch.optim.SGD(net.parameters(), 0.1)\nfor x, y in data:\n    loss = F.mse_loss(net(x), y)\n{STEP}"
    (finding,) = told(program)
    assert "`nn.LayerNorm(4)`" in finding.message and "where its module is made" in finding.by_hand


@pytest.mark.parametrize(("program", "name"), UNRECORDED.values(), ids=UNRECORDED)
def test_what_nothing_is_recorded_of(program: str, name: str) -> None:
    exec(compile(whole(program), "train.py", "exec"), {})
    (finding,) = told(program)
    assert finding.message == f"the loss does not train `{name}`, which an optimizer has"
    assert finding.fix is None and f"read `{name}` where operations are recorded" in finding.by_hand


@pytest.mark.parametrize("program", ANOTHER_NETWORK.values(), ids=ANOTHER_NETWORK)
def test_an_optimizer_of_another_network_is_told_once(program: str) -> None:
    exec(compile(whole(program), "train.py", "exec"), {})
    (finding,) = told(program)
    assert finding.message == "`opt` has none of the parameters that get gradients" and finding.fix is None
    copies = [label for label in finding.story if "makes a copy" in label.message]
    assert len(copies) == program.count("deepcopy(") and ("functional_call" in finding.by_hand) == bool(copies)


def test_what_is_copied_on_the_way_to_the_loss_is_told() -> None:
    exec(compile(whole(COPIED), "train.py", "exec"), {})
    (finding,) = told(COPIED)
    assert finding.message == "the loss does not train `self.make`, which an optimizer has"
    assert any("makes a new tensor" in label.message for label in finding.story) and "the tensor itself" in finding.by_hand
