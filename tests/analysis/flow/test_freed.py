"""Whether a walk surely lies before the reader of a value: `total += loss` asks for `loss`."""

from __future__ import annotations

import ast
import textwrap

import pytest

from graphfix.analysis.flow.flow import flow_of
from graphfix.source.document import Document


def is_freed(text: str) -> bool:
    document = Document("train.py", textwrap.dedent(text))
    read = next(part.value for part in ast.walk(document.tree) if isinstance(part, ast.AugAssign))
    return flow_of(document, lambda name, importing: None).freed.before(read)


FREED = {
    "walked above": """
        for x in data:
            loss = f(x)
            loss.backward()
            total += loss
        """,
    "walked as part of a sum": """
        for x in data:
            loss = f(x)
            objective = loss / 4 + penalty(x)
            objective.backward()
            total += loss
        """,
    "walked on both sides of a branch": """
        for x in data:
            loss = f(x)
            if scaler:
                scaler.scale(loss).backward()
            else:
                loss.backward()
            total += loss
        """,
    "walked by a function that it is given to": """
        def step(loss):
            optimizer.zero_grad()
            loss.backward()
        for x in data:
            loss = f(x)
            step(loss)
            total += loss
        """,
    "walked by every caller": """
        class Meter:
            def update(self, value):
                self.total += value
        meter = Meter()
        for x in data:
            loss = f(x)
            loss.backward()
            meter.update(loss)
        """,
    "walked before it was given another name": """
        for x in data:
            loss = f(x)
            loss.backward()
            kept = loss
            total += kept
        """,
}  # fmt: skip


@pytest.mark.parametrize("case", FREED)
def test_what_is_surely_freed(case: str) -> None:
    assert is_freed(FREED[case])


KEPT = {
    "walked only sometimes": """
        for i, x in enumerate(data):
            loss = f(x)
            if i % 2:
                loss.backward()
            total += loss
        """,
    "walked afterwards": """
        for x in data:
            loss = f(x)
            total += loss
            loss.backward()
        """,
    "retained": """
        for x in data:
            loss = f(x)
            loss.backward(retain_graph=True)
            total += loss
        """,
    "computed anew after the walk": """
        for x in data:
            loss = f(x)
            loss.backward()
            loss = g(x)
            total += loss
        """,
    "computed anew on one way": """
        for x in data:
            loss = f(x)
            loss.backward()
            if x:
                loss = g(x)
            total += loss
        """,
    "the walk may raise quietly": """
        for x in data:
            loss = f(x)
            try:
                loss.backward()
            except RuntimeError:
                pass
            total += loss
        """,
    "one caller has not walked": """
        class Meter:
            def update(self, value):
                self.total += value
        meter = Meter()
        for x in data:
            loss = f(x)
            loss.backward()
            meter.update(loss)
        meter.update(f(x))
        """,
    "the function is a generator, and does not run": """
        def step(loss):
            loss.backward()
            yield
        for x in data:
            loss = f(x)
            step(loss)
            total += loss
        """,
    "the attribute is set anew by a function": """
        class Meter:
            def update(self, x):
                self.loss = f(x)
        meter = Meter()
        def run(x):
            global total
            meter.loss.backward()
            meter.update(x)
            total += meter.loss
        """,
    "the function may return before the walk": """
        def step(loss):
            if loss.isnan():
                return
            loss.backward()
        for x in data:
            loss = f(x)
            step(loss)
            total += loss
        """,
}  # fmt: skip


@pytest.mark.parametrize("case", KEPT)
def test_what_may_still_be_walked(case: str) -> None:
    assert not is_freed(KEPT[case])


ANEW = """
def forget():
    global loss
    loss = 0.0

for x in data:
    loss = f(x)
    loss.backward()
    {between}
    total += loss
"""


@pytest.mark.parametrize("between", ["pass", "forget()"])
def test_what_another_function_binds_anew_has_no_backward(between: str) -> None:
    def asked(text: str) -> bool:
        document = Document("train.py", text)
        read = next(part.value for part in ast.walk(document.tree) if isinstance(part, ast.AugAssign))
        return flow_of(document, lambda name, importing: None).freed.has_backward(read)

    text = ANEW.format(between=between)
    assert not asked(text)
    assert asked(text.replace("    global loss\n", ""))


@pytest.mark.parametrize(("between", "freed"), [("loss.backward()", True), ("pass", False)])
def test_what_a_generator_expression_reads(between: str, freed: bool) -> None:
    text = f"def run(x):\n    loss = f(x)\n    {between}\n    return sum(loss for w in weights)"
    document = Document("train.py", text)
    expression = next(part for part in ast.walk(document.tree) if isinstance(part, ast.GeneratorExp))
    assert flow_of(document, lambda name, importing: None).freed.before(expression.elt) is freed
