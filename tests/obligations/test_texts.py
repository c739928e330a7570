"""The text of a tensor names its graph, and so does that of whatever holds it: what keeps such a text has no safe fix."""

from __future__ import annotations

import pytest

from tests.obligations.programs import SETUP, safe_titles

LOG = (
    SETUP
    + """
import csv, io, json, pprint, reprlib
from collections import Counter, namedtuple
from dataclasses import dataclass

Row = namedtuple("Row", "step loss")

@dataclass
class Record:
    step: int
    loss: object

class Plain:
    def __init__(self, loss):
        self.loss = loss

history, rows, table, plain = [], [], {{}}, []
for step in range(4):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    {kept}
{after}
"""
)
TOLD = {
    "json by str": ("history.append(loss)", "print(json.dumps(history, default=str))"),
    "json by repr into a dict": ("table[step] = loss", "print(json.dumps(table, default=repr))"),
    "texts of all": ("history.append(loss)", "print(' '.join(map(str, history)))"),
    "texts that are counted": ("history.append(loss)", "print(Counter(map(repr, history)))"),
    "a tuple that fills a template": ("rows.append((step, loss))", "for row in rows:\n    print('%s %s' % row)"),
    "a dict that is printed": ("table[step] = loss", "print(table)"),
    "a list in a text": ("history.append(loss)", "print(f'{history}')"),
    "a list that is pretty": ("history.append(loss)", "print(pprint.pformat(history))"),
    "a list that is shortened": ("history.append(loss)", "print(reprlib.repr(history))"),
    "a named tuple": ("rows.append(Row(step, loss))", "print(str(rows[-1]))"),
    "named tuples": ("rows.append(Row(step, loss))", "print(rows)"),
    "a record in a list": ("rows.append(Record(step, loss))", "print(rows)"),
    "a table of texts": ("rows.append([step, loss])", "csv.writer(io.StringIO()).writerows(rows)"),
    "a template of an item": ("table['loss'] = loss", "print('{loss!r}'.format(**table))"),
    "sorted by its text": ("history.append(loss)", "print(sorted(history, key=str)[0].item())"),
}  # fmt: skip
SILENT = {
    "how many there are": ("history.append(loss)", "print(len(history))"),
    "numbers of all": ("history.append(loss)", "print(list(map(float, history)))"),
    "a template with a format": ("rows.append({'loss': loss})", "print('{loss:.3f}'.format(**rows[0]))"),
    "another item of a template": ("rows.append({'loss': loss, 'n': step})", "print('{n}'.format(**rows[0]))"),
    "the keys of a dict": (
        "rows.append({'loss': loss})",
        "row = {'last': rows[-1]['loss']}\nfor name in row:\n    print('%s %.3f' % (name, row[name]))",
    ),
    "the value itself": ("history.append(loss)", "for each in history:\n    print('loss', each)"),
}  # fmt: skip


@pytest.mark.parametrize("case", TOLD)
def test_a_text_of_what_holds_a_graph_is_no_safe_fix(case: str) -> None:
    kept, after = TOLD[case]
    assert safe_titles(LOG.format(kept=kept, after=after)) == []


@pytest.mark.parametrize("case", SILENT)
def test_a_text_that_names_no_graph_stands_in_no_way(case: str) -> None:
    kept, after = SILENT[case]
    assert [code for code, _ in safe_titles(LOG.format(kept=kept, after=after))] == ["GF102"]


def test_an_evaluation_whose_report_is_written_as_texts() -> None:
    program = SETUP + (
        "import json\nreport = {}\nnet.eval()\nfor i in range(4):\n    report[i] = net(torch.randn(5, 3)).mean()\n"
        "print(json.dumps(report, default=str))\n"
    )
    assert safe_titles(program) == []


READ_BACK = {
    "a log into a text": ("log = logging.getLogger('fit')\nlog.addHandler(logging.StreamHandler(io.StringIO()))", "log.info('loss %s', history[-1])"),
    "a log into a file that is read": (
        "log = logging.getLogger('fit')\nlog.addHandler(logging.FileHandler('fit.log'))", "log.info('loss %s', history[-1])\n    print(open('fit.log').read())"
    ),
    "a process that runs the file": (
        "import subprocess, sys\nif len(sys.argv) < 2:\n    print(len(subprocess.check_output([sys.executable, __file__, 'worker'])))", "print(history[-1])"
    ),
    "a process of its own under a name": (
        "import os, sys\nme = os.path.abspath(__file__)\nif len(sys.argv) < 2:\n    print(os.popen(f'python {me} worker').read())", "print('loss', history[-1])"
    ),
    "a command that is put together": (
        "import subprocess, sys\ncommand = [sys.executable]\ncommand += [sys.argv[0], 'worker']\nif len(sys.argv) < 2:\n"
        "    print(subprocess.run(command, capture_output=True).stdout)", "print(f'{history[-1]!r}')"
    ),
    "a template into a text": ("import contextlib\nout = io.StringIO()", "with contextlib.redirect_stdout(out):\n        print('loss %s' % history[-1])"),
    "a file that is read": ("out = open('fit.txt', 'w')", "print(history[-1], file=out)\n    print(open('fit.txt').readlines())"),
}  # fmt: skip


@pytest.mark.parametrize("case", READ_BACK)
def test_a_text_that_comes_back_is_no_safe_fix(case: str) -> None:
    setup, each = READ_BACK[case]
    program = LOG.format(kept=f"history.append(loss)\n    {each}", after="print(len(history))")
    assert safe_titles(program.replace("history, rows", f"import logging\n{setup}\nhistory, rows")) == []


def test_a_log_that_nobody_reads_stands_in_no_way() -> None:
    program = LOG.format(kept="history.append(loss)\n    logging.info('loss %s', history[-1])", after="print(len(history))")
    assert [code for code, _ in safe_titles("import logging\n" + program)] == ["GF102"]


def test_the_text_of_a_vector_names_its_graph() -> None:
    kept = "last = net(torch.randn(5, 3))[:, 0]\n    rows.append(last)"
    assert safe_titles(LOG.format(kept=kept, after="cells = [f'{each}' for each in rows]\nprint(max(map(len, cells)))")) == []
    assert [code for code, _ in safe_titles(LOG.format(kept=kept, after="print([len(each) for each in rows])"))] == ["GF102"]
