"""`graphfix campaign`: many repositories, from their addresses to pull requests."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from pathlib import Path

from graphfix.campaign import conduct, engines
from graphfix.campaign.config import NAME, Config, blank, load
from graphfix.campaign.earlier import NotFindings
from graphfix.campaign.figures import figures
from graphfix.campaign.offer import Offer
from graphfix.campaign.progress import Progress
from graphfix.campaign.stages import PATCH
from graphfix.campaign.state import ENDED, Stage, State, StateError, Target
from graphfix.cli import session
from graphfix.cli.choices import Action, Engine, ReportFormat
from graphfix.cli.exits import ERROR, FINDINGS, INTERRUPTED, OK
from graphfix.cli.options import Options
from graphfix.cli.terminal import ERR, OUT, quiet_pipe
from graphfix.files.git import GitFailed
from graphfix.files.store import store
from graphfix.files.write import NotWritten
from graphfix.report.escape import escaped, typed
from graphfix.report.report import count
from graphfix.report.text import Piece
from graphfix.settings.errors import SettingsError
from graphfix.source.errors import SourceError
from graphfix.source.reading import read_bytes

_FIRST = 3  # patches that a plan shows
_LINES = 40  # of each


def run(options: Options) -> int:
    """Do what is asked of the campaign; 0 done, 1 repositories have failed, 2 misuse or failure."""
    actions: dict[Action, Callable[[Options, Config, State], int]] = {
        Action.PLAN: _plan,
        Action.RUN: _run,
        Action.STATUS: _status,
        Action.REPORT: _report,
        Action.UPDATE: _update,
        Action.CLOSE: _close,
    }
    _consistent(options)
    if options.action is Action.INIT:
        return _init(options.campaign)
    folder = Path(os.path.abspath(options.campaign))
    try:
        config = load(folder)
        state = State(folder)
        with contextlib.closing(state), quiet_pipe():
            return actions[options.action](options, config, state)
    except GitFailed as error:
        session.fail(f"{str(error).removeprefix('fatal: ')}; git config user.name and user.email say who commits")
    except (SettingsError, StateError, NotFindings, conduct.Busy, conduct.Gone, engines.NoEngine) as error:
        session.fail(str(error))
    except KeyboardInterrupt:
        ERR.say(f"Interrupted; graphfix campaign run {typed(str(options.campaign))} goes on where it was")
        return INTERRUPTED


def _consistent(options: Options) -> None:
    if options.open_all and not options.push_all:
        session.fail("--open needs --push: a pull request is about a branch that the forge has")
    if (options.engine is Engine.DASK) is not bool(options.scheduler):
        session.fail("--engine dask and --scheduler ADDRESS belong together")
    allowed = {
        "push_all": {Action.RUN, Action.UPDATE}, "retry_failed": {Action.RUN}, "withdraw": {Action.CLOSE}, "from_findings": {Action.PLAN, Action.RUN},
    }  # fmt: skip
    for name, actions in allowed.items():
        if getattr(options, name) and options.action not in actions:
            told = " and ".join(sorted(action.value for action in actions))
            session.fail(f"--{name.replace('_all', '').replace('_', '-')} is an option of graphfix campaign {told}")


def _init(folder: Path) -> int:
    path = folder / NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if path.exists():
            session.fail(f"{path} exists")
        store(path, blank().encode())
    except (OSError, NotWritten) as error:
        session.fail(f"{path}: cannot be written: {error}")
    ERR.say(f"Wrote {escaped(str(path))}: say there what the campaign is about, then graphfix campaign plan {typed(str(folder))}")
    return OK


def _plan(options: Options, config: Config, state: State) -> int:
    """Find and repair without a branch, and show what would be offered."""
    _work(options, config, state, Stage.FIXED)
    told = figures(config, state)
    _table(told)
    fixed = state.targets(Stage.FIXED, Stage.VERIFIED, Stage.BRANCHED)
    for target in fixed[:_FIRST]:
        _first_lines(config, target)
    if len(fixed) > _FIRST:
        OUT.say(f"... and {count(len(fixed) - _FIRST, 'patch', 'es')} more in {escaped(str(config.folder / 'results'))}")
    if fixed:
        command = Piece(f"graphfix campaign run {typed(str(options.campaign))}", whole=True)
        ERR.line((Piece("Next: "), command, Piece(f" makes {count(len(fixed), 'branch', 'es')}, and pushes nothing")))
    return FINDINGS if state.targets(Stage.FAILED) else OK


def _first_lines(config: Config, target: Target) -> None:
    with contextlib.suppress(SourceError):
        lines = read_bytes(config.folder / "results" / target.name / PATCH).splitlines(keepends=True)
        OUT.say(f"\n{escaped(target.name)}:")
        OUT.patch(b"".join(lines[:_LINES]))
        if len(lines) > _LINES:
            OUT.say(f"... {len(lines) - _LINES} lines more")


def _run(options: Options, config: Config, state: State) -> int:
    if options.retry_failed:
        with conduct.sole(config.folder):
            conduct.again(state, state.targets(Stage.FAILED))
    _work(options, config, state, Stage.BRANCHED)
    return _ended(options, config, state, Offer(config, state, ERR.say))


def _ended(options: Options, config: Config, state: State, offer: Offer) -> int:
    """Offer what is asked for, and tell what the campaign has come to."""
    if options.push_all:
        with conduct.sole(config.folder):
            _offer(options, state, offer)
    _table(figures(config, state))
    waiting = len(state.targets(Stage.BRANCHED))
    if waiting and not options.push_all:
        told = "1 branch waits" if waiting == 1 else f"{waiting} branches wait"
        ERR.say(f"{told} in {escaped(str(config.folder / 'clones'))}: --push offers them")
    return FINDINGS if state.targets(Stage.FAILED) or offer.unanswered else OK


def _work(
    options: Options, config: Config, state: State, until: Stage, unknown: Callable[[Target, str], None] | None = None
) -> None:
    """Bring the repositories as far as `until`; with `unknown`, those that are there are looked at again."""
    with conduct.sole(config.folder):
        author = conduct.author() if until is Stage.BRANCHED else ("", "")
        new = conduct.take_up(config, state, options.from_findings or ()) if unknown is None else 0
        if not state.targets():
            raise SettingsError(config.folder / NAME, 0, "[targets] names no repository")
        if new and not options.quiet:
            ERR.say(f"{_repositories(new)} taken up")
        stages = frozenset(set(Stage) - set(conduct.before(until)))
        progress = Progress(state, sys.stderr, stages)
        tell = (lambda _: None) if options.quiet else progress
        with _engine(options, config) as (pool, at_a_time):
            conduct.conduct(config, state, pool, at_a_time, until, tell, author, unknown)
        if not options.quiet:
            progress.end()


@contextlib.contextmanager
def _engine(options: Options, config: Config) -> Iterator[tuple[Executor, int]]:
    if options.engine is Engine.DASK:
        with engines.dask(options.scheduler) as (pool, threads):
            yield pool, options.workers or threads
        return
    workers = options.workers or config.number("limits", "workers") or 1
    with engines.local(workers) as pool:
        yield pool, workers


def _offer(options: Options, state: State, offer: Offer) -> None:
    """Push, and open as many pull requests as the limits allow; those that are open are renewed whatever these are."""
    for target in state.targets(Stage.BRANCHED):
        moved = offer.push(target)
        if not options.quiet and moved is not target:
            _say(moved)
    pushed = state.targets(Stage.PUSHED, Stage.OPENED) if options.open_all else []
    for target in sorted(pushed, key=lambda each: not each.is_open):
        moved = offer.open(target)
        if moved is target:
            continue
        if moved.stage is Stage.PUSHED:
            ERR.say(f"{moved.reason}: the other branches wait for a later run")
            break
        if not options.quiet:
            _say(moved)


def _say(target: Target) -> None:
    link = target.facts.get("link", "")
    words = [
        f"{target.name}: {target.stage.value}",
        *([link] if link else []),
        *([f"({target.reason})"] if target.reason else []),
    ]
    ERR.say(escaped(" ".join(words)))


def _status(options: Options, config: Config, state: State) -> int:
    _table(figures(config, state))
    return OK


def _report(options: Options, config: Config, state: State) -> int:
    told = figures(config, state)
    if options.report_format is ReportFormat.TEXT and options.output_file is None:
        _table(told, rows=True)
        return OK
    if options.report_format is ReportFormat.HTML:
        from graphfix.campaign.page import page

        text = page(told, f"graphfix campaign {config.folder.resolve().name}", escaped)
    else:
        text = json.dumps(told, indent=2) + "\n"
    if options.output_file is None:
        OUT.raw(text.rstrip("\n"))
        return OK
    session.store_bytes(options.output_file, text.encode())
    ERR.say(f"wrote {escaped(str(options.output_file))}")
    return OK


def _update(options: Options, config: Config, state: State) -> int:
    """Ask the forges what became of the open pull requests, and do anew what has moved on, or what else is asked of now."""
    offer = Offer(config, state, ERR.say)
    with conduct.sole(config.folder):
        for target in state.targets():
            moved = offer.look(target) if target.is_open else target
            if moved is not target and not options.quiet:
                _say(moved)
    unknown: dict[str, str] = {}
    if state.targets():
        _work(options, config, state, Stage.BRANCHED, lambda target, why: unknown.update({target.name: why}))
    for name, why in unknown.items():
        ERR.say(escaped(f"{name}: left as it is: {why}"))
    return _ended(options, config, state, offer) or (FINDINGS if unknown else OK)


def _close(options: Options, config: Config, state: State) -> int:
    """End the campaign: what is not offered yet will not be."""
    offer = Offer(config, state, ERR.say)
    with conduct.sole(config.folder):
        for target in state.targets():
            if target.is_open and options.withdraw:
                _say(offer.withdraw(target))
            elif target.stage not in ENDED | {Stage.OPENED}:
                state.move(target, Stage.SKIPPED, "the campaign was closed")
    told = figures(config, state)
    _table(told)
    open_still = told["open"]
    if open_still:
        stay = "1 pull request stays" if open_still == 1 else f"{open_still} pull requests stay"
        ERR.say(f"{stay} open: --withdraw closes what is open")
    return ERROR if options.withdraw and open_still else OK


def _table(told: dict, *, rows: bool = False) -> None:  # type: ignore[type-arg]
    stages = ", ".join(f"{number} {name}" for name, number in told["stages"].items())
    OUT.say(f"{_repositories(told['repositories'])}: {stages}" if stages else "no repositories")
    if told["findings"]:
        OUT.say("")
        OUT.raw(f"{'rule':<36}{'found':>8}{'repositories':>14}{'safe fix':>10}{'on branches':>13}")
        for code, number in told["findings"].items():
            kind = told["kinds"].get(code, {"name": "", "repositories": 0, "safe": 0})
            name = f"{code} {kind['name']}"
            OUT.raw(f"{name:<36}{number:>8}{kind['repositories']:>14}{kind['safe']:>10}{told['repaired'].get(code, 0):>13}")
    if told["unfinished"]:
        OUT.say(f"{count(told['unfinished'], 'file')} not analysed to the end")
    skipped = Counter(row["reason"] for row in told["rows"] if row["stage"] == Stage.SKIPPED.value and row["reason"])
    if told["failures"] or skipped:
        OUT.say("")
    for what, reasons in ("failed", told["failures"]), ("skipped", skipped):
        for reason, number in reasons.items():
            OUT.say(f"{what} {number}x: {escaped(reason)}")
    for row in told["rows"] if rows else ():
        found = sum(row["findings"].values())
        why = f" ({row['reason']})" if row["reason"] else ""
        OUT.say(
            escaped(
                f"{row['name']:<50} {row['stage']:<10} {found:>4} findings {sum(row['repaired'].values()):>4} on a branch{why} {row['link']}".rstrip()
            )
        )


def _repositories(number: int) -> str:
    return "1 repository" if number == 1 else f"{number} repositories"
