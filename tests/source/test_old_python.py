"""Files of Python 2: read for what they say, and repaired where Python 3 reads the line as well."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphfix.rewrite.fixpoint import repair
from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted
from graphfix.run.texts import Texts
from graphfix.source.decode import decode
from graphfix.source.guard import with_calls
from graphfix.source.old_python import modernised

OLD = {
    "print x": "print,x",
    "print 'a %s' % b, c": "print,'a %s' % b, c",
    "if x: print 'print x'": "if x: print,'print x'",
    "print ('a'), b": "print,('a'), b",
    "print": "print",
    "print('print x')": "print('print x')",
    "print in x": "print in x",
    "exec code": "exec,code",
    "try: f()\nexcept (A, B), e: pass": "try: f()\nexcept (A, B)   : pass",
    "raise E, 'x'": "raise E; 'x'",
    "x = 10L + 0755": "x = 10  +  755",
    "x = 0 + 00 + 0x1fL": "x = 0 + 00 + 0x1f ",
    "if a <> b: x = `c`": "if a != b: x = (c)",
    "x = ur'a'": "x =  r'a'",
    "x.cuda(async=True)": "x.cuda(a0ync=True)",
    "# print x": "# print x",
    "x = 'it is 010L <> `b`'": "x = 'it is 010L <> `b`'",
}


@pytest.mark.parametrize("text", OLD)
def test_what_only_python_2_understands(text: str) -> None:
    assert modernised(text) == OLD[text]
    ast.parse(OLD[text])


@given(st.text("print exc`<>, 0123Le:é'\"#\n\t\f()=\\", max_size=60))
def test_the_text_keeps_its_length_and_lines(text: str) -> None:
    made = modernised(text)
    assert [len(line.encode()) for line in made.split("\n")] == [len(line.encode()) for line in text.split("\n")]


def test_a_name_of_other_letters_keeps_its_bytes() -> None:
    assert modernised("try: f()\nexcept E, é: pass") == "try: f()\nexcept E, é: pass"


def test_a_print_statement_is_a_call() -> None:
    tree = with_calls(ast.parse("print,x, y"))
    assert ast.unparse(tree) == "print(x, y)"


SCRIPT = b"""import torch
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
total = 0
for i in xrange(4):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss
    print "loss", loss.data[0]
print total
"""


def repaired(data: bytes) -> tuple[bytes, list[str]]:
    """The bytes after all fixes that Python 3 can read, and the rules that still tell something."""
    source = decode(Path("train.py"), data)

    class Confined:
        def counts(self, text):
            return Wanted().shows

        def visible(self, text, findings):
            return source.confined(text, Wanted().visible(text, findings))

        def applies(self, fix):
            return Wanted().applies(fix)

    done = repair(Texts(Path("train.py"), (Path("."),)), source.text, Confined())
    return source.edited(done.text).data, [finding.code for finding in done.left]


def test_lines_that_python_3_reads_are_repaired_and_the_others_told() -> None:
    assert repaired(SCRIPT) == (SCRIPT.replace(b"total += loss\n", b"total += loss.item()\n"), ["GF901"])


def test_a_file_that_no_python_reads_is_told_with_its_own_error() -> None:
    assert decode(Path("train.py"), b"print 'x'\nf = lambda (a, b): a\n").text == "print 'x'\nf = lambda (a, b): a\n"


def test_an_unknown_cookie_over_utf_8() -> None:
    source = decode(Path("train.py"), "# -*- coding: utf8-unix -*-\nx = 'é'\n".encode())
    assert source.text.endswith("x = 'é'\n")
    assert source.encode(source.text) == source.data


def test_a_form_feed_ends_no_line() -> None:
    head = b"\x0c\n'a\x0c b'\n"
    made, left = repaired(SCRIPT)
    assert repaired(head + SCRIPT) == (head + made, left)


def test_messages_quote_names_as_the_file_writes_them(tmp_path: Path) -> None:
    code = "import torch\nfrom torch.autograd import Variable\nnet = torch.nn.Linear(2, 2)\n"
    code += "x = Variable(load(async=True), volatile=True)\nprint net(x)\n"
    (tmp_path / "old.py").write_text(code)
    told = examine(tmp_path / "old.py", Job((tmp_path,))).findings
    assert told and all("a0ync" not in text for each in told for text in (each.message, *(label.message for label in each.story)))
    assert any("(async=" in each.message for each in told)
