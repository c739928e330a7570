"""What a campaign that goes on does with the pull requests that it has opened, on a forge of this machine."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from .conftest import Campaign, git, hosted

pytestmark = pytest.mark.deep

BRANCH = "graphfix/autograd"
GITHUB = "https://github.com/acme/trainer.git"
OTHER = "https://github.com/acme/other.git"


def offered(campaign: Campaign, loops: SimpleNamespace, url: str = GITHUB) -> Path:
    """A repository whose pull request is open."""
    bare = hosted(campaign, url, loops)
    assert campaign("run", "--push", "--open").returncode == 0
    return bare


def verbs(forge: Any) -> list[str]:
    return [verb for verb, _, _ in forge.told]


def two(campaign: Campaign, loops: SimpleNamespace) -> None:
    """A repository with something to repair, and one that has nothing yet."""
    hosted(campaign, GITHUB, loops)
    other = campaign.remote("other", {"train.py": loops.clean})
    campaign.variables |= {"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_1": f"url.{other}.insteadOf", "GIT_CONFIG_VALUE_1": OTHER}


@pytest.mark.parametrize("url", [GITHUB, "https://gitlab.com/acme/deep/trainer.git"])
def test_an_open_pull_request_is_renewed_when_asked(campaign: Campaign, forge: Any, loops: SimpleNamespace, url: str) -> None:
    bare = offered(campaign, loops, url)
    tip = git(bare, "rev-parse", BRANCH)
    campaign.move_on("trainer", {"old.py": loops.legacy})
    git(bare, "branch", "-m", "main", "trunk")
    assert campaign("update").returncode == 0
    [row] = campaign.report()["rows"]
    assert (row["stage"], campaign.report()["open"]) == ("branched", 1) and row["link"].startswith("https://x/")
    assert git(bare, "rev-parse", BRANCH) == tip and verbs(forge) == ["POST"]
    done = campaign("update", "--push", "--open")
    assert done.returncode == 0 and b"opened https://x/" in done.stderr
    assert git(bare, "log", "--format=%s", f"trunk..{BRANCH}").count("Repair ") == 2
    assert verbs(forge)[1:] in (["PATCH"], ["PUT"])
    _, _, data = forge.told[-1]
    assert data["title"] == "Fix 2 kinds of autograd graph misuse" and "legacy-scalar" in str(data)
    assert "trunk" in (data.get("base"), data.get("target_branch"))  # the same pull request, whatever its base is called now


def test_a_later_run_renews_it_as_well(campaign: Campaign, forge: Any, loops: SimpleNamespace) -> None:
    bare = offered(campaign, loops)
    campaign.move_on("trainer", {"more.py": ""})
    campaign("update")
    campaign.about(GITHUB, offer={"branch": "other"})  # what was pushed keeps its name
    assert campaign("run", "--push", "--open").returncode == 0
    assert campaign.stages() == {"acme+trainer": "opened"} and verbs(forge) == ["POST", "PATCH"]
    assert git(bare, "rev-parse", f"{BRANCH}~") == git(bare, "rev-parse", "main")
    assert git(bare, "branch", "--list", "other") == ""


@pytest.mark.parametrize(("limits", "opened"), [({"open": 1}, 1), ({"a-day": 2}, 2), ({"a-day": 1}, 1)])
def test_one_that_is_renewed_counts_as_open_but_not_as_new(
    campaign: Campaign, forge: Any, loops: SimpleNamespace, limits: dict[str, object], opened: int
) -> None:
    two(campaign, loops)
    campaign.about(OTHER, GITHUB, limits={"open": 0, "a-day": 0} | limits)
    assert campaign("run", "--push", "--open").returncode == 0
    for number in range(2):
        campaign.move_on("trainer", {"more.py": f"{number}\n"})
        assert campaign("update", "--push", "--open").returncode == 0
    assert verbs(forge) == ["POST", "PATCH", "PATCH"]
    campaign.move_on("trainer", {"more.py": ""})
    campaign.move_on("other", {"train.py": loops.total})
    campaign("update")
    assert campaign("run", "--push", "--open").returncode == 0
    assert verbs(forge).count("POST") == opened and verbs(forge).count("PATCH") == 3
    assert campaign.stages() == {"acme+trainer": "opened", "acme+other": "opened" if opened == 2 else "pushed"}


def test_one_of_a_clean_repository_counts_as_open(campaign: Campaign, forge: Any, loops: SimpleNamespace) -> None:
    two(campaign, loops)
    campaign.about(OTHER, GITHUB, limits={"open": 1})
    campaign("run", "--push", "--open")
    campaign.move_on("trainer", {"train.py": loops.total_fixed})
    campaign.move_on("other", {"train.py": loops.total})
    done = campaign("update", "--push", "--open")
    assert done.returncode == 0 and b"the limit of open pull requests is reached: 1 (limits.open)" in done.stderr
    assert campaign.stages() == {"acme+trainer": "clean", "acme+other": "pushed"} and verbs(forge) == ["POST"]


def test_one_that_nobody_needs_any_more_is_told_and_withdrawn(campaign: Campaign, forge: Any, loops: SimpleNamespace) -> None:
    offered(campaign, loops)
    campaign.move_on("trainer", {"train.py": loops.total_fixed})
    assert campaign("update", "--push", "--open").returncode == 0
    [row] = campaign.report()["rows"]
    told = (row["stage"], row["reason"], row["link"])
    assert told == ("clean", "nothing is left to fix, but its pull request is open", "https://x/pull/7")
    assert campaign.report()["open"] == 1 and b"https://x/pull/7" in campaign("report").stdout
    assert b"1 pull request stays open" in campaign("close").stderr and verbs(forge) == ["POST"]
    assert campaign("close", "--withdraw").returncode == 0
    assert forge.told[-1] == ("PATCH", "/repos/acme/trainer/pulls/7", {"state": "closed"})
    assert campaign.stages() == {"acme+trainer": "closed"} and campaign.report()["open"] == 0


@pytest.mark.parametrize("ending", ["closed", "merged"])
@pytest.mark.parametrize("renewed", [False, True])
def test_what_a_maintainer_has_ended_is_left_alone(
    campaign: Campaign, forge: Any, loops: SimpleNamespace, ending: str, renewed: bool
) -> None:
    bare = offered(campaign, loops)
    tip = git(bare, "rev-parse", BRANCH)
    campaign.move_on("trainer", {"old.py": loops.legacy})
    if renewed:
        campaign("update")
    forge.pulls[0] |= {"state": "closed", "merged_at": "2026-01-01T00:00:00Z" if ending == "merged" else None}
    assert campaign("run" if renewed else "update", "--push", "--open").returncode == 0
    assert campaign.stages() == {"acme+trainer": ending}
    assert campaign("update", "--push", "--open").returncode == 0
    assert git(bare, "rev-parse", BRANCH) == tip and verbs(forge) == ["POST"]


def test_a_forge_that_does_not_answer_costs_no_open_pull_request(campaign: Campaign, forge: Any, loops: SimpleNamespace) -> None:
    offered(campaign, loops)
    campaign.move_on("trainer", {"more.py": ""})
    forge.refusals = [(500, {"message": "down"})] * 2
    done = campaign("update", "--push", "--open")
    assert done.returncode == 1 and done.stderr.count(b"acme+trainer: ") == 2 and b"500: down" in done.stderr
    assert campaign.stages() == {"acme+trainer": "branched"}
    assert campaign("run", "--push", "--open").returncode == 0
    assert campaign.stages() == {"acme+trainer": "opened"} and verbs(forge) == ["POST", "PATCH"]


def test_what_a_maintainer_has_added_to_our_branch_is_kept(campaign: Campaign, forge: Any, loops: SimpleNamespace) -> None:
    bare = offered(campaign, loops)
    work = campaign.remotes / "trainer.work"
    git(work, "fetch", "-q", str(bare), BRANCH)
    git(work, "checkout", "-q", "FETCH_HEAD")
    git(work, "commit", "-q", "--allow-empty", "-m", "mine")
    git(work, "push", "-q", str(bare), f"HEAD:{BRANCH}")
    theirs = git(work, "rev-parse", "HEAD")
    git(work, "checkout", "-q", "main")
    campaign.move_on("trainer", {"old.py": loops.legacy})
    assert campaign("update", "--push", "--open").returncode == 1
    [row] = campaign.report()["rows"]
    assert "commits that graphfix did not make" in row["reason"] and row["link"] == "https://x/pull/7"
    assert git(bare, "rev-parse", BRANCH) == theirs and verbs(forge) == ["POST"] and campaign.report()["open"] == 1
