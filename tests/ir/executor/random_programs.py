"""Programs for hypothesis: nested control flow of all kinds, which records what it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from textwrap import indent
from typing import Any

from hypothesis import strategies as st

# statements behind so many parts of a program are simple ones
MOST = 40
HEAD = '''\
class E1(Exception): pass
class E2(E1): pass
trace = []
def t(*values):
    trace.append(values)
    return values[-1]
def c(number):
    """Some truth, which is another one in each round."""
    trace.append(number)
    return (number * 7 + len(trace)) % 3 != 0
class Truth:
    def __init__(self, number): self.number = number
    def __bool__(self): return c(self.number)
    def __lt__(self, other): return Truth(self.number + 1)
class Manager:
    def __init__(self, number, swallows): self.number, self.swallows = number, swallows
    def __enter__(self): return t("enter", self.number)
    def __exit__(self, kind, error, traceback):
        t("exit", self.number, kind and kind.__name__)
        return self.swallows
class Point:
    __match_args__ = ("x", "y")
    def __init__(self, x, y): self.x, self.y = x, y
def items(*values):
    for value in values:
        t("item", value)
        yield value
def inner(number):
    try:
        got = yield number
        t("inner", got)
    except E1 as error:
        t("inner caught", type(error).__name__)
    finally:
        t("inner left")
    return number + 1
'''
TAIL = '''
def chain(error):
    names = []
    while error is not None and len(names) < 20:
        names.append((type(error).__name__, error.args, type(error.__cause__).__name__, error.__suppress_context__))
        error = error.__context__
    return names
def drive():
    """Run the program to its end: where it is a generator, values are sent, and exceptions are thrown."""
    made = main(0)
    if not hasattr(made, "send"):
        return made
    value, sent = next(made), 0
    while sent < 30:
        t("yielded", value)
        sent += 1
        value = made.throw(E2(sent)) if sent % 4 == 3 else made.send(sent)
    made.close()
try:
    result = ("returned", drive())
except BaseException as error:
    result = ("raised", chain(error))
'''


@dataclass(frozen=True)
class Place:
    """Where a statement stands. `function`: a `return` may stand here; `yields`: a `yield` may."""

    depth: int
    loop: bool = False
    function: bool = True
    yields: bool = False
    handler: bool = False


class Writer:
    """Draws the parts of a program."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self.draw = draw
        self.count = 0

    def number(self) -> int:
        self.count += 1
        return self.count

    def pick(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def body(self, place: Place) -> str:
        return indent("\n".join(self.statement(place) for _ in range(self.draw(st.integers(1, 2)))), "    ")

    def statement(self, place: Place) -> str:
        simple = [self.call, self.write, self.change, self.delete, self.throw, self.check, self.exit]
        nested = [self.choice, self.repeat, self.again, self.attempt, self.attempt, self.finish, self.finish, self.managed]
        nested += [self.matching, self.function, self.cls]
        made: str = self.pick(*simple, *(nested if place.depth > 0 and self.count < MOST else ()))(replace(place, depth=place.depth - 1))
        return made

    # -- expressions --------------------------------------------------------------------------------------------------

    def value(self) -> str:
        number = self.number()
        form: str = self.pick(
            "t({n})", "t({n})", "a", "b", "(a := t({n}))", "(t({n}) if c({n}) else t(-{n}))", "sum([i * {n} for i in range(3) if c(i)])",
            "len({{i: j for i in items(1, 2) for j in range(i)}})", "len(f'{{a!r:>{n}}}')", "(lambda d=t({n}): d + a)()",
            "[f() for f in [lambda: i for i in range(3)]][-1]", "(lambda *x, **k: len(x))(*items(1, 2), t({n}), **{{'k': t({n})}})",
            "[*items({n}), t({n})][0]", "sum(x for x in items(1, {n}))", "(t({n}), 1)[c({n})]", "[y := t({n}), y ** 2][1]",
        )  # fmt: skip
        return form.format(n=number)

    def truth(self) -> str:
        number = self.number()
        form: str = self.pick(
            "c({n})", "c({n}) and c(-{n})", "not c({n}) or a", "t(1) < t({n}) <= a", "Truth({n}) < Truth(2) < Truth(3)", "a in (1, b)",
            "(Truth({n}) and Truth(3)) or Truth(4)", "not (c({n}) and (c(2) or c(3)))", "(a is b) == c({n})", "0", "1",
        )  # fmt: skip
        return form.format(n=number)

    # -- simple statements --------------------------------------------------------------------------------------------

    def call(self, place: Place) -> str:
        if place.yields and self.draw(st.booleans()):
            return self.pick("t('got', (yield a))", "t('from', (yield from inner({n})))").format(n=self.number())  # type: ignore[no-any-return]
        return f"t({self.value()})"

    def write(self, place: Place) -> str:
        target: str = self.pick("a", "b", "a, b", "a, *b", "h[0]", "h[a]", "p.x", "(a, p.y), b")
        one = self.value()
        value = {"a, b": f"({one}, {self.value()})", "a, *b": f"items({one}, 2, 3)", "(a, p.y), b": f"((1, {one}), 2)"}.get(target, one)
        return f"{target} = {value}"

    def change(self, place: Place) -> str:
        return f"{self.pick('a', 'b', 'h[0]', 'h[1:]', 'p.x')} {self.pick('+=', '|=', '-=')} {self.value()}"

    def delete(self, place: Place) -> str:
        return str(self.pick("del a", "del b", "del h[0]", "del p.x"))

    def throw(self, place: Place) -> str:
        made: str = self.pick("raise E1({n})", "raise E2({n})", "raise E1", "raise E1({n}) from E2()", "raise", "raise a", "raise E2 from None")
        return made.format(n=self.number())

    def check(self, place: Place) -> str:
        return f"assert {self.truth()}, t({self.number()})"

    def exit(self, place: Place) -> str:
        ways = ["pass", *(["break", "continue"] if place.loop else []), *([f"return {self.value()}"] if place.function else [])]
        return f"if {self.truth()}: {self.pick(*ways)}"

    # -- nested statements --------------------------------------------------------------------------------------------

    def choice(self, place: Place) -> str:
        text = f"if {self.truth()}:\n{self.body(place)}\n"
        if self.draw(st.booleans()):
            text += f"elif {self.truth()}:\n{self.body(place)}\n"
        return f"{text}else:\n{self.body(place)}"

    def repeat(self, place: Place) -> str:
        items = self.pick("range(2)", "items(1, a)", "[1, 2]", "(x for x in items(3, 4) if c(x))")
        text = f"for {self.pick('a', 'i', 'h[0]')} in {items}:\n{self.body(replace(place, loop=True))}"
        return text + (f"\nelse:\n{self.body(place)}" if self.draw(st.booleans()) else "")

    def again(self, place: Place) -> str:
        name = f"w{self.number()}"
        body = self.body(replace(place, loop=True))
        text = f"{name} = 0\nwhile ({name} := {name} + 1) < 3 and ({self.truth()}):\n{body}"
        return text + (f"\nelse:\n{self.body(place)}" if self.draw(st.booleans()) else "")

    def attempt(self, place: Place) -> str:
        text = f"try:\n{self.body(place)}\n"
        head: str = self.pick("except E2:", "except E1 as e:", "except (E2, TypeError) as a:", "except c(1):", "except Exception as e:")
        text += f"{head}\n    t('caught', {self.number()})\n{self.body(replace(place, handler=True))}\n"
        if self.draw(st.booleans()):
            text += f"except Exception as e:\n    t(type(e).__name__)\n{self.body(replace(place, handler=True))}\n"
        if self.draw(st.booleans()):
            text += f"else:\n{self.body(place)}\n"
        if self.draw(st.booleans()):
            text += f"finally:\n    t('finally', {self.number()})\n{self.body(place)}\n"
        return text.rstrip()

    def finish(self, place: Place) -> str:
        return f"try:\n{self.body(place)}\nfinally:\n    t('finally', {self.number()})\n{self.body(place)}"

    def managed(self, place: Place) -> str:
        one = f"Manager({self.number()}, {self.pick('False', 'True', 'c(2)')}) as {self.pick('a', 'b', 'h[0]', '(a, b)')}"
        more = f", Manager({self.number()}, {self.truth()})" if self.draw(st.booleans()) else ""
        return f"with {one}{more}:\n{self.body(place)}"

    def matching(self, place: Place) -> str:
        subject = self.pick("a", "[1, a, 3]", "{'k': a, 'l': 2}", "Point(a, [1, 2])", "(a, (b, 1))", "'text'", "None")
        patterns = [
            "[a, *_, b]", "[_, a, *rest]", "{'k': int() as b, **rest}", "Point(a, [_, b])", "Point(x=1 | 2 as a, y=_)", "(a, (1 | 2, b))",
            "str(a)", "None | True", "{}", "[1 | 3 as a, b, rest]", "int(a)",
        ]  # fmt: skip
        chosen = [self.pick(*patterns) for _ in range(2)]
        cases = [f"case {each}{f' if {self.truth()}' if self.draw(st.booleans()) else ''}:\n{self.body(place)}" for each in chosen]
        return f"match {subject}:\n" + indent("\n".join([*cases, f"case _:\n{self.body(place)}"]), "    ")

    def function(self, place: Place) -> str:
        number = self.number()
        inside = replace(place, loop=False, function=True, yields=False)
        shared = self.pick("nonlocal a\n", "a = 0\n", "nonlocal a, b\n")
        return f"def f{number}(d={self.value()}, *r, k=1):\n{indent(shared.rstrip(), '    ')}\n{self.body(inside)}\nt(f{number}(3))"

    def cls(self, place: Place) -> str:
        number = self.number()
        inside = replace(place, loop=False, function=False, yields=False)
        method = "def m(self, a=1):\n    t(__class__.__name__, super().__repr__()[:1])\n    return self.__x\n"
        return (
            f"class K{number}(Point, metaclass=type):\n    a = b = {number}\n    __x = {self.value()}\n{self.body(inside)}\n"
            f"{indent(method, '    ')}t(K{number}(1, 2).m(), K{number}.a)"
        )


@st.composite
def programs(draw: Callable[[Any], Any], yields: bool = False) -> str:
    """A program that sets `trace` and `result`. `yields`: its main function is a generator."""
    writer = Writer(draw)
    body = "\n".join(writer.body(Place(3, yields=yields)) for _ in range(draw(st.integers(1, 3))))
    begin = "    a, b, h, p = 1, 2, [0, 1, 2], Point(1, 2)\n" + ("    yield 0\n" if yields else "")
    return f"{HEAD}def main(unused):\n{begin}{body}\n{TAIL}"
