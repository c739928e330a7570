"""What the papers name is there: files, folders, modules and what is in them, tests, and the promises that these prove."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAPERS = ("CONTRIBUTING.md", "docs/ARCHITECTURE.md", "docs/design.md", "docs/promises.md")
# a path of the tree, and perhaps something in that file
PLACE = re.compile(r"([\w.*-]+/)+([\w.*-]+)?(::\w+)?|\w+\.(md|toml)")
NAME = re.compile(r"graphfix(\.\w+)+")
STEPS = 10


def text(paper: str) -> str:
    return (ROOT / paper).read_text("utf-8")


def quoted(paper: str) -> list[str]:
    """What stands in backticks, outside of blocks of code."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text(paper), flags=re.DOTALL | re.MULTILINE))


def words(paper: str) -> set[str]:
    """The words of what stands in backticks: a command names files, too."""
    return {word for code in quoted(paper) for word in code.split()}


def defined(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def exists(place: str) -> bool:
    """Whether a file, a folder, or what `file::name` names in it is there."""
    path, _, name = place.partition("::")
    found = list(ROOT.glob(path.rstrip("/")))
    return bool(found) and (not name or name in defined(found[0]))


def resolves(name: str) -> bool:
    """Whether the dotted name is a module of graphfix, or something in one."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            if not hasattr(value, part):
                return False
            value = getattr(value, part)
        return True
    return False


@pytest.mark.parametrize("paper", PAPERS)
def test_places_exist(paper: str) -> None:
    named = [word for word in words(paper) if PLACE.fullmatch(word)]
    assert named or paper == "docs/design.md"
    assert [word for word in named if not exists(word)] == []


@pytest.mark.parametrize("paper", PAPERS)
def test_names_exist(paper: str) -> None:
    assert [word for word in words(paper) if NAME.fullmatch(word) and not resolves(word)] == []


@pytest.mark.parametrize("place", ["cli/gone.py", "tests/meta/test_papers.py::gone", "nowhere/"])
def test_what_is_not_there_would_be_seen(place: str) -> None:
    assert PLACE.fullmatch(place)
    assert not exists(place)


def test_a_name_that_is_not_there_would_be_seen() -> None:
    assert not resolves("graphfix.run.engine.gone")
    assert not resolves("graphfix.run.gone.analyse")
    assert resolves("graphfix.run.engine.analyse")


def promises() -> dict[int, str]:
    """Each promise's row by its number."""
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", text("docs/promises.md"), re.MULTILINE)
    return {int(number): row for number, row in rows}


def test_promises_are_numbered_through() -> None:
    assert list(promises()) == list(range(1, len(promises()) + 1))


def test_each_promise_names_its_proof_or_says_that_there_is_none() -> None:
    assert [number for number, row in promises().items() if "`tests/" not in row and "ot yet proven" not in row] == []


def test_each_test_of_a_promise_is_cited_where_it_belongs() -> None:
    """The number in the name of a file is that of the promise, and so are those in the first line of any test."""
    for path in (ROOT / "tests").rglob("test_*.py"):
        place = path.relative_to(ROOT).as_posix()
        numbers = [int(number) for number in re.findall(r"^test_(\d\d)_", path.name)]
        said = re.match(r'"""Promises? ([\d, and]+)', path.read_text("utf-8"))
        numbers += [int(number) for number in re.findall(r"\d+", said[1])] if said else []
        assert [number for number in numbers if f"`{place}" not in promises()[number]] == [], place


def recipes() -> dict[str, int]:
    """The number of steps of each recipe."""
    parts = re.split(r"^## (.*)$", text("CONTRIBUTING.md"), flags=re.MULTILINE)[1:]
    bodies = dict(zip(parts[::2], parts[1::2], strict=True))
    return {title: len(re.findall(r"^\d+\. ", body, re.MULTILINE)) for title, body in bodies.items() if title.startswith("A")}


def test_recipes_are_short_and_end_with_their_proof() -> None:
    assert list(recipes()) == ["A rule", "An error", "A function of torch", "A function or method of a library", "An output format", "A command-line option"]
    assert all(0 < steps <= STEPS for steps in recipes().values())
    assert text("CONTRIBUTING.md").count("The proof: `tests/") == len(recipes())


def test_the_readme_points_to_the_papers() -> None:
    assert all(f"]({paper})" in text("README.md") for paper in PAPERS)
