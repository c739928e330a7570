"""`python -m graphfix.calls FILE...`: what the instructions of Python files run, as text."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from graphfix.calls.graph import CallGraph
from graphfix.calls.program import Find, Program
from graphfix.source.decode import read
from graphfix.source.document import Document
from graphfix.source.errors import SourceError
from graphfix.source.finder import NEVER, Finder

WIDTH = 50  # characters of an expression


def main(names: list[str]) -> int:
    """Print what each file runs; 2 where one cannot be read or is no Python."""
    for name in names:
        try:
            document = Document(name, read(Path(name)).text)
        except (OSError, SourceError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 2
        print("\n".join(shown(CallGraph(Program(document, finding(document))))))
    return 0


def finding(main_document: Document) -> Find:
    """Finds the files that a file imports, in its own folder and those around it."""
    path = Path(main_document.path).resolve()
    finder = Finder(path, (path.parent,))
    known: dict[Path, Document | None] = {}

    def find(name: str, importing: Document) -> Document | None:
        found = finder.find(name, Path(importing.path).resolve()) if name.lstrip(".").split(".")[0] not in NEVER else None
        if found is not None and found not in known:
            try:
                known[found] = Document(str(found), read(found).text, name)
            except (OSError, SourceError):
                known[found] = None
        return known[found] if found is not None else None

    return find


def shown(graph: CallGraph) -> Iterator[str]:
    """A line for each instruction of the first file that runs code of the program, a library, or what nobody can name."""
    for code in graph.program.main.codes():
        for each in code.instructions():
            targets = graph.resolve(code, each)
            runs = [f"{name_of(node)} (line {getattr(node, 'lineno', 1)})" for node in targets.codes]
            runs += [*targets.libraries, *(["?"] if targets.is_open else [])]
            if runs and hasattr(each.node, "lineno"):
                text = ast.unparse(each.node).splitlines()[0]
                text = text if len(text) <= WIDTH else f"{text[: WIDTH - 3]}..."
                yield f"{each.node.lineno:5}  {text}  ->  {', '.join(runs)}"


def name_of(node: ast.AST) -> str:
    """How a code object is called."""
    return getattr(node, "name", None) or {ast.Lambda: "lambda", ast.Module: "module"}.get(type(node), type(node).__name__)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
