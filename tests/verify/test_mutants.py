"""Every repair broken on purpose: verify has to notice, by what the runs say alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from graphfix.codemods import RULES
from graphfix.verify.cases import Case, Kind, bundled, cases_in
from graphfix.verify.fixtures import Verdict, verify

# one worker runs them all: the scripts behind them take over a minute
pytestmark = [pytest.mark.deep, pytest.mark.xdist_group("mutants")]

PAIRS = {case.key: case for case in cases_in(bundled()) if case.kind is Kind.PAIR}
# the repair is left out: one case of each rule whose fault shows in a run
UNDONE = [
    "GF101/tensor_total", "GF102/loss_history", "GF102/replay_memory", "GF103/validation", "GF201/lstm_tuple",
    "GF202/class_centers", "GF203/frozen_target", "GF204/set_up_outside", "GF205/scaled_noise", "GF301/log_in_between",
    "GF302/copied_line", "GF303/discriminator_input", "GF304/unsafe_critic_first", "GF305/last_of_two", "GF306/unsafe_chunks",
    "GF307/saliency", "GF308/unsafe_heads_in_a_pool", "GF309/unsafe_forgotten_line", "GF309/unsafe_penalty_alone",
    "GF310/unsafe_weighed_number", "GF311/best_model", "GF312/unsafe_masked_tokens", "GF313/unsafe_prior_bias", "GF314/unsafe_forces",
    "GF315/unsafe_residual_stack", "GF316/unsafe_second_network", "GF317/unsafe_moved_input", "GF318/unsafe_penalty", "GF401/shifted_gate",
    "GF901/running_total", "GF903/gradient_of_one", "GF904/optional_perplexity",
]  # fmt: skip
# the repair runs, and computes something else
WRONG = [
    ("GF101/tensor_total", "+ loss.item()", "+ 2 * loss.item()"),
    ("GF102/replay_memory", "feature.detach()", "feature.detach() * 0"),
    ("GF201/gru_state", "head(h)", "head(h.detach())"),
    ("GF201/gru_state", "loss.backward()", "(2 * loss).backward()"),
    ("GF202/class_centers", "center_loss.centers.detach()", "torch.zeros_like(center_loss.centers)"),
    ("GF203/frozen_target", "teacher(x).detach()", "teacher(x).detach().abs()"),
    ("GF203/adjacency", "            adjacency = model.adjacency()", "            adjacency = model.adjacency().detach()"),
    ("GF204/set_up_outside", "batch_loss += criterion", "batch_loss = criterion"),
    ("GF205/unsafe_log_scale", "/ self.spread.exp()", "/ self.spread"),
    ("GF301/summed_pair", "(loss_age + loss_group)", "loss_age"),
    ("GF301/summed_pair", "(loss_age + loss_group)", "(loss_age + 2 * loss_group)"),
    ("GF302/every_iteration", "loss.backward()", "(0.5 * loss).backward()"),
    ("GF303/discriminator_input", "discriminator(fake.detach())", "discriminator(fake).detach()"),
    ("GF303/advantage", "(log_probs * advantage.detach())", "(log_probs.detach() * advantage)"),
    ("GF304/unsafe_critic_first", "generator_loss.backward(inputs=list(generator.parameters()))", "generator_loss.backward()"),
    ("GF306/unsafe_chunks", "s.detach()", "torch.zeros_like(s)"),
    ("GF308/unsafe_heads_in_a_pool", "loss.backward(", "(0.5 * loss).backward("),
    ("GF309/unsafe_forgotten_line", "loss.backward()", "(0.5 * loss).backward()"),
    ("GF309/unsafe_penalty_alone", "discriminator_loss.backward()", "real_loss.backward()"),
    ("GF311/best_model", "return weights * x", "return weights.detach() * x"),
    ("GF315/unsafe_residual_stack", "x = block(x)", "x = block(x).detach()"),
    ("GF316/unsafe_auxiliary_head", "0.5 * F.mse_loss(side(hidden), x)", "0.5 * F.mse_loss(side(hidden).detach(), x)"),
    ("GF401/shifted_gate", "gate = gate + self.floor", "gate = gate.detach() + self.floor"),
    ("GF901/running_total", "1e-3 * decay.item()", "1e-2 * decay.item()"),
    ("GF902/optional_predictions", "output.detach().max(1)", "output.detach().min(1)"),
    ("GF903/gradient_of_one", "mone.squeeze()", "one.squeeze()"),
    ("GF904/optional_running_loss", "loss.item() / len(x)", "loss.item()"),
]
MUTANTS = [(key, "", "") for key in UNDONE] + WRONG


def mutant(folder: Path, key: str, old: str, new: str) -> Case:
    """A copy of the case `key` with its repair broken."""
    case = PAIRS[key]
    copy = folder / case.path.parent.name / case.name
    shutil.copytree(case.path, copy)
    text = (case.after if old else case.before).read_text("utf-8")
    assert not old or text.count(old) == 1, (key, old)
    (copy / "after.py").write_text(text.replace(old, new) if old else text, "utf-8")
    return Case(copy, Kind.PAIR)


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> list[Verdict]:
    folder = tmp_path_factory.mktemp("mutants")
    return list(verify([mutant(folder / str(at), *row) for at, row in enumerate(MUTANTS)], ["cpu"], 2))


@pytest.mark.parametrize("at", range(len(MUTANTS)), ids=lambda at: f"{MUTANTS[at][0]}: {MUTANTS[at][2] or 'undone'}")
def test_verify_notices(at: int, verdicts: list[Verdict]) -> None:
    assert verdicts[at].case.key == MUTANTS[at][0]
    assert not verdicts[at].good


def test_every_rule_has_a_mutant() -> None:
    assert {key.partition("/")[0] for key, *_ in MUTANTS} == {rule.code for rule in RULES}
