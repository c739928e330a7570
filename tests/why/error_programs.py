"""Small programs that raise or warn on real torch, by the key of their kind. The user's line at fault ends in `# here`."""

from __future__ import annotations

_NET = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

w = torch.ones(4, requires_grad=True)
x = torch.ones(3, 2)
net = nn.Linear(2, 2)
"""

_DDP = """\
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head, self.extra = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x, with_extra=False):
        h = self.head(self.body(x))
        return self.extra(h) if with_extra else h


class Reentrant(Net):
    def forward(self, x):
        h = checkpoint(self.body, self.extra(x), use_reentrant=True)
        return checkpoint(lambda h: self.body(self.head(h)), h, use_reentrant=True)


x = torch.ones(3, 2)
"""

PROGRAMS: dict[str, list[str]] = {
    "second-backward": [
        f"""{_NET}
h = (w * w).sin()
out = checkpoint(lambda a: a * h, w * 2, use_reentrant=True)
(out.sum() + h.sum()).backward()  # here
""",
        f"""{_NET}
class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x):
        return self.a(x).tanh(), self.b(x).tanh()


for model in (Two(), torch.compile(Two(), backend="aot_eager")):
    a, b = model(x)
    a.sum().backward()
    b.sum().backward()  # here
""",
        f"""{_NET}
optimizer = torch.optim.LBFGS(net.parameters())
loss = net(x).pow(2).sum()


def closure():
    optimizer.zero_grad()
    loss.backward()  # here
    return loss


optimizer.step(closure)
""",
    ],
    "in-place": [
        f"""{_NET}
h = torch.zeros(3, 5, 2)
for t in range(1, 5):
    h[:, t] = torch.tanh(net(h[:, t - 1]))
h.sum().backward()  # here
""",
    ],
    "no-graph": [
        f"""{_NET}
for parameter in net.parameters():
    parameter.requires_grad = False
net(x).sum().backward()  # here
""",
        f"""{_NET}
checkpoint(net, x, use_reentrant=True).sum().backward()  # here
""",
    ],
    "no-inf-checks": [
        f"""{_NET}
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
scaler.scale(net(x).sum())
scaler.step(optimizer)  # here
""",
    ],
    "to-number": [f"{_NET}\nprint(float(w.sum()))  # here\n"],
    "leaf-in-place": [f"{_NET}\nw[0] = 1  # here\n", f"{_NET}\nw.view(2, 2).add_(1)  # here\n"],
    "non-leaf-grad": [
        f"""{_NET}
y = w * 2
y.sum().backward()
print(y.grad)  # here
"""
    ],
    "empty-parameter-list": [
        f"""{_NET}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(2, 2), nn.Linear(2, 2)]


torch.optim.SGD(Net().parameters(), lr=0.1)  # here
""",
    ],
    "serialize": [
        f"""{_NET}
from multiprocessing.reduction import ForkingPickler

import torch.multiprocessing

ForkingPickler.dumps(w * 2)  # here
""",
    ],
    "requires-grad-flag": [f"{_NET}\ny = w * 2\ny.requires_grad = False  # here\n"],
    "integer-grad": [
        f"{_NET}\ntorch.tensor([1, 2], requires_grad=True)  # here\n",
        f"{_NET}\ntorch.arange(3).requires_grad_()  # here\n",
    ],
    "detach-view": [
        f"{_NET}\na, b = (w * 2).chunk(2)\na.detach_()  # here\n",
        f"{_NET}\nlast = (w * 2)[0]\nlast.detach_()  # here\n",
        f"""{_NET}
rnn = nn.LSTM(2, 3)
out, state = rnn(x)
for h in state:
    h.detach_()  # here
""",
        f"""{_DDP}
model = DistributedDataParallel(Net(), gradient_as_bucket_view=True)
model(x, True).sum().backward()
for p in model.parameters():
    p.grad.detach_()  # here
""",
        f"""{_NET}
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net.bias.grad = (net.bias * 2)[:2]
optimizer.zero_grad(set_to_none=False)  # here
""",
    ],
    "view-in-place": [
        f"{_NET}\na, b = (w * 2).split(2)\na += 1  # here\n",
        f"{_NET}\nfor row in (w * 2).view(2, 2):\n    row.mul_(2)  # here\n",
        f"""{_NET}
model = nn.Sequential(net, nn.ReLU(inplace=True))
net.register_full_backward_hook(lambda *words: None)
model(x)  # here
""",
        f"""{_NET}
y = w * 2
with torch.no_grad():
    part = y[:2]
part += 1  # here
""",
    ],
    "inference-tensor": [
        f"{_NET}\nwith torch.inference_mode():\n    features = x * 2\nnet(features)  # here\n",
        f"{_NET}\nwith torch.inference_mode():\n    count = torch.zeros(1)\ncount += 1  # here\n",
    ],
    "ddp-unused": [
        f"""{_DDP}
model = DistributedDataParallel(Net())
for step in range(2):
    model(x).sum().backward()  # here
""",
        f"""{_DDP}
model = DistributedDataParallel(Net())
for step in range(2):
    out = model(x, True)  # here
    model.module.body(x).sum().backward()
""",
    ],
    "ddp-ready-twice": [
        f"""{_DDP}
model = DistributedDataParallel(Reentrant())
model(x).sum().backward()  # here
""",
        f"""{_DDP}
model = DistributedDataParallel(Net(), find_unused_parameters=True)
model.module.extra(model(x)).sum().backward()  # here
""",
    ],
    "donated-buffers": [
        f"""{_NET}
model = torch.compile(nn.Sequential(net, nn.Tanh(), nn.Linear(2, 2), nn.Tanh()), backend="aot_eager")
model(x).sum().backward()
model(x).sum().backward(retain_graph=True)  # here
""",
    ],
    "checkpoint-without-grad": [f"{_NET}\ncheckpoint(net, x, use_reentrant=True)\n"],
    "checkpoint-recompute": [
        f"""{_NET}
sizes = [2, 3]
y = checkpoint(lambda a: a[:sizes.pop(0)].sin(), w, use_reentrant=False)
y.sum().backward()  # here
""",
        f"""{_NET}
runs = [True, False]
y = checkpoint(lambda a: a.sin().cos() if runs.pop(0) else a.sin(), w, use_reentrant=False)
y.sum().backward()  # here
""",
    ],
    "checkpoint-inputs": [
        f"""{_NET}
out = checkpoint(torch.sin, w, use_reentrant=True)
torch.autograd.grad(out.sum(), w)  # here
""",
    ],
    "no-derivative": [
        f"""{_NET}
q = torch.randn(1, 2, 4, 8, requires_grad=True)
out = F.scaled_dot_product_attention(q, q, q)
(grad,) = torch.autograd.grad(out.sum(), q, create_graph=True)
grad.sum().backward()  # here
""",
        f"""{_NET}
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 2

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        return grad * 2


(grad,) = torch.autograd.grad((Double.apply(w) ** 2).sum(), w, create_graph=True)
grad.sum().backward()  # here
""",
        f"""{_NET}
torch.heaviside(w - 0.5, torch.zeros(())).sum().backward()  # here
""",
    ],
    "compiled-twice": [
        f"""{_NET}
net = torch.compile(nn.Linear(2, 1), backend="aot_eager")
x = torch.randn(3, 2, requires_grad=True)
(grad,) = torch.autograd.grad(net(x).square().sum(), x, create_graph=True)
grad.sum().backward()  # here
""",
    ],
    "create-graph": [f"{_NET}\n(w * w).sum().backward(create_graph=True)\n"],
}
# the cure beside each cause that can be checked here: these programs raise nothing, and warn of nothing
CURED = {
    "second-backward, checkpoint": PROGRAMS["second-backward"][0].replace("use_reentrant=True", "use_reentrant=False"),
    "no-graph, checkpoint": PROGRAMS["no-graph"][1].replace("use_reentrant=True", "use_reentrant=False"),
    "no-derivative, step": PROGRAMS["no-derivative"][2].replace(
        "torch.heaviside(w - 0.5, torch.zeros(()))", "torch.sigmoid(10 * (w - 0.5))"
    ),
    "detach-view": PROGRAMS["detach-view"][2].replace("h.detach_()", "h = h.detach()"),
    "view-in-place": PROGRAMS["view-in-place"][0].replace("a += 1", "a = a + 1"),
    "view-in-place, hook": PROGRAMS["view-in-place"][2].replace("inplace=True", "inplace=False"),
    "ddp-unused": PROGRAMS["ddp-unused"][0].replace("(Net())", "(Net(), find_unused_parameters=True)"),
    "ddp-ready-twice, checkpoint": PROGRAMS["ddp-ready-twice"][0].replace("use_reentrant=True", "use_reentrant=False"),
    "ddp-ready-twice, static graph": PROGRAMS["ddp-ready-twice"][0].replace("(Reentrant())", "(Reentrant(), static_graph=True)"),
    "donated-buffers": "import torch._functorch.config\n\ntorch._functorch.config.donated_buffer = False\n"
    + PROGRAMS["donated-buffers"][0],
    "checkpoint-inputs": PROGRAMS["checkpoint-inputs"][0].replace("use_reentrant=True", "use_reentrant=False"),
    "no-derivative": "from torch.nn.attention import SDPBackend, sdpa_kernel\n"
    + PROGRAMS["no-derivative"][0].replace("out = F", "with sdpa_kernel(SDPBackend.MATH):\n    out = F"),
    "inference-tensor": PROGRAMS["inference-tensor"][0].replace("inference_mode", "no_grad"),
    "empty-parameter-list": PROGRAMS["empty-parameter-list"][0].replace(
        "[nn.Linear(2, 2), nn.Linear(2, 2)]", "nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])"
    ),
}
# as the source of torch has them: they need a GPU, or a build of torch that is not here
MESSAGES = {
    "cudnn-rnn": [
        "RuntimeError: cudnn RNN backward can only be called in training mode",
        "RuntimeError: miopen RNN backward can only be called in training mode",
    ],
    "no-derivative": [
        "NotImplementedError: the derivative for '_cudnn_rnn_backward' is not implemented. Double backwards is not supported for CuDNN RNNs "
        "due to limitations in the CuDNN API. To run double backwards, please disable the CuDNN backend temporarily while running the "
        "forward pass of your RNN.",
        "RuntimeError: derivative for aten::_scaled_dot_product_efficient_attention_backward is not implemented",
    ],
    "out-of-memory": [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB"
    ],
    "no-inf-checks": ["AssertionError: No inf checks were recorded prior to update."],
}
