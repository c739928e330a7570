"""Where a remote is hosted, what its files' lines are called there, and how a pull request is opened by hand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from urllib.parse import quote, urlsplit

from graphfix.lazy_dataclass import dataclass

_SHORT = re.compile(r"(?:[^@/:\s]+@)?(?P<host>[^@/:\s]+):(?P<path>[^\s]+)")
KINDS = ("github", "gitlab")


@dataclass(frozen=True)
class Forge:
    """A project on a host."""

    kind: str
    host: str
    project: str

    @property
    def url(self) -> str:
        return f"https://{self.host}/{quote(self.project)}"

    def link(self, commit: str, name: str, row: int) -> str:
        """A file at a commit, and in it a line (0 for none), for as long as the commit lives."""
        middle = "/blob/" if self.kind == "github" else "/-/blob/"
        return f"{self.url}{middle}{commit}/{quote(name)}" + (f"#L{row}" if row else "")

    def by_hand(self, head: str, base: str, title: str, body: Path, *, draft: bool) -> str:
        """The command that opens the pull request with the forge's own client."""
        if self.kind == "github":
            words = ["gh", "pr", "create", "--repo", f"{self.host}/{self.project}", "--base", base, "--head", head]
            return shlex.join([*words, "--title", title, "--body-file", str(body), *(["--draft"] if draft else [])])
        words = ["glab", "mr", "create", "--repo", self.url, "--target-branch", base, "--source-branch", head, "--title", title]
        command = shlex.join([*words, *(["--draft"] if draft else [])])
        return f'{command} --description "$(cat {shlex.quote(str(body))})"'

    def edited_by_hand(self, head: str, title: str, body: Path) -> str:
        """The command that gives an open pull request another text."""
        if self.kind == "github":
            words = [
                "gh",
                "pr",
                "edit",
                head,
                "--repo",
                f"{self.host}/{self.project}",
                "--title",
                title,
                "--body-file",
                str(body),
            ]
            return shlex.join(words)
        command = shlex.join(["glab", "mr", "update", head, "--repo", self.url, "--title", title])
        return f'{command} --description "$(cat {shlex.quote(str(body))})"'


def forge_of(url: str, kind: str = "") -> Forge | None:
    """The forge behind a remote's address; None for a folder, or for a host that does not say what it runs."""
    host, path = _parts(url)
    project = path.strip("/").removesuffix(".git")
    if not host or "/" not in project:
        return None
    kind = kind or next((kind for kind in KINDS if kind in host), "")
    return Forge(kind, host, project) if kind else None


def _parts(url: str) -> tuple[str, str]:
    if "://" in url:
        try:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https", "ssh", "git", "git+ssh"):
                return "", ""
            # the port of ssh is not that of the web
            port = f":{parts.port}" if parts.port and parts.scheme in ("http", "https") else ""
            return (parts.hostname or "") + port, parts.path
        except ValueError:
            return "", ""
    match = _SHORT.fullmatch(url)
    return (match["host"], match["path"]) if match and not url.startswith((".", "/")) else ("", "")
