"""`graphfix config`: the settings that hold for a path, and where each comes from; or what is known of a function."""

from __future__ import annotations

import json
import os
from pathlib import Path

from graphfix.cli import session
from graphfix.cli.choices import ListFormat
from graphfix.cli.effective_options import resolved
from graphfix.cli.exits import OK
from graphfix.cli.options import Options
from graphfix.cli.rows import show
from graphfix.cli.terminal import OUT, quiet_pipe
from graphfix.effects.spelling import on_one_line
from graphfix.report.escape import escaped
from graphfix.settings.effective import Setting
from graphfix.settings.errors import SettingsError
from graphfix.settings.keys import KEYS, schema
from graphfix.settings.resolver import Resolver
from graphfix.settings.rows import ROWS, placed_tables


def run(options: Options) -> int:
    """Print the settings, or the schema of all settings."""
    with quiet_pipe():
        if options.schema:
            OUT.raw(_schema())
            return OK
        resolver = resolved(options)
        try:
            settings = _settings(resolver, options.path)
            listed = [(setting, _origins(setting)) for setting in settings]
        except SettingsError as error:
            session.fail(str(error))
        if not options.quiet:
            session.warn(resolver)
        if options.row:
            return show(options.row, {setting.key.name: setting for setting in settings}, options.settings_format)
        if options.settings_format is ListFormat.JSON:
            OUT.raw(json.dumps({s.key.name: {"value": s.value, "origin": origin} for s, origin in listed}, indent=2))
            return OK
        words = [line for setting, origins in listed for line in _lines(setting, origins)]
        width = min(max(len(text) for text, _ in words), 60)
        for text, origin in words:
            OUT.raw(escaped(f"{text:<{width}}  # {origin}"))
    return OK


def _lines(setting: Setting, origins: list[str]) -> list[tuple[str, str]]:
    """What is shown of a setting, with its origin: each row of functions stands on a line of its own."""
    if setting.key.name == ROWS and setting.parts:
        return [(on_one_line(table), origin) for table, origin in zip(setting.value, origins, strict=True)]  # type: ignore[call-overload]
    old = f"; deprecated, write {ROWS}" if setting.key.deprecated and setting.parts else ""
    return [(f"{setting.key.name} = {_toml(setting.value)}", ", ".join(origins) + old)]


def _schema() -> str:
    return json.dumps(schema(), indent=2)


def _settings(resolver: Resolver, path: str) -> list[Setting]:
    if not os.path.lexists(path):
        session.fail(f"no such file or folder: {path}")
    place = Path(path)
    near = resolver.settings_of(place if os.path.isdir(place) else place.parent)
    whole = resolver.settings_of(Path(os.curdir))
    return [(whole if key.whole else near)[key.name] for key in KEYS if key.name != "extend"]


def _origins(setting: Setting) -> list[str]:
    """`file:row` of each place that the value is from."""
    if not setting.parts:
        return ["default"]
    if setting.key.name == ROWS:
        return [origin for _, origin in placed_tables(setting)]
    return [
        f"{layer.path}:{layer.row(setting.key.name)}" if layer is not None else "command line" for layer, value in setting.parts
    ]


def _toml(value: object) -> str:
    """A value as it would stand in a file: JSON says it alike but for tables."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {_toml(item)}" for name, item in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)
