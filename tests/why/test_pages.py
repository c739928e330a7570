"""The pages on errors: each kind has one, with all that is known of it, and they are those of the kinds."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

import pytest

from graphfix.why.kinds import Kind, Way, all_kinds
from graphfix.why.page import page, table_of_errors

FOLDER = Path(__file__).parents[2] / "docs/errors"
KINDS = {kind.key: kind for kind in all_kinds()}
WAYS = {f"{kind.key}-{number}": way for kind in KINDS.values() for number, way in enumerate(kind.ways, 1)}


@pytest.fixture(params=KINDS.values(), ids=list(KINDS))
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


@pytest.fixture(params=WAYS.values(), ids=list(WAYS))
def way(request: pytest.FixtureRequest) -> Way:
    found: Way = request.param
    return found


def test_each_kind_has_its_page_and_each_page_its_kind() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {"README", *KINDS}
    assert (FOLDER / "README.md").read_text("utf-8") == table_of_errors()


def test_a_page_is_current_and_has_all(kind: Kind) -> None:
    text = page(kind)
    assert (FOLDER / f"{kind.key}.md").read_text("utf-8") == text, "run scripts/write_docs.py"
    assert text.startswith("# ") and "\n## What to do\n" in text
    assert len(re.findall(r"^### ", text, re.MULTILINE)) == len(kind.ways)
    for way in kind.ways:
        assert f"```diff\n{way.change}\n```" in text
        assert all(f"[{code}](../rules/{code}.md)" in text for code in way.codes)
    assert len(re.findall(r"^(?:Rules?: |No rule finds it\. \S)", text, re.MULTILINE)) == len(kind.ways)


def test_a_page_shows_its_error_in_full(kind: Kind) -> None:
    block = " ".join(page(kind).split("```")[1].split())
    for message in kind.printed:
        assert " ".join(message.split()) in block
        assert re.match(r"[\w.]+(?:Error|Warning): ", message)
        assert kind.is_meant(message)


def test_lines_are_short_and_code_is_marked_once(kind: Kind) -> None:
    text = page(kind)
    assert max(map(len, text.splitlines())) <= 130
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    assert "``" not in prose and prose.count("`") % 2 == 0
    assert not re.search(r"\w\(\)", re.sub(r"`[^`]*`", "", prose))


def test_the_table_names_each_message_and_page(kind: Kind) -> None:
    (row,) = [line for line in table_of_errors().splitlines() if line.endswith(f"| [{kind.key}]({kind.key}.md) |")]
    assert row.split("`")[1].split(" ...")[0].split(" ")[0] == kind.printed[0].split(" ")[0]
    assert len(row.split(" | ")) == 3


def test_a_cause_says_why_and_what_to_write(way: Way) -> None:
    assert len(way.says) > 10 and way.says.endswith(".")
    marks = {line[:1] for line in way.change.split("\n")}
    assert marks <= {" ", "+", "-"} and marks & {"+", "-"}
    for gone in "-+":
        lines = [line[1:] for line in way.change.split("\n") if line[0] != gone]
        ast.parse(textwrap.dedent("\n".join(lines)))
