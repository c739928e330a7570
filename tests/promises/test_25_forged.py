"""Promise 25: neither names nor sources can forge what is told: no control characters, no lines of others, valid documents."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from graphfix.report.forms import FORMS

Run = Callable[..., subprocess.CompletedProcess[bytes]]
# ends a line or a command, colours, turns the direction, hides or smuggles words, ends a document
HIDDEN = "\u200b\u00ad\u2060\ufeff\U000e0061\U000e007f"
EVIL = f"\x1b[2J\x1b]0;t\x07\x9b31m\u202e\u2028{HIDDEN}" "\x08%0A::error file=y.py::]]></x>&\"'`##vso[task.complete]"
ALLOWED = {"\n", "\t"}
BLANK = "\u3164\u1160"  # letters of names, to Python, that show nothing


def odd(text: str) -> set[str]:
    """The characters of a text that are not plainly visible."""
    return {char for char in text if not char.isprintable() or char in BLANK} - ALLOWED


@pytest.fixture
def forged(tmp_path: Path, loops: SimpleNamespace) -> Path:
    """The same evil in a name, in the line of a finding, and in the name of a variable's neighbour."""
    text = loops.both.replace("    total += loss", f"    total += loss  # {EVIL}")
    text = text.replace("total", f"tot{BLANK[0]}al") + f"word = '{HIDDEN}'\n"
    (tmp_path / f"{EVIL.replace('/', '')}\n::error::x.py").write_text(text)
    (tmp_path / "a.py").write_text(text)
    (tmp_path / "broken.py").write_text(f"loss.backward()\nx = '{EVIL}\n")
    return tmp_path


@pytest.fixture
def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CI_", "GITHUB_"))}
    return kept | {"PYTHONIOENCODING": "utf-8"}


@pytest.mark.parametrize(
    "words", [*(["check", "--output-format", form] for form in FORMS), ["apply", "--dry-run"]], ids=lambda words: words[-1]
)
def test_nothing_that_moves_or_hides_is_told(forged: Path, graphfix: Run, environment: dict[str, str], words: list[str]) -> None:
    done = graphfix(*words, ".", env=environment)
    assert done.returncode == 2, done.stderr
    streams = [done.stderr.decode()] if "--dry-run" in words else [done.stdout.decode(), done.stderr.decode()]  # a patch is bytes
    for text in streams:
        assert odd(text) == set(), sorted(map(ascii, odd(text)))


def strings(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Each string of a document with the key that it stands under."""
    if isinstance(value, str):
        yield key, value
    for name, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from strings(part, name if isinstance(name, str) else key)


@pytest.mark.parametrize(("form", "keys"), [("sarif", {"text"}), ("gitlab", {"description"}), ("rdjson", {"message"})])
def test_what_other_programs_show_people_is_told_in_plain_letters(
    forged: Path, graphfix: Run, environment: dict[str, str], form: str, keys: set[str]
) -> None:
    told = json.loads(graphfix("check", "--output-format", form, ".", env=environment).stdout)
    messages = [text for key, text in strings(told) if key in keys and "al` keeps the graph" in text]
    assert messages
    assert set().union(*map(odd, messages)) == set()


def test_a_diff_on_a_terminal_shows_what_is_hidden_and_a_patch_keeps_it(forged: Path, graphfix: Run, environment: dict[str, str]) -> None:
    shown = graphfix("diff", "--color", "always", "a.py", env=environment).stdout.decode()
    assert odd(shown) == {"\x1b"} and "\\U000e0061" in shown
    patch = graphfix("diff", "a.py", env=environment).stdout
    assert HIDDEN.encode() in patch
    assert subprocess.run(["git", "apply"], cwd=forged, input=patch, check=False).returncode == 0


@pytest.mark.parametrize("form", ["json", "jsonl", "sarif", "gitlab", "rdjson", "junit"])
def test_documents_are_whole_and_name_the_files_that_are_there(
    forged: Path, graphfix: Run, environment: dict[str, str], form: str
) -> None:
    text = graphfix("check", "--output-format", form, ".", env=environment).stdout.decode()
    if form == "junit":
        assert len(list(ElementTree.fromstring(text).iter("testcase"))) >= 4
    elif form == "jsonl":
        assert len([json.loads(line) for line in text.splitlines()]) >= 4
    else:
        json.loads(text)


def test_each_command_to_github_is_ours(forged: Path, graphfix: Run, environment: dict[str, str]) -> None:
    done = graphfix("check", "--output-format", "github", ".", env=environment)
    lines = done.stdout.decode().splitlines()
    assert len(lines) == len(done.stdout.decode().split("\n")) - 1
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in lines), lines
    told = json.loads(graphfix("check", "--output-format", "json", ".", env=environment).stdout)
    findings = told["findings"] if isinstance(told, dict) else told
    assert len(lines) >= len(findings) >= 4
    for line in lines:
        properties = dict(one.split("=", 1) for one in line.split("::", 2)[1].partition(" ")[2].split(","))
        assert set(properties) <= {"title", "file", "line", "col", "endLine", "endColumn"}
        assert properties["file"] in ("a.py", "broken.py") or properties["file"].endswith("x.py")
        assert properties["line"].isdigit()
