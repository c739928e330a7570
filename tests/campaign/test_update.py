"""A campaign that goes on for weeks: repositories move on, settings change, remotes go away."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from graphfix.campaign.clone import Place, Wish, cloned
from graphfix.campaign.state import NAME, Stage, State, Target

from .conftest import Campaign, git

pytestmark = pytest.mark.deep

BRANCH = "graphfix/autograd"


def known(campaign: Campaign) -> tuple[list[Target], int]:
    """All that the campaign knows, and how many steps it has made."""
    state = State(campaign.folder)
    told = state.targets(), len(state.steps())
    state.close()
    return told


def facts(campaign: Campaign) -> dict[str, Any]:
    [target], _ = known(campaign)
    return dict(target.facts)


def made(campaign: Campaign) -> dict[str, bytes]:
    """What the results hold, but for the logs, and what the branches are."""
    folder = campaign.folder / "results"
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*.*")
        if path.name[-4:] not in (".txt", "lock")
    }
    clones = (campaign.folder / "clones").iterdir()
    return files | {
        clone.name: git(clone, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads").encode() for clone in clones
    }


def logs(campaign: Campaign) -> list[bytes]:
    return [path.read_bytes() for path in sorted((campaign.folder / "results").glob("*/log.txt"))]


def begun_anew(campaign: Campaign) -> Campaign:
    """Another campaign with the same settings, begun at the same time, that has made its branches now."""
    other = Campaign(campaign.folder.with_name("anew"), campaign.graphfix, campaign.remotes, campaign.variables)
    other.folder.mkdir()
    (other.folder / "campaign.toml").write_bytes((campaign.folder / "campaign.toml").read_bytes())
    first, second = State(campaign.folder), State(other.folder)
    begun = first.begun
    first.close()
    second.close()
    base = sqlite3.connect(other.folder / NAME)
    base.execute("UPDATE campaign SET begun = ?", (begun,))
    base.commit()
    base.close()
    other("run")
    return other


def same_as_anew(campaign: Campaign) -> None:
    other = begun_anew(campaign)
    assert made(campaign) == made(other)
    assert known(campaign)[0] == known(other)[0]


def test_a_repository_that_has_moved_on_is_done_anew(campaign: Campaign, loops: SimpleNamespace) -> None:
    campaign.about(*[campaign.remote(name, {"train.py": loops.total}) for name in ("moved", "still")])
    campaign("run")
    before, [_, log] = made(campaign), logs(campaign)
    campaign.move_on("moved", {"old.py": loops.legacy})
    done = campaign("update")
    assert done.returncode == 0 and b"2 branches wait in" in done.stderr, done.stderr
    assert made(campaign)["remotes+moved"] != before["remotes+moved"] and logs(campaign)[1] == log
    assert campaign.report()["repaired"] == {"GF101": 2, "GF901": 1}
    same_as_anew(campaign)


def test_where_nothing_has_moved_nothing_is_done(campaign: Campaign, loops: SimpleNamespace) -> None:
    campaign.about(campaign.remote("faulty", {"train.py": loops.total}), campaign.remote("clean", {"train.py": loops.clean}))
    campaign("run")
    before = known(campaign), made(campaign), logs(campaign)
    done = campaign("update")
    assert done.returncode == 0 and b"1 branch waits in" in done.stderr
    assert (known(campaign), made(campaign), logs(campaign)) == before


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        ({"repair": {"select": ["GF901"]}}, {"repaired": {"GF901": 1}}),
        ({"repair": {"ignore": ["GF101"]}}, {"repaired": {"GF901": 1}}),
        ({"repair": {"check": "grep -q total train.py"}}, {"checked": 1}),
        ({"offer": {"branch": "other"}}, {"stages": {"branched": 1}}),
        ({"offer": {"base": "next"}}, {"stages": {"branched": 1}}),
    ],
)
def test_what_else_is_asked_is_done(campaign: Campaign, loops: SimpleNamespace, tables: Any, told: dict[str, Any]) -> None:
    bare = campaign.remote("one", {"train.py": loops.both})
    git(bare, "branch", "next")
    campaign.about(bare)
    campaign("run")
    _, steps = known(campaign)
    campaign.about(bare, **tables)
    assert campaign("update").returncode == 0
    assert known(campaign)[1] > steps and campaign.report().items() >= told.items()
    if "branch" not in tables.get("offer", {}):  # the branch of the other name is left
        same_as_anew(campaign)


def test_another_graphfix_looks_anew(campaign: Campaign, loops: SimpleNamespace) -> None:
    campaign.about(campaign.remote("one", {"train.py": loops.clean}))
    campaign("run")
    _, steps = known(campaign)
    base = sqlite3.connect(campaign.folder / NAME)
    base.execute("""UPDATE target SET facts = json_set(facts, '$."asked-cloned"[0]', '0.0.1')""")
    base.commit()
    base.close()
    assert campaign("update").returncode == 0
    assert known(campaign)[1] == steps + 3  # begun again, cloned, clean


def test_a_check_that_is_asked_for_later_is_nothing_to_a_clean_repository(campaign: Campaign, loops: SimpleNamespace) -> None:
    bare = campaign.remote("one", {"train.py": loops.clean})
    campaign.about(bare)
    campaign("run")
    before = known(campaign)
    campaign.about(bare, repair={"check": "false"})
    assert campaign("update").returncode == 0 and known(campaign) == before


def test_nothing_is_left_of_what_was_repaired_by_others(campaign: Campaign, loops: SimpleNamespace) -> None:
    campaign.about(campaign.remote("one", {"train.py": loops.total}), repair={"check": "true"})
    campaign("run")
    assert {"commits", "tip", "files", "checked"} <= facts(campaign).keys()
    campaign.move_on("one", {"train.py": loops.total_fixed})
    assert campaign("update").returncode == 0
    assert campaign.stages() == {"remotes+one": "clean"}
    same_as_anew(campaign)


@pytest.mark.parametrize("depth", [0, 1])
def test_history_that_was_rewritten(campaign: Campaign, loops: SimpleNamespace, depth: int) -> None:
    bare = campaign.remote("one", {"train.py": loops.total})
    campaign.move_on("one", {"more.py": ""})
    campaign.about(bare, limits={"depth": depth})
    campaign("run", "--push")
    for number in range(2):
        campaign.move_on("one", {"train.py": loops.both, "more.py": f"more = {number}\n"}, "--amend")
        done = campaign("update", "--push")
        assert done.returncode == 0, done.stderr
    assert campaign.stages() == {"remotes+one": "pushed"}
    clone = campaign.folder / "clones/remotes+one"
    assert git(bare, "rev-parse", BRANCH) == git(clone, "rev-parse", BRANCH)
    assert git(bare, "rev-parse", f"{BRANCH}~2") == git(bare, "rev-parse", "main")
    assert git(clone, "status", "--porcelain") == ""
    assert (git(clone, "rev-list", "--count", "HEAD") == "1") is bool(depth)


@pytest.mark.parametrize("name", ["trunk", "main/next"])
def test_a_default_branch_of_another_name(campaign: Campaign, loops: SimpleNamespace, name: str) -> None:
    bare = campaign.remote("one", {"train.py": loops.total})
    campaign.about(bare)
    campaign("run")
    git(bare, "branch", "-m", "main", "aside")
    git(bare, "branch", "-m", "aside", name)
    done = campaign("update")
    assert done.returncode == 0, done.stderr
    assert git(campaign.folder / "clones/remotes+one", "symbolic-ref", "--short", "HEAD") == name
    same_as_anew(campaign)


def test_a_work_tree_that_has_our_branch_checked_out_or_none(campaign: Campaign, loops: SimpleNamespace, tmp_path: Path) -> None:
    campaign.remote("one", {"train.py": loops.total})
    work, wish, place = campaign.remotes / "one.work", Wish(str(campaign.remotes / "one.work"), own=BRANCH), tmp_path / "clone"
    first = cloned(wish, place)
    git(work, "checkout", "-qb", BRANCH)
    git(work, "commit", "-q", "--allow-empty", "-m", "ours")
    assert cloned(wish, place) == first == Place("main", git(work, "rev-parse", "main"))
    git(work, "checkout", "-q", "--detach")
    assert cloned(wish, place) == first
    git(work, "commit", "-q", "--allow-empty", "-m", "on no branch")
    for _ in range(2):
        assert cloned(wish, tmp_path / "other") == Place("", git(work, "rev-parse", "HEAD"))


@pytest.mark.parametrize("broken", [False, True])
def test_a_remote_that_is_gone_changes_nothing(campaign: Campaign, loops: SimpleNamespace, broken: bool) -> None:
    remotes = [campaign.remote(name, {"train.py": loops.total}) for name in ("gone", "moved")]
    campaign.about(*remotes, repair={"ignore": ["GF901"]})
    campaign("run", "--push")
    [gone, _], _ = known(campaign)
    for name in ("gone", "moved"):
        campaign.move_on(name, {"old.py": loops.total})
    if broken:  # it tells its commit, and cannot give it
        tree = git(remotes[0], "rev-parse", "main^{tree}")
        (remotes[0] / "objects" / tree[:2] / tree[2:]).unlink()
    else:
        remotes[0].rename(campaign.remotes / "elsewhere")
    campaign.about(*remotes)  # what else is asked now has to wait, too
    done = campaign("update")
    assert done.returncode == 1 and b"remotes+gone: left as it is: " in done.stderr
    assert known(campaign)[0][0] == gone and gone.stage is Stage.PUSHED
    assert campaign.stages() == {"remotes+gone": "pushed", "remotes+moved": "branched"}


def test_a_plan_that_is_out_of_date(campaign: Campaign, loops: SimpleNamespace) -> None:
    campaign.about(campaign.remote("one", {"train.py": loops.total}))
    campaign("plan")
    campaign.move_on("one", {"train.py": loops.legacy})
    assert campaign("update").returncode == 0
    same_as_anew(campaign)


def test_the_rules_of_earlier_findings_are_kept(campaign: Campaign, loops: SimpleNamespace) -> None:
    campaign.remote("one", {"train.py": loops.both})
    work = campaign.remotes / "one.work"
    found = work / "found"
    campaign.graphfix("check", "--select", "GF101", "--output-format", "sarif", "--output-file", str(found), ".", cwd=work)
    campaign.about()
    campaign("run", "--from-findings", str(found))
    campaign.move_on("one", {"more.py": loops.both})
    assert campaign("update").returncode == 0
    assert campaign.report()["repaired"] == {"GF101": 2}


@pytest.mark.parametrize("resumed", ["update", "run"])
def test_killed_at_any_moment_an_update_goes_on(campaign: Campaign, loops: SimpleNamespace, command: str, resumed: str) -> None:
    names = [f"r{number}" for number in range(4)]
    campaign.about(*[campaign.remote(name, {"train.py": loops.total}) for name in names])
    campaign("run")
    for name in names:
        campaign.move_on(name, {"old.py": loops.legacy})
    words = [command, "campaign", "update", str(campaign.folder), "--quiet"]
    chance, kept = random.Random(resumed), known(campaign)[0]
    for longer in range(1, 40):  # until one has come to something, however slow the machine is
        if known(campaign)[0] != kept and known(campaign)[0][0].stage is not Stage.DISCOVERED:
            break
        running = subprocess.Popen(words, env=campaign.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(longer * chance.uniform(0.5, 1.5))
        running.send_signal(signal.SIGKILL)
        running.wait()
    done = campaign(resumed)
    assert done.returncode == 0, done.stderr
    assert campaign("update").returncode == 0  # those that it had not come to
    same_as_anew(campaign)
    state = State(campaign.folder)
    begun = [step.name for step in state.steps() if step.now is Stage.DISCOVERED and step.was is Stage.BRANCHED]
    state.close()
    assert sorted(begun) == [f"remotes+{name}" for name in names]


def test_what_failed_keeps_nothing_of_before_when_it_is_tried_again(campaign: Campaign, loops: SimpleNamespace) -> None:
    bare = campaign.remote("one", {"train.py": loops.total})
    campaign.about(bare, repair={"check": "false"})
    campaign("run")
    assert facts(campaign)["files"] == 1
    campaign.move_on("one", {"train.py": loops.clean})
    assert campaign("update").returncode == 1  # left to --retry-failed
    assert campaign("run", "--retry-failed").returncode == 0
    same_as_anew(campaign)


def test_a_branch_that_somebody_has_removed_is_not_pushed_again(campaign: Campaign, loops: SimpleNamespace) -> None:
    bare = campaign.remote("one", {"train.py": loops.total})
    campaign.about(bare)
    campaign("run", "--push")
    git(bare, "branch", "-D", BRANCH)
    campaign.move_on("one", {"more.py": ""})
    campaign("update", "--push")
    assert campaign.stages() == {"remotes+one": "skipped"}
    assert git(bare, "branch", "--format=%(refname:short)") == "main"


@pytest.mark.parametrize("words", [("--open",), ("--retry-failed",), ("--withdraw",), ("--from-findings", "x")])
def test_what_update_does_not_take(campaign: Campaign, words: tuple[str, ...]) -> None:
    campaign.about()
    assert campaign("update", *words).returncode == 2
