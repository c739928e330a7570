"""No text sends anybody to a name on a package index that is not the project's."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphfix.installation import command, revision

ROOT = Path(__file__).parents[2]
FOLDERS = ("src/graphfix", "cli", "codemods", "docs", "scripts")
BARE = re.compile(r"(?:pip|pipx|uv tool) install (?:-\S+ )*[\"']?graphfix(?!\[?\w*\]? @ git\+)|uvx graphfix")


def test_no_text_names_it_bare() -> None:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".md", ".json")]
    files += [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "action.yml", ".pre-commit-hooks.yaml")]
    assert len(files) > 300
    assert [str(path) for path in files if BARE.search(path.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    ("install", "extra", "wanted"),
    [
        ("", "", 'pip install "graphfix @ git+https://github.com/graphfix/graphfix"'),
        ("", "lsp", 'pip install "graphfix[lsp] @ git+https://github.com/graphfix/graphfix"'),
        (
            "uv tool install graphfix --index https://in.house/graphfix",
            "",
            "uv tool install graphfix --index https://in.house/graphfix",
        ),
        ("pip install git+https://in.house/graphfix", "lsp", "pip install git+https://in.house/graphfix with its extra 'lsp'"),
    ],
)
def test_the_command(install: str, extra: str, wanted: str) -> None:
    assert command(install, extra) == wanted


COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        (f'{{"url": "https://x", "vcs_info": {{"vcs": "git", "commit_id": "{COMMIT}"}}}}', f"@{COMMIT}"),
        ('{"url": "https://x", "vcs_info": {"vcs": "git", "commit_id": "main; rm -rf /"}}', ""),
        ('{"url": "file:///x", "dir_info": {"editable": true}}', ""),
        ("[]", ""),
        ("{", ""),
        (None, ""),
    ],
)
def test_the_commit_that_is_installed_is_named(told: str | None, wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: SimpleNamespace(read_text=lambda file: told))
    assert revision() == wanted
