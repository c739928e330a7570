"""A text that differs in comments and layout alone is answered by the analysis of the one before."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import graphfix.run.engine
from graphfix.model import Applicability, Finding, Fix, Label, Replace, Span
from graphfix.run import cache
from graphfix.run.again import forget_files
from graphfix.run.examine import Job, examine
from graphfix.run.outcome import Outcome
from graphfix.run.relaid import Elsewhere, finding_at, moving, tokens_of

BEFORE = "import torch\n\ndef f(a, b):\n    return a + b\n"
ALIKE = {
    "a comment": "import torch  # the library\n\ndef f(a, b):\n    # adds\n    return a + b\n",
    "empty lines": "import torch\n\n\n\ndef f(a, b):\n\n    return a + b\n",
    "lines in brackets": "import torch\n\ndef f(\n    a,\n    b\n):\n    return a + b\n",
    "another indent": "import torch\n\ndef f(a, b):\n  return a + b\n",
    "spaces, and letters of more than a byte": "import torch\n\ndef f(a,b):\n    return a+b  # größer\n",
}
OTHER = {
    "code": BEFORE.replace("a + b", "a - b"),
    "a name": BEFORE.replace("b", "c"),
    "a block": BEFORE.replace("    return", "    if a:\n        return"),
    "a comma": BEFORE.replace("a, b", "a, b,"),
}
SILENT = {"a comment for graphfix": BEFORE + "x = 1  # noqa\n", "no program": "def f(:\n"}


@pytest.mark.parametrize("after", ALIKE.values(), ids=ALIKE)
def test_each_token_has_its_counterpart(after: str) -> None:
    one, two = tokens_of(BEFORE), tokens_of(after)
    assert one is not None and two is not None and one.says == two.says
    move = moving(one, two)
    for part in ("return", "a + b", "def f(a, b)"):
        span = move(Span(BEFORE.index(part), BEFORE.index(part) + len(part)))
        found = after.encode()[span.start : span.end].decode()
        assert "".join(found.split()) == "".join(part.split())


@pytest.mark.parametrize("after", OTHER.values(), ids=OTHER)
def test_another_program_is_another(after: str) -> None:
    one, two = tokens_of(BEFORE), tokens_of(after)
    assert one is not None and two is not None and one.says != two.says


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_of_some_texts_nothing_is_said(text: str) -> None:
    assert tokens_of(text) is None


def test_what_counts_lines_or_repeats_a_comment_is_analysed_anew() -> None:
    tokens = tokens_of(BEFORE)
    assert tokens is not None
    span = Span(BEFORE.index("a + b"), BEFORE.index("a + b") + 5)
    found = Finding("GF101", "name", "message", "x.py", span, (Label("x.py", span, "here"),))
    assert finding_at(found, moving(tokens, tokens), "x.py") == found
    quoting = Fix(Applicability.SAFE, "repair it", (Replace(span, "a  # plus\n"),))
    for other in (replace(found, message="as in line 12"), replace(found, fix=quoting), replace(found, span=Span(12, 13))):
        with pytest.raises(Elsewhere):
            finding_at(other, moving(tokens, tokens), "x.py")


@pytest.fixture
def asked(tmp_path: Path, loops: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    monkeypatch.setenv("GRAPHFIX_CACHE_DIR", str(tmp_path / "kept"))
    (tmp_path / "p").mkdir()
    path = tmp_path / "p/train.py"
    looked: list[str] = []
    analyse, glimpse = graphfix.run.engine.analyse, graphfix.run.engine.glimpse

    def noted(path: Path, text: str, *rest: object) -> object:
        looked.append(text)
        return analyse(path, text, *rest)  # type: ignore[arg-type]

    def glimpsed(path: Path, text: str, *rest: object) -> object:
        looked.append(text)
        return glimpse(path, text, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(graphfix.run.engine, "analyse", noted)
    monkeypatch.setattr(graphfix.run.engine, "glimpse", glimpsed)

    def ask(text: str, kept: bool = True) -> Outcome:
        forget_files()
        path.write_text(text)
        job = Job((path.parent,), cache=cache.opened((path.parent,)) if kept else None, ahead=True)
        return replace(examine(path, job), seconds=0.0)

    return SimpleNamespace(ask=ask, looked=looked, text=loops.total)


def test_a_comment_is_answered_without_an_analysis(asked: SimpleNamespace) -> None:
    first = asked.ask(asked.text)
    asked.looked.clear()
    text = "# what it does\n" + asked.text.replace("\n    ", "\n\n    ", 1)
    found = asked.ask(text)
    assert asked.looked == [] and len(found.findings) == len(first.findings) > 0
    assert found.findings == asked.ask(text, kept=False).findings


def test_a_comment_that_speaks_to_graphfix_and_code_are_analysed(asked: SimpleNamespace) -> None:
    asked.ask(asked.text)
    for text in (asked.text + "# noqa: GF101\n", asked.text + "print(1)\n"):
        asked.looked.clear()
        asked.ask(text)
        assert asked.looked


def test_comments_anywhere_change_nothing_but_places(asked: SimpleNamespace) -> None:
    chance = random.Random(7)
    asked.ask(asked.text)
    for _ in range(5):
        lines = asked.text.splitlines()
        made = "".join(f"{line}{'  # ' + 'ä' * chance.randrange(3) if chance.random() < 0.3 and line else ''}\n" for line in lines)
        assert asked.ask(made).findings == asked.ask(made, kept=False).findings
