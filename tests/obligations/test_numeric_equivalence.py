"""A number is put away for a tensor only where 64 bits come to the same as 32, and where nobody reads its text."""

from __future__ import annotations

import pytest

from tests.obligations.programs import SETUP, safe_titles

TOTAL = """
import math, struct
total, lines, flat = 0.0, [], 0
for step in range(4):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    total {adds} loss
    {reads}
"""
BEST = """
best, flat = None, 0
for step in range(4):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if best is not None and {test}:
        flat += 1
    if best is None or loss < best:
        best = loss
print(flat)
"""
AVERAGE = """
ema, flat = None, 0
for step in range(4):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema = loss if ema is None else 0.9 * ema + 0.1 * loss
    if ema < 0.5:
        flat += 1
print(flat)
"""


@pytest.mark.parametrize(
    ("adds", "reads", "titles"),
    [
        ("+=", "print(total)", [("GF101", "store `loss.item()`")]),
        ("+=", "print('total ' + str(total))", [("GF101", "store `loss.item()`")]),
        ("+=", "print(f'{total:.2f}')", [("GF101", "store `loss.item()`")]),
        ("*=", "flat += math.isinf(total)", [("GF101", "store `loss.detach()`")]),
        ("+=", "lines.append(str(total))", []),
        ("+=", "lines.append(f'{total!r}')", []),
        ("+=", "print('%.3f' % total)", [("GF101", "store `loss.item()`")]),
        ("+=", "print(struct.pack('d', total).hex())", [("GF101", "store `loss.detach()`")]),
        ("+=", "lines.append(struct.pack('<f', total / 4))", [("GF101", "store `loss.detach()`")]),
        ("+=", "print('%d' % (100 * total / 4))", [("GF101", "store `loss.detach()`")]),
        ("+=", "print('%s: %3i' % (step, total / 4))", [("GF101", "store `loss.detach()`")]),
        ("+=", "print('%.9s' % total)", [("GF101", "store `loss.detach()`")]),
        ("+=", "print(f'{total!s:.9}')", [("GF101", "store `loss.detach()`")]),
        ("+=", "print(f'{total / 4:.3f}'[:2])", [("GF101", "store `loss.detach()`")]),
        ("+=", "print(f'{total / 4:.3f}'.partition('.'))", [("GF101", "store `loss.detach()`")]),
        ("+=", "import io; lines = io.StringIO(); print(total, file=lines)", []),
        ("+=", "import contextlib\n    with contextlib.redirect_stdout(open('log', 'w')):\n        print(total)", []),
    ],
)
def test_readers_of_a_total(adds: str, reads: str, titles: list[tuple[str, str]]) -> None:
    assert safe_titles(SETUP + TOTAL.format(adds=adds, reads=reads)) == titles


@pytest.mark.parametrize(("test", "cut"), [("best <= 0.3", "detach"), ("best <= 0.5", "item"), ("best < float('inf')", "item")])
def test_what_a_number_is_compared_with(test: str, cut: str) -> None:
    """`tensor(0.3) <= 0.3`, but `tensor(0.3).item()` is 0.30000001192092896."""
    assert safe_titles(SETUP + BEST.format(test=test)) == [("GF102", f"store `loss.{cut}()`")]


def test_what_is_computed_is_compared_in_its_own_precision() -> None:
    assert safe_titles(SETUP + AVERAGE) == [("GF101", "store `loss.detach()`")]


@pytest.mark.parametrize(
    ("reads", "cut"),
    [
        ("lines.append(float(total)); print(lines[-1] - lines[0])", "detach"),
        ("flat += float(total) == 2.0", "detach"),
        ("print(int(total))", "detach"),
        ("print(float(total))", "item"),
        ("print(float(total) / (step + 1))", "item"),
    ],
)
def test_numbers_of_a_total_that_tell_how_it_was_rounded(reads: str, cut: str) -> None:
    """A sum of numbers has 64 bits, one of tensors 32: what is left of two close sums differs."""
    assert safe_titles(SETUP + TOTAL.format(adds="+=", reads=reads)) == [("GF101", f"store `loss.{cut}()`")]


@pytest.mark.parametrize(
    ("changes", "cut"),
    [
        ("shown = total\nshown += 1\nprint(total)", "detach"),
        ("rows = [total]\nrows[0] *= 2\nprint(total)", "detach"),
        ("def bump(v):\n    v += 1\n    return v\nprint(bump(total), total)", "detach"),
        ("for shown in (total,):\n    shown -= 1\nprint(total)", "detach"),
        ("shown = +total\nshown += 1\nprint(total)", "detach"),
        ("def bump(v):\n    v += 1\n    return v\nprint(bump(+total), total)", "detach"),
        ("rows = [+total]\nrows[0] *= 2\nprint(total)", "detach"),
        ("shown = -total\nshown += 1\nprint(total, shown)", "item"),
        ("shown = total / 3\nshown += 1\nbest = shown\nprint(total, best)", "item"),
        ("total /= 4\nshown = total\nprint(shown)", "item"),
    ],
)
def test_what_is_computed_is_changed_under_another_name(changes: str, cut: str) -> None:
    """`shown += 1` changes the tensor that `total` is, but of two names of one number it changes one."""
    program = TOTAL.format(adds="= total +", reads="pass") + changes + "\n"
    assert safe_titles(SETUP + program) == [("GF101", f"store `loss.{cut}()`")]


@pytest.mark.parametrize(("precision", "cut"), [("net.double()", "detach"), ("", "item")])
def test_an_integer_tensor_times_a_total_of_64_bits(precision: str, cut: str) -> None:
    program = TOTAL.format(adds="+=", reads="pass") + "print(torch.tensor([3, 5]) * total)\n"
    program = program.replace("torch.randn(5, 3)", "torch.randn(5, 3).to(net[0].weight)")
    assert safe_titles(SETUP + precision + program) == [("GF101", f"store `loss.{cut}()`")]


LOADED = """
import math, random
from torch.utils.data import DataLoader, Dataset, TensorDataset, default_collate
class Rows(Dataset):
    def __init__(self, items):
        self.items = items
    def __len__(self):
        return len(self.items)
    def __getitem__(self, index):
        return {row}
samples = [(torch.randn(3), {label}) for n in range(8)]
total = 0.0
for x, y in {loader}:
    loss = (net(x).squeeze(1) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss
print(torch.tensor([3, 5]) * total)
"""


@pytest.mark.parametrize(
    ("label", "row", "loader", "cut"),
    [
        ("0.25 * n", "0", "DataLoader(samples, batch_size=4)", "detach"),
        ("random.random()", "0", "DataLoader(samples, 4)", "detach"),
        ("0", "(torch.ones(3), math.sqrt(index))", "DataLoader(Rows(samples), batch_size=4)", "detach"),
        ("float(n)", "0", "[default_collate(samples)] * 3", "detach"),
        ("n", "0", "DataLoader(samples, batch_size=4)", "item"),
        ("bool(n)", "0", "DataLoader(samples, batch_size=4)", "item"),
        ("int(0.5 * n)", "0", "DataLoader(samples, batch_size=4)", "item"),
        ("float(n)", "0", "DataLoader(samples, batch_size=4)", "detach"),
        ("torch.rand(()) * 0.5", "0", "DataLoader(samples, batch_size=4)", "item"),
        ("0", "(torch.ones(3), index)", "DataLoader(Rows(samples), batch_size=4)", "item"),
        ("0.5", "0", "DataLoader(TensorDataset(torch.ones(4, 3), torch.ones(4)), batch_size=2)", "item"),
    ],
)
def test_a_loader_makes_64_bits_of_numbers_with_a_fraction(label: str, row: str, loader: str, cut: str) -> None:
    """https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.default_collate"""
    text = SETUP + LOADED.format(label=label, row=row, loader=loader)
    assert [each for each in safe_titles(text) if each[0] == "GF101"] == [("GF101", f"store `loss.{cut}()`")]


IN_TENSOR = """
total, scale = torch.tensor(0.0), {scale}
for step in range(4):
    loss = net(torch.randn(5, 3)).pow(2).mean() * scale
    opt.zero_grad()
    loss.backward()
    opt.step()
    total = total + loss
try:
    print('{{:.4f}}'.format(total))
except TypeError:
    print('a vector')
"""


@pytest.mark.parametrize(
    ("scale", "cut"), [("torch.ones(1, requires_grad=True)", "detach"), ("torch.tensor(1.0, requires_grad=True)", "item")]
)
def test_what_gives_a_dimension_to_a_tensor(scale: str, cut: str) -> None:
    assert safe_titles(SETUP + IN_TENSOR.format(scale=scale)) == [("GF101", f"store `loss.{cut}()`")]
