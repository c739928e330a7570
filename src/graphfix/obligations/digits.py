"""What a program does with the digits of a number that it has computed and written into a text: the last of them differ in 64 bits."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.flow import library
from graphfix.analysis.flow.flow import Flow
from graphfix.analysis.flow.places import ITSELF, Place, Use
from graphfix.effects.rows import row_of
from graphfix.effects.schema import Returns
from graphfix.lazy_dataclass import dataclass

TEXTS = "builtins.str"
WHOLE = ("int", "Decimal", "decimal.Decimal")


@dataclass(eq=False)
class Digits:
    """Asks the flow of one file."""

    flow: Flow

    def matter(self, text: ast.AST) -> bool:
        """Whether the program goes by a text, or by one that is put together of it, and does not only show it."""
        seen: set[ast.AST] = set()
        pending = [text]
        while pending:
            text = self.whole(pending.pop())
            if text in seen:
                continue
            seen.add(text)
            for place, part in self.flow.graph.reach([text], made=False).places:
                for use in self.flow.graph.uses.get(place, ()):
                    if goes_by(use, place, part is ITSELF):
                        return True
                    pending.extend(self.texts_made(use))
        return False

    def whole(self, text: ast.AST) -> ast.AST:
        """The text that a text is spelled as a part of."""
        above = self.flow.paths.parents.get(text)
        while isinstance(above, (ast.BinOp, ast.JoinedStr, ast.FormattedValue)):
            text, above = above, self.flow.paths.parents.get(above)
        return text

    def texts_made(self, use: Use) -> Iterator[ast.AST]:
        """The text that a use makes of another one: `line.rjust(8)`, `"".join(lines)`, `f"{line}!"`, `report += line`."""
        above = self.flow.paths.parents.get(use.site)
        if use.how in ("text", "arithmetic"):
            yield use.site
        elif use.how == "attribute" and isinstance(above, ast.Call) and above.func is use.site:
            yield above
        elif use.how == "argument" and any(row.returns is Returns.TEXT for row in library.rows_named(use.name)):
            yield use.site


def goes_by(use: Use, place: Place, itself: bool) -> bool:
    """Whether a use looks at the digits of a text: it takes it apart, compares it, makes it a key, the name of a file, or a number of all of it.

    `itself`: it is given the text, and not what holds it.
    """
    if use.how in ("hash", "key", "comparison"):
        return use.how != "key" or itself
    if not itself:
        row = row_of(use.name) if use.how == "argument" else None
        return row is not None and row.hashes
    rows = library.rows_named(use.name)
    if use.how == "attribute":
        return not any(row.of_class == TEXTS and row.returns is Returns.TEXT for row in rows)
    if use.how != "argument":
        return use.how == "subscript"
    is_key = isinstance(use.site, ast.Call) and use.site.args[:1] == [place] and any(row.keyed for row in rows)
    return is_key or use.name in WHOLE or any(row.rough or row.draws or row.paths for row in rows)
