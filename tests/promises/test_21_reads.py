"""Promise 21: whatever lies where graphfix reads a file of its own costs one line or nothing, and neither time nor memory."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphfix.files.discovery import discover
from graphfix.files.together import journal_of, recover
from graphfix.review import decisions
from graphfix.settings.toml import BadToml, loads
from graphfix.source.errors import Skipped, SourceError
from graphfix.source.reading import read_bytes, read_json

Run = Callable[..., subprocess.CompletedProcess[bytes]]
Put = Callable[[Path], object]


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(3 << 30)


KINDS: dict[str, Put] = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "three gigabytes": sparse,
    "deep": lambda path: path.write_text("[" * 100_000),
    "deep tables": lambda path: path.write_text("select = " + "{a=" * 100_000),
    "deep objects": lambda path: path.write_text('{"version":' * 100_000),
    "long key": lambda path: path.write_text("select" + ".a" * 100_000 + " = 1\n"),
    "long number": lambda path: path.write_text("jobs = " + "1" * 100_000 + "\n"),
    "bytes": lambda path: path.write_bytes(bytes(range(256))),
}
# each names the file `given`, but for settings that are found
ASKED = {
    "config": ["--config", "given"],
    "settings": [],
    "baseline": ["--baseline", "given"],
    "evidence": ["--evidence", "given"],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_for_is_one_line_and_exit_code_2(
    tmp_path: Path, graphfix: Run, loops: SimpleNamespace, name: str, kind: str
) -> None:
    (tmp_path / "x.py").write_text(loops.total)
    KINDS[kind](tmp_path / ("graphfix.toml" if name == "settings" else "given"))
    done = graphfix("check", *ASKED[name], "x.py")
    assert (done.returncode, done.stdout) == (2, b"")
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("graphfix: error: ") and "internal" not in line


@pytest.mark.parametrize("kind", ["pipe", "device", "three gigabytes", "deep"])
@pytest.mark.parametrize("name", ["log", "n.ipynb"])
def test_a_log_is_no_other(tmp_path: Path, graphfix: Run, name: str, kind: str) -> None:
    KINDS[kind](tmp_path / name)
    done = graphfix("why", str(tmp_path / name))
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_only_met_is_passed_over(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, graphfix: Run, loops: SimpleNamespace, kind: str
) -> None:
    """Files of git and the cache: none is needed for findings."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/x.py").write_text(loops.total)
    cache = tmp_path_factory.mktemp("kept")  # one that lies inside of the project is refused by name
    for place in (*(tmp_path / name for name in (".gitignore", "sub/.gitignore", "sub/.git", ".gitmodules")), cache / "findings.sqlite3"):
        KINDS[kind](place)
    done = graphfix("check", ".", env=os.environ | {"GRAPHFIX_CACHE_DIR": str(cache)})
    told = b"findings.sqlite3 is a link: no cache is used" if (cache / "findings.sqlite3").is_symlink() else b""
    assert done.returncode == 1 and told in done.stderr and len(done.stderr.splitlines()) == bool(told)


def journals(root: Path) -> dict[str, str]:
    move = [str(root / ".graphfix-1.tmp"), str(root / "x.py"), "", ""]
    return {
        "a number without an end": '{"process": 1e999, "moves": []}',
        "not a file name": json.dumps(
            {"process": 2**40, "moves": [["\0", f"{root}/\0", "", ""], ["\ud800", "\ud800", "", ""]]}
        ),
        "a long name": json.dumps({"process": 2**40, "moves": [[*move[:1], str(root / "x") * 5_000, "", ""]]}),
        "a list": "[]",
    }


@pytest.mark.parametrize("kind", [*KINDS, *journals(Path())])
def test_no_journal_and_no_review_ends_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    journal, review = journal_of(tmp_path), decisions.place_of(tmp_path)
    journal.parent.mkdir(parents=True)
    for place in (journal, review):
        KINDS[kind](place) if kind in KINDS else place.write_text(journals(tmp_path)[kind])
    assert recover(tmp_path) == 0
    with pytest.raises(decisions.BadProgress):
        decisions.load(review)


def test_a_row_that_is_no_number_is_no_review(tmp_path: Path) -> None:
    entry = '{"path": "a", "code": "GF101", "in": "", "line": "", "choice": "take", "row": 1e999}'
    (tmp_path / "review.json").write_text(f'{{"version": 1, "files": {{}}, "decisions": [{entry}]}}')
    with pytest.raises(decisions.BadProgress):
        decisions.load(tmp_path / "review.json")


def test_standard_input_has_a_bound(tmp_path: Path, graphfix: Run) -> None:
    done = graphfix("apply", "-", input=b"# x\n" * 3_000_000)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"graphfix: error: standard input holds more than 10,000,000 bytes\n"


def test_a_file_that_tells_no_size_is_read_up_to_the_bound() -> None:
    place = Path("/proc/self/maps")
    if not place.exists():
        pytest.skip("needs a system that tells of processes in files")
    assert place.stat().st_size == 0 and len(read_bytes(place)) > 100
    with pytest.raises(Skipped, match="too large"):
        read_bytes(place, 100)


def test_the_writer_of_a_pipe_is_not_let_go_on(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.py")
    opened: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", lambda path, *_: opened.append(str(path)))
        with pytest.raises(SourceError, match="not a regular file"):
            read_bytes(tmp_path / "x.py")
    assert not opened


def test_json_says_why_and_where(tmp_path: Path) -> None:
    for text, reason, row in (
        ("[\n1,", "expecting value", 2),
        ("[" * 100_000, "nested too deeply", 0),
        ("1" * 5_000, "not valid", 0),
    ):
        (tmp_path / "x").write_text(text)
        with pytest.raises(SourceError, match=reason) as caught:
            read_json(tmp_path / "x")
        assert caught.value.row == row


def test_keys_are_long_but_not_endless() -> None:
    assert loads("a" + ".b" * 60 + " = 1")
    # text is no key
    assert loads('a = "' + "b." * 100 + '"')
    for text in ('x = 1\na = {b = 1, "c"' + ".'d'" * 70 + " = 1}", "x = 1\n[[" + "a . " * 70 + "a]]"):
        with pytest.raises(BadToml, match="nested too deeply") as caught:
            loads(text)
        assert caught.value.row == 2


def test_the_row_of_a_wrong_key_is_found_beside_a_long_text(tmp_path: Path, graphfix: Run) -> None:
    """Lines of the text look like statements, and each would be tried in vain."""
    (tmp_path / "x.py").write_text("")
    text = "".join(f"a{n} = 1\n" for n in range(20_000))
    (tmp_path / "graphfix.toml").write_text(f"jobs = 1\nnope = 1\nignore = '''\n{text}'''\n")
    done = graphfix("check", ".")
    assert done.stderr.startswith(b"graphfix: error: graphfix.toml:2: unknown setting 'nope'")


def test_discovery_waits_for_no_pipe(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    os.mkfifo(tmp_path / "sub/.git")
    (tmp_path / "sub/x.py").touch()
    assert [path.name for path in discover([tmp_path]).files] == ["x.py"]
