"""The report as one HTML page: nothing is fetched, it can be searched, and it fits a telephone."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --good: #2a7d4f; --bad: #b3402e; }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 70rem; padding: 1rem; }
h1 { font-size: 1.5rem; margin: .5rem 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); gap: .75rem; margin: 1rem 0; }
.tile { background: var(--soft); border-radius: .5rem; padding: .75rem; }
.tile b { display: block; font-size: 1.6rem; line-height: 1.2; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .5rem; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
th { white-space: nowrap; } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
input { font: inherit; padding: .5rem; width: 100%; border: 1px solid var(--line); border-radius: .5rem; background: transparent; color: inherit; }
.failed { color: var(--bad); } .merged, .opened, .branched, .pushed { color: var(--good); }
@media (max-width: 40rem) {
  #all thead { display: none; }
  #all tr { display: block; border-bottom: 2px solid var(--line); padding: .5rem 0; }
  #all tr[hidden] { display: none; }
  #all td { display: flex; justify-content: space-between; gap: 1rem; border: 0; padding: .15rem 0; text-align: right; }
  #all td::before { content: attr(data-name); opacity: .7; text-align: left; }
}
"""
_SCRIPT = """
const field = document.getElementById("search"), rows = [...document.querySelectorAll("#all tbody tr")];
const count = document.getElementById("count");
function look() {
  const words = field.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
    shown += !row.hidden;
  }
  count.textContent = shown + " of " + rows.length + " repositories";
}
field.addEventListener("input", look);
field.value = decodeURIComponent(location.hash.slice(1));
look();
"""


def page(figures: dict[str, Any], title: str) -> str:
    """The page for the figures of `figures.figures`."""
    stages = figures["stages"]
    tiles = [
        ("repositories", figures["repositories"]),
        ("findings", sum(figures["findings"].values())),
        ("places repaired", sum(figures["repaired"].values())),
        ("branches", sum(bool(row["repaired"]) for row in figures["rows"])),
        ("checked by their own command", figures["checked"]),
        ("files not analysed to the end", figures["unfinished"]),
        ("pull requests open", stages.get("opened", 0)),
        ("merged", stages.get("merged", 0)),
        ("failed", stages.get("failed", 0)),
    ]
    begun = time.strftime("%Y-%m-%d", time.gmtime(figures["begun"]))
    parts = [
        f"<h1>{escape(title)}</h1><p>Begun {begun}.</p>",
        '<div class="tiles">' + "".join(f'<div class="tile"><b>{value}</b>{name}</div>' for name, value in tiles) + "</div>",
        "<h2>By rule</h2>",
        _table(("rule", "found", "in repositories", "with a safe fix", "repaired"), _by_rule(figures)),
        "<h2>How far the repositories have come</h2>",
        _table(("stage", "repositories"), [[(name, name), count] for name, count in stages.items()]),
        *_failures(figures["failures"]),
        *_worst(figures["worst"]),
        "<h2>All repositories</h2>",
        '<label for="search">Search by name, stage, rule or reason</label><input id="search" type="search">',
        '<p id="count"></p>',
        _all(figures["rows"]),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>{''.join(parts)}<script>{_SCRIPT}</script></body></html>\n"
    )


def _by_rule(figures: dict[str, Any]) -> list[Sequence[Any]]:
    kinds = figures["kinds"]
    rows: list[Sequence[Any]] = []
    for code, count in figures["findings"].items():
        known = kinds.get(code, {})
        name = f"{code} {known.get('name', '')}".strip()
        rows.append([name, count, known.get("repositories", 0), known.get("safe", 0), figures["repaired"].get(code, 0)])
    return rows


def _failures(failures: dict[str, int]) -> list[str]:
    if not failures:
        return []
    return ["<h2>Why repositories failed</h2>", _table(("reason", "repositories"), list(failures.items()))]


def _worst(worst: list[dict[str, Any]]) -> list[str]:
    if not worst:
        return []
    rows = [[each["repository"], each["file"], each["findings"]] for each in worst]
    return ["<h2>Files with most findings</h2>", _table(("repository", "file", "findings"), rows)]


def _all(rows: list[dict[str, Any]]) -> str:
    heads = ("repository", "stage", "findings", "repaired", "files", "lines", "reason")
    body = []
    for row in rows:
        name, link = escape(row["name"]), row["link"]
        stage = escape(row["stage"])
        shown = f'<a href="{escape(link)}">{stage}</a>' if link.startswith(("https://", "http://")) else stage
        found = ", ".join(f"{code} {count}" for code, count in row["findings"].items())
        repaired = ", ".join(f"{code} {count}" for code, count in row["repaired"].items())
        cells = [
            name,
            f'<span class="{stage}">{shown}</span>',
            escape(found),
            escape(repaired),
            str(row["files"]),
            str(row["lines"]),
        ]
        cells.append(escape(row["reason"]))
        body.append(
            "<tr>" + "".join(f'<td data-name="{head}">{cell}</td>' for head, cell in zip(heads, cells, strict=True)) + "</tr>"
        )
    head = "".join(f"<th>{each}</th>" for each in heads)
    return f'<table id="all"><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'


def _table(heads: Iterable[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; numbers stand to the right, and a pair is a text with its class."""
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    head = "".join(f"<th{'' if number == 0 else ' class=n'}>{escape(each)}</th>" for number, each in enumerate(heads))
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(value: Any) -> str:
    if isinstance(value, tuple):
        return f'<td class="{escape(str(value[1]))}">{escape(str(value[0]))}</td>'
    return f'<td class="n">{value}</td>' if isinstance(value, int) else f"<td>{escape(str(value))}</td>"
