"""Promise 7: damaged programs never make it crash, and what it makes of them parses."""

from __future__ import annotations

import ast
import io
import os
import random
import tokenize
from pathlib import Path

import pytest

from graphfix.run.outcome import Status

from .fixtures import SCRIPTS, label, repaired

pytestmark = pytest.mark.deep

MUTANTS = int(os.environ.get("GRAPHFIX_MUTANTS", "500"))  # 50,000 before a release
CHUNKS = 20  # so that several processes share them


def lines_changed(chance: random.Random, text: str) -> str:
    """The text with a line gone, doubled, in another one's place or in another block."""
    lines = text.splitlines(keepends=True)
    one = chance.randrange(len(lines))
    alike = [n for n, line in enumerate(lines) if n != one and indent(line) == indent(lines[one])]
    two = chance.choice(alike or [one])
    match chance.randrange(5):
        case 0:
            del lines[one]
        case 1:
            lines.insert(two, lines[one])
        case 2 | 3:
            lines[one], lines[two] = lines[two], lines[one]
        case _:
            lines[one] = chance.choice(("    ", "        ", "")) + lines[one].lstrip(" ")
    return "".join(lines)


def indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def tokens_changed(chance: random.Random, text: str) -> str:
    """The text with a token gone, doubled, or replaced by another of its kind."""
    try:
        tokens = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.string.strip()]
    except (tokenize.TokenError, IndentationError):
        return text
    here = chance.choice([t for t in tokens if t.start[0] == t.end[0]])
    other = chance.choice([t for t in tokens if t.type == here.type])
    lines = text.splitlines(keepends=True)
    row = here.start[0] - 1
    put = chance.choice((other.string,) * 4 + ("", here.string * 2, f"{here.string}, {other.string}", f"({here.string})"))
    lines[row] = lines[row][: here.start[1]] + put + lines[row][here.end[1] :]
    return "".join(lines)


def damaged(seed: int) -> tuple[Path, str]:
    chance = random.Random(seed)
    path = chance.choice(SCRIPTS)
    text = path.read_text()
    for _ in range(chance.randint(1, 3)):
        if len(text.splitlines()) > 2:
            text = chance.choice((lines_changed, tokens_changed))(chance, text)
    return path, text


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_damaged_programs_have_an_outcome_each(chunk: int) -> None:
    for seed in range(chunk, MUTANTS, CHUNKS):
        path, text = damaged(seed)
        outcome = repaired(path, text.encode())
        told = f"seed {seed}, {label(path)}:\n{text}"
        assert outcome.status is not Status.INTERNAL, f"{outcome.reason}\n{told}"
        assert not outcome.faults and not outcome.broken, f"{outcome.faults or outcome.broken}\n{told}"
        if outcome.changed:
            ast.parse(outcome.after)


def test_most_of_them_are_programs_still() -> None:
    def parses(text: str) -> bool:
        try:
            ast.parse(text)
        except SyntaxError:
            return False
        return True

    assert sum(parses(damaged(seed)[1]) for seed in range(MUTANTS)) > MUTANTS // 3
