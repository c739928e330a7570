"""What forges are asked about many repositories: which there are, and what became of the pull requests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from graphfix.campaign.config import NAME, Config
from graphfix.pullrequest.clients import Client, ForgeFailed, Limited, NoClient, client_for, listed
from graphfix.pullrequest.forge import KINDS, Forge, forge_of
from graphfix.settings.errors import SettingsError

T = TypeVar("T")
MOST_WAITS = 5  # for one question
LONGEST_WAIT = 3600.0  # seconds; a forge that wants more is left alone for this run


def asked_for(config: Config) -> Iterator[str]:
    """The addresses that the forge has for the organisation and the search; raises `SettingsError` where it gives none."""
    host = config.text("targets", "host")
    kind = config.text("targets", "forge") or next((kind for kind in KINDS if kind in host), "")
    if not kind:
        raise SettingsError(config.folder / NAME, 0, f"forge: say whether {host} runs github or gitlab")
    try:
        yield from listed(
            Forge(kind, host, ""), config.text("targets", "organisation"), config.text("targets", "search"), os.environ
        )
    except (NoClient, ForgeFailed) as error:
        raise SettingsError(config.folder / NAME, 0, f"cannot list the repositories of {host}: {error}") from error


def forge_for(url: str, config: Config) -> Forge | None:
    """Where a repository is hosted; None for a folder, or a host that does not say what it runs."""
    return forge_of(url, config.text("targets", "forge"))


def client(forge: Forge, environment: Mapping[str, str] = os.environ) -> Client:
    """A client for one repository, with the token of the environment; raises `NoClient`."""
    return client_for(forge, environment)


def patient(ask: Callable[[], T], sleep: Callable[[float], None], tell: Callable[[str], None]) -> T:
    """What the forge answers, after as long a wait as it wants; raises `ForgeFailed`."""
    for _ in range(MOST_WAITS):
        try:
            return ask()
        except Limited as limit:
            if limit.seconds > LONGEST_WAIT:
                raise
            tell(f"the rate limit of the forge is reached; it allows requests again in {limit.seconds:.0f} seconds")
            sleep(limit.seconds)
    return ask()
