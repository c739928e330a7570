"""Opening pull requests through the forges' own interfaces, by their well-kept clients.

The token comes from the environment, goes to the host that it is for and nowhere else: it is neither shown nor stored.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

from graphfix import __version__
from graphfix.pullrequest.forge import Forge
from graphfix.pullrequest.text import renewed

_SECONDS = 30
AGENT = f"graphfix/{__version__}"


class NoClient(Exception):
    """Nothing to open a pull request with, and what is missing."""


class ForgeFailed(Exception):
    """What the forge answered instead."""


@dataclass(frozen=True)
class Request:
    """A pull request from the branch `head` into `base`."""

    head: str
    base: str
    title: str
    body: str
    draft: bool = False


@dataclass(frozen=True)
class Opened:
    """Where the pull request is. `kept`: its text was left alone, as graphfix's part of it is gone."""

    url: str
    new: bool
    kept: bool = False


class Client(Protocol):
    """One project on a forge."""

    def deliver(self, request: Request) -> Opened:
        """Open the pull request, or give the one that is open for this branch the new text."""


def client_for(forge: Forge, environment: Mapping[str, str] = os.environ) -> Client:
    """A client with the user's token, or `NoClient`."""
    names = _token_names(forge, environment)
    token = next((environment[name] for name in names if environment.get(name)), "")
    if not token:
        raise NoClient(f"there is no token for {forge.host} in {' or '.join(names)}")
    try:
        return GitHub(forge, token, environment) if forge.kind == "github" else GitLab(forge, token, environment)
    except ImportError as error:
        raise NoClient(f"{error.name} is not installed (pip install 'graphfix[forge]')") from error


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
        from github import Auth, Github

        address = environment.get("GITHUB_API_URL") or (
            "https://api.github.com" if forge.host == "github.com" else f"https://{forge.host}/api/v3"
        )
        self._owner = forge.project.partition("/")[0]
        github = Github(base_url=address, auth=Auth.Token(token), user_agent=AGENT, timeout=_SECONDS, retry=None)
        self._project = github.get_repo(forge.project, lazy=True)

    def deliver(self, request: Request) -> Opened:
        from github import GithubException
        from requests import RequestException

        try:
            found = self._project.get_pulls(state="open", head=f"{self._owner}:{request.head}", base=request.base)
            for pull in found:
                text = renewed(pull.body or "", request.body)
                pull.edit(title=request.title, body=pull.body or "" if text is None else text)
                return Opened(pull.html_url, new=False, kept=text is None)
            pull = self._project.create_pull(
                base=request.base, head=request.head, title=request.title, body=request.body, draft=request.draft
            )
            return Opened(pull.html_url, new=True)
        except GithubException as error:
            raise ForgeFailed(f"{error.status}: {_github_message(error.data)}") from error
        except RequestException as error:
            raise ForgeFailed(_connection(error)) from error


class GitLab:
    """GitLab through python-gitlab."""

    def __init__(self, forge: Forge, token: str, environment: Mapping[str, str]) -> None:
        import gitlab

        address = environment.get("GITLAB_API_URL") or f"https://{forge.host}"
        client = gitlab.Gitlab(address, private_token=token, timeout=_SECONDS, user_agent=AGENT)
        self._project = client.projects.get(forge.project, lazy=True)

    def deliver(self, request: Request) -> Opened:
        from gitlab.exceptions import GitlabError
        from requests import RequestException

        title = f"Draft: {request.title}" if request.draft else request.title
        try:
            found = self._project.mergerequests.list(
                state="opened", source_branch=request.head, target_branch=request.base, get_all=False
            )
            for merge in found:
                text = renewed(merge.description or "", request.body)
                # what was marked ready, or a draft, by somebody since stays so
                merge.title = f"Draft: {request.title}" if merge.title.startswith("Draft:") else request.title
                if text is not None:
                    merge.description = text
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
