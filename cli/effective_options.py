"""The command line on top of the settings files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from graphfix.cli import session
from graphfix.cli.options import Options, OutputFormat
from graphfix.run.selection import UnknownCode, parse_codes
from graphfix.settings.errors import SettingsError
from graphfix.settings.resolver import Resolver

# what a command's parameters are called, and the settings that they take the place of
_CODES = {"select": "select", "extend_select": "extend-select", "ignore": "ignore"}
_PLAIN = {
    "baseline": "baseline",
    "force_exclude": "force-exclude",
    "jobs": "jobs",
    "output_format": "output-format",
    "report_unused_suppressions": "report-unused-suppressions",
    "unsafe_fixes": "unsafe-fixes",
}


def settled(given: dict[str, Any]) -> Options:
    """The options that a command's parameters `given` make, with what the settings for the working directory say."""
    resolver = resolved(given)
    paths = tuple(given.get("paths") or ["."])
    if "" in paths:
        # `Path("")` is the working directory: an unset variable of a script must not have all of it repaired
        session.fail("a path is empty; . is the working directory")
    stdin_filename: Path | None = given.get("stdin_filename")
    if "-" in paths and stdin_filename is not None:
        here = Path(os.path.abspath(stdin_filename)).parent
    else:
        here = Path(os.path.abspath(os.curdir))
    try:
        values = resolver.whole_run(here)
    except SettingsError as error:
        session.fail(str(error))
    return Options(
        paths,
        unsafe=values["unsafe-fixes"],
        stdin_filename=stdin_filename,
        jobs=values["jobs"],
        quiet=given.get("quiet", False),
        verbose=given.get("verbose", False),
        form=OutputFormat(values["output-format"]),
        output_file=given.get("output_file"),
        statistics=given.get("statistics", False),
        force_exclude=values["force-exclude"],
        baseline=Path(values["baseline"]) if values["baseline"] else None,
        strict=values["report-unused-suppressions"],
        settings=resolver,
    )


def resolved(given: dict[str, Any]) -> Resolver:
    """Where the settings come from; anything wrong with a code or the file that is named is a usage error."""
    config, isolated = given.get("config"), bool(given.get("isolated"))
    if config is not None and isolated:
        session.fail("--config cannot be given together with --isolated")
    try:
        overrides = _overrides(given)
        fixed = None
        if config is not None:
            from graphfix.settings.files import load, shortest

            fixed = load(shortest(config), Path(os.path.abspath(os.curdir)))
    except (SettingsError, UnknownCode) as error:
        session.fail(str(error))
    return Resolver(overrides, fixed, isolated)


def _patterns(texts: list[str]) -> list[str]:
    from graphfix.settings.kinds import WrongValue, check_pattern

    patterns = [word for text in texts for word in text.split(",") if word]
    try:
        for pattern in patterns:
            check_pattern(pattern)
    except WrongValue as error:
        session.fail(f"--extend-exclude: {error}")
    return patterns


def _overrides(given: dict[str, Any]) -> dict[str, object]:
    overrides: dict[str, object] = {}
    for parameter, name in _CODES.items():
        if given.get(parameter):
            from graphfix.codemods import RULES

            overrides[name] = list(parse_codes(given[parameter], [rule.code for rule in RULES]))
    if given.get("extend_exclude"):
        overrides["extend-exclude"] = _patterns(given["extend_exclude"])
    for parameter, name in _PLAIN.items():
        value = given.get(parameter)
        if value is not None:
            overrides[name] = value.value if isinstance(value, OutputFormat) else value
    return overrides


def words_of(given: dict[str, Any]) -> tuple[str, ...]:
    """The options among a command's parameters that decide what is repaired, as they would be typed again."""
    words: list[str] = []
    for name in ("select", "extend_select", "ignore", "extend_exclude", "baseline", "config", "verify"):
        value = given.get(name)
        for one in value if isinstance(value, list) else [value] if value is not None else []:
            words += [f"--{name.replace('_', '-')}", str(one)]
    for name in ("unsafe_fixes", "force_exclude", "isolated"):
        if given.get(name) is not None and given[name] is not False:
            words.append(f"--{name.replace('_', '-')}")
    return tuple(words)
