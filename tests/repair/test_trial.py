"""What a trial says of edits: it accepts those that an expert would make, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.interpreter.conventions import NO_CONVENTIONS
from graphfix.repair.trial import judged
from graphfix.run.engine import _evidence

from . import programs as code

GAN = """\
G, D = nn.Linear(2, 4), nn.Linear(4, 1)
g_opt, d_opt = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
for x, _ in loader:
    fake = G(torch.randn(8, 2))
    d_loss = D(fake).mean() - D(x).mean()
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()
    g_loss = -D(fake).mean()
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
"""
POLICY = """\
critic = nn.Linear(4, 1)
c_opt = torch.optim.Adam(critic.parameters())
for x, y in loader:
    dist = torch.distributions.Normal(model(x), 1.0)
    advantage = y - critic(x)
    actor_loss = -(dist.log_prob(dist.sample()) * advantage).mean()
    critic_loss = advantage.pow(2).mean()
    optimizer.zero_grad()
    actor_loss.backward()
    optimizer.step()
    c_opt.zero_grad()
    critic_loss.backward()
    c_opt.step()
"""
RNN = """\
cell, h = nn.GRUCell(4, 4), torch.zeros(8, 4)
optimizer = torch.optim.SGD([*cell.parameters(), *model.parameters()], lr=0.1)
for x, y in loader:
    loss = 0
    for _ in range(2):
        h = cell(x, h)
        loss = loss + F.mse_loss(model(h), y)
    loss.backward()
    optimizer.step()
"""
STEPPED = "    optimizer.step()\n"
# a program, and for each edit (what is replaced by what) whether it is right
EDITS: dict[str, tuple[str, dict[tuple[str, str], bool]]] = {
    "a total that is printed": (
        code.LOGGED,
        {
            (
                "    total = total + loss",
                "    total = total + loss.detach()\n    loss.backward()\n    total.requires_grad_()",
            ): False,
            ("    total = total + loss\n", "    total = loss\n"): False,
            ("total = 0\nfor x, y in loader:\n", "for x, y in loader:\n    total = 0\n"): True,
            ("total + loss\n", "total + loss.detach()\n"): False,
            ("    total.backward()", "    total.backward(retain_graph=True)"): True,  # it grows: what is used up is no gain
        },
    ),
    "a total from a leaf": (
        code.LEAF,
        {
            ("        total = total + F", "        total = torch.zeros((), requires_grad=True)\n        total = total + F"): True,
            ("    for x, y in", "    total = torch.zeros((), requires_grad=True)\n    for x, y in"): False,
            ("        total = total + F", "        total = total.detach() + F"): False,
        },
    ),
    "two passes": (
        code.TWO_PASSES,
        {
            (STEPPED[4:] + "for", STEPPED[4:] + "loss = 0\nfor"): True,
            ("loss + F.l1", "loss.detach() + F.l1"): False,
            ("loss + F.mse", "loss.detach() + F.mse"): False,
        },
    ),
    "tasks of one trunk": (
        code.TASKS,
        {
            ("loss.backward()", "loss.backward(retain_graph=True)"): True,
            ("head(features)", "head(features.detach())"): False,
            ("    features = model(x)", "    features = model(x).detach()"): False,
            ("    for i,", "    features = features.detach().requires_grad_()\n    for i,"): False,
        },
    ),
    "a window": (
        code.WINDOW,
        {
            ("        optimizer.step()\n", '        optimizer.step()\n        stats["loss"] = 0.0\n'): True,
            ('    stats["loss"] = stats["loss"]', '    stats["loss"] = 0.0\n    stats["loss"] = stats["loss"]'): False,
            ('= stats["loss"] +', '= torch.as_tensor(stats["loss"]).detach() +'): False,
        },
    ),
    "a memory": (
        code.MEMORY,
        {
            ("    for x, y", "    saved = []\n    for x, y"): True,
            ("    optimizer.step()\n", "    optimizer.step()\n    saved.clear()\n"): True,
            ("y))\n", "y).detach())\n"): False,
            ("        saved", "        saved = []\n        saved"): False,
        },
    ),
    "two players": (
        GAN,
        {
            ("d_loss = D(fake)", "d_loss = D(fake.detach())"): True,
            ("    d_loss.backward()", "    d_loss.backward(retain_graph=True)"): True,
            ("    g_loss = -D(fake)", "    g_loss = -D(fake.detach())"): False,
            ("    fake = G(torch.randn(8, 2))", "    fake = G(torch.randn(8, 2)).detach()"): False,
        },
    ),
    "an advantage": (
        POLICY,
        {
            ("* advantage)", "* advantage.detach())"): True,
            ("advantage.pow(2)", "advantage.detach().pow(2)"): False,
            ("y - critic(x)", "y - critic(x).detach()"): False,
        },
    ),
    "a state over two steps": (
        RNN,
        {
            ("    loss = 0\n", "    loss, h = 0, h.detach()\n"): True,
            ("cell(x, h)", "cell(x, h.detach())"): False,
            ("    loss.backward()", "    loss.backward(retain_graph=True)"): False,
        },
    ),
}


@pytest.mark.parametrize(
    ("program", "edit", "is_right"),
    [(program, edit, right) for program, edits in EDITS.values() for edit, right in edits.items()],
    ids=[f"{name} {number}" for name, (_, edits) in EDITS.items() for number in range(len(edits))],
)
def test_the_right_edits_are_accepted_and_no_other(tmp_path: Path, program: str, edit: tuple[str, str], is_right: bool) -> None:
    path, text = tmp_path / "train.py", code.HEAD + program
    assert text.count(edit[0]) == 1
    evidence = _evidence(path, text, (tmp_path,), NO_CONVENTIONS, {})
    group = evidence.second_backwards[0]
    verdict = judged(evidence, {path: text.replace(*edit)}, group.walk.site)
    assert (not verdict.refusal) is is_right, verdict
