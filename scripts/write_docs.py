"""Write docs/rules from the pages of the rules, and docs/errors from the kinds of errors: one file each, and a table of them all.

`python3 scripts/write_docs.py` writes what is not current and removes what belongs to no rule and no error;
`python3 scripts/write_docs.py --check` writes nothing and exits 1 if anything would change.
"""

from __future__ import annotations

import sys
from pathlib import Path

from graphfix.codemods import RULES
from graphfix.why.kinds import all_kinds
from graphfix.why.page import page, table_of_errors

DOCS = Path(__file__).parent.parent / "docs"
FOLDERS = ("rules", "errors")


REPAIRS = {
    "GF101": "`.item()` or `.detach()`",
    "GF102": "`.item()` or `.detach()` at the store",
    "GF103": "`torch.no_grad()` around it",
    "GF201": "detached where it enters",
    "GF202": "detached where it enters, or at the store",
    "GF203": "moved in, or detached",
    "GF204": "initialised inside, or kept as a log",
    "GF205": "made a leaf, computed with where it is read",
    "GF301": "one sum, or `retain_graph=True` on the first",
    "GF302": "the second `backward()` goes",
    "GF303": "the right input is detached",
    "GF304": "each `backward()` limited to its own parameters, steps behind both; on request",
    "GF305": "removed",
    "GF306": "state detached, graph freed",
    "GF307": "removed",
    "GF308": "retained in each; better summed in one thread",
    "GF309": "`loss.backward()` in front of the step; on request",
    "GF310": "what was cut, without the cut; on request",
    "GF311": "detached where it is stored, or before the copy",
    "GF312": "their mean, or their sum; on request",
    "GF313": "under `no_grad`; on request",
    "GF314": "the gradient of the whole; on request",
    "GF315": "kept in a `ModuleList`; on request",
    "GF316": "given to the optimizer, too; on request",
    "GF317": "told to require grad, or to keep its gradient; on request",
    "GF318": "left uncompiled; on request",
    "GF401": "the out-of-place form",
    "GF901": "`.item()`",
    "GF902": "`.detach()`",
    "GF903": "`no_grad`, `retain_graph`, the tensor",
    "GF904": "`.item()`",
}
ABOUT = """\
## Optional findings

Old code that works is no fault. What only modernises it is optional, and a default run neither tells nor changes it: GF902, GF904
and, of GF903, a plain `Variable(x)`. `graphfix diff --select GF9 src` asks for all of it, `--select GF902` for one rule.

The same goes for GF102, GF103 and GF305 in tests (`test_*.py`, `*_test.py`, `conftest.py`, and what imports pytest or unittest):
what a test keeps or builds is gone when it ends. It goes for GF103, too, where a forward pass runs only once.

## As libcst commands

Each rule is a libcst command, too, named like the rule:
`python3 -m libcst.tool codemod -x --no-format graphfix.codemods.commands.AccumulatedGraph src`.
"""


def pages() -> dict[str, str]:
    """The content of each file, by its name below docs."""
    rules = {"README.md": table(), **{f"{rule.code}.md": rule.page for rule in RULES}}
    errors = {"README.md": table_of_errors(), **{f"{kind.key}.md": page(kind) for kind in all_kinds()}}
    return {f"{folder}/{name}": text for folder, files in zip(FOLDERS, (rules, errors)) for name, text in files.items()}


def table() -> str:
    rows = [f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.summary} | {REPAIRS[rule.code]} |" for rule in RULES]
    about = "`graphfix rule CODE` shows a rule's page. What makes a repair safe: [safety.md](../safety.md)."
    return "\n".join(["# Rules", "", about, "", "| code | name | finds | repair |", "|---|---|---|---|", *rows, "", ABOUT])


def stale() -> list[Path]:
    """Files that differ from what the rules and the errors say, and files that belong to neither."""
    wanted = pages()
    written = {f"{folder}/{path.name}" for folder in FOLDERS for path in (DOCS / folder).glob("*")}
    changed = {name for name, text in wanted.items() if name not in written or read(DOCS / name) != text}
    return sorted(DOCS / name for name in changed | (written - wanted.keys()))


def read(path: Path) -> str:
    return path.read_text("utf-8")


def main(words: list[str]) -> int:
    behind = stale()
    for path in behind:
        print(path.relative_to(DOCS.parent))
    if "--check" in words:
        return 1 if behind else 0
    wanted = pages()
    for path in behind:
        name = path.relative_to(DOCS).as_posix()
        if name in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[name], encoding="utf-8", newline="\n")
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
