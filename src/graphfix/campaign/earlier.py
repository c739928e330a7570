"""Findings of earlier runs, as SARIF or JSON: which repositories they lie in, and which rules found them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from graphfix.source.errors import SourceError
from graphfix.source.reading import STATE_BYTES, read_json


class NotFindings(Exception):
    """A file that holds no findings, and why."""


def repositories_of(files: Iterable[Path]) -> dict[str, set[str]]:
    """The codes that were found in each repository, by its folder; raises `NotFindings`.

    Names of files are taken as they stand, or below the folder of the file of findings.
    """
    found: dict[str, set[str]] = {}
    for file in files:
        try:
            held = read_json(file, STATE_BYTES)
        except SourceError as error:
            raise NotFindings(f"{file}: {error.reason}") from error
        for name, code in _places(file, held):
            top = _top_of(file.parent / name)
            if top is None:
                raise NotFindings(f"{file}: {name} is not in a git repository on this machine")
            found.setdefault(str(top), set()).add(code)
    return found


def _places(file: Path, held: Any) -> Iterator[tuple[str, str]]:
    try:
        if isinstance(held, list):
            yield from ((each["filename"], each["code"]) for each in held)
            return
        for run in held["runs"]:
            for result in run["results"]:
                place = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
                yield unquote(urlsplit(place).path if place.startswith("file:") else place), result["ruleId"]
    except (KeyError, TypeError, IndexError) as error:
        raise NotFindings(f"{file}: neither SARIF nor graphfix's JSON") from error


def _top_of(path: Path) -> Path | None:
    real = path.resolve()
    return next((folder for folder in real.parents if (folder / ".git").exists()), None)
