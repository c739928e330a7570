"""GF304: a parameter is stepped between a forward pass that saved it and the backward pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted

from .toys import PREAMBLE, told

LEFT_ALONE = {
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
