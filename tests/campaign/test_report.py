"""What is told of a campaign: figures, the page, and progress."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from graphfix.campaign.page import page
from graphfix.campaign.progress import EVERY, Progress
from graphfix.campaign.state import Stage, State
from graphfix.report.escape import escaped

from .conftest import Campaign, git

DOCS = Path(__file__).parents[2] / "docs/campaign.md"


def row(name: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name, "url": name, "stage": "branched", "reason": "", "findings": {"GF101": 2}, "repaired": {"GF101": 1},
        "files": 1, "lines": 1, "checked": [], "link": "", **more,
    }  # fmt: skip


def figures(*rows: dict[str, Any]) -> dict[str, Any]:
    return {
        "begun": 0, "repositories": len(rows), "stages": {"branched": len(rows)}, "findings": {"GF101": 2 * len(rows)},
        "repaired": {"GF101": len(rows)}, "files": len(rows), "lines": len(rows), "checked": 0, "open": 0, "unfinished": 0, "failures": {"a <b> reason": 1},
        "worst": [{"repository": rows[0]["name"], "file": "<i>.py", "findings": 2}],
        "kinds": {"GF101": {"name": "accumulated-graph", "repositories": 1, "safe": 1, "unsafe": 0}}, "seconds": {}, "rows": list(rows),
    }  # fmt: skip


class Outline(HTMLParser):
    """The elements of a page, and what they fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.fetched += [value or "" for name, value in attributes if name in ("src", "srcset", "data") or tag == "link"]


def test_the_page_fetches_nothing_and_takes_names_as_text() -> None:
    outline = Outline()
    text = page(figures(row("<img src=x onerror=alert(1)>", link="javascript:alert(1)"), row("a&b")), "a <title>", escaped)
    outline.feed(text)
    assert outline.fetched == [] and "img" not in outline.tags and "i" not in outline.tags and "a" not in outline.tags
    told = page(figures(row("a\u200b\u202e\U000e0061", reason="\u2066why")), "\u00adtitle", escaped)
    assert "a\\u200b\\u202e\\U000e0061" in told and "\\u2066why" in told and "<title>\\xadtitle" in told
    assert {char for char in told if not char.isprintable()} == {"\n"}
    assert "a &lt;title&gt;" in text and "a &lt;b&gt; reason" in text
    assert '<meta name="viewport"' in text


@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no Chromium here")
@pytest.mark.parametrize(("search", "shown"), [("", ["one", "two", "three"]), ("#tw", ["two"]), ("#branched%20three", ["three"])])
def test_the_page_is_searched_in_a_browser(tmp_path: Path, search: str, shown: list[str]) -> None:
    path = tmp_path / "report.html"
    path.write_text(page(figures(row("one"), row("two"), row("three")), "a campaign", escaped))
    words = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
    words += [f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=2000", "--dump-dom", path.as_uri() + search]
    dom = subprocess.run(["chromium", *words], capture_output=True, text=True, check=True, timeout=120).stdout
    rows = re.findall(r'<tr([^>]*)><td data-name="repository">(\w+)<', dom.partition('id="all"')[2])
    assert [name for attributes, name in rows if "hidden" not in attributes] == shown
    assert f"{len(shown)} of 3 repositories" in dom


def test_the_figures_are_those_of_the_repositories(campaign: Campaign, loops: SimpleNamespace, tmp_path: Path) -> None:
    campaign.about(
        campaign.remote("one", {"a.py": loops.both, "broken.py": "loss.backward("}),
        campaign.remote("two", {"b.py": loops.total, "c.py": loops.legacy}),
    )
    assert campaign("run").returncode == 0
    told = campaign.report()
    assert told["findings"] == {"GF101": 2, "GF901": 2} and told["repaired"] == told["findings"]
    assert told["kinds"]["GF901"] == {"name": "legacy-scalar", "repositories": 2, "safe": 2, "unsafe": 0}
    assert set(told["seconds"]) == {"discovered", "cloned", "analysed", "fixed"}
    assert [(row["name"], row["files"]) for row in told["rows"]] == [("remotes+one", 1), ("remotes+two", 2)]
    done = campaign("report", "--output-format", "html", "--output-file", str(tmp_path / "report.html"))
    assert done.returncode == 0 and "remotes+two" in (tmp_path / "report.html").read_text()
    assert b"remotes+one" in campaign("report").stdout
    assert b"2 repositories: 2 branched" in campaign("status").stdout


def test_a_log_gets_a_line_every_ten_seconds(tmp_path: Path) -> None:
    state, stream, now = State(tmp_path), io.StringIO(), [0.0]
    for number in range(4):
        state.add(f"r{number}", f"u{number}")
    tell = Progress(state, stream, frozenset((Stage.CLEAN, Stage.FAILED)), lambda: now[0])
    for target, stage in zip(state.targets(), (Stage.CLEAN, Stage.FAILED), strict=False):
        now[0] += EVERY / 2
        tell(state.move(target, stage, findings={"GF101": 3}, fixable=2))
    assert stream.getvalue() == "2/4 repositories, 6 findings, 4 fixes, 1 failed, about 10 s left\n"
    state.close()


def test_the_script_for_other_runners_repairs_in_a_clone(campaign: Campaign, loops: SimpleNamespace, command: str) -> None:
    """As multi-gitter and git-xargs run it: in the clone, with what it changes committed by them."""
    script = campaign.remotes / "repair.sh"
    script.write_text(re.search(r"```sh\n(#!/bin/sh\n.*?)```", DOCS.read_text(), re.DOTALL)[1])  # type: ignore[index]
    script.chmod(0o755)
    campaign.remote("one", {"a.py": loops.total, "b.py": "import torch\nloss.backward()\nloss.backward()\n"})
    work = campaign.remotes / "one.work"
    path = f"{Path(command).parent}:{campaign.environment['PATH']}"
    subprocess.run([str(script)], cwd=work, check=True, env=campaign.environment | {"PATH": path}, capture_output=True)
    assert git(work, "diff", "--name-only") == "a.py"
    assert (work / "a.py").read_text() == loops.total_fixed
