"""Promise 2: outside of the edits neither the tree nor a comment changes."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted

from .fixtures import PAIRS, label, repaired, selection


def touched(path: Path) -> set[int]:
    """Lines (1-based) of the file at `path` that the findings' edits name."""
    outcome = examine(path, Job((path.parent,), Wanted(selection(path)), edits=True))
    data = outcome.source.text.encode() if outcome.source else b""
    lines: set[int] = set()
    for edit in (edit for edits in outcome.edits for edit in edits):
        first = data.count(b"\n", 0, edit.span.start) + 1
        lines.update(range(first, data.count(b"\n", 0, edit.span.end) + 2))
    return lines


def blocks(node: ast.stmt) -> dict[str, list[ast.stmt]]:
    """The blocks of a compound statement, by field."""
    fields = dict(ast.iter_fields(node))
    return {name: value for name, value in fields.items() if isinstance(value, list) and value and isinstance(value[0], ast.stmt)}


def header(node: ast.stmt) -> str:
    """The statement without the blocks in it."""
    bare = {name: [] for name in blocks(node)}
    return ast.dump(type(node)(**{**dict(ast.iter_fields(node)), **bare}))


def changed(before: list[ast.stmt], after: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The innermost statements of `before` that are not in `after`."""
    matcher = SequenceMatcher(None, list(map(ast.dump, before)), list(map(ast.dump, after)), autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            yield from replaced(before[a:b], after[c:d])


def replaced(old: list[ast.stmt], new: list[ast.stmt]) -> Iterator[ast.stmt]:
    """As `changed`, for two runs of statements without a common one: compound ones are paired by their headers."""
    partners = {header(node): node for node in new if blocks(node)}
    for node in old:
        partner = partners.get(header(node)) if blocks(node) else None
        if partner is None:
            yield node
            continue
        for name, body in blocks(node).items():
            yield from changed(body, blocks(partner).get(name, []))


@pytest.mark.parametrize("folder", PAIRS, ids=label)
def test_only_what_the_edits_name_changes(folder: Path) -> None:
    """The trees differ in edited statements, every comment stays, and every line that no edit names keeps its bytes."""
    path = folder / "before.py"
    outcome, lines = repaired(path), touched(path)
    trees = [ast.parse(data) for data in (outcome.before, outcome.after)]
    for node in changed(trees[0].body, trees[1].body):
        assert lines & set(range(node.lineno, (node.end_lineno or 0) + 1)), ast.unparse(node)
    assert not comments(outcome.before) - comments(outcome.after)
    kept = [line for number, line in enumerate(outcome.before.split(b"\n"), 1) if number not in lines]
    remaining = iter(outcome.after.split(b"\n"))
    assert all(line in remaining for line in kept)


def comments(data: bytes) -> Counter[str]:
    tokens = tokenize.tokenize(io.BytesIO(data).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


def test_a_change_elsewhere_would_be_seen() -> None:
    before = "for x in y:\n    a = 1\n    if x:\n        b = 2\n        c = 3\nd = 4\n"
    after = "for x in y:\n    a = 1\n    if x:\n        b = 2\n        c = 30\nd = 4\ne = 5\n"
    found = changed(ast.parse(before).body, ast.parse(after).body)
    assert [ast.unparse(node) for node in found] == ["c = 3"]
