"""`graphfix verify`: exit codes, the table, JSON, and what it refuses."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .terminals import on_terminal

pytestmark = pytest.mark.deep

ROOT = Path(__file__).parents[2]
Run = Callable[..., subprocess.CompletedProcess[bytes]]


def test_a_good_fixture_is_in_order(graphfix: Run) -> None:
    done = graphfix("verify", "--case", "tensor_total", "--case", "ok_micro_batches", "--device", "cpu")
    text = done.stdout.decode()
    assert done.returncode == 0, done.stderr
    for words in ("tensor_total", "live nodes grow", "clean, flat", "equal: 83 numbers", "130 -> 12", "ok_micro_batches"):
        assert words in text, text
    assert "Ran 2 cases, 1 of them repaired, with torch 2" in text
    assert b"\x1b" not in done.stdout


def test_a_repair_that_falls_short_is_1_and_told(graphfix: Run, tmp_path: Path) -> None:
    case = tmp_path / "fixtures/GF201-carried-state/gru_state"
    shutil.copytree(ROOT / "fixtures/GF201-carried-state/gru_state", case)
    text = (case / "after.py").read_text()
    (case / "after.py").write_text(text.replace("head(h)", "head(h.detach())"))
    done = graphfix("verify", "--fixtures", "fixtures", "--output-format", "json", "--device", "cpu")
    assert done.returncode == 1, done.stderr
    data = json.loads(done.stdout)
    (row,) = data["verdicts"]
    assert (row["rule"], row["case"], row["device"], row["verdict"], row["equal"]) == (
        "GF201",
        "gru_state",
        "cpu",
        "short",
        False,
    )
    assert "parameter" in row["problems"][0] or "loss" in row["problems"][0] or "gradient" in row["problems"][0]
    assert row["before"]["error"]["line"] == 22
    assert (row["before"]["walks"], row["after"]["walks"]) == (1, 7)
    assert data["tolerance"] == {"relative": 1e-4, "absolute": 1e-6}


def test_a_fixture_with_other_numbers_each_time_is_not_blamed_on_the_repair(graphfix: Run, tmp_path: Path) -> None:
    case = tmp_path / "fixtures/GF201-carried-state/gru_state"
    shutil.copytree(ROOT / "fixtures/GF201-carried-state/gru_state", case)
    for path in case.glob("*.py"):
        path.write_text(path.read_text().replace("torch.manual_seed(0)", "torch.seed()"))
    assert "torch.seed()" in (case / "before.py").read_text()
    done = graphfix("verify", "--fixtures", "fixtures", "--output-format", "json", "--device", "cpu")
    assert done.returncode == 1, done.stderr
    (row,) = json.loads(done.stdout)["verdicts"]
    (problem,) = row["problems"]
    assert problem.startswith("no verdict: your program computes other numbers in each run (two runs of the original: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--select", "GF999"], "unknown rule code 'GF999'"),
        (["--case", "nothing"], "no fixture of that name"),
        (["--fixtures", "nowhere"], "no folder of fixtures: nowhere"),
        (["--device", "tpu"], "tpu"),
        (["--plot", "x.png"], "--plot draws one repaired fixture on one device"),
        (["--plot", "x.pdf", "--case", "gru_state", "--device", "cpu"], "--plot writes .svg or .png, not x.pdf"),
    ],
)
def test_misuse_is_2(graphfix: Run, words: list[str], said: str) -> None:
    done = graphfix("verify", *words)
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_a_device_that_is_not_there_is_2(graphfix: Run) -> None:
    torch = pytest.importorskip("torch")
    device = "mps" if torch.cuda.is_available() else "cuda"
    done = graphfix("verify", "--case", "gru_state", "--device", device)
    assert done.returncode == 2
    assert f"finds no {device} here, only cpu" in done.stderr.decode()


def test_without_torch_there_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\")\n")
    code = "import sys; sys.argv = ['graphfix', 'verify']; from graphfix.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "No module named 'torch'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_picture_is_drawn(graphfix: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    done = graphfix("verify", "--case", "gru_state", "--device", "cpu", "--plot", "live.svg", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "live autograd nodes" in (tmp_path / "live.svg").read_text("utf-8")


def test_a_narrow_terminal_gets_no_broken_figures(command: str) -> None:
    words = [command, "verify", "--select", "GF201", "--case", "gru_state"]
    narrow, wide = (on_terminal(words, ROOT, columns, errors=False).decode() for columns in (80, 160))
    assert "seconds" not in narrow and "verdict" in narrow and "gru_state" in narrow
    assert "seconds" in wide
