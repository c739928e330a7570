"""A campaign as it runs: each repository from stage to stage, several at a time, every step written down before the next."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from dataclasses import replace
from pathlib import Path

from graphfix.campaign.config import Config
from graphfix.campaign.earlier import repositories_of
from graphfix.campaign.stages import ASKED, Result, Task, asked_at, carry_out, look
from graphfix.campaign.state import Stage, State, Target
from graphfix.campaign.targets import discovered, name_for
from graphfix.files.git import run
from graphfix.files.worktree import top_of

# stages whose next one is worked on beside others; what is offered is offered one after the other
WORKED_ON = (Stage.DISCOVERED, Stage.CLONED, Stage.ANALYSED, Stage.FIXED, Stage.VERIFIED)
# where a repository is done anew when the target has changed since; merged or closed is for good, and what has failed is tried again when asked
RENEWED = (Stage.CLEAN, Stage.FIXED, Stage.VERIFIED, Stage.BRANCHED, Stage.PUSHED, Stage.OPENED)
# what is known of a repository whatever becomes of it: its rules, and what was offered
_LASTING = ("only", "branch", "pushed", "link")
_TICK = 1.0  # seconds


class Busy(Exception):
    """Another process runs this campaign."""


class Gone(Exception):
    """Nobody works on the stages any more; what was done is written down."""


@contextlib.contextmanager
def sole(folder: Path) -> Iterator[None]:
    """Nobody else conducts the campaign in `folder` meanwhile; raises `Busy`."""
    import fcntl  # not every system has it, and help is the same on all

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
    here = Path.cwd()
    told = os.fsdecode(run(top_of(here / "_") or here, "var", "GIT_AUTHOR_IDENT"))
    name, _, rest = told.rpartition(" <")
    return name, rest.partition(">")[0]


def task_for(target: Target, config: Config, begun: int, author: tuple[str, str]) -> Task:
    """What is asked of a repository at the stage that it has come to. `begun`, `author`: what all commits of the campaign tell."""
    facts = target.facts
    return Task(
        target.name, target.url, target.stage, config.folder, begun, author,
        tuple(facts.get("only") or config.words("repair", "select")), tuple(config.words("repair", "ignore")), config.flag("repair", "unsafe-fixes"),
        config.text("repair", "check"), config.text("repair", "verify"), config.number("repair", "timeout"),
        branch_of(target, config), config.text("offer", "base"), config.text("targets", "forge"),
        config.number("limits", "depth"), config.number("limits", "minutes") * 60.0, (facts.get("base", ""), facts.get("commit", "")),
    )  # fmt: skip


def branch_of(target: Target, config: Config) -> str:
    """The branch of a repository; one that was pushed keeps its name, or there would be two."""
    return str(target.facts.get("branch") or config.text("offer", "branch"))


def conduct(
    config: Config, state: State, pool: Executor, at_a_time: int, until: Stage, tell: Callable[[Target | None], None],
    author: tuple[str, str] = ("", ""), unknown: Callable[[Target, str], None] | None = None,
) -> None:  # fmt: skip
    """Bring all repositories to the stage `until`, or to their end; `tell` is called at each step, and each second with None.

    With `unknown`, those that are done are looked at first, and done anew where they have moved on or where the campaign asks for something else now of
    them now; it is called with those of which that cannot be said, and why.
    """
    stages = before(until)
    waiting = deque(state.targets(*stages, *(RENEWED if unknown else ())))
    unseen = {target.name for target in waiting if unknown and target.stage in RENEWED}
    running: dict[Future[Result], tuple[Target, Task]] = {}
    while waiting or running:
        while waiting and len(running) < at_a_time:
            target = waiting.popleft()
            task = task_for(target, config, state.begun, author)
            running[pool.submit(look if target.name in unseen else carry_out, task)] = target, task
        done, _ = wait(running, timeout=_TICK, return_when=FIRST_COMPLETED)
        for future in done:
            target, task = running.pop(future)
            if unknown and target.name in unseen:
                unseen.remove(target.name)
                moved = _looked(state, target, task, _result(future), unknown)
            else:
                moved = _moved(state, target, _result(future))
            tell(moved)
            if moved.stage in stages:
                waiting.appendleft(moved)  # what is begun is ended first
        tell(None)


def before(until: Stage) -> tuple[Stage, ...]:
    """The stages at which there is something to work on until a repository is at `until`."""
    return WORKED_ON[: WORKED_ON.index(until)] if until in WORKED_ON else WORKED_ON


def _result(future: Future[Result]) -> Result:
    try:
        return future.result()
    except CancelledError as error:
        raise Gone("the workers are gone; run `graphfix campaign run` again to continue") from error
    except Exception as error:  # the boundary to workers: a fault, or a worker that is gone, costs one repository
        return Result(Stage.FAILED, f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"[:300])


def _moved(state: State, target: Target, result: Result) -> Target:
    reason = result.reason
    if result.stage is Stage.CLEAN and target.is_open:
        reason = "nothing is left to fix, but its pull request is open"
    return state.move(target, result.stage, reason, result.seconds, **result.facts)


def _looked(state: State, target: Target, task: Task, seen: Result, unknown: Callable[[Target, str], None]) -> Target:
    if seen.stage is Stage.FAILED:
        unknown(target, seen.reason)
        return target
    if seen.stage is Stage.DISCOVERED:
        return _anew(state, target, "the target has changed since")
    return _anew(state, target, "the campaign asks for something else now") if _asked_otherwise(target, task) else target


def _asked_otherwise(target: Target, task: Task) -> bool:
    """Whether a stage that the target has been through was asked something else than it would be now."""
    told = [
        (target.facts[asked_at(stage)], replace(task, stage=stage).asked) for stage in ASKED if asked_at(stage) in target.facts
    ]
    return not told or any(then != now for then, now in told)


def again(state: State, targets: Sequence[Target]) -> None:
    """Let repositories that have failed begin anew."""
    for target in targets:
        _anew(state, target, "tried again")


def _anew(state: State, target: Target, why: str) -> Target:
    """Back to the beginning: nothing that was found is left to be taken for what will be."""
    lasting = {name: target.facts[name] for name in _LASTING if name in target.facts}
    return state.move(replace(target, facts=lasting), Stage.DISCOVERED, why)
