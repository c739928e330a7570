"""The command line on top of the settings files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from graphfix.cli import session
from graphfix.cli.options import DECLARED, Options
from graphfix.run.selection import UnknownCode, parse_codes
from graphfix.settings.errors import SettingsError
from graphfix.settings.resolver import Resolver

# the options that take the place of a setting, and its name
_SETTINGS: dict[str, str] = {name: one.metadata["setting"] for name, one in DECLARED.items() if one.metadata["setting"]}


def settled(options: Options) -> Options:
    """The same options, with what the settings for the working directory say where nothing was typed."""
    resolver = resolved(options)
    if "" in options.places:
        # `Path("")` is the working directory: an unset variable of a script must not have all of it repaired
        session.fail("a path is empty; . is the working directory")
    if options.stdin_filename is not None and not options.stdin:
        session.fail("--stdin-filename is the name of standard input; it cannot be given together with other paths")
    here = Path(os.path.abspath(os.curdir))
    if options.stdin and options.stdin_filename is not None:
        here = Path(os.path.abspath(options.stdin_filename)).parent
    try:
        values = resolver.whole_run(here)
    except SettingsError as error:
        session.fail(str(error))
    held = {name: values[setting] for name, setting in _SETTINGS.items() if setting in values}
    return replace(options, **held, settings=resolver, reproduce=_typed_again(options), typed=options)


def resolved(options: Options) -> Resolver:
    """Where the settings come from; anything wrong with a code or the file that is named is a usage error."""
    if options.config is not None and options.isolated:
        session.fail("--config cannot be given together with --isolated")
    if options.config is not None and not os.path.lexists(options.config):
        session.fail(f"--config: no such file: {options.config}")
    try:
        overrides = dict(_overrides(options))
        fixed = None
        if options.config is not None:
            from graphfix.settings.files import load, shortest

            fixed = load(shortest(options.config), Path(os.path.abspath(os.curdir)))
    except (SettingsError, UnknownCode) as error:
        session.fail(str(error))
    return Resolver(overrides, fixed, options.isolated)


def _overrides(options: Options) -> Iterator[tuple[str, object]]:
    """The settings whose place was taken at the command line."""
    for name, setting in _SETTINGS.items():
        value = getattr(options, name)
        if isinstance(value, list):
            if value:
                yield setting, _patterns(value) if setting == "extend-exclude" else _codes(value)
        elif value is not None:
            yield setting, value


def _codes(texts: list[str]) -> list[str]:
    from graphfix.codemods import CODES, NAMES

    return list(parse_codes(texts, CODES, NAMES))


def _patterns(texts: list[str]) -> list[str]:
    from graphfix.settings.kinds import WrongValue, check_patterns

    patterns = [word for text in texts for word in text.split(",") if word]
    try:
        check_patterns(patterns)
    except WrongValue as error:
        session.fail(f"--extend-exclude: {error}")
    return patterns


def _typed_again(options: Options) -> tuple[str, ...]:
    """The options that decide what is repaired, as they would be typed to make the same again: values first, then flags."""
    words: list[str] = []
    flags: list[str] = []
    for name in (name for name, one in DECLARED.items() if one.metadata["again"]):
        value, flag = getattr(options, name), f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            flags += [flag] * value
        else:
            for text in value if isinstance(value, list) else [] if value is None else [value]:
                words += [flag, str(text)]
    return (*words, *flags)
