"""Promise 13: what a run has written, its patch takes back, byte for byte."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .fixtures import PAIRS, label

Run = Callable[..., subprocess.CompletedProcess[bytes]]
FORMS: dict[str, Callable[[bytes], bytes]] = {
    "as they are": lambda data: data,
    "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "no final newline": lambda data: data.rstrip(b"\n"),
    "a mark, and tabs": lambda data: b"\xef\xbb\xbf" + data.replace(b"    ", b"\t"),
}


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words], cwd=folder, check=True, timeout=60)


@pytest.mark.parametrize("name", FORMS)
def test_the_patch_of_a_run_takes_it_back(tmp_path: Path, graphfix: Run, name: str) -> None:
    """Each form with other fixtures."""
    root, form = tmp_path / "repository", FORMS[name]
    pairs = PAIRS[list(FORMS).index(name) :: len(FORMS)]
    for pair in pairs:
        folder = root / label(pair)
        folder.mkdir(parents=True)
        (folder / "before.py").write_bytes(form((pair / "before.py").read_bytes()))
    git(tmp_path, "init", "-q", str(root))
    git(root, "config", "core.autocrlf", "false")
    git(root, "add", ".")
    git(root, "commit", "-qm", "all")
    files = sorted(root.rglob("*.py"))
    before = {path: path.read_bytes() for path in files}
    patch = tmp_path / "run.patch"
    done = graphfix("apply", "--unsafe-fixes", "--output", str(patch), ".", cwd=root)
    written = [path for path in files if path.read_bytes() != before[path]]
    assert len(written) > len(pairs) // 2, done.stderr
    git(root, "apply", "-R", str(patch))
    assert {path: path.read_bytes() for path in files} == before
