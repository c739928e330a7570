"""The start page: short, with commands that are those of CI and outputs and pictures that are what graphfix says."""

from __future__ import annotations

import html
import os
import re
import subprocess
from pathlib import Path

import pytest

from graphfix.cli.app import COMMANDS
from graphfix.cli.options import DECLARED
from graphfix.report.forms import FORMS
from graphfix.settings.keys import KEYS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
PICTURES = ("docs/pictures/finding.svg", "docs/pictures/live_nodes.svg")
DRAWN = ROOT / "fixtures/GF301-sequential-backward/summed_pair"  # what scripts/draw_pictures.py shows of the first


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def said(command: str, folder: Path, *words: str) -> tuple[int, str]:
    """What graphfix says there, the summary included."""
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100"}
    done = subprocess.run(
        [command, *words, "--isolated"], cwd=folder, capture_output=True, text=True, timeout=600, env=environment
    )
    return done.returncode, done.stdout


def test_ci_runs_the_test_command_of_the_readme_and_then_the_rest() -> None:
    commands = re.findall(r"^python3 -m venv .*$", README, re.MULTILINE)
    script = (ROOT / ".ci/run").read_text("utf-8")
    assert len(commands) == 2
    assert script.splitlines()[-2:] == [commands[1], ".venv/bin/python -m pytest -q -m deep"]
    assert os.access(ROOT / ".ci/run", os.X_OK)


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 120


def test_it_begins_with_the_error() -> None:
    _, _, body = README.partition("\n")
    assert body.startswith("\n```\nRuntimeError: Trying to backward through the graph a second time")


def test_the_findings_are_those_of_the_example(command: str) -> None:
    code, output = said(command, ROOT / "docs/example", "check", "train.py")
    assert (code, f"```\n{output}```\n" in README) == (1, True), output


def test_the_patch_is_that_of_the_example(command: str) -> None:
    code, output = said(command, ROOT / "docs/example", "diff", "train.py")
    assert (code, f"```diff\n{output}```\n" in README) == (1, True), output


def test_there_are_two_pictures_and_they_are_small() -> None:
    assert re.findall(r"!\[[^\]]{20,}\]\(([^)]*)\)", README) == list(PICTURES)
    assert [name for name in PICTURES if (ROOT / name).stat().st_size > 200_000] == []


def test_pictures_load_nothing() -> None:
    for name in PICTURES:
        assert not re.search(r"(href|src|url)\s*[=(]\s*[\"']?(?!#)(https?:|//)", (ROOT / name).read_text("utf-8")), name


def test_the_pictured_finding_is_what_is_said_today(command: str) -> None:
    """If not: python scripts/draw_pictures.py."""
    drawn = (ROOT / PICTURES[0]).read_text("utf-8")
    texts = [html.unescape(text) for text in re.findall(r'<text class="finding-r[^>]*>([^<]*)</text>', drawn)]
    shown = "".join(texts).replace("\xa0", " ").split()
    code, output = said(command, DRAWN, "check", "before.py")
    assert (code, shown) == (1, f"$ graphfix check before.py {output}".split())


@pytest.mark.parametrize("name", [one.name for one in COMMANDS])
def test_every_command_has_its_line(name: str) -> None:
    assert re.search(rf"^\| `graphfix {name}[ `]", page("options.md"), re.MULTILINE)


def test_every_option_is_told() -> None:
    pages = "".join(
        page(name) for name in ("options.md", "verify.md", "trace.md", "pr.md", "campaign.md", "settings.md", "notebooks.md")
    )
    typed = [one.metadata["typed"] for one in DECLARED.values()]
    # typer takes the first flag for the default
    words = [word for one in typed for word in (one.default, *(getattr(one, "param_decls", None) or ())) if isinstance(word, str)]
    flags = {word.partition("/")[0] for word in words if word.startswith("--")}
    assert "--select" in flags
    assert sorted(flag for flag in flags if not re.search(rf"(?<![\w-]){flag}(?![\w-])", pages)) == []


def test_every_setting_and_every_format_has_its_row() -> None:
    rows = "".join(re.findall(r"^\| (.*?) \|", page("settings.md"), re.MULTILINE))
    assert [key.name for key in KEYS if f"`{key.name}`" not in rows] == []
    assert re.findall(r"^\| `(\w+)` \|", page("formats.md").partition("\n## ")[0], re.MULTILINE) == list(FORMS)
