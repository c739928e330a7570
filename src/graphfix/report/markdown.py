"""Markdown as a terminal shows it, in colours that can be read on black and on white."""

from __future__ import annotations

import io

from pygments.token import Comment, Keyword, Name, Number, Operator, String, Token  # type: ignore[import-untyped]
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown
from rich.style import Style
from rich.syntax import ANSISyntaxTheme
from rich.theme import Theme

WIDEST = 100  # a longer line of prose is hard to read
# no background, nothing dim, no yellow, no plain blue: each is lost on black or on white
_THEME = Theme(
    {
        "markdown.code": "bold",
        "markdown.code_block": "none",
        "markdown.h1": "bold",
        "markdown.h2": "bold bright_blue",
        "markdown.item.bullet": "bold",
        "markdown.item.number": "bold",
        "markdown.link": "bright_blue underline",
        "markdown.link_url": "bright_blue underline",
    }
)
_CODE = ANSISyntaxTheme(
    {
        Token: Style(),
        Comment: Style(italic=True),
        Keyword: Style(color="bright_blue", bold=True),
        Operator.Word: Style(color="bright_blue", bold=True),
        Name.Decorator: Style(color="magenta"),
        Number: Style(color="magenta"),
        String: Style(color="green"),
    }
)


class _Heading(Heading):
    """A heading at the left, where the text is."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class _Page(Markdown):
    elements = {**Markdown.elements, "heading_open": _Heading}


def rendered(markdown: str, columns: int, *, colour: bool) -> str:
    """`markdown` as lines of at most `columns` cells."""
    written = io.StringIO()
    console = Console(
        file=written,
        width=min(columns, WIDEST),
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=False,
        theme=_THEME,
        highlight=False,
        legacy_windows=False,
    )
    console.print(_Page(markdown, code_theme=_CODE, hyperlinks=False))  # type: ignore[arg-type]
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines()) + "\n"
