"""Which repositories a campaign is about."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from urllib.parse import unquote, urlsplit

from graphfix.campaign.config import NAME, Config
from graphfix.files.git import without_credentials
from graphfix.settings.errors import SettingsError
from graphfix.source.errors import SourceError
from graphfix.source.reading import read_bytes

MAX_BYTES = 16 << 20
_UNNAMED = re.compile(r"[^\w.+-]+")


def discovered(config: Config) -> Iterator[str]:
    """The addresses of all repositories that the configuration names; `SettingsError` for what cannot be one.

    What the forge has to be asked for comes last. Passwords in addresses are refused: they would stand in the state and in texts.
    """
    for folder in config.words("targets", "folders"):
        path = (config.folder / folder).resolve()
        if not path.is_dir():
            raise SettingsError(config.folder / NAME, 0, f"folders: no such folder: {folder}")
        yield str(path)
    for url in (*config.words("targets", "urls"), *_listed(config)):
        if without_credentials(url) != url and urlsplit(url).password:
            raise SettingsError(
                config.folder / NAME, 0, f"the address {without_credentials(url)} has a password in it: use a token"
            )
        yield url
    if config.text("targets", "organisation") or config.text("targets", "search"):
        from graphfix.campaign.forges import asked_for

        yield from asked_for(config)


def _listed(config: Config) -> list[str]:
    named = config.text("targets", "file")
    if not named:
        return []
    path = config.folder / named
    try:
        text = read_bytes(path, MAX_BYTES).decode("utf-8-sig")
    except (SourceError, UnicodeDecodeError) as error:
        why = error.reason if isinstance(error, SourceError) else "not valid utf-8"
        raise SettingsError(config.folder / NAME, 0, f"file: cannot read {named}: {why}") from error
    lines = (line.partition(" #")[0].strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def name_for(url: str, taken: Collection[str]) -> str:
    """What a repository is called here: the last words of its address, with a number where another has that name."""
    path = unquote(urlsplit(url).path) if "://" in url else url.partition(":")[2] if re.match(r"[^/]+@", url) else url
    words = [word for word in path.removesuffix("/").removesuffix(".git").split("/") if word]
    name = _UNNAMED.sub("-", "+".join(words[-2:])).strip("-.") or "repository"
    number, chosen = 1, name
    while chosen in taken:
        number += 1
        chosen = f"{name}-{number}"
    return chosen
