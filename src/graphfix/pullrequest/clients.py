"""Opening pull requests through the forges' own interfaces, by their well-kept clients.

The token comes from the environment, goes to the host that it is for and nowhere else: it is neither shown nor stored.
"""

from __future__ import annotations

import contextlib
import enum
import itertools
import os
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from graphfix import __version__
from graphfix.installation import command
from graphfix.lazy_dataclass import dataclass
from graphfix.pullrequest.forge import Forge
from graphfix.pullrequest.text import renewed

if TYPE_CHECKING:
    import github
    import gitlab

_SECONDS = 30
AGENT = f"graphfix/{__version__}"


class NoClient(Exception):
    """Nothing to open a pull request with, and what is missing."""


class ForgeFailed(Exception):
    """What the forge answered instead."""


class Limited(ForgeFailed):
    """The forge wants fewer questions: how many seconds it wants to be left alone."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"its rate limit is reached; it allows requests again in {seconds:.0f} seconds")
        self.seconds = seconds


@dataclass(frozen=True)
class Request:
    """A pull request from the branch `head` into `base`. `sole`: one that is open into another base is led into this one."""

    head: str
    base: str
    title: str
    body: str
    draft: bool = False
    sole: bool = False


@dataclass(frozen=True)
class Opened:
    """Where the pull request is. `kept`: its text was left alone, as graphfix's part of it is gone."""

    url: str
    new: bool
    kept: bool = False


class Ending(enum.Enum):
    """What became of a pull request."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


@dataclass(frozen=True)
class Known:
    """A pull request that the forge has for a branch."""

    url: str
    ending: Ending


@dataclass(frozen=True)
class Project:
    """What the forge says of a repository."""

    archived: bool
    fork: bool


class Client(Protocol):
    """One project on a forge. Everything raises `ForgeFailed`, and `Limited` where it was asked too much."""

    def project(self) -> Project:
        """What the repository is."""

    def known(self, head: str) -> Known | None:
        """The latest pull request from the branch `head` of this repository, whatever became of it."""

    def withdraw(self, head: str) -> None:
        """Close the open pull requests from the branch, unmerged."""

    def deliver(self, request: Request) -> Opened:
        """Open the pull request, or give the one that is open for this branch the new text."""


def client_for(forge: Forge, environment: Mapping[str, str] = os.environ) -> Client:
    """A client with the user's token, or `NoClient`."""
    token = _token(forge, environment)
    try:
        return GitHub(forge, token, environment) if forge.kind == "github" else GitLab(forge, token, environment)
    except ImportError as error:
        raise NoClient(f"{error.name} is not installed: {command(extra='forge')}") from error


def listed(forge: Forge, organisation: str, search: str, environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """The addresses of an organisation's (or group's) repositories, and of those that a search finds; no archived ones, no forks.

    Raises `NoClient` and `ForgeFailed`.
    """
    token = _token(forge, environment)
    try:
        yield from (_github_lists if forge.kind == "github" else _gitlab_lists)(forge, token, environment, organisation, search)
    except ImportError as error:
        raise NoClient(f"{error.name} is not installed: {command(extra='forge')}") from error


def _github_lists(forge: Forge, token: str, environment: Mapping[str, str], organisation: str, search: str) -> Iterator[str]:
    asked = _github(forge, token, environment)
    with _github_errors():
        found = [asked.get_organization(organisation).get_repos()] if organisation else []
        found += [asked.search_repositories(search)] if search else []
        yield from (each.clone_url for each in itertools.chain.from_iterable(found) if not each.archived and not each.fork)


def _gitlab_lists(forge: Forge, token: str, environment: Mapping[str, str], organisation: str, search: str) -> Iterator[str]:
    asked = _gitlab(forge, token, environment)
    with _gitlab_errors():
        found = []
        if organisation:
            found.append(
                asked.groups.get(organisation, lazy=True).projects.list(iterator=True, include_subgroups=True, archived=False)
            )
        if search:
            found.append(asked.projects.list(iterator=True, search=search, archived=False))
        for each in itertools.chain.from_iterable(found):
            if not each.attributes.get("forked_from_project"):
                yield each.http_url_to_repo


def _github(forge: Forge, token: str, environment: Mapping[str, str]) -> github.Github:
    from github import Auth, Github

    address = environment.get("GITHUB_API_URL") or (
        "https://api.github.com" if forge.host == "github.com" else f"https://{forge.host}/api/v3"
    )
    return Github(base_url=address, auth=Auth.Token(token), user_agent=AGENT, timeout=_SECONDS, retry=None)


def _gitlab(forge: Forge, token: str, environment: Mapping[str, str]) -> gitlab.Gitlab:
    from gitlab import Gitlab

    address = environment.get("GITLAB_API_URL") or f"https://{forge.host}"
    return Gitlab(address, private_token=token, timeout=_SECONDS, user_agent=AGENT)


def _token(forge: Forge, environment: Mapping[str, str]) -> str:
    names = _token_names(forge, environment)
    token = next((environment[name] for name in names if environment.get(name)), "")
    if not token:
        raise NoClient(f"there is no token for {forge.host} in {' or '.join(names)}")
    return token


def _token_names(forge: Forge, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Where the token for this host is: one for github.com is never sent to another host."""
    if forge.kind == "gitlab":
        own = {"gitlab.com", _host(environment.get("GITLAB_HOST", "")), _host(environment.get("CI_SERVER_HOST", ""))}
        return ("GITLAB_TOKEN",) if forge.host in own else ("GITLAB_TOKEN with GITLAB_HOST",)
    if forge.host == "github.com" or forge.host == _host(environment.get("GITHUB_SERVER_URL", "")):
        return ("GH_TOKEN", "GITHUB_TOKEN")
    return ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")


def _host(text: str) -> str:
    return urlsplit(text if "://" in text else f"//{text}").netloc


class GitHub:
    """GitHub, or GitHub Enterprise, through PyGithub."""

    def __init__(self, forge: Forge, token: str, environment: Mapping[str, str]) -> None:
        self._owner = forge.project.partition("/")[0]
        self._project = _github(forge, token, environment).get_repo(forge.project, lazy=True)

    def project(self) -> Project:
        with _github_errors():
            facts = self._project.raw_data
            return Project(bool(facts.get("archived")), bool(facts.get("fork")))

    def known(self, head: str) -> Known | None:
        with _github_errors():
            for pull in self._project.get_pulls(state="all", head=f"{self._owner}:{head}", sort="created", direction="desc"):
                closed = Ending.MERGED if pull.merged_at else Ending.CLOSED
                return Known(pull.html_url, Ending.OPEN if pull.state == "open" else closed)
        return None

    def withdraw(self, head: str) -> None:
        with _github_errors():
            for pull in self._project.get_pulls(state="open", head=f"{self._owner}:{head}"):
                pull.edit(state="closed")

    def deliver(self, request: Request) -> Opened:
        from github.GithubObject import NotSet

        with _github_errors():
            wanted = {} if request.sole else {"base": request.base}
            for pull in self._project.get_pulls(state="open", head=f"{self._owner}:{request.head}", **wanted):
                text = renewed(pull.body or "", request.body)
                base = request.base if request.sole and pull.base.ref != request.base else NotSet
                pull.edit(title=request.title, body=pull.body or "" if text is None else text, base=base)
                return Opened(pull.html_url, new=False, kept=text is None)
            pull = self._project.create_pull(
                base=request.base, head=request.head, title=request.title, body=request.body, draft=request.draft
            )
            return Opened(pull.html_url, new=True)


class GitLab:
    """GitLab through python-gitlab."""

    def __init__(self, forge: Forge, token: str, environment: Mapping[str, str]) -> None:
        client = _gitlab(forge, token, environment)
        self._manager, self._path = client.projects, forge.project
        self._project = client.projects.get(forge.project, lazy=True)

    def project(self) -> Project:
        with _gitlab_errors():
            facts = self._manager.get(self._path).attributes
            return Project(bool(facts.get("archived")), bool(facts.get("forked_from_project")))

    def known(self, head: str) -> Known | None:
        with _gitlab_errors():
            for merge in self._project.mergerequests.list(source_branch=head, order_by="created_at", sort="desc", get_all=False):
                ending = {"merged": Ending.MERGED, "closed": Ending.CLOSED}.get(merge.state, Ending.OPEN)
                return Known(merge.web_url, ending)
        return None

    def withdraw(self, head: str) -> None:
        with _gitlab_errors():
            for merge in self._project.mergerequests.list(state="opened", source_branch=head, get_all=False):
                merge.state_event = "close"
                merge.save()

    def deliver(self, request: Request) -> Opened:
        title = f"Draft: {request.title}" if request.draft else request.title
        with _gitlab_errors():
            wanted: dict[str, Any] = {} if request.sole else {"target_branch": request.base}
            for merge in self._project.mergerequests.list(state="opened", source_branch=request.head, get_all=False, **wanted):
                text = renewed(merge.description or "", request.body)
                # what was marked ready, or a draft, by somebody since stays so
                merge.title = f"Draft: {request.title}" if merge.title.startswith("Draft:") else request.title
                if text is not None:
                    merge.description = text
                if request.sole and merge.target_branch != request.base:
                    merge.target_branch = request.base
                merge.save()
                return Opened(merge.web_url, new=False, kept=text is None)
            merge = self._project.mergerequests.create(
                {
                    "source_branch": request.head,
                    "target_branch": request.base,
                    "title": title,
                    "description": request.body,
                    "remove_source_branch": True,
                }
            )
            return Opened(merge.web_url, new=True)


@contextlib.contextmanager
def _github_errors() -> Iterator[None]:
    from github import GithubException
    from requests import RequestException

    try:
        yield
    except GithubException as error:
        seconds = _wanted(error.headers or {}) if error.status in (403, 429) else None
        if seconds is not None:
            raise Limited(seconds) from error
        raise ForgeFailed(f"{error.status}: {_github_message(error.data)}") from error
    except RequestException as error:
        raise ForgeFailed(_connection(error)) from error


def _wanted(headers: Mapping[str, str]) -> float | None:
    """How long GitHub wants to be left alone, None where it was not for that.

    https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit
    """
    told = {name.lower(): value for name, value in headers.items()}
    try:
        if "retry-after" in told:
            return max(float(told["retry-after"]), 0.0)
        if told.get("x-ratelimit-remaining") == "0":
            return max(float(told.get("x-ratelimit-reset", 0)) - time.time(), 1.0)
    except ValueError:
        return 60.0
    return None


@contextlib.contextmanager
def _gitlab_errors() -> Iterator[None]:
    """python-gitlab itself waits as long as it is told to: https://python-gitlab.readthedocs.io/en/stable/api-usage.html#rate-limits"""
    from gitlab.exceptions import GitlabError
    from requests import RequestException

    try:
        yield
    except GitlabError as error:
        raise ForgeFailed(f"{error.response_code or 'no answer'}: {_first_line(error.error_message)}") from error
    except RequestException as error:
        raise ForgeFailed(_connection(error)) from error


def _github_message(data: Any) -> str:
    if not isinstance(data, dict):
        return _first_line(data)
    details = [str(one.get("message") or one.get("code") or "") for one in data.get("errors") or () if isinstance(one, dict)]
    return ": ".join([_first_line(data.get("message") or "no message"), *(detail for detail in details if detail)])


def _first_line(said: object) -> str:
    return (str(said).strip() or "no message").splitlines()[0][:300]


def _connection(error: Exception) -> str:
    # the text of the exception holds the whole address with its parameters
    return f"no connection ({type(error).__name__})"
