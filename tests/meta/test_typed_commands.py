"""What the pages tell people to type is what graphfix takes: each option there is one of its command."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from graphfix.cli.app import COMMANDS
from graphfix.cli.options import picked

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EVERYWHERE = {"-h", "--help"}


def flags_of(picks: tuple[str, ...]) -> set[str]:
    typed = [one.metadata["typed"] for one in picked(picks)]
    # typer takes the first flag for the default
    words = [word for one in typed for word in (one.default, *(getattr(one, "param_decls", None) or ())) if isinstance(word, str)]
    return {each for word in words for each in word.split("/") if each.startswith("-")} | EVERYWHERE


TAKEN = {command.name: flags_of(command.picks) for command in COMMANDS}


def typed_in(text: str) -> list[tuple[str, str]]:
    """Each command of graphfix that the text shows, with the options that are typed behind it."""
    shown = re.findall(r"`(graphfix [^`\n]+)`", text)
    for block in re.findall(r"```(?:sh|console|bash|)\n(.*?)```", text, re.DOTALL):
        shown += re.findall(r"^\$? ?(graphfix .*)$", block, re.MULTILINE)
    found = []
    for line in shown:
        words = shlex.split(line, comments=True)
        words = words[: next((at for at, word in enumerate(words) if word in ("|", "||", "&&", "--")), None)]
        # what trace and verify run has options of its own
        script = next(
            (at for at, word in enumerate(words) if word.endswith((".py", ".sh")) and words[1] in ("trace", "verify")), None
        )
        found += [
            (words[1], word.partition("=")[0]) for word in words[2:script] if re.fullmatch(r"--?[a-zA-Z][\w-]*(=.*)?", word)
        ]
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_option_is_one_of_its_command(path: Path) -> None:
    typed = typed_in(path.read_text("utf-8"))
    assert [(name, flag) for name, flag in typed if name in TAKEN and flag not in TAKEN[name]] == []


def test_something_is_typed() -> None:
    typed = {pair for path in PAGES for pair in typed_in(path.read_text("utf-8"))}
    assert {("campaign", "--output-format"), ("campaign", "-o"), ("apply", "--output"), ("check", "--watch")} <= typed
    assert ("check", "--no-such-option") in typed_in("`graphfix check --no-such-option src`")
