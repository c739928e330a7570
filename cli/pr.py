"""`graphfix pr`: the repairs as a branch with one commit for each rule, and the text that a maintainer decides on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import field, replace
from pathlib import Path

from graphfix.cli import session
from graphfix.cli.choices import Split
from graphfix.cli.copying import name_links
from graphfix.cli.delivery import Delivery, Target, claim, deliver, target_of
from graphfix.cli.exits import ERROR, FINDINGS, INTERRUPTED, OK
from graphfix.cli.options import Options
from graphfix.cli.terminal import ERR, OUT, quiet_pipe
from graphfix.files.git import GitFailed
from graphfix.files.worktree import top_of
from graphfix.lazy_dataclass import dataclass
from graphfix.pullrequest.commits import build, clean, name_of
from graphfix.pullrequest.parts import Part, by_key, by_rule, folder_of, owners
from graphfix.pullrequest.repository import NotMade, Repository, identity, repository_at
from graphfix.pullrequest.text import Change, Check, Place, Proof, Story, body, commit_message, title
from graphfix.report.escape import escaped
from graphfix.report.report import Report, count
from graphfix.rewrite.patch import unified
from graphfix.run.outcome import Outcome
from graphfix.run.series import Step, steps


class CheckFailed(Exception):
    """The project's own check does not pass on the result: the end of what it said."""


@dataclass
class Making:
    """What is known while the pull request is made."""

    work: session.Session
    repository: Repository
    target: Target
    proofs: list[Proof] = field(default_factory=list)

    @property
    def options(self) -> Options:
        """What the user asked for."""
        return self.work.options


def run(options: Options) -> int:
    """Make the branches and give the exit code: 0 made, or nothing to make; 1 the check fails; 2 misuse or failure."""
    _consistent(options)
    report = Report(options.unsafe)
    made: list[str] = []
    try:
        work = session.start(options, repair=True, stages=True)
        making = _making(work)
        work.examine(report)
        session.show_problems(report, verbose=options.verbose)
        code = _make(making, report, made)
    except KeyboardInterrupt:
        ERR.say(f"Interrupted; {', '.join(made) + ' made' if made else 'no branch was made'}")
        return INTERRUPTED
    except CheckFailed as error:
        ERR.say(f"graphfix: {error}\nNo branch was made")
        return FINDINGS
    except (NotMade, GitFailed) as error:
        session.fail(str(error))
    return ERROR if report.failed() else code


def _consistent(options: Options) -> None:
    if options.stdin:
        session.fail("pr makes commits of files: - is not one")
    if options.open and not options.push:
        session.fail("--open needs --push REMOTE: a pull request is about a branch that the forge has")
    if options.draft and not options.open:
        session.fail("--draft says how --open opens")


def _making(work: session.Session) -> Making:
    """Everything that can be refused is refused before files are examined."""
    tops = {top_of(root / "_") for root in work.found.roots}
    top = tops.pop() if tops else None
    if top is None or tops:
        raise NotMade("the paths lie in several repositories" if tops else "not in a git repository")
    repository = repository_at(top)
    lines = clean(repository, ())
    if lines:
        told = "\n".join(f"  {escaped(line)}" for line in lines[:20])
        ERR.say(told)
        raise NotMade("the work tree has changes that are not committed; commit or stash them")
    identity(repository)
    options = work.options
    kind = options.forge.value if options.forge is not None else ""
    return Making(work, repository, target_of(repository, options.base, options.push, kind))


def _make(making: Making, report: Report, made: list[str]) -> int:
    options, repository = making.options, making.repository
    if options.verify:
        report.outcomes = _proven(making, report)
    if not report.changed:
        ERR.say(report.repaired(dry_run=True) + "; no branch was made")
        return FINDINGS if report.findings else OK
    lines = clean(repository, [outcome.path for outcome in report.changed])
    if lines:
        raise NotMade(f"a file that is not in git as it is cannot be part of a commit: {lines[0]}")
    failed = tuple(report.problems())
    parts = _parts(making, report)
    claims = claim([_branch(options, part) for part in parts], repository, making.target, options)
    deliveries = [_delivery(making, part, failed) for part in parts]
    told = {finding for part in parts for outcome in part.outcomes for finding in outcome.findings}
    missed = [finding for finding in report.findings if finding not in told]
    if missed and options.split is not None:
        ERR.say(f"{count(len(missed), 'finding')} that cannot be repaired in none of the parts: graphfix check tells them")
    deliver(deliveries, claims, repository, making.target, options, made)
    _show(deliveries, options)
    return OK


def _parts(making: Making, report: Report) -> list[Part]:
    outcomes = report.outcomes
    if making.options.split is None:
        return [Part("", "", tuple(outcomes))]
    if making.options.split is Split.RULE:
        from graphfix.codemods import RULES

        return by_rule(outcomes, making.work.job, [rule.code for rule in RULES])
    named = owners(making.repository.top) if making.options.split is Split.OWNER else folder_of
    return by_key(outcomes, lambda outcome: named(name_of(making.repository, outcome.path)))


def _branch(options: Options, part: Part) -> str:
    return f"{options.branch}-{part.slug}" if part.slug else options.branch


def _delivery(making: Making, part: Part, failed: tuple[str, ...]) -> Delivery:
    """One branch: checked, its commits made; nothing points to them yet."""
    options, repository = making.options, making.repository
    from graphfix.codemods import RULES

    rules = {rule.code: rule for rule in RULES}
    series = list(steps(part.outcomes))
    checks = _checked(making, part)
    changes = {id(step): _change(step, repository, rules[step.code]) for step in series}
    made = build(repository, _branch(options, part), series, lambda step: commit_message(changes[id(step)], checks))
    story = Story(
        tuple(changes.values()),
        tuple(place for outcome in part.outcomes for place in _left(outcome, repository)),
        repository.head,
        making.target.base,
        _reproduce(making, part),
        making.target.forge,
        checks,
        tuple(making.proofs),
        part.name,
        failed if not part.slug else (),
        install=_install(options),
    )
    return Delivery(made, title(story), body(story))


def _install(options: Options) -> str:
    """The setting of that name where the command runs."""
    return str(options.settings.whole_run(Path.cwd())["install"]) if options.settings is not None else ""


def _change(step: Step, repository: Repository, rule: object) -> Change:
    from graphfix.codemods.base import Rule

    assert isinstance(rule, Rule)
    places = tuple(Place(name_of(repository, Path(one.finding.path)), one.row, one.cell, one.finding) for one in step.fixed)
    return Change(rule, places, tuple(unified(name_of(repository, path), old, new) for path, old, new in step.files))


def _left(outcome: Outcome, repository: Repository) -> list[Place]:
    """What is left in a file, with the lines that it has in the commit."""
    from graphfix.rewrite.origin import original_row
    from graphfix.source.decode import decode

    if outcome.source is None:
        return []
    index, name = outcome.source.index(), name_of(repository, outcome.path)
    before = decode(outcome.path, outcome.before).text if outcome.changed else outcome.source.text
    places = []
    for finding in outcome.findings:
        row, cell = index.place(finding.span.start)[0], index.cell(finding.span.start)
        if cell is None:
            row = original_row(before, outcome.source.text, row)
        elif outcome.changed:
            row = 0
        places.append(Place(name, row, cell, finding))
    return places


def _reproduce(making: Making, part: Part) -> tuple[str, ...]:
    import shlex

    top, here = making.repository.top, Path(os.path.realpath(os.curdir))
    words = list(making.options.reproduce)
    paths = [
        os.path.relpath(os.path.realpath(path), top if not here.is_relative_to(top) else here) for path in _paths(making, part)
    ]
    if making.options.split is Split.RULE:
        words += ["--select", part.slug.upper()]
    lines = [shlex.join(["graphfix", "apply", *words, *paths])]
    if here != top and here.is_relative_to(top):
        lines.insert(0, shlex.join(["cd", here.relative_to(top).as_posix()]))
    return tuple(lines)


def _paths(making: Making, part: Part) -> Sequence[str | Path]:
    if making.options.split in (Split.FOLDER, Split.OWNER):
        return [outcome.path for outcome in part.outcomes if outcome.changed]
    return making.options.places


def _checked(making: Making, part: Part) -> tuple[Check, ...]:
    """The project's own check, run in a copy with the repairs; `CheckFailed` where it does not pass."""
    if not making.options.check:
        return ()
    import time

    from graphfix.verify.command import BadCommand, parsed
    from graphfix.verify.copies import TooLarge
    from graphfix.verify.record import Ending

    quiet, text = making.options.quiet, making.options.check
    changes = {Path(os.path.realpath(outcome.path)): outcome.after for outcome in part.outcomes if outcome.changed}
    try:
        command = replace(parsed(text, making.repository.top, making.options.timeout), job=None)
        if not making.options.verify:
            name_links(command.project)
        if not quiet:
            ERR.say(f"running {escaped(text)} on a copy with the repairs" + (f" of {escaped(part.name)}" if part.name else ""))
        started = time.monotonic()
        done = command.run(changes)
        seconds = time.monotonic() - started
        if done.ending is Ending.FINISHED:
            return (Check(text, seconds),)
        before = command.run({})
    except BadCommand as error:
        raise NotMade(f"--check: {error}") from error
    except TooLarge as error:
        raise NotMade(f"--check: {making.repository.top} cannot be copied to run in: {error}") from error
    said = [line for line in (done.stdout + "\n" + done.stderr).splitlines() if line.strip()][-20:]
    why = str(done.failure).partition(":")[0] if done.exit_code is not None else str(done.failure)
    also = "; it does so without them, too" if before.ending is not Ending.FINISHED else ""
    raise CheckFailed("\n  ".join([f"{escaped(text)} fails with the repairs ({escaped(why)}){also}", *map(escaped, said)]))


def _proven(making: Making, report: Report) -> list[Outcome]:
    """Only the fixes with which the command runs and computes the same; what it showed becomes part of the text."""
    from graphfix.cli.proven import command_of, proven
    from graphfix.report.script_verdict import rows
    from graphfix.verify.record import Run
    from graphfix.verify.script import judge

    work, seen = making.work, list[Run]()
    command = command_of(making.options.verify or "", work.found.roots, making.options.timeout)
    outcomes, refused = proven(report.outcomes, work.job, command, quiet=work.options.quiet, seen=seen)
    changed = [outcome for outcome in outcomes if outcome.changed]
    told: list[tuple[str, str]] = []
    if seen and changed and command.job is not None:
        after = command.run({Path(os.path.realpath(outcome.path)): outcome.after for outcome in changed})
        told = rows(judge(seen[0], after, {finding.code for outcome in changed for finding in outcome.fixed}))
    elif seen and changed:
        told = [("after", "passes")]
    names = ("before", "after", "results", "graph", "memory", "time", "verdict")
    making.proofs.append(Proof(command.text, tuple(row for row in told if row[0] in names), tuple(refused)))
    return outcomes


def _show(deliveries: Sequence[Delivery], options: Options) -> None:
    """The text: in the file that is asked for (one for each branch), or on standard output."""
    if options.text_file is not None:
        for delivery in deliveries:
            slug = delivery.made.branch.removeprefix(options.branch)
            path = options.text_file.with_name(f"{options.text_file.stem}{slug}{options.text_file.suffix}")
            session.store_bytes(path, delivery.body.encode())
            ERR.say(f"wrote {escaped(str(path))}: {count(len(delivery.body.splitlines()), 'line')} of pull request text")
        return
    with quiet_pipe():
        for delivery in deliveries:
            if len(deliveries) > 1:
                OUT.raw(f"<!-- {escaped(delivery.made.branch)}: {escaped(delivery.title)} -->")
            OUT.raw(delivery.body.rstrip("\n"))
