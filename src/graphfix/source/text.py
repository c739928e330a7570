"""One decoded file."""

from __future__ import annotations

from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphfix.lazy_dataclass import dataclass
from graphfix.source.lines import NEWLINE, LineIndex

if TYPE_CHECKING:
    from graphfix.model import Finding

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Source:
    """One decoded file. `text` has no byte order mark and keeps its newlines as they are.

    `left_out`: parts that are not in it, such as a notebook's cells that do not parse, each with the reason.
    """

    path: Path
    text: str
    encoding: str = "utf-8"
    bom: bool = False
    data: bytes = field(default=b"", repr=False)
    left_out: tuple[str, ...] = ()

    @property
    def newline(self) -> str:
        """The newline that most lines end with (`\\n` for a file of one line)."""
        counts: dict[str, int] = {}
        for found in NEWLINE.findall(self.text):
            counts[found] = counts.get(found, 0) + 1
        return max(counts, key=lambda style: counts[style], default="\n")

    def encode(self, text: str) -> bytes:
        """The bytes of the file if it held `text`."""
        return (BOM if self.bom else b"") + text.encode(self.encoding)

    def edited(self, text: str) -> Source:
        """The file once it holds `text`, or what comes to the same."""
        return replace(self, text=text, data=self.encode(text))

    def index(self) -> LineIndex:
        """The lines as the user counts them."""
        return LineIndex(self.text)

    def confined(self, text: str, findings: list[Finding]) -> list[Finding]:
        """The findings in `text` without those fixes that this kind of file has no room for."""
        return findings
