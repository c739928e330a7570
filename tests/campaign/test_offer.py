"""What a campaign offers to maintainers, on a forge of this machine."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from .conftest import Campaign, git, hosted

pytestmark = pytest.mark.deep

BRANCH = "graphfix/autograd"
GITHUB = "https://github.com/acme/trainer.git"
HOSTS = [GITHUB, "https://gitlab.com/acme/deep/trainer.git"]


def everything(campaign: Campaign) -> bytes:
    return b"".join(path.read_bytes() for path in campaign.folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("url", HOSTS)
def test_a_pull_request_is_opened_once_and_then_renewed(campaign: Campaign, forge: Any, loops: SimpleNamespace, url: str) -> None:
    bare = hosted(campaign, url, loops)
    done = campaign("run", "--push", "--open")
    assert done.returncode == 0, done.stderr
    assert git(bare, "log", "--format=%s", f"main..{BRANCH}") == "Repair accumulated-graph in 1 place"
    assert [(verb, data["title"]) for verb, _, data in forge.told] == [("POST", "Repair accumulated-graph in 1 place")]
    assert campaign("run", "--push", "--open").returncode == 0
    assert [verb for verb, _, _ in forge.told] in (["POST", "PATCH"], ["POST", "PUT"])
    assert campaign.stages() == {"acme+trainer": "opened"} or campaign.stages() == {"deep+trainer": "opened"}
    assert b"s3cret" not in everything(campaign) + done.stdout + done.stderr


def test_nothing_is_pushed_that_was_not_asked_for(campaign: Campaign, forge: Any, loops: SimpleNamespace) -> None:
    bare = hosted(campaign, GITHUB, loops)
    done = campaign("run")
    assert done.returncode == 0 and b"--push offers them" in done.stderr
    assert git(bare, "branch", "--format=%(refname:short)") == "main" and forge.told == []
    done = campaign("run", "--open")
    assert done.returncode == 2 and b"--open needs --push" in done.stderr


def test_one_that_a_maintainer_closed_is_never_opened_again(campaign: Campaign, forge: Any, loops: SimpleNamespace) -> None:
    hosted(campaign, GITHUB, loops)
    campaign("run", "--push", "--open")
    forge.pulls[0]["state"] = "closed"
    assert campaign("update").returncode == 0
    assert campaign.stages() == {"acme+trainer": "closed"}
    campaign("run", "--push", "--open")
    for path in campaign.folder.glob("campaign.sqlite3*"):
        path.unlink()  # nor where nothing is known of it any more
    campaign("run", "--push", "--open")
    row = campaign.report()["rows"][0]
    assert (row["stage"], row["reason"]) == ("skipped", "a maintainer has closed https://x/pull/7")
    assert [verb for verb, _, _ in forge.told] == ["POST"]


def test_what_was_merged_is_known_after_an_update(campaign: Campaign, forge: Any, loops: SimpleNamespace) -> None:
    hosted(campaign, GITHUB, loops)
    campaign("run", "--push", "--open")
    forge.pulls[0] |= {"state": "closed", "merged_at": "2026-01-01T00:00:00Z"}
    assert b"merged https://x/pull/7" in campaign("update").stderr
    assert campaign.stages() == {"acme+trainer": "merged"}


@pytest.mark.parametrize(("fact", "why"), [("archived", "it is archived"), ("fork", "it is a fork")])
def test_archived_repositories_and_forks_are_left_alone(
    campaign: Campaign, forge: Any, loops: SimpleNamespace, fact: str, why: str
) -> None:
    bare = hosted(campaign, GITHUB, loops)
    forge.project[fact] = True
    campaign("run", "--push", "--open")
    row = campaign.report()["rows"][0]
    assert (row["stage"], row["reason"]) == ("skipped", why) and forge.told == []
    assert git(bare, "branch", "--format=%(refname:short)") == "main"


@pytest.mark.parametrize("status", [403, 429])
def test_a_forge_that_wants_to_be_left_alone_is(campaign: Campaign, forge: Any, loops: SimpleNamespace, status: int) -> None:
    hosted(campaign, GITHUB, loops)
    forge.refusals = [(status, {"message": "slow down"}, {"Retry-After": "1"})] * 2
    done = campaign("run", "--push", "--open")
    assert done.returncode == 0 and done.stderr.count(b"is reached; it allows requests again in 1 seconds") == 2
    assert campaign.stages() == {"acme+trainer": "opened"}


def test_without_a_token_the_branch_is_pushed_and_the_reason_told(campaign: Campaign, loops: SimpleNamespace) -> None:
    bare = hosted(campaign, GITHUB, loops)
    done = campaign("run", "--push", "--open")
    assert done.returncode == 1
    row = campaign.report()["rows"][0]
    assert (row["stage"], row["reason"]) == ("failed", "open: there is no token for github.com in GH_TOKEN or GITHUB_TOKEN")
    assert git(bare, "rev-parse", "--verify", BRANCH)


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        ("open", b"the limit of open pull requests is reached: 1 (limits.open)"),
        ("a-day", b"the limit of pull requests in 24 hours is reached: 1 (limits.a-day)"),
    ],
)
def test_no_more_are_opened_than_the_limits_allow(
    campaign: Campaign, forge: Any, loops: SimpleNamespace, limit: str, told: bytes
) -> None:
    hosted(campaign, GITHUB, loops)
    other = campaign.remote("other", {"train.py": loops.total})
    campaign.variables |= {
        "GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_1": f"url.{other}.insteadOf", "GIT_CONFIG_VALUE_1": "https://github.com/acme/other.git",
    }  # fmt: skip
    campaign.about(GITHUB, "https://github.com/acme/other.git", limits={limit: 1})
    done = campaign("run", "--push", "--open")
    assert done.returncode == 0 and told in done.stderr
    assert campaign.stages() == {"acme+trainer": "opened", "acme+other": "pushed"}
    assert len(forge.pulls) == 1


def test_a_branch_of_somebody_else_is_left_alone(campaign: Campaign, loops: SimpleNamespace) -> None:
    bare = campaign.remote("trainer", {"train.py": loops.total})
    git(campaign.remotes / "trainer.work", "commit", "-q", "--allow-empty", "-m", "mine")
    git(campaign.remotes / "trainer.work", "push", "-q", str(bare), f"HEAD:{BRANCH}")
    theirs = git(bare, "rev-parse", BRANCH)
    campaign.about(bare)
    assert campaign("run", "--push").returncode == 1
    assert git(bare, "rev-parse", BRANCH) == theirs
    assert "commits that graphfix did not make" in campaign.report()["rows"][0]["reason"]


def test_a_closed_campaign_offers_nothing_more(campaign: Campaign, forge: Any, loops: SimpleNamespace) -> None:
    hosted(campaign, GITHUB, loops)
    campaign("run", "--push", "--open")
    assert campaign("close", "--withdraw").returncode == 0
    assert forge.told[-1] == ("PATCH", "/repos/acme/trainer/pulls/7", {"state": "closed"})
    assert campaign.stages() == {"acme+trainer": "closed"}


def test_a_closed_campaign_says_what_became_of_the_rest(campaign: Campaign, forge: Any, loops: SimpleNamespace) -> None:
    hosted(campaign, GITHUB, loops)
    campaign("run")
    told = campaign("close").stdout.decode()
    assert "1 repository: 1 skipped" in told and "skipped 1x: the campaign was closed" in told


@pytest.mark.parametrize("asked", [False, True])
def test_owners_are_named_only_where_that_is_asked_for(
    campaign: Campaign, forge: Any, loops: SimpleNamespace, asked: bool
) -> None:
    hosted(campaign, GITHUB, loops)
    git(campaign.remotes / "trainer.work", "pull", "-q", str(campaign.remotes / "trainer.git"), "main")
    (campaign.remotes / "trainer.work/CODEOWNERS").write_text("*.py @acme/training\n*.md @acme/docs\n")
    git(campaign.remotes / "trainer.work", "add", "CODEOWNERS")
    git(campaign.remotes / "trainer.work", "commit", "-qm", "owners")
    git(campaign.remotes / "trainer.work", "push", "-q", str(campaign.remotes / "trainer.git"), "HEAD:main")
    campaign.about(GITHUB, offer={"mention-owners": asked})
    assert campaign("run", "--push", "--open").returncode == 0
    assert forge.pulls[0]["body"].endswith("\ncc @acme/training\n") is asked
    assert "@acme/docs" not in forge.pulls[0]["body"]


def repository(name: str, **more: object) -> dict[str, object]:
    urls = {"clone_url": f"https://x/{name}.git", "http_url_to_repo": f"https://x/{name}.git"}
    return {"id": 1, "name": name, "archived": False, "fork": False, **urls, **more}


def test_the_repositories_of_an_organisation_and_of_a_search_on_github(campaign: Campaign, forge: Any) -> None:
    forge.lists = {
        "/orgs/acme": {"login": "acme", "url": f"{forge.address}/orgs/acme"},
        "/orgs/acme/repos": [repository("a"), repository("old", archived=True), repository("copy", fork=True)],
        "/search/repositories": {"total_count": 2, "incomplete_results": False, "items": [repository("b"), repository("a")]},
    }
    campaign.about(targets={"organisation": "acme", "search": "topic:pytorch"})
    campaign("plan")
    assert [row["url"] for row in campaign.report()["rows"]] == ["https://x/a.git", "https://x/b.git"]


def test_the_repositories_of_a_group_on_gitlab(campaign: Campaign, forge: Any) -> None:
    forge.lists = {"/api/v4/groups/acme/projects": [repository("a"), repository("copy", forked_from_project={"id": 2})]}
    campaign.about(targets={"organisation": "acme", "host": "gitlab.com"})
    campaign("plan")
    assert [row["url"] for row in campaign.report()["rows"]] == ["https://x/a.git"]


def test_a_forge_that_tells_nothing_is_named(campaign: Campaign, forge: Any) -> None:
    campaign.about(targets={"organisation": "acme"})
    forge.refusals = [(404, {"message": "Not Found"})]
    done = campaign("plan")
    assert done.returncode == 2 and b"cannot list the repositories of github.com: 404: Not Found" in done.stderr
    campaign.variables = {}
    done = campaign("plan")
    assert done.returncode == 2 and b"there is no token for github.com" in done.stderr
