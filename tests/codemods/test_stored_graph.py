"""GF102: places that keep values with their graph; a name that is left over is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of
from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted

from .toys import PREAMBLE

FIT = """\
import torch
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
data = [torch.randn(4, 3) for _ in range(6)]

def fit(x):
    opt.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()
    opt.step()
    return loss / 2

best = float("inf")
for step, x in enumerate(data):
"""
LEFT_OVER = """\
    if step % 2 == 0:
        best = fit(x)
    print(step, best)
"""
NUMBER = """\
    loss = fit(x).item()
    if loss < best:
        best = loss
print(best)
"""
PUT_AWAY = """\
    loss = fit(x)
    if loss < best:
        best = loss
print(best)
"""


def codes(body: str) -> list[str]:
    return [finding.code for finding in findings_of(Path("best.py"), FIT + body)]


def test_a_name_that_some_iterations_compute_anew_is_left_alone() -> None:
    assert codes(LEFT_OVER) == []


def test_the_best_number_so_far_is_left_alone() -> None:
    assert codes(NUMBER) == []


def test_the_best_loss_so_far_is_told() -> None:
    assert codes(PUT_AWAY) == ["GF102"]


def test_a_name_that_nobody_reads_keeps_nothing_on_purpose() -> None:
    program = """
import torch
from torch import nn

class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
    def forward(self, x):
        y = self.fc(x)
        return y, y.sum()

def run(env, config):
    actor = Actor()
    opt = torch.optim.Adam(actor.parameters())
    for t in range(100):
        if t >= config.offline:
            action, _ = actor(torch.tensor(env.state))
            env.step(action.cpu().data.numpy())
        loss = actor(env.batch())[1]
        opt.zero_grad()
        loss.backward()
        opt.step()

run(make(), conf())
"""
    assert {found.code for found in findings_of(Path("train.py"), program) if not found.optional} == {"GF103"}


@pytest.mark.parametrize(("name", "codes"), [("train.py", {"GF102"}), ("test_train.py", set()), ("conftest.py", set())])
def test_what_a_test_keeps_has_to_be_asked_for(name: str, codes: set[str]) -> None:
    """It is gone when the test ends."""
    text = "losses = []\nfor x, y in loader:\n    loss = F.mse_loss(model(x), y)\n    loss.backward()\n    losses.append(loss)\n"
    found = findings_of(Path(name), PREAMBLE + text)
    assert {finding.code for finding in found if not finding.optional} == codes
    assert {finding.code for finding in found} == {"GF102"}


AVERAGED = """\
    pass

def averaged(parts):
    kept = []
    for value in parts.values():
        kept.append(value)
    return torch.stack(kept).mean().item()

for x in data:
    loss = fit(x)
    print(averaged({"loss": loss, "twice": loss * 2}))
"""
ONE_OF_MANY = """\
    pass

history = []
for x in data:
    loss = fit(x)
    for value in {"loss": loss, "twice": loss * 2}.values():
        history.append(value)
"""
GENERATED = """\
    pass

def losses(data):
    for x in data:
        yield fit(x)

history = []
for loss in losses(data):
    history.append(loss)
"""


def test_a_loop_over_what_one_iteration_has_made_is_left_alone() -> None:
    assert codes(AVERAGED) == []


@pytest.mark.parametrize("body", [ONE_OF_MANY, GENERATED])
def test_what_an_inner_loop_or_a_generator_hands_on_is_told(body: str) -> None:
    assert codes(body) == ["GF102"]


COPIES = """\
import torch
from torch import nn

class Averaged:
    def __init__(self, model):
        self.model = model
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}

    def update(self):
        for name, p in self.model.named_parameters():
            now = p.detach().float()
            self.shadow[name] = 0.9 * self.shadow[name] + 0.1 * now

model = nn.Linear(3, 1)
averaged = Averaged(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(4, 3)).sum().backward()
    optimizer.step()
    averaged.update()
"""
LEAVES = """\
import torch
from torch import nn

model = nn.Linear(3, 1)
copies = [p.detach().clone().requires_grad_() for p in model.parameters()]
total = 0
for _ in range(3):
    loss = (torch.randn(1, 3) * copies[0]).sum()
    loss.backward()
    total += loss
print(total)
"""


def test_averages_of_detached_parameters_are_left_alone() -> None:
    assert [found.code for found in findings_of(Path("train.py"), COPIES)] == []


def test_copies_of_parameters_that_need_gradients_make_graphs() -> None:
    assert "GF101" in [found.code for found in findings_of(Path("train.py"), LEAVES)]


@pytest.mark.parametrize(
    ("what", "codes"),
    [
        ("sum(p.numel() for p in m.parameters() if p.requires_grad)", set()),
        ("[p.dim() for p in m.parameters()]", set()),
        ("sum(p.pow(2).sum() for p in m.parameters())", {"GF102"}),
    ],
)
def test_what_counts_parameters_has_no_graph(what: str, codes: set[str]) -> None:
    program = f"""
class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(4, width)

    def forward(self, x):
        return self.layer(x)

results = []
for rank in (4, 8):
    m = Model(rank)
    counted = {what}
    m(x).sum().backward()
    results.append((rank, counted))
print(results[0][1])
"""
    assert {f.code for f in findings_of(Path("ranks.py"), PREAMBLE + program)} == codes


SEVERAL = """\
import torch
from torch import nn


class Log:
    def __init__(self):
        self.rows = []

    def add(self, losses):
        self.rows.append({kept})


net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
log = Log()
for _ in range(3):
    out = net(torch.ones(4, 3))
    a, b = out.mean(), out.pow(2).mean()
    losses = [a, b]
    optimizer.zero_grad()
    sum(losses).backward()
    optimizer.step()
    log.add({given})
kept = log.rows
print(len(kept))
"""
SEVERAL_REPAIRED = {
    "a scaled element": ("losses", "[a * 1000, b]", "losses", "[a.item() * 1000, b.item()]"),
    "scaled values of a dict": ("losses", "{'a': 0.1 * a, 'b': b}", "losses", "{'a': 0.1 * a.item(), 'b': b.item()}"),
    "a comprehension": ("losses", "[2 * each for each in losses]", "losses", "[2 * each.item() for each in losses]"),
    "a dict comprehension": (
        "{k: v for k, v in losses.items()}", "{'a': a, 'b': b}", "{k: v.item() for k, v in losses.items()}", "{'a': a, 'b': b}",
    ),
}  # fmt: skip


def graphs(text: str) -> int:
    """How many tensors with a graph the program keeps."""
    names: dict[str, list] = {}  # type: ignore[type-arg]
    exec(compile(text, "page.py", "exec"), names)  # type: ignore[arg-type]
    items = (each for row in names["kept"] for each in (row.values() if isinstance(row, dict) else row))
    return sum(getattr(each, "grad_fn", None) is not None for each in items)


@pytest.mark.parametrize(("kept", "given", "kept_then", "given_then"), SEVERAL_REPAIRED.values(), ids=SEVERAL_REPAIRED)
def test_what_a_log_is_given_several_losses_in_is_cut_item_by_item(
    tmp_path: Path, kept: str, given: str, kept_then: str, given_then: str
) -> None:
    pytest.importorskip("torch")
    before, after = SEVERAL.format(kept=kept, given=given), SEVERAL.format(kept=kept_then, given=given_then)
    assert repaired_script(tmp_path, before, unsafe=False) == after
    assert (graphs(before), graphs(after)) == (6, 0)


def test_a_list_that_is_stored_by_name_becomes_a_detached_copy(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    before = SEVERAL.format(kept="losses", given="losses").replace("    log.add(losses)", "    log.rows.append(losses)")
    after = before.replace("log.rows.append(losses)", "log.rows.append([s.detach() for s in losses])")
    assert repaired_script(tmp_path, before, unsafe=False) == before, "what changes in the list later is lost"
    assert repaired_script(tmp_path, before, unsafe=True) == after
    assert (graphs(before), graphs(after)) == (6, 0)


def repaired_script(folder: Path, text: str, unsafe: bool) -> str:
    path = folder / "page.py"
    path.write_text(text)
    return examine(path, Job((folder,), Wanted(("GF102",), unsafe=unsafe), repair=True)).after.decode()


PARAMETERS = """\
import torch
from torch import nn

class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4)){converted}

def filled(old, new):
    with torch.no_grad():
        old.copy_(new)
    return old

blocks = [Scale() for _ in range(3)]
for block in blocks:
    block.weight = filled(block.weight, torch.zeros(4))
print(sum(block.weight.sum().item() for block in blocks))
"""


@pytest.mark.parametrize("converted", ["", ".float()", ".contiguous()"])
def test_a_parameter_that_is_given_back_as_it_is_has_no_graph(tmp_path: Path, converted: str) -> None:
    pytest.importorskip("torch")
    text = PARAMETERS.format(converted=converted)
    assert repaired_script(tmp_path, text, unsafe=True) == text
    exec(compile(text, "page.py", "exec"), {})
