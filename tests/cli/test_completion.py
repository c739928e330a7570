"""Completion in shells."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NO_SHELL = """
import sys
import shellingham
def detect_shell(pid=None, max_depth=10):
    raise shellingham.ShellDetectionFailure()
shellingham.detect_shell = detect_shell
sys.argv = ["graphfix", sys.argv[1]]
from graphfix.cli import main
sys.exit(main())
"""


def completed(command: str, folder: Path, typed: str) -> set[str]:
    """What bash is told to offer behind what is typed."""
    environment = os.environ | {
        "_GRAPHFIX_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split(" ")) - 1),
    }
    done = subprocess.run([command], cwd=folder, capture_output=True, env=environment)
    assert done.stderr == b""
    return set(done.stdout.decode().split())


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("graphfix ch", {"check"}),
        ("graphfix d", {"diff"}),
        ("graphfix check --exit", {"--exit-zero"}),
        ("graphfix check --color ", {"auto", "always", "never"}),
        ("graphfix check --output-format js", {"json", "jsonl"}),
        ("graphfix apply --allow", {"--allow-dirty"}),
        ("graphfix rule GF90", {"GF901", "GF902", "GF903", "GF904"}),
        ("graphfix rule legacy-", {"legacy-scalar", "legacy-data", "legacy-variable"}),
        ("graphfix check --select gf90", {"gf901", "gf902", "gf903", "gf904"}),
        ("graphfix apply --ignore GF1,GF901,GF90", {"GF1,GF901,GF902", "GF1,GF901,GF903", "GF1,GF901,GF904"}),
        ("graphfix verify --select GF1,imp", {"GF1,implicit-scalar"}),
        ("graphfix diff --extend-select AL", {"ALL"}),
        ("graphfix help ca", {"campaign", "cache"}),
    ],
)
def test_commands_options_and_values_are_offered(tmp_path: Path, command: str, typed: str, offered: set[str]) -> None:
    assert completed(command, tmp_path, typed) == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
@pytest.mark.parametrize(("typed", "offered"), [("rule stored", "stored-graph"), ("check --select GF1,GF102", "GF1,GF102")])
def test_zsh_and_fish_offer_rules_with_what_they_find(tmp_path: Path, command: str, shell: str, typed: str, offered: str) -> None:
    environment = os.environ | {
        "_GRAPHFIX_COMPLETE": f"complete_{shell}",
        "_TYPER_COMPLETE_ARGS": f"graphfix {typed}",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = subprocess.run([command], cwd=tmp_path, capture_output=True, env=environment)
    (line,) = [line for line in done.stdout.decode().splitlines() if offered in line]
    assert done.stderr == b""
    assert line.startswith(f"{offered}\tA list, deque" if shell == "fish" else f'_arguments \'*: :(("{offered}":"A list, deque')


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_once_the_script_is_read(tmp_path: Path, command: str) -> None:
    script = f"""
        graphfix() {{ {command} "$@"; }}
        eval "$({command} --show-completion)"
        COMP_WORDS=(graphfix diff --by) COMP_CWORD=2
        _graphfix_completion {command} --by diff
        echo "offered: ${{COMPREPLY[*]}}"
    """
    done = subprocess.run(["bash", "--norc", "-c", script], cwd=tmp_path, capture_output=True)
    assert (done.stderr, done.stdout) == (b"", b"offered: --by-rule\n")


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_it_is_installed_for_the_shell_that_asks(tmp_path: Path, command: str) -> None:
    environment = os.environ | {"HOME": str(tmp_path)}
    done = subprocess.run(
        ["bash", "--norc", "-c", f"{command} --install-completion; exit $?"], capture_output=True, env=environment
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert ".bash_completions/graphfix.sh" in (tmp_path / ".bashrc").read_text()
    assert "_GRAPHFIX_COMPLETE" in (tmp_path / ".bash_completions/graphfix.sh").read_text()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_any_shell(tmp_path: Path, command: str, shell: str) -> None:
    done = subprocess.run([command, "--show-completion", shell], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert f"complete_{shell}" in done.stdout.decode()


def test_a_shell_that_is_not_known_is_misuse(command: str) -> None:
    done = subprocess.run([command, "--show-completion", "tcsh"], capture_output=True)
    assert (done.returncode, done.stdout) == (2, b"") and b"bash, zsh, fish or PowerShell" in done.stderr


@pytest.mark.parametrize("flag", ["--install-completion", "--show-completion"])
def test_another_shell_is_misuse(tmp_path: Path, flag: str) -> None:
    other = NO_SHELL.replace("raise shellingham.ShellDetectionFailure()", "return 'tcsh', '/bin/tcsh'")
    environment = os.environ | {"HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", other, flag], cwd=tmp_path, capture_output=True, env=environment)
    assert done.returncode == 2
    (line,) = (done.stdout + done.stderr).decode().splitlines()  # typer says it here or there
    assert "tcsh" in line


@pytest.mark.parametrize("flag", ["--install-completion", "--show-completion"])
def test_no_shell_is_one_line(tmp_path: Path, flag: str) -> None:
    environment = os.environ | {"HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", NO_SHELL, flag], cwd=tmp_path, capture_output=True, env=environment)
    said = b"graphfix: error: this is no shell that graphfix has completion for: bash, zsh, fish or PowerShell\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", said)
    assert list(tmp_path.iterdir()) == []
