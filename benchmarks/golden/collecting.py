"""A pytest plugin that writes down each program that the tests analyse.

usage: python -m pytest -p benchmarks.golden.collecting --programs FOLDER TESTS

Each program becomes a folder of FOLDER, named by the test that has it analysed: its one file, or all files of its project.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from graphfix.analysis.explore import Explorer
from graphfix.rewrite import fixpoint

REPOSITORY = Path(__file__).parents[2]
MOST_FILES = 20  # of one project: a larger one is no program that a test has written
MOST_OF_A_TEST = 30  # programs: one that makes them up by the hundred repeats itself


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--programs", type=Path, required=True, metavar="FOLDER")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Collector(config.getoption("--programs")))


class Collector:
    """Notes what explorers are given, but not what repairs make of it on their way."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.test = ""
        self.numbers = itertools.count()
        self.seen: set[tuple[tuple[str, str], ...]] = set()
        self.repairing = 0
        self.watch_explorers()
        self.watch_repairs()

    def watch_explorers(self) -> None:
        begin = Explorer.__init__

        def noted(explorer: Explorer, document: Any, roots: tuple[Path, ...], *rest: Any) -> None:
            if not self.repairing:
                self.note(Path(document.path), document.text, roots)
            begin(explorer, document, roots, *rest)

        mock.patch.object(Explorer, "__init__", noted).start()

    def watch_repairs(self) -> None:
        repair = fixpoint.repair

        def watched(texts: Any, text: str, wanted: Any) -> Any:
            self.repairing += 1
            try:
                return repair(texts, text, wanted)
            finally:
                self.repairing -= 1

        mock.patch.object(fixpoint, "repair", watched).start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.test = item.nodeid
        self.numbers = itertools.count(1)
        return (yield)

    def note(self, path: Path, text: str, roots: tuple[Path, ...]) -> None:
        files = {**beside(path, roots), path.name if not path.is_absolute() else within(path, roots): text}
        key = tuple(sorted(files.items()))
        if key in self.seen or path.is_relative_to(REPOSITORY):
            return
        self.seen.add(key)
        number = next(self.numbers)
        if number <= MOST_OF_A_TEST:
            write(self.folder / f"{re.sub(r'[^A-Za-z0-9]+', '-', self.test.replace('.py', '')).strip('-')[:120]}-{number}", files)


def within(path: Path, roots: tuple[Path, ...]) -> str:
    return str(path.relative_to(roots[0])) if roots and path.is_relative_to(roots[0]) else path.name


def beside(path: Path, roots: tuple[Path, ...]) -> dict[str, str]:
    """The other files of the project, as far as it is on the disk and small."""
    if not roots or not path.is_absolute() or not path.is_file():
        return {}
    files = [each for each in sorted(roots[0].rglob("*.py")) if each.is_file()][: MOST_FILES + 1]
    if len(files) > MOST_FILES:
        return {}
    return {str(each.relative_to(roots[0])): each.read_bytes().decode("utf-8", "replace") for each in files}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode("utf-8", "surrogatepass"))
