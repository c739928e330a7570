"""GF304: a parameter is stepped between a forward pass that saved it and the backward pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted

from .toys import PREAMBLE, told

TWO_HALVES = """
both = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
first, second = torch.optim.SGD(both.parameters(), 0.1), torch.optim.SGD(both.parameters(), 0.1)
for x, y in loader:
    one, two = both[0](x).pow(2).mean(), nn.Sequential(both[1], nn.Tanh(), both[1])(x).mean()
"""

LEFT_ALONE = {
    "gradients are cleared behind the steps": TWO_HALVES
    + """\
    one.backward()
    first.step()
    first.zero_grad()
    two.backward()
    second.step()
    both.zero_grad()
""",
    "the step leaves what has no gradient as it is": TWO_HALVES
    + """\
    first.zero_grad()
    one.backward()
    first.step()
    second.zero_grad()
    two.backward()
    second.step()
""",
    "the step comes behind both walks": """
d_loss = -(critic(real) - critic(generator(z).detach())).mean()
g_loss = -critic(generator(z)).mean()
d_loss.backward()
g_loss.backward()
critic_optimizer.step()
generator_optimizer.step()
""",
    "the loss is computed behind the step": """
d_loss = -(critic(real) - critic(generator(z).detach())).mean()
d_loss.backward()
critic_optimizer.step()
g_loss = -critic(generator(z)).mean()
g_loss.backward()
generator_optimizer.step()
""",
    "the step changes other parameters": """
d_loss = -critic(real).mean()
g_loss = generator(z).pow(2).mean()
d_loss.backward()
critic_optimizer.step()
g_loss.backward()
generator_optimizer.step()
""",
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    assert told(program) == set()


TOLD = {
    "gradients of zeros are left by the module": TWO_HALVES
    + """\
    one.backward()
    first.step()
    two.backward()
    second.step()
    both.zero_grad(set_to_none=False)
""",
    "gradients of zeros are stepped, too": TWO_HALVES
    + """\
    first.zero_grad(set_to_none=False)
    one.backward()
    first.step()
    second.zero_grad(set_to_none=False)
    two.backward()
    second.step()
""",
    "the critic is stepped first": """
d_loss = -(critic(real) - critic(generator(z).detach())).mean()
g_loss = -critic(generator(z)).mean()
d_loss.backward()
critic_optimizer.step()
g_loss.backward()
generator_optimizer.step()
""",
}


@pytest.mark.parametrize("program", TOLD.values(), ids=TOLD)
def test_what_is_told(program: str) -> None:
    assert told(program) == {"GF304"}


def test_a_step_that_is_moved_takes_its_comment_along(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(PREAMBLE + TOLD["the critic is stepped first"].replace("critic_optimizer.step()", "critic_optimizer.step()  # D"))
    after = examine(path, Job((tmp_path,), Wanted(("GF304",), unsafe=True), repair=True)).after.decode()
    assert after.endswith("critic_optimizer.step()  # D\ngenerator_optimizer.step()\n")
    assert after.count("# D") == 1
