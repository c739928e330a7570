"""The gate before every parser: refuse what would crash one, explain what does not parse."""

from __future__ import annotations

import ast
import functools
import itertools
import re
import warnings
from collections.abc import Iterator

from graphfix.source.errors import Skipped, SourceError
from graphfix.source.lines import NEWLINE
from graphfix.source.strings import SHORT, texts
from graphfix.source.subtree import children

MAX_BRACKETS = 100
MAX_DEPTH = 200
MAX_LINE = 1_000_000
MAX_OPERATORS = 3_000
# below this count of operators no tree comes near to MAX_DEPTH (100 levels of indentation at most)
SUSPICIOUS = 60

# what counts is in the one group, for all else is passed
_TOKENS = re.compile(rf"{SHORT}|([-+*/%@&|^~<>=.()\[\]{{}},\r\n;]|\b(?:not|and|or|in|is|if|lambda|await|elif)\b)", re.DOTALL)
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")
_ENDING = frozenset("\r\n;")
# of what does not parse: `re` compiles these at their first use, and keeps them
_MERGE = r"(?:<{7}|={7}|>{7}|\|{7})(?: |$)"
_PYTHON_2 = (
    (r"^\s*print\s+[^(=]|^\s*print\s*>>", "print statement"),
    (r"^\s*exec\s+[^(=]", "exec statement"),
    (r"^\s*except\s+[\w.()]+\s*,\s*\w+\s*:", "comma in an except clause"),
    (r"^\s*raise\s+[\w.]+\s*,", "comma in a raise statement"),
    (r"\b0\d+\b", "octal number"),
    (r"\b\d+[lL]\b", "long number"),
    (r"`[^`]*`", "backticks"),
    (r"<>", "<> operator"),
    (r"\bur['\"]", "ur string"),
)
_ASYNC = r"\basync\s*=[^=]|\.async\b|\bimport\s+async\b|\basync\s*[,)]"


@functools.lru_cache(maxsize=1)
def parse(text: str) -> ast.Module:
    """The tree of `text`, or `SourceError`. The tree of the last text is shared: do not change it."""
    bound = check_size(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = with_calls(ast.parse(text)) if "print," in text else ast.parse(text)
    except SyntaxError as error:
        raise explain(error, text) from error
    except (RecursionError, MemoryError) as error:
        raise Skipped("too deep") from error
    except ValueError as error:
        raise SourceError(str(error).lower()) from error
    if bound > SUSPICIOUS and depth_of(tree, MAX_DEPTH) > MAX_DEPTH:
        raise Skipped("too deep")
    return tree


def parse_own(path: str, text: str) -> ast.Module:
    """The tree of `text` in the file at `path`: another one than that of a file that says the same, as a node tells its file."""
    tree = parse(text)
    if tree.__dict__.setdefault("_graphfix_path", path) != path:
        tree = parse.__wrapped__(text)
        tree.__dict__["_graphfix_path"] = path
    return tree


def with_calls(tree: ast.Module) -> ast.Module:
    """The tree with `print,x` as the call that it was: nobody writes such a pair on purpose."""
    for part in ast.walk(tree):
        if isinstance(part, ast.Expr) and isinstance(part.value, ast.Tuple) and len(part.value.elts) > 1:
            first, *rest = part.value.elts
            if isinstance(first, ast.Name) and first.id == "print":
                part.value = ast.copy_location(ast.Call(first, rest, []), part.value)
    return tree


def parses(text: str) -> bool:
    """Whether `text` passes the gate and is valid Python."""
    try:
        parse(text)
    except SourceError:
        return False
    return True


def check_size(text: str) -> int:
    """Raise `Skipped` for text that may take a parser down; else a bound on how deep an expression is."""
    if len(text) > MAX_LINE and any(len(line) >= MAX_LINE for line in NEWLINE.split(text)):
        raise Skipped("line too long")
    # one counter of operators per open bracket: a comma starts a new operand, so a long list is not deep
    around: list[int] = []
    own = total = peak = elifs = 0
    for token in itertools.chain.from_iterable(map(_TOKENS.findall, _without_long_strings(text))):
        if token in _OPENING:
            around.append(own + 1)
            own = 0
            total += 1
        elif token in _CLOSING:
            if around:
                total -= own
                own = around.pop()
        elif token == "," or token in _ENDING:
            if token == "," or not around:
                total -= own
                own = 0
        elif token == "elif":
            elifs += 1
        elif token:
            own += 1
            total += 1
        if total > peak:
            peak = total
            if total > MAX_OPERATORS or len(around) >= MAX_BRACKETS:
                raise Skipped("too deep")
    return peak + elifs


def _without_long_strings(text: str) -> Iterator[str]:
    """What stands between the strings of several lines."""
    at = 0
    for start, end, is_long in texts(text):
        if is_long:
            yield text[at:start]
            at = end
    yield text[at:]


def depth_of(tree: ast.AST, limit: int) -> int:
    """How deep the tree is, counted without recursion; stops just past `limit`."""
    depth = 0
    level: list[ast.AST] = [tree]
    while level and depth <= limit:
        depth += 1
        level = [child for node in level for child in children(node)]
    return depth


def explain(error: SyntaxError, text: str) -> SourceError:
    """The one diagnostic of a text that does not parse."""
    row, column = error.lineno or 1, max(error.offset or 1, 1)
    lines = NEWLINE.split(text)
    line = lines[row - 1] if row <= len(lines) else ""
    merge = _merge_row(lines)
    if merge:
        return SourceError("merge marker left in the file", merge, 1)
    if "async" in line and re.search(_ASYNC, line):
        return SourceError("`async` used as a name, a keyword since Python 3.7", row, column)
    for pattern, what in _PYTHON_2:
        if re.search(pattern, line):
            return SourceError(f"Python 2 syntax: {what}", row, column)
    message = (error.msg or "invalid syntax").split(". ")[0]
    return SourceError(f"syntax error: {message[:1].lower()}{message[1:]}", row, column)


def _merge_row(lines: list[str]) -> int:
    """The row of the first merge marker, if there are an opening and a closing one."""
    rows = [number for number, line in enumerate(lines, 1) if re.match(_MERGE, line)]
    kinds = {lines[row - 1][0] for row in rows}
    return rows[0] if {"<", ">"} <= kinds else 0
