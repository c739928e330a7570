"""What a finding is known by when the lines around it move: its rule, the function that it is in, and the code to blame."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from graphfix.lazy_dataclass import dataclass
from graphfix.model import Finding
from graphfix.source.guard import parse
from graphfix.source.lines import LineIndex
from graphfix.source.subtree import children

_BLOCK = re.compile(r"(?:async\s+)?(?:for|while|if|elif|else|with|def|class|try|except|finally|match|case)\b|@")
_BLANKS = re.compile(r"\s*(\W)\s*|\s+")
_LAST_COMMA = re.compile(r",(?=[)\]}])")


@dataclass(frozen=True, order=True)
class Mark:
    """A rule's code, the qualified name of the enclosing function or class, and the code to blame in one normal form."""

    code: str
    place: str
    line: str


def marks(text: str, findings: Iterable[Finding]) -> list[Mark]:
    """The mark of each of the `findings` in `text`; equal findings have equal marks."""
    found = list(findings)
    if not found:
        return []
    index = LineIndex(text)
    data = text.encode("utf-8", "surrogatepass")
    scopes = sorted(_scopes(parse(text)))
    return [
        Mark(
            finding.code,
            _place(scopes, index.place(finding.span.start)[0]),
            normal(data[finding.span.start : finding.span.end].decode("utf-8", "replace")),
        )
        for finding in found
    ]


def normal(code: str) -> str:
    """The code without what a formatter may change; of a block only its first line."""
    if _BLOCK.match(code):
        code = re.split(r"[\r\n]", code, maxsplit=1)[0]
    return _LAST_COMMA.sub("", _BLANKS.sub(lambda match: match[1] or " ", code.strip()))


def _scopes(tree: ast.Module) -> list[tuple[int, int, str]]:
    """First line, last line and qualified name of every function and class."""
    found: list[tuple[int, int, str]] = []
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        node, name = pending.pop()
        for child in children(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                own = f"{name}.{child.name}" if name else child.name
                found.append((child.lineno, child.end_lineno or child.lineno, own))
                pending.append((child, own))
            elif not isinstance(child, ast.expr):
                pending.append((child, name))
    return found


def _place(scopes: list[tuple[int, int, str]], row: int) -> str:
    # sorted by first line, so the last that holds the row is the innermost
    return next((name for first, last, name in reversed(scopes) if first <= row <= last), "")
