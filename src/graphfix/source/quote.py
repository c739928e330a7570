"""What somebody wrote, as messages show it."""

from __future__ import annotations

LONGEST = 80  # characters


def quoted(text: object) -> str:
    """`text` in quotes, as far as `cut` leaves it."""
    return repr(cut(text))


def cut(text: object) -> str:
    """`text`, or the beginning and the end of a long one."""
    shown = str(text)
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 20]}...{shown[-17:]}"


def is_word(text: str) -> bool:
    """Whether `text` is short enough to be a misspelt name."""
    return len(text) <= LONGEST


def short(text: str, limit: int = 40) -> str:
    """Source text for a message: one line, not long."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."
