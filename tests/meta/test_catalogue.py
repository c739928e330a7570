"""Promise 28: docs = registry = fixtures = changelog."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from graphfix.codemods import RULES
from graphfix.codemods.base import Rule
from graphfix.model import Applicability, Finding, Span
from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted

ROOT = Path(__file__).parents[2]
SECTIONS = ["What it does", "Why is this bad", "Example", "Use instead", "Fix safety", "References"]
CODES = [rule.code for rule in RULES]
ALL = Wanted(("GF",))  # optional findings, too


@pytest.fixture(params=RULES, ids=CODES)
def rule(request: pytest.FixtureRequest) -> Rule:
    return request.param


def folders() -> list[str]:
    return sorted(path.name for path in (ROOT / "fixtures").iterdir() if path.is_dir())


def changelog() -> str:
    return (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_codes_are_in_order_and_have_one_form() -> None:
    assert sorted(set(CODES)) == CODES
    assert all(re.fullmatch(r"GF\d{3}", code) for code in CODES)
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_each_rule_has_its_file_and_each_file_its_rule() -> None:
    """A file that defines RULE is listed, and is named like its rule."""
    defining = {
        path.stem
        for path in (ROOT / "codemods").glob("*.py")
        if path.stem != "__init__" and hasattr(importlib.import_module(f"graphfix.codemods.{path.stem}"), "RULE")
    }
    assert defining == {rule.name.replace("-", "_") for rule in RULES}


def test_rules_yield_to_other_rules_and_in_no_circle() -> None:
    """Who yields is named by code, and among rules that yield to each other somebody would have to tell."""
    left = {rule.code: set(rule.yields_to) for rule in RULES}
    assert set().union(*left.values()) <= set(CODES)
    while free := [code for code, others in left.items() if not others & left.keys()]:
        left = {code: others for code, others in left.items() if code not in free}
    assert left == {}


def test_what_a_rule_yields_is_repaired_once() -> None:
    """No statement of the fixtures has a fix by a rule and by one that it yields to."""
    repaired: dict[tuple[str, Span], set[str]] = {}
    for finding in findings():
        if finding.fix is not None:
            repaired.setdefault((finding.path, finding.span), set()).add(finding.code)
    for place, codes in repaired.items():
        assert not [rule.code for rule in RULES if rule.code in codes and codes & set(rule.yields_to)], place


def test_each_rule_has_a_test_file_that_says_first_what_is_left_alone(rule: Rule) -> None:
    text = (ROOT / f"tests/codemods/test_{rule.name.replace('-', '_')}.py").read_text("utf-8")
    assert text.startswith(f'"""{rule.code}: ')
    assert re.findall(r"^def (test_\w+)", text, re.MULTILINE)[0].endswith("left_alone")


def test_fixtures_are_those_of_the_rules() -> None:
    assert folders() == [f"{rule.code}-{rule.name}" for rule in RULES]


def test_each_rule_has_pairs_and_traps(rule: Rule) -> None:
    folder = ROOT / "fixtures" / f"{rule.code}-{rule.name}"
    cases = [path for path in folder.iterdir() if path.is_dir()]
    assert len(cases) >= 2
    for path in cases:
        wanted = {"before.py"} if path.name.startswith("display_") else {"after.py", "before.py"}
        assert {file.name for file in path.glob("*.py")} == wanted
    assert len(list(folder.glob("ok_*.py"))) >= 2


def test_docs_are_those_of_the_rules_and_current() -> None:
    assert sorted(path.stem for path in (ROOT / "docs/rules").glob("GF*.md")) == CODES
    command = [sys.executable, str(ROOT / "scripts/write_docs.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stdout) == (0, ""), "run scripts/write_docs.py"


def test_changelog_names_the_rules() -> None:
    named = re.findall(r"^- `(GF\d{3}) ([a-z-]+)`:", changelog(), re.MULTILINE)
    assert sorted(named) == sorted((rule.code, rule.name) for rule in RULES)  # newer ones stand above


def test_page_has_its_sections(rule: Rule) -> None:
    assert rule.page.startswith(f"# {rule.name} ({rule.code})\n\n")
    assert re.findall(r"^## (.*)$", rule.page, re.MULTILINE) == SECTIONS
    bodies = re.split(r"^## .*$", rule.page, flags=re.MULTILINE)
    assert all(body.strip() for body in bodies)


def test_page_shows_code_and_says_where_more_is_found(rule: Rule) -> None:
    sections = dict(zip(SECTIONS, re.split(r"^## .*$", rule.page, flags=re.MULTILINE)[1:], strict=True))
    for name in ("Example", "Use instead"):
        assert re.fullmatch(r"\s*```python\n.*?\n```\s*", sections[name], re.DOTALL)
    assert "https://" in sections["References"]


def test_example_is_python(rule: Rule) -> None:
    (example,) = re.findall(r"## Example\n```python\n(.*?)```", rule.page, re.DOTALL)
    ast.parse(example)


@cache
def findings() -> tuple[Finding, ...]:
    """All that the rules have to say about the fixtures."""
    paths = sorted((ROOT / "fixtures").glob("*/*/before.py"))
    return tuple(finding for path in paths for finding in examine(path, Job((path.parent,), ALL)).findings)


def texts(finding: Finding) -> list[str]:
    title = [finding.fix.title] if finding.fix is not None else []
    return [finding.message, *(label.message for label in finding.story), *title]


def test_every_rule_speaks_in_the_fixtures(rule: Rule) -> None:
    assert rule.code in {finding.code for finding in findings()}


def test_messages_are_short_and_name_something(rule: Rule) -> None:
    for finding in findings():
        if finding.code == rule.code:
            assert len(finding.message) < 80, finding.message
            assert "`" in finding.message, finding.message


def test_what_is_not_proven_or_not_repaired_says_why(rule: Rule) -> None:
    for finding in findings():
        if finding.code == rule.code:
            unsafe = finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
            assert bool(finding.fix and finding.fix.doubt) is unsafe, finding
            assert finding.fix is not None or finding.unfixed, finding
            assert finding.by_hand and "{}" not in finding.by_hand


def test_texts_read_alike(rule: Rule) -> None:
    """Lower case outside of quoted code, one line, no full stop."""
    for text in (text for finding in findings() if finding.code == rule.code for text in texts(finding)):
        plain = re.sub(r"`[^`]*`", "`x`", text)
        assert plain == plain.lower(), text
        assert not text.endswith("."), text
        assert "\n" not in text, text
