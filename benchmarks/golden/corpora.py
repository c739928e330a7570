"""The programs of which the golden file tells: corpora in the repository, and folders that are given."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.golden.recording import PARTS, Program

REPOSITORY = Path(__file__).parents[2]
LIST = "corpora.json"
SUFFIXES = (".py", ".ipynb")
ROOMS = ("codemods", "interpreter", "obligations", "repair", "analysis", "autograd")
SEEDS = (0, 10_000)  # of the first program of each series
SERIES = 100
LINES = 600  # of a file that is too large for the budget of its runs


class BadCorpus(Exception):
    """A corpus that is not there, or has no programs."""


@dataclass(frozen=True)
class Corpus:
    """A folder of programs: one project, or each folder in it is `apart`, a project of its own. `parts`: what its golden file tells of."""

    name: str
    path: Path
    apart: bool = False
    parts: frozenset[str] = frozenset(PARTS)

    def programs(self) -> list[Program]:
        """All files, in the order of their names."""
        if not self.path.is_dir():
            raise BadCorpus(f"{self.name}: there is no folder {self.path}")
        files = (
            each for each in self.path.rglob("*") if each.suffix in SUFFIXES and each.is_file() and not hidden(each, self.path)
        )
        found = [Program(each.relative_to(self.path).as_posix(), each, self.root_of(each)) for each in files]
        if not found:
            raise BadCorpus(f"{self.name}: there is no program in {self.path}")
        return sorted(found, key=lambda program: program.name)

    def root_of(self, file: Path) -> Path:
        folders = file.relative_to(self.path).parts[:-1]
        return self.path / folders[0] if self.apart and folders else self.path


def hidden(file: Path, below: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(below).parts)


def own(folder: Path) -> dict[str, Corpus]:
    """The corpora of the repository; what is not kept there as files is written into `folder`."""
    made = folder / "programs"
    return {
        "fixtures": Corpus("fixtures", REPOSITORY / "fixtures", apart=True),
        "tests": Corpus("tests", made / "tests", apart=True),
        "generated": Corpus("generated", made / "generated", apart=True),
    }


def write_own(folder: Path, names: Iterable[str]) -> None:
    """Write the programs of these corpora, as far as they are not there: a golden file is about the same programs each time."""
    for name in names:
        corpus = own(folder)[name]
        if not corpus.path.exists():
            {"tests": write_tests, "generated": write_generated}[name](corpus.path)


def write_tests(folder: Path) -> None:
    """The programs of the tests: run those tests, and keep what they have analysed."""
    rooms = [f"tests/{room}" for room in ROOMS]
    words = ("-q", "-p", "benchmarks.golden.collecting", "--programs", str(folder.absolute()), *rooms)
    subprocess.run((sys.executable, "-m", "pytest", *words), cwd=REPOSITORY, stdout=subprocess.DEVNULL, check=False)
    leave_out_repeated(folder)


def leave_out_repeated(folder: Path) -> None:
    """Remove the projects that are the same as one before them."""
    seen: set[tuple[tuple[str, bytes], ...]] = set()
    for project in sorted(folder.iterdir()) if folder.is_dir() else ():
        files = sorted(each for each in project.rglob("*") if each.is_file())
        content = tuple((each.relative_to(project).as_posix(), each.read_bytes()) for each in files)
        if content in seen:
            shutil.rmtree(project)
        seen.add(content)


def write_generated(folder: Path) -> None:
    from benchmarks.generated.programs import program
    from benchmarks.sources import deep, ordinary, wide

    texts = {f"{seed:06d}": program(seed) for first in SEEDS for seed in range(first, first + SERIES)}
    for name, text in {**texts, "ordinary": ordinary(), "deep": deep(LINES), "wide": wide()}.items():
        place = folder / name / "train.py"
        place.parent.mkdir(parents=True)
        place.write_text(text, "utf-8")


def listed(folder: Path) -> dict[str, Corpus]:
    """The corpora of which `folder` has golden files."""
    if not (folder / LIST).is_file():
        raise BadCorpus(f"there is no golden file in {folder}")
    inside = own(folder)
    found = {}
    for name, each in json.loads((folder / LIST).read_text("utf-8")).items():
        corpus = inside.get(name, Corpus(name, Path(each["path"]), each["apart"]))
        found[name] = replace(corpus, parts=frozenset(each["parts"]))
    return found


def enlist(folder: Path, corpora: Iterable[Corpus]) -> None:
    """Add these to the list of `folder`."""
    place = folder / LIST
    known = json.loads(place.read_text("utf-8")) if place.is_file() else {}
    known |= {
        each.name: {"path": str(each.path.absolute()), "apart": each.apart, "parts": sorted(each.parts)} for each in corpora
    }
    place.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", "utf-8")


def given(words: Iterable[str], *, apart: bool) -> Iterator[Corpus]:
    """The corpora that are named as NAME=PATH."""
    for word in words:
        name, equals, path = word.partition("=")
        if not (name and equals and path) or "/" in name:
            raise BadCorpus(f"{word!r} is not NAME=PATH")
        yield Corpus(name, Path(path), apart)


def chosen_from(corpora: dict[str, Corpus], names: Sequence[str]) -> list[Corpus]:
    """Those of the corpora that have these names; all of them without any."""
    unknown = [name for name in names if name not in corpora]
    if unknown:
        raise BadCorpus(f"there is no corpus {unknown[0]}; there are {', '.join(corpora)}")
    return [corpus for name, corpus in corpora.items() if not names or name in names]
