"""What is done with each of many files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from graphfix.lazy_dataclass import dataclass
from graphfix.run.examine import Job

Made = TypeVar("Made")


@dataclass(frozen=True)
class Task(Generic[Made]):
    """What a worker does with one file (or given bytes in its stead), and what comes of a file that took its worker down."""

    make: Callable[[Path, Job, bytes | None], Made]
    lost: Callable[[Path], Made]
