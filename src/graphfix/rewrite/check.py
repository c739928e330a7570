"""Proof that a rewritten file still parses: all of it by `ast`, what changed by libcst."""

from __future__ import annotations

import ast

from graphfix.rewrite.changes import trimmed
from graphfix.rewrite.depth import too_deep
from graphfix.rewrite.layout import NEWLINE, UNPARSABLE, parse


def why_broken(text: str, original: str) -> str | None:
    """Why `text` may not replace `original`, or None."""
    try:
        tree = parse(text)
    except UNPARSABLE as error:
        return f"the result does not parse: {getattr(error, 'msg', None) or type(error).__name__}"
    if text == original:
        return None  # operations may cancel out
    data = text.encode("utf-8", "surrogatepass")
    touched = _touched(data, tree, original.encode("utf-8", "surrogatepass"))
    if any(too_deep(piece, node) for piece, node in touched):
        return None
    # libcst is slow, so it reads only the top-level statements that changed
    if libcst_reads(b"".join(piece for piece, _ in touched).decode("utf-8", "surrogatepass")):
        return None
    # Where libcst does not read the original either (newer syntax), it proves nothing
    return None if not libcst_reads(original) else "libcst cannot parse the result"


def _touched(data: bytes, tree: ast.Module, original: bytes) -> list[tuple[bytes, ast.Module]]:
    """The lines of the top-level statements of the result between its first and last changed byte."""
    change = trimmed(0, original, data)[0]
    start, end = change.start, change.start + len(change.content)
    return [
        (data[first:last], ast.Module(nodes, [])) for first, last, nodes in _pieces(data, tree) if first <= end and start <= last
    ]


def _pieces(data: bytes, tree: ast.Module) -> list[tuple[int, int, list[ast.stmt]]]:
    """Top-level statements with the lines on which they stand; those that share a line are one piece."""
    starts = [0, *(match.end() for match in NEWLINE.finditer(data)), len(data)]
    pieces: list[tuple[int, int, list[ast.stmt]]] = []
    for node in tree.body:
        line = min([node.lineno, *(inner.lineno for inner in getattr(node, "decorator_list", []))])
        first, last = starts[line - 1], starts[node.end_lineno or line]
        if pieces and first < pieces[-1][1]:
            before, _, nodes = pieces.pop()
            pieces.append((before, last, [*nodes, node]))
        else:
            pieces.append((first, last, [node]))
    return pieces


def libcst_reads(text: str) -> bool:
    import libcst as cst

    try:
        cst.parse_module(text)
    except (cst.ParserSyntaxError, RecursionError, UnicodeError):
        return False
    return True
