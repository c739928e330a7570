"""Where branches go: into the repository in one step, to a remote, and before the eyes of a maintainer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from graphfix.cli import session
from graphfix.cli.options import Options
from graphfix.cli.terminal import ERR
from graphfix.files.git import GitFailed, without_credentials
from graphfix.lazy_dataclass import dataclass
from graphfix.pullrequest.commits import Made, foreign, same
from graphfix.pullrequest.forge import Forge, forge_of
from graphfix.pullrequest.repository import NotMade, Repository
from graphfix.report.escape import escaped
from graphfix.report.report import count


@dataclass(frozen=True)
class Target:
    """The branch to be merged into, and where the project lives. `remote` is nothing where nothing is pushed."""

    base: str
    remote: str
    forge: Forge | None


@dataclass(frozen=True)
class Delivery:
    """A branch and what its pull request says."""

    made: Made
    title: str
    body: str


def target_of(repository: Repository, base: str, remote: str, kind: str) -> Target:
    """Where the branches go; `NotMade` where that does not fit what is checked out."""
    remotes = repository.git("remote").decode("utf-8", "surrogateescape").split()
    if remote and remote not in remotes:
        raise NotMade(f"there is no remote {remote}" + (f", only {', '.join(remotes)}" if remotes else ""))
    if base:
        places = [f"refs/heads/{base}", *([f"refs/remotes/{remote}/{base}"] if remote else [])]
        commits = [commit for place in places if (commit := repository.commit_of(place))]
        if not commits:
            raise NotMade(f"--base: there is no branch {base}")
        if repository.head not in commits:
            raise NotMade(f"--base: {base} is at {commits[0][:9]}, but {repository.head[:9]} is checked out: switch to it first")
    url_of = remote or ("origin" if "origin" in remotes else "")
    # as it is written down: what it is rewritten to may be a mirror
    url = repository.line("config", "--get", f"remote.{url_of}.url", ok=(0, 1)) if url_of else ""
    return Target(base or repository.branch, remote, forge_of(url, kind))


@dataclass(frozen=True)
class Claims:
    """What the branches are here and at the remote; only those that are there."""

    here: Mapping[str, str]
    there: Mapping[str, str]


def claim(branches: Sequence[str], repository: Repository, target: Target, options: Options) -> Claims:
    """What there is of the branches; `NotMade` where one of them may not be made anew."""
    here = {branch: old for branch in branches if (old := _old(branch, repository, options))}
    return Claims(here, _remote_branches(branches, repository, target, options) if target.remote else {})


def deliver(
    deliveries: Sequence[Delivery], claims: Claims, repository: Repository, target: Target, options: Options, made: list[str]
) -> None:
    """Set all branches in one step, push them, and open or update their pull requests."""
    moves = {
        delivery.made.branch: (claims.here.get(delivery.made.branch, ""), delivery.made.tip)
        for delivery in deliveries
        if not (delivery.made.branch in claims.here and same(repository, delivery.made))
    }
    tips = {
        delivery.made.branch: delivery.made.tip if delivery.made.branch in moves else claims.here[delivery.made.branch]
        for delivery in deliveries
    }
    if moves:
        repository.set_branches(moves)
        made += moves
    for delivery in deliveries:
        _tell(delivery, repository, target, fresh=delivery.made.branch in moves, quiet=options.quiet)
    if target.remote:
        _push(tips, claims.there, repository, target)
    if options.open:
        for delivery in deliveries:
            _open(delivery, repository, target, options)


def _old(branch: str, repository: Repository, options: Options) -> str:
    """What the branch is now; `NotMade` where it may not be made anew."""
    if not repository.line("check-ref-format", "--branch", branch, ok=(0, 1, 128)):
        raise NotMade(f"--branch: {branch!r} cannot be the name of a branch")
    old = repository.commit_of(f"refs/heads/{branch}")
    if not old:
        return ""
    if not options.update:
        raise NotMade(f"the branch {branch} exists: --update makes it anew, --branch names another")
    checked_out = repository.git("worktree", "list", "--porcelain", "-z").split(b"\0")
    if f"branch refs/heads/{branch}".encode() in checked_out:
        raise NotMade(f"the branch {branch} is checked out: switch to the one that it is made for")
    _refuse_foreign(branch, f"refs/heads/{branch}", repository)
    return old


def _refuse_foreign(branch: str, place: str, repository: Repository) -> None:
    others = foreign(repository, place)
    if others:
        subject = others[0].message.partition("\n")[0]
        raise NotMade(
            f"the branch {branch} has {count(len(others), 'commit')} that graphfix did not make, such as "
            f"{others[0].id[:9]} ({subject}): it is left as it is; --branch names another"
        )


def _remote_branches(names: Sequence[str], repository: Repository, target: Target, options: Options) -> dict[str, str]:
    """What the remote has of the branches; what somebody else put there is not overwritten."""
    repository.check_remote(target.remote)
    answer = repository.line(
        "ls-remote", "--heads", target.remote, *(f"refs/heads/{name}" for name in (*names, target.base) if name), remote=True
    )
    found = {ref.removeprefix("refs/heads/"): commit for commit, _, ref in (line.partition("\t") for line in answer.splitlines())}
    _refuse_unpushed(found.get(target.base, ""), repository, target)
    there = {name: found[name] for name in names if name in found}
    for name, commit in there.items():
        if not options.update:
            raise NotMade(f"{target.remote} has a branch {name}: --update makes it anew, --branch names another")
        if not repository.commit_of(commit):
            repository.fetching().git(
                "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no", target.remote, commit
            )
        _refuse_foreign(f"{name} of {target.remote}", commit, repository.fetching())
    return there


def _refuse_unpushed(theirs: str, repository: Repository, target: Target) -> None:
    """Commits that only the user has would become part of the pull request."""
    if not theirs or not repository.commit_of(theirs):
        return
    mine = repository.line("rev-list", "--count", repository.head, f"^{theirs}")
    if mine != "0":
        raise NotMade(f"{target.base} has {count(int(mine), 'commit')} that {target.remote} has not: push them first")


def _push(tips: Mapping[str, str], there: Mapping[str, str], repository: Repository, target: Target) -> None:
    news = {branch: tip for branch, tip in tips.items() if there.get(branch) != tip}
    if not news:
        ERR.say(f"{target.remote} has it already")
        return
    leases = [f"--force-with-lease=refs/heads/{branch}:{there.get(branch, '')}" for branch in news]
    options = ["--porcelain", "--no-follow-tags", "--no-signed", "--recurse-submodules=no"]
    moves = [f"{tip}:refs/heads/{branch}" for branch, tip in news.items()]
    try:
        # elsewhere ssh may have to ask for a password, for which it needs the terminal
        local = repository.is_local(target.remote)
        repository.git("push", *options, *leases, target.remote, *moves, own_session=local, remote=True)
    except GitFailed as error:
        raise NotMade(f"not pushed: {error}; the branch is here, --update tries again") from error
    ERR.say(f"pushed {', '.join(escaped(branch) for branch in news)} to {escaped(target.remote)}")


def _tell(delivery: Delivery, repository: Repository, target: Target, *, fresh: bool, quiet: bool) -> None:
    made = delivery.made
    if not fresh:
        ERR.say(f"branch {escaped(made.branch)} is up to date")
        return
    base = target.base or repository.head[:9]
    ERR.say(
        f"made branch {escaped(made.branch)}: {count(len(made.commits), 'commit')} on {escaped(base)}; nothing was checked out"
    )
    if not quiet:
        ERR.say(f"look at it with: git log --patch {escaped(base)}..{escaped(made.branch)}")


def _open(delivery: Delivery, repository: Repository, target: Target, options: Options) -> None:
    from graphfix.pullrequest.clients import ForgeFailed, NoClient, Request, client_for

    if not target.base:
        raise NotMade("--open: no branch is checked out; --base names the one to merge into")
    if target.forge is None:
        url = repository.line("config", "--get", f"remote.{target.remote}.url", ok=(0, 1))
        raise NotMade(f"--open: {without_credentials(url)} is not known to be of GitHub or GitLab; --forge says so")
    request = Request(delivery.made.branch, target.base, delivery.title, delivery.body, options.draft)
    try:
        opened = client_for(target.forge).deliver(request)
    except NoClient as error:
        _by_hand(delivery, repository, target, options, str(error))
        return
    except ForgeFailed as error:
        raise NotMade(f"the branch is pushed, but {target.forge.host} does not take the pull request: {error}") from error
    ERR.say(f"{'opened' if opened.new else 'updated'} {escaped(opened.url)}")
    if opened.kept:
        ERR.say("its text was left alone: the part that graphfix wrote is not in it any more")


def _by_hand(delivery: Delivery, repository: Repository, target: Target, options: Options, why: str) -> None:
    """Put the text where it can be taken from, and say how."""
    assert target.forge is not None
    folder = repository.folder / "graphfix"
    folder.mkdir(exist_ok=True)
    file: Path = folder / f"{delivery.made.branch.replace('/', '-')}.md"
    session.store_bytes(file, delivery.body.encode())
    ERR.say(f"not opened: {why}. This opens it:")
    ERR.raw(escaped(target.forge.by_hand(delivery.made.branch, target.base, delivery.title, file, draft=options.draft)))
    if options.update:
        ERR.say("and, where it is open already, this gives it the new text:")
        ERR.raw(escaped(target.forge.edited_by_hand(delivery.made.branch, delivery.title, file)))
