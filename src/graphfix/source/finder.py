"""Which file of the project an import means."""

from __future__ import annotations

import functools
import os
from pathlib import Path

# Names that a repository shadows more often by accident than by intent
NEVER = frozenset(("torch", "numpy", "os", "sys", "math", "random", "typing", "collections", "tqdm"))


class Finder:
    """Finds the files that programs import. `path`: where runs begin; `roots`: folders that the project may be imported from."""

    def __init__(self, path: Path, roots: tuple[Path, ...]) -> None:
        self.path = path
        self.roots = roots

    def find(self, name: str, importing: Path) -> Path | None:
        """The file that the dotted `name` means in the file `importing`; None where it is none of the project."""
        level = len(name) - len(name.lstrip("."))
        parts = [part for part in name.lstrip(".").split(".") if part]
        if level:
            folder = importing.parent
            for _ in range(level - 1):
                folder = folder.parent
            return module_file(folder, tuple(parts))
        for folder in search_path(importing.parent, self.path.parent, self.roots):
            found = module_file(folder, tuple(parts))
            if found is not None and found != importing:
                return found
        return None


@functools.lru_cache(maxsize=4000)
def search_path(importing: Path, started: Path, roots: tuple[Path, ...]) -> tuple[Path, ...]:
    """The folders out of which a file in `importing` imports where one in `started` is run, of a project below `roots`."""
    folders = [importing, started]
    for root in roots:
        folder = started
        while folder != root and root in folder.parents:
            folder = folder.parent
            folders.append(folder)
        if os.path.isdir(root):
            folders.extend((root, root / "src"))
    return tuple(dict.fromkeys(folders))


@functools.lru_cache(maxsize=4000)
def module_file(folder: Path, parts: tuple[str, ...]) -> Path | None:
    """The file that holds the module of these names below a folder."""
    base = folder.joinpath(*parts)
    for candidate in (base.with_suffix(".py") if parts else None, base / "__init__.py"):
        if candidate is not None and os.path.isfile(candidate) and not os.path.islink(candidate):
            return candidate
    return None
