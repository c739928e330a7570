"""The command line: thin modules, everything heavy deferred until a command needs it."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

from graphfix.cli.ending import ended, heed_signals
from graphfix.cli.exits import ERROR, OK
from graphfix.cli.shield import shield
from graphfix.cli.streams import hold

if TYPE_CHECKING:
    from graphfix.cli.front import ClickException


_COMPLETIONS = (["--install-completion"], ["--show-completion"])
_SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
_NO_SHELL = "graphfix: error: this is no shell that graphfix has completion for: bash, zsh, fish or PowerShell"


def main() -> int:
    """Run the command line; a command leaves by `SystemExit` with the exit code."""
    # what is imported and what a short run finds is needed until its end: whoever makes garbage on the way collects it
    gc.disable()
    hold()
    shield()
    if sys.argv[1:] == ["--version"]:
        # answered before typer is imported, which takes longer than everything else
        return ended(_version)
    code = ended(_command)
    # else the interpreter looks through all that there is, twice, before it gives it back
    gc.freeze()
    sys.exit(code)


def _version() -> int:
    from graphfix import __version__

    print(f"graphfix {__version__}")
    return OK


def _command() -> int:
    heed_signals()
    import typer

    from graphfix.cli.app import application
    from graphfix.cli.front import ClickException

    shell = sys.argv[2].lower() if sys.argv[1:2] == ["--show-completion"] and len(sys.argv) == 3 else ""
    if shell in _SHELLS:
        os.environ["_GRAPHFIX_COMPLETE"] = f"source_{shell}"
    elif shell or sys.argv[1:] in _COMPLETIONS and not _has_shell():
        print(_NO_SHELL, file=sys.stderr)
        return ERROR
    is_completing = "_GRAPHFIX_COMPLETE" in os.environ  # then a shell has the words
    app = application(None if is_completing else sys.argv[1:])
    try:
        # standing alone, typer would end some failures with the code of findings
        code = app(prog_name="graphfix", standalone_mode=False)
    except ClickException as error:
        return _misused(error)
    except typer.Abort as error:
        # what typer makes of an end of input
        raise error.__cause__ or error  # noqa: B904
    if sys.argv[1:2] in _COMPLETIONS:
        return ERROR if code else OK  # typer's code for a shell that it does not know means findings
    return code if isinstance(code, int) else OK


def _has_shell() -> bool:
    """Whether completion knows which shell it is typed in: versions of typer say differently, and elsewhere, that they do not."""
    from shellingham import ShellDetectionFailure, detect_shell

    try:
        detect_shell()
    except ShellDetectionFailure:
        return False
    return True


def _misused(error: ClickException) -> int:
    """Say what is wrong with the command line, in one line; without any, what there is to type."""
    from graphfix.cli.front import NoArgsIsHelpError

    if isinstance(error, NoArgsIsHelpError):
        error.show()
        return ERROR
    from graphfix.cli.misuse import line_of
    from graphfix.cli.terminal import ERR

    ERR.say(f"graphfix: error: {line_of(error)}")
    return ERROR
