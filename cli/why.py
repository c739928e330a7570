"""`graphfix why`: from a pasted error to the line that makes it, and its repair."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphfix.cli import session
from graphfix.cli.choices import ListFormat
from graphfix.cli.exits import FINDINGS, INTERRUPTED, OK
from graphfix.cli.options import Options
from graphfix.cli.terminal import ERR, OUT, quiet_pipe
from graphfix.why.clean import MAX_READ, decoded, tail
from graphfix.why.errors import Trouble
from graphfix.why.kinds import Kind, kind_of, kind_of_words
from graphfix.why.parse import troubles
from graphfix.why.whose import users

if TYPE_CHECKING:
    from graphfix.settings.scope import Scope

# by these endings a word is the name of a file, be it there or not
_ENDINGS = (".log", ".txt", ".out", ".err", ".ipynb", ".py")


def run(options: Options) -> int:
    """Explain the error and give the exit code: 0 explained, 1 not, 2 nothing to explain."""
    try:
        text, notebook = _text(options)
        trouble = _trouble(text)
        with quiet_pipe():
            if trouble is None:
                return _explain(text, options)
            return _investigate(trouble, options, notebook)
    except KeyboardInterrupt:
        ERR.say("graphfix: interrupted")
        return INTERRUPTED


def _text(options: Options) -> tuple[str, Path | None]:
    """What is to be explained, and the notebook that it was kept in."""
    words = options.error or ["-"]
    if words == ["-"]:
        return decoded(tail(_pasted())), None
    if len(words) == 1 and (os.path.exists(words[0]) or _is_name(words[0])):
        return _kept(Path(words[0]))
    return " ".join(words), None


def _is_name(word: str) -> bool:
    return not any(char.isspace() for char in word) and (word.endswith(_ENDINGS) or os.sep in word)


def _pasted() -> bytes:
    from graphfix.cli.streams import last_input, reason

    if sys.stdin.isatty():
        ERR.say("Paste the traceback, then press Enter and Ctrl-D (Ctrl-Z on Windows):")
    try:
        return last_input(MAX_READ + 1)
    except OSError as error:
        session.fail(f"cannot read standard input: {reason(error)}")


def _kept(path: Path) -> tuple[str, Path | None]:
    """The text of a log; of a notebook the errors below its cells, and its path."""
    from graphfix.why.cells import outputs
    from graphfix.why.log import NoLog, last_of

    try:
        text = decoded(last_of(path))
    except NoLog as error:
        session.fail(f"{path}: {error}")
    if path.suffix == ".ipynb":
        text = outputs(text)
        if not text:
            session.fail(f"{path}: no cell of this notebook has an error below it")
        return text, path
    if path.suffix == ".py" and not troubles(text):
        session.fail(f"{path} is a program; why reads the error that it ends in: python {path} 2>&1 | graphfix why")
    return text, None


def _trouble(text: str) -> Trouble | None:
    """The last error of the graph's kind, else the last that has frames, else the last warning of that kind; None if there is nothing."""
    found = troubles(text)
    raised = [trouble for trouble in found if not trouble.is_warning]
    known = [trouble for trouble in raised if kind_of(trouble.headline) is not None]
    framed = [trouble for trouble in known or raised if trouble.frames]
    if not framed:
        warned = [trouble for trouble in found if trouble.is_warning and kind_of(trouble.headline) and users(trouble.frames)]
        return warned[-1] if warned and not known else None
    last = framed[-1]
    kind = kind_of(text)
    if last.type or kind is None:
        return last
    # nobody named the error by its type, as where a program logs the message alone
    return replace(last, message=kind.phrases[0])


def _explain(text: str, options: Options) -> int:
    """Explain a message without a traceback."""
    kind = kind_of(text) or (kind_of_words(text) if len(text) < 1_000 else None)
    if kind is None:
        what = (
            "nothing was given" if not text.strip() else "no traceback, and no message of PyTorch's autograd that graphfix knows"
        )
        session.fail(f"{what}; give the whole traceback: python train.py 2>&1 | graphfix why")
    _say_kind(kind, options)
    return OK


def _say_kind(kind: Kind, options: Options) -> None:
    if options.why_format is ListFormat.JSON:
        from graphfix.why import jsonform

        OUT.raw(jsonform.explanation(kind))
        return
    from graphfix.why.text import explanation

    for line in explanation(kind):
        OUT.line(line)


def _investigate(trouble: Trouble, options: Options, notebook: Path | None) -> int:
    """Look for what explains the error, and say so."""
    from graphfix.why.diagnosis import Investigation
    from graphfix.why.places import Locator

    project = options.frames_in or notebook
    if project is not None and not project.exists():
        session.fail(f"no such file or folder: {project}")
    diagnosis = Investigation(Locator(project), lambda path: _scopes(options, path)).diagnose(trouble)
    if options.why_format is ListFormat.JSON:
        from graphfix.why import jsonform

        OUT.raw(jsonform.told(diagnosis))
    else:
        from graphfix.why.text import told

        for line in told(diagnosis):
            OUT.line(line)
    return OK if diagnosis.causes else FINDINGS


def _scopes(options: Options, path: Path) -> Mapping[Path | None, Scope]:
    from graphfix.settings.errors import SettingsError

    if options.settings is None:
        return {}
    try:
        return options.settings.scopes([path])
    except SettingsError as error:
        session.fail(str(error))
