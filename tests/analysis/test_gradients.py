"""What becomes of the gradients of a walk, by the optimizer that steps or clears them."""

from __future__ import annotations

import pytest

from graphfix.analysis.runs import Run
from graphfix.autograd.backward import BackwardPass

from .toys import explored

HEAD = """\
gen, critic = nn.Linear(4, 4), nn.Linear(4, 1)
opt_g = torch.optim.SGD(gen.parameters(), lr=0.1)
opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)
"""


def first_walk(body: str) -> tuple[Run, BackwardPass]:
    run = explored(HEAD + body).runs[0]
    return run, run.recording.walks[0]


def used(body: str) -> list[bool]:
    """For the generator and the critic: may the gradient that the first walk leaves there be used?"""
    run, event = first_walk(body)
    names = {leaf: name for name in ("gen", "critic") for leaf in leaves_of(run, name)}
    free = {names[leaf] for leaf in event.leaves if leaf in names and not run.fates.is_dropped(event, leaf)}
    return [name in free for name in ("gen", "critic")]


def leaves_of(run: Run, name: str) -> list[object]:
    assert run.recording.env is not None
    return [run.recording.env.variables[name].leaf]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("opt_g.step()\nopt_c.zero_grad()\nopt_c.step()", [True, False]),
        ("opt_c.step()\nopt_g.zero_grad()\nopt_g.step()", [False, True]),
        ("opt_g.step()\nopt_c.step()", [True, True]),
        ("critic.zero_grad()\nopt_g.step()\nopt_c.step()", [True, False]),
        ("opt_g.step()", [True, False]),
        ("", [True, True]),
    ],
    ids=["critic cleared", "generator cleared", "both stepped", "cleared on the module", "never stepped", "the run ends"],
)
def test_the_first_thing_that_happens_to_a_gradient_decides(after: str, expected: list[bool]) -> None:
    assert used(f"critic(gen(x)).mean().backward()\n{after}\n") == expected


def test_a_module_that_nobody_steps_is_idle() -> None:
    run, event = first_walk("critic(gen(x)).mean().backward()\nopt_g.step()\nopt_g.zero_grad()\n")
    (critic,) = leaves_of(run, "critic")
    assert run.fates.is_idle(critic)


def test_a_program_that_reads_gradients_has_no_idle_module() -> None:
    run, event = first_walk("critic(gen(x)).mean().backward()\nopt_g.step()\nprint(critic.weight.grad)\n")
    (critic,) = leaves_of(run, "critic")
    assert not run.fates.is_idle(critic)


def test_only_what_leads_to_a_used_gradient_is_leading() -> None:
    body = "fake = gen(x)\nscore = critic(fake).mean()\nscore.backward()\nopt_c.step()\nopt_g.zero_grad()\nopt_g.step()\n"
    run, event = first_walk(body)
    assert run.recording.env is not None
    made = run.recording.env.variables
    leading = run.fates.leading(event)
    assert made["score"].node in leading
    assert made["fake"].node not in leading
