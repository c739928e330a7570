"""What the folder of fixtures holds: faults with their repairs, faults that are told only, and right code."""

from __future__ import annotations

import atexit
import enum
import shutil
import tempfile
import zipfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import graphfix
from graphfix.lazy_dataclass import dataclass


class Kind(str, enum.Enum):
    """What is expected of a case."""

    PAIR = "pair"  # before.py shows a fault, after.py is its repair
    TOLD = "told"  # before.py shows a fault that is told and never repaired
    TRAP = "trap"  # right code that looks like a fault


@dataclass(frozen=True)
class Case:
    """One folder with before.py (and after.py), or one file of right code."""

    path: Path
    kind: Kind

    @property
    def code(self) -> str:
        return self.path.parent.name.partition("-")[0]

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def key(self) -> str:
        return f"{self.code}/{self.name}"

    @property
    def unsafe(self) -> bool:
        """Whether the repair has to be asked for."""
        return self.name.removeprefix("optional_").startswith("unsafe_")

    @property
    def optional(self) -> bool:
        """Whether the finding has to be asked for: old code that works."""
        return self.name.startswith("optional_")

    @property
    def select(self) -> tuple[str, ...]:
        """The codes that a run names to see the finding."""
        return (self.code,) if self.optional else ()

    @property
    def before(self) -> Path:
        return self.path if self.kind is Kind.TRAP else self.path / "before.py"

    @property
    def after(self) -> Path:
        return self.path / "after.py"

    @property
    def expected(self) -> Path:
        """Where a pair says what its results are measured by, if they are not by what its rule says."""
        return self.path / "expected.toml"


@cache
def bundled() -> Path:
    """The folder of the fixtures that came with this graphfix.

    That of a checkout, or what the archive of an installed package holds: it is unpacked into a temporary folder, which is removed when
    the process ends.
    """
    package = Path(graphfix.__file__).parent
    archive = package / "verify" / "fixtures.zip"  # setup.py packs it
    if not archive.is_file():
        return package.parents[1] / "fixtures"
    folder = tempfile.mkdtemp(prefix="graphfix-fixtures-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    return Path(folder)


def cases_in(folder: Path) -> list[Case]:
    """All cases of a folder of fixtures, in order."""
    pairs = {path.parent for path in folder.glob("*/*/after.py")}
    told = {path.parent for path in folder.glob("*/*/before.py")} - pairs
    found = [Case(path, Kind.PAIR) for path in pairs]
    found += [Case(path, Kind.TOLD) for path in told]
    found += [Case(path, Kind.TRAP) for path in folder.glob("*/ok_*.py")]
    return sorted(found, key=lambda case: (case.path.parent.name, case.kind is Kind.TRAP, case.name))


def chosen(cases: Iterable[Case], codes: tuple[str, ...] = (), names: tuple[str, ...] = ()) -> list[Case]:
    """The cases of the rules whose codes start with one of `codes`, called one of `names`; empty: all."""
    return [
        case
        for case in cases
        if (not codes or case.code.startswith(codes)) and (not names or case.name in names or case.key in names)
    ]
