"""A campaign from addresses to branches, over bare repositories of this machine."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphfix.campaign.state import Stage, State
from graphfix.run import store

from .conftest import Campaign, Run, git

pytestmark = pytest.mark.deep

BRANCH = "graphfix/autograd"


def kept() -> set[bytes]:
    """The keys of all that is kept for later commands."""
    with sqlite3.connect(store.folder() / store.NAME) as database:
        return {key for (key,) in database.execute("SELECT key FROM outcome")}


def test_from_nothing_to_branches(campaign: Campaign, loops: SimpleNamespace) -> None:
    assert campaign("init").returncode == 0
    assert campaign("init").returncode == 2  # what somebody has written is not overwritten
    faulty = campaign.remote("faulty", {"train.py": loops.total, "old.py": loops.legacy})
    clean = campaign.remote("clean", {"train.py": loops.clean})
    missing = campaign.remotes / "missing.git"
    campaign.about(faulty, clean, missing)
    done = campaign("plan")
    assert done.returncode == 1, done.stderr
    assert b"+    total += loss.item()" in done.stdout
    assert campaign.stages() == {"remotes+faulty": "fixed", "remotes+clean": "clean", "remotes+missing": "failed"}
    known = kept()
    done = campaign("run")
    assert known == kept()  # nothing was analysed again
    report = campaign.report()
    assert report["stages"] == {"branched": 1, "clean": 1, "failed": 1}
    assert report["repaired"] == {"GF101": 1, "GF901": 1} and report["files"] == 2
    [why] = report["failures"]
    assert why.startswith("clone: ") and "missing.git" in why
    clone = campaign.folder / "clones/remotes+faulty"
    assert git(clone, "log", "--reverse", "--format=%s", f"main..{BRANCH}").splitlines() == [
        "Repair accumulated-graph in 1 place",
        "Repair legacy-scalar in 1 place",
    ]
    assert (campaign.folder / "results/remotes+faulty/text.md").read_text().startswith("<!-- graphfix:")
    assert git(faulty, "branch", "--format=%(refname:short)") == "main"


def test_a_repository_that_has_failed_is_tried_again_when_asked(campaign: Campaign, loops: SimpleNamespace) -> None:
    missing = campaign.remotes / "late.git"
    campaign.about(missing)
    assert campaign("run").returncode == 1
    campaign.remote("late", {"train.py": loops.total})
    assert campaign("run").returncode == 1
    assert campaign("run", "--retry-failed").returncode == 0
    assert campaign.stages() == {"remotes+late": "branched"}


def test_no_branch_where_the_projects_own_check_fails(campaign: Campaign, loops: SimpleNamespace) -> None:
    checked = campaign.remote("checked", {"train.py": loops.total, "test.sh": "grep -q 'total += loss$' train.py\n"})
    campaign.about(checked, repair={"check": "sh test.sh"})
    assert campaign("run").returncode == 1
    [row] = campaign.report()["rows"]
    assert row["stage"] == "failed" and "fails with the repairs" in row["reason"]
    campaign.about(checked, repair={"check": "grep -q total train.py"})
    assert campaign("run", "--retry-failed").returncode == 0
    [row] = campaign.report()["rows"]
    assert (row["stage"], row["checked"]) == ("branched", ["grep -q total train.py"])


def test_nothing_that_a_repository_brings_along_is_run(
    campaign: Campaign, loops: SimpleNamespace, tmp_path: Path, installed: Run
) -> None:
    campaign.graphfix = installed  # a fork would import nothing that lies there
    proof = tmp_path / "ran"
    bare = campaign.remote(
        "evil",
        {"train.py": loops.total, ".gitattributes": "*.py filter=evil\n", "graphfix/__init__.py": f"open({str(proof)!r}, 'w')\n"},
    )
    campaign.variables |= {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "filter.evil.smudge",
        "GIT_CONFIG_VALUE_0": f"touch {proof}; cat",
    }
    campaign.about(bare)
    assert campaign("run").returncode == 0
    assert campaign.stages() == {"remotes+evil": "branched"}
    assert not proof.exists()


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_any_moment_each_repository_is_done_once(
    campaign: Campaign, loops: SimpleNamespace, command: str, seed: int
) -> None:
    remotes = [campaign.remote(f"r{number}", {"train.py": loops.total, "old.py": loops.legacy}) for number in range(4)]
    campaign.about(*remotes)
    words = [command, "campaign", "run", str(campaign.folder), "--quiet"]
    chance = random.Random(seed)
    for _ in range(4):
        running = subprocess.Popen(words, env=campaign.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.2, 2.5))
        running.send_signal(signal.SIGKILL)
        running.wait()
    done = subprocess.run(words, env=campaign.environment, capture_output=True)
    assert done.returncode == 0, done.stderr
    state = State(campaign.folder)
    assert {target.stage for target in state.targets()} == {Stage.BRANCHED}
    steps = Counter((step.name, step.was, step.now) for step in state.steps())
    state.close()
    assert set(steps.values()) == {1} and sum(now is Stage.BRANCHED for _, _, now in steps) == len(remotes)
    tips = {git(campaign.folder / "clones" / f"remotes+r{number}", "rev-parse", f"{BRANCH}^{{tree}}") for number in range(4)}
    assert len(tips) == 1  # the same repairs in all
    assert not [name for name in os.listdir(campaign.folder / "clones") if name.startswith(".")]


def test_what_a_killed_worker_was_writing_is_gone(campaign: Campaign, loops: SimpleNamespace) -> None:
    """Also where a process of its number runs, as one of another machine may have."""
    campaign.about(campaign.remote("one", {"train.py": loops.total}))
    left = campaign.folder / f"results/remotes+one/.graphfix-{os.getpid()}-eaf71450a587.tmp"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"[")
    assert campaign("run").returncode == 0
    assert campaign.stages() == {"remotes+one": "branched"} and not left.exists()


def test_control_c_ends_what_is_under_way(campaign: Campaign, loops: SimpleNamespace, command: str) -> None:
    campaign.about(*[campaign.remote(f"r{number}", {"train.py": loops.total}) for number in range(3)])
    words = [command, "campaign", "run", str(campaign.folder)]
    running = subprocess.Popen(words, env=campaign.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while not list((campaign.folder / "results").glob("*/log.txt")):
        assert running.poll() is None and time.monotonic() < until
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=30)
    assert running.returncode == 130 and b"goes on where it was" in said and b"Traceback" not in said, said.decode()
    assert "failed" not in campaign.stages().values()
    assert campaign("run").returncode == 0
    assert set(campaign.stages().values()) == {"branched"}


def test_two_at_once_are_refused(campaign: Campaign, loops: SimpleNamespace, tmp_path: Path) -> None:
    from graphfix.campaign.conduct import sole

    campaign.about(campaign.remote("one", {"train.py": loops.total}))
    with sole(campaign.folder):
        done = campaign("run")
    assert done.returncode == 2 and b"another graphfix runs the campaign" in done.stderr


@pytest.mark.parametrize("form", ["json", "sarif"])
def test_a_campaign_over_findings_of_earlier_runs(campaign: Campaign, loops: SimpleNamespace, form: str) -> None:
    campaign.remote("faulty", {"train.py": loops.both})
    work = campaign.remotes / "faulty.work"
    found = work / "found"
    campaign.graphfix("check", "--select", "GF101", "--output-format", form, "--output-file", str(found), ".", cwd=work)
    campaign.about()
    assert campaign("run", "--from-findings", str(found)).returncode == 0
    assert campaign.report()["repaired"] == {"GF101": 1}
    found.write_text(json.dumps({"no": "findings"}))
    done = campaign("plan", "--from-findings", str(found))
    assert done.returncode == 2 and b"neither SARIF nor graphfix" in done.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[targets]\nurl = []\n", b"campaign.toml:2: unknown setting 'url' in [targets]"),
        ("\n[repair]\nselect = ['GF7']\n", b"campaign.toml:3: select: "),
        ("[limits]\nworkers = 'two'\n", b"campaign.toml:2: workers: must be a whole number"),
        ("[offers]\n", b"campaign.toml:1: unknown table [offers]"),
        ("[targets\n", b"campaign.toml:1: not valid TOML"),
        ("[targets]\nurls = ['https://ada:s3cret@github.com/a/b']\n", b"https://github.com/a/b has a password in it"),
        ("", b"[targets] names no repository"),
    ],
)
def test_what_is_wrong_with_the_configuration_is_told(campaign: Campaign, text: str, told: bytes) -> None:
    campaign.folder.mkdir()
    (campaign.folder / "campaign.toml").write_text(text)
    done = campaign("run")
    assert done.returncode == 2 and told in done.stderr and b"s3cret" not in done.stderr, done.stderr
