"""The libcst commands, run the way that the README says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

from graphfix.codemods import RULES, commands
from graphfix.rewrite.command import RuleCommand

COMMANDS = [value for value in vars(commands).values() if isinstance(value, type) and issubclass(value, RuleCommand)][1:]


def camel(name: str) -> str:
    return name.title().replace("-", "")


def test_every_rule_has_one_command_of_its_name() -> None:
    assert [(command.__name__, command.CODE) for command in COMMANDS] == [(camel(rule.name), rule.code) for rule in RULES]


def test_every_command_describes_itself_in_one_sentence() -> None:
    assert all(command.DESCRIPTION.endswith(".") and len(command.DESCRIPTION) < 80 for command in COMMANDS)


def codemod(name: str, path: Path) -> subprocess.CompletedProcess[bytes]:
    words = ["codemod", "-x", "--no-format", "--hide-progress", f"graphfix.codemods.commands.{name}", path.name]
    return subprocess.run([sys.executable, "-m", "libcst.tool", *words], cwd=path.parent, capture_output=True, timeout=600)


def test_the_command_does_what_apply_does(tmp_path: Path, loops: SimpleNamespace, command: str) -> None:
    by_libcst, by_graphfix = tmp_path / "one.py", tmp_path / "two.py"
    by_libcst.write_text(loops.both)
    by_graphfix.write_text(loops.both)
    assert codemod("AccumulatedGraph", by_libcst).returncode == 0
    subprocess.run([command, "apply", "-q", "--select", "GF101", "--allow-dirty", str(by_graphfix)], check=False)
    assert by_libcst.read_text() == by_graphfix.read_text() == loops.both.replace("total += loss", "total += loss.item()")


def test_nothing_that_starts_imports_libcst() -> None:
    program = "import sys, graphfix.cli.app, graphfix.codemods, graphfix.run.engine; sys.exit('libcst' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
