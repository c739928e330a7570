"""A total that is divided is a number only where the divisor is surely not zero: a tensor gives nan there, and a number raises."""

from __future__ import annotations

import pytest

from tests.obligations.programs import SETUP, safe_titles

DIVIDED = """
loader = [torch.randn(5, 3) for _ in range(4)]
rounds, rows, kept = len(loader), 0, [1.0, 2.0]
more = kept.count(1.0)
{before}
total = 0.0
for {loop}:
    x = loader[0]
    out = net(x)
    loss = out.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss
    {counts}
{behind}
print("%.4f" % (total / {divisor}))
"""


def cut(**parts: str) -> str:
    text = DIVIDED.format(**{"before": "", "loop": "_ in range(rounds)", "counts": "pass", "behind": "", "divisor": "rows", **parts})
    (title,) = [title for _, title in safe_titles(SETUP + text)]
    return title.partition("loss.")[2].partition("(")[0]


@pytest.mark.parametrize(
    ("loop", "behind", "divisor", "expected"),
    [
        ("_ in range(rounds)", "", "rounds", "item"),
        ("_ in range(1, rounds)", "", "rounds", "item"),
        ("_ in range(more, 9)", "", "more", "detach"),
        ("_ in range(9, more, -1)", "", "more", "detach"),
        ("_ in range(more, 0, -1)", "", "more", "item"),
        ("_ in range(rounds)", "rounds -= kept.count(1.0)", "rounds", "detach"),
        ("_ in range(rounds)", "rounds = rounds - 1", "rounds", "detach"),
        ("_ in range(rounds)", "if kept:\n    rounds = int(kept[0])", "rounds", "detach"),
        ("_ in range(rounds)", "for rounds in map(int, kept):\n    pass", "rounds", "detach"),
        ("_ in range(len(loader))", "", "len(loader)", "item"),
        ("_ in range(len(loader))", "loader = [x for x in loader if x.sum() > 0]", "len(loader)", "detach"),
        ("x in loader", "loader = [x for x in loader if x.sum() > 0]", "len(loader)", "detach"),
        ("x in loader", "", "len(loader)", "item"),
        ("step, x in enumerate(loader)", "", "(step + 1)", "item"),
    ],
)
def test_a_divisor_that_counts_the_iterations(loop: str, behind: str, divisor: str, expected: str) -> None:
    """A name that is bound anew behind the loop does not count them any more."""
    assert cut(loop=loop, behind=behind, divisor=divisor) == expected


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ("rows += 1", "item"),
        ("rows += len(x)", "item"),
        ("rows += x.size(0)", "item"),
        ("rows += int(x.shape[0])", "item"),
        ("size = out.numel(); rows += size", "item"),
        ("rows += 2 * len(x[:2])", "item"),
        ("rows += 0", "detach"),
        ("rows += len(out[out > 0.5])", "detach"),
        ("picked = x[x.abs().gt(0.5)]; rows += picked.pow(2).size(0)", "detach"),
        ("mask = out > 0.5; rows += x[mask[:, 0]].shape[0]", "detach"),
        ("rows += torch.nonzero(x).size(0)", "detach"),
        ("rows += len(torch.masked_select(x, x > 0))", "detach"),
        ("rows += len([v for v in x if v.sum() > 0])", "detach"),
        ("rows += (x > 0).sum().item()", "detach"),
        ("rows += out.max() > 0.5", "detach"),
        ("rows += 1\n    if kept:\n        rows -= 1", "detach"),
    ],
)
def test_what_a_counter_grows_by(counts: str, expected: str) -> None:
    assert cut(counts=counts) == expected


@pytest.mark.parametrize(("behind", "expected"), [("", "item"), ("rows -= 4", "detach"), ("if kept:\n    rows = 0", "detach")])
def test_a_counter_that_is_taken_back(behind: str, expected: str) -> None:
    assert cut(counts="rows += 1", behind=behind) == expected


def test_the_size_of_what_was_selected() -> None:
    assert cut(behind="kept = x[x > 5]", divisor="len(kept)") == "detach"
