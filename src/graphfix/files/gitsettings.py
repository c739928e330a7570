"""Which of git's settings come to the git that is run: a repository's own only where they are known to be no more than data.

The user's settings are the user's word, those in a repository may have come along with it. So of these a list is let through, and
whatever else git can be told, today or later, is not: programs and files that are named there are never asked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from graphfix.lazy_dataclass import dataclass

_USERS = frozenset({"system", "global", "command"})  # scopes: https://git-scm.com/docs/git-config#SCOPES

_DATA = re.compile(
    r"core\.(repositoryformatversion|filemode|ignorecase|symlinks|precomposeunicode|autocrlf|eol|trustctime|checkstat"
    r"|protecthfs|protectntfs|sharedrepository|logallrefupdates|sparsecheckout|sparsecheckoutcone|usereplacerefs)"
    r"|extensions\.(objectformat|compatobjectformat|refstorage|noop|preciousobjects|relativeworktrees)"
    r"|(user|author|committer)\.(name|email|useconfigonly)|i18n\.commitencoding"
    r"|remote\..+\.(url|pushurl|fetch)",
    re.DOTALL,
)
# what a repository may say about its remotes: a header is how CI hands on its token
_OF_REMOTES = re.compile(r"remote\..+\.(promisor|partialclonefilter)|extensions\.partialclone|http\.(.+\.)?(extraheader|proxy)", re.DOTALL)
# whoever turns one address into another decides whose hooks a push runs
_USERS_DATA = re.compile(r"core\.attributesfile|url\..*\.(pushinsteadof|insteadof)", re.DOTALL)
# programs of the user's that a repository's attributes call for, and files whose settings have been told already
_NOT_PASSED = re.compile(r"(filter|diff|merge)\..+\.|include(if)?\.", re.DOTALL)


@dataclass(frozen=True)
class Setting:
    """One setting as git tells it. `value` is None where the name stands alone, which means true."""

    scope: str
    name: str
    value: str | None

    @property
    def is_users(self) -> bool:
        return self.scope in _USERS


def told(answer: bytes) -> list[Setting]:
    """The settings in an answer to `git config --list -z --show-scope`."""
    words = os.fsdecode(answer).split("\0")
    pairs = zip(words[::2], words[1::2])
    return [Setting(scope, *_parted(entry)) for scope, entry in pairs]


def _parted(entry: str) -> tuple[str, str | None]:
    name, mark, value = entry.partition("\n")
    return name, value if mark else None


def let_through(setting: Setting, *, remote: bool) -> bool:
    """Whether git may know of a setting, for a command that is about a `remote` or for another one."""
    if setting.is_users and remote:
        return not _NOT_PASSED.match(setting.name)
    allowed = [_DATA, *([_USERS_DATA] if setting.is_users else []), *([_OF_REMOTES] if remote else [])]
    return any(pattern.fullmatch(setting.name) for pattern in allowed)


def written(settings: Iterable[Setting]) -> str:
    """A file of settings that says the same."""
    return "".join(map(_lines, settings))


def _lines(setting: Setting) -> str:
    section, _, rest = setting.name.partition(".")
    between, mark, name = rest.rpartition(".")
    quoted = between.replace("\\", "\\\\").replace('"', '\\"')
    head = f'[{section} "{quoted}"]' if mark else f"[{section}]"
    if setting.value is None:
        return f"{head}\n\t{name}\n"
    value = setting.value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{head}\n\t{name} = "{value}"\n'
