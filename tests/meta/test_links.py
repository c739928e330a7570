"""Every relative link of the pages leads to a file, and every anchor to a heading of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    *sorted(p.relative_to(ROOT).as_posix() for p in ROOT.glob("docs/**/*.md")),
]
LINK = re.compile(r"\]\(([^()\s]+)\)")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")


def prose(text: str) -> str:
    """The text without blocks and pieces of code, where brackets and parentheses mean other things."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))


def anchors(text: str) -> set[str]:
    """What the headings are called in links: as GitHub makes it of them."""
    blocks_gone = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.*)$", blocks_gone, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(text: str, page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    return [link for link in LINK.findall(prose(text)) if not ELSEWHERE.match(link) and not leads(link, page)]


def leads(link: str, page: Path) -> bool:
    name, _, anchor = link.partition("#")
    target = page.parent / name if name else page
    if not target.exists():
        return False
    return not anchor or (target.suffix == ".md" and anchor in anchors(target.read_text("utf-8")))


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    assert broken((ROOT / name).read_text("utf-8"), ROOT / name) == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    todo, seen = [ROOT / "README.md"], set[Path]()
    while todo:
        page = todo.pop().resolve()
        if page not in seen and page.suffix == ".md":
            seen.add(page)
            links = [link.partition("#")[0] for link in LINK.findall(prose(page.read_text("utf-8"))) if not ELSEWHERE.match(link)]
            todo += [page.parent / link for link in links if link]
    assert [name for name in PAGES if (ROOT / name).resolve() not in seen] == []


@pytest.mark.parametrize("link", ["gone.md", "docs/gone.md#x", "README.md#gone", "#gone", "LICENSE#top"])
def test_a_link_that_leads_nowhere_would_be_seen(link: str) -> None:
    assert broken(f"see [it]({link})", ROOT / "README.md") == [link]


def test_links_that_lead_somewhere_pass() -> None:
    text = "[a](LICENSE) [b](docs/options.md#exit-codes) [c](https://pre-commit.com) `x[0](gone)` [d](#install) ![e](docs/pictures/finding.svg)"
    assert broken(text, ROOT / "README.md") == []
