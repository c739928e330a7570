"""Draw the two pictures of the README into docs/pictures: a finding in the terminal, and live nodes before and after a repair.

`pip install -e '.[plot]' torch`, then `python3 scripts/draw_pictures.py`. Both are drawn from what graphfix itself says of a
bundled fixture: `graphfix check` runs in a terminal of its own, and `graphfix verify` runs the fixture and its repair on the
CPU. Needs a system that has pseudo-terminals.
"""

from __future__ import annotations

import os
import pty
import re
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from graphfix.verify.cases import Case, cases_in, chosen
from graphfix.verify.fixtures import verify
from graphfix.verify.plot import draw
from graphfix.verify.record import Run

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
FINDING = "GF301/summed_pair"
LEAK = "GF101/tensor_total"
FONTS = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono'"
WIDTH = 100  # columns, as the README shows findings


def main() -> int:
    PICTURES.mkdir(parents=True, exist_ok=True)
    _write(PICTURES / "finding.svg", finding(fixture(FINDING)))
    live_nodes(fixture(LEAK), PICTURES / "live_nodes.svg")
    return 0


def fixture(key: str) -> Case:
    """The bundled fixture of that name."""
    (case,) = chosen(cases_in(ROOT / "fixtures"), names=(key,))
    return case


def finding(case: Case) -> str:
    """The terminal after `graphfix check`, as SVG."""
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"))
    console.print(f"$ graphfix check {case.before.name}", highlight=False, style="bold")
    console.print(Text.from_ansi(in_terminal(["check", case.before.name], case.path)), soft_wrap=True)
    drawn = console.export_svg(title="graphfix", theme=MONOKAI, unique_id="finding")
    # fonts of the reader's own: a picture does not load any
    return re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL).replace("Fira Code", FONTS)


def in_terminal(words: list[str], folder: Path) -> str:
    """What graphfix writes on a terminal, with its colours."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.environ.pop("NO_COLOR", None)
        os.environ.update(TERM="xterm-256color", COLUMNS=str(WIDTH))
        os.execv(sys.executable, [sys.executable, "-m", "graphfix", *words])
    said = b""
    try:
        while some := os.read(terminal, 65536):
            said += some
    except OSError:  # Linux says so where the other end is closed
        pass
    os.close(terminal)
    os.waitpid(child, 0)
    return said.decode("utf-8").replace("\r\n", "\n").rstrip("\n")


def live_nodes(case: Case, path: Path) -> None:
    """Live autograd nodes behind each backward pass, of the fixture and of its repair."""
    with closing(verify([case], ("cpu",), 1)) as verdicts:
        (verdict,) = verdicts
    if verdict.runs.after is None or not verdict.good:
        raise SystemExit(f"{case.key} does not verify")
    draw(_nodes_only(verdict.runs.before), _nodes_only(verdict.runs.after), path, f"{case.key}: nodes alive after each step")
    _write(path, path.read_text("utf-8"))


def _nodes_only(run: Run) -> Run:
    """Without the panel of saved bytes: a total keeps many nodes and hardly a byte."""
    return replace(run, peak_saved_bytes=None)


def _write(path: Path, text: str) -> None:
    """Without the blanks at the ends of lines and the empty lines that both drawers leave."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    sys.exit(main())
