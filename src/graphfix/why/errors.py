"""What is read of a traceback: frames, and the errors that they end in."""

from __future__ import annotations

from graphfix.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Frame:
    """One line of a traceback that names a place.

    `file`: the path as it was written, empty for a cell of a notebook. `cell`: the number in its prompt (`In[3]`).
    `row`: 0 where none was written. `code`: the source line that was shown, if one was.
    """

    file: str
    row: int
    function: str = ""
    code: str = ""
    cell: int | None = None


@dataclass(frozen=True)
class Trouble:
    """An error as it was printed. `frames`: outermost first. `made`: where the forward pass made the node at fault.

    `is_warning`: the program printed it and went on.
    """

    type: str
    message: str
    frames: tuple[Frame, ...] = ()
    made: tuple[Frame, ...] = ()
    is_warning: bool = False

    @property
    def headline(self) -> str:
        """Type and message in one line."""
        message = " ".join(self.message.split())
        return f"{self.type}: {message}" if self.type and message else self.type or message
