"""Packs the fixtures into one archive of the wheel. Everything else about the package is in pyproject.toml."""

from __future__ import annotations

import zipfile
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

FIXTURES = Path(__file__).parent / "fixtures"
ARCHIVE = "graphfix/verify/fixtures.zip"  # `graphfix.verify.cases.bundled` unpacks it
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the first time that an archive can hold: two wheels of one tree are the same


class BuildWithFixtures(build_py):
    """Builds the modules, and the archive unless the package is installed as editable: then the folder itself is used."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            pack(Path(self.build_lib) / ARCHIVE)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        own = [] if self.editable_mode else [str(Path(self.build_lib) / ARCHIVE)]
        return [*super().get_outputs(include_bytecode), *own]


def pack(archive: Path) -> None:
    """Write all scripts and expectations of the fixtures, in order, into `archive`."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(each for each in FIXTURES.rglob("*") if each.suffix in (".py", ".toml")):
            entry = zipfile.ZipInfo(path.relative_to(FIXTURES).as_posix(), EARLIEST)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            packed.writestr(entry, path.read_bytes())


setup(cmdclass={"build_py": BuildWithFixtures})
