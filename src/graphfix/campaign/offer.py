"""What leaves this machine: branches that are pushed, and pull requests. One after the other, within the campaign's limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import field
from typing import TypeVar

from graphfix.campaign.conduct import branch_of
from graphfix.campaign.config import Config
from graphfix.campaign.forges import client, forge_for, patient
from graphfix.campaign.stages import TEXT
from graphfix.campaign.state import DAY, Stage, State, Target
from graphfix.files.git import GitFailed, entries
from graphfix.lazy_dataclass import dataclass
from graphfix.pullrequest.clients import Client, Ending, ForgeFailed, Known, NoClient, Request
from graphfix.pullrequest.commits import foreign
from graphfix.pullrequest.parts import owners
from graphfix.pullrequest.repository import NotMade, Repository, repository_at
from graphfix.source.errors import SourceError
from graphfix.source.reading import read_bytes

T = TypeVar("T")
ENDINGS = {Ending.MERGED: Stage.MERGED, Ending.CLOSED: Stage.CLOSED}


@dataclass
class Offer:
    """One campaign's dealings with remotes. `say` tells the user, `sleep` waits for so many seconds.

    `unanswered`: those whose pull request is open, and of which a remote or a forge could not be asked or told.
    """

    config: Config
    state: State
    say: Callable[[str], None]
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.time
    unanswered: set[str] = field(default_factory=set)

    def push(self, target: Target) -> Target:
        """The branch of a repository at its remote; what somebody else has put there is left alone."""
        try:
            if forge_for(target.url, self.config) is not None and (left := self._left_alone(target)):
                return left
            pushed = self._push(target)
        except NotMade as error:
            return self.state.move(target, Stage.FAILED, f"push: {error}")
        except (GitFailed, ForgeFailed) as error:
            return self._not_done(target, f"push: {error}")
        if not pushed:
            return self.state.move(target, Stage.SKIPPED, "its branch was removed from the remote")
        return self.state.move(target, Stage.PUSHED, pushed=pushed, branch=branch_of(target, self.config))

    def _push(self, target: Target) -> str:
        """The commit that is pushed; nothing where the branch was pushed before, and somebody has removed it."""
        repository = repository_at(self.config.folder / "clones" / target.name)
        branch, remote = branch_of(target, self.config), self.config.text("offer", "remote")
        place, before = f"refs/heads/{branch}", target.facts.get("pushed")
        repository.check_remote(remote)
        there = repository.line("ls-remote", "--heads", remote, place, remote=True).partition("\t")[0]
        mine = repository.commit_of(place)
        if there == mine:
            return mine
        if before and not there:
            return ""
        # what was pushed may stand on commits that the base no longer has, or that are not in a clone with few of them
        if there and there != before:
            if not repository.commit_of(there):
                repository.fetching().git(
                    "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no", remote, there
                )
            if foreign(repository.fetching(), there):
                raise NotMade(f"{remote} has a branch {branch} with commits that graphfix did not make")
        lease = f"--force-with-lease={place}:{there}"
        options = ["--quiet", "--no-follow-tags", "--no-signed", "--recurse-submodules=no", lease]
        repository.git("push", *options, remote, f"{mine}:{place}", own_session=repository.is_local(remote), remote=True)
        return mine

    def _left_alone(self, target: Target) -> Target | None:
        """The target where its repository is to be left alone, as far as its forge can be asked."""
        try:
            asked = self._client(target)
        except NoClient:
            return None  # without a token no pull request is opened either
        project = self._ask(asked.project)
        if project.archived or project.fork:
            return self.state.move(target, Stage.SKIPPED, "it is archived" if project.archived else "it is a fork")
        known = self._ask(lambda: asked.known(branch_of(target, self.config)))
        if known is None or known.ending is Ending.OPEN:
            return None
        if known.ending is Ending.CLOSED and not target.is_open:
            return self.state.move(target, Stage.SKIPPED, f"a maintainer has closed {known.url}")
        return self._ended(target, known)

    def _ended(self, target: Target, known: Known) -> Target:
        return self.state.move(
            target, ENDINGS[known.ending], "" if known.ending is Ending.MERGED else "by a maintainer", link=known.url
        )

    def _not_done(self, target: Target, why: str) -> Target:
        """A failure of a remote or a forge; one whose pull request is open stays where it is, for the next time."""
        if not target.is_open:
            return self.state.move(target, Stage.FAILED, why)
        self._unanswered(target, why)
        return target

    def _unanswered(self, target: Target, why: str) -> None:
        self.unanswered.add(target.name)
        self.say(f"{target.name}: {why}")

    def open(self, target: Target) -> Target:
        """The pull request of a repository whose branch is pushed: opened, or the open one with its new text."""
        try:
            asked = self._client(target)
            known = self._ask(lambda: asked.known(branch_of(target, self.config)))
            if known is not None and known.ending in ENDINGS:
                return self._ended(target, known)
            if known is None and target.is_open:
                return self.state.move(target, Stage.FAILED, f"open: the forge no longer knows {target.facts['link']}")
            if known is None and (full := self.full()):
                return Target(target.name, target.url, target.stage, full, target.facts)
            request = self._request(target)
            opened = self._ask(lambda: asked.deliver(request))
        except (NoClient, ForgeFailed, GitFailed) as error:
            return self._not_done(target, f"open: {error}")
        except (NotMade, SourceError) as error:
            return self.state.move(target, Stage.FAILED, f"open: {error}")
        return self.state.move(target, Stage.OPENED, "", 0.0, link=opened.url)

    def _request(self, target: Target) -> Request:
        config, branch = self.config, branch_of(target, self.config)
        repository = repository_at(config.folder / "clones" / target.name)
        text = read_bytes(config.folder / "results" / target.name / TEXT).decode()
        if config.flag("offer", "mention-owners"):
            text += mention(repository, branch)
        base, title = config.text("offer", "base") or repository.branch, config.text("offer", "title") or title_of(target)
        return Request(branch, base, title, text, config.flag("offer", "draft"), sole=True)

    def full(self) -> str:
        """Why no further pull request may be opened for now; nothing where one may."""
        most, a_day = self.config.number("limits", "open"), self.config.number("limits", "a-day")
        if most and sum(target.is_open for target in self.state.targets()) >= most:
            return f"the limit of open pull requests is reached: {most} (limits.open)"
        if a_day and self.state.opened_since(self.now() - DAY) >= a_day:
            return f"the limit of pull requests in 24 hours is reached: {a_day} (limits.a-day)"
        return ""

    def look(self, target: Target) -> Target:
        """What became of a pull request that was open."""
        try:
            known = self._ask(lambda: self._client(target).known(branch_of(target, self.config)))
        except (NoClient, ForgeFailed) as error:
            self._unanswered(target, str(error))
            return target
        if known is None or known.ending is Ending.OPEN:
            return target
        return self.state.move(target, ENDINGS[known.ending], link=known.url)

    def withdraw(self, target: Target) -> Target:
        """Close the pull request that is open."""
        try:
            self._ask(lambda: self._client(target).withdraw(branch_of(target, self.config)))
        except (NoClient, ForgeFailed) as error:
            self._unanswered(target, str(error))
            return target
        return self.state.move(target, Stage.CLOSED, "withdrawn")

    def _client(self, target: Target) -> Client:
        forge = forge_for(target.url, self.config)
        if forge is None:
            raise NoClient("its address is not known to be GitHub or GitLab: set targets.forge")
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
    return subjects[0] if len(subjects) == 1 else f"Fix {len(subjects)} kinds of autograd graph misuse"
