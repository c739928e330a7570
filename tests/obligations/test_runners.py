"""What runs code of a program and keeps its errors: a run that raises there works, so the repair of the error changes one that works."""

from __future__ import annotations

import pytest

from tests.obligations.programs import safe_titles

PROGRAM = """
import cmd, code, doctest, os, pathlib, subprocess, sys, unittest
import pytest
import torch
from torch import nn

cell, head = nn.RNNCell(3, 4), nn.Linear(4, 1)
opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)

def fit(steps):
    h = torch.zeros(2, 4)
    for _ in range(steps):
        h = cell(torch.randn(2, 3), h)
        loss = head(h).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()

class Tests(unittest.TestCase):
    def test_fit(self):
        {tests}

class Shell({base}):
    def do_fit(self, line):
        {shell}

    def answer(self, word, line):
        {answer}

{end}
"""


def program(tests: str = "pass", base: str = "object", shell: str = "pass", answer: str = "pass", end: str = "fit(3)") -> str:
    return PROGRAM.format(tests=tests, base=base, shell=shell, answer=answer, end=end)


TRIED = "try:\n            getattr(self, 'do_' + word)(line)\n        except RuntimeError:\n            print('?')"
WORKER = "here = pathlib.Path(__file__)\nif len(sys.argv) > 1:\n    fit(3)\nelse:\n    {}"
KEPT = {
    "a test": program(tests="fit(3)", end="unittest.main(exit=False)"),
    "tests that pytest runs": program(end="def test_fit():\n    fit(3)\npytest.main(['-q', 'test_fit.py'])"),
    "examples in docstrings": program(end="doctest.testmod()"),
    "an interpreter": program(end="code.InteractiveInterpreter(globals()).runsource('fit(3)')"),
    "a shell": program(base="cmd.Cmd", shell="fit(int(line))", end="try:\n    Shell().onecmd('fit 3')\nexcept RuntimeError:\n    print('?')"),
    "a method by its name": program(shell="fit(3)", answer=TRIED, end="Shell().answer('fit', '3')"),
    "a fork": program(end="if os.fork() == 0:\n    fit(3)\n    os._exit(0)\nprint(os.wait())"),
    "a process that runs the file": program(end=WORKER.format("print(subprocess.call([sys.executable, str(here), 'worker']))")),
    "a command line that is given on": program(end=WORKER.format("subprocess.Popen([sys.executable, *sys.argv[:1], 'worker']).wait()")),
    "the file by its name": program(end=WORKER.format("print(os.system('python train.py --steps 3'))")),
    "a handler for groups": program(end="try:\n    fit(3)\nexcept* RuntimeError:\n    print('?')"),
}  # fmt: skip
RAISING = {
    "nothing around it": program(),
    "a process of another program": program(end="print(subprocess.call(['git', 'rev-parse', 'HEAD']))\nos.system('nvidia-smi')\nfit(3)"),
    "a method of one's own": program(shell="fit(3)", end="Shell().do_fit('3')"),
    "a method by its name": program(shell="fit(3)", answer="getattr(self, 'do_' + word)(line)", end="Shell().answer('fit', '3')"),
}  # fmt: skip


@pytest.mark.parametrize("case", KEPT)
def test_an_error_that_somebody_keeps_is_no_proof(case: str) -> None:
    assert safe_titles(KEPT[case]) == []


@pytest.mark.parametrize("case", RAISING)
def test_an_error_that_ends_the_program_is_one(case: str) -> None:
    assert [code for code, _ in safe_titles(RAISING[case])] == ["GF201"]
