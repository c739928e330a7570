"""The instrument: what it counts, and that a script runs as by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graphfix.verify.record import Ending, Run

# one worker runs all scripts, once
pytestmark = pytest.mark.xdist_group("probe")

HEAD = "import torch\nw = torch.ones(3, requires_grad=True)\n"
LOOP = "for _ in range(5):\n    "
WALK = "loss = (w * w).sum()\n    loss.backward()\n"
SCRIPTS = {
    "walks twice": HEAD + "loss = (w * w).sum()\nloss.backward()\n\nloss.backward()\n",
    "in place": HEAD + "y = w * 1\nloss = (y * y).sum()\ny.add_(1)\nloss.backward()\n",
    "grows": HEAD + f"kept = []\n{LOOP}{WALK}    kept.append(loss)\n",
    "flat": HEAD + LOOP + WALK,
    "retains": HEAD + f"{LOOP}loss = (w * w).sum()\n    loss.backward(retain_graph=True)\n",
    "inner nodes": HEAD + "F = torch.nn.functional\nloss = F.mse_loss(F.softplus(w * 2), w)\nloss.backward()\n",
    "known bytes": HEAD + "x = torch.ones(100, 3)\ny = (x * w).exp()\nz = y.sum()\nz.backward(retain_graph=True)\nz.backward()\n",
    "nested grad": HEAD + "g, = torch.autograd.grad((w ** 3).sum(), w, create_graph=True)\ng.pow(2).sum().backward()\n",
    "grad between": HEAD + "z = w.exp()\nl = z.exp().sum()\ntorch.autograd.grad(l, z)\nz.sum().backward()\n",
    "no grad": HEAD + "with torch.no_grad():\n    y = (w * w).sum()\nloss = (w * w).sum()\nloss.backward()\n",
    "threads": HEAD
    + """
import threading
class Own(threading.Thread):
    def run(self):
        (w * w).sum().backward()
def work():
    (w * 2).exp().sum().backward()
for thread in (Own(), threading.Thread(target=work)):
    thread.start()
    thread.join()
def fail():
    loss = (w * w).sum()
    loss.backward()
    loss.backward()
threading.Thread(target=fail).start()
""",
    "workers": """
import torch
from torch.utils.data import DataLoader, TensorDataset
def main():
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, in DataLoader(TensorDataset(torch.ones(12, 2)), batch_size=4, num_workers=2):
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        print(loss.item())
if __name__ == "__main__":
    main()
""",
    "function": """
import torch
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 2 * x
    @staticmethod
    def backward(ctx, g):
        return 2 * g
w = torch.ones(3, requires_grad=True)
y = Double.apply(w)
y.sum().backward()
""",
    "reads": HEAD
    + "l = (w * w).sum()\nl.backward()\nl.item(); l.tolist(); float(l.detach()); int(l.detach()); w.detach().cpu().numpy()\n",
    "warns": HEAD + "import warnings\nwarnings.warn('mind the step')\n(w * w).sum().backward()\n",
    "steps": """
import torch
def train():
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
    x = torch.ones(4, 2)
    def closure():
        optimizer.zero_grad()
        loss = (model(x) - 1).pow(2).mean()
        loss.backward()
        return loss
    for _ in range(2):
        optimizer.step(closure)
train()
""",
    "default device": "import torch\ntorch.set_default_device('cpu')\n" + HEAD + "(w * w).sum().backward()\n",
    "own mode": HEAD
    + """
from torch.overrides import TorchFunctionMode
class Mine(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
with Mine():
    (w * w).sum().backward()
optimizer = torch.optim.SGD([w], lr=0.1)
with Mine():
    optimizer.step()
(w * w).sum().backward()
""",
    "compiled": HEAD
    + """
f = torch.compile(lambda x: (x * x).sum(), backend="eager")
model = torch.compile(torch.nn.Linear(3, 1), backend="eager")
f(w).backward()
loss = model(w).sum()
loss.backward()
""",
    "vmapped": HEAD + "torch.func.vmap(torch.func.grad(lambda x: x.exp()))(w.detach())\n(w * w).sum().backward()\n",
    "forks": HEAD + "import os\npid = os.fork()\n(w * w).sum().backward()\nif pid:\n    os.waitpid(pid, 0)\n",
    "distributed": """
import tempfile, torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint
torch.distributed.init_process_group("gloo", init_method="file://" + tempfile.mktemp(), rank=0, world_size=1)
model = DistributedDataParallel(torch.nn.Linear(3, 1))
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    optimizer.zero_grad()
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    x = torch.ones(2, 3, requires_grad=True)
    checkpoint(model.module, x, use_reentrant=True).sum().backward()
torch.distributed.destroy_process_group()
""",
    "much else": """
import copy, io, inspect, torch
@torch.jit.script
def act(x):
    return x * torch.sigmoid(x)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(3, 4, batch_first=True)
        self.attend = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    def forward(self, x):
        y, _ = self.lstm(x)
        return act(self.attend(y, y, y)[0])
net = Net()
optimizer = torch.optim.RAdam(net.parameters())
scaler = torch.amp.GradScaler("cpu", enabled=False)
for _ in range(2):
    loss = net(torch.randn(2, 5, 3)).sum()
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(optimizer)
    optimizer.zero_grad(set_to_none=True)
torch.save(net, io.BytesIO())
copy.deepcopy(net)
assert inspect.getsource(Net).startswith("class Net")
torch.func.hessian(lambda x: (x**3).sum())(torch.ones(2))
embedding = torch.nn.Embedding(5, 2, sparse=True)
embedding(torch.tensor([1])).sum().backward()
torch.optim.SparseAdam(embedding.parameters()).step()
z = torch.ones(2, dtype=torch.complex64, requires_grad=True)
(z * z).abs().sum().backward()
with torch.inference_mode():
    net(torch.randn(1, 2, 3))
""",
    "exits": "import sys\nsys.exit(3)\n",
    "exits well": HEAD + "import sys\n(w * w).sum().backward()\nsys.exit()\n",
    "at exit": HEAD + "import atexit\natexit.register(lambda: ((w * w).sum().backward(), print('last')))\n",
    "dies": "import os\nos._exit(3)\n",
    "kills": HEAD + "(w * w).sum().backward()\nimport os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n",
    "no file": "open('missing.csv')\n",
    "bad syntax": "import torch\nx = (\n",
    "main module": """
import sys, pickle
class A: pass
assert sys.modules['__main__'].A is A and pickle.loads(pickle.dumps(A)) is A
print(__name__, __file__)
""",
}


@pytest.fixture(scope="module")
def runs(run_scripts: Callable[..., dict[str, Run]]) -> dict[str, Run]:
    return run_scripts(SCRIPTS, saved=True, limit=600.0)


def test_errors_name_the_line_of_the_script(runs: dict[str, Run]) -> None:
    for name, line, words in (
        ("walks twice", 6, "Trying to backward through the graph a second time"),
        ("in place", 6, "one of the variables needed for gradient computation has been modified by an inplace operation"),
    ):
        failure = runs[name].failure
        assert failure is not None
        assert (runs[name].ending, failure.kind, failure.line) == (Ending.FAILED, "RuntimeError", line)
        assert failure.message.startswith(words)
        assert "_graphfix_probe" not in runs[name].stderr and "script.py" not in runs[name].stderr.partition('File "')[2][:40]
    missing, syntax = runs["no file"].failure, runs["bad syntax"].failure
    assert missing is not None and syntax is not None
    assert (missing.kind, missing.line, runs["no file"].exit_code) == ("FileNotFoundError", 1, 1)
    assert (syntax.kind, syntax.line) == ("SyntaxError", 2)


def test_live_nodes_grow_where_they_are_kept(runs: dict[str, Run]) -> None:
    assert runs["grows"].nodes == (2, 4, 6, 8, 10)
    assert list(runs["grows"].walks[-1].born.values()) == [10]
    assert list(runs["grows"].walks[-1].born)[0].endswith(":5")
    # the loss of the last iteration lives until the next one has a loss of its own
    assert runs["flat"].nodes == (2,) * 5
    assert [walk.freed for walk in runs["flat"].walks] == [2] * 5
    assert [walk.freed for walk in runs["retains"].walks] == [0] * 5
    assert all(walk.retained for walk in runs["retains"].walks)
    assert runs["flat"].peak == 4


def test_nodes_inside_of_composite_calls_are_counted(runs: dict[str, Run]) -> None:
    assert runs["inner nodes"].made == 3
    assert runs["function"].made == 2
    assert runs["no grad"].made == 2


def test_saved_tensors_are_those_that_are_alive(runs: dict[str, Run]) -> None:
    first, second = runs["known bytes"].walks
    # mul saves x (and w, a leaf that lives anyway), exp its result: 300 numbers of 4 bytes each
    assert (first.saved, first.saved_bytes) == (2, 1200 + 1200) or (first.saved, first.saved_bytes) == (3, 2400)
    assert (second.saved, second.saved_bytes, second.freed) == (0, 0, 3)
    assert runs["known bytes"].peak_saved_bytes == 2400
    assert runs["flat"].saved == (0,) * 5
    assert all(runs["retains"].saved)


def test_a_walk_to_inputs_frees_what_lies_between(runs: dict[str, Run]) -> None:
    assert runs["grad between"].clean
    assert [(walk.call, walk.freed) for walk in runs["grad between"].walks] == [("grad", 2), ("backward", 2)]
    nested = runs["nested grad"]
    assert nested.clean
    assert [walk.call for walk in nested.walks] == ["grad", "backward"]
    assert [value for _, value in nested.losses] == [3.0, 27.0]


def test_threads_are_watched(runs: dict[str, Run]) -> None:
    run = runs["threads"]
    assert (run.ending, run.walk_count) == (Ending.FINISHED, 3)
    assert run.walks[1].made == 2 + 3
    (failure,) = run.thread_failures
    assert failure.message.startswith("Trying to backward") and failure.line == 16
    assert not run.clean


def test_workers_and_forks_do_not_write_the_report(runs: dict[str, Run]) -> None:
    assert runs["workers"].clean, runs["workers"].stderr
    assert runs["workers"].walk_count == 3
    assert len(runs["workers"].numbers) == 3
    assert len(runs["workers"].stdout.split()) == 3
    assert (runs["forks"].clean, runs["forks"].walk_count) == (True, 1)


def test_reads_are_counted_and_kept(runs: dict[str, Run]) -> None:
    assert runs["reads"].reads == {"item": 1, "tolist": 1, "float": 1, "int": 1, "cpu": 1, "numpy": 1}
    assert runs["reads"].numbers == ((1, 3.0),) * 3
    assert runs["reads"].waits == 0


def test_parameters_at_the_end_are_told_even_where_their_owner_is_gone(runs: dict[str, Run]) -> None:
    assert [parameter.shape for parameter in runs["steps"].parameters] == [(1, 2), (1,)]
    assert runs["steps"].clean and runs["steps"].walk_count >= 4
    assert [parameter.values for parameter in runs["flat"].parameters] == [(1.0, 1.0, 1.0)]


@pytest.mark.parametrize("name", ["default device", "own mode", "compiled", "vmapped", "distributed", "much else"])
def test_what_else_is_laid_over_torch_survives(runs: dict[str, Run], name: str) -> None:
    assert runs[name].clean, runs[name].stderr
    counts = {"default device": 1, "own mode": 2, "compiled": 2, "vmapped": 1, "distributed": 4, "much else": 4}
    assert runs[name].walk_count == counts[name]
    assert runs[name].made >= 2


def test_a_script_ends_as_by_hand(runs: dict[str, Run]) -> None:
    assert (runs["exits"].ending, runs["exits"].exit_code) == (Ending.EXITED, 3)
    assert (runs["exits well"].clean, runs["exits well"].walk_count) == (True, 1)
    assert (runs["at exit"].clean, runs["at exit"].walk_count, runs["at exit"].stdout) == (True, 1, "last\n")
    assert runs["main module"].clean, runs["main module"].stderr
    assert runs["main module"].stdout.startswith("__main__ ")
    assert runs["warns"].warnings == ("mind the step",)
    assert "UserWarning: mind the step" in runs["warns"].stderr


def test_a_script_that_dies_leaves_what_is_known(runs: dict[str, Run]) -> None:
    assert (runs["dies"].ending, runs["dies"].exit_code) == (Ending.LOST, 3)
    assert (runs["kills"].ending, runs["kills"].exit_code) == (Ending.KILLED, -11)
    assert str(runs["kills"].failure) == "SIGSEGV: segmentation fault"
