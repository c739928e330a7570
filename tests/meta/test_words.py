"""What users read is plain English: no word of it has to be decoded."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
# each with what to write instead
FORBIDDEN = {
    r"\bwalk(s|ed|ing)?\b(?!_)": "backward pass, backward()",
    r"\bnobody\b": "nothing, no backward()",
    r"\b(in|out of) sight\b": "inside, or outside, of the analysed code",
    r"\bput(s|ting)? away\b": "store",
    r"\bof which\b": "a relative clause with a subject",
    r"\bcom(es?|ing) to (it|them|rest|use|the|an)\b": "reach, use",
    r"\bgo(es)? by\b": "use",
    r"\bhangs? on\b": "depend on",
    r"\bthe very\b": "the same",
    r"\basks? for its\b": "read",
    r"\bbirths?\b": "node",
    r"\btapes?\b": "run",
    r"\btells? (of|apart)\b": "report, distinguish",
    r"\bstays \d": "say what does not change",
    r"\bset up\b": "initialise",
    r"(?<!there )\bis no (tensor|leaf|number|function|file|name|argument|command|pipe|plain|suffix|expression|statement)\b": "is not a",
    r"\b(something|other|another|anything) else than\b": "other than",
    r"\bwants? to be\b": "say what is needed",
}
DOCUMENTS = ("README.md", "docs")


def messages() -> Iterator[tuple[str, str]]:
    """The texts of the program that have several words and are no docstrings, each with its place."""
    for folder in ("src/graphfix", "codemods", "cli"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.is_relative_to(ROOT / "src/graphfix/cli") or path.is_relative_to(ROOT / "src/graphfix/codemods"):
                continue  # links to the folders at the top
            yield from texts_of(path)


def texts_of(path: Path) -> Iterator[tuple[str, str]]:
    tree = ast.parse(path.read_text("utf-8"))
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body and isinstance(node.body[0], ast.Expr)
    }  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count(" ") > 1 and id(node) not in docs:
            yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value


def pages() -> Iterator[tuple[str, str]]:
    for name in DOCUMENTS:
        top = ROOT / name
        for path in [top] if top.is_file() else sorted(top.rglob("*.md")):
            for row, line in enumerate(path.read_text("utf-8").splitlines(), 1):
                yield f"{path.relative_to(ROOT)}:{row}", line


def test_no_text_has_a_word_that_must_be_decoded() -> None:
    texts = [*messages(), *pages()]
    found = [
        f"{place}: {text[:100]!r}: write {instead!r}"
        for pattern, instead in FORBIDDEN.items()
        for place, text in texts
        if re.search(pattern, text, re.IGNORECASE)
    ]
    assert not found, "\n".join(found)
