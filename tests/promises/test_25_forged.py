"""Promise 25: neither names nor sources can forge what is told: no control characters, no lines of others, valid documents."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from graphfix.report.forms import FORMS

Run = Callable[..., subprocess.CompletedProcess[bytes]]
# ends a line or a command, colours, turns the direction, ends a document
EVIL = "\x1b[2J\x1b]0;t\x07\x9b31m\u202e\u2028\x08%0A::error file=y.py::]]></x>&\"'`##vso[task.complete]"
ALLOWED = {"\n", "\t"}


@pytest.fixture
def forged(tmp_path: Path, loops: SimpleNamespace) -> Path:
    """The same evil in a name, in the line of a finding, and in the name of a variable's neighbour."""
    text = loops.both.replace("    total += loss", f"    total += loss  # {EVIL}")
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
        odd = {char for char in text if not char.isprintable()} - ALLOWED
        assert odd == set(), sorted(map(ascii, odd))


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
