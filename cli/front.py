"""What typer raises at a wrong command line, whichever click it has.

Up to 0.25 typer uses click; from 0.26 on it has a copy of its own, whose errors are no errors of click. Typer exports
`BadParameter`: the module that defines it has the others.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from click import Context as Context
    from click.exceptions import ClickException, NoArgsIsHelpError, NoSuchOption, UsageError
else:
    _errors = sys.modules[typer.BadParameter.__module__]
    ClickException, NoSuchOption, UsageError = _errors.ClickException, _errors.NoSuchOption, _errors.UsageError
    NoArgsIsHelpError = _errors.NoArgsIsHelpError

__all__ = ["ClickException", "NoArgsIsHelpError", "NoSuchOption", "UsageError"]
