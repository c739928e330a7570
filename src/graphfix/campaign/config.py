"""`campaign.toml`: which repositories, what is repaired in them, how it is offered, and within which limits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from graphfix.lazy_dataclass import dataclass
from graphfix.settings.errors import SettingsError
from graphfix.settings.kinds import Choice, Codes, Count, Flag, Kind, KnownCodes, Text, WrongValue, did_you_mean
from graphfix.settings.lines import row_of
from graphfix.settings.toml import BadToml, loads
from graphfix.source.errors import SourceError
from graphfix.source.quote import quoted
from graphfix.source.reading import read_bytes

NAME = "campaign.toml"
MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class Strings:
    """A list of strings that are not empty."""

    def check(self, value: object, known: KnownCodes) -> None:
        if not isinstance(value, list) or not all(isinstance(each, str) and each.strip() for each in value):
            raise WrongValue("must be a list of strings")


@dataclass(frozen=True)
class Key:
    """One setting of a table, with what it is when nothing is said, and a word on it for a new file."""

    name: str
    kind: Kind | Strings
    default: object
    about: str


TABLES: Mapping[str, tuple[Key, ...]] = {
    "targets": (
        Key("folders", Strings(), [], "repositories on this machine, work trees or bare"),
        Key("urls", Strings(), [], "addresses to clone from"),
        Key("file", Text(), "", "a file with one address a line, relative to this one"),
        Key("organisation", Text(), "", "all repositories of an organisation or group of the forge"),
        Key("search", Text(), "", "repositories that a search of the forge finds, such as 'topic:pytorch language:python'"),
        Key("host", Text(), "github.com", "the host of the forge"),
        Key("forge", Choice(("", "github", "gitlab")), "", "what runs on a host whose name does not show it (github or gitlab)"),
    ),
    "repair": (
        Key("select", Codes(), [], "only these rules, by code, prefix or name, or ALL"),
        Key("ignore", Codes(), [], "not these rules"),
        Key("unsafe-fixes", Flag(), False, "also fixes that may change what the program computes"),
        Key("check", Text(), "", "run this in a copy with the fixes; make no branch if it fails"),
        Key("verify", Text(), "", "keep only fixes with which this command still runs and computes the same"),
        Key("timeout", Count(), 600, "time limit of each of these runs, in seconds"),
    ),
    "offer": (
        Key("branch", Text(), "graphfix/autograd", "the branch to make"),
        Key("base", Text(), "", "the branch to merge into; by default the one that a clone checks out"),
        Key("title", Text(), "", "title of the pull requests; by default made from what they fix"),
        Key("draft", Flag(), False, "open them as drafts"),
        Key("mention-owners", Flag(), False, "mention the owners of the changed files (CODEOWNERS) in the text"),
        Key("remote", Text(), "origin", "where branches are pushed"),
    ),
    "limits": (
        Key("workers", Count(), 2, "repositories at a time"),
        Key("open", Count(), 20, "most pull requests that are open at once; 0 for no limit"),
        Key("a-day", Count(), 10, "most pull requests that are opened in 24 hours; 0 for no limit"),
        Key("depth", Count(), 0, "commits to clone; 0 for all of them"),
        Key("minutes", Count(), 60, "time limit of one stage of one repository, in minutes"),
    ),
}


@dataclass(frozen=True)
class Config:
    """A checked `campaign.toml`; `values` has each setting by its table and name."""

    folder: Path
    values: Mapping[tuple[str, str], object]

    def text(self, table: str, name: str) -> str:
        return str(self.values[table, name])

    def number(self, table: str, name: str) -> int:
        value = self.values[table, name]
        assert isinstance(value, int)
        return value

    def flag(self, table: str, name: str) -> bool:
        return bool(self.values[table, name])

    def words(self, table: str, name: str) -> list[str]:
        value = self.values[table, name]
        assert isinstance(value, list)
        return [str(each) for each in value]


def load(folder: Path) -> Config:
    """The configuration of the campaign in `folder`; `SettingsError` names file and row of what is wrong."""
    path = folder / NAME
    try:
        text = read_bytes(path, MAX_BYTES).decode("utf-8-sig").replace("\r\n", "\n")
    except SourceError as error:
        raise SettingsError(path, 0, f"cannot be read: {error.reason}; graphfix campaign init {folder} writes one") from error
    except UnicodeDecodeError as error:
        raise SettingsError(path, error.object[: error.start].count(b"\n") + 1, "not valid utf-8") from error
    try:
        document = loads(text)
    except BadToml as error:
        raise SettingsError(path, error.row, f"not valid TOML: {error}") from error
    values = {(table, key.name): key.default for table, keys in TABLES.items() for key in keys}
    for table, held in document.items():
        if table not in TABLES:
            raise SettingsError(path, row_of(text, (table,)), f"unknown table [{table}]{did_you_mean(table, tuple(TABLES))}")
        if not isinstance(held, dict):
            raise SettingsError(path, row_of(text, (table,)), f"{table} must be a table")
        values |= {(table, name): _checked(path, text, table, name, value) for name, value in held.items()}
    return Config(folder, values)


def _checked(path: Path, text: str, table: str, name: str, value: object) -> object:
    key = next((key for key in TABLES[table] if key.name == name), None)
    row = row_of(text, (table, name))
    if key is None:
        hint = did_you_mean(name.replace("_", "-").lower(), tuple(each.name for each in TABLES[table]))
        raise SettingsError(path, row, f"unknown setting {quoted(name)} in [{table}]{hint}")
    try:
        key.kind.check(value, KnownCodes())
    except WrongValue as error:
        raise SettingsError(path, row, f"{name}: {error}") from error
    return value


def blank() -> str:
    """A new file: every setting with its default and what it is for."""
    lines = ["# graphfix campaign: which repositories, what to fix in them, how to offer it, and the limits."]
    for table, keys in TABLES.items():
        lines += ["", f"[{table}]"]
        for key in keys:
            lines += [f"# {key.about}", f"{key.name} = {_spelled(key.default)}"]
    return "\n".join(lines) + "\n"


def _spelled(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)
