"""Random sources, random operations on them, and what must hold afterwards."""

from __future__ import annotations

import ast
import io
import random
import sysconfig
import tokenize
from pathlib import Path

from hypothesis import strategies as st

from graphfix.model import (
    AddArgument,
    Append,
    Decorate,
    Delete,
    Fix,
    InsertAfter,
    InsertBefore,
    Move,
    Operation,
    RemoveArgument,
    Replace,
    Wrap,
)
from graphfix.rewrite.layout import Layout

from .cases import fix

_EXPRESSIONS = (
    "loss",
    "a + b",
    "-x",
    "f(a, b=1)",
    "f(\n{i}    a,  # one\n{i}    k=1,\n{i})",
    "(a if b else c)",
    "x[0]",
    "'é'",
    "'''\n# text\n'''",
    "[y for y in z]",
    "f(y for y in z)",
    "lambda: (a, b)",
    "(a  # inner\n{i}  * b)",
    "loss.backward(retain_graph=True)",
)
_SIMPLE = ("{e}", "t = {e}", "t += {e}", "t = {e}; u = {e}", "t = {e};", "assert {e}", "t = {e}  # why; not:", "t = \\\n{i}  {e}")
_HEADERS = ("if {e}:", "for i in {e}:", "while {e}:  # loop", "with {e}:", "def f(a={e}):", "@d\n{i}class A({e}):", "try:")


@st.composite
def sources(draw: st.DrawFn) -> str:
    """A small file with all that makes rewriting hard: one-line suites, comments, strings, tabs, newlines."""
    unit = draw(st.sampled_from(["    ", "  ", "\t"]))
    lines: list[str] = []
    _block(draw, "", unit, draw(st.integers(1, 4)), lines, 0)
    text = "\n".join(lines) + draw(st.sampled_from(["\n", "", "\n\n", "\n# end\n"]))
    return text.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n"])))


def _block(draw: st.DrawFn, indent: str, unit: str, size: int, lines: list[str], depth: int) -> None:
    for _ in range(size):
        if draw(st.booleans()):
            lines.append(draw(st.sampled_from(["", f"{indent}# note", "  # elsewhere", "\x0c"])))
        kind = draw(st.integers(0, 5 if depth < 3 else 3))
        if kind < 4:
            lines.append(indent + _filled(draw, draw(st.sampled_from(_SIMPLE)), indent))
        elif kind == 4:
            lines.append(f"{indent}if {_filled(draw, '{e}', indent)}: {_one_line(draw, indent)}")
        else:
            _compound(draw, indent, unit, lines, depth)


def _one_line(draw: st.DrawFn, indent: str) -> str:
    return "; ".join(_filled(draw, "t = {e}", indent) for _ in range(draw(st.integers(1, 3))))


def _compound(draw: st.DrawFn, indent: str, unit: str, lines: list[str], depth: int) -> None:
    header = draw(st.sampled_from(_HEADERS))
    lines.append(indent + _filled(draw, header, indent))
    _block(draw, indent + unit, unit, draw(st.integers(1, 3)), lines, depth + 1)
    if header == "try:":
        lines.append(f"{indent}except E: {_one_line(draw, indent)}")
    elif header.startswith("if"):
        lines += [f"{indent}elif x:", f"{indent}{unit}pass", f"{indent}else: {_one_line(draw, indent)}"]


def _filled(draw: st.DrawFn, shape: str, indent: str) -> str:
    while "{e}" in shape:
        shape = shape.replace("{e}", draw(st.sampled_from(_EXPRESSIONS)), 1)
    return shape.replace("{i}", indent)


def random_fixes(text: str, rng: random.Random, count: int, sizes: tuple[int, ...] = (1, 1, 2, 3)) -> list[Fix]:
    layout = Layout(text)
    nodes = list(layout.parents)
    expressions = [node for node in nodes if isinstance(node, ast.expr) and hasattr(node, "lineno")]
    statements = [node for node in nodes if isinstance(node, ast.stmt)]
    return [
        fix(*(random_operation(layout, expressions, statements, rng) for _ in range(rng.choice(sizes)))) for _ in range(count)
    ]


def random_operation(layout: Layout, expressions: list[ast.expr], statements: list[ast.stmt], rng: random.Random) -> Operation:
    statement = rng.choice(statements)
    place, kind = layout.span(statement), rng.randrange(12)
    if kind < 6 and expressions:
        span = layout.span(rng.choice(expressions))
        calls = [layout.span(node) for node in expressions if isinstance(node, ast.Call)] or [span]
        return (
            Append(span, ".item()"),
            Append(span, ".detach()"),
            Replace(span, rng.choice(["z", "p + q", "p, q", "g(\n1)"])),
            AddArgument(rng.choice(calls), "k", "2"),
            RemoveArgument(rng.choice(calls), "k"),
            RemoveArgument(rng.choice(calls), "retain_graph"),
        )[kind]
    block = layout.blocks[statement]
    first = block.index(statement)
    return (
        InsertBefore(place, rng.choice(["n = 1", "if n:\n    m()"])),
        InsertAfter(place, rng.choice(["n = 1", "if n:\n    m()"])),
        Delete(place),
        Move(place, layout.span(rng.choice(statements))),
        Wrap(tuple(layout.span(node) for node in block[first : first + rng.randint(1, 3)]), "with torch.no_grad():"),
        Decorate(place, "dec"),
    )[kind % 6]


def comments(text: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text, newline=None).readline)
    return sorted(token.string.strip() for token in tokens if token.type == tokenize.COMMENT)


def library_files(count: int) -> list[Path]:
    """A fixed sample of the standard library."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    files = [path for path in sorted(folder.rglob("*.py")) if 100 < path.stat().st_size < 40_000]
    files = [path for path in files if not {"site-packages", "lib2to3"} & set(path.parts) and "bad" not in path.name]
    return random.Random(1).sample(files, count)
