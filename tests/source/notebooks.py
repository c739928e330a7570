"""Notebooks made up of cells, in the styles that programs write them."""

from __future__ import annotations

import json
from typing import Any

STYLES: dict[str, dict[str, Any]] = {
    "jupyter": {"indent": 1, "ensure_ascii": False},
    "four blanks": {"indent": 4},
    "tabs": {"indent": "\t", "ensure_ascii": False},
    "one line": {},
    "compact": {"separators": (",", ":"), "ensure_ascii": False},
    "sorted": {"indent": 1, "sort_keys": True},
}


def notebook(
    *cells: str | tuple[str, str], style: str = "jupyter", lines: bool = True, end: str = "\n", **metadata: object
) -> str:
    """The JSON text of a notebook; a cell is code, or a kind and a text. `lines`: sources are lists of lines."""
    made = []
    for number, cell in enumerate(cells):
        kind, source = cell if isinstance(cell, tuple) else ("code", cell)
        content: dict[str, object] = {"cell_type": kind, "id": f"é{number}", "metadata": {"z": 1.50, "a": [None, True]}}
        if kind == "code":
            png = {"image/png": "iVBORw0KGgo=\n", "text/plain": ["<b>\u2028'ü'</b>"]}
            content |= {"execution_count": number, "outputs": [{"data": png, "output_type": "display_data", "metadata": {}}]}
        made.append(content | {"source": source.splitlines(keepends=True) if lines else source})
    whole = {"cells": made, "metadata": metadata or {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, **STYLES[style]) + end
