"""Where things stand in a source file: nodes by span, lines, indentation, comments.

All offsets are UTF-8 bytes of the decoded text, which is what `ast` counts in.
"""

from __future__ import annotations

import ast
import bisect
import functools
import io
import re
import tokenize
import warnings
from collections import Counter
from collections.abc import Iterator

from graphfix.model import Span
from graphfix.source.document import Document
from graphfix.source.subtree import children, subtree

NEWLINE = re.compile(rb"\r\n|\r|\n")
_BLANK = re.compile(rb"[ \t\f]*")
_SEMICOLON = re.compile(rb"[ \t\f]*;(?:[ \t\f]|\\(?:\r\n|\r|\n))*")
_INLINE = re.compile(rb":(?:[ \t\f]|\\(?:\r\n|\r|\n))*\Z")
_TAIL = re.compile(rb"[ \t\f]*;?[ \t\f]*")

# What the C parser raises on text that is no Python, or too much of it.
UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


class RefusedError(Exception):
    """An operation cannot be done; the message says why."""


def parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


@functools.lru_cache(maxsize=4)
def layout_of(text: str) -> Layout:
    """The layout of a text; the texts asked about last are kept."""
    return Layout(text)


class Layout:
    """A parsed file, and the questions that operations ask about it."""

    def __init__(self, text: str) -> None:
        document = Document("", text, tree=parse(text))
        self.tree = document.tree
        self.data = document.data
        self.starts = document.lines.starts
        self.parents = document.parents
        self.blocks = document.blocks
        self.span = document.span
        self._statements: dict[Span, ast.stmt] = {}
        self._expressions: dict[Span, ast.expr] = {}
        self._index()
        self.unit = self._unit()

    def _index(self) -> None:
        # The outermost of several nodes with one span wins: pieces of an f-string once had the span of the whole
        for node in subtree(self.tree):
            if isinstance(node, ast.stmt):
                self._statements.setdefault(self.span(node), node)
            elif isinstance(node, ast.expr):
                self._expressions.setdefault(self.span(node), node)

    def statement(self, span: Span) -> ast.stmt:
        found = self._statements.get(span)
        if found is None:
            raise RefusedError("there is no statement at this place")
        if isinstance(found, ast.If) and self.data.startswith(b"elif", span.start):
            raise RefusedError("an `elif` cannot be separated from its `if`")
        return found

    def expression(self, span: Span) -> ast.expr:
        found = self._expressions.get(span)
        if found is None:
            raise RefusedError("there is no expression at this place")
        self._check_formatted(found)
        return found

    def _check_formatted(self, node: ast.expr) -> None:
        """Older Pythons misplace expressions of f-strings: trust only a place that reads the same."""
        outer: ast.AST | None = node
        while outer is not None and not isinstance(outer, (ast.stmt, ast.FormattedValue)):
            outer = self.parents.get(outer)
        if isinstance(outer, ast.FormattedValue):
            span = self.span(node)
            try:
                again = ast.parse(b"(" + self.data[span.start : span.end] + b")", mode="eval").body
            except UNPARSABLE:
                again = None
            if again is None or ast.dump(again) != ast.dump(node):
                raise RefusedError("the position inside the f-string is not certain")

    def start(self, node: ast.stmt) -> int:
        """Where the statement starts, with its decorators."""
        decorators = getattr(node, "decorator_list", None)
        if not decorators:
            return self.span(node).start
        return self.data.rfind(b"@", 0, self.span(decorators[0]).start)

    # Lines

    def line(self, offset: int) -> int:
        return bisect.bisect_right(self.starts, offset) - 1

    def line_start(self, offset: int) -> int:
        return self.starts[self.line(offset)]

    def next_line(self, offset: int) -> int:
        line = self.line(offset) + 1
        return self.starts[line] if line < len(self.starts) else len(self.data)

    def line_end(self, offset: int) -> int:
        """The end of the line without its newline."""
        end = self.next_line(offset)
        return end - len(self._newline_of(end))

    def _newline_of(self, end: int) -> bytes:
        before = self.data[max(0, end - 2) : end]
        return before if before == b"\r\n" else before[-1:] if before[-1:] in (b"\n", b"\r") else b""

    def newline(self, offset: int) -> bytes:
        """The newline that is used here: of this line, or of the file where this line has none."""
        own = self._newline_of(self.next_line(offset))
        if own:
            return own
        first = NEWLINE.search(self.data)
        return first.group() if first else b"\n"

    def indent(self, offset: int) -> bytes:
        match = _BLANK.match(self.data, self.line_start(offset))
        assert match is not None
        # A form feed starts the column count again
        return match.group().rpartition(b"\f")[2]

    def _unit(self) -> bytes:
        """What one level of indentation is in this file."""
        seen: Counter[bytes] = Counter()
        for node in self.blocks:
            parent = self.parents[node]
            if isinstance(parent, ast.stmt) and self.blocks[node][0] is node and not self.inline(node):
                inner, outer = self.indent(self.start(node)), self.indent(self.start(parent))
                if inner.startswith(outer) and inner != outer:
                    seen[inner[len(outer) :]] += 1
        return min(seen, key=lambda unit: (-seen[unit], unit)) if seen else b"    "

    # Statements that share a line

    def inline(self, node: ast.stmt) -> bool:
        """The statement is the first of a one-line suite: `if x: a; b`."""
        if self.blocks[node][0] is not node or isinstance(self.parents[node], ast.Module):
            return False
        start = self.start(node)
        match = _INLINE.search(self.data, max(0, start - 200), start)
        if match is None:
            return False
        # A comment may end in a colon and a backslash
        header = self.data[self.line_start(match.start()) : match.start()]
        return not (NEWLINE.search(match.group()) and b"#" in header)

    def joined(self, before: ast.stmt, after: ast.stmt) -> bool:
        return _SEMICOLON.fullmatch(self.data, self.span(before).end, self.start(after)) is not None

    def group(self, node: ast.stmt) -> list[ast.stmt]:
        """The statements on the logical line of `node`, in order."""
        block = self.blocks[node]
        first = last = block.index(node)
        while first > 0 and self.joined(block[first - 1], block[first]):
            first -= 1
        while last + 1 < len(block) and self.joined(block[last], block[last + 1]):
            last += 1
        return block[first : last + 1]

    def alone(self, node: ast.stmt) -> bool:
        group = self.group(node)
        return len(group) == 1 and not self.inline(group[0])

    def after(self, node: ast.stmt) -> int:
        """Where the statement ends, with its own semicolon and the blanks behind it."""
        match = _TAIL.match(self.data, self.span(node).end)
        assert match is not None
        return match.end()

    # Comments

    def leading(self, node: ast.stmt) -> int:
        """The start of the first line of the comments that stand right above a statement, at its own indentation."""
        own = self.line(self.start(node))
        floor = self._floor(node)
        line = own
        mark = self.data[self.starts[own] : self.start(node)] + b"#"
        while line > floor and self.data.startswith(mark, self.starts[line - 1]):
            line -= 1
        # Comments that open a file (licence, coding) belong to the file
        return self.starts[own if line == 0 else line]

    def _floor(self, node: ast.stmt) -> int:
        """The first line that cannot hold text of what stands before the statement."""
        block = self.blocks[node]
        position = block.index(node)
        if position:
            return self.line(self.span(block[position - 1]).end) + 1
        parent = self.parents[node]
        return self.line(self.span(parent).start) + 1 if isinstance(parent, ast.stmt) else 0

    def comments(self, start: int, end: int) -> list[bytes]:
        """The comments between two offsets that hold whole tokens."""
        piece = self.data[start:end]
        if b"#" not in piece:
            return []
        text = "(" + piece.decode("utf-8", "surrogatepass") + "\n)"
        try:
            tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
        except (tokenize.TokenError, IndentationError, SyntaxError):
            raise RefusedError("the comments there cannot be located") from None
        return [token.string.rstrip("\r").encode() for token in tokens if token.type == tokenize.COMMENT]

    def string_lines(self, node: ast.stmt) -> set[int]:
        """Lines (0-based) that start inside of a string and so must not be indented."""
        return set(_string_lines(node))


def _string_lines(node: ast.AST) -> Iterator[int]:
    todo = [node]
    for outer in todo:
        is_text = isinstance(outer, ast.Constant) and isinstance(outer.value, (str, bytes))
        if is_text or type(outer).__name__ in ("JoinedStr", "TemplateStr"):
            yield from range(outer.lineno, outer.end_lineno)  # type: ignore[attr-defined]
        else:
            todo.extend(children(outer))
