"""The report as one HTML page: nothing is fetched, it can be searched, and it fits a telephone."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
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
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .5rem; text-align: left; vertical-align: top; overflow-wrap: break-word; }
.scroll { overflow-x: auto; }
th { white-space: nowrap; } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
input { font: inherit; padding: .5rem; width: 100%; border: 1px solid var(--line); border-radius: .5rem; background: transparent; color: inherit; }
.failed { color: var(--bad); } .merged, .opened, .branched, .pushed { color: var(--good); }
@media (max-width: 40rem) {
  thead { display: none; }
  tr { display: block; border-bottom: 2px solid var(--line); padding: .5rem 0; }
  tr[hidden] { display: none; }
  td, td.n { display: flex; justify-content: space-between; gap: 1rem; border: 0; padding: .15rem 0; text-align: right; overflow-wrap: anywhere; }
  td::before { content: attr(data-name); opacity: .7; text-align: left; white-space: nowrap; }
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


def page(figures: dict[str, Any], title: str, shown: Callable[[str], str]) -> str:
    """The page for the figures of `figures.figures`. `shown`: a text with nothing in it that hides or turns what stands around it."""
    figures, title = _all_shown(figures, shown), shown(title)
    stages = figures["stages"]
    tiles = [
        ("repositories", figures["repositories"]),
        ("findings", sum(figures["findings"].values())),
        ("places repaired", sum(figures["repaired"].values())),
        ("branches", sum(bool(row["repaired"]) for row in figures["rows"])),
        ("checked by their own command", figures["checked"]),
        ("files not analysed to the end", figures["unfinished"]),
        ("pull requests open", figures["open"]),
        ("merged", stages.get("merged", 0)),
        ("failed", stages.get("failed", 0)),
    ]
    begun = time.strftime("%Y-%m-%d", time.gmtime(figures["begun"]))
    parts = [
        f"<h1>{escape(title)}</h1><p>Begun {begun}.</p>",
        '<div class="tiles">' + "".join(f'<div class="tile"><b>{value}</b>{name}</div>' for name, value in tiles) + "</div>",
        "<h2>By rule</h2>",
        _table(("rule", "found", "in repositories", "with a safe fix", "repaired"), _by_rule(figures)),
        "<h2>Progress of the repositories</h2>",
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


def _all_shown(value: Any, shown: Callable[[str], str]) -> Any:
    """The figures with each text in them as it is `shown`."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, dict):
        return {shown(key): _all_shown(part, shown) for key, part in value.items()}
    return [_all_shown(part, shown) for part in value] if isinstance(value, list) else value


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
    return f'<div class="scroll"><table id="all"><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table; numbers stand to the right, and a pair is a text with its class."""
    body = "".join("<tr>" + "".join(map(_cell, heads, row)) + "</tr>" for row in rows)
    first = rows[0] if rows else heads
    head = "".join(
        f"<th{' class=n' if isinstance(value, int) else ''}>{escape(each)}</th>" for each, value in zip(heads, first, strict=True)
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(head: str, value: Any) -> str:
    name = f'data-name="{escape(head)}"'
    if isinstance(value, tuple):
        return f'<td {name}><span class="{escape(str(value[1]))}">{escape(str(value[0]))}</span></td>'
    return f'<td {name} class="n">{value}</td>' if isinstance(value, int) else f"<td {name}>{escape(str(value))}</td>"
