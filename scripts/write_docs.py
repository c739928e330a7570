"""Write docs/rules from the pages of the rules: one file per code, and a table of them all.

`python scripts/write_docs.py` writes what is not current and removes what belongs to no rule;
`python scripts/write_docs.py --check` writes nothing and exits 1 if anything would change.
"""

from __future__ import annotations

import sys
from pathlib import Path

from graphfix.codemods import RULES

DOCS = Path(__file__).parent.parent / "docs" / "rules"


def pages() -> dict[str, str]:
    """The content of each file, by its name."""
    return {"README.md": table(), **{f"{rule.code}.md": rule.page for rule in RULES}}


def table() -> str:
    rows = [f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.summary} |" for rule in RULES]
    return "\n".join(["# Rules", "", "| code | name | finds |", "|---|---|---|", *rows, ""])


def stale() -> list[Path]:
    """Files that differ from what the rules say, and files of no rule."""
    wanted = pages()
    written = {path.name for path in DOCS.glob("*")} if DOCS.is_dir() else set()
    changed = {name for name, text in wanted.items() if name not in written or read(DOCS / name) != text}
    return sorted(DOCS / name for name in changed | (written - wanted.keys()))


def read(path: Path) -> str:
    return path.read_text("utf-8")


def main(words: list[str]) -> int:
    behind = stale()
    for path in behind:
        print(path.relative_to(DOCS.parents[1]))
    if "--check" in words:
        return 1 if behind else 0
    wanted = pages()
    DOCS.mkdir(parents=True, exist_ok=True)
    for path in behind:
        if path.name in wanted:
            path.write_text(wanted[path.name], encoding="utf-8", newline="\n")
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
