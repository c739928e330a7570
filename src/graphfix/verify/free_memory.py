"""How much memory a script may take: of what the machine, or the container around it, has left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
# the limit, what is taken, and the word for what could be given back: of both generations of control groups
_SECOND = ("memory.max", "memory.current", "inactive_file")
_FIRST = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def free_memory() -> int:
    """The bytes that are free; 0 where the system does not tell."""
    return min([*_of_the_machine(), *_of_the_groups()], default=0)


def _of_the_machine() -> Iterator[int]:
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                yield int(line.split()[1]) << 10


def _of_the_groups() -> Iterator[int]:
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, kinds, place = line.split(":", 2)
            if not kinds:
                yield from _upwards(GROUPS, place, _SECOND)
            elif "memory" in kinds.split(","):
                yield from _upwards(GROUPS / "memory", place, _FIRST)


def _upwards(top: Path, place: str, names: tuple[str, str, str]) -> Iterator[int]:
    """What each group from this one to the outermost has left. In a container they are all at the top."""
    folder = top / place.lstrip("/")
    for group in (folder, *folder.parents):
        if group.is_relative_to(top):
            with suppress(OSError, ValueError, IndexError):  # `max`: no limit
                limit, taken = (int((group / name).read_text()) for name in names[:2])
                rows = (line.split() for line in (group / "memory.stat").read_text().splitlines())
                yield limit - taken + sum(int(row[1]) for row in rows if row[0] == names[2])
