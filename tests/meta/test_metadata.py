"""What the package says of itself, as far as it can be checked without building it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

import graphfix
from graphfix.model import PAGE

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
HOME = PAGE.partition("/blob/")[0]
FILE = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT: dict[str, Any] = FILE["project"]
TOOL: dict[str, Any] = FILE["tool"]["setuptools"]
MANIFEST = (ROOT / "MANIFEST.in").read_text("utf-8")


def test_the_version_is_that_of_the_code() -> None:
    assert PROJECT["version"] == graphfix.__version__


def test_the_licence_is_named_and_there() -> None:
    assert (PROJECT["license"], PROJECT["license-files"]) == ("MIT", ["LICENSE"])
    assert (ROOT / "LICENSE").read_text("utf-8").startswith("MIT License")


def test_the_licence_is_named_once() -> None:
    """Packagers refuse a classifier beside the expression."""
    assert [one for one in PROJECT["classifiers"] if one.startswith("License")] == []


def test_urls_are_those_of_the_rule_pages() -> None:
    urls = PROJECT["urls"]
    assert {"Homepage", "Documentation", "Changelog", "Issues", "Source"} <= urls.keys()
    assert [url for url in urls.values() if url != HOME and not url.startswith(f"{HOME}/")] == []


def test_urls_into_the_tree_lead_somewhere() -> None:
    named = [match[1] for url in PROJECT["urls"].values() if (match := re.search(r"/(?:blob|tree)/main/(.*)", url))]
    assert named and [name for name in named if not (ROOT / name).exists()] == []


def test_it_says_that_it_has_types_and_has_the_mark() -> None:
    assert "Typing :: Typed" in PROJECT["classifiers"]
    assert "py.typed" in TOOL["package-data"]["graphfix"]
    assert (ROOT / "src/graphfix/py.typed").is_file()


def test_who_searches_finds_it() -> None:
    assert {"pytorch", "autograd"} <= set(PROJECT["keywords"])
    assert PROJECT["readme"] == "README.md"


def folder_of(package: str) -> Path:
    """Where the sources of a package lie."""
    places: dict[str, str] = TOOL["package-dir"]
    top = max((name for name in places if package == name or package.startswith(f"{name}.")), key=len)
    return ROOT / places[top] / package[len(top) + 1 :].replace(".", "/")


def test_the_listed_packages_are_those_that_are_there() -> None:
    listed = set(TOOL["packages"])
    assert [package for package in listed if not folder_of(package).is_dir()] == []
    folders = [path.parent for path in (ROOT / "src").rglob("__init__.py") if not path.parent.is_symlink()]
    assert {".".join(folder.relative_to(ROOT / "src").parts) for folder in folders} <= listed


@pytest.mark.parametrize("folder", ["tests", "fixtures", "docs", "scripts", "benchmarks", "src", "cli", "codemods", ".ci"])
def test_the_source_distribution_takes_whole_folders(folder: str) -> None:
    assert (ROOT / folder).is_dir()
    assert re.search(rf"^graft {re.escape(folder)}$", MANIFEST, re.MULTILINE)


def test_the_source_distribution_takes_files_that_are_there() -> None:
    named = [name for line in re.findall(r"^include (.*)$", MANIFEST, re.MULTILINE) for name in line.split()]
    assert {"CHANGELOG.md", "constraints.txt"} <= set(named)
    assert [name for name in named if not (ROOT / name).is_file()] == []
