"""Which findings the user wants to hear of, and which fixes may be applied."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from graphfix.interpreter.conventions import NO_CONVENTIONS, Conventions
from graphfix.lazy_dataclass import dataclass
from graphfix.model import Applicability, Finding, Fix
from graphfix.run.precedence import told_once
from graphfix.run.suppression import suppressions
from graphfix.source.quote import is_word, quoted

# a code or the beginning of one, the word for all of them, or a name
CODE_PATTERN = "^([Gg]([Ff][0-9]{0,3})?|[Aa][Ll][Ll]|[A-Za-z]+(-[A-Za-z]+)+)$"
ALL, EVERY = "ALL", "GF"  # the word, and the prefix that it stands for
NO_NAMES: Mapping[str, str] = {}


class UnknownCode(Exception):
    """A code or name that no rule has."""


def every(finding: Finding) -> bool:
    """That each finding counts."""
    return True


@dataclass(frozen=True)
class Wanted:
    """Codes or prefixes to select (empty: all) and to ignore, and whether unsafe fixes are wanted.

    `extend`: codes selected on top of the others; `never`: codes ignored however long the prefixes that select them are.
    `conventions`: what the project says of its own code.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    unsafe: bool = False
    extend: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    conventions: Conventions = NO_CONVENTIONS

    def selects(self, code: str) -> bool:
        """Whether findings of the rule `code` are wanted; the longer prefix wins over the shorter."""
        if code.startswith(self.never):
            return False
        chosen = max((len(prefix) for prefix in (*self.select, *self.extend) if code.startswith(prefix)), default=-1)
        dropped = max((len(prefix) for prefix in self.ignore if code.startswith(prefix)), default=-1)
        if self.select and chosen < 0:
            return False
        return dropped < 0 or chosen > dropped

    def names(self, code: str) -> bool:
        """Whether the rule `code` was selected on purpose, by its code or by a prefix."""
        return code.startswith(self.select + self.extend) and self.selects(code)

    def shows(self, finding: Finding) -> bool:
        """Whether `finding` counts: an optional one has to be asked for."""
        return self.names(finding.code) if finding.optional else self.selects(finding.code)

    def counts(self, text: str) -> Callable[[Finding], bool]:
        """Which findings of `text` are worth a proof: a comment that silences what is not wanted is needed all the same."""
        return every if suppressions(text).rows else self.shows

    def visible(self, text: str, findings: Iterable[Finding]) -> list[Finding]:
        """The selected findings of `text` that no comment silences, in the order of the text.

        One fault is one finding: what a selected finding tells better is left out, also where a comment silences that one.
        """
        chosen = told_once([finding for finding in findings if self.shows(finding)], self.selects)
        if chosen:
            silenced = suppressions(text)
            chosen = [finding for finding in chosen if not silenced.silences(finding)]
        return sorted(chosen, key=lambda finding: (finding.span, finding.code, finding.message))

    def applies(self, fix: Fix | None) -> bool:
        """Whether `fix` is applied without a further question."""
        if fix is None or not fix.operations:
            return False
        if fix.applicability is Applicability.UNSAFE:
            return self.unsafe
        return fix.applicability is Applicability.SAFE


def parse_codes(texts: Sequence[str], known: Sequence[str], names: Mapping[str, str] = NO_NAMES) -> tuple[str, ...]:
    """The codes and prefixes that stand in comma-separated `texts`, or are meant there by `ALL` or by one of the rules' `names`.

    `UnknownCode` for what no rule has.
    """
    words = [word for text in texts for word in re.split(r"[,\s]+", text) if word]
    codes = []
    for word in words:
        code = EVERY if word.upper() == ALL else names.get(word.lower(), word.upper())
        if not any(rule.startswith(code) for rule in known):
            raise UnknownCode(unknown(word, known, names))
        codes.append(code)
    return tuple(codes)


def exact_code(word: str, known: Sequence[str], names: Mapping[str, str] = NO_NAMES) -> str:
    """The one rule code that `word` is, or that the rule of that name has; `UnknownCode` for anything else."""
    code = names.get(word.lower(), word.upper())
    if code not in known:
        raise UnknownCode(unknown(word, known, names))
    return code


def unknown(word: str, known: Sequence[str], names: Mapping[str, str] = NO_NAMES) -> str:
    """What is wrong with a `word` that is none of the `known` codes and none of the `names`, and what was perhaps meant."""
    if not is_word(word):
        return f"unknown rule code {quoted(word)}"
    near = difflib.get_close_matches(word.upper(), known, n=len(known) or 1, cutoff=0.5)
    # the family, which the first digit tells, is seldom what was mistyped
    near.sort(key=lambda code: -len(os.path.commonprefix([code, word.upper()])))
    kind = "rule code"
    if names and not re.search("[0-9]", word):
        kind, near = "rule", difflib.get_close_matches(word.lower(), [*names, ALL.lower()], n=1, cutoff=0.5)
    hint = f", did you mean {near[0] if near[0] != ALL.lower() else ALL}?" if near else ""
    return f"unknown {kind} {word!r}{hint}"
