"""The forms in which findings are written: one module each, loaded once it is asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """`module` has `lines(view)`. `plain`: nothing else may be on the stream; `edits`: it tells the edits of each fix."""

    module: str
    plain: bool = True
    edits: bool = False


FORMS: dict[str, Form] = {
    "text": Form("text", plain=False),
    "concise": Form("concise", plain=False),
    "json": Form("jsonform", edits=True),
}
