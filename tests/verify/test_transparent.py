"""A program does under the probe what it does without: it prints the same, calls the same in the same order, and ends the same."""

from __future__ import annotations

import pytest

from benchmarks.transparent import MODES, WITHOUT, Behaviour, behaviours

pytestmark = pytest.mark.xdist_group("transparent")

HEAD = """import torch
from torch import nn
import torch.nn.functional as F
w = torch.ones(3, requires_grad=True)
model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
x = torch.randn(4, 3)
"""
PROGRAMS = {
    "views that went stale": """
h = torch.nn.Parameter(torch.ones(3, 3)) * 2
with torch.no_grad():
    part = h[0]
h.mul_(2)
print((part > 1).sum().item(), part.detach().sum().item())
""",
    "gradients for a generator": """
print(torch.autograd.grad(model(x).sum(), model.parameters()))
print(torch.autograd.grad((p * p for p in [w.exp().sum(), w.sum()]), iter([w]), (torch.ones(()) for _ in range(2))))
left = iter([w, w, w])
torch.autograd.backward(map(torch.sum, (w * w, w * 3)), inputs=(next(left) for _ in range(2)))
print(w.grad, len(list(left)))
""",
    "an optimizer of a generator": """
optimizer = torch.optim.SGD((p for p in model.parameters()), lr=0.1)
optimizer.add_param_group({"params": iter([w])})
(model(x).sum() + w.sum()).backward()
optimizer.step()
print(w, [len(group["params"]) for group in optimizer.param_groups])
""",
    "a mode that prints": """
from torch.overrides import TorchFunctionMode
class Mine(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        print(getattr(func, "__name__", func), len(args), sorted(kwargs or {}))
        return func(*args, **(kwargs or {}))
with Mine():
    y = F.mse_loss(model(x), torch.zeros(4, 1))
    y.backward()
    torch.autograd.grad((w * w).sum(), [w])
    torch.exp(w.detach(), out=torch.empty(3))
    w.detach().add_(1)
    y.item()
with Mine():
    torch.optim.SGD([w], lr=0.1).step()
    torch.add(w, 1)
optimizer = torch.optim.Adam(model.parameters())
def closure():
    with Mine():
        return model(x).sum()
optimizer.step(closure)
""",
    "a mode that dispatches": """
from torch.utils._python_dispatch import TorchDispatchMode
class Mine(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print(func)
        return func(*args, **(kwargs or {}))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with Mine():
    for _ in range(2):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), torch.zeros(4, 1))
        loss.backward()
        optimizer.step()
    torch.autograd.backward([w.sum(), w.exp().sum()])
""",
    "subclasses of tensors": """
class Named(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print(getattr(func, "__name__", func), [kind.__name__ for kind in types])
        return super().__torch_function__(func, types, args, kwargs or {})
class Counted(torch.Tensor):
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=inner.requires_grad)
        made.inner = inner
        return made
    def __repr__(self):
        return f"Counted({self.inner})"
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        print(func)
        out = func(*(each.inner if isinstance(each, cls) else each for each in args), **(kwargs or {}))
        return cls(out) if isinstance(out, torch.Tensor) else out
a = x.as_subclass(Named).requires_grad_()
b = F.softmax(a * 2, dim=1)
c = a * 2
c[0, 0] = 0
(b.sum() + c.sum()).backward()
print(type(a.grad).__name__, a.grad.shape)
c = Counted(torch.ones(3).requires_grad_())
loss = (c * c).sum()
loss.backward()
torch.optim.SGD([c], lr=0.1).step()
print(type(c.grad).__name__)
""",
    "functions that may be overridden": """
from torch.overrides import handle_torch_function, has_torch_function, wrap_torch_function
class Quiet:
    '''Can be called, and neither hashed nor compared.'''
    __hash__ = None
    def __eq__(self, other):
        raise TypeError
    def __call__(self, value):
        print("called", has_torch_function((value,)))
        if has_torch_function((value,)):
            return handle_torch_function(self, (value,), value)
        return value * 2
    def __getattr__(self, name):
        print("asked for", name)
        raise AttributeError(name)
print(Quiet()(w))
from torch._C import _has_torch_function as really
quiet = Quiet()
print(handle_torch_function(quiet, (w,), w) if really((w,)) else quiet(w))
def numbers(value, out=None):
    return (v for v in value)
print(list(handle_torch_function(numbers, (w,), [1, 2], out=iter([3])) if really((w,)) else numbers([1, 2])))
@wrap_torch_function(lambda value: (value,))
def own(value):
    print("own")
    return value + 1
own(w)
""",
    "hooks": """
for name, part in model.named_modules():
    part.register_forward_pre_hook(lambda part, given, name=name: print("into", name))
    part.register_forward_hook(lambda part, given, made, name=name: print("out of", name))
    part.register_full_backward_hook(lambda part, given, made, name=name: print("back through", name))
w.register_hook(lambda grad: print("gradient", grad))
w.register_post_accumulate_grad_hook(lambda param: print("accumulated", param.grad))
y = (w * w).sum() + model(x).sum()
y.register_hook(lambda grad: print("loss", grad))
y.grad_fn.register_hook(lambda *grads: print("node"))
y.grad_fn.register_prehook(lambda grads: print("before the node"))
def again(grad):
    with torch.enable_grad():
        (w * 3).sum().backward()
    print("a pass in a pass", w.grad)
model[0].weight.register_hook(again)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer.register_step_pre_hook(lambda each, args, kwargs: print("before the step", len(args), kwargs))
optimizer.register_step_post_hook(lambda each, args, kwargs: print("after the step"))
y.backward()
optimizer.step()
""",
    "hooks for saved tensors": """
from torch.autograd.graph import saved_tensors_hooks, save_on_cpu
from torch.utils.checkpoint import checkpoint
def packed(value):
    print("pack", tuple(value.shape))
    return value
def unpacked(value):
    print("unpack", tuple(value.shape))
    return value
with saved_tensors_hooks(packed, unpacked):
    y = (w.exp() * w).sum()
    z = y * 2
z.backward()
def part(value):
    print("computed")
    return model(value).tanh()
for _ in range(2):
    checkpoint(part, x, use_reentrant=False).exp().sum().backward()
    checkpoint(part, w.expand(4, 3) * 1, use_reentrant=True).exp().sum().backward()
with save_on_cpu():
    (w * w).sum().backward()
with saved_tensors_hooks(packed, unpacked):
    y = (w.exp() * w).sum()
y.backward()
try:
    y.backward()
except RuntimeError as error:
    print(str(error)[:30])
""",
    "copies": """
import copy, io, pickle
optimizer = torch.optim.Adam(model.parameters())
model(x).sum().backward()
optimizer.step()
twin, other = copy.deepcopy((model, optimizer))
print(other.param_groups[0]["params"][0] is twin[0].weight, other.state_dict()["state"][0]["step"])
class Odd:
    def __deepcopy__(self, memo):
        print("copied", len(memo))
        return self
    def __reduce__(self):
        print("pickled")
        return Odd, ()
model.odd, w.odd = Odd(), Odd()
copy.deepcopy(model), copy.copy(model), copy.deepcopy(w), pickle.dumps(w)
torch.save(model.state_dict(), io.BytesIO())
try:
    copy.deepcopy(w * 2)
except RuntimeError as error:
    print(str(error)[:40])
""",
    "objects that notice": """
from unittest.mock import Mock
class Shy:
    def __init__(self):
        self.held = w * 2
    def __getattribute__(self, name):
        print("asked for", name)
        return object.__getattribute__(self, name)
class Loud(list):
    def __iter__(self):
        print("gone through")
        return super().__iter__()
    def __len__(self):
        print("counted")
        return super().__len__()
class Table(dict):
    def items(self):
        print("items")
        return super().items()
class Late(type(torch)):
    def __getattr__(self, name):
        print("loaded", name)
        raise AttributeError(name)
import sys
sys.modules["late"] = Late("late")
mock = Mock(spec=torch.Tensor)
def train():
    shy, loud, table = Shy(), Loud([w * 2]), Table(one=w * 3)
    carried = w.sum()
    for _ in range(12):
        carried = carried * 0.5 + w.sum()
        carried.backward(retain_graph=True)
    print(mock.mock_calls)
train()
try:
    loss = w.exp().sum()
    loss.backward()
    loss.backward()
except RuntimeError:
    print("refused")
""",
    "variables that are kept": """
def train(rate, steps=2):
    given = locals()
    exec("made = 1")
    for step in range(steps):
        (w * w).sum().backward()
    print(sorted(given), sorted(locals()), eval("made"), sorted(vars()))
train(0.1)
def plain():
    first = w * 2
    for step in range(2):
        (w * w).sum().backward()
    return dict(locals())
print(sorted(plain()))
""",
    "what is gone": """
import gc, weakref
def train():
    net = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net.weight.register_hook(lambda grad, net=net: grad)
    for _ in range(3):
        optimizer.zero_grad()
        loss = net(x).pow(2).mean()
        loss.backward()
        optimizer.step()
    return [weakref.ref(each) for each in (net, net.weight, optimizer, loss)]
refs = train()
gc.collect()
print([ref() for ref in refs])
print(sum(issubclass(type(each), torch.Tensor) for each in gc.get_objects()))
""",
    "closures of optimizers": """
class Closure:
    calls = 0
    def __call__(self):
        self.calls += 1
        optimizer.zero_grad()
        loss = (model(x) - 1).pow(2).mean()
        loss.backward()
        return loss
class Own(torch.optim.SGD):
    def step(self, closure=None):
        print(type(closure).__name__, closure is mine)
        return super().step(closure)
mine = Closure()
optimizer = Own(model.parameters(), lr=0.1)
print(optimizer.step(mine), optimizer.step(closure=mine), mine.calls)
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
print(optimizer.step(mine), mine.calls)
class Broken(torch.optim.SGD):
    def step(self, closure=None):
        raise ValueError("no step")
from torch.overrides import TorchFunctionMode
class Mine(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        print(getattr(func, "__name__", func))
        return func(*args, **(kwargs or {}))
try:
    Broken(model.parameters(), lr=0.1).step()
except ValueError as error:
    print(error)
with Mine():
    torch.optim.SGD([w], lr=0.1).step()
print("outside")
torch.exp(w)
""",
    "fast paths of layers": """
layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
encoder = nn.TransformerEncoder(layer, 2).eval()
mask = torch.tensor([[False, False, True], [False, True, True]])
with torch.no_grad():
    print(encoder(torch.ones(2, 3, 4), src_key_padding_mask=mask))
    print(nn.MultiheadAttention(4, 2, batch_first=True).eval()(*[torch.randn(2, 3, 4)] * 3, need_weights=False)[0])
""",
    "threads": """
import threading
class Own(threading.Thread):
    def __setattr__(self, name, value):
        if not name.startswith("_"):
            print("set", name)
        super().__setattr__(name, value)
    def run(self):
        print(sorted(vars(self)).count("run"), (w * w).sum().item())
thread = Own()
thread.work = 1
thread.start()
thread.join()
try:
    thread.start()
except RuntimeError as error:
    print(error)
print(thread.run.__func__ is Own.run)
other = threading.Thread()
other.run = lambda: print("instead")
other.start()
other.join()
print("run" in vars(other))
""",
    "transforms": """
from torch.autograd.functional import jacobian, hessian, vjp
print(jacobian(lambda v: v.exp(), w.detach(), vectorize=True), hessian(lambda v: (v ** 3).sum(), w.detach()))
print(torch.func.vmap(torch.func.grad(lambda v: v.exp()))(w.detach()), torch.func.jacrev(torch.exp)(w.detach()))
print(torch.autograd.grad(w.exp(), w, torch.eye(3), is_grads_batched=True))
traced = torch.fx.symbolic_trace(model)
print(traced.code, torch.jit.trace(model, x)(x).shape, torch.jit.script(model)(x).shape)
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        ctx.save_for_backward(value)
        return 2 * value
    @staticmethod
    def backward(ctx, grad):
        assert ctx.saved_tensors[0].shape == grad.shape
        return 2 * grad
Twice.apply(w).sum().backward()
compiled = torch.compile(lambda v: Twice.apply(v).exp().sum(), backend="eager", fullgraph=True)
compiled(w).backward()
attention = torch.compile(nn.MultiheadAttention(4, 2), backend="eager", fullgraph=True)
attention(*[torch.ones(3, 2, 4)] * 3)[0].sum().backward()
print(w.grad)
""",
    "the main module": """
import sys
print([name for name in dir(sys.modules["__main__"]) if name.startswith("__")], type(__builtins__), __spec__, __cached__)
print(type(__loader__).__name__, __annotations__, __name__, __doc__, __package__)
number: int = 3
print(__annotations__)
torch.set_default_device("cpu")
torch.set_default_device("cpu")
torch.optim.SGD([w], lr=0.1).step()
torch.set_default_device(None)
with torch.device("meta"):
    print(torch.ones(2).device)
""",
    "ends that differ": """
class Strange(Exception):
    def __str__(self):
        print("as text")
        return "strange"
def hook(grad):
    raise Strange
w.register_hook(hook)
(w * w).sum().backward()
""",
}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Behaviour]]:
    """What each program does in each mode: one import of torch, a fork for each."""
    folder = tmp_path_factory.mktemp("programs")
    for at, text in enumerate(PROGRAMS.values()):
        (folder / f"program{at}.py").write_text(HEAD + text)
    return behaviours([(folder, folder / f"program{at}.py") for at in range(len(PROGRAMS))], (WITHOUT, *MODES))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_the_same(seen: dict[str, list[Behaviour]], name: str, mode: str) -> None:
    at = list(PROGRAMS).index(name)
    expected = seen[WITHOUT][at]
    assert expected.code == (1 if name == "ends that differ" else 0), expected
    assert seen[mode][at] == expected
