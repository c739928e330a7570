"""What leaves this machine: branches that are pushed, and pull requests. One after the other, within the campaign's limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from graphfix.campaign.config import Config
from graphfix.campaign.forges import client, forge_for, patient
from graphfix.campaign.stages import TEXT
from graphfix.campaign.state import DAY, Stage, State, Target
from graphfix.files.git import GitFailed, entries
from graphfix.pullrequest.clients import Client, Ending, ForgeFailed, NoClient, Request
from graphfix.pullrequest.commits import foreign
from graphfix.pullrequest.parts import owners
from graphfix.pullrequest.repository import NotMade, Repository, repository_at
from graphfix.source.errors import SourceError
from graphfix.source.reading import read_bytes

T = TypeVar("T")
ENDINGS = {Ending.MERGED: Stage.MERGED, Ending.CLOSED: Stage.CLOSED}


@dataclass
class Offer:
    """One campaign's dealings with remotes. `say` tells the user, `sleep` waits for so many seconds."""

    config: Config
    state: State
    say: Callable[[str], None]
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.time

    def push(self, target: Target) -> Target:
        """The branch of a repository at its remote; what somebody else has put there is left alone."""
        try:
            forge = forge_for(target.url, self.config)
            if forge is not None and (why := self._unwanted(target)):
                return self.state.move(target, Stage.SKIPPED, why)
            self._push(repository_at(self.config.folder / "clones" / target.name))
        except (NotMade, GitFailed, ForgeFailed) as error:
            return self.state.move(target, Stage.FAILED, f"push: {error}")
        return self.state.move(target, Stage.PUSHED)

    def _push(self, repository: Repository) -> None:
        branch, remote = self.config.text("offer", "branch"), self.config.text("offer", "remote")
        place = f"refs/heads/{branch}"
        there = repository.line("ls-remote", "--heads", remote, place).partition("\t")[0]
        mine = repository.commit_of(place)
        if there == mine:
            return
        if there:
            if not repository.commit_of(there):
                repository.git("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no", remote, there)
            if foreign(repository, there):
                raise NotMade(f"{remote} has a branch {branch} with commits that graphfix did not make")
        lease = f"--force-with-lease={place}:{there}"
        options = ["--quiet", "--no-follow-tags", "--no-signed", "--recurse-submodules=no", lease]
        repository.git("push", *options, remote, f"{mine}:{place}", own_session=repository.is_local(remote))

    def _unwanted(self, target: Target) -> str:
        """Why the repository is to be left alone, as far as its forge can be asked."""
        try:
            asked = self._client(target)
        except NoClient:
            return ""  # without a token no pull request is opened either
        project = self._ask(asked.project)
        if project.archived or project.fork:
            return "it is archived" if project.archived else "it is a fork"
        known = self._ask(lambda: asked.known(self.config.text("offer", "branch")))
        return f"a maintainer has closed {known.url}" if known is not None and known.ending is Ending.CLOSED else ""

    def open(self, target: Target) -> Target:
        """The pull request of a repository whose branch is pushed: opened, or the open one with its new text."""
        config = self.config
        try:
            asked = self._client(target)
            branch = config.text("offer", "branch")
            known = self._ask(lambda: asked.known(branch))
            if known is not None and known.ending in ENDINGS:
                return self.state.move(
                    target, ENDINGS[known.ending], "" if known.ending is Ending.MERGED else "by a maintainer", link=known.url
                )
            if known is None and (full := self.full()):
                return Target(target.name, target.url, target.stage, full, target.facts)
            repository = repository_at(config.folder / "clones" / target.name)
            text = read_bytes(config.folder / "results" / target.name / TEXT).decode()
            if config.flag("offer", "mention-owners"):
                text += mention(repository, branch)
            title = config.text("offer", "title") or title_of(target)
            request = Request(
                branch, config.text("offer", "base") or repository.branch, title, text, config.flag("offer", "draft")
            )
            opened = self._ask(lambda: asked.deliver(request))
        except (NoClient, ForgeFailed, NotMade, GitFailed, SourceError) as error:
            return self.state.move(target, Stage.FAILED, f"open: {error}")
        return self.state.move(target, Stage.OPENED, "", 0.0, link=opened.url)

    def full(self) -> str:
        """Why no further pull request may be opened for now; nothing where one may."""
        most, a_day = self.config.number("limits", "open"), self.config.number("limits", "a-day")
        if most and len(self.state.targets(Stage.OPENED)) >= most:
            return f"as many pull requests are open as may be: {most} (limits.open)"
        if a_day and self.state.opened_since(self.now() - DAY) >= a_day:
            return f"as many were opened in 24 hours as may be: {a_day} (limits.a-day)"
        return ""

    def look(self, target: Target) -> Target:
        """What became of a pull request that was open."""
        try:
            known = self._ask(lambda: self._client(target).known(self.config.text("offer", "branch")))
        except (NoClient, ForgeFailed) as error:
            self.say(f"{target.name}: {error}")
            return target
        if known is None or known.ending is Ending.OPEN:
            return target
        return self.state.move(target, ENDINGS[known.ending], link=known.url)

    def withdraw(self, target: Target) -> Target:
        """Close the pull request that is open."""
        try:
            self._ask(lambda: self._client(target).withdraw(self.config.text("offer", "branch")))
        except (NoClient, ForgeFailed) as error:
            self.say(f"{target.name}: {error}")
            return target
        return self.state.move(target, Stage.CLOSED, "withdrawn")

    def _client(self, target: Target) -> Client:
        forge = forge_for(target.url, self.config)
        if forge is None:
            raise NoClient("its address is not known to be of GitHub or GitLab: targets.forge says so")
        return client(forge)

    def _ask(self, ask: Callable[[], T]) -> T:
        return patient(ask, self.sleep, self.say)


def mention(repository: Repository, branch: str) -> str:
    """A line that names the owners of the files which the branch changes; nothing where the repository does not say whose they are."""
    try:
        named = owners(repository.top)
    except NotMade:
        return ""
    changed = entries(repository.git("diff", "--name-only", "-z", repository.head, f"refs/heads/{branch}"))
    found = sorted({owner for name in changed for owner in named(name).split() if owner.startswith("@")})
    return f"\ncc {' '.join(found)}\n" if found else ""


def title_of(target: Target) -> str:
    """What its pull request is called where the configuration does not say: as its only commit, or how many rules there are."""
    subjects = [str(each["subject"]) for each in target.facts.get("commits", ())]
    return subjects[0] if len(subjects) == 1 else f"Repair {len(subjects)} kinds of misuse of autograd graphs"
