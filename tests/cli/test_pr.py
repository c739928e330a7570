"""`graphfix pr` in real repositories, with a bare one as the remote."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

Run = Callable[..., subprocess.CompletedProcess[bytes]]
BRANCH = "graphfix/autograd"


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, loops: SimpleNamespace) -> Path:
    """Two rules to repair, a finding that is only shown, and a bare remote that has it all."""
    root = tmp_path / "repository"
    (root / "a").mkdir(parents=True)
    (root / "b").mkdir()
    (root / "a/both.py").write_text(loops.both)
    (root / "b/total.py").write_bytes(loops.total.replace("\n", "\r\n").encode())
    (root / "b/run.sh").write_text("true\n")
    for words in (["init", "-q", "-b", "main"], ["config", "user.name", "Ada"], ["config", "user.email", "ada@example.org"],
                  ["config", "core.autocrlf", "false"], ["add", "."], ["commit", "-qm", "first"]):  # fmt: skip
        git(root, *words)
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "remote.git")
    git(root, "remote", "add", "origin", str(tmp_path / "remote.git"))
    git(root, "push", "-q", "origin", "main")
    return root


@pytest.fixture
def pr(repository: Path, graphfix: Run) -> Run:
    clean = {name: value for name, value in os.environ.items() if not name.endswith("_TOKEN") and not name.startswith("GITHUB_")}
    return lambda *words, **more: graphfix("pr", *words, cwd=repository, env=clean | more)


def subjects(folder: Path, what: str = f"main..{BRANCH}") -> list[str]:
    return git(folder, "log", "--reverse", "--format=%s", what).splitlines()


def tips(folder: Path) -> str:
    return git(folder, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads")


def state(folder: Path) -> tuple[str, str, bytes]:
    return git(folder, "status", "--porcelain"), git(folder, "symbolic-ref", "HEAD"), (folder / ".git/index").read_bytes()


def test_one_commit_for_each_rule_beside_the_tree(repository: Path, pr: Run, loops: SimpleNamespace) -> None:
    before = state(repository)
    done = pr()
    assert done.returncode == 0, done.stderr
    assert state(repository) == before
    assert subjects(repository) == ["Repair accumulated-graph in 2 places", "Repair legacy-scalar in 1 place"]
    assert git(repository, "diff", "--name-only", f"{BRANCH}~2", f"{BRANCH}~1").splitlines() == ["a/both.py", "b/total.py"]
    assert git(repository, "diff", "--name-only", f"{BRANCH}~1", BRANCH).splitlines() == ["a/both.py"]
    shown = subprocess.run(["git", "show", f"{BRANCH}:b/total.py"], cwd=repository, capture_output=True).stdout
    assert shown == loops.total_fixed.replace("\n", "\r\n").encode()
    assert b"made branch graphfix/autograd: 2 commits on main" in done.stderr
    assert not [name for name in os.listdir(repository / ".git") if name.startswith(".graphfix")]


def test_a_commit_says_what_why_how_and_where(repository: Path, pr: Run) -> None:
    pr("--check", "test -f b/run.sh")
    message = git(repository, "log", "-1", "--format=%an <%ae>%n%B", f"{BRANCH}~1")
    assert message.startswith("Ada <ada@example.org>\nRepair accumulated-graph in 2 places\n\nA running total")
    for words in (
        "memory grows with every iteration",
        "All repairs are safe",
        "`test -f b/run.sh` passes",
        "- b/total.py:13: store",
    ):
        assert words in message.replace("\n", " ") or words in message
    assert "Graphfix-Rule: GF101" in message.splitlines()
    assert all(len(line) <= 80 for line in message.splitlines() if not line.startswith("Graphfix"))


def test_what_is_hidden_in_names_and_lines_is_seen_by_the_maintainer(repository: Path, pr: Run, loops: SimpleNamespace) -> None:
    hidden = "\u200b\U000e0061\u00ad\u2066"
    (repository / f"c{hidden}.py").write_text(loops.total.replace("total += loss", f"total += loss  # {hidden}").replace("total", "t\u3164"))
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "c")
    done = pr("--check", f"true {hidden}")
    assert done.returncode == 0, done.stderr
    message = git(repository, "log", "-1", "--format=%B", f"{BRANCH}~1")
    for text in (message, done.stdout.decode(), done.stderr.decode()):
        assert "\\u200b\\U000e0061\\xad\\u2066" in text.replace("\n", "")
        assert [char for char in text if not char.isprintable() and char != "\n" or char in "\u3164\u1160"] == []
    assert hidden.encode() in subprocess.run(["git", "show", f"{BRANCH}:c{hidden}.py"], cwd=repository, capture_output=True).stdout


def test_the_result_is_what_apply_makes(repository: Path, pr: Run, graphfix: Run) -> None:
    pr()
    graphfix("apply", cwd=repository)
    assert git(repository, "diff", BRANCH) == ""


def test_the_text_tells_all_that_a_maintainer_asks(repository: Path, pr: Run) -> None:
    (repository / "c.py").write_text(display())
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "c")
    text = pr("--check", "true").stdout.decode()
    for words in (
        "| [GF101 accumulated-graph](https://", "| 2 | 2 | safe |", "- `a/both.py:14`: `total` keeps",
        "; store `loss.item()` (safe: no backward() uses",
        "```diff\n@@ a/both.py:14 @@\n", "-    total += loss\n+    total += loss.item()\n", "- `true` passes on the result",
        "## Found, but not changed", "- [ ] `c.py:", "graphfix apply .", git(repository, "rev-parse", "HEAD"),
    ):  # fmt: skip
        assert words in text, words


def display() -> str:
    return sorted((Path(__file__).parents[2] / "fixtures").glob("*/display_*/before.py"))[0].read_text()


def test_links_lead_to_the_lines_of_the_base(repository: Path, pr: Run) -> None:
    git(repository, "remote", "set-url", "origin", "git@github.com:acme/a%20trainer.git")
    base = git(repository, "rev-parse", "HEAD")
    assert f"https://github.com/acme/a%2520trainer/blob/{base}/a/both.py#L14" in pr().stdout.decode()
    git(repository, "remote", "set-url", "origin", "https://gitlab.example.org/a/b/c.git")
    text = pr("--update").stdout.decode()
    assert f"https://gitlab.example.org/a/b/c/-/blob/{base}/b/total.py#L13" in text


def test_unsafe_repairs_are_told_as_choices(repository: Path, pr: Run) -> None:
    (case,) = sorted((Path(__file__).parents[2] / "fixtures/GF303-missing-detach").glob("unsafe_*/before.py"))[:1]
    (repository / "c.py").write_text(case.read_text())
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "c")
    assert "- [ ] `c.py:" in pr().stdout.decode()
    text = pr("--update", "--unsafe-fixes").stdout.decode()
    assert "(unsafe), not proven safe: " in text and "graphfix apply --unsafe-fixes ." in text and "- [ ]" not in text


@pytest.mark.parametrize("change", ["staged", "not staged"])
def test_a_dirty_tree_is_refused(repository: Path, pr: Run, change: str) -> None:
    (repository / "b/run.sh").write_text("false\n")
    if change == "staged":
        git(repository, "add", ".")
    before = tips(repository)
    done = pr()
    assert done.returncode == 2 and b"b/run.sh: differs from the commit" in done.stderr
    assert b"changes that are not committed" in done.stderr and tips(repository) == before


def test_an_untracked_file_does_not_matter_unless_it_is_repaired(repository: Path, pr: Run, loops: SimpleNamespace) -> None:
    (repository / "notes").write_text("x")
    assert pr().returncode == 0
    (repository / "new.py").write_text(loops.total)
    done = pr("--update")
    assert done.returncode == 2 and b"new.py: untracked" in done.stderr


def test_a_failing_check_leaves_nothing(repository: Path, pr: Run) -> None:
    before = tips(repository)
    done = pr("--check", "grep -q 'loss.data' a/both.py || { echo it is gone; exit 3; }")
    assert done.returncode == 1 and done.stdout == b""
    assert b"fails with the repairs (exit code 3)" in done.stderr and b"\n  it is gone\n" in done.stderr
    assert b"without them, too" not in done.stderr and tips(repository) == before
    assert b"it does so without them, too" in pr("--check", "test -f nothing").stderr


def test_nothing_to_repair_is_no_branch(repository: Path, pr: Run) -> None:
    done = pr("--select", "GF308")
    assert (done.returncode, done.stdout) == (0, b"") and b"no branch was made" in done.stderr
    assert subjects(repository, "main") == ["first"] and BRANCH not in tips(repository)


def test_what_is_wrong_is_one_line(repository: Path, pr: Run, tmp_path: Path, graphfix: Run) -> None:
    git(repository, "branch", "other")
    for words, message in (
        (["--open"], "--open needs --push REMOTE"), (["--draft"], "--draft says how --open opens"),
        (["--push", "up"], "there is no remote up, only origin"), (["--base", "no"], "there is no branch no"),
        (["--branch", "a..b"], "'a..b' cannot be the name of a branch"), (["--branch", "main"], "the branch main exists"),
        (["--branch", "main", "--update"], "the branch main is checked out"), (["-"], "pr makes commits of files"),
        (["--check", "'"], "is not a command"), (["--split", "owner"], "there is no CODEOWNERS"),
        (["--push", "origin", "--open"], "is not known to be of GitHub or GitLab; --forge says so"),
    ):  # fmt: skip
        done = pr(*words)
        assert done.returncode == 2 and message in done.stderr.decode(), done.stderr
        assert done.stderr.decode().splitlines()[-1].startswith("graphfix: error: ")
    outside = tmp_path / "outside"
    outside.mkdir()
    assert graphfix("pr", cwd=outside).stderr == b"graphfix: error: not in a git repository\n"
    git(outside, "init", "-q")
    assert b"has no commit yet" in graphfix("pr", cwd=outside).stderr


def test_pushed_and_made_anew_on_a_new_base(repository: Path, pr: Run, tmp_path: Path, loops: SimpleNamespace) -> None:
    remote = tmp_path / "remote.git"
    assert pr("--push", "origin").returncode == 0
    assert subjects(remote) == subjects(repository)
    first = tips(remote)
    assert b"exists: --update makes it anew" in pr("--push", "origin").stderr
    done = pr("--push", "origin", "--update")
    assert b"up to date" in done.stderr and b"origin has it already" in done.stderr and tips(remote) == first
    (repository / "c.py").write_text(loops.total)
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "second")
    assert b"main has 1 commit that origin has not: push them first" in pr("--push", "origin", "--update").stderr
    git(repository, "push", "-q", "origin", "main")
    assert pr("--push", "origin", "--update").returncode == 0
    assert subjects(remote) == ["Repair accumulated-graph in 3 places", "Repair legacy-scalar in 1 place"]
    assert git(remote, "rev-parse", f"{BRANCH}~2") == git(remote, "rev-parse", "main")


@pytest.mark.parametrize("place", ["here", "there"])
@pytest.mark.parametrize("change", ["commit", "amended"])
def test_the_work_of_others_on_the_branch_is_not_overwritten(
    repository: Path, pr: Run, tmp_path: Path, place: str, change: str
) -> None:
    pr("--push", "origin")
    clone = repository
    if place == "there":
        clone = tmp_path / "clone"
        git(tmp_path, "clone", "-q", str(tmp_path / "remote.git"), "clone")
        git(clone, "config", "user.name", "Bob")
        git(clone, "config", "user.email", "bob@example.org")
    git(clone, "checkout", "-q", BRANCH)
    (clone / "a/both.py").write_text("# mine\n")
    git(clone, "commit", "-qa", *(["--amend", "--no-edit"] if change == "amended" else ["-m", "Mine"]))
    git(clone, "push", "-q", "--force", "origin", BRANCH) if place == "there" else git(clone, "checkout", "-q", "main")
    before = tips(repository), tips(tmp_path / "remote.git")
    done = pr("--update", "--push", "origin")
    assert done.returncode == 2 and b"has 1 commit that graphfix did not make" in done.stderr, done.stderr
    assert (tips(repository), tips(tmp_path / "remote.git")) == before


def test_a_rebased_branch_is_still_ours(repository: Path, pr: Run, loops: SimpleNamespace) -> None:
    pr()
    (repository / "c.py").write_text(loops.clean)
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "second")
    git(repository, "rebase", "-q", "main", BRANCH)
    git(repository, "checkout", "-q", "main")
    assert pr("--update").returncode == 0


def test_split_by_rule_gives_branches_that_stand_alone(repository: Path, pr: Run) -> None:
    done = pr("--split", "rule", "--output", "../text.md", "--push", "origin")
    assert done.returncode == 0, done.stderr
    for code, count in (("gf101", 2), ("gf901", 1)):
        assert len(subjects(repository, f"main..{BRANCH}-{code}")) == 1
        text = (repository.parent / f"text-{code}.md").read_text()
        assert f"| {count} | {count} | safe |" in text and f"graphfix apply --select {code.upper()} ." in text
    assert "loss.data[0]" in git(repository, "show", f"{BRANCH}-gf101:a/both.py")
    assert tips(repository).count(BRANCH) == tips(repository.parent / "remote.git").count(BRANCH) == 2


def test_split_by_folder_and_by_owner(repository: Path, pr: Run) -> None:
    (repository / ".github").mkdir()
    (repository / ".github/CODEOWNERS").write_text(
        "* @acme/all\n/b/ @bea bob@example.org\n# the last one counts\n/b/*.sh @carl\n"
    )
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "owners")
    assert pr("--split", "folder").returncode == 0
    done = pr("--split", "owner", "--branch", "fix")
    assert done.returncode == 0, done.stderr
    made = [line.split()[0].removeprefix("refs/heads/") for line in tips(repository).splitlines()]
    assert made == ["fix-acme-all", "fix-bea-bob-example-org", f"{BRANCH}-a", f"{BRANCH}-b", "main"]
    assert git(repository, "diff", "--name-only", "main", "fix-bea-bob-example-org") == "b/total.py"
    assert b"<!-- fix-acme-all: Repair 2 misuses of autograd graphs (@acme/all) -->" in done.stdout


def test_files_whose_newlines_git_converts(repository: Path, pr: Run, loops: SimpleNamespace) -> None:
    (repository / ".gitattributes").write_text("*.py text eol=crlf\n")
    git(repository, "add", "--renormalize", ".")
    git(repository, "commit", "-qm", "attributes")
    git(repository, "rm", "-q", "--cached", "-r", "a", "b")
    git(repository, "reset", "-q", "--hard")
    assert b"\r\n" in (repository / "a/both.py").read_bytes()
    assert pr().returncode == 0
    shown = subprocess.run(["git", "show", f"{BRANCH}:b/total.py"], cwd=repository, capture_output=True).stdout
    assert shown == loops.total_fixed.encode()


def test_modes_and_names_are_kept(repository: Path, pr: Run, loops: SimpleNamespace) -> None:
    name = 'ä "q\tuote".py'
    (repository / name).write_text(loops.total)
    (repository / name).chmod(0o755)
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "odd")
    assert pr().returncode == 0
    raw = git(repository, "-c", "core.quotePath=false", "diff", "--raw", "-z", "main", BRANCH, "--", name)
    assert raw.startswith(":100755 100755") and name in raw


def test_in_a_linked_work_tree_and_a_folder_below(repository: Path, graphfix: Run, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "work", str(tmp_path / "linked"))
    done = graphfix("pr", cwd=tmp_path / "linked/a")
    assert done.returncode == 0, done.stderr
    assert git(repository, "diff", "--name-only", "main", BRANCH) == "a/both.py"
    assert b"cd a\ngraphfix apply .\n" in done.stdout


def test_verified_repairs_carry_their_measures(repository: Path, pr: Run, loops: SimpleNamespace) -> None:
    (repository / "a/both.py").write_text(loops.quick.replace("total +=", "print(loss.data[0])\n    total +="))
    git(repository, "commit", "-qam", "quick")
    command = f"{shlex.quote(sys.executable)} a/both.py"
    done = pr("a", "--verify", command, "--select", "GF901")
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode()
    assert f"`{command}` ran before and after:" in text and "| graph |" in text and "| after | finished" in text


class Forge(BaseHTTPRequestHandler):
    """Just enough of GitHub and GitLab; remembers what it was told."""

    def do_GET(self) -> None:
        self.answer(200, self.server.open)  # type: ignore[attr-defined]

    def do_POST(self) -> None:
        self.store(201)

    def do_PATCH(self) -> None:
        self.store(200)

    def do_PUT(self) -> None:
        self.store(200)

    def store(self, status: int) -> None:
        data = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server: Any = self.server
        server.told.append((self.command, self.path, dict(self.headers), data))
        if server.refusal:
            return self.answer(422, {"message": "Validation Failed", "errors": [{"message": "a reason"}]})
        pull = {"number": 7, "iid": 7, "html_url": "https://x/pull/7", "web_url": "https://x/mr/7", **data}
        pull["url"] = f"http://127.0.0.1:{server.server_port}/repos/acme/trainer/pulls/7"
        server.open = [pull]
        self.answer(status, pull)

    def answer(self, status: int, document: object) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def forge() -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Forge)
    server.open, server.told, server.refusal = [], [], False
    server.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()


def hosted(repository: Path, url: str) -> dict[str, str]:
    """The remote says that it is on a forge, and is, by settings of the user's, the bare repository all the same."""
    git(repository, "remote", "set-url", "origin", url)
    name = f"url.{repository.parent / 'remote.git'}.insteadOf"
    return {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": name, "GIT_CONFIG_VALUE_0": url}


HOOK = "#!/bin/sh\ntouch \"$RAN\"\n"
LEADS_IN = {
    "instead of the forge": lambda inner: [("remote", "set-url", "origin", FORGE), ("config", f"url.{inner}.insteadOf", FORGE)],
    "only for a push": lambda inner: [("remote", "set-url", "origin", FORGE), ("config", f"url.{inner}.pushInsteadOf", FORGE)],
    "by its own address": lambda inner: [("remote", "set-url", "origin", inner)],
    "by a path from the top": lambda inner: [("remote", "set-url", "origin", "./b/inner.git")],
    "as a file": lambda inner: [("remote", "set-url", "origin", f"file://{inner}")],
    "by a second address": lambda inner: [("remote", "set-url", "--add", "--push", "origin", inner)],
}
FORGE = "https://forge.invalid/acme/trainer.git"


@pytest.mark.parametrize("way", LEADS_IN)
def test_no_hook_that_came_with_the_tree_is_run(repository: Path, pr: Run, tmp_path: Path, way: str) -> None:
    inner = repository / "b/inner.git"
    git(repository, "init", "-q", "--bare", str(inner))
    for name in ("pre-receive", "update", "post-receive", "post-update", "reference-transaction"):
        (inner / "hooks").mkdir(exist_ok=True)
        (inner / "hooks" / name).write_text(HOOK)
        (inner / "hooks" / name).chmod(0o755)
    for words in LEADS_IN[way](str(inner)):
        git(repository, *words)
    done = pr("--push", "origin", RAN=str(tmp_path / "ran"), GIT_SSH_COMMAND="false", http_proxy="http://127.0.0.1:9")
    assert done.returncode == 2
    assert not (tmp_path / "ran").exists() and not git(inner, "for-each-ref")
    told = done.stderr.decode()
    assert "inside of the work tree" in told if "instead" not in way and "only" not in way else "forge.invalid" in told, told


def test_opened_and_updated_on_github(repository: Path, pr: Run, forge: Any) -> None:
    variables = hosted(repository, "https://github.com/acme/trainer.git") | {"GITHUB_TOKEN": "s3cret", "GITHUB_API_URL": forge.address}
    done = pr("--push", "origin", "--open", "--draft", **variables)
    assert done.returncode == 0 and b"opened https://x/pull/7" in done.stderr, done.stderr
    verb, path, headers, data = forge.told[0]
    assert (verb, path, headers["Authorization"]) == ("POST", "/repos/acme/trainer/pulls", "token s3cret")
    assert (data["head"], data["base"], data["draft"]) == (BRANCH, "main", True)
    assert data["title"] == "Repair 3 misuses of autograd graphs" and data["body"] == done.stdout.decode()
    forge.open[0]["body"] = "Read me first.\n\n" + data["body"] + "\nReviewed."
    done = pr("--push", "origin", "--open", "--update", "--select", "GF901", **variables)
    assert done.returncode == 0 and b"updated https://x/pull/7" in done.stderr
    verb, path, _, data = forge.told[1]
    assert (verb, path) == ("PATCH", "/repos/acme/trainer/pulls/7") and data["title"] == "Repair legacy-scalar in 1 place"
    assert data["body"].startswith("Read me first.\n\n<!-- graphfix:") and data["body"].endswith(
        "<!-- graphfix: end -->\n\nReviewed."
    )
    assert "GF101" not in data["body"]
    forge.open[0]["body"] = "all mine"
    done = pr("--push", "origin", "--open", "--update", **variables)
    assert b"its text was left alone" in done.stderr and forge.told[2][3]["body"] == "all mine"
    assert all(b"s3cret" not in path.read_bytes() for path in repository.rglob("*") if path.is_file())
    assert b"s3cret" not in done.stdout + done.stderr


def test_opened_and_updated_on_gitlab(repository: Path, pr: Run, forge: Any) -> None:
    variables = hosted(repository, "https://gitlab.com/acme/deep/trainer.git") | {"GITLAB_TOKEN": "s3cret", "GITLAB_API_URL": forge.address}
    done = pr("--push", "origin", "--open", "--draft", **variables)
    assert done.returncode == 0 and b"opened https://x/mr/7" in done.stderr, done.stderr
    verb, path, headers, data = forge.told[0]
    assert (verb, path) == ("POST", "/api/v4/projects/acme%2Fdeep%2Ftrainer/merge_requests")
    assert {name.lower(): value for name, value in headers.items()}["private-token"] == "s3cret"
    assert data["source_branch"] == BRANCH and data["target_branch"] == "main"
    assert data["title"] == "Draft: Repair 3 misuses of autograd graphs" and data["description"] == done.stdout.decode()
    done = pr("--push", "origin", "--open", "--update", "--select", "GF901", **variables)
    assert done.returncode == 0 and b"updated https://x/mr/7" in done.stderr, done.stderr
    assert forge.told[1][0] == "PUT" and forge.told[1][3]["title"] == "Draft: Repair legacy-scalar in 1 place"


def test_what_the_forge_refuses_is_said(repository: Path, pr: Run, forge: Any) -> None:
    variables = hosted(repository, "https://github.com/acme/trainer.git")
    forge.refusal = True
    done = pr("--push", "origin", "--open", GH_TOKEN="s3cret", GITHUB_API_URL=forge.address, **variables)
    assert done.returncode == 2 and b"the branch is pushed, but github.com does not take the pull request" in done.stderr
    assert b"422: Validation Failed: a reason" in done.stderr and b"s3cret" not in done.stderr
    done = pr("--push", "origin", "--open", "--update", GH_TOKEN="s3cret", GITHUB_API_URL="http://127.0.0.1:1", **variables)
    assert done.returncode == 2 and b"no connection" in done.stderr and b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("url", "token", "words"),
    [
        ("git@github.com:acme/trainer.git", {}, "gh pr create --repo github.com/acme/trainer --base main --head graphfix/autograd"),
        ("https://ghe.acme.org/acme/trainer", {"GITHUB_TOKEN": "s3cret"}, "no token for ghe.acme.org in GH_ENTERPRISE_TOKEN"),
        ("https://gitlab.acme.org/acme/trainer", {"GITLAB_TOKEN": "s3cret"}, "glab mr create --repo https://gitlab.acme.org/acme/trainer"),
    ],
)  # fmt: skip
def test_without_a_token_for_the_host_the_command_is_printed(
    repository: Path, pr: Run, url: str, token: dict[str, str], words: str
) -> None:
    variables = hosted(repository, url)
    kind = ["--forge", "github"] if "ghe" in url else []
    done = pr("--push", "origin", "--open", *kind, **token, **variables)
    assert done.returncode == 0 and words in done.stderr.decode(), done.stderr
    file = repository / ".git/graphfix/graphfix-autograd.md"
    assert str(file) in done.stderr.decode() and file.read_bytes() == done.stdout
    assert b"s3cret" not in done.stderr
