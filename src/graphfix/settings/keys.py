"""The one table of settings: it validates files, makes the JSON schema and the listing of `graphfix config`."""

from __future__ import annotations

from graphfix.interpreter.conventions import ACCUMULATE
from graphfix.lazy_dataclass import dataclass
from graphfix.report.forms import FORMS
from graphfix.settings.kinds import Choice, Codes, CodesByPattern, Command, Count, Flag, Kind, Names, Patterns, Schema, Text
from graphfix.settings.rows import BACKWARDS, ROWS, TENSORS, Rows


@dataclass(frozen=True)
class Key:
    """One setting. `adds`: a file's value is added to that of the file it extends.

    `whole`: it holds for a whole run, so the file for the working directory decides and not the one next to each file.
    `deprecated`: it is still read, and its users are told what to write instead.
    """

    name: str
    kind: Kind
    default: object
    about: str
    adds: bool = False
    whole: bool = False
    deprecated: bool = False


KEYS: tuple[Key, ...] = (
    Key("extend", Text(), "", "another settings file (relative to this one) that gives the values not set here"),
    Key("select", Codes(), [], "only these rules, by code, prefix or name, or ALL; optional findings must be selected by name"),
    Key("extend-select", Codes(), [], "also these rules, with their optional findings", adds=True),
    Key("ignore", Codes(), [], "not these rules, by code, prefix or name"),
    Key("extend-exclude", Patterns(), [], "files and folders to leave out, as patterns of .gitignore", adds=True),
    Key("force-exclude", Flag(), False, "skip excluded files even if they are named on the command line", whole=True),
    Key("per-file-ignores", CodesByPattern(), {}, "rules to ignore in files that match a pattern; ! negates a pattern"),
    Key(
        "accept-unreadable",
        Patterns(),
        [],
        "files that may have syntax errors: they are counted, but do not set exit code 2",
        adds=True,
    ),
    Key("baseline", Text(), "", "file of known findings to skip, as written by check --write-baseline FILE", whole=True),
    Key("report-unused-suppressions", Flag(), False, "check exits 1 if a suppression comment silences nothing", whole=True),
    Key("unsafe-fixes", Flag(), False, "also fixes that may change what the program computes", whole=True),
    Key(
        "accumulate",
        Choice(ACCUMULATE),
        "auto",
        "how a stored loss is cut: .item(), .detach(), or by what its readers need",
    ),
    Key("allow-rounding", Flag(), False, "take results for the same that may differ in the last digit, as those of LSTM under no_grad"),
    Key(ROWS, Rows(), [], "what functions and methods of libraries do that graphfix does not know", adds=True),
    Key(TENSORS, Names(), [], "deprecated, write rows: functions that return a tensor with the graph of their arguments", adds=True, deprecated=True),
    Key(BACKWARDS, Names(), [], "deprecated, write rows: functions that call backward() on their first argument", adds=True, deprecated=True),
    Key("output-format", Choice(tuple(FORMS)), "text", "output format of findings", whole=True),
    Key("jobs", Count(), 0, "processes; 0 for one per processor", whole=True),
    Key("install", Command(), "", "install command shown in pull requests; empty for installing from the repository", whole=True),
)
BY_NAME = {key.name: key for key in KEYS}


def schema() -> Schema:
    """The JSON schema of `graphfix.toml` and of `[tool.graphfix]`."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "https://github.com/graphfix/graphfix/blob/main/graphfix.schema.json",
        "title": "graphfix",
        "description": "Settings of graphfix, in graphfix.toml or in [tool.graphfix] of pyproject.toml",
        "type": "object",
        "additionalProperties": False,
        "properties": {key.name: _property(key) for key in KEYS},
    }


def _property(key: Key) -> Schema:
    default = {} if key.name == "extend" else {"default": key.default}
    old = {"deprecated": True} if key.deprecated else {}
    return {"description": key.about, **key.kind.schema(), **default, **old}
