"""Whose code a frame is: the user's, or that of a library, whose name the path tells."""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphfix.why.errors import Frame

_PACKAGES = re.compile(r"(?:^|/)(?:site|dist)-packages/(?P<name>[^/]+)")
# torch where it is not installed among the packages: built from source, or under another build system
_TORCH = re.compile(
    r"(?:^|/)torch/(?:_tensor\.py|autograd/|nn/modules/|nn/parallel/|optim/|_dynamo/|utils/|_inductor/|cuda/|jit/)"
    r"|\.\.\./(?:_tensor|autograd/(?:__init__|graph|function))\.py$"  # a path that somebody shortened
)
_PYTHON = re.compile(
    r"(?:^|/)lib/python\d(?:\.\d+)?/|(?:^|/)python\d*(?:\.\d+)?(?:/[\d.]+)?/lib/[^/]|\.zip/|(?:^|/)(?:Ana|mini)conda\d*/lib/",
    re.IGNORECASE,
)
_TOOLS = re.compile(r"pydevd|debugpy|/\.vscode|/_pytest/|(?:^|/)bin/[\w.-]+$|(?:^|/)runpy\.py$")


def owner(frame: Frame) -> str:
    """The library that a frame is in (`torch`, `lightning`, `python`), empty for the user's own code."""
    if frame.cell is not None:
        return ""
    path = frame.file.replace("\\", "/")
    package = _PACKAGES.search(path)
    if package is not None:
        return package["name"].removesuffix(".py")
    if path.startswith("<"):
        return "python"
    if _TORCH.search(path):
        return "torch"
    if _PYTHON.search(path):
        return "python"
    return "python" if _TOOLS.search(path) else ""


def users(frames: Sequence[Frame]) -> list[Frame]:
    """The frames in the user's own code, outermost first."""
    return [frame for frame in frames if not owner(frame)]


def below(frames: Sequence[Frame]) -> Frame | None:
    """The library frame right below the user's deepest one."""
    after: Frame | None = None
    for frame in reversed(frames):
        if not owner(frame):
            return after
        after = frame
    return None
