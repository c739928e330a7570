"""Promise 27 and the house rules that can be read off the sources."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for folder in ("src", "cli", "codemods") for path in (ROOT / folder).rglob("*.py") if not path.is_symlink())
BROAD = {"Exception", "BaseException"}
# what a failure costs at the most: one record of a report, one rule on one file, one file, or the run, which ends with its exit code;
# each is named
BOUNDARIES = [
    "cli/ending.py",
    "src/graphfix/campaign/conduct.py",
    "src/graphfix/report/view.py",
    "src/graphfix/run/engine.py",
    "src/graphfix/run/examine.py",
]


def names(node: ast.ExceptHandler) -> set[str]:
    return {name.id for name in ast.walk(node.type) if isinstance(name, ast.Name)} if node.type else {"BaseException"}


def broad_handlers(path: Path) -> list[int]:
    """Lines of the handlers that take any exception and do not raise it again."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ExceptHandler) and names(node) & BROAD and not isinstance(node.body[-1], ast.Raise)
    ]


def test_there_is_one_broad_handler_at_each_boundary() -> None:
    found = {path.relative_to(ROOT).as_posix(): lines for path in SOURCES if (lines := broad_handlers(path))}
    assert sorted(found) == BOUNDARIES
    assert {len(lines) for lines in found.values()} == {1}


def test_no_failure_is_suppressed_wholesale() -> None:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
                assert not {ast.unparse(word) for word in node.args} & BROAD, f"{path}:{node.lineno}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_are_small_and_speak_for_themselves(path: Path) -> None:
    assert path.stem not in {"utils", "util", "helpers", "common", "manager", "misc"}
    assert len(path.read_text("utf-8").splitlines()) <= 600
    assert ast.get_docstring(ast.parse(path.read_text("utf-8"))) or not path.read_text("utf-8").strip()
