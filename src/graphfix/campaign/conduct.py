"""A campaign as it runs: each repository from stage to stage, several at a time, every step written down before the next."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from pathlib import Path

from graphfix.campaign.config import Config
from graphfix.campaign.earlier import repositories_of
from graphfix.campaign.stages import Result, Task, carry_out
from graphfix.campaign.state import Stage, State, Target
from graphfix.campaign.targets import discovered, name_for
from graphfix.files.git import run, user_environment

# stages whose next one is worked on beside others; what is offered is offered one after the other
WORKED_ON = (Stage.DISCOVERED, Stage.CLONED, Stage.ANALYSED, Stage.FIXED, Stage.VERIFIED)
_TICK = 1.0  # seconds


class Busy(Exception):
    """Another process runs this campaign."""


class Gone(Exception):
    """Nobody works on the stages any more; what was done is written down."""


@contextlib.contextmanager
def sole(folder: Path) -> Iterator[None]:
    """Nobody else conducts the campaign in `folder` meanwhile; raises `Busy`."""
    handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Busy(f"another graphfix runs the campaign in {folder}") from error
        yield
    finally:
        os.close(handle)


def take_up(config: Config, state: State, findings: Iterable[Path] = ()) -> int:
    """Take up the repositories that the configuration names, or those of earlier `findings`; how many are new."""
    known = state.names()
    taken, new = set(known.values()), 0
    wanted: Mapping[str, set[str]] = repositories_of(findings) if findings else {url: set() for url in discovered(config)}
    for url, codes in wanted.items():
        if url not in known:
            known[url] = name_for(url, taken)
            taken.add(known[url])
            new += state.add(known[url], url, {"only": sorted(codes)} if codes else {})
    return new


def author() -> tuple[str, str]:
    """The name and the address that git knows of the user; raises `GitFailed`."""
    told = os.fsdecode(run(Path.cwd(), "var", "GIT_AUTHOR_IDENT", environment=user_environment()))
    name, _, rest = told.rpartition(" <")
    return name, rest.partition(">")[0]


def task_for(target: Target, config: Config, begun: int, author: tuple[str, str]) -> Task:
    """What is asked of a repository at the stage that it has come to. `begun`, `author`: what all commits of the campaign tell."""
    return Task(
        target.name, target.url, target.stage, config.folder, begun, author,
        tuple(target.facts.get("only") or config.words("repair", "select")), tuple(config.words("repair", "ignore")), config.flag("repair", "unsafe-fixes"),
        config.text("repair", "check"), config.text("repair", "verify"), config.number("repair", "timeout"),
        config.text("offer", "branch"), config.text("offer", "base"), config.text("targets", "forge"),
        config.number("limits", "depth"), config.number("limits", "minutes") * 60.0,
    )  # fmt: skip


def conduct(
    config: Config, state: State, pool: Executor, at_a_time: int, until: Stage, tell: Callable[[Target | None], None],
    author: tuple[str, str] = ("", ""),
) -> None:  # fmt: skip
    """Bring all repositories to the stage `until`, or to their end; `tell` is called at each step, and each second with None."""
    stages = before(until)
    waiting = deque(state.targets(*stages))
    running: dict[Future[Result], Target] = {}
    while waiting or running:
        while waiting and len(running) < at_a_time:
            target = waiting.popleft()
            running[pool.submit(carry_out, task_for(target, config, state.begun, author))] = target
        done, _ = wait(running, timeout=_TICK, return_when=FIRST_COMPLETED)
        for future in done:
            moved = _moved(state, running.pop(future), future)
            tell(moved)
            if moved.stage in stages:
                waiting.appendleft(moved)  # what is begun is ended first
        tell(None)


def before(until: Stage) -> tuple[Stage, ...]:
    """The stages at which there is something to work on until a repository is at `until`."""
    return WORKED_ON[: WORKED_ON.index(until)] if until in WORKED_ON else WORKED_ON


def _moved(state: State, target: Target, future: Future[Result]) -> Target:
    try:
        result = future.result()
    except CancelledError as error:
        raise Gone("the workers are gone; graphfix campaign run goes on where it was") from error
    except Exception as error:  # the boundary to workers: a fault, or a worker that is gone, costs one repository
        result = Result(Stage.FAILED, f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"[:300])
    return state.move(target, result.stage, result.reason, result.seconds, **result.facts)


def again(state: State, targets: Sequence[Target]) -> None:
    """Let repositories that have failed begin anew."""
    for target in targets:
        state.move(target, Stage.DISCOVERED, "tried again")
