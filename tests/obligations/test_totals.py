"""A total takes no number where its last bits, or its range, make a difference: Python's numbers have more of both."""

from __future__ import annotations

import pytest
import torch

from graphfix.obligations.numeric_equivalence import LESS_PRECISE, MORE_PRECISE
from tests.obligations.programs import SETUP, safe_titles

ADDED = """
total, booked, flat, sheet = {begins}, 40.0, 0, dict()
for step in range(4):
    loss = {sign}net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    {adds}
{reads}
"""


def cut(adds: str = "total += loss", reads: str = "print('%.4f' % total)", begins: str = "0.0", sign: str = "") -> str:
    (title,) = {title for _, title in safe_titles(SETUP + ADDED.format(adds=adds, reads=reads, begins=begins, sign=sign))}
    return title.partition("loss.")[2].partition("(")[0]


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        ("print('%.4f' % (total + booked))", "item"),
        ("print('%.4f' % (total + 0.1 * booked))", "item"),
        ("print('%.4f' % (total + -booked))", "detach"),
        ("print('%.4f' % (-booked + total * 1.0))", "detach"),
        ("limit = -40.0; print('%.4f' % (total + limit))", "detach"),
        ("print('%.4f' % (total + 2 * (flat - booked)))", "detach"),
        ("print('%.4f' % (-1 * total + booked))", "detach"),
    ],
)
def test_a_sum_that_is_a_difference(reads: str, expected: str) -> None:
    assert cut(reads=reads) == expected


def test_negative_losses_add_up() -> None:
    assert cut(sign="-") == cut(sign="-1 * ") == "item"


@pytest.mark.parametrize(
    ("adds", "expected"),
    [
        ("total = total * loss", "detach"),
        ("total = loss * total", "detach"),
        ("total *= loss", "detach"),
        ("total = 0.5 * (total * loss)", "detach"),
        ("total = total + 0.1 * loss", "item"),
        ("total = 0.9 * total + 0.1 * loss", "item"),
        ("total += loss; total *= 0.9", "item"),
    ],
)
def test_a_running_product_leaves_the_range_of_32_bits(adds: str, expected: str) -> None:
    assert cut(adds=adds, begins="1.0") == expected


@pytest.mark.parametrize("reads", ["print(1 if not total else 0)", "if total: print('possible')", "print(bool(total))"])
def test_the_truth_of_a_running_product(reads: str) -> None:
    assert cut(adds="total = total * loss", reads=reads, begins="1.0") == "detach"


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        ("label = f'{total:.2f}'; print(label)", "item"),
        ("label = '%.2f' % total; print('total ' + label)", "item"),
        ("label = f'{total:.2f}'; print(label.split('.'))", "detach"),
        ("label = '%.2f' % total; print(label[:2])", "detach"),
        ("label = '{:.2f}'.format(total); print(label.partition('.'))", "detach"),
        ("label = format(total, '.2f'); print(label[0])", "detach"),
        ("sheet['total'] = '%.2f' % total; print(sheet['total'].rjust(9), sheet['total'] == 'nan')", "detach"),
        ("print(int(f'{total:.0f}'))", "detach"),
        ("units = '%.0f' % total; print(12 * int(units))", "detach"),
    ],
)
def test_a_text_that_is_taken_apart_under_a_name(reads: str, expected: str) -> None:
    assert cut(reads=reads) == expected


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("", "item"),
        ("more = torch.zeros(2, dtype=torch.cdouble)", "detach"),
        ("more = torch.zeros(2, dtype=torch.complex128)", "detach"),
        ("more = torch.zeros(2, dtype=complex)", "detach"),
        ("more = torch.zeros(2).to(float)", "detach"),
        ("more = torch.zeros(2).to('cpu')", "item"),
    ],
)
def test_an_integer_tensor_meets_what_may_have_64_bits(made: str, expected: str) -> None:
    assert cut(reads=f"{made}\nprint(torch.tensor([3, 5]) * total)") == expected


def test_every_type_of_torch_is_of_32_bits_or_listed() -> None:
    types = {name: kind for name, kind in vars(torch).items() if isinstance(kind, torch.dtype)}
    bits = {
        name: kind.itemsize * 8 // (1 + kind.is_complex) for name, kind in types.items() if kind.is_floating_point or kind.is_complex
    }
    assert {name for name, size in bits.items() if size > 32} <= MORE_PRECISE
    assert {name for name, size in bits.items() if size < 32} <= LESS_PRECISE
