from __future__ import annotations

import pytest

from graphfix.model import Append, Decorate, Delete, InsertAfter, InsertBefore, Move, Wrap

from .cases import applied, at, refusal

BEFORE = [
    ("a()\nb()\n", "b()", "a()\nx = 1\nb()\n"),
    ("for i in j:\n  b()\n", "b()", "for i in j:\n  x = 1\n  b()\n"),
    ("for i in j:\n\tb()\n", "b()", "for i in j:\n\tx = 1\n\tb()\n"),
    ("for i in j:\r\n    b()\r\n", "b()", "for i in j:\r\n    x = 1\r\n    b()\r\n"),
    ("a()\n\n# why\nb()\n", "b()", "a()\n\nx = 1\n# why\nb()\n"),
    ("# licence\nb()\n", "b()", "# licence\nx = 1\nb()\n"),
    ("a(); b(); c()\n", "b()", "a()\nx = 1\nb()\nc()\n"),
    ("if y: b()\n", "b()", "if y:\n    x = 1\n    b()\n"),
    ("if y: a(); b()  # why\nelse: c()\n", "b()", "if y:\n    a()\n    x = 1\n    b()  # why\nelse: c()\n"),
    ("if y:\n  pass\nelse: c()\n", "c()", "if y:\n  pass\nelse:\n  x = 1\n  c()\n"),
    ("try: b()\nexcept E: c()\n", "c()", "try: b()\nexcept E:\n    x = 1\n    c()\n"),
    ('s = """\n# no comment\n"""\nb()\n', "b()", 's = """\n# no comment\n"""\nx = 1\nb()\n'),
]


@pytest.mark.parametrize(("before", "code", "after"), BEFORE)
def test_insert_before(before: str, code: str, after: str) -> None:
    assert applied(before, InsertBefore(at(before, code), "x = 1")) == after


def test_insert_before_a_decorated_function() -> None:
    text = "a()\n@dec\ndef f():\n    pass\n"
    assert applied(text, InsertBefore(at(text, "def f():\n    pass"), "x = 1")) == "a()\nx = 1\n@dec\ndef f():\n    pass\n"


AFTER = [
    ("a()  # why\nb()\n", "a()", "a()  # why\nx = 1\nb()\n"),
    ("a();\nb()\n", "a()", "a();\nx = 1\nb()\n"),
    ("a()", "a()", "a()\nx = 1"),
    ("a(); b()\n", "a()", "a()\nx = 1\nb()\n"),
    ("if y: a()\n", "a()", "if y:\n    a()\n    x = 1\n"),
    ("if y: a()\n", "if y: a()", "if y: a()\nx = 1\n"),
    ("if y:\n  if z: a()\nb()\n", "a()", "if y:\n  if z:\n    a()\n    x = 1\nb()\n"),
    ("f(\n  1\n)\r\n", "f(\n  1\n)", "f(\n  1\n)\r\nx = 1\r\n"),
]


@pytest.mark.parametrize(("before", "code", "after"), AFTER)
def test_insert_after(before: str, code: str, after: str) -> None:
    assert applied(before, InsertAfter(at(before, code), "x = 1")) == after


def test_inserted_blocks_take_the_unit_of_the_file() -> None:
    text = "def f():\n\ta()\n"
    assert applied(text, InsertAfter(at(text, "a()"), "if x:\n    b()")) == "def f():\n\ta()\n\tif x:\n\t\tb()\n"


DELETED = [
    ("a()\nb()\nc()\n", "b()", "a()\nc()\n"),
    ("a()\n# why\nb()  # more\nc()\n", "b()", "a()\n# why\n# more\nc()\n"),
    ("a()\nb(\n  1,  # one\n)\n", "b(\n  1,  # one\n)", "a()\n# one\n"),
    ("if x:\n    b()  # why\nc()\n", "b()", "if x:\n    pass  # why\nc()\n"),
    ("if x: b()\n", "b()", "if x: pass\n"),
    ("if x:\n    a()\nelse:\n    b()\nc()\n", "b()", "if x:\n    a()\nc()\n"),
    ("if x:\r\n\ta()\r\nelse :\r\n\tb()", "b()", "if x:\r\n\ta()\r\n"),
    ("for x in y:\n    a()\nelse:\n\n    b()\n", "b()", "for x in y:\n    a()\nelse:\n\n    pass\n"),
    ("if x:\n    a()\nelse:  # why\n    b()\n", "b()", "if x:\n    a()\nelse:  # why\n    pass\n"),
    ("if x:\n    a()\nelse:\n    b()  # why\n", "b()", "if x:\n    a()\nelse:\n    pass  # why\n"),
    ("if x:\n    a()\nelse: b()\n", "b()", "if x:\n    a()\nelse: pass\n"),
    ("a(); b(); c()\n", "b()", "a(); c()\n"),
    ("a(); b()\n", "a()", "b()\n"),
    ("a(); b()  # why\n", "b()", "a()  # why\n"),
    ("a()\nb();\n", "b()", "a()\n"),
    ("a()\nb()", "b()", "a()\n"),
    ("b()\n", "b()", ""),
]


@pytest.mark.parametrize(("before", "code", "after"), DELETED)
def test_delete(before: str, code: str, after: str) -> None:
    assert applied(before, Delete(at(before, code))) == after


def test_delete_all_statements_of_a_block() -> None:
    text = "if x:\n    a()\n    b()\n"
    assert applied(text, Delete(at(text, "a()")), Delete(at(text, "b()"))) == "if x:\n    pass\n"


def test_delete_all_statements_of_an_else() -> None:
    text = "if x:\n    c()\nelse:\n    a()\n    b()  # why\nd()\n"
    made = applied(text, Delete(at(text, "a()")), Delete(at(text, "b()")))
    assert made == "if x:\n    c()\n    # why\nd()\n"


def test_delete_an_else_that_is_wrapped() -> None:
    text = "def f():\n    if x:\n        c()\n    else:\n        a()\n    d()\n"
    wrap = Wrap((at(text, "if x:\n        c()\n    else:\n        a()"), at(text, "d()")), "with e:")
    made = applied(text, wrap, Delete(at(text, "a()")))
    assert made == "def f():\n    with e:\n        if x:\n            c()\n        else:\n            pass\n        d()\n"


@pytest.mark.parametrize("insert", [InsertBefore, InsertAfter])
def test_an_else_stays_where_the_same_fix_puts_lines_into_it(insert: type[InsertBefore] | type[InsertAfter]) -> None:
    text = "if x:\n    c()\nelse:\n    a()\nd()\n"
    made = applied(text, Delete(at(text, "a()")), insert(at(text, "a()"), "e()\nf()"))
    assert made.startswith("if x:\n    c()\nelse:\n") and made.index("else") < made.index("    e()\n    f()\n") < made.index(
        "d()"
    )


def test_delete_neighbours_on_one_line() -> None:
    text = "a(); b(); c()\n"
    assert applied(text, Delete(at(text, "a()")), Delete(at(text, "b()"))) == "c()\n"


def test_move_takes_the_comments_along() -> None:
    text = "a()\n# why\nb()  # more\nc()\n"
    assert applied(text, Move(at(text, "b()"), at(text, "a()"))) == "# why\nb()  # more\na()\nc()\n"


def test_move_into_a_loop() -> None:
    text = "h = f(\n    1)\nfor i in j:\n  a()\n"
    made = applied(text, Move(at(text, "h = f(\n    1)"), at(text, "a()")))
    assert made == "for i in j:\n  h = f(\n      1)\n  a()\n"


def test_move_out_of_a_loop_that_it_empties() -> None:
    text = "for i in j:\n    a()\n"
    assert applied(text, Move(at(text, "a()"), at(text, text.strip()))) == "a()\nfor i in j:\n    pass\n"


def test_move_the_last_line_without_newline() -> None:
    text = "a()\nb()"
    assert applied(text, Move(at(text, "b()"), at(text, "a()"))) == "b()\na()\n"


def test_a_moved_statement_takes_changes_of_the_same_fix_along() -> None:
    text = "a()\nb(x)\n"
    assert applied(text, Move(at(text, "b(x)"), at(text, "a()")), Append(at(text, "x"), ".item()")) == "b(x.item())\na()\n"


WRAPPED = [
    ("a()\nb()\nc()\n", ["a()", "b()"], "with g:\n    a()\n    b()\nc()\n"),
    ("for i in j:\n  a()\n\n  # why\n  b()\n", ["a()", "b()"], "for i in j:\n  with g:\n    a()\n\n    # why\n    b()\n"),
    ("def f():\n\ta(1,\n2)\n", ["a(1,\n2)"], "def f():\n\twith g:\n\t\ta(1,\n\t2)\n"),
    ('a("""\nb\n""")\n', ['a("""\nb\n""")'], 'with g:\n    a("""\nb\n""")\n'),
    ("if x: a(); b()\n", ["a()"], "if x:\n    with g:\n        a()\n    b()\n"),
    ("@d\ndef f():\n  pass\n", ["def f():\n  pass"], "with g:\n  @d\n  def f():\n    pass\n"),
    ("a()\r\nb()\r\n", ["a()"], "with g:\r\n    a()\r\nb()\r\n"),
    ("if x:\n    a()\n\x0c    b()\n", ["a()", "b()"], "if x:\n    with g:\n        a()\n\x0c        b()\n"),
]


@pytest.mark.parametrize(("before", "codes", "after"), WRAPPED)
def test_wrap(before: str, codes: list[str], after: str) -> None:
    assert applied(before, Wrap(tuple(at(before, code) for code in codes), "with g:")) == after


def test_decorate_goes_above_other_decorators() -> None:
    text = "class A:\n    @b\n    def f(self):\n        pass\n"
    made = applied(text, Decorate(at(text, "def f(self):\n        pass"), "torch.no_grad()"))
    assert made == "class A:\n    @torch.no_grad()\n    @b\n    def f(self):\n        pass\n"
    made = applied(text, Decorate(at(text, "def f(self):\n        pass"), "torch.no_grad()", inside=True))
    assert made == "class A:\n    @b\n    @torch.no_grad()\n    def f(self):\n        pass\n"


def test_decorate_stays_below_the_comment() -> None:
    text = "# why\ndef f(): pass\n"
    assert applied(text, Decorate(at(text, "def f(): pass"), "d")) == "# why\n@d\ndef f(): pass\n"


def test_a_wrapped_statement_changes_inside() -> None:
    text = "a(x)\n"
    assert applied(text, Wrap((at(text, "a(x)"),), "with g:"), Append(at(text, "x"), ".item()")) == "with g:\n    a(x.item())\n"


def test_several_operations_at_one_place_keep_their_order() -> None:
    text = "a()\nb()\n"
    operations = (
        Wrap((at(text, "b()"),), "with g:"),
        InsertBefore(at(text, "b()"), "x = 1"),
        InsertBefore(at(text, "b()"), "y = 2"),
        InsertAfter(at(text, "a()"), "z = 3"),
    )
    assert applied(text, *operations) == "a()\nz = 3\nx = 1\ny = 2\nwith g:\n    b()\n"


ELIF = "if x:\n    pass\nelif y:\n    pass\n"


@pytest.mark.parametrize(
    ("text", "operation", "reason"),
    [
        (ELIF, Delete(at(ELIF, "elif y:\n    pass")), "`elif`"),
        ("a()\n", Delete(at("a()\n", "a(")), "no statement"),
        ("a()\n", Decorate(at("a()\n", "a()"), "d"), "only a function"),
        ("a()\nb()\nc()\n", Wrap((at("a()\n", "a()"), at("a()\nb()\nc()\n", "c()")), "with g:"), "are not adjacent"),
        ("if x:\n    a()\n", Move(at("if x:\n    a()\n", "if x:\n    a()"), at("if x:\n    a()\n", "a()")), "into itself"),
        ("a()\n", InsertBefore(at("a()\n", "a()"), "x ="), "not a statement"),
        ("a()\n", Wrap((at("a()\n", "a()"),), "with g"), "does not parse"),
    ],
)
def test_refused_with_a_reason(text: str, operation: Delete | Decorate | Wrap | Move | InsertBefore, reason: str) -> None:
    assert reason in refusal(text, operation)
