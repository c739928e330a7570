"""Which fixes go together."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from graphfix.model import Append, Decorate, Delete, Fix, InsertBefore, Replace, Span, Wrap

from .cases import at, fix, outcome

TEXT = "total += f(a, b)\nx = 1\n"


def test_no_fixes_change_nothing() -> None:
    assert outcome(TEXT).text == TEXT


def test_disjoint_changes_of_one_statement_compose() -> None:
    first, second = fix(Append(at(TEXT, "a", 1), ".item()")), fix(Append(at(TEXT, "b"), ".item()"))
    assert outcome(TEXT, second, first).text == "total += f(a.item(), b.item())\nx = 1\n"


def test_equal_fixes_merge() -> None:
    operation = Append(at(TEXT, "b"), ".item()")
    done = outcome(TEXT, fix(operation, title="one"), fix(operation, title="two"))
    assert done.text == "total += f(a, b.item())\nx = 1\n"
    assert len(done.applied) == 2


def test_an_operation_that_two_fixes_share_is_done_once() -> None:
    shared = InsertBefore(at(TEXT, "x = 1"), "y = 2")
    first, second = fix(shared, Append(at(TEXT, "a", 1), ".item()")), fix(shared, Append(at(TEXT, "b"), ".item()"))
    assert outcome(TEXT, first, second).text == "total += f(a.item(), b.item())\ny = 2\nx = 1\n"


def test_the_later_of_two_that_overlap_waits() -> None:
    whole, part = fix(Replace(at(TEXT, "f(a, b)"), "g")), fix(Append(at(TEXT, "b"), ".item()"))
    done = outcome(TEXT, part, whole)
    assert done.text == "total += g\nx = 1\n"
    assert done.applied == (whole,)
    assert done.deferred == (part,)


@pytest.mark.parametrize("header, together", [("with torch.no_grad():", False), ("with lock:", True)])
def test_a_context_inside_of_the_same_context_waits(header: str, together: bool) -> None:
    text = "def f(x):\n    y = x\n    return y\n"
    whole = fix(Decorate(at(text, text[:-1]), "torch.no_grad()"))
    part = fix(Append(at(text, "x", 1), ".data"), Wrap((at(text, "y = x"),), header))
    done = outcome(text, part, whole)
    assert done.deferred == (() if together else (part,))
    assert done.text.startswith("@torch.no_grad()\ndef f(x):\n    " + ("with" if together else "y = x\n"))


def test_two_that_would_insert_at_one_point_do_not_guess_an_order() -> None:
    one, two = (fix(InsertBefore(at(TEXT, "x = 1"), text)) for text in ("y = 2", "z = 3"))
    done = outcome(TEXT, one, two)
    assert (len(done.applied), len(done.deferred)) == (1, 1)


def test_two_that_together_empty_a_block() -> None:
    text = "if x:\n    a()\n    b()\n    c()\n"
    fixes = [fix(Delete(at(text, "a()")), Delete(at(text, "b()"))), fix(Delete(at(text, "c()")))]
    done = outcome(text, *fixes)
    assert done.text == "if x:\n    c()\n"
    assert done.deferred == (fixes[1],)


def test_a_fix_with_one_bad_operation_does_nothing_at_all() -> None:
    done = outcome(TEXT, fix(Append(at(TEXT, "b"), ".item()"), Append(Span(0, 3), ".item()")))
    assert done.text == TEXT
    assert len(done.refused) == 1


def broken(text: str, code: str) -> Fix:
    """A fix that our checks of single operations let pass, but that is no Python: a call as a target."""
    return fix(Append(at(text, code), ".item()"))


@pytest.mark.parametrize("count", (1, 2, 3))
def test_fixes_that_break_the_file_are_found_and_named(count: int) -> None:
    text = "".join(f"t{i} = v{i}\n" for i in range(20))
    good = [fix(Append(Span(*_value(text, i)), ".item()")) for i in range(20)]
    bad = [broken(text, f"t{i}") for i in (3, 7, 11)[:count]]
    done = outcome(text, *good, *bad)
    assert done.text == "".join(f"t{i} = v{i}.item()\n" for i in range(20))
    assert [found for found, _ in done.refused] == bad
    assert all("does not parse" in reason for _, reason in done.refused)


def _value(text: str, number: int) -> tuple[int, int]:
    start = text.index(f"v{number}\n")
    return start, start + len(f"v{number}")


def test_order_does_not_matter() -> None:
    text = "total += f(a, b)\nif x: y(); z()\nend()\n"
    fixes = [
        fix(Append(at(text, "f(a, b)"), ".item()")),
        fix(Append(at(text, "b"), ".item()")),
        fix(Replace(at(text, "f(a, b)"), "g")),
        fix(InsertBefore(at(text, "z()"), "w = 1")),
        fix(InsertBefore(at(text, "z()"), "v = 1")),
        fix(Delete(at(text, "end()"))),
        fix(Append(Span(0, 2), ".item()")),
    ]
    expected = outcome(text, *fixes)
    for seed in range(50):
        shuffled = fixes[:]
        random.Random(seed).shuffle(shuffled)
        assert outcome(text, *shuffled) == expected


def test_importing_the_package_does_not_import_libcst() -> None:
    code = "import sys, graphfix.rewrite; sys.exit('libcst' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
