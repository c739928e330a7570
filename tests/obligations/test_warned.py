"""torch warns of a number that is taken out of a tensor with a graph; a program that sees the warning sees whether there was one."""

from __future__ import annotations

import pytest

from tests.obligations.programs import SETUP, safe_titles

HISTORY = (
    SETUP
    + """
import contextlib, io, logging, warnings

class Count(logging.{handler}):
    n = 0
    def {method}(self, record):
        Count.n += 1

text = io.StringIO()
{before}
history = []
for step in range(4):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    history.append(loss)
{after}
"""
)
EVALUATION = (
    SETUP
    + """
import warnings
warnings.simplefilter({action})

def number(value):
    try:
        return {number}
    except UserWarning:
        return None

for x in torch.randn(4, 5, 3):
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()

def evaluate():
    scores = []
    for x in torch.randn(4, 5, 3):
        score = net(x).abs().mean()
        scores.append(number(score))
    return scores

print(evaluate())
"""
)
READ = "print(float(history[-1]))"
SEEN = {
    "recorded": ("", f"with warnings.catch_warnings(record=True) as seen:\n    {READ}\nprint(len(seen))"),
    "led to a handler": ("logging.captureWarnings(True)\nlogging.getLogger('py.warnings').addHandler(Count())", "print('%.3f' % history[-1], Count.n)"),
    "led to a text": ("logging.basicConfig(stream=text)\nlogging.captureWarnings(True)", f"{READ}\nprint(len(text.getvalue()))"),
    "written to a text": ("", f"with contextlib.redirect_stderr(text):\n    {READ}\nprint(text.getvalue())"),
    "of a tensor that is made": ("", "with warnings.catch_warnings(record=True) as seen:\n    best = torch.tensor(history)\nprint(best.max(), len(seen))"),
    "made an error": ("warnings.filterwarnings('error', category=UserWarning)", f"try:\n    {READ}\nexcept Warning:\n    print('none')"),
}  # fmt: skip
UNSEEN = {
    "left out": ("warnings.filterwarnings('ignore')\nwarnings.simplefilter('always', DeprecationWarning)", READ),
    "left out of a block": ("", f"with warnings.catch_warnings():\n    {READ}"),
    "logged": ("logging.captureWarnings(True)", READ),
    "made an error that ends the program": ("warnings.simplefilter('error')", "print(history[-1].item())"),
    "of something else": ("", "with warnings.catch_warnings(record=True) as seen:\n    import json\nprint(history[-1].item(), len(seen))"),
}  # fmt: skip


@pytest.mark.parametrize("case", SEEN)
def test_a_warning_that_the_program_sees_tells_of_a_graph(case: str) -> None:
    before, after = SEEN[case]
    own = ("Handler", "emit") if "Count()" in before else ("Formatter", "note")
    assert safe_titles(HISTORY.format(before=before, after=after, handler=own[0], method=own[1])) == []


@pytest.mark.parametrize("case", UNSEEN)
def test_a_warning_that_nobody_sees_tells_nothing(case: str) -> None:
    before, after = UNSEEN[case]
    titles = safe_titles(HISTORY.format(before=before, after=after, handler="Formatter", method="note"))
    assert [code for code, _ in titles] == ["GF102"]


@pytest.mark.parametrize(
    ("action", "number", "safe"), [("'error'", "float(value)", False), ("'ignore'", "float(value)", True), ("'error'", "value.item()", True)]
)
def test_an_evaluation_warns_too_where_it_records(action: str, number: str, safe: bool) -> None:
    codes = [code for code, _ in safe_titles(EVALUATION.format(action=action, number=number))]
    assert codes == (["GF103"] if safe else [])
