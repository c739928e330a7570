"""Fixes that runs alone would call safe, and what the flow of the file says of them."""

from __future__ import annotations

import textwrap

import pytest

from graphfix.model import Applicability
from tests.obligations.programs import SETUP, found, only, safe_titles

TRAIN = (
    SETUP
    + """
total = 0.0
for i in range(8):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss
"""
)


@pytest.mark.parametrize(
    ("reader", "cut"),
    [
        ("print(f'{total / 8:.3f}', round(float(total), 3))", ".item()"),
        ("print(total.item())", ".detach()"),
        ("if total / 8 < 1:\n    print('small')", ".detach()"),
        ("print((total < 1.0).item())", ".detach()"),
        ("def show(value):\n    print(value.cpu())\nshow(total)", ".detach()"),
        (
            "class Shown:\n    def __str__(self):\n        return str(self.value.item())\ns = Shown()\ns.value = total",
            ".detach()",
        ),
        ("rows = sorted([total], key=lambda each: each.item())", ".detach()"),
    ],
)
def test_a_number_only_where_every_reader_takes_one(reader: str, cut: str) -> None:
    repair = only(f"{TRAIN}{reader}\n").fix
    assert repair is not None and repair.applicability is Applicability.SAFE
    assert [operation.text for operation in repair.operations] == [cut]


SILENT = {
    "a window behind a counter that runs see twice": SETUP + """
        class Window:
            def __init__(self):
                self.total, self.count = 0.0, 0
            def add(self, loss):
                self.total = self.total + loss
                self.count += 1
                if self.count % 4 == 0:
                    opt.zero_grad()
                    self.total.backward()
                    opt.step()
                    self.total = 0.0
        window = Window()
        for i in range(8):
            window.add(net(torch.randn(5, 3)).pow(2).mean())
        """,
    "a guard that goes on": SETUP + """
        losses = []
        for i in range(12):
            losses.append(net(torch.randn(5, 3)).pow(2).mean())
            if len(losses) < 4:
                continue
            opt.zero_grad()
            torch.stack(losses).mean().backward()
            opt.step()
            losses.clear()
        """,
    "a graph that a hook walks once more": SETUP + """
        aux = None
        def hook(parameter):
            aux.backward()
        head = nn.Linear(4, 1)
        head.weight.register_post_accumulate_grad_hook(hook)
        for i in range(4):
            features = net[0](torch.randn(5, 3))
            aux = features.pow(2).mean()
            head(features).pow(2).mean().backward(retain_graph=True)
        """,
    "gradients that a later iteration walks": SETUP + """
        for i in range(4):
            x = torch.randn(5, 3, requires_grad=True)
            slope = torch.autograd.grad(net(x).sum(), x, create_graph=True)[0]
            if i >= 2:
                slope.pow(2).mean().backward()
        """,
    "an evaluation whose loss is walked": SETUP + """
        def evaluate(x):
            return net(x).pow(2).mean()
        for i in range(6):
            opt.zero_grad()
            loss = evaluate(torch.randn(5, 3))
            if i % 3 == 2:
                loss.backward()
                opt.step()
        """,
}  # fmt: skip


@pytest.mark.parametrize("case", SILENT)
def test_what_the_flow_contradicts_is_not_told(case: str) -> None:
    setup, _, body = SILENT[case].partition(SETUP)
    assert found(SETUP + textwrap.dedent(body)) == []


UNSAFE = {
    "the number may be none": TRAIN.replace("total += loss", "total += min(loss, 4.0)"),
    "somebody asks for its identity": TRAIN.replace("total = 0.0", "kept = []").replace(
        "total += loss", "kept.append(loss)\n    print(kept[0] is loss)"
    ),
    "whether gradients are recorded is asked": SETUP + """
class Layer(nn.Module):
    def forward(self, x):
        return net(x) if torch.is_grad_enabled() else net(x).round()

layer = Layer()

def evaluate(x):
    layer.eval()
    return layer(x).mean().item()

opt.zero_grad()
layer(torch.randn(5, 3)).sum().backward()
opt.step()
print(evaluate(torch.randn(5, 3)))
""",
}  # fmt: skip


@pytest.mark.parametrize("case", UNSAFE)
def test_what_cannot_be_excluded_makes_a_fix_unsafe_and_is_named(case: str) -> None:
    findings = [finding for finding in found(UNSAFE[case]) if finding.fix is not None]
    assert findings
    for finding in findings:
        assert finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
        assert finding.story[-1].message.startswith("not proven safe: ")


SUM = """
import torch
from torch import nn

w = nn.Parameter(torch.ones(3))
total = 0.0
curve, seen = [], set()
for i in range(4):
    loss = w.pow(2).sum()
    loss.backward()
    total += loss
"""


@pytest.mark.parametrize(
    "more",
    [
        "    curve.append(total)\nprint([f'{each:.1f}' for each in curve])",  # the list holds the very total
        "    best = min(1e9, total)\nprint(best)",
        "print(total / hits)",  # a tensor gives inf, a number raises
        "print(2 ** total)",  # a number overflows later, and has complex roots
        "print(1 if ~(total > 1) else 0)",
        "print(int((total > 1) + (total > 2)))",
        "print(len({total, total + 0}))",
        "print(total is None, isinstance(total, torch.Tensor))",
        "print(globals()['total'].item())",
        "print(getattr(total, 'item', lambda: -1)())",
        "print(list(map(torch.Tensor.item, [total])))",
        "print(total * torch.tensor(2.0, dtype=torch.float16))",
    ],
)
def test_what_a_number_would_do_otherwise(more: str) -> None:
    told = [finding.fix for finding in found(f"{SUM}{more}\n") if finding.code == "GF101" and finding.fix is not None]
    assert told
    for repair in told:
        assert ".item()" not in {operation.text for operation in repair.operations}


def test_what_is_written_to_after_it_was_put_away_stays_a_tensor() -> None:
    text = SUM.replace("curve, seen = [], set()", "hist = {}").replace("total += loss", "hist[i] = loss\n    loss.div_(4)")
    repair = only(f"{text}print([f'{{each:.3f}}' for each in hist.values()])\n").fix
    assert repair is not None and [operation.text for operation in repair.operations] == [".detach()"]


HALVES = (
    SETUP
    + """
features = nn.Linear(3, 4)
one, two = nn.Linear(4, 1), nn.Linear(4, 1)
"""
)
NOT_SAFE = {
    "the head of the loop reads what would be moved": """
        import torch
        w = torch.ones(3, requires_grad=True)
        total = 0
        while total == 0:
            total = total + w.pow(2).sum()
            total.backward()
        """,
    "nothing was saved, so that nothing is freed": """
        import torch
        p = torch.ones(3, requires_grad=True)
        h = torch.zeros(3)
        for step in range(3):
            h = torch.lerp(h, p, 0.3)
            h.sum().backward()
        """,
    "a number may stand there": """
        import torch
        w = torch.ones(3, requires_grad=True)
        worst = float("inf")
        for i in range(3):
            loss = w.pow(2).sum()
            loss.backward()
            worst = loss.mean() if loss.mean() > worst else worst
        print(float(worst))
        """,
    "weights are computed before each forward pass, and kept": """
        import torch
        from torch import nn
        net = torch.nn.utils.weight_norm(nn.Linear(3, 2))
        def evaluate():
            for x in torch.ones(2, 4, 3):
                print(net(x).sum().item())
        evaluate()
        net.weight.pow(2).sum().backward()
        """,
    "what an evaluation computes is kept for later": """
        import functools
        import torch
        from torch import nn
        net = nn.Linear(3, 2)
        @functools.lru_cache
        def prototype():
            return net(torch.ones(3))
        def evaluate():
            for _ in range(2):
                print(prototype().sum().item())
        evaluate()
        prototype().sum().backward()
        """,
    "the gradients are clipped together before they are cleared": """
        import torch
        from torch import nn
        gen, critic = nn.Linear(2, 2), nn.Linear(2, 1)
        og = torch.optim.SGD(gen.parameters(), lr=0.1)
        oc = torch.optim.SGD(critic.parameters(), lr=0.1)
        for z in torch.ones(2, 1, 2):
            fake = gen(z)
            oc.zero_grad()
            critic(fake).mean().backward(retain_graph=True)
            nn.utils.clip_grad_norm_([*gen.parameters(), *critic.parameters()], 0.1)
            og.zero_grad()
            fake.pow(2).mean().backward()
            og.step()
            oc.step()
        """,
    "the graph itself is called": """
        import torch
        w = torch.ones(3, requires_grad=True)
        loss = w.exp().sum()
        loss.backward(retain_graph=True)
        print(loss.grad_fn.next_functions[0][0](torch.ones(3)))
        """,
    "a parameter joins an optimizer later": """
        import torch
        from torch import nn
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        scale = nn.Parameter(torch.ones(5, 1))
        optimizer.add_param_group({"params": [scale]})
        weights = torch.softmax(scale, 0)
        for i in range(4):
            loss = (weights * (model(torch.randn(5, 4)) - 1)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    "a window is walked by a method that is looked up": """
        import torch
        from torch import nn
        model = nn.Linear(4, 1)
        best = None
        for i in range(6):
            loss = model(torch.randn(5, 4)).pow(2).mean()
            if best is None or loss < best:
                best = loss
            if (i + 1) % 2 == 0:
                getattr(best, "backward")()
                best = None
        """,
    "a gradient of zero is a gradient": """
        import torch
        from torch import nn
        gen, critic = nn.Linear(2, 2), nn.Linear(2, 1)
        g_opt = torch.optim.SGD(gen.parameters(), lr=0.1, weight_decay=0.5)
        c_opt = torch.optim.SGD(critic.parameters(), lr=0.1)
        for step in range(2):
            fake = gen(torch.ones(1, 2))
            c_opt.zero_grad()
            critic(fake).mean().backward(retain_graph=True)
            g_opt.zero_grad(set_to_none=False)
            if step % 2:
                critic(fake).mean().backward()
            g_opt.step()
            c_opt.step()
        """,
    "what yields the items writes to a parameter first": """
        import torch
        from torch import nn
        temp = nn.Parameter(torch.tensor(2.0))
        opt = torch.optim.SGD([temp], lr=0.1)
        def loader(n):
            for _ in range(n):
                with torch.no_grad():
                    temp.mul_(0.5)
                yield 3.0
        scale = temp.exp()
        for x in loader(1):
            loss = scale * x
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    "a loop without iterations would not update statistics": """
        import torch
        from torch import nn
        bn = nn.BatchNorm1d(3)
        opt = torch.optim.SGD(bn.parameters(), lr=0.1)
        x = torch.randn(8, 3)
        for inner in (1, 0):
            feats = bn(x)
            for _ in range(inner):
                opt.zero_grad()
                feats.pow(2).mean().backward()
                opt.step()
        """,
    "an evaluation pulls from what trains": """
        import torch
        from torch import nn
        net = nn.Linear(1, 1)
        def stream():
            for _ in range(2):
                yield torch.ones(1)
                net(torch.ones(1)).sum().backward()
        def evaluate(model, batches):
            total = 0.0
            for x in batches:
                total += model(x).sum().item()
            return total
        print(evaluate(net, stream()))
        """,
    "the cut would leave nothing to walk to": """
        import torch
        from torch import nn
        net = nn.Linear(2, 1)
        for p in net.parameters():
            p.requires_grad_(False)
        delta = torch.zeros(2, requires_grad=True)
        adv = torch.tanh(delta)
        for target in torch.ones(1, 1):
            loss = (net(adv) - target).pow(2).sum()
            loss.backward()
        """,
    "a window is walked by a mapped function": """
        import torch
        from torch import nn
        model = nn.Linear(4, 1)
        total = 0
        for i in range(4):
            total = total + model(torch.randn(5, 4)).abs().mean()
            if (i + 1) % 2 != 0:
                continue
            list(map(torch.Tensor.backward, [total]))
            total = 0
        """,
}  # fmt: skip


@pytest.mark.parametrize("case", NOT_SAFE)
def test_what_is_not_safe(case: str) -> None:
    safe = safe_titles(NOT_SAFE[case])
    if case == "a parameter joins an optimizer later":  # computed anew in each iteration it goes on training
        safe = [each for each in safe if "detach" in each[1]]
    assert safe == []


def test_a_number_has_no_data_to_index() -> None:
    text = (
        SETUP
        + """
for step in range(4):
    loss = 0
    for x in batches:
        loss = loss + net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.data[0])
"""
    )
    assert [code for code, _ in safe_titles(text)] == ["GF901"]
    assert [code for code, _ in safe_titles(text.replace("loss.data[0]", "float(loss)"))] == []


def test_no_fix_is_safe_where_calls_lead_to_more_than_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert safe_titles(TRAIN)
    monkeypatch.setattr("graphfix.analysis.flow.graph.MAX_EDGES", 20)
    finding = only(TRAIN)
    assert finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
    assert "is in a file with more calls than the analysis follows" in finding.story[-1].message
