"""GF301: two losses that share a graph are walked one after the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of
from graphfix.run.examine import Job, examine

from .toys import PREAMBLE, repaired, told

LEFT_ALONE = {
    "the sum is walked": """
features = trunk(x)
loss_a = F.mse_loss(head_a(features), a)
loss_b = F.mse_loss(head_b(features), b)
(loss_a + loss_b).backward()
""",
    "the first walk retains the graph": """
features = trunk(x)
loss_a = F.mse_loss(head_a(features), a)
loss_b = F.mse_loss(head_b(features), b)
loss_a.backward(retain_graph=True)
loss_b.backward()
""",
    "they share no graph": """
loss_a = F.mse_loss(head_a(x), a)
loss_b = F.mse_loss(head_b(x), b)
loss_a.backward()
loss_b.backward()
""",
    "they share nothing but parameters": """
loss_a = F.mse_loss(head_a(trunk(x)), a)
loss_b = F.mse_loss(head_b(trunk(x)), b)
loss_a.backward()
loss_b.backward()
""",
    "what they share is detached for one of them": """
features = trunk(x)
loss_a = F.mse_loss(head_a(features), a)
loss_b = F.mse_loss(head_b(features.detach()), b)
loss_a.backward()
loss_b.backward()
""",
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    assert told(program) == set()


LAST_FREES = """
losses = F.mse_loss(head_a(trunk(x)), a, reduction="none").sum(1)
for i, loss in enumerate(losses):
    if {before_the_last}:
        loss.backward(retain_graph=True)
    else:
        loss.backward()
"""


@pytest.mark.parametrize(
    "before_the_last",
    [
        "i < losses.shape[0] - 1", "i < losses.size(0) - 1", "i < losses.size()[0] - 1", "i < len(losses) - 1",
        "i != len(losses) - 1", "i + 1 < len(losses)", "len(losses) > i + 1", "not i == losses.shape[0] - 1",
    ],
)  # fmt: skip
def test_only_the_last_of_the_losses_frees_what_they_share(before_the_last: str) -> None:
    program = LAST_FREES.format(before_the_last=before_the_last)
    assert "GF301" not in told(program)


@pytest.mark.parametrize("never_kept", ["i > len(losses)", "i == len(losses) - 1", "i + 1 < len(losses) - 1"])
def test_all_but_the_last_of_the_losses_have_to_keep_it(never_kept: str) -> None:
    assert "GF301" in told(LAST_FREES.format(before_the_last=never_kept))


TOLD = {
    "they share a network": """
features = trunk(x)
loss_a = F.mse_loss(head_a(features), a)
loss_b = F.mse_loss(head_b(features), b)
loss_a.backward()
loss_b.backward()
""",
    "a loop walks them": """
features = trunk(x)
loss_a = F.mse_loss(head_a(features), a)
loss_b = F.mse_loss(head_b(features), b)
for loss in (loss_a, loss_b):
    loss.backward()
""",
}


@pytest.mark.parametrize("program", TOLD.values(), ids=TOLD)
def test_what_is_told(program: str) -> None:
    assert told(program) == {"GF301"}


HOOKED = """
for p in net.parameters():
    p.register_hook(lambda g: g.clamp(-0.02, 0.02))
h = net(x)
one, two = h.abs().mean(), h.pow(2).mean()
one.backward()
two.backward()
"""


def test_walks_that_a_hook_tells_apart_stay_two(tmp_path: Path) -> None:
    after = repaired(tmp_path, HOOKED, select=())
    assert after == HOOKED.replace("one.backward()", "one.backward(retain_graph=True)")


KNOWING = """
def adapt(order, train, tasks):
    second_order = order == 2 and train
    creates = True if order == 2 else False
    losses = []
    for task in tasks:
        loss = model(task).mean()
        torch.autograd.grad(loss, model.parameters(), create_graph=creates)
        losses.append(loss)
    if order == 1:
        return losses[0].item()
    elif order == 2:
        total = torch.stack(losses).mean()
        if train:
            total.backward()
        return total.item()
    else:
        raise ValueError("1 or 2")

def use(options):
    for _ in range(9):
        adapt(options.order, True, [x, x])

use(parse())
"""


def test_a_run_knows_from_its_start_what_a_check_refuses() -> None:
    assert told(KNOWING) == set()
    assert told(KNOWING.replace("create_graph=creates", "create_graph=False")) == {"GF301"}


def test_a_module_whose_check_refuses_a_choice_is_defined_whole(tmp_path: Path) -> None:
    """A run that would begin anew in the middle of an import would leave half of the module to all runs."""
    options = (
        "import os\nKIND = os.environ.get('KIND')\nFAST = 0 if KIND != 'fast' else 1\n"
        "if KIND == 'fast':\n    LIMIT = 2\nelse:\n    raise ValueError(KIND)\n"
        "def walk(loss):\n    loss.backward()\n"
    )
    program = """
import options
for _ in range(9):
    loss = model(x).pow(2).mean()
    if options.FAST:
        print(options.LIMIT)
    options.walk(loss)
    options.walk(loss)
"""
    (tmp_path / "options.py").write_text(options)
    (tmp_path / "train.py").write_text(PREAMBLE + program)
    assert {finding.code for finding in examine(tmp_path / "train.py", Job((tmp_path,))).findings} == {"GF302"}


def test_checks_of_which_one_always_refuses_end_the_run() -> None:
    """Whatever is answered, one of the two raises: the run is begun anew as often as it helps, and no more."""
    program = """
def train(a, x):
    if a:
        raise ValueError
    loss = F.mse_loss(head_a(x), x)
    if not a:
        raise ValueError
    loss.backward()
"""
    assert told(program) == set()


HELPER = """
def walk(loss{parameter}):
    loss.backward({argument})


features = torch.tanh(trunk(x))
{first}
{second}
"""
FIRST, SECOND = "walk(F.mse_loss(head_a(features), a){})", "walk(F.mse_loss(head_b(features), b){})"
PASSED = {
    "the default": (", retain=False", "retain_graph=retain", ("", ""), (", retain=True", "")),
    "a keyword": (", retain=True", "retain_graph=retain", (", retain=False", ""), (", retain=True", "")),
    "a position": (", retain", "retain_graph=retain", (", False", ", False"), (", True", ", False")),
    "only by name": (", *, retain=False", "retain_graph=retain", ("", ""), (", retain=True", "")),
}


def test_a_helper_that_goes_backward_twice_is_told_with_the_call_that_frees() -> None:
    text = PREAMBLE + HELPER.format(parameter="", argument="", first=FIRST.format(""), second=SECOND.format(""))
    (finding,) = findings_of(Path("page.py"), text)
    spelled = [text.encode()[label.span.start : label.span.end].decode() for label in finding.story]
    assert spelled == ["torch.tanh(trunk(x))", FIRST.format(""), SECOND.format(""), "loss.backward()"]
    assert [label.step for label in finding.story] == [1, 2, 3, 4]


@pytest.mark.parametrize(("parameter", "argument", "given", "wanted"), PASSED.values(), ids=PASSED)
def test_the_call_that_decides_about_retaining_is_repaired(
    tmp_path: Path, parameter: str, argument: str, given: tuple[str, str], wanted: tuple[str, str]
) -> None:
    pytest.importorskip("torch")

    def program(passed: tuple[str, str]) -> str:
        first, second = FIRST.format(passed[0]), SECOND.format(passed[1])
        return PREAMBLE.removesuffix("\n") + HELPER.format(parameter=parameter, argument=argument, first=first, second=second)

    with pytest.raises(RuntimeError, match="second time"):
        exec(compile(program(given), "page.py", "exec"), {})
    fixed = repaired(tmp_path, program(given), unsafe=True, select=("GF301",)).removeprefix("\n")
    assert fixed == program(wanted)
    exec(compile(fixed, "page.py", "exec"), {})


STEPPED = """
import torch
from torch import nn
from torch.distributions import {kind}

trunk, actor, critic = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4)), nn.Linear(4, 4), nn.Linear(4, 1)
first = torch.optim.SGD([*trunk.parameters(), *critic.parameters()], 0.1)
second = torch.optim.SGD([*trunk.parameters(), *actor.parameters()], 0.1)
for _ in range(3):
    features = trunk(torch.randn(8, 4))
    policy = {made}
    losses = {{"critic": critic(features).pow(2).mean(), "actor": -policy.log_prob(policy.sample()).mean()}}
    for name, optimizer in {{"critic": first, "actor": second}}.items():
        optimizer.zero_grad()
        losses[name].backward(retain_graph=True)
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("kind", "made"),
    [
        ("Categorical", "Categorical(logits=actor(features))"),
        ("Normal", "Normal(actor(features), 1.0)"),
        ("Independent, Normal", "Independent(Normal(actor(features), 1.0), 1)"),
    ],
)
def test_what_is_no_tensor_is_not_detached(kind: str, made: str) -> None:
    found = findings_of(Path("train.py"), STEPPED.format(kind=kind, made=made))
    texts = [getattr(each, "text", "") for finding in found if finding.fix is not None for each in finding.fix.operations]
    assert "GF304" in {finding.code for finding in found} and not any("policy.detach" in text or text == ".detach()" for text in texts)
