"""Which calls training code makes that nobody in sight defines, and of how many it is written down what they do.

usage: python3 -m benchmarks.library_calls REPOSITORY... [--most 200]

Each folder is one repository. A call counts once for each file that makes it, under the full name of what it calls (`numpy.zeros`), or
as a method of an object that is not known (`.item`). What a file or class of the same repository defines is in sight.
Prints the most frequent ones, each with what is known of it: a row, recorded from torch or written, a model of the simulation, a method
of modules or containers, or only that its whole library is taken for harmless.
"""

from __future__ import annotations

import argparse
import ast
import builtins
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from graphfix.analysis.flow import library
from graphfix.effects.rows import row_of
from graphfix.effects.table import facts
from graphfix.models import assembly  # noqa: F401
from graphfix.models.python import PLAIN_LIBRARIES
from graphfix.models.registry import model_of
from graphfix.source.decode import read
from graphfix.source.errors import SourceError
from graphfix.source.guard import parse

BUILTINS = frozenset(vars(builtins))
KNOWN = ("row", "model", "method")


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


def called(target: ast.expr, imports: dict[str, str], own: frozenset[str]) -> str | None:
    """The full name of what is called, or `.method`; None where it is in sight, or is no name."""
    parts: list[str] = []
    while isinstance(target, ast.Attribute):
        parts.insert(0, target.attr)
        target = target.value
    if isinstance(target, ast.Name) and target.id in imports:
        full = ".".join([imports[target.id], *parts])
        return None if full.startswith(".") or full.split(".")[0] in own else full
    if isinstance(target, ast.Name) and not parts:
        return target.id if target.id in BUILTINS and target.id not in own else None
    return None if not parts or parts[-1] in own else f".{parts[-1]}"


def calls_of(repository: Path) -> Counter[str]:
    """How many files of a repository make each call."""
    files = list(files_of(repository))
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    own = frozenset(
        {part.name for _, tree in files for part in ast.walk(tree) if isinstance(part, definitions)}
        | {path.stem for path, _ in files}
        | {path.name for path in repository.rglob("*") if path.is_dir()}
    )
    found: Counter[str] = Counter()
    for _, tree in files:
        imports = imports_of(tree)
        names = (called(part.func, imports, own) for part in ast.walk(tree) if isinstance(part, ast.Call))
        found.update(set(filter(None, names)))
    return found


def knowledge(name: str) -> str:
    """What is written down of a call: one of `KNOWN`, `library` for a word about all of its library, or nothing."""
    if name.startswith("."):
        if facts(f"torch.Tensor{name}") is not None:
            return "row"
        return "method" if name[1:] in library.COMMON else ""
    if facts(name) is not None:
        return "row"
    if model_of(name) is not None or model_of(f"builtins.{name}") is not None:
        return "model"
    if row_of(name) is not None:
        return "row"
    root = name.split(".")[0]
    return "library" if root in library.TAME or root in PLAIN_LIBRARIES else ""


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
    kinds = Counter(knowledge(name) for name in ranked)
    known = sum(kinds[each] for each in KNOWN)
    share = known / max(len(ranked), 1)
    print(f"\n{len(given.repositories)} repositories; of the {len(ranked)} most frequent calls {known} ({share:.0%}) are known by name, ", end="")
    print(f"{kinds['library']} by a word about their library, {kinds['']} not at all")


if __name__ == "__main__":
    main()
