"""The forms in which findings are written: one module each, loaded once it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from graphfix.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from graphfix.report.text import Line
    from graphfix.report.view import View


@dataclass(frozen=True)
class Form:
    """`module` has `lines(view)`.

    `plain`: nothing else may be on the stream; `edits`: it tells the edits of each fix; `rules`: it lists all rules.
    """

    module: str
    plain: bool = True
    edits: bool = False
    rules: bool = False

    def lines(self, view: View) -> Iterator[Line]:
        """The findings of a run in this form."""
        lines: Iterator[Line] = import_module(f"graphfix.report.{self.module}").lines(view)
        return lines


FORMS: dict[str, Form] = {
    "text": Form("text", plain=False, edits=True),
    "concise": Form("concise", plain=False),
    "json": Form("jsonform", edits=True),
    "jsonl": Form("jsonlines", edits=True),
    "sarif": Form("sarif", edits=True, rules=True),
    "github": Form("github"),
    "gitlab": Form("gitlab"),
    "junit": Form("junit"),
    "rdjson": Form("rdjson", edits=True),
}
