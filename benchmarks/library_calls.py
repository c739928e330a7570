"""Which calls training code makes that nobody in sight defines, and of how many it is written down what they do.

usage: python3 -m benchmarks.library_calls REPOSITORY... [--most 200]

Each folder is one repository. A call counts once for each file that makes it, under the full name of what it calls (`numpy.zeros`), or
as a method of an object that is not known (`.item`). In sight is what a file or class of the same repository defines, and a method whose
name is an attribute that the repository assigns: `self.conv1(x)` calls no library.
Prints the most frequent ones, each with what is known of it: a row, recorded from torch or written (of a method: of some class that has
it), or a model of the simulation.
"""

from __future__ import annotations

import argparse
import ast
import builtins
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from graphfix.effects.methods import rows_of_method
from graphfix.effects.rows import row_of
from graphfix.effects.table import facts
from graphfix.models import assembly  # noqa: F401
from graphfix.models.registry import model_of
from graphfix.source.decode import read
from graphfix.source.errors import SourceError
from graphfix.source.guard import parse

BUILTINS = frozenset(vars(builtins))
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def files_of(repository: Path) -> Iterator[tuple[Path, ast.Module]]:
    """The Python files of a repository that can be read."""
    for path in sorted(repository.rglob("*.py")):
        try:
            yield path, parse(read(path).text)
        except (SourceError, SyntaxError, ValueError, RecursionError, OSError):
            continue


def imports_of(tree: ast.Module) -> dict[str, str]:
    """What each imported name stands for; a relative import begins with a dot."""
    found: dict[str, str] = {}
    for part in ast.walk(tree):
        if isinstance(part, ast.Import):
            found.update({each.asname or each.name.split(".")[0]: each.name if each.asname else each.name.split(".")[0] for each in part.names})
        elif isinstance(part, ast.ImportFrom):
            module = "." * part.level + (part.module or "")
            found.update({each.asname or each.name: f"{module}.{each.name}" for each in part.names})
    return found


def attributes_of(tree: ast.Module) -> Iterator[str]:
    """The names of what a file defines, and of the attributes that it assigns: each may be a method of an object in sight."""
    for part in ast.walk(tree):
        if isinstance(part, DEFINITIONS):
            yield part.name
        if isinstance(part, ast.ClassDef):
            yield from (name.id for each in part.body for name in ast.walk(each) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store))
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
            yield part.attr


@dataclass(frozen=True)
class Own:
    """What is in sight of one repository: its modules, and the names of its functions, classes and attributes."""

    modules: frozenset[str]
    names: frozenset[str]


def called(target: ast.expr, imports: dict[str, str], own: Own) -> str | None:
    """The full name of what is called, or `.method`; None where it is in sight, or is no name."""
    parts: list[str] = []
    while isinstance(target, ast.Attribute):
        parts.insert(0, target.attr)
        target = target.value
    if isinstance(target, ast.Name) and target.id in imports:
        full = ".".join([imports[target.id], *parts])
        return None if full.startswith(".") or full.split(".")[0] in own.modules else full
    if isinstance(target, ast.Name) and not parts:
        return target.id if target.id in BUILTINS and target.id not in own.names else None
    return None if not parts or parts[-1] in own.names else f".{parts[-1]}"


def calls_of(repository: Path) -> Counter[str]:
    """How many files of a repository make each call."""
    files = list(files_of(repository))
    folders = {path.name for path in repository.rglob("*") if path.is_dir()}
    own = Own(frozenset({path.stem for path, _ in files} | folders), frozenset(name for _, tree in files for name in attributes_of(tree)))
    found: Counter[str] = Counter()
    for _, tree in files:
        imports = imports_of(tree)
        names = (called(part.func, imports, own) for part in ast.walk(tree) if isinstance(part, ast.Call))
        found.update(set(filter(None, names)))
    return found


def knowledge(name: str) -> str:
    """What is written down of a call: that it has a row, or a model; empty where nothing is."""
    if name.startswith("."):
        return "row" if rows_of_method(name[1:]) else ""
    if facts(name) is not None or row_of(name) is not None:
        return "row"
    return "model" if model_of(name) is not None or model_of(f"builtins.{name}") is not None else ""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("repositories", nargs="+", type=Path)
    options.add_argument("--most", type=int, default=200)
    given = options.parse_args()
    total: Counter[str] = Counter()
    users: Counter[str] = Counter()
    for repository in given.repositories:
        found = calls_of(repository)
        total.update(found)
        users.update(found.keys())
    # in how many repositories first: one large repository is no fashion
    ranked = sorted(total, key=lambda name: (-users[name], -total[name], name))[: given.most]
    for name in ranked:
        print(f"{users[name]:4} {total[name]:6}  {knowledge(name) or '-':8} {name}")
    known = sum(bool(knowledge(name)) for name in ranked)
    print(f"\n{len(given.repositories)} repositories; of the {len(ranked)} most frequent calls {known} ({known / max(len(ranked), 1):.0%}) are known by name")


if __name__ == "__main__":
    main()
