"""What the usual runs of a repaired text show decides whether it is analysed as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.autograd.health import Health
from graphfix.model import Finding, Span
from graphfix.run import engine
from graphfix.run.examine import Job, examine
from graphfix.run.glimpse import Glimpse, is_new
from graphfix.run.selection import Wanted
from graphfix.run.texts import Texts

BEFORE = "a = one\nb = two\n"
AFTER = "a = one.item()\nb = two\n"
GROWS = """\
import torch
from torch import nn

net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), 0.1)
total = 0
for x, y in data:
    loss = (net(x) - y).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss
print(total)
"""
# once the wrap is gone nobody needs the import
REVEALS = """\
import torch
from torch.autograd import Variable

net = torch.nn.Linear(2, 2)
for step in range(3):
    noise = Variable(torch.randn(4, 2), volatile=True)
    print(net(noise).sum().item())
"""


def glimpse(*told: tuple[str, str, int]) -> Glimpse:
    return Glimpse((("MODULE", ""),), tuple((code, path, Span(start, start + 7)) for code, path, start in told), Health((), 0, 0, False))


def finding(code: str, start: int) -> Finding:
    return Finding(code, "name", "message", "x.py", Span(start, start + 7), ())


@pytest.mark.parametrize(
    ("now", "fixed", "new"),
    [
        ([("GF101", "", 15)], [finding("GF102", 0)], False),
        ([("GF102", "", 0)], [finding("GF102", 0)], True),
        ([("GF305", "", 15)], [finding("GF102", 0)], True),
        ([("GF101", "", 15), ("GF101", "", 15)], [], True),
        ([("GF101", "net.py", 15)], [], True),
        ([], [finding("GF102", 0)], False),
    ],
    ids=["left", "not ended", "another rule", "one more", "in another file", "all gone"],
)
def test_what_is_new_is_what_was_not_there_or_was_fixed(now: list[tuple[str, str, int]], fixed: list[Finding], new: bool) -> None:
    before = glimpse(("GF102", "", 0), ("GF101", "", 8))
    assert is_new(glimpse(*now), BEFORE, before, AFTER, fixed) is new


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    texts: list[str] = []
    analyse = engine.analyse

    def noted(path: Path, text: str, *others: object) -> engine.Analysis:
        texts.append(text)
        return analyse(path, text, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "analyse", noted)
    return texts


def test_a_repair_that_brings_nothing_to_light_is_not_analysed_a_second_time(tmp_path: Path, analysed: list[str]) -> None:
    path = tmp_path / "train.py"
    path.write_text(GROWS)
    outcome = examine(path, Job((tmp_path,), ahead=True))
    assert [each.code for each in outcome.findings] == ["GF101"] and analysed == [GROWS]


def test_what_a_repair_brings_to_light_is_analysed_and_told(tmp_path: Path, analysed: list[str]) -> None:
    path = tmp_path / "train.py"
    path.write_text(REVEALS)
    outcome = examine(path, Job((tmp_path,), Wanted(("GF903",)), ahead=True))
    later = [each for each in outcome.findings if each.fix is not None and "after the other fixes" in each.fix.title]
    assert later and len(analysed) > 1


def test_a_text_that_other_programs_come_to_is_analysed_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(GROWS)
    (tmp_path / "main.py").write_text("import train\n")
    texts = Texts(path, (tmp_path,))
    found = texts.analysed(GROWS).findings
    assert not texts.is_settled(GROWS, GROWS.replace("+= loss", "+= loss.item()"), found)
    (tmp_path / "main.py").unlink()
    alone = Texts(path, (tmp_path / "elsewhere",), entries=())
    assert alone.is_settled(GROWS, GROWS.replace("+= loss", "+= loss.item()"), found)
    assert not alone.is_settled(GROWS, GROWS.replace("+= loss", "+= loss * 2"), found)
    assert not alone.is_settled(GROWS, GROWS.replace("loss.backward()", "loss.detach().backward()"), found)
