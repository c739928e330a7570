"""Real paths of the many files of a run: each folder is looked at once, and not once more for each file and folder below it."""

from __future__ import annotations

import os

_folders: dict[str, str] = {}


def forget() -> None:
    """Look anew: another run begins."""
    _folders.clear()


def real_path(path: str | os.PathLike[str]) -> str:
    """What `os.path.realpath` says, by the links that the folders above the file were when the run first met them.

    For what is named and read; who writes asks the system.
    """
    folder, name = os.path.split(os.path.join(os.getcwd(), path))
    if not name or os.name == "nt" or folder.startswith("//") or {"..", "."} & {name, *folder.split("/")}:
        return os.path.realpath(path)
    whole = os.path.join(_real_folder(folder), name)
    return os.path.realpath(whole) if os.path.islink(whole) else whole


def _real_folder(folder: str) -> str:
    """The real path of an absolute folder, found from the nearest one above it that is known."""
    below: list[str] = []
    place = folder
    while place not in _folders and place != os.path.dirname(place):
        below.append(place)
        place = os.path.dirname(place)
    real = _folders.setdefault(place, place)
    for place in reversed(below):
        whole = os.path.join(real, os.path.basename(place))
        real = _folders[place] = os.path.realpath(whole) if os.path.islink(whole) else whole
    return real
