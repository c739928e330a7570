"""No text sends anybody to a name on a package index that is not the project's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphfix import __version__
from graphfix.installation import command

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
        ("", "", f'pip install "graphfix @ git+https://github.com/graphfix/graphfix@v{__version__}"'),
        ("", "lsp", f'pip install "graphfix[lsp] @ git+https://github.com/graphfix/graphfix@v{__version__}"'),
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
