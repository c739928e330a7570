"""Baselines: what makes two findings the same, and what is written."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from graphfix.model import Finding, Span
from graphfix.run.baseline import Baseline, BaselineError, Known, load, written
from graphfix.run.fingerprint import Mark, marks, normal

TEXT = "class A:\n    def f(self):\n        x = 1\n        x = 1\n\n    y = 2\n\nx = 1\n"


def findings(text: str, *words: str, code: str = "GF101") -> list[Finding]:
    """One finding at each place of each of the words."""
    found = []
    for word in words:
        start = text.find(word)
        while start >= 0:
            offset = len(text[:start].encode())
            found.append(Finding(code, "name", "message", "a.py", Span(offset, offset + len(word.encode()))))
            start = text.find(word, start + 1)
    return found


def test_a_mark_names_rule_function_and_code() -> None:
    made = marks(TEXT, findings(TEXT, "x = 1", "y = 2"))
    assert made == [
        Mark("GF101", "A.f", "x=1"), Mark("GF101", "A.f", "x=1"), Mark("GF101", "", "x=1"), Mark("GF101", "A", "y=2"),
    ]  # fmt: skip


@pytest.mark.parametrize("edit", ["# é\n\n" + TEXT, TEXT.replace("        x = 1", "        x  =  1"), "if 1:\n" + "".join(
    "  " + line for line in TEXT.splitlines(keepends=True)), TEXT.replace("\n", "\r\n"), TEXT.replace("\n", "\r")])  # fmt: skip
def test_edits_beside_a_finding_do_not_change_its_mark(edit: str) -> None:
    assert sorted(marks(edit, findings(edit, "x = 1", "x  =  1"))) == sorted(marks(TEXT, findings(TEXT, "x = 1")))


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("f(a, b)", "f(\n    a,\n    b,\n)"),
        ("x=1", "x  =  1"),
        ("for a in b:\n    pass", "for a in b:\n    other()"),
        ("[1, 2]", "[1, 2,]"),
    ],
)
def test_formatting_does_not_matter(one: str, two: str) -> None:
    assert normal(one) == normal(two)


@pytest.mark.parametrize(
    ("one", "two"),
    [("x = 1", "x = 2"), ("not a", "nota"), ("a in b", "a, b"), ("formal(1)\n", "formal(2)\n")],
)
def test_code_does(one: str, two: str) -> None:
    assert normal(one) != normal(two)


def test_of_equal_findings_as_many_as_were_accepted_are_passed_over() -> None:
    found = findings(TEXT, "x = 1")
    known = Known({Mark("GF101", "A.f", "x=1"): 1})
    assert known.without(TEXT, found, found) == found[1:]
    assert (known.met, known.stale) == (1, 0)


def test_what_is_no_longer_found_is_stale_but_not_what_is_only_hidden() -> None:
    found = findings(TEXT, "y = 2")
    known = Known({Mark("GF101", "A", "y=2"): 1, Mark("GF101", "A.f", "x=1"): 2, Mark("GF101", "A", "y=3"): 1})
    assert known.without(TEXT, findings(TEXT, "x = 1", "y = 2"), found) == []
    assert known.stale == 1


def test_a_fix_on_the_same_line_does_not_bring_an_accepted_finding_back() -> None:
    known = Known({Mark("GF101", "A", "y=2"): 1})
    found = findings(TEXT, "y = 2")
    assert known.without(TEXT, found, found) == []
    after = TEXT.replace("y = 2", "y = 2 + 3")
    found = findings(after, "y = 2 + 3")
    assert known.without(after, found, found) == []
    assert len(known.without(after, found, [*found, *found])) == 1


def test_a_baseline_reads_back_and_does_not_depend_on_order(tmp_path: Path) -> None:
    rng = random.Random(1)
    files: dict[str, Counter[Mark]] = {}
    for number in range(20):
        entries = [(Mark(f"GF{rng.randrange(3)}", "f", f'x{i}="é\\n"'), rng.randrange(1, 4)) for i in range(rng.randrange(4))]
        files[f"dir/é {number}.py"] = Counter(dict(entries))
    path = tmp_path / "b.json"
    path.write_bytes(written(files))
    assert load(path).files == {name: known for name, known in files.items() if known}
    shuffled = dict(rng.sample(list(files.items()), len(files)))
    assert written(shuffled) == path.read_bytes()
    assert written({}) == b'{\n  "version": 1,\n  "files": {}\n}\n'
    json.loads(path.read_bytes())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", ":1: not a baseline: "), ("[]", ": not a baseline"),
        ("{}", ": not a baseline"), ('{"version": 2}', ": a baseline of version 2"),
        ('{"version": 1, "files": {"a": [{"code": "GF1"}]}}', ": not a baseline"),
        ('{"version": 1, "files": {"a": [{"code": 1, "in": "", "line": "", "count": 1}]}}', ": not a baseline"),
        ('{"version": 1, "files": {"a": [{"code": "", "in": "", "line": "", "count": -1}]}}', ": not a baseline"),
    ],
)  # fmt: skip
def test_what_is_no_baseline_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(BaselineError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}{reason}")


def test_names_are_relative_to_the_baseline(tmp_path: Path) -> None:
    assert Baseline(tmp_path / "sub/b.json").name_of(tmp_path / "a b.py") == "../a b.py"
