"""Finds the settings that hold for each folder: those of the nearest file, looked for once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfix.lazy_dataclass import dataclass
from graphfix.settings.errors import SettingsError
from graphfix.settings.scope import Scope

if TYPE_CHECKING:
    from graphfix.settings.effective import Given, Setting
    from graphfix.settings.files import Loaded

# the values of a run without any file: known here, so that such a run need not load the table of settings
DEFAULTS: dict[str, Any] = {
    "force-exclude": False,
    "baseline": "",
    "report-unused-suppressions": False,
    "unsafe-fixes": False,
    "output-format": "text",
    "jobs": 0,
    "install": "",
}


@dataclass
class Resolver:
    """`given` is what the command line says; `fixed` holds everywhere instead of what lies next to the files.

    `broken`: folders that were left out because their settings file is wrong.
    """

    given: Given = field(default_factory=dict)
    fixed: Loaded | None = None
    isolated: bool = False
    broken: dict[Path, SettingsError] = field(default_factory=dict)
    _files: dict[Path, Loaded | None] = field(default_factory=dict)
    _scopes: dict[Loaded | None, Scope] = field(default_factory=dict)

    def file_of(self, folder: Path) -> Loaded | None:
        """The settings file for what lies in `folder`."""
        if self.isolated or self.fixed is not None:
            return self.fixed
        folder = Path(os.path.abspath(folder))
        passed: list[Path] = []
        found: Loaded | None = None
        place = folder  # one after the other: all that lie above would be made for each folder of a deep tree
        while place not in self._files:
            passed.append(place)
            path = _settings_in(place)
            if path is not None:
                from graphfix.settings.files import load, shortest

                found = load(shortest(path))
                break
            if place == place.parent:
                break
            place = place.parent
        else:
            found = self._files[place]
        self._files.update(dict.fromkeys(passed, found))
        return found

    def settings_of(self, folder: Path) -> dict[str, Setting]:
        """Every setting for what lies in `folder`, with its origin."""
        from graphfix.settings.effective import effective

        return effective(self.file_of(folder), self.given)

    def whole_run(self, folder: Path) -> dict[str, Any]:
        """The values that hold for a whole run from `folder`, by name."""
        if self.file_of(folder) is None:
            return DEFAULTS | {name: value for name, value in self.given.items() if name in DEFAULTS}
        settings = self.settings_of(folder)
        values: dict[str, Any] = {name: setting.value for name, setting in settings.items() if setting.key.whole}
        for layer, named in settings["baseline"].parts[-1:]:
            if layer is not None and named:
                from graphfix.settings.files import shortest

                values["baseline"] = str(shortest(layer.folder / str(named)))
        return values

    def scope_of(self, folder: Path) -> Scope:
        """What the settings mean for the files in `folder`."""
        loaded = self.file_of(folder)
        if loaded not in self._scopes:
            self._scopes[loaded] = self._scope(folder) if loaded is not None or self.given else Scope()
        return self._scopes[loaded]

    def _scope(self, folder: Path) -> Scope:
        from graphfix.settings.scope import scope_of

        return scope_of(self.settings_of(folder), Path(os.path.abspath(os.curdir)))

    def deprecated(self) -> list[str]:
        """A line for each setting in the files that were read so far which is written in another way today."""
        files = {self.fixed, *self._files.values()} - {None}
        if not files:
            return []
        from graphfix.settings.effective import effective
        from graphfix.settings.rows import deprecated

        return sorted({line for loaded in files for line in deprecated(effective(loaded, {}))})

    def excludes(self, path: Path, is_folder: bool) -> bool:
        """Whether settings leave the file or folder at `path` out; a folder whose own settings are wrong is, and is noted."""
        scope = self.scope_of(path.parent)
        if scope.exclude and scope.excludes(path, folder=is_folder):
            return True
        if is_folder:
            try:
                self.file_of(path)
            except SettingsError as error:
                self.broken[path] = error
        return path in self.broken

    def accepts(self, path: Path) -> bool:
        """Whether it is accepted that the file at `path` cannot be read."""
        return self.scope_of(path.parent).accepts(path)

    def scopes(self, files: Iterable[Path]) -> dict[Path | None, Scope]:
        """The settings that hold for `files`, by the folder from which on they hold; None stands for all others."""
        made: dict[Path | None, Scope] = {}
        for folder in dict.fromkeys(file.parent for file in files):
            loaded = self.file_of(folder)
            if loaded is None or loaded is self.fixed:
                made[None] = self.scope_of(folder)
            else:
                made[Path(os.path.abspath(loaded.path)).parent] = self.scope_of(folder)
        return made


def _settings_in(folder: Path) -> Path | None:
    # asked for every folder of a tree: two looks, and nothing imported where there is nothing
    if not (os.path.lexists(folder / "graphfix.toml") or os.path.lexists(folder / "pyproject.toml")):
        return None
    from graphfix.settings.files import found_in

    return found_in(folder)
