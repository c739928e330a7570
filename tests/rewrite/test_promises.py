"""Promises 1, 2, 4, 5 and 20, on random operations over random sources and over the standard library."""

from __future__ import annotations

import ast
import os
import random
from itertools import pairwise
from pathlib import Path

import libcst as cst
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphfix.model import AddArgument, Append, Fix, InsertBefore, Span, Wrap
from graphfix.rewrite import apply_fixes, edits_of
from graphfix.rewrite.layout import Layout, parse

from .cases import fix
from .sources import comments, library_files, random_fixes, sources

NIGHTLY = bool(os.environ.get("GRAPHFIX_NIGHTLY"))
SLOW = settings(
    max_examples=int(os.environ.get("GRAPHFIX_EXAMPLES", "10000")) if NIGHTLY else 120,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
SEEDS = st.integers(0, 2**32)
FILES = library_files(200 if NIGHTLY else 20)


def decoded(path: Path) -> str:
    try:
        text = path.read_bytes().decode()
        parse(text)
    except (UnicodeDecodeError, SyntaxError, ValueError):
        pytest.skip("not UTF-8 or not Python")
    return text


def spliced(text: str, fix_: Fix) -> str:
    data = text.encode()
    for edit in reversed(edits_of(text, fix_)):
        data = data[: edit.span.start] + edit.content.encode() + data[edit.span.end :]
    return data.decode()


def check(text: str, fixes: list[Fix]) -> None:
    """What must hold for any text and any fixes."""
    done = apply_fixes(text, fixes)
    ast.parse(done.text)
    assert len(done.applied) + len(done.deferred) + len(done.refused) == len(fixes)
    if not done.applied:
        assert done.text == text
    missing = list(comments(text))
    for found in comments(done.text):
        if found in missing:
            missing.remove(found)
    assert not missing


def check_alone(text: str, one: Fix) -> None:
    """A single fix: the edits say exactly what happens, in order, without overlap."""
    done = apply_fixes(text, [one])
    assert spliced(text, one) == done.text
    edits = edits_of(text, one)
    assert all(a.span.end < b.span.start for a, b in pairwise(edits))
    assert done.text == text or done.applied == (one,)


@SLOW
@given(sources(), SEEDS)
def test_any_operations_leave_a_file_that_parses_with_all_comments(text: str, seed: int) -> None:
    fixes = random_fixes(text, random.Random(seed), 6)
    check(text, fixes)
    for one in fixes[:2]:
        check_alone(text, one)


@SLOW
@given(sources(), SEEDS)
def test_operations_do_not_depend_on_the_order_of_fixes(text: str, seed: int) -> None:
    rng = random.Random(seed)
    fixes = random_fixes(text, rng, 6)
    expected = apply_fixes(text, fixes)
    for _ in range(3):
        rng.shuffle(fixes)
        assert apply_fixes(text, fixes) == expected


@SLOW
@given(sources(), SEEDS)
def test_a_suffix_ends_up_on_the_expression_that_was_named(text: str, seed: int) -> None:
    """`ast` of the result differs by the suffix alone."""
    layout = Layout(text)
    rng = random.Random(seed)
    values = [n for n in layout.parents if isinstance(n, ast.expr) and isinstance(getattr(n, "ctx", ast.Load()), ast.Load)]
    node = rng.choice(values)
    done = apply_fixes(text, [fix(Append(layout.span(node), ".item()"))])
    if not done.applied:
        return
    inner = node.value if isinstance(node, ast.Starred) else node
    parent = layout.parents[node] if inner is node else node
    suffixed = ast.Call(ast.Attribute(inner, "item", ast.Load()), [], [])
    _substitute(parent, inner, suffixed)
    assert ast.dump(parse(done.text)) == ast.dump(layout.tree)


def _substitute(parent: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for name, value in ast.iter_fields(parent):
        if value is old:
            setattr(parent, name, new)
        elif isinstance(value, list):
            setattr(parent, name, [new if item is old else item for item in value])


@SLOW
@given(sources(), SEEDS)
def test_a_block_around_statements_changes_nothing_inside(text: str, seed: int) -> None:
    layout = Layout(text)
    rng = random.Random(seed)
    statement = rng.choice(list(layout.blocks))
    block = layout.blocks[statement]
    first = block.index(statement)
    chosen = block[first : first + rng.randint(1, 3)]
    done = apply_fixes(text, [fix(Wrap(tuple(layout.span(node) for node in chosen), "with g:"))])
    if not done.applied:
        return
    block[first : first + len(chosen)] = [ast.With([ast.withitem(ast.Name("g", ast.Load()))], chosen)]
    assert ast.dump(parse(done.text)) == ast.dump(layout.tree)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_standard_library_survives(path: Path) -> None:
    text = decoded(path)
    if len(text) < 10:
        pytest.skip("empty")
    rng = random.Random(path.name)
    check(text, random_fixes(text, rng, 8))
    check_alone(text, random_fixes(text, rng, 1)[0])


@pytest.mark.parametrize("path", FILES[:6], ids=lambda path: path.name)
def test_lines_that_no_fix_names_keep_their_bytes(path: Path) -> None:
    text = decoded(path)
    layout = Layout(text)
    calls = [node for node in layout.parents if isinstance(node, ast.Call)][:30]
    done = apply_fixes(text, [fix(AddArgument(layout.span(node), "k", "1")) for node in calls])
    named = {line for node in calls for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    kept = [line for number, line in enumerate(text.split("\n"), 1) if number not in named]
    remaining = iter(done.text.split("\n"))
    assert all(line in remaining for line in kept)


DEEP = {
    "brackets": lambda n: "x = " + "(" * n + "a" + ")" * n + "\n",
    "lists": lambda n: "x = " + "[" * n + "a" + "]" * n + "\n",
    "sum": lambda n: "x = " + " + ".join(["a"] * n) + "\n",
    "attributes": lambda n: "x = a" + ".b" * n + "\n",
    "calls": lambda n: "x = a" + "()" * n + "\n",
    "not": lambda n: "x = " + "not " * n + "a\n",
    "minus": lambda n: "x = " + "-" * n + "a\n",
    "lambda": lambda n: "x = " + "lambda: " * n + "a\n",
    "ternary": lambda n: "x = " + "a if b else " * n + "a\n",
    "elif": lambda n: "if a: pass\n" + "elif a: pass\n" * n,
    "strings": lambda n: "x = (" + "'a' " * n + ")\n",
    "blocks": lambda n: "".join(" " * i + "if a:\n" for i in range(min(n, 2000))) + " " * min(n, 2000) + "a\n",
}


@pytest.mark.parametrize("size", (50, 300, 3_000, 100_000))
@pytest.mark.parametrize("shape", DEEP)
def test_deep_code_is_rewritten_or_refused(shape: str, size: int) -> None:
    text = DEEP[shape](size) + "t += loss\n"
    data = text.encode()
    end = len(data) - 1
    repair = fix(Append(Span(end - 4, end), ".item()"), InsertBefore(Span(end - 9, end), "n = 1"))
    done = apply_fixes(text, [repair])
    assert done.applied or done.refused
    if done.applied:
        assert done.text.endswith("n = 1\nt += loss.item()\n")
    if size == 50:
        assert done.applied
        assert cst.parse_module(done.text).code == done.text
