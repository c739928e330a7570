"""Promise 22: a broken file is one line and exit code 2; its neighbours are examined all the same."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

BROKEN: dict[str, tuple[bytes, str]] = {
    "null byte": (b"x = 1\n\0\n", ":2:1: cannot be read: null byte"),
    "binary": (bytes(range(256)) * 4, ": cannot be read: null byte"),
    "png": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "cannot be read: null byte"),
    "gzip": (b"\x1f\x8b\x08\x08", ":1:1: cannot be read: not valid utf-8"),
    "utf-16": ("x = 1\n".encode("utf-16"), "cannot be read: null byte"),
    "utf-32": ("x = 1\n".encode("utf-32"), "cannot be read: null byte"),
    "invalid utf-8": (b"x = 1\n# \xff\n", ":2:1: cannot be read: not valid utf-8"),
    "cut utf-8": (b"# \xe2\x82", ":1:1: cannot be read: not valid utf-8"),
    "latin-1 without a cookie": (b"# caf\xe9\n", ":1:1: cannot be read: not valid utf-8"),
    "cookie that lies": (b"# coding: ascii\n# \xe9\n", "cannot be read: not valid ascii"),
    "unknown cookie": (b"# coding: klingon\n# \xe9\n", "unknown encoding klingon in the coding cookie"),
    "cookie of no text": (b"# coding: hex\n", "unknown encoding 'hex' in the coding cookie"),
    "cookie against the mark": (b"\xef\xbb\xbf# coding: latin-1\n", "contradicts the byte order mark"),
    "escapes as an encoding": (b"# coding: unicode_escape\n# \\x41\n", "does not round-trip to the same bytes"),
    "print statement": (b"print 'x'\nf = lambda (a, b): a\n", ":1:1: cannot be read: Python 2 syntax: print statement"),
    "except with a comma": (
        b"try:\n    f()\nexcept E, e:\n    pass\nlambda (a, b): a\n",
        ":3:8: cannot be read: Python 2 syntax",
    ),
    "octal": (b"os.chmod(f, 0755)\nlambda (a, b): a\n", "cannot be read: Python 2 syntax: octal number"),
    "backticks": (b"x = `y`\nlambda (a, b): a\n", "cannot be read: Python 2 syntax: backticks"),
    "async as a name": (b"x.cuda(async=True)\nlambda (a, b): a\n", "cannot be read: `async` used as a name"),
    "merge markers": (b"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> b\n", ":1:1: cannot be read: merge marker left"),
    "half a file": (b"def f(x):\n    return (x +\n", "cannot be read: syntax error: '(' was never closed"),
    "half a string": (b"x = '''abc\n", "cannot be read: syntax error: unterminated triple-quoted string"),
    "tabs and spaces": (b"if x:\n\ta\n        b\n", "cannot be read: syntax error: "),
    "bad indent": (b"if x:\n    a\n  b\n", "cannot be read: syntax error: unindent does not match"),
    "a template": (b"class {{ name }}:\n    pass\n", "cannot be read: syntax error: "),
    "a notebook named py": (b'{"cells": [}', "cannot be read: syntax error: "),
    "html": (b"<!DOCTYPE html>\n<html></html>\n", "cannot be read: syntax error: "),
    "git lfs pointer": (b"version https://git-lfs.github.com/spec/v1\n", "cannot be read: syntax error: "),
    "deep brackets": (b"(" * 100_000, ": skipped (too deep)"),
    "long chain": (b"x = a" + b" + a" * 50_000, ": skipped (too deep)"),
    "long line": (b"x = '" + b"a" * 1_000_000 + b"'", ": skipped (line too long)"),
    "large": (b"# x\n" * 2_600_000, ": skipped (too large)"),
}
FINE: dict[str, bytes] = {
    "empty": b"",
    "only a mark": b"\xef\xbb\xbf",
    "only newlines": b"\r\n\r\r\n",
    "form feed": b"\x0c\n",
    "no final newline": b"x = 1",
    "control-z": b"x = 1\n# \x1a\n",
}
MATTERS = b"\nloss.backward()\n"  # bytes that make graphfix look at a file
Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory, command: str, loops: SimpleNamespace) -> SimpleNamespace:
    """All broken files at once, next to a good one, through `apply`."""
    root = tmp_path_factory.mktemp("broken")
    for number, data in enumerate([*(data for data, _ in BROKEN.values()), *FINE.values()]):
        (root / f"f{number:02}.py").write_bytes(data + MATTERS)
    (root / "good.py").write_text(loops.total)
    before = {path.name: path.read_bytes() for path in root.iterdir()}
    done = subprocess.run([command, "apply", "."], cwd=root, capture_output=True, timeout=600)
    after = {path.name: path.read_bytes() for path in root.iterdir()}
    return SimpleNamespace(done=done, lines=done.stderr.decode().splitlines(), before=before, after=after)


@pytest.mark.parametrize("kind", [kind for kind, (_, reason) in BROKEN.items() if "syntax" in reason or "deep" in reason])
def test_syntax_that_cannot_matter_is_nobodys_concern(tmp_path: Path, graphfix: Run, kind: str) -> None:
    """Bytes that spell nothing of graphs are not parsed, unless somebody asks for the file: other tools tell what is wrong."""
    (tmp_path / "other.py").write_bytes(BROKEN[kind][0])
    done = graphfix("apply", ".")
    assert (done.returncode, done.stderr) == (0, b"")
    assert graphfix("apply", "other.py").returncode == 2
    assert (tmp_path / "other.py").read_bytes() == BROKEN[kind][0]


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_is_one_line_and_keeps_its_bytes(checked: SimpleNamespace, kind: str) -> None:
    name = f"f{list(BROKEN).index(kind):02}.py"
    lines = [line for line in checked.lines if line.startswith(name)]
    assert len(lines) == 1, lines
    assert BROKEN[kind][1] in lines[0]
    assert checked.after[name] == checked.before[name]


def test_every_line_belongs_to_a_broken_file(checked: SimpleNamespace) -> None:
    assert len(checked.lines) == len(BROKEN)
    assert checked.done.returncode == 2


def test_the_good_neighbour_is_repaired(checked: SimpleNamespace, loops: SimpleNamespace) -> None:
    assert checked.after["good.py"].decode() == loops.total_fixed
    read = sum("cannot be read" in line for line in checked.lines)
    summary = f"checked {len(FINE) + 1} files, {read} could not be read, {len(BROKEN) - read} skipped"
    *_, told, undo = checked.done.stdout.decode().splitlines()
    assert told.endswith(summary) and undo.startswith("No undo for 1 file outside of git")


def test_a_pipe_a_socket_of_names_and_a_folder_named_py(tmp_path: Path, graphfix: Run) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "folder.py").mkdir()
    done = graphfix("check", ".")
    assert done.stderr.decode() == "pipe.py: cannot be read: not a regular file\n"
    assert done.returncode == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read(tmp_path: Path, graphfix: Run) -> None:
    (tmp_path / "secret.py").write_text("")
    (tmp_path / "secret.py").chmod(0)
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed").chmod(0)
    done = graphfix("check", ".")
    (tmp_path / "closed").chmod(0o700)
    assert done.stderr.decode().splitlines() == [
        "closed: cannot be read: permission denied",
        "secret.py: cannot be read: permission denied",
    ]
    assert done.returncode == 2


def test_a_file_that_vanished() -> None:
    from graphfix.run.examine import Job, examine

    assert examine(Path("nowhere.py"), Job(())).reason == "no such file"


def test_a_named_link_out(tmp_path: Path, graphfix: Run) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out.py").write_text("")
    (tmp_path / "in/link.py").symlink_to("../out.py")
    done = graphfix("check", "link.py", cwd=tmp_path / "in")
    assert done.returncode == 2
    assert b"link.py: skipped (a link that leads outside of the given paths)" in done.stderr
