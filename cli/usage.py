"""Help in groups: of commands by what they are for, of options by what they are about. Rich, which typer would use, is not loaded for it."""

from __future__ import annotations

from typing import Any

import typer.core

from graphfix.cli.options import PANELS

_OTHERS = "Options"


class GroupedCommand(typer.core.TyperCommand):
    """Its usage line has the arguments as they are declared: versions of typer put one more pair of brackets around them."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        arguments = [one.metavar or "" for one in self.params if one.param_type_name == "argument"]
        return [self.options_metavar or "", *arguments]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write_parameters(self, ctx, formatter)


class GroupedCommands(typer.core.TyperGroup):
    """All commands, below the headings that they have as their help panels."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        rows: dict[str, list[tuple[str, str]]] = {}
        width = formatter.width - 6 - max(len(name) for name in self.commands)
        for name, command in self.commands.items():
            rows.setdefault(getattr(command, "rich_help_panel", None) or "", []).append((name, command.get_short_help_str(width)))
        longest = max(len(name) for name in self.commands)
        for heading, listed in rows.items():
            with formatter.section(heading):
                # all names are padded alike, so that the texts of all groups stand in one column
                formatter.write_dl([(f"{name:<{longest}}", text) for name, text in listed])
        _write_parameters(self, ctx, formatter)


def _write_parameters(command: Any, ctx: Any, formatter: Any) -> None:
    rows: dict[str, list[tuple[str, str]]] = {}
    for one in command.get_params(ctx):
        record = one.get_help_record(ctx)
        if record is not None:
            if one.param_type_name == "argument":  # versions of typer write its type behind it
                record = (one.metavar or record[0], record[1])
            panel = getattr(one, "rich_help_panel", None) if one.param_type_name == "option" else "Arguments"
            rows.setdefault(panel or _OTHERS, []).append(record)
    for heading in ("Arguments", *PANELS, _OTHERS):
        if heading in rows:
            with formatter.section(heading):
                formatter.write_dl(rows[heading])
