"""`graphfix trace` on real programs: the story, and that the program is the same as without it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from .programs import ERRORS, HEAD, line_of, traced

pytestmark = pytest.mark.deep


def test_the_repair_stands_below_the_story_and_can_be_applied(graphfix: Any, tmp_path: Path) -> None:
    script = HEAD + ERRORS["state that a loop carries"][0]
    done, _ = traced(graphfix, tmp_path, script)
    assert b"+        h = h.detach()" in done.stderr and b"graphfix apply train.py --select GF201" in done.stderr
    assert (tmp_path / "train.py").read_text() == script
    done, _ = traced(graphfix, tmp_path, script, "--apply")
    assert b"fixed" in done.stderr
    done, kept = traced(graphfix, tmp_path, (tmp_path / "train.py").read_text())
    assert done.returncode == 0 and kept["trace"]["failures"] == []


def test_what_a_comment_silences_is_not_repaired(graphfix: Any, tmp_path: Path) -> None:
    script = HEAD + ERRORS["state that a loop carries"][0].replace("# freed, hit", "# graphfix: ignore").replace(
        "# made, taken in", "# graphfix: ignore"
    )
    done, _ = traced(graphfix, tmp_path, script, "--apply")
    assert b"GF201" not in done.stderr and (tmp_path / "train.py").read_text() == script


def test_an_unsafe_repair_is_written_where_it_is_asked_for(graphfix: Any, tmp_path: Path) -> None:
    script = HEAD + ERRORS["in a thread"][0]
    done, _ = traced(graphfix, tmp_path, script, "--apply")
    assert b"unsafe repairs were left out; --unsafe-fixes" in done.stderr and (tmp_path / "train.py").read_text() == script
    done, _ = traced(graphfix, tmp_path, script, "--apply", "--unsafe-fixes")
    assert b"fixed train.py" in done.stderr and (tmp_path / "train.py").read_text() != script


GROWS = """
history = []
for _ in range(12):
    loss = net(x).pow(2).mean()
    net.zero_grad()
    loss.backward()
    history.append(loss)
"""


def test_what_grows_and_who_holds_it(graphfix: Any, tmp_path: Path) -> None:
    done, kept = traced(graphfix, tmp_path, HEAD + GROWS)
    text = done.stderr.decode()
    assert "memory grows" in text and "`history`" in text and "history.append(loss.item())" in text
    assert done.returncode == 0


def test_waste_that_is_seen_in_passing(graphfix: Any, tmp_path: Path) -> None:
    program = """
def evaluate():
    for _ in range(40):
        print(net(x).pow(2).mean().item())  # for nothing
for _ in range(3):
    loss = net(x).pow(2).mean()
    loss.backward(retain_graph=True)
evaluate()
"""
    done, kept = traced(graphfix, tmp_path, HEAD + program, "--quiet")
    text = done.stderr.decode()
    assert "needless retain_graph=True" in text and "3 times" in text
    assert f"train.py:{line_of(HEAD + program, 'for nothing')}" in text.partition("graphs for nothing")[2]


KEPT_IN_THE_END = """
class Runner:
    def __init__(self):
        self.features = {}
    def extract(self, batches):
        for number, batch in enumerate(batches):
            self.features[number] = net(batch).relu()  # recorded
def train():
    for _ in range(3):
        net(x).pow(2).mean().backward()
runner = Runner()
train()
runner.extract([x] * 30)
"""


def test_graphs_that_are_held_in_the_end_are_for_nothing(graphfix: Any, tmp_path: Path) -> None:
    done, kept = traced(graphfix, tmp_path, HEAD + KEPT_IN_THE_END, "--quiet")
    told = done.stderr.decode().partition("graphs for nothing")[2]
    assert f"train.py:{line_of(HEAD + KEPT_IN_THE_END, 'recorded')}" in told and "`runner.features` (attribute) keeps" in told
    assert f"called from train.py:{len((HEAD + KEPT_IN_THE_END).splitlines())}" in told


def test_what_an_evaluation_holds_is_the_cause_when_memory_runs_out(graphfix: Any, tmp_path: Path) -> None:
    program = """
def forecast(state, steps):
    states = []
    for step in range(steps):
        state = net(state).tanh()  # recorded
        states.append(state)
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")
forecast(x, 40)
"""
    done, kept = traced(graphfix, tmp_path, HEAD + program, "--quiet")
    text = done.stderr.decode()
    assert f"train.py:{line_of(HEAD + program, 'recorded')}" in text.partition("graphs for nothing")[2]
    assert "`states` (variable, in forecast()) keeps" in text and "not the cause" not in text


def test_the_graph_of_the_iteration_that_memory_ran_out_in_is_no_waste(graphfix: Any, tmp_path: Path) -> None:
    program = """
for step in range(3):
    out = x
    for layer in range(40):
        out = net(out).tanh()
    if step == 2:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")
    out.sum().backward()
"""
    done, kept = traced(graphfix, tmp_path, HEAD + program, "--quiet")
    assert b"graphs for nothing" not in done.stderr and b"out of memory" in done.stderr


def test_a_graph_that_is_retained_and_walked_again_is_no_waste(graphfix: Any, tmp_path: Path) -> None:
    program = "loss = net(x).pow(2).mean()\nloss.backward(retain_graph=True)\nloss.backward()\n"
    done, kept = traced(graphfix, tmp_path, HEAD + program, "--quiet")
    assert "nothing wrong" in done.stderr.decode()


def test_what_no_backward_needs_to_come_to_is_no_waste(graphfix: Any, tmp_path: Path) -> None:
    program = """
rnn = nn.LSTM(4, 4)
def train():
    h = None
    for step in range(40):
        out, h = rnn(x[:, None], h)
        out.sum().backward()
        h = tuple(each.detach() for each in h)
train()
"""
    done, kept = traced(graphfix, tmp_path, HEAD + program, "--quiet")
    assert "40 backward passes" in done.stderr.decode() and "nothing wrong" in done.stderr.decode()


def test_a_name_that_comes_in_by_a_call_is_shown_where_it_is_given(graphfix: Any, tmp_path: Path) -> None:
    """And what the first iteration holds while the second one runs does not grow."""
    program = """
class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 1)
    def forward(self, image):
        flat = image.view(2, -1)
        return self.net(flat)
judge = Judge()
for _ in range(5):
    fake = net(x).tanh()
    judge(x).sum().backward()
    verdict = judge(fake).sum()
    verdict.backward()
real = judge(fake)  # given away
real.sum().backward()
"""
    done, kept = traced(graphfix, tmp_path, HEAD + program, "--quiet")
    text = done.stderr.decode()
    assert f"it entered the graph at train.py:{line_of(HEAD + program, 'given away')}  real = judge(fake)" in text
    assert "memory grows" not in text


def test_two_losses_of_one_graph_are_no_two_iterations(graphfix: Any, tmp_path: Path) -> None:
    program = "y = net(x).tanh()\ny.sum().backward()\ny.mean().backward()\n"
    done, kept = traced(graphfix, tmp_path, HEAD + program, "--quiet")
    text = done.stderr.decode()
    assert "iteration" not in text and "after 1 backward(): this backward()" in text


def test_an_error_that_has_nothing_to_do_with_graphs(graphfix: Any, tmp_path: Path) -> None:
    done, kept = traced(graphfix, tmp_path, HEAD + "net(x).sum().backward()\nint('one')\n", "--quiet")
    said = done.stderr.decode().rpartition("graphfix trace:")[2]
    assert "it failed (ValueError: invalid literal for int() with base 10: 'one'), which is not a graph error" in " ".join(said.split())
    assert all(len(line) <= 100 for line in said.splitlines())
    done, kept = traced(graphfix, tmp_path, HEAD, "--quiet")
    assert "it never called backward()" in " ".join(done.stderr.decode().split())


def test_streams_arguments_and_exit_code_are_the_programs_own(installed: Any, tmp_path: Path) -> None:
    program = "import sys\nprint(sys.argv[1:], input(), __name__, __file__)\nsys.exit(7)\n"
    (tmp_path / "words.py").write_text(program)
    plain = installed_python(tmp_path, "words.py", "a", "--b")
    done = installed("trace", "--quiet", "words.py", "--", "a", "--b", input=b"typed\n")
    assert done.stdout == plain.stdout and done.returncode == plain.returncode == 7


def installed_python(folder: Path, *words: str) -> Any:
    import subprocess

    return subprocess.run([sys.executable, *words], cwd=folder, input=b"typed\n", capture_output=True, check=False)


def test_a_module_and_a_folder_to_import_from(graphfix: Any, tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "train.py").write_text(HEAD + "net(x).sum().backward()\nprint(__name__)\n")
    done = graphfix("trace", "-m", "package.train")
    assert done.returncode == 0 and done.stdout == b"__main__\n" and b"1 backward passes" in done.stderr


def test_a_notebook(graphfix: Any, tmp_path: Path) -> None:
    lab = tmp_path / "lab"
    lab.mkdir()
    (lab / "beside.py").write_text("")
    cells = [
        "import beside, os\nassert os.path.exists('beside.py')\n" + HEAD,
        "loss = net(x).exp().sum()\nloss.backward()\n",
        "loss.backward()\n",
    ]
    notebook = {
        "nbformat": 4, "nbformat_minor": 5, "metadata": {},
        "cells": [
            {"id": str(n), "cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": text}
            for n, text in enumerate(cells)
        ],
    }  # fmt: skip
    (lab / "train.ipynb").write_text(json.dumps(notebook))
    done = graphfix("trace", "lab/train.ipynb")
    text = done.stderr.decode()
    assert done.returncode == 1 and "this backward() goes through the freed graph again" in text
    assert "train.ipynb:cell 2:2  loss.backward()" in text and "train.ipynb:cell 3:1  loss.backward()" in text
    assert "graphfix apply lab/train.ipynb --select GF30" in text


@pytest.mark.parametrize("option", (("--max-iterations", "5"), ("--after", "4")), ids=("iterations", "seconds"))
def test_a_program_without_end_is_ended(graphfix: Any, tmp_path: Path, option: tuple[str, str]) -> None:
    program = "while True:\n    net(x).sum().backward()\n    import time; time.sleep(0.01)\n"
    done, kept = traced(graphfix, tmp_path, HEAD + program, *option)
    assert done.returncode == 0
    assert kept["outcome"] == "late" if option[0] == "--after" else kept["walk_count"] == 5


def test_what_a_program_has_started_ends_with_its_time(installed: Any, tmp_path: Path) -> None:
    program = "import subprocess, time\nsubprocess.Popen(['sh', '-c', 'sleep 6; touch late'])\ntime.sleep(60)\n"
    traced(installed, tmp_path, HEAD + program, "--after", "4")
    time.sleep(5)
    assert not (tmp_path / "late").exists()


def test_json_for_machines(graphfix: Any, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(HEAD + GROWS)
    graphfix("trace", "--output-format", "json", "-o", "told.json", "train.py")
    assert json.loads((tmp_path / "told.json").read_text())["walk_count"] == 12


def test_a_picture(graphfix: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "train.py").write_text(HEAD + ERRORS["state that a loop carries"][0])
    graphfix("trace", "--plot", "life.svg", "train.py")
    drawn = (tmp_path / "life.svg").read_text()
    assert "taken in" in drawn and "autograd nodes alive" in drawn


@pytest.mark.parametrize(
    ("words", "said"),
    (
        (("--save", "no/such.json", "t.py"), b"no such folder"),
        (("--config", "none.toml", "t.py"), b"none.toml"),
        (("nope.py",), b"no such script"),
        ((), b"which program"),
        (("--plot", "x.pdf", "t.py"), b"--plot writes"),
    ),
)
def test_bad_input_is_one_line(graphfix: Any, tmp_path: Path, words: tuple[str, ...], said: bytes) -> None:
    (tmp_path / "t.py").write_text("")
    done = graphfix("trace", *words)
    assert done.returncode == 2 and said in done.stderr and done.stderr.count(b"\n") <= 1


def test_a_repair_of_two_files_is_shown_whole_and_made(graphfix: Any, tmp_path: Path) -> None:
    layers = """import torch
from torch import nn
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.seen = self.penalty = None
    def forward(self, x):
        out = self.linear(x)
        self.seen = out
        self.penalty = out.abs().mean()
        return out
"""
    (tmp_path / "layers.py").write_text(layers)
    script = f"""import copy
from layers import Layer
{HEAD}
model = Layer()
(model(x).pow(2).mean() + model.penalty).backward()
best = copy.deepcopy(model)
"""
    done, _ = traced(graphfix, tmp_path, script)
    text = done.stderr.decode()
    assert "graphfix apply layers.py train.py --select GF311 --unsafe-fixes" in text
    shown = text.partition("--- a/layers.py")[2]
    assert "+        self.seen = out.detach()" in shown.partition("--- a/train.py")[0]
    assert "+model.penalty = model.penalty.detach()" in shown.partition("--- a/train.py")[2]
    done, _ = traced(graphfix, tmp_path, script, "--apply", "--unsafe-fixes")
    assert "fixed layers.py" in done.stderr.decode() and "fixed train.py" in done.stderr.decode()
    assert traced(graphfix, tmp_path, (tmp_path / "train.py").read_text())[0].returncode == 0


def test_what_two_calls_of_a_helper_did_is_told_apart(graphfix: Any, tmp_path: Path) -> None:
    program = """
def go_back(loss):
    loss.backward()
def criterion():
    loss = net(x).pow(2).mean()
    go_back(loss)  # first
    return loss
loss = criterion()
go_back(loss)  # second
"""
    done, _ = traced(graphfix, tmp_path, HEAD + program)
    text = done.stderr.decode()
    for word in ("first", "second"):
        assert f"called from train.py:{line_of(HEAD + program, word)}" in text


def test_what_an_imported_file_did_is_found(graphfix: Any, tmp_path: Path) -> None:
    """The finding lies in a file through which no line of the story goes."""
    (tmp_path / "tools.py").write_text("import torch\n\n\ndef shown(net, x):\n    torch.set_grad_enabled(False)\n    return net(x)\n")
    program = "from tools import shown\nshown(net, x)\nloss = net(x).pow(2).mean()\nloss.backward()\n"
    done, _ = traced(graphfix, tmp_path, HEAD + program)
    text = done.stderr.decode()
    assert "GF310" in text and "(tools.py)" in text and "graphfix apply tools.py --select GF310 --unsafe-fixes" in text


ENDED = """
import os, signal, time
for step in range(400):
    loss = net(x).pow(2).mean()
    net.zero_grad()
    loss.backward()
    time.sleep(0.005)
os.kill(os.getpid(), signal.{name})
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(("name", "known"), [("SIGKILL", False), ("SIGABRT", False), ("SIGTERM", True)])
def test_the_signal_that_ends_a_program_is_named(graphfix: Any, tmp_path: Path, name: str, known: bool) -> None:
    done, kept = traced(graphfix, tmp_path, HEAD + ENDED.format(name=name))
    text = " ".join(done.stderr.decode().split())
    assert f"{name} (" in text and "ended it" in text
    assert kept["error"]["type"] == name
    assert ("at least" in text) is not known  # what was done behind the last state that it left, nobody knows
    assert kept["walk_count"] == 400 if known else 1 <= kept["walk_count"] <= 400  # as far as it had written by then
    assert f"{kept['walk_count']} backward passes" in text


def test_an_error_is_repaired_apart_from_what_is_wrong_beside_it(graphfix: Any, tmp_path: Path) -> None:
    program = """
h = torch.zeros(2, 4)
total = 0.0
for step in range(3):
    h = torch.tanh(net(x) + h)
    loss = h.pow(2).mean()
    loss.backward()
    total = total + loss
print(total)
"""
    done, _ = traced(graphfix, tmp_path, HEAD + program)
    said = done.stderr.decode()
    assert "GF201" in said and "--select GF201" in said and "GF101" not in said and "loss.item()" not in said


def test_a_repair_that_is_refused_is_an_error(graphfix: Any, tmp_path: Path) -> None:
    script = HEAD + GROWS
    for words in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    done, _ = traced(graphfix, tmp_path, script, "--apply")
    assert b"git could not restore" in done.stderr and done.returncode == 2
    assert (tmp_path / "train.py").read_text() == script
    done, _ = traced(graphfix, tmp_path, script, "--apply", "--allow-dirty")
    assert done.returncode == 0 and (tmp_path / "train.py").read_text() != script
