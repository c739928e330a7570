"""The kinds of errors that autograd's graph leads to, and which of them a message is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# of the words of a kind's message, how many have to be among those that somebody typed from memory
_REMEMBERED = 0.7
_MIN_PART = 12


@dataclass(frozen=True)
class Way:
    """One way in which an error comes about. `change`: before and after, as the lines of a diff; `codes`: the rules that find it."""

    title: str
    codes: tuple[str, ...]
    change: str


@dataclass(frozen=True)
class Kind:
    """One error. `phrases`: what torch says, of whatever age, the present one first. `codes`: rules that explain it, likeliest first.

    `is_local`: the line that raises it is the one to change, or the one that made its tensor; `is_traced`: a traced run names that one.
    `stands`: a name in the changes of its ways, and the method of what it stands for.
    `brief`: what it means, in a sentence. `says`: the same at length. `repair`: what is to be done, in a sentence or two.
    """

    key: str
    title: str
    phrases: tuple[str, ...]
    codes: tuple[str, ...]
    brief: str
    says: str
    repair: str
    ways: tuple[Way, ...] = ()
    is_local: bool = False
    is_traced: bool = False
    stands: tuple[str, str] | None = None

    def is_meant(self, text: str) -> bool:
        """Whether `text` has a phrase of this error in it."""
        dense = _dense(text)
        return any(_dense(phrase) in dense for phrase in self.phrases)

    def is_remembered(self, words: str) -> bool:
        """Whether `words` are a part of what torch says, or most of its words in whatever order."""
        plain = _plain(words)
        if len(plain) >= _MIN_PART and any(plain in _plain(phrase) for phrase in self.phrases):
            return True
        given = set(re.findall(r"\w+", plain))
        return any(_share(given, set(re.findall(r"\w+", _plain(phrase)))) >= _REMEMBERED for phrase in self.phrases)


def kind_of(text: str) -> Kind | None:
    """The kind of the error with this message."""
    return next((kind for kind in all_kinds() if kind.is_meant(text)), None)


def kind_of_words(words: str) -> Kind | None:
    """The kind of error that somebody means who types `words`, exact or not."""
    return kind_of(words) or next((kind for kind in all_kinds() if kind.is_remembered(words)), None)


def all_kinds() -> Iterable[Kind]:
    """Every kind, the most frequent first."""
    from graphfix.why.graph_kinds import GRAPH_KINDS
    from graphfix.why.tensor_kinds import TENSOR_KINDS

    return (*GRAPH_KINDS, *TENSOR_KINDS)


def _plain(text: str) -> str:
    return re.sub(r"[\s'\"`\u2018\u2019]+", " ", text.lower()).strip()


def _dense(text: str) -> str:
    """The text without its spaces: a terminal may have broken it in the middle of a word."""
    return _plain(text).replace(" ", "")


def _share(given: set[str], wanted: set[str]) -> float:
    wanted = {word for word in wanted if len(word) > 3}
    return len(wanted & given) / len(wanted) if len(wanted) > 2 else 0.0
