"""Repositories to clone, a campaign over them, and a forge that they seem to be on."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

Run = Callable[..., subprocess.CompletedProcess[bytes]]
IDENTITY = {
    "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org", "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org",
}  # fmt: skip


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True, env=os.environ | IDENTITY)
    return done.stdout.strip()


@dataclass
class Campaign:
    """A campaign's folder, and how its commands are run."""

    folder: Path
    graphfix: Run
    remotes: Path
    variables: dict[str, str] = field(default_factory=dict)

    def remote(self, name: str, files: dict[str, str]) -> Path:
        """A bare repository with one commit."""
        work = self.remotes / f"{name}.work"
        work.mkdir(parents=True)
        for path, text in files.items():
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            (work / path).write_text(text)
        git(work, "init", "-q", "-b", "main")
        git(work, "add", "-A")
        git(work, "commit", "-q", "--allow-empty", "-m", "first")
        bare = self.remotes / f"{name}.git"
        git(self.remotes, "clone", "-q", "--bare", str(work), str(bare))
        git(bare, "config", "uploadpack.allowFilter", "true")
        return bare

    def move_on(self, name: str, files: dict[str, str], *words: str) -> None:
        """One commit more in a remote; `words` go to `git commit`."""
        work = self.remotes / f"{name}.work"
        for path, text in files.items():
            (work / path).write_text(text)
        git(work, "add", "-A")
        git(work, "commit", "-q", "-m", "more", *words)
        git(work, "push", "-qf", str(self.remotes / f"{name}.git"), "HEAD:main")

    def about(self, *urls: str | Path, **tables: dict[str, object]) -> None:
        """Write campaign.toml."""
        told = {"targets": {"urls": [str(url) for url in urls]}, **tables}
        lines = [
            f"[{table}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in held.items())
            for table, held in told.items()
        ]
        self.folder.mkdir(exist_ok=True)
        (self.folder / "campaign.toml").write_text("\n".join(lines))

    @property
    def environment(self) -> dict[str, str]:
        kept = {
            name: value for name, value in os.environ.items() if not name.endswith("_TOKEN") and not name.startswith("GITHUB_")
        }
        return kept | IDENTITY | self.variables

    def __call__(self, action: str, *words: str) -> subprocess.CompletedProcess[bytes]:
        return self.graphfix("campaign", action, str(self.folder), *words, env=self.environment)

    def report(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self("report", "--output-format", "json").stdout)
        return told

    def stages(self) -> dict[str, str]:
        return {row["name"]: row["stage"] for row in self.report()["rows"]}


@pytest.fixture
def campaign(tmp_path: Path, graphfix: Run) -> Campaign:
    (tmp_path / "remotes").mkdir()
    return Campaign(tmp_path / "campaign", graphfix, tmp_path / "remotes")


class Forge(BaseHTTPRequestHandler):
    """Just enough of GitHub and GitLab; remembers what it was told."""

    server: Any

    def do_GET(self) -> None:
        if self.server.refusals:
            return self.answer(*self.server.refusals.pop(0))
        address = urlsplit(self.path)
        if address.path in self.server.lists:
            return self.answer(200, self.server.lists[address.path])
        if not address.path.endswith(("/pulls", "/merge_requests")):
            return self.answer(200, self.server.project)
        wanted = parse_qs(address.query).get("state", ["all"])[0]
        held = [pull for pull in self.server.pulls if pull["project"] == address.path]
        self.answer(200, [pull for pull in held if wanted in ("all", pull["state"])])

    def do_POST(self) -> None:
        pull = {"number": 7, "iid": 7, "state": "open" if "/repos/" in self.path else "opened", "merged_at": None}
        pull |= {
            "html_url": "https://x/pull/7",
            "web_url": "https://x/mr/7",
            "url": f"{self.server.address}/repos/acme/trainer/pulls/7",
        }
        self.server.pulls.append(pull | {"project": urlsplit(self.path).path} | self.written())
        self.answer(201, self.server.pulls[-1])

    def do_PATCH(self) -> None:
        self.server.pulls[0] |= self.written()
        self.answer(200, self.server.pulls[0])

    do_PUT = do_PATCH

    def told(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.told.append((self.command, urlsplit(self.path).path, data))
        return data

    def written(self) -> dict[str, Any]:
        """What it was told, as it answers it: GitHub's base has facts of its own."""
        data = self.told()
        if data.get("state_event") == "close":
            data["state"] = "closed"
        return data | ({"base": {"ref": data["base"]}} if "base" in data else {})

    def answer(self, status: int, document: object, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def forge(campaign: Campaign) -> Iterator[Any]:
    """A forge on this machine; the token for it is in the campaign's environment."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Forge)
    server.pulls, server.told, server.refusals, server.lists = [], [], [], {}
    server.address = f"http://127.0.0.1:{server.server_port}"
    server.project = {"id": 1, "archived": False, "fork": False, "url": f"{server.address}/repos/acme/trainer"}
    campaign.variables |= {
        "GITHUB_TOKEN": "s3cret", "GITHUB_API_URL": server.address, "GITLAB_TOKEN": "s3cret", "GITLAB_API_URL": server.address,
    }  # fmt: skip
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()


def hosted(campaign: Campaign, url: str, loops: SimpleNamespace) -> Path:
    """A repository whose address is on a forge, and that is a bare one here all the same."""
    bare = campaign.remote("trainer", {"train.py": loops.total})
    campaign.variables |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.{bare}.insteadOf", "GIT_CONFIG_VALUE_0": url}
    campaign.about(url, limits={"a-day": 1})
    return bare
