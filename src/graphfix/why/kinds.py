"""The kinds of errors that autograd's graph leads to, and which of them a message is."""

from __future__ import annotations

import re
from collections.abc import Iterable

from graphfix.lazy_dataclass import dataclass

# of the words of a kind's message, how many have to be among those that somebody typed from memory
_REMEMBERED = 0.7
_MIN_PART = 12
# what a message has in the place of the three dots of a phrase
_GAP = 120
PAGE = "https://github.com/graphfix/graphfix/blob/main/docs/errors/{key}.md"


@dataclass(frozen=True)
class Way:
    """One cause of an error. `change`: before and after, as the lines of a diff; `codes`: the rules that find it.

    `says`: why it raises, in a sentence or two. `see`: how to see it, if no rule finds it and the kind's `see` is not right.
    `libraries`: parts of the paths that a traceback of this cause has; causes whose library is in the traceback come first.
    """

    title: str
    codes: tuple[str, ...]
    change: str
    says: str = ""
    see: str = ""
    libraries: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kind:
    """One error. `phrases`: what torch says, of whatever age, the present one first. `codes`: rules that explain it, likeliest first.

    `printed`: the messages in full, with the type, as the present torch prints them; three dots stand for what differs or is left out,
    in `phrases`, too.
    `is_local`: the line that raises it is the one to change, or the one that made its tensor; `is_traced`: a traced run names that one.
    `stands`: a name in the changes of its ways, and the method of what it stands for.
    `brief`: what it means, in a sentence. `says`: the same at length. `repair`: what is to be done, in a sentence or two.
    `ways`: its causes, the most frequent first. `see`: how to see a cause that no rule finds, if a traced run does not show it.
    """

    key: str
    title: str
    printed: tuple[str, ...]
    phrases: tuple[str, ...]
    codes: tuple[str, ...]
    brief: str
    says: str
    repair: str
    ways: tuple[Way, ...] = ()
    is_local: bool = False
    is_traced: bool = False
    stands: tuple[str, str] | None = None
    see: str = ""

    @property
    def heading(self) -> str:
        """The title, with a capital letter if it does not begin with code."""
        return self.title if "(" in self.title.split()[0] else self.title[0].upper() + self.title[1:]

    @property
    def page(self) -> str:
        """The address of the page on this error."""
        return PAGE.format(key=self.key)

    def ways_in(self, files: Iterable[str]) -> list[Way]:
        """The causes, those first whose library is among the files of a traceback."""
        paths = [file.replace("\\", "/") for file in files]
        return sorted(self.ways, key=lambda way: not any(part in path for part in way.libraries for path in paths))

    def is_meant(self, text: str) -> bool:
        """Whether `text` has a phrase of this error in it."""
        return self.is_within(_dense(text))

    def is_within(self, dense: str) -> bool:
        """Whether a text, already without its spaces, has a phrase of this error in it."""
        return any(_is_within(phrase, dense) for phrase in self.phrases)

    def is_remembered(self, words: str) -> bool:
        """Whether `words` are a part of what torch says, or most of its words in whatever order."""
        plain = _plain(words)
        if len(plain) >= _MIN_PART and any(plain in _plain(phrase) for phrase in self.phrases):
            return True
        given = set(re.findall(r"\w+", plain))
        return any(_share(given, set(re.findall(r"\w+", _plain(phrase)))) >= _REMEMBERED for phrase in self.phrases)


def kind_of(text: str) -> Kind | None:
    """The kind of the error with this message."""
    dense = _dense(text)
    return next((kind for kind in all_kinds() if kind.is_within(dense)), None)


def kind_of_words(words: str) -> Kind | None:
    """The kind of error that somebody means who types `words`, exact or not."""
    return kind_of(words) or next((kind for kind in all_kinds() if kind.is_remembered(words)), None)


def all_kinds() -> Iterable[Kind]:
    """Every kind, the most frequent first."""
    from graphfix.why.checkpoint_kinds import CHECKPOINT_KINDS
    from graphfix.why.graph_kinds import GRAPH_KINDS
    from graphfix.why.higher_kinds import HIGHER_KINDS
    from graphfix.why.leaf_kinds import LEAF_KINDS
    from graphfix.why.library_kinds import LIBRARY_KINDS
    from graphfix.why.old_kinds import OLD_KINDS
    from graphfix.why.tensor_kinds import TENSOR_KINDS
    from graphfix.why.view_kinds import VIEW_KINDS

    return (*GRAPH_KINDS, *TENSOR_KINDS, *LEAF_KINDS, *VIEW_KINDS, *LIBRARY_KINDS, *CHECKPOINT_KINDS, *HIGHER_KINDS, *OLD_KINDS)


def _is_within(phrase: str, dense: str) -> bool:
    """Whether the text without spaces has the phrase in it, with a few characters in the place of each three dots."""
    if "..." not in phrase:
        return _dense(phrase) in dense
    pattern = f".{{1,{_GAP}}}?".join(re.escape(_dense(part)) for part in phrase.split("..."))
    return re.search(pattern, dense) is not None


def _plain(text: str) -> str:
    return re.sub(r"[\s'\"`\u2018\u2019]+", " ", text.lower()).strip()


def _dense(text: str) -> str:
    """The text without its spaces: a terminal may have broken it in the middle of a word."""
    return _plain(text).replace(" ", "")


def _share(given: set[str], wanted: set[str]) -> float:
    wanted = {word for word in wanted if len(word) > 3}
    return len(wanted & given) / len(wanted) if len(wanted) > 2 else 0.0
