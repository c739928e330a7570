"""One fault, one finding: what a better finding tells is not told twice, and nothing else is left out."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from pathlib import Path

import pytest

from graphfix.analysis.subject import Draft, Subject
from graphfix.codemods import RULES
from graphfix.codemods.base import Rule
from graphfix.model import Applicability, Finding, Severity, Span
from graphfix.run.engine import findings_of
from graphfix.run.examine import Job, examine
from graphfix.run.precedence import told_once, without_contradicted
from graphfix.run.selection import Wanted
from graphfix.run.texts import Texts

from ..codemods.toys import PREAMBLE

HEAD = """\
import torch
import torch.nn.functional as F

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = [(torch.ones(2, 4), torch.ones(2, 1))] * 3
"""
TRAINING = """\
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {kept}
"""
EVALUATION = """\
model.eval()
total, rows, best, state = 0.0, [], None, torch.zeros(2, 1)
for x, y in loader:
    out = model(x)
    value = F.mse_loss(out, y)
    {kept}
print(total, len(rows), best is None, state.sum().item())
"""
TRAINED = HEAD + TRAINING.format(kept="pass")


def told(program: str, *codes: str) -> list[tuple[str, str]]:
    """The code and the statement of each finding that a user sees who selects these codes, or all of them."""
    wanted = Wanted(codes or ("GF",))
    found = wanted.visible(program, findings_of(Path("train.py"), program, counts=wanted.counts(program)))
    return [(each.code, at(program, each.span)) for each in found]


def at(program: str, span: Span) -> str:
    return program.encode()[span.start : span.end].decode()


KEPT = {
    "a total": "total += value",
    "a container": "rows.append(out)",
    "the best so far": "best = value if best is None or value < best else best",
    "state": "state = state * 0.9 + out",
    "old data": "rows.append(out.data)",
    "a number": "print(float(value))",
    "made of a graph that is recorded there": "rows.append(out * 2 + value)",
}


@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
def test_an_evaluation_is_one_finding_with_all_that_it_keeps(kept: str) -> None:
    assert told(TRAINED + EVALUATION.format(kept=kept)) == [("GF103", "out = model(x)")]


def test_what_an_evaluation_keeps_is_named_by_its_finding() -> None:
    program = TRAINED + EVALUATION.format(kept="total += value; rows.append(out)")
    (finding,) = findings_of(Path("train.py"), program)
    assert {"total += value", "rows.append(out)"} <= {at(program, label.span) for label in finding.story}
    assert finding.severity is Severity.ERROR and finding.fix is not None and finding.fix.applicability is Applicability.SAFE


def test_a_graph_from_before_an_evaluation_is_a_fault_of_its_own() -> None:
    """Under `no_grad` the evaluation would still keep it."""
    program = TRAINED + "log = []\n" + TRAINING.format(kept="seen = loss") + EVALUATION.format(kept="log.append(seen)")
    assert told(program) == [("GF103", "out = model(x)"), ("GF102", "log.append(seen)")]


def test_what_training_keeps_beside_an_evaluation_is_told() -> None:
    program = HEAD + "log = []\n" + TRAINING.format(kept="log.append(loss)") + EVALUATION.format(kept="rows.append(out)")
    assert told(program) == [("GF102", "log.append(loss)"), ("GF103", "out = model(x)")]


BESIDE = """\
class Trainer:
    def __init__(self):
        self.best = 1e9

    def train(self):
        for x, y in loader:
            model.train()
            loss = F.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            model.eval()
            score = model(y.repeat(1, 4)).mean()
            if score < self.best:
                self.best = score

Trainer().train()
"""


def test_what_is_kept_behind_an_evaluation_is_told_where_it_is_kept() -> None:
    assert ("GF102", "self.best = score") in told(HEAD + BESIDE)


def test_an_unsafe_repair_takes_no_safe_one_away() -> None:
    """Code that is not in sight may need gradients; the total is repaired all the same."""
    program = "import elsewhere\n" + TRAINED + EVALUATION.format(kept="elsewhere.show(x); total += value")
    found = {finding.code: finding.fix for finding in findings_of(Path("train.py"), program)}
    assert {code: fix and fix.applicability for code, fix in found.items()} == {
        "GF101": Applicability.SAFE,
        "GF103": Applicability.UNSAFE,
    }


@pytest.mark.parametrize("kept", ["elsewhere.show(x)\n    total += value", "total += value\n    torch.save(out, 'x.pt')"])
def test_what_an_unsafe_repair_ends_is_not_repaired_as_well(tmp_path: Path, kept: str) -> None:
    path = tmp_path / "train.py"
    path.write_text("import elsewhere\n" + TRAINED + EVALUATION.format(kept=kept) + "print(torch.load('x.pt').requires_grad)\n")
    plain, wholly = (examine(path, Job((tmp_path,), Wanted(unsafe=unsafe), repair=True)) for unsafe in (False, True))
    assert plain.after is not None and b"value.item()" in plain.after
    assert wholly.after is not None and b"no_grad" in wholly.after and b"value.item()" not in wholly.after


def test_what_is_not_selected_takes_nothing_away(tmp_path: Path) -> None:
    program = TRAINED + EVALUATION.format(kept="total += value")
    assert told(program, "GF101") == [("GF101", "total += value")]
    path = tmp_path / "train.py"
    path.write_text(program)
    assert b"total += value.item()" in examine(path, Job((tmp_path,), Wanted(("GF101",)), repair=True)).after


def test_what_is_optional_takes_nothing_away_unless_it_is_selected() -> None:
    """In a module of tests the evaluation is not told, and the total is."""
    program = "import pytest\n" + TRAINED + EVALUATION.format(kept="total += value")
    every = findings_of(Path("train.py"), program, counts=Wanted().shows)
    assert [finding.code for finding in Wanted().visible(program, every)] == ["GF101"]
    assert told(program) == [("GF103", "out = model(x)")]


def test_a_comment_accepts_the_whole_fault() -> None:
    program = TRAINED + EVALUATION.format(kept="total += value")
    assert told(program.replace("out = model(x)", "out = model(x)  # graphfix: ignore[GF103]")) == []
    ignored = program.replace("total += value", "total += value  # graphfix: ignore[GF101]")
    assert told(ignored) == [("GF103", "out = model(x)")]


def test_it_is_the_same_whatever_was_selected_before(tmp_path: Path) -> None:
    program = TRAINED + EVALUATION.format(kept="total += value; rows.append(out.data)")
    path = tmp_path / "train.py"
    path.write_text(program)
    selections = [Wanted(), Wanted(("GF101",)), Wanted(extend=("GF9",)), Wanted(("GF9",)), Wanted(ignore=("GF103",))]
    fresh = [seen(Texts(path, (tmp_path,)), program, wanted) for wanted in selections]
    texts = Texts(path, (tmp_path,))
    assert [seen(texts, program, wanted) for wanted in selections] == fresh
    assert [seen(texts, program, wanted) for wanted in selections[::-1]] == fresh[::-1]


def seen(texts: Texts, program: str, wanted: Wanted) -> list[Finding]:
    return wanted.visible(program, texts.analysed(program, wanted.counts(program)).findings)


METER = """\
class Meter:
    def __init__(self):
        self.rows, self.sum, self.count = [], 0, 0

    def update(self, value, n=1):
        self.rows.append(value)
        self.sum += value * n
        self.count += n

meter = Meter()
"""
METERED = HEAD + METER + TRAINING.format(kept="meter.update(loss, len(x))") + "print(meter.sum / meter.count, len(meter.rows))\n"


def test_a_value_that_a_meter_keeps_twice_is_one_finding(tmp_path: Path) -> None:
    (finding,) = findings_of(Path("train.py"), METERED)
    assert (finding.code, at(METERED, finding.span)) == ("GF101", "self.sum += value * n")
    assert "self.rows.append(value)" in {at(METERED, label.span) for label in finding.story}
    path = tmp_path / "train.py"
    path.write_text(METERED)
    after = examine(path, Job((tmp_path,), repair=True))
    assert not after.findings and b"append(value.item())" in after.after and b"value.item() * n" in after.after


def test_a_place_of_a_meter_that_a_comment_keeps_as_it_is_stays(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(METERED.replace("append(value)", "append(value)  # graphfix: ignore[GF102]"))
    after = examine(path, Job((tmp_path,), repair=True)).after
    assert b"rows.append(value)  #" in after and b"self.sum += value.item() * n" in after
    ignored = METERED.replace("value * n", "value * n  # graphfix: ignore[GF101]")
    assert told(ignored) == [("GF102", "self.rows.append(value)")]


def test_two_values_of_a_meter_are_two_findings() -> None:
    program = METERED.replace("value, n=1", "value, other, n=1").replace("append(value)", "append(other)")
    program = program.replace("update(loss, ", "update(loss, loss * 2, ")
    assert [code for code, _ in told(program)] == ["GF102", "GF101"]


EPOCHS = """\
history = []

def epoch():
    losses = []
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {kept}
    {after}

for _ in range(3):
    epoch()
print(history)
"""


@pytest.mark.parametrize(
    ("kept", "after", "statement"),
    [
        ("losses.append(loss)", "history.extend(losses)", "losses.append(loss)"),
        ("losses.append(loss)", "history.append(sum(losses) / len(losses))", "losses.append(loss)"),
        ("losses.append(loss); history.append(loss)", "print(sum(losses))", "history.append(loss)"),
        ("losses.append(loss)", "print(sum(losses))", "losses.append(loss)"),
    ],
    ids=["extended by it", "its mean", "beside it", "alone"],
)
def test_a_list_that_ends_with_the_call_is_told_once(kept: str, after: str, statement: str) -> None:
    program = HEAD + EPOCHS.format(kept=kept, after=after)
    assert told(program) == [("GF102", statement)]
    (finding,) = findings_of(Path("train.py"), program)
    assert finding.fix is not None and len(finding.fix.operations) == kept.count("append")


def test_two_lists_that_stay_are_two_findings() -> None:
    program = HEAD + "one, two = [], []\n" + TRAINING.format(kept="one.append(loss); two.append(loss)") + "print(one, two)\n"
    assert [statement for _, statement in told(program)] == ["one.append(loss)", "two.append(loss)"]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_fault_that_several_entries_show_is_one_finding(rule: Rule) -> None:
    (example,) = re.findall(r"## Example\n```python\n(.*?)```", rule.page, re.DOTALL)
    program = PREAMBLE + "def work():\n" + textwrap.indent(example, "    ") + "\nwork()\n"
    entries = "def again():\n    work()\n\nclass Runner:\n    def run(self):\n        again()\n\nagain()\nRunner().run()\n"
    assert Counter(told(program + entries)) == Counter(told(program))


def finding(code: str, start: int, *yields_to: tuple[str, int]) -> Finding:
    places = tuple((other, Span(place, place + 1)) for other, place in yields_to)
    return Finding(code, "name", "message", "train.py", Span(start, start + 1), yields_to=places)


def test_what_is_left_out_itself_takes_nothing_away() -> None:
    one, two, three = finding("GF101", 1, ("GF103", 2)), finding("GF103", 2, ("GF309", 3)), finding("GF309", 3)
    assert told_once([one, two, three]) == [one, three]
    assert told_once([one, two]) == [two]
    assert told_once([one]) == [one]


def test_a_total_that_has_to_stay_is_not_cut_as_state() -> None:
    """Its text shows its graph, so that its repair is not safe: neither is the other rule's for the same sum."""
    program = HEAD + "total = torch.zeros(1)\n" + TRAINING.format(kept="total = total + loss") + "print('grad' in f'{total}')\n"
    assert told(program) == [("GF101", "total = total + loss")]


def test_what_the_flow_contradicts_of_one_rule_no_other_rule_tells_again() -> None:
    site, first = object(), {"GF301": ("GF303",), "GF303": (), "GF302": ()}
    one, other, free = (drafted(code, site) for code in ("GF301", "GF303", "GF302"))
    assert without_contradicted([one, free], [other], first) == [free]
    assert without_contradicted([one, free], [], first) == [one, free]


def drafted(code: str, site: object) -> Draft:
    subject = Subject(about=frozenset([site]), explains=frozenset([site]))
    return Draft(code, "name", "message", "train.py", Span(1, 2), subject=subject)


SHARED = """\
def train():
    losses = Meter()
{training}

def validate():
    losses = Meter()
    model.eval()
    for x, y in loader:
        losses.update(F.mse_loss(model(x), y))
    return losses.sum / losses.count

train()
print(validate())
"""


def test_what_training_and_an_evaluation_add_to_one_meter_is_cut_in_the_meter(tmp_path: Path) -> None:
    meter = tmp_path / "meters.py"
    meter.write_text(METER.replace("        self.rows.append(value)\n", ""))
    path = tmp_path / "train.py"
    training = textwrap.indent(TRAINING.format(kept="losses.update(loss)"), "    ")
    path.write_text(HEAD + "from meters import Meter\n" + SHARED.format(training=training))
    job = Job((tmp_path,), repair=True)
    after = examine(path, job).after.decode()
    assert "@torch.no_grad()\ndef validate" in after
    assert "losses.update(F.mse_loss(model(x), y))" in after and "losses.update(loss)" in after
    assert "value.item()" in examine(meter, job).after.decode() or "value.detach()" in examine(meter, job).after.decode()


AGENT = (
    HEAD
    + """
cell = torch.nn.GRUCell(4, 4)
optimizer.add_param_group({"params": cell.parameters()})

def act(x, state):
    state = cell(x, state)
    return model(state).argmax(), state

state = torch.zeros(2, 4)
for x, y in loader:
    action, state = act(x, state)
    print(action.item())
    loss = F.mse_loss(model(cell(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
)


def test_a_state_that_an_evaluation_gets_back_is_told_with_it() -> None:
    assert told(AGENT) == [("GF103", "state = cell(x, state)")]
