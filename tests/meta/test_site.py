"""The documentation is a site: every link of it leads somewhere, and a page loads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOADED = re.compile(
    r"<(?:script|img|iframe)[^>]+src=\"?(?P<src>[^\">\s]+)|<link[^>]+rel=\"?(?:stylesheet|preconnect|icon)[^>]+href=\"?(?P<href>[^\">\s]+)"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    words = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--config-file",
        str(ROOT / "mkdocs.yml"),
        "--site-dir",
        str(folder),
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_built(site: Path) -> None:
    pages = [path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")]
    built = {path.parent.relative_to(site) for path in site.rglob("index.html")}
    assert {page.parent if page.name in ("index", "README") else page for page in pages} <= built


def test_no_page_loads_something_from_elsewhere(site: Path) -> None:
    loaded = {
        match["src"] or match["href"] for path in site.rglob("*.html") for match in LOADED.finditer(path.read_text("utf-8"))
    }
    assert loaded and not [address for address in loaded if re.match(r"\w+:|//", address) and not address.startswith("data:")]


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs").glob("*.md")))
def test_each_page_begins_with_an_example(page: str) -> None:
    """A block of code stands before the first table, and before the second heading."""
    if page in ("ARCHITECTURE.md", "design.md", "promises.md", "comparison.md"):
        pytest.skip("it explains and instructs nobody")
    body = (ROOT / "docs" / page).read_text("utf-8").partition("\n")[2]
    first = re.search(r"^(```|\||## )", body, re.MULTILINE)
    assert first is not None and first[1] in ("```",), f"{page} begins with {first and first[0]!r}"
