"""What functions of libraries do is written in the rows alone: no other room has lists of their names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from graphfix.effects.rows import files, rows_in
from graphfix.effects.table import table

ROOT = Path(__file__).parents[2]
ROOMS = ("src/graphfix/analysis", "src/graphfix/interpreter", "src/graphfix/models", "src/graphfix/obligations", "src/graphfix/repair", "codemods")
KNOWN = {*table(), *(name for file in files() for name in rows_in(file))}
LIBRARIES = {file.removesuffix(".toml") for file in files()} | {name.split(".")[0] for name in KNOWN}
# what is asked under these names is no effect of a function, and says so beside it
OTHERWISE = {
    "DISPLAYED": "the classes of what is written down as a list, a mapping or a text",
    "GIVES": "the classes that the recorded table tells apart by their kind",
    "ORIGINS": "where a rule's own subject is imported from",
    "HALF": "types of numbers",
    "SETTINGS": "modules of torch whose attributes are its settings",
    "PRUNES": "a module of torch that changes other modules",
}  # fmt: skip


def constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """The names that a module binds, with what they are."""
    for statement in tree.body:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
        if isinstance(target, ast.Name) and statement.value is not None:  # type: ignore[attr-defined]
            yield target.id, statement.value  # type: ignore[attr-defined]


def named_in(value: ast.expr) -> set[str]:
    """The functions, and the whole libraries, that a constant names."""
    texts = (part.value for part in ast.walk(value) if isinstance(part, ast.Constant) and isinstance(part.value, str))
    words = {word.strip(".") for text in texts for word in text.split() if "/" not in word}
    return {word for word in words if word in KNOWN or "." in word and word.split(".")[0] in LIBRARIES and word.replace(".", "_").isidentifier()}


def test_no_room_lists_functions_of_libraries() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {name}": sorted(named_in(value))
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        for name, value in constants(ast.parse(path.read_text("utf-8")))
        if len(named_in(value)) > 1 and name not in OTHERWISE
    }
    assert found == {}


def test_each_name_that_is_left_is_still_there() -> None:
    names = {name for room in ROOMS for path in (ROOT / room).rglob("*.py") for name, _ in constants(ast.parse(path.read_text("utf-8")))}
    assert OTHERWISE.keys() <= names


def test_a_list_of_functions_would_be_found() -> None:
    (value,) = (value for _, value in constants(ast.parse('NAMES = frozenset("torch.stack math.sqrt mylib.total".split())')))
    assert named_in(value) == {"torch.stack", "math.sqrt"}
