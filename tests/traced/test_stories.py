"""The story that `graphfix trace` tells of an error: the lines, by time, and the name that carried the graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .programs import ERRORS, HEAD, line_of, traced

pytestmark = pytest.mark.deep


@pytest.mark.parametrize(("program", "wanted"), ERRORS.values(), ids=ERRORS)
def test_the_story_of_an_error(graphfix: Any, tmp_path: Path, program: str, wanted: dict[str, str]) -> None:
    script = HEAD + program
    done, kept = traced(graphfix, tmp_path, script, "--quiet")
    (failure,) = kept["trace"]["failures"]
    assert {part: failure[part]["line"] for part in wanted if part != "carrier"} == {
        part: line_of(script, word) for part, word in wanted.items() if part != "carrier"
    }
    assert failure["carrier"]["name"] == wanted["carrier"]
    assert done.returncode == 1
    assert b"-->" in done.stderr and b"_graphfix_probe" not in done.stderr and b"verify/probe" not in done.stderr


def test_what_a_compiler_makes_stays_what_it_is(graphfix: Any, tmp_path: Path) -> None:
    """The walk of the compiler itself, over tensors without values, is none of the program's."""
    done, kept = traced(graphfix, tmp_path, HEAD + ERRORS["compiled"][0].replace("f(x, h)", "f(x, h.detach())"), "--quiet")
    assert done.returncode == 0 and b"graph break" not in done.stderr
    assert kept["walk_count"] == 3 and b"compiled: 3 calls" in done.stderr


def test_processes_that_a_program_starts_are_not_watched(graphfix: Any, tmp_path: Path) -> None:
    program = """import torch.multiprocessing as mp

def work(rank):
    raise RuntimeError("elsewhere")

if __name__ == "__main__":
    mp.spawn(work, nprocs=1)
"""
    done, _ = traced(graphfix, tmp_path, program, "--quiet")
    assert done.returncode == 1
    assert "processes that it starts are not traced" in " ".join(done.stderr.decode().split())


def test_a_write_from_before_or_through_data_is_not_to_blame(graphfix: Any, tmp_path: Path) -> None:
    script = HEAD + """
net.weight.data.mul_(0.5)
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(3):
    out = net(net(x))
    out.pow(2).mean().backward(retain_graph=True)
    net.weight.data.clamp_(-1, 1)
    opt.step()  # written
    out.mean().backward()
"""
    _, kept = traced(graphfix, tmp_path, script, "--quiet")
    (failure,) = kept["trace"]["failures"]
    assert failure["write"]["line"] == line_of(script, "written")
