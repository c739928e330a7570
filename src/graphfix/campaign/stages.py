"""The stages of one repository, each from plain data to plain data, wherever it is worked on.

What is large (findings, the patch, the text) goes into the repository's folder of results, whole or not at all. Each stage may be
begun anew after it was cut off: it comes to the same.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import field
from pathlib import Path
from typing import Any

from graphfix import __version__
from graphfix.campaign.clone import Wish, cloned, fetch, is_clone, upstream
from graphfix.campaign.state import Stage
from graphfix.files.git import GitFailed, run
from graphfix.files.store import store
from graphfix.files.temporary import is_temporary
from graphfix.lazy_dataclass import dataclass
from graphfix.source.errors import SourceError
from graphfix.source.reading import STATE_BYTES, read_json

FINDINGS, PATCH, TEXT, LOG = "findings.json", "repairs.patch", "text.md", "log.txt"
# started in the clone, which may hold a folder of the name `graphfix`
_COMMAND = (sys.executable, "-c", "import sys; sys.path.pop(0); from graphfix.cli import main; sys.exit(main())")
_WORST = 5  # files that are named
_lock: ContextVar[tuple[int, ...]] = ContextVar("_lock", default=())
_children: set[subprocess.Popen[bytes]] = set()


@dataclass(frozen=True)
class Task:
    """One repository and what is asked of it. `folder`: the campaign's.

    `begun` and `author`: the time and the name and address that its commits tell, wherever they are made. `known`: the branch and the
    commit that were cloned earlier.
    """

    name: str
    url: str
    stage: Stage
    folder: Path
    begun: int
    author: tuple[str, str] = ("", "")
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    unsafe: bool = False
    check: str = ""
    verify: str = ""
    timeout: int = 600
    branch: str = ""
    base: str = ""
    forge: str = ""
    depth: int = 0
    seconds: float = 3600.0
    known: tuple[str, str] = ("", "")

    @property
    def clone(self) -> Path:
        return self.folder / "clones" / self.name

    @property
    def results(self) -> Path:
        return self.folder / "results" / self.name

    @property
    def chosen(self) -> list[str]:
        """The options that say which findings and fixes are wanted."""
        words = [f"--select={','.join(self.select)}"] if self.select else []
        words += [f"--ignore={','.join(self.ignore)}"] if self.ignore else []
        return [*words, *(["--unsafe-fixes"] if self.unsafe else [])]

    @property
    def asked(self) -> list[str]:
        """All that decides what comes out of the stage, but for the repository."""
        words = [__version__, *self.chosen]
        return [*words, self.check, self.verify, self.branch, self.forge] if self.stage is Stage.FIXED else words

    @property
    def wish(self) -> Wish:
        """What is cloned."""
        return Wish(self.url, self.base, self.branch, self.depth, self.seconds)


@dataclass(frozen=True)
class Result:
    """Where a repository is now, and what was found out."""

    stage: Stage
    reason: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0


class Stopped(Exception):
    """The stage cannot be done, and why."""


def carry_out(task: Task) -> Result:
    """The stage that comes next for a repository; a failure of its own is its result."""
    started = time.monotonic()
    stages: Mapping[Stage, Callable[[Task], Result]] = {
        Stage.DISCOVERED: clone,
        Stage.CLONED: analyse,
        Stage.ANALYSED: fix,
        Stage.FIXED: verify if task.check or task.verify else branch,
        Stage.VERIFIED: branch,
    }
    try:
        task.results.mkdir(parents=True, exist_ok=True)
        with _alone(task):
            done = stages[task.stage](task)
    except (Stopped, GitFailed, OSError) as error:
        done = Result(Stage.FAILED, f"{_STAGE_NAMES[task.stage]}: {str(error).removeprefix('fatal: ')}")
    facts = {**done.facts, asked_at(task.stage): task.asked} if task.stage in ASKED else done.facts
    return Result(done.stage, done.reason, facts, time.monotonic() - started)


# the stages that settings decide on; a stage that comes later may have been asked other things than an earlier one
ASKED = (Stage.CLONED, Stage.ANALYSED, Stage.FIXED)


def asked_at(stage: Stage) -> str:
    """The fact that tells what a stage was asked."""
    return f"asked-{stage.value}"


def look(task: Task) -> Result:
    """Whether a repository has to be cloned again: then it is DISCOVERED, else where it is; FAILED where nobody knows.

    What is new is fetched already: a network that is gone shall be known before anything is given up.
    """
    try:
        there = upstream(task.wish, task.clone)
        moved = (there.branch, there.commit) != task.known or not is_clone(task.clone)
        if moved and is_clone(task.clone):
            task.results.mkdir(parents=True, exist_ok=True)
            with _alone(task):
                fetch(task.wish, task.clone, there.branch)
    except (Stopped, GitFailed, OSError) as error:
        return Result(Stage.FAILED, str(error).removeprefix("fatal: "))
    return Result(Stage.DISCOVERED if moved else task.stage)


_STAGE_NAMES = {
    Stage.DISCOVERED: "clone",
    Stage.CLONED: "analysis",
    Stage.ANALYSED: "repair",
    Stage.FIXED: "branch",
    Stage.VERIFIED: "branch",
}


def clone(task: Task) -> Result:
    """The repository as it is now, and nothing of an earlier pass over it."""
    for name in (FINDINGS, PATCH, TEXT):
        (task.results / name).unlink(missing_ok=True)
    made = cloned(task.wish, task.clone)
    if made.branch == task.branch:
        raise Stopped(f"its remote has {made.branch} checked out; set offer.base to the branch to merge into")
    run(task.clone, "update-ref", "-d", f"refs/heads/{task.branch}")
    return Result(Stage.CLONED, facts={"commit": made.commit, "base": made.branch})


def analyse(task: Task) -> Result:
    """All findings, and how many of them can be repaired."""
    data = _said(task, "check", "--output-format=json", *task.chosen, ".", ok=(0, 1, 2))
    try:
        told = json.loads(data)
    except ValueError as error:
        raise Stopped(f"graphfix check printed no JSON; see {LOG}") from error
    store(task.results / FINDINGS, data)
    found = [each for each in told if is_finding(each)]
    applied = ("safe", "unsafe") if task.unsafe else ("safe",)
    fixable = [each for each in found if (each.get("fix") or {}).get("applicability") in applied]
    files = Counter(each["filename"] for each in found)
    facts = {
        "findings": dict(sorted(Counter(each["code"] for each in found).items())),
        "fixable": len(fixable),
        "unfinished": len(told) - len(found),
        "worst": sorted(files.items(), key=lambda each: (-each[1], each[0]))[:_WORST],
    }
    if fixable:
        return Result(Stage.ANALYSED, facts=facts)
    return Result(Stage.CLEAN, f"findings: {len(found)}, none with a fix to apply" if found else "no findings", facts)


def fix(task: Task) -> Result:
    """The patch that would be made."""
    patch = _said(task, "diff", *task.chosen, ".", ok=(0, 1, 2))
    store(task.results / PATCH, patch)
    lines = patch.splitlines()
    added = sum(line.startswith(b"+") and not line.startswith(b"+++") for line in lines)
    files = sum(line.startswith(b"+++") for line in lines)
    if not files:
        return Result(Stage.CLEAN, "no fix passes its trial")
    return Result(Stage.FIXED, facts={"files": files, "lines": added})


def verify(task: Task) -> Result:
    """The branch, made with the commands that check it; it is told as a stage of its own, as these may run for long."""
    made = branch(task)
    if made.stage is not Stage.BRANCHED:
        return made
    return Result(Stage.VERIFIED, facts={**made.facts, "checked": [each for each in (task.check, task.verify) if each]})


def branch(task: Task) -> Result:
    """A commit for each rule on a branch of the clone, and the text of the pull request."""
    if task.stage is not Stage.VERIFIED:
        words = [f"--check={task.check}"] if task.check else []
        words += [f"--verify={task.verify}"] if task.verify else []
        words += [f"--forge={task.forge}"] if task.forge else []
        options = [f"--branch={task.branch}", "--update", f"--timeout={task.timeout}", f"--output={task.results / TEXT}"]
        run(task.clone, "update-ref", "-d", f"refs/heads/{task.branch}")  # one of an earlier try
        try:
            _said(task, "pr", *options, *words, *task.chosen, ".", ok=(0,))
        except Stopped:
            if not commits_of(task):  # else the branch is made, and files that cannot be read are told in its text
                raise
    commits = commits_of(task)
    if not commits:
        return Result(Stage.CLEAN, "no fix passes its trial")
    return Result(Stage.BRANCHED, facts={"tip": commits[-1]["id"], "commits": commits})


def commits_of(task: Task) -> list[dict[str, str]]:
    """The commits of the branch that was made, the oldest first: each with its rule and subject."""
    from graphfix.pullrequest.commits import RULE
    from graphfix.pullrequest.repository import NotMade, repository_at

    try:
        repository = repository_at(task.clone)
    except NotMade as error:
        raise Stopped(str(error)) from error
    name = f"refs/heads/{task.branch}"
    if not repository.commit_of(name):
        return []
    made = repository.commits(name)
    return [{"id": one.id, "rule": one.trailers.get(RULE, ""), "subject": one.message.partition("\n")[0]} for one in made]


def _said(task: Task, *words: str, ok: Sequence[int]) -> bytes:
    """What a command of graphfix in the clone prints; `Stopped` with the end of what it complained of."""
    when = f"@{task.begun} +0000"
    # one repository after the other, whose commits tell the same time whenever they are made
    variables = {**os.environ, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when, "NO_COLOR": "1", "GIT_TERMINAL_PROMPT": "0"}
    for name, value in zip(("NAME", "EMAIL"), task.author, strict=True):
        variables |= {f"GIT_AUTHOR_{name}": value, f"GIT_COMMITTER_{name}": value} if value else {}
    for name in ("GH_TOKEN", "GITHUB_TOKEN", "GITLAB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"):
        variables.pop(name, None)  # nothing that runs here has any business with it
    with open(task.results / LOG, "ab") as log:
        log.write(f"$ graphfix {' '.join(words)}\n".encode("utf-8", "backslashreplace"))
        log.flush()
        place = log.tell()
        command = [*_COMMAND, *words]
        child = subprocess.Popen(
            command, cwd=task.clone, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, env=variables,
            start_new_session=True, pass_fds=_lock.get(),
        )  # fmt: skip
        _children.add(child)
        try:
            said, _ = child.communicate(timeout=task.seconds)
        except subprocess.TimeoutExpired as error:
            raise Stopped(f"it takes longer than {task.seconds / 60:g} minutes") from error
        finally:
            _end(child)
    if child.returncode not in ok:
        raise Stopped(_complaint(task.results / LOG, place) or f"graphfix {words[0]} ended with {child.returncode}")
    return said


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    _children.discard(child)


def end_all() -> None:
    """End the commands that are under way in this process, and what they have started."""
    for child in list(_children):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)


def _complaint(log: Path, place: int) -> str:
    with contextlib.suppress(OSError), open(log, "rb") as stream:
        stream.seek(place)
        lines = stream.read(1 << 20).decode("utf-8", "replace").splitlines()
        told = [line.strip() for line in lines if line.strip()]
        chosen = [line for line in told if line.startswith("graphfix: ")] or told[-1:]
        return chosen[0].removeprefix("graphfix: ").removeprefix("error: ")[:300] if chosen else ""
    return ""


@contextlib.contextmanager
def _alone(task: Task) -> Iterator[None]:
    """Wait for whoever works on the repository: what a killed run had begun there may still be under way.

    The lock goes to the commands that are run, and ends with the last of them.
    """
    import fcntl

    handle = os.open(task.results / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        until = time.monotonic() + task.seconds
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > until:
                    raise Stopped("another run works on it") from error
                time.sleep(0.1)
        held = _lock.set((handle,))
        try:
            for name in filter(is_temporary, os.listdir(task.results)):  # nobody else writes there: whoever made it was killed
                (task.results / name).unlink(missing_ok=True)
            yield
        finally:
            _lock.reset(held)
    finally:
        os.close(handle)


def findings_of(results: Path) -> list[dict[str, Any]]:
    """The findings that the analysis of a repository has kept; none where it has not come so far."""
    try:
        found = read_json(results / FINDINGS, STATE_BYTES)
    except SourceError:
        return []
    return [each for each in found if isinstance(each, dict) and is_finding(each)] if isinstance(found, list) else []


def is_finding(entry: Mapping[str, Any]) -> bool:
    """Whether an entry of graphfix's JSON tells of a rule, and not of a file that was not analysed to its end."""
    return str(entry.get("code", "")).startswith("GF")
