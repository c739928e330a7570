"""`graphfix why`, from what real programs print on real torch to the line, the finding and the fix."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ..conftest import Run
from .forms import FORMS
from .programs import CARRIED, FITTED, FRAMEWORK, IN_PLACE, LEGACY, TWO_LOSSES, UNSEEN, error_of

pytestmark = pytest.mark.deep

ALONE = "Trying to backward through the graph a second time"


@pytest.fixture(scope="module")
def carried_error(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What the program with carried state prints; the paths in it are of a folder that is gone."""
    folder = tmp_path_factory.mktemp("there")
    printed = error_of(folder, "code/carried.py", CARRIED)
    shutil.rmtree(folder)
    return printed


@pytest.mark.parametrize(
    ("text", "code", "line", "fixed"),
    [
        (CARRIED, "GF201", "train.py:13, in train", "+        h = h.detach()"),
        (TWO_LOSSES, "GF301", "train.py:10", "+(loss_a + loss_b).backward()"),
        (IN_PLACE, "GF401", "train.py:17", "+        gate = gate + 0.1"),
        (LEGACY, "GF901", "train.py:7", "+print(loss.item())"),
    ],
)
def test_an_error_is_explained_by_its_finding(graphfix: Run, tmp_path: Path, text: str, code: str, line: str, fixed: str) -> None:
    done = graphfix("why", input=error_of(tmp_path, "train.py", text))
    said = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    assert line in said
    assert f"error[{code}]" in said or f"warning[{code}]" in said
    assert f"    {fixed}\n" in said
    assert f"  graphfix apply --select {code} train.py" in said
    assert (tmp_path / "train.py").read_text("utf-8") == text


def test_a_fault_in_a_module_is_found_where_it_is_used(graphfix: Run, tmp_path: Path) -> None:
    """The traceback names the file that calls backward(), and no line of the model."""
    model, _, use = IN_PLACE.partition("\n\n\nloss")
    (tmp_path / "gated.py").write_text(model + "\n")
    text = f"import torch\n\nfrom gated import Gated\n\nloss{use}"
    said = graphfix("why", input=error_of(tmp_path, "train.py", text)).stdout.decode()
    assert "your line: train.py:6" in said
    assert "  --> gated.py:12:9\n" in said
    anomaly = text.replace("import torch\n", "import torch\ntorch.autograd.set_detect_anomaly(True)\n")
    said = graphfix("why", input=error_of(tmp_path, "train.py", anomaly)).stdout.decode()
    assert "made at:   gated.py:11, in forward\n" in said
    assert "This is the cause:" in said
    assert "  --> gated.py:12:9\n" in said


def test_a_fault_in_a_module_that_is_looked_up_by_its_name(graphfix: Run, tmp_path: Path) -> None:
    """Nobody imports the model, and nobody in sight goes backward through it."""
    model, _, use = IN_PLACE.partition("\n\n\nloss")
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets/gated.py").write_text(model + "\n")
    (tmp_path / "nets/plain.py").write_text(model.replace("gate += 0.1", "gate = gate + 0.1") + "\n")
    imported = "import torch\nfrom importlib import import_module\n\nGated = import_module('nets.' + 'gated').Gated\n"
    said = graphfix("why", input=error_of(tmp_path, "train.py", f"{imported}loss{use}")).stdout.decode()
    assert "your line: train.py:6" in said
    assert "This finding is elsewhere in the project; it is the cause if the failed run used that code:" in said
    assert "  --> nets/gated.py:12:9\n" in said and "plain.py" not in said
    assert graphfix("check", ".").stdout.startswith(b"No findings")


def test_a_module_that_carries_state_without_a_loop_in_sight(graphfix: Run, tmp_path: Path) -> None:
    module = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.cell = nn.GRUCell(4, 4)\n"
    module += "        self.h = torch.zeros(2, 4)\n\n    def forward(self, x):\n        self.h = self.cell(x, self.h)\n        return self.h\n"
    (tmp_path / "net.py").write_text(f"import torch\nfrom torch import nn\n\n\n{module}")
    use = "net = getattr(__import__('net'), 'Net')()\nfor _ in range(2):\n    net(torch.ones(2, 4)).sum().backward()\n"
    said = graphfix("why", input=error_of(tmp_path, "train.py", f"import torch\n\n{use}")).stdout.decode()
    assert "error[GF202]" in said
    assert "  --> net.py:" in said


def test_the_fix_that_is_named_makes_the_error_go(graphfix: Run, tmp_path: Path) -> None:
    said = graphfix("why", input=error_of(tmp_path, "train.py", CARRIED)).stdout.decode()
    (words,) = re.findall(r"^  graphfix (apply .*?)   ", said, re.MULTILINE)
    assert graphfix(*words.split()).returncode == 0
    with pytest.raises(AssertionError):
        error_of(tmp_path, "train.py", (tmp_path / "train.py").read_text("utf-8"))


def test_a_log_file_is_read(graphfix: Run, tmp_path: Path) -> None:
    printed = error_of(tmp_path, "train.py", CARRIED)
    (tmp_path / "run.log").write_bytes(b"epoch 1\n" * 1_000_000 + printed)
    done = graphfix("why", "run.log")
    assert done.returncode == 0
    assert b"error[GF201]" in done.stdout


@pytest.mark.parametrize("more", ["x" * 10_000_000, "one more\n" * 1_200_000, "y\\n" * 3_300_000], ids=["long", "many lines", "quoted lines"])
def test_the_message_of_an_error_may_be_of_any_length(graphfix: Run, tmp_path: Path, more: str) -> None:
    printed = error_of(tmp_path, "train.py", CARRIED).rstrip() + b" " + more.encode() + b"\n"
    (tmp_path / "run.log").write_bytes(printed)
    for done in (graphfix("why", input=printed), graphfix("why", "run.log"), graphfix("why", "--output-format", "json", "run.log")):
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"GF201" in done.stdout and len(done.stdout) < 300_000


def test_the_error_may_be_old_and_another_one_came_later(graphfix: Run, tmp_path: Path) -> None:
    printed = error_of(tmp_path, "train.py", CARRIED)
    later = b'Traceback (most recent call last):\n  File "train.py", line 1, in <module>\n    import torch\nKeyError: 1\n'
    assert b"error[GF201]" in graphfix("why", input=printed + later).stdout


def test_nothing_explains_what_nobody_sees(graphfix: Run, tmp_path: Path) -> None:
    done = graphfix("why", input=error_of(tmp_path, "train.py", UNSEEN))
    assert done.returncode == 1
    assert b"Reading the code does not show why train.py:5 raises this." in done.stdout
    assert b"  graphfix trace train.py" in done.stdout


def test_the_users_line_is_named_below_a_framework(graphfix: Run, tmp_path: Path) -> None:
    """The library's frames, and those of torch below them, are not the user's."""
    library = tmp_path / "lib/python3.11/site-packages/fitter/loop.py"
    library.parent.mkdir(parents=True)
    (library.parent / "__init__.py").write_text("")
    library.write_text(FRAMEWORK)
    printed = error_of(tmp_path, "train.py", FITTED)
    done = graphfix("why", "--output-format", "json", input=printed)
    said = json.loads(done.stdout)
    assert (said["frame"]["row"], said["below"]["library"]) == (14, "torch")
    assert "fitter" in [frame["library"] for frame in said["frames"]]
    assert [finding["code"] for finding in said["findings"]] == ["GF301"]


def test_only_the_call_of_a_framework_is_the_users(graphfix: Run, tmp_path: Path) -> None:
    """Where the framework itself calls backward(), the user's line is the one that calls the framework."""
    text = (
        'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    trainer.fit(net)\n'
        '  File "/venv/lib/python3.11/site-packages/lightning/pytorch/trainer.py", line 538, in fit\n    call()\n'
        '  File "/venv/lib/python3.11/site-packages/torch/_tensor.py", line 623, in backward\n    x()\n'
        f"RuntimeError: {ALONE}\n"
    )
    (tmp_path / "train.py").write_text("net = 1\n\ntrainer.fit(net)\n")
    done = graphfix("why", input=text.encode())
    assert b"  your line: train.py:3\n               trainer.fit(net)\n" in done.stdout
    assert b"  it calls:  lightning, lightning/pytorch/trainer.py:538, in fit\n" in done.stdout


def test_code_of_another_machine_is_found_by_its_path(graphfix: Run, tmp_path: Path, carried_error: bytes) -> None:
    for folder in ("src/code", "src/old"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "carried.py").write_text(CARRIED)
    for words in ((), ("--project", "src")):
        done = graphfix("why", *words, input=carried_error)
        assert done.returncode == 0
        assert b"src/code/carried.py:10:9" in done.stdout


def test_code_that_is_nowhere_or_in_two_places_is_said(graphfix: Run, tmp_path: Path, carried_error: bytes) -> None:
    done = graphfix("why", input=carried_error)
    assert done.returncode == 1
    assert b"there is no carried.py below this folder" in b" ".join(done.stdout.split())
    for folder in ("a/code", "b/code"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "carried.py").write_text(CARRIED)
    done = graphfix("why", input=carried_error)
    assert done.returncode == 1
    assert b"it may be a/code/carried.py and b/code/carried.py" in b" ".join(done.stdout.split())


def test_code_that_has_changed_since_is_found_again(graphfix: Run, tmp_path: Path) -> None:
    printed = error_of(tmp_path, "train.py", CARRIED)
    (tmp_path / "train.py").write_text("# a new first line\n" + CARRIED)
    done = graphfix("why", input=printed)
    assert done.returncode == 0
    assert b"line 13 of the traceback is line 14 now" in b" ".join(done.stdout.split())
    assert b"This is the cause" in done.stdout


def cell(number: int, source: str, *outputs: object) -> dict[str, object]:
    return {"cell_type": "code", "execution_count": number, "metadata": {}, "outputs": list(outputs), "source": source}


def notebook(*cells: dict[str, object]) -> str:
    metadata = {"kernelspec": {"language": "python", "name": "python3", "display_name": "Python 3"}}
    return json.dumps({"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


CELL_TRACE = [
    "\x1b[0;31m-----------------------------\x1b[0m",
    "\x1b[0;31mRuntimeError\x1b[0m            Traceback (most recent call last)",
    "Cell \x1b[0;32mIn[7], line 5\x1b[0m\n\x1b[1;32m      3\x1b[0m features = torch.tanh(trunk(x))\n"
    "\x1b[0;32m----> 5\x1b[0m b.backward()\n",
    f"\x1b[0;31mRuntimeError\x1b[0m: {ALONE}",
]
FIRST = "import torch\nfrom torch import nn\ntrunk = nn.Linear(4, 8)\nx = torch.randn(3, 4)"
SECOND = "features = torch.tanh(trunk(x))\na = features.pow(2).sum()\nb = features.exp().sum()\na.backward()\nb.backward()"


def test_a_cell_is_found_by_its_prompt_and_its_line(graphfix: Run, tmp_path: Path) -> None:
    (tmp_path / "nb.ipynb").write_text(notebook(cell(6, FIRST), cell(7, SECOND)))
    done = graphfix("why", input="\n".join(CELL_TRACE).encode())
    assert done.returncode == 0
    assert b"your line: notebook cell In[7], line 5" in done.stdout
    assert b"nb.ipynb:cell 2:5:1" in done.stdout
    assert b"    +(a + b).backward()\n" in done.stdout
    assert graphfix("why", "--project", "nb.ipynb", input="\n".join(CELL_TRACE).encode()).stdout == done.stdout


def test_a_notebook_is_asked_for_the_error_that_it_keeps(graphfix: Run, tmp_path: Path) -> None:
    error = {"output_type": "error", "ename": "RuntimeError", "evalue": ALONE, "traceback": CELL_TRACE}
    (tmp_path / "nb.ipynb").write_text(notebook(cell(6, FIRST), cell(7, SECOND, error)))
    done = graphfix("why", "nb.ipynb")
    assert done.returncode == 0
    assert b"error[GF301]" in done.stdout
    (tmp_path / "none.ipynb").write_text(notebook(cell(6, FIRST)))
    done = graphfix("why", "none.ipynb")
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)


def test_a_message_alone_is_explained_with_its_six_ways(graphfix: Run, tmp_path: Path) -> None:
    done = graphfix("why", ALONE)
    said = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(said.split("\n\n")[1].splitlines()) <= 10
    assert re.findall(r"^(\d)\. ", said, re.MULTILINE) == list("123456")
    assert max(map(len, said.splitlines())) <= 80
    assert graphfix("why", *ALONE.split()).stdout == done.stdout
    assert graphfix("why", input=ALONE.encode()).stdout == done.stdout
    (tmp_path / "error.txt").write_text(f"RuntimeError: {ALONE} (or directly access ...\n")
    assert graphfix("why", "error.txt").stdout == done.stdout


def test_what_is_no_error_is_refused_in_one_line(graphfix: Run, tmp_path: Path) -> None:
    (tmp_path / "fine.log").write_text("epoch 1: loss 0.5\n")
    (tmp_path / "train.py").write_text(CARRIED)
    (tmp_path / "binary.log").write_bytes(bytes(range(256)) * 100)
    for words in ((), ("fine.log",), ("binary.log",), ("train.py",), ("missing.log",), (".",), ("all is well",)):
        done = graphfix("why", *words, input=b"")
        assert (done.returncode, done.stdout) == (2, b""), words
        assert done.stderr.startswith(b"graphfix: error: ")
        assert done.stderr.count(b"\n") == 1


def test_an_error_of_another_kind_is_not_explained(graphfix: Run) -> None:
    text = b'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    d[1]\nKeyError: 1\n'
    done = graphfix("why", input=text)
    assert done.returncode == 1
    assert b"this is a KeyError of another kind" in b" ".join(done.stdout.split())


@pytest.mark.parametrize("form", ["colours", "rich", "IPython 7", "pytest", "ranks", "Windows", "logging"])
def test_a_pasted_form_leads_to_the_file_here(graphfix: Run, tmp_path: Path, form: str) -> None:
    (tmp_path / "train.py").write_text(
        "import torch\n\n\ndef main():\n    w = torch.ones(1, requires_grad=True)\n"
        "    loss = (w * w).sum()\n    loss.backward()\n    loss.backward()\n\n\n\nmain()\n"
    )
    done = graphfix("why", input=FORMS[form].encode())
    assert done.returncode == 0, done.stdout.decode()
    assert b"error[GF302]" in done.stdout
    assert b"This is the cause" in done.stdout


def test_json_has_all_that_is_known(graphfix: Run, tmp_path: Path) -> None:
    printed = error_of(tmp_path, "train.py", CARRIED)
    done = graphfix("why", "--output-format", "json", input=printed)
    said = json.loads(done.stdout)
    assert said["kind"]["key"] == "second-backward"
    assert (said["frame"]["row"], said["frame"]["code"], said["below"]["library"]) == (13, "loss.backward()", "torch")
    assert [place["row"] for place in said["places"]] == [13, 18]
    (finding,) = said["findings"]
    assert (finding["code"], finding["nearness"], finding["fix"]["applicability"]) == ("GF201", "line", "safe")
    assert said["commands"] == ["graphfix diff --select GF201 train.py", "graphfix apply --select GF201 train.py"]
    alone = json.loads(graphfix("why", "--output-format", "json", ALONE).stdout)
    assert len(alone["kind"]["ways"]) > 6 and all(way["says"] for way in alone["kind"]["ways"])
    assert alone["kind"]["page"].endswith("/docs/errors/second-backward.md")


def test_data_that_is_read_for_a_number_cuts_no_graph(graphfix: Run, tmp_path: Path) -> None:
    """Neither does what comes after backward(), nor a Variable that asks for nothing."""
    text = """import torch
from torch.autograd import Variable

net = torch.nn.Linear(4, 4)
net.requires_grad_(False)
x = Variable(torch.randn(2, 4))
out = net(x)
print(out.data.numpy())
loss = out.sum()
loss.backward()
shown = out.data
"""
    said = graphfix("why", input=error_of(tmp_path, "train.py", text)).stdout.decode()
    assert "`net.requires_grad_(False)`" in said.replace("\n", " ") and "GF902" not in said


def test_a_kept_loss_is_no_second_backward(graphfix: Run, tmp_path: Path) -> None:
    text = """import torch

net = torch.nn.Linear(4, 4)
base = net(torch.randn(2, 4)).tanh()
shown = eval("base")
losses = []
for step in range(3):
    loss = shown.sum()
    losses.append(loss)
    loss.backward()
"""
    said = graphfix("why", input=error_of(tmp_path, "train.py", text)).stdout.decode()
    assert "GF102" not in said.partition("Possible causes")[0]


BESIDE = {
    "a total": "        total = total + loss\n",
    "a list": "        shown.append(loss)\n",
    "a needless retained graph": "        loss.square().backward(retain_graph=True)\n",
}


@pytest.mark.parametrize("added", BESIDE.values(), ids=BESIDE)
def test_another_fault_beside_the_cause_is_no_cause(graphfix: Run, tmp_path: Path, added: str) -> None:
    """What the raising backward() does not go through is told by `check`, and not as what raises."""
    before, call, after = CARRIED.partition("        loss.backward()\n")
    assert call
    text = before.replace("    h = ", "    total, shown = 0.0, []\n    h = ", 1)
    text += added + call + after if "backward" in added else call + added + after
    said = graphfix("why", input=error_of(tmp_path, "train.py", text)).stdout.decode()
    assert "This is the cause" in said and re.findall(r"error\[(\w+)\]|warning\[(\w+)\]", said) == [("GF201", "")]


def test_a_long_path_stays_whole_at_its_end(graphfix: Run) -> None:
    path = "/export/home/ana/Documents/" + "experiments/" * 5 + "tools/runner_pretrain.py"
    text = f'Traceback (most recent call last):\n  File "{path}", line 144, in run\n    loss.backward()\nRuntimeError: {ALONE}\n'
    said = graphfix("why", input=text.encode()).stdout.decode()
    assert "/tools/runner_pretrain.py:144, in run\n" in said and "your line: .../" in said


def test_the_script_that_was_started_is_named_though_it_is_not_here(graphfix: Run, tmp_path: Path) -> None:
    (tmp_path / "fitting.py").write_text("def fit(loss):\n    loss.backward()\n")
    printed = (
        "Traceback (most recent call last):\n"
        '  File "/home/them/runs/start_it.py", line 3, in <module>\n    fit(loss)\n'
        f'  File "{tmp_path}/fitting.py", line 2, in fit\n    loss.backward()\n'
        f"RuntimeError: {ALONE} (or directly access saved tensors after they have already been freed).\n"
    )
    said = graphfix("why", input=printed.encode()).stdout.decode()
    assert "  graphfix trace start_it.py\n" in said
    assert "graphfix trace fitting.py" not in said


def test_what_check_finds_too_does_not_rest_on_the_failed_run(graphfix: Run, tmp_path: Path) -> None:
    (tmp_path / "reader.py").write_text(
        "from torch import nn\n\n\nclass Reader(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.lstm = nn.LSTM(4, 4)\n        self.lstm.bias_hh_l0.chunk(4)[1].fill_(1)\n\n"
        "    def forward(self, x):\n        return self.lstm(x)[0]\n"
    )
    text = "import torch\n\nfrom reader import Reader\n\nreader = Reader()\nreader(torch.ones(2, 3, 4)).mean().backward()\n"
    said = graphfix("why", input=error_of(tmp_path, "train.py", text)).stdout.decode()
    assert "error[GF313]" in said and "only the failed run shows" not in said
    assert "  graphfix apply --select GF313 --unsafe-fixes reader.py" in said


EMA = "from copy import deepcopy\n\n\nclass Ema:\n    def __init__(self, model):\n        self.module = deepcopy(model)\n"
BIASED = """from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = nn.Linear(3, 3)
        self.bias = None

    def forward(self, x):
        self.bias = self.mlp(x)
        return x + self.bias
"""
COPIED = """import torch

from ema import Ema
from nets import Net

net = Net()
net(torch.ones(2, 3))
ema = Ema(net)
net(torch.ones(2, 3)).mean().backward()
"""


def test_a_finding_of_two_files_is_shown_once_and_its_repair_whole(graphfix: Run, tmp_path: Path) -> None:
    (tmp_path / "ema.py").write_text(EMA)
    (tmp_path / "nets.py").write_text(BIASED)
    done = graphfix("why", input=error_of(tmp_path, "train.py", COPIED))
    said = done.stdout.decode()
    assert said.count("error[GF311]") == 1
    (command,) = (line.split("   ")[0].strip() for line in said.splitlines() if "graphfix apply" in line)
    assert graphfix(*command.split()[1:]).returncode == 0
    assert (tmp_path / "ema.py").read_text() == EMA  # it copies any module
    assert subprocess.run([sys.executable, "train.py"], cwd=tmp_path, timeout=600, check=False).returncode == 0


def test_a_cut_is_no_repair_of_a_cut(graphfix: Run, tmp_path: Path) -> None:
    text = (
        "import torch\nfrom torch import nn\n\nnet = nn.Linear(3, 2)\nx = torch.ones(4, 3)\n"
        "best = net(x).data.max(1)[1]\ntorch.set_grad_enabled(False)\nnet(x)[best > 0].mean().backward()\n"
    )
    said = graphfix("why", input=error_of(tmp_path, "train.py", text)).stdout.decode()
    assert "GF902" not in said and "GF310" in said


def test_json_tells_one_of_several_findings_with_its_repairs(graphfix: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TWO_OF_OLD)
    printed = b'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n    print(loss.data[0])\n'
    printed += b"IndexError: invalid index of a 0-dim tensor. Use `tensor.item()` in Python\n"
    said = json.loads(graphfix("why", "--output-format", "json", input=printed).stdout)
    assert [(each["code"], each["nearness"]) for each in said["findings"]] == [("GF901", "line")]
    assert said["others"] == 1


def test_what_cannot_raise_an_error_is_no_cause_of_it(graphfix: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TWO_OF_OLD.replace(".data[0]", ".item()"))
    printed = b'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n    print(loss.data[0])\n'
    printed += b"IndexError: invalid index of a 0-dim tensor. Use `tensor.item()` in Python\n"
    assert b"[GF" not in graphfix("why", input=printed).stdout


TWO_OF_OLD = """import torch
from torch import nn
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(9):
    loss = model(torch.randn(2, 3)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    print(loss.data[0])
    optimizer.step()
    averaged = model.weight.data
    print(loss.data[0] / 2, averaged.sum())
"""
