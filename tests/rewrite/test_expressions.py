from __future__ import annotations

import pytest

from graphfix.model import AddArgument, Append, RemoveArgument, Replace, Span
from graphfix.rewrite import edits_of

from .cases import applied, at, fix, refusal

APPENDS = [
    ("total += loss\n", "loss", "total += loss.item()\n"),
    ("total += a + b\n", "a + b", "total += (a + b).item()\n"),
    ("total += (a + b)  # sum\n", "a + b", "total += (a + b).item()  # sum\n"),
    ("f(a + b)\n", "a + b", "f((a + b).item())\n"),
    ("f((a + b))\n", "a + b", "f((a + b).item())\n"),
    ("f(a + b, c)\n", "a + b", "f((a + b).item(), c)\n"),
    ("class A(a + b): pass\n", "a + b", "class A((a + b).item()): pass\n"),
    ("x = -a\n", "-a", "x = (-a).item()\n"),
    ("x = not a\n", "not a", "x = (not a).item()\n"),
    ("x = a if b else c\n", "a if b else c", "x = (a if b else c).item()\n"),
    ("x = lambda: a\n", "lambda: a", "x = (lambda: a).item()\n"),
    ("x = a, b\n", "a, b", "x = (a, b).item()\n"),
    ("x = (a, b)\n", "(a, b)", "x = (a, b).item()\n"),
    ("x = 1\n", "1", "x = (1).item()\n"),
    ("x = 'a' 'b'\n", "'a' 'b'", "x = 'a' 'b'.item()\n"),
    ("x = [a]\n", "[a]", "x = [a].item()\n"),
    ("f(*xs)\n", "*xs", "f(*xs.item())\n"),
    ("f(*(a + b))\n", "*(a + b)", "f(*(a + b).item())\n"),
    ("f(x for x in y)\n", "(x for x in y)", "f((x for x in y).item())\n"),
    ("f((x for x in y), 1)\n", "(x for x in y)", "f((x for x in y).item(), 1)\n"),
    ("f(y := x)\n", "y := x", "f((y := x).item())\n"),
    ("async def f():\n    return await x\n", "await x", "async def f():\n    return (await x).item()\n"),
    ("x = (\n    a  # one\n    + b  # two\n)\n", "a  # one\n    + b", "x = (\n    (a  # one\n    + b).item()  # two\n)\n"),
    ("x = (\n    a\n    + b\n)\n", "a\n    + b", "x = (\n    a\n    + b\n).item()\n"),
    ("x = (\n    a\n)\n", "a", "x = (\n    a.item()\n)\n"),
    ("é = ü; total += loss\n", "loss", "é = ü; total += loss.item()\n"),
    ("if x: total += loss\n", "loss", "if x: total += loss.item()\n"),
    ("total += \\\n  loss\n", "loss", "total += \\\n  loss.item()\n"),
    ("\x0ctotal += loss\n", "loss", "\x0ctotal += loss.item()\n"),
    ("total = (a +\r\n  b)\r\n", "a +\r\n  b", "total = (a +\r\n  b).item()\r\n"),
    ("total = f(a,\r  b)\r", "f(a,\r  b)", "total = f(a,\r  b).item()\r"),
    ("@decorate(loss)\ndef f(): pass\n", "loss", "@decorate(loss.item())\ndef f(): pass\n"),
    ("while loss: pass\n", "loss", "while loss.item(): pass\n"),
    ('print(f"{loss}")\n', "loss", 'print(f"{loss.item()}")\n'),
    ("total += loss", "loss", "total += loss.item()"),
]


@pytest.mark.parametrize(("before", "code", "after"), APPENDS, ids=[case[1] for case in APPENDS])
def test_append(before: str, code: str, after: str) -> None:
    assert applied(before, Append(at(before, code), ".item()")) == after


def test_append_to_nested_expressions_of_one_fix() -> None:
    text = "x = a + b\n"
    inner, outer = Append(at(text, "b"), ".item()"), Append(at(text, "a + b"), ".detach()")
    assert applied(text, outer, inner) == "x = (a + b.item()).detach()\n"


REPLACES = [
    ("y = x * 2\n", "x", "a + b", "y = (a + b) * 2\n"),
    ("y = (x) * 2\n", "x", "a + b", "y = (a + b) * 2\n"),
    ("y = x.z\n", "x", "a + b", "y = (a + b).z\n"),
    ("f(x)\n", "x", "a + b", "f(a + b)\n"),
    ("f(x)\n", "x", "a, b", "f((a, b))\n"),
    ("f(x)\n", "x", "(a, b)", "f((a, b))\n"),
    ("f(x)\n", "x", "(a), (b)", "f(((a), (b)))\n"),
    ("y = x\n", "x", "a, b", "y = a, b\n"),
    ("y = x\n", "x", "a +\nb", "y = (a +\nb)\n"),
    ("y = x[0]\n", "x", "a if b else c", "y = (a if b else c)[0]\n"),
    ("y = x[0]\n", "0", "a if b else c", "y = x[a if b else c]\n"),
    ("f(x for x in y)\n", "(x for x in y)", "z", "f(z)\n"),
    ("float(loss)  # log\n", "float(loss)", "loss.item()", "loss.item()  # log\n"),
]


@pytest.mark.parametrize(("before", "code", "text", "after"), REPLACES)
def test_replace(before: str, code: str, text: str, after: str) -> None:
    assert applied(before, Replace(at(before, code), text)) == after


ADDED = [
    ("f()\n", "f(k=1)\n"),
    ("f(a)\n", "f(a, k=1)\n"),
    ("f(a,)\n", "f(a, k=1,)\n"),
    ("f(a, **b)\n", "f(a, **b, k=1)\n"),
    ("f(x for x in y)\n", "f((x for x in y), k=1)\n"),
    ("f(k=2)\n", "f(k=1)\n"),
    ("f(a, k=f(2), b=3)\n", "f(a, k=1, b=3)\n"),
    ("f(\n    a,\n    b,\n)\n", "f(\n    a,\n    b,\n    k=1,\n)\n"),
    ("f(\n    a,\n    b\n)\n", "f(\n    a,\n    b,\n    k=1\n)\n"),
    ("f(\n    a,  # one\n    b  # two\n)\n", "f(\n    a,  # one\n    b,  # two\n    k=1\n)\n"),
    ("f(\n    a,  # one\n)\n", "f(\n    a,  # one\n    k=1,\n)\n"),
    ("f(\r\n\ta,\r\n)\r\n", "f(\r\n\ta,\r\n\tk=1,\r\n)\r\n"),
    ("f(a,\n  b)\n", "f(a,\n  b,\n  k=1)\n"),
    ("f(  # why\n)\n", "f(  # why\nk=1)\n"),
]


@pytest.mark.parametrize(("before", "after"), ADDED)
def test_add_argument(before: str, after: str) -> None:
    call = Span(0, len(before.rstrip().encode()))
    assert applied(before, AddArgument(call, "k", "1")) == after


REMOVED = [
    ("f(k=1)\n", "f()\n"),
    ("f(k=1,)\n", "f()\n"),
    ("f(a, k=1)\n", "f(a)\n"),
    ("f(a, k=1,)\n", "f(a,)\n"),
    ("f(k=1, b=2)\n", "f(b=2)\n"),
    ("f(a, k=1, b=2)\n", "f(a, b=2)\n"),
    ("f(\n    a,\n    k=1,\n)\n", "f(\n    a,\n)\n"),
    ("f(\n    a,\n    k=1\n)\n", "f(\n    a\n)\n"),
    ("f(\n    k=1,\n    b=2,\n)\n", "f(\n    b=2,\n)\n"),
    ("f(\n    k=1,\n)\n", "f()\n"),
    ("f(a, k=1,\n  b=2)\n", "f(a,\n  b=2)\n"),
    ("f(\n    a,  # one\n    k=1,  # two\n)\n", "f(\n    a,  # one\n    # two\n)\n"),
    ("f(\n    a,\n    k=1,  # two\n    b,\n)\n".replace("b,", "b=2,"), "f(\n    a,\n    # two\n    b=2,\n)\n"),
    ("f(a, k=1  # two\n)\n", "f(a,  # two\n)\n"),
]


@pytest.mark.parametrize(("before", "after"), REMOVED)
def test_remove_argument(before: str, after: str) -> None:
    call = Span(0, len(before.rstrip().encode()))
    assert applied(before, RemoveArgument(call, "k")) == after


def test_one_call_loses_one_argument_and_gets_another() -> None:
    text = "loss.backward(retain_graph=True)\n"
    call = at(text, text.strip())
    made = applied(text, RemoveArgument(call, "retain_graph"), AddArgument(call, "inputs", "ps"))
    assert made == "loss.backward(inputs=ps)\n"


REFUSED = [
    ("x = a\n", Append(Span(0, 2), ".item()"), "there is no expression at this place"),
    ("x = a\n", Append(Span(4, 5), " + 1"), "not a suffix"),
    ("x = a\n", Replace(Span(4, 5), "a b"), "not an expression"),
    ("x = (a  # why\n + b)\n", Replace(Span(5, 18), "c"), "there is a comment inside"),
    ("f(a)\n", RemoveArgument(Span(0, 4), "k"), "no argument `k`"),
    ("x = a\n", AddArgument(Span(4, 5), "k", "1"), "no call"),
    ("f(k=(1, # why\n2))\n", RemoveArgument(Span(0, 17), "k"), "there is a comment inside"),
    ("a = 1\n", Append(Span(0, 1), ".item()"), "does not parse"),
    ("x = (\n", Append(Span(0, 1), ".item()"), "cannot be read"),
]


@pytest.mark.parametrize(("text", "operation", "reason"), REFUSED)
def test_refused_with_a_reason(text: str, operation: Append | Replace | AddArgument | RemoveArgument, reason: str) -> None:
    assert reason in refusal(text, operation)


def test_edits_are_as_small_as_they_can_be() -> None:
    text = "total += a + b\n"
    edits = edits_of(text, fix(Append(at(text, "a + b"), ".item()")))
    assert [(edit.span, edit.content) for edit in edits] == [(Span(9, 9), "("), (Span(14, 14), ").item()")]


def test_a_refused_fix_has_no_edits() -> None:
    assert edits_of("x = a\n", fix(Append(Span(0, 2), ".item()"))) == ()


@pytest.mark.parametrize(
    ("text", "part", "suffix"),
    [
        ("f(x.detach())\n", "x.detach()", ".detach()"),
        ("y = a[0].item()\n", "a[0].item()", ".item()"),
        ("y = x.data\n", "x.data", ".data"),
    ],
)
def test_nothing_is_appended_twice(text: str, part: str, suffix: str) -> None:
    assert refusal(text, Append(at(text, part), suffix)) == f"it ends with `{suffix}` already"


def test_what_ends_alike_further_in_is_another_expression() -> None:
    text = "y = f(x.detach())\n"
    assert applied(text, Append(at(text, "f(x.detach())"), ".detach()")) == "y = f(x.detach()).detach()\n"
