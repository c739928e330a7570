"""Shrink a program that a fix harms: statements go, one after the other, as long as the harm stays."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from benchmarks.generated.harness import Result, judged

_SUITES = ("body", "orelse", "finalbody")


def reduced(result: Result) -> Result:
    """A smaller program with the same kind of verdict from a fix of the same rules, at best."""
    # the layout of the unparsed text must not be what decides
    unparsed = judged(ast.unparse(ast.parse(result.before)), result.seed)
    if unparsed.sign != result.sign:
        return result
    kept = unparsed
    in_vain: set[str] = set()
    while True:
        smaller = next((made for made in _tried(kept, in_vain) if made is not None), None)
        if smaller is None:
            return kept
        kept = smaller


def _tried(kept: Result, in_vain: set[str]) -> Iterator[Result | None]:
    """The program with one cut after the other, the largest first; None where the harm went with it."""
    tree = ast.parse(kept.before)
    places = [(ast.unparse(statement), where) for where, statement in _statements(tree)]
    for shown, where in sorted(places, key=lambda place: -len(place[0])):
        for change in (_dropped, _flattened):
            key = f"{change.__name__} {shown}"
            made = None if key in in_vain else change(copy.deepcopy(tree), where)
            if made is None or made == kept.before:
                continue
            tried = judged(made, kept.seed)
            if tried.sign == kept.sign and set(tried.rules) <= set(kept.rules):
                yield tried
            # what could not go once will seldom go later
            in_vain.add(key)
            yield None


def _statements(tree: ast.Module) -> Iterator[tuple[tuple[int, str, int], ast.stmt]]:
    for number, node in enumerate(ast.walk(tree)):
        for suite in _SUITES:
            statements = getattr(node, suite, None)
            if isinstance(statements, list):
                for index, statement in enumerate(statements):
                    yield (number, suite, index), statement


def _suite(tree: ast.Module, where: tuple[int, str, int]) -> tuple[ast.AST, list[ast.stmt]]:
    node = list(ast.walk(tree))[where[0]]
    return node, getattr(node, where[1])


def _dropped(tree: ast.Module, where: tuple[int, str, int]) -> str | None:
    node, suite = _suite(tree, where)
    del suite[where[2]]
    if not suite and where[1] == "body" and not isinstance(node, ast.Module):
        suite.append(ast.Pass())
    try:
        return ast.unparse(ast.fix_missing_locations(tree))
    except (ValueError, IndexError):
        return None


def _flattened(tree: ast.Module, where: tuple[int, str, int]) -> str | None:
    """The statements of a block in the place of the block."""
    _, suite = _suite(tree, where)
    statement = suite[where[2]]
    if not isinstance(statement, (ast.If, ast.With, ast.Try)):
        return None
    suite[where[2] : where[2] + 1] = statement.body
    return ast.unparse(ast.fix_missing_locations(tree))
