"""What a setting may hold: each kind checks a value and describes itself in JSON schema."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Protocol

from graphfix.interpreter.conventions import NAME_PATTERN
from graphfix.lazy_dataclass import dataclass
from graphfix.run.selection import CODE_PATTERN, UnknownCode, parse_codes
from graphfix.source.quote import cut, is_word, quoted

Schema = dict[str, object]
COMMAND = "[ -~]{0,300}"
NAMES = {bool: "a boolean", str: "a string", int: "a whole number", float: "a number", list: "a list", dict: "a table"}


class WrongValue(Exception):
    """A value that the key does not take, and why."""


@dataclass(frozen=True)
class Text:
    """A string."""

    def check(self, value: object, known: KnownCodes) -> None:
        expect(value, str)

    def schema(self) -> Schema:
        return {"type": "string"}


@dataclass(frozen=True)
class Command:
    """A line that texts show as what to type; graphfix never runs it."""

    def check(self, value: object, known: KnownCodes) -> None:
        expect(value, str)
        if re.fullmatch(COMMAND, str(value)) is None:
            raise WrongValue("must be one line of at most 300 printable characters of ASCII")

    def schema(self) -> Schema:
        return {"type": "string", "pattern": f"^{COMMAND}$"}


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def check(self, value: object, known: KnownCodes) -> None:
        expect(value, bool)

    def schema(self) -> Schema:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Count:
    """A whole number from 0 on."""

    def check(self, value: object, known: KnownCodes) -> None:
        expect(value, int)
        if isinstance(value, int) and value < 0:
            raise WrongValue(f"must not be negative, is {cut(value)}")

    def schema(self) -> Schema:
        return {"type": "integer", "minimum": 0}


@dataclass(frozen=True)
class Choice:
    """One of several words."""

    words: tuple[str, ...]

    def check(self, value: object, known: KnownCodes) -> None:
        expect(value, str)
        if value not in self.words:
            raise WrongValue(f"must be one of {', '.join(self.words)}, is {quoted(value)}{did_you_mean(str(value), self.words)}")

    def schema(self) -> Schema:
        return {"type": "string", "enum": list(self.words)}


@dataclass(frozen=True)
class Patterns:
    """A list of patterns as in .gitignore."""

    def check(self, value: object, known: KnownCodes) -> None:
        check_patterns(_strings(value))

    def schema(self) -> Schema:
        return {"type": "array", "items": {"type": "string"}}


@dataclass(frozen=True)
class Names:
    """A list of names of functions, with or without the module that they are imported from."""

    def check(self, value: object, known: KnownCodes) -> None:
        for name in _strings(value):
            if re.match(NAME_PATTERN, name) is None:
                raise WrongValue(f"must hold names of functions such as 'mylib.losses.focal', holds {quoted(name)}")

    def schema(self) -> Schema:
        return {"type": "array", "items": {"type": "string", "pattern": NAME_PATTERN}}


@dataclass(frozen=True)
class Codes:
    """A list of rule codes, prefixes of them, names of rules, or ALL."""

    def check(self, value: object, known: KnownCodes) -> None:
        for word in _strings(value):
            try:
                if len(parse_codes([word], known(), known.names())) != 1:
                    raise WrongValue(f"must hold one code in each string, holds {quoted(word)}")
            except UnknownCode as error:
                raise WrongValue(str(error)) from error

    def schema(self) -> Schema:
        return {"type": "array", "items": {"type": "string", "pattern": CODE_PATTERN}}


@dataclass(frozen=True)
class CodesByPattern:
    """A table from file patterns to lists of codes."""

    def check(self, value: object, known: KnownCodes) -> None:
        expect(value, dict)
        assert isinstance(value, dict)
        for pattern, codes in value.items():
            check_patterns([pattern.removeprefix("!")])
            try:
                Codes().check(codes, known)
            except WrongValue as error:
                raise WrongValue(f"{quoted(pattern)}: {error}") from error

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": Codes().schema()}


class KnownCodes:
    """The codes of all rules, loaded once one is asked for."""

    def __call__(self) -> list[str]:
        from graphfix.codemods import RULES

        return [rule.code for rule in RULES]

    def names(self) -> dict[str, str]:
        """The code of each rule by its name."""
        from graphfix.codemods import NAMES

        return NAMES


class Kind(Protocol):
    """What a setting may hold."""

    def check(self, value: object, known: KnownCodes) -> None:
        """Raise `WrongValue` where it does not hold that."""

    def schema(self) -> Schema:
        """The same as JSON schema."""


def codes_of(words: Iterable[str]) -> tuple[str, ...]:
    """The codes and prefixes that checked `words` are, or mean by a name."""
    known = KnownCodes()
    return tuple(code for word in words for code in parse_codes([word], known(), known.names()))


def check_patterns(patterns: Iterable[str]) -> None:
    """Raise `WrongValue` for what is no pattern of .gitignore."""
    from graphfix.files.gitignore import matcher

    for pattern in matcher(tuple(patterns)).wrong:
        raise WrongValue(f"{quoted(pattern)} is not a pattern of .gitignore")


def did_you_mean(word: str, known: tuple[str, ...]) -> str:
    """A hint at the known word that looks most like `word`, or nothing."""
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6) if is_word(word) else []
    return f", did you mean {near[0]!r}?" if near else ""


def _strings(value: object) -> list[str]:
    expect(value, list)
    assert isinstance(value, list)
    for item in value:
        if not isinstance(item, str):
            raise WrongValue(f"must be a list of strings, holds {_named(item)}")
    return value


def expect(value: object, wanted: type) -> None:
    # a boolean is an integer to Python, not to TOML
    if type(value) is not wanted:
        raise WrongValue(f"must be {NAMES[wanted]}, is {_named(value)}")


def _named(value: object) -> str:
    return NAMES.get(type(value), "a date or time")
