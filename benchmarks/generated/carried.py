"""Scenes in which something crosses from one iteration into the next, or is made before the loop."""

from __future__ import annotations

from benchmarks.generated.loops import data, forward, logs, loop, model
from benchmarks.generated.stores import store
from benchmarks.generated.walks import every, read, stepped, walk
from benchmarks.generated.writer import Script, block

CELLS = {
    "LSTM": (
        "nn.LSTM(3, 4, batch_first=True)",
        "(torch.zeros(1, 2, 4), torch.zeros(1, 2, 4))",
        "tuple(part.detach() for part in {0})",
    ),
    "GRU": ("nn.GRU(3, 4, batch_first=True)", "torch.zeros(1, 2, 4)", "{0}.detach()"),
    "RNN": ("nn.RNN(3, 4, batch_first=True)", "torch.zeros(1, 2, 4)", "{0}.detach()"),
}


def recurrent(s: Script) -> None:
    """A recurrent state: cut each time, every k, never; a local, an attribute, an entry; reset or not."""
    cell, head, o = s.name("cell"), s.name("head"), s.name("opt")
    s.kept += [cell, head]
    make, zero, cut = CELLS[s.pick("LSTM", "GRU", "GRU", "RNN")]
    state = s.name("hidden")
    setup = [
        f"{cell} = {make}",
        f"{head} = nn.Linear(4, 1)",
        f"{o} = torch.optim.SGD([*{cell}.parameters(), *{head}.parameters()], lr=0.05)",
    ]
    place = s.pick("local", "local", "attribute", "entry", "none")
    if place == "attribute":
        s.need("from types import SimpleNamespace")
        setup.append(f"{state} = SimpleNamespace()")
        state = f"{state}.value"
    elif place == "entry":
        setup.append(f"{state} = {{}}")
        state = f'{state}["value"]'
    setup.append(f"{state} = {'None' if place == 'none' else zero}")
    treat = s.pick("detach", "detach_after", "never", "never", "reset", "every", "fresh", "repackage", "data")
    cutting = [f"{state} = {cut.format(state)}"]
    if place == "none" and treat not in ("detach_after", "never"):
        cutting = block(f"if {state} is not None:", cutting)
    if treat == "repackage":
        s.define(
            *block(
                "def repackage(h):",
                block("if torch.is_tensor(h):", ["return h.detach()"]),
                ["return tuple(repackage(v) for v in h)"],
            )
        )
        cutting = (
            [f"{state} = repackage({state})"]
            if place != "none"
            else block(f"if {state} is not None:", [f"{state} = repackage({state})"])
        )
    ahead = cutting if treat in ("detach", "repackage", "data") else [f"{state} = {zero}"] if treat == "fresh" else []
    behind = cutting if treat == "detach_after" else []
    if treat == "reset":
        behind = block(f"if (i + 1) % {s.pick(1, 2)} == 0:", [f"{state} = {zero}"])
    target = "torch.ones(2, 5, 1)"
    step = [f"out, {state} = {cell}(x, {state})", f"loss = F.mse_loss({head}(out), {target})"]
    begin, told, last = logs(s, store(s))
    if treat == "every":
        made, due = every(s, 2, [f"{o}.zero_grad()", "window.backward()", f"{o}.step()", *cutting, "window = 0.0"])
        s.body += [
            *setup,
            "window = 0.0",
            *made,
            *begin,
            *block("for i in range(6):", ["x = torch.randn(2, 5, 3)"], step, ["window = window + loss"], told, due),
            *last,
        ]
        return
    retain = "retain_graph=True" if s.chance(0.15) else ""
    walks = [f"{o}.zero_grad()", f"loss.backward({retain})", f"{o}.step()"]
    s.body += [
        *setup,
        *begin,
        *block(f"for i in range({s.random.randint(3, 5)}):", ["x = torch.randn(2, 5, 3)"], ahead, step, walks, behind, told),
        *last,
    ]


def module_state(s: Script) -> None:
    """A module that keeps a state of its own from one call to the next."""
    kind, net, o = s.name("Stateful"), s.name("net"), s.name("opt")
    s.kept.append(net)
    keep = s.pick("h", "h", "h.detach()", "h.clone()", "0.9 * self.state + 0.1 * h", "(0.9 * self.state + 0.1 * h).detach()")
    used = s.pick("torch.tanh(self.a(x) + self.b(self.state))", "torch.tanh(self.a(x)) + self.state", "torch.tanh(self.a(x))")
    buffer = s.chance(0.3)
    start = "self.register_buffer('state', torch.zeros(4))" if buffer else "self.state = torch.zeros(4)"
    body = [
        *block(
            "def __init__(self):",
            ["super().__init__()", "self.a = nn.Linear(3, 4)", "self.b = nn.Linear(4, 4)", "self.c = nn.Linear(4, 1)", start],
        ),
        "",
    ]
    body += [*block("def reset(self):", ["self.state = torch.zeros(4)"]), ""]
    body += block(
        "def forward(self, x):",
        [f"h = {used}", f"self.state = {keep if 'state' in keep else keep.replace('h', 'h.mean(0)', 1)}", "return self.c(h)"],
    )
    s.define(*block(f"class {kind}(nn.Module):", body))
    reset = s.pick([], [], [f"{net}.reset()"], block("if i % 2 == 0:", [f"{net}.reset()"]))
    begin, told, last = logs(s, store(s))
    lines = [
        "x = torch.randn(4, 3)",
        *reset,
        f"loss = {net}(x).pow(2).mean()",
        f"{o}.zero_grad()",
        f"loss.backward({s.pick('', '', '', 'retain_graph=True')})",
        f"{o}.step()",
    ]
    end = s.pick([], [f"print({net}.state.mean().item())"], [f"print(float({net}.state.sum()))"])
    s.body += [
        f"{net} = {kind}()",
        f"{o} = torch.optim.SGD({net}.parameters(), lr=0.05)",
        *begin,
        *block("for i in range(4):", lines, told),
        *last,
        *end,
    ]


def outside(s: Script) -> None:
    """Something computed before the loop and used in it; or an accumulator that is set up there and walked in it."""
    net, o, made = model(s)
    s.body += [*made, *data(s, 4)]
    begin, told, last = logs(s, store(s))
    form = s.pick("weights", "penalty", "target", "total", "total", "view", "detached", "listed")
    zero, step = [f"{o}.zero_grad()"], [f"{o}.step()"]
    if form in ("total", "listed"):
        start, add = s.pick(
            ("0.0", "total = total + loss"),
            ("0", "total += loss"),
            ("torch.zeros(())", "total = total + loss"),
            ("torch.zeros(1)", "total = total + loss"),
        )
        reset = s.pick([], [], ["total = 0.0"])
        if form == "listed":
            start, add, reset = "[]", "parts.append(loss)", s.pick([], [], ["parts.clear()"])
            lines = [*forward(s, net), add, *zero, *walk(s, "sum(parts)"), *step, *reset]
            s.body += [
                "parts = []",
                *begin,
                *loop(s, 4, [line.replace("model.parameters", f"{net}.parameters") for line in lines] + told),
                *last,
            ]
            return
        inside = s.chance(0.4)
        lines = [*forward(s, net), add, *zero, *walk(s, "total"), *stepped(s, o, net), *reset]
        lines = [line.replace("model.parameters", f"{net}.parameters") for line in lines]
        lines = [f"total = {start}", *lines] if inside else lines
        if s.chance(0.3):
            lines += ["print(float(total))"]
        s.body += [f"total = {start}", *begin, *loop(s, 4, lines + told), *last]
        return
    scale = s.name("scale")
    s.body += [f"{scale} = nn.Parameter(torch.ones(5, 1))"]
    s.body += s.pick(
        [f"{o}.add_param_group({{'params': [{scale}]}})"],
        [f"{o} = torch.optim.SGD([*{net}.parameters(), {scale}], lr=0.05)"],
        [f"{o} = torch.optim.SGD([*{net}.parameters(), {scale}], lr=0.05)"],
        [f"{o} = torch.optim.SGD([{{'params': {net}.parameters()}}, {{'params': [{scale}], 'lr': 0.01}}], lr=0.05)"],
        [f"{scale}.requires_grad_(False)"],
        [],
    )
    outer = {
        "weights": f"w = torch.softmax({scale}, 0)",
        "penalty": f"w = {scale} * 0.5",
        "target": f"w = {net}(torch.ones(5, 4)).detach()" if s.chance(0.5) else f"w = {net}(torch.ones(5, 4))",
        "view": f"w = {scale}.view(5, 1)",
        "detached": f"w = ({scale} * 2).detach()",
    }[form]
    where = s.chance(0.25)
    retain = "retain_graph=True" if s.chance(0.2) else ""
    lines = [*([outer] if where else []), f"loss = (w * ({net}(x) - y)).pow(2).mean()", *zero, f"loss.backward({retain})", *step]
    s.body += [*([] if where else [outer]), *begin, *loop(s, 4, lines + told), *last]


def evaluated(s: Script) -> None:
    """Training with an evaluation between or after: with no_grad or not; walked, asked for a gradient, or told only."""
    net, o, made = model(s)
    s.body += [*made, *data(s, 4)]
    name = s.name(s.pick("evaluate", "validate", "score", "run_batches"))
    kept = store(s)
    add = kept.add(
        s.pick("F.mse_loss(net(x), y)", "F.mse_loss(net(x), y)", "F.mse_loss(net(x), y).item()", "(net(x) - y).abs().mean()")
    )
    item = "item" in add[-1] or "item" in add[0]
    result = kept.total
    ending = s.pick("number", "number", "live", "tensor")
    use = s.pick("print", "print", "print", "walk", "asks", "compare", "keep")
    if item or not kept.tensor:
        use, ending = "print", "live"
    returned = [f"return float({result})"] if ending == "number" and use not in ("walk",) else [f"return {result}"]
    inner = block("for i, (x, y) in enumerate(data):", add)
    if use == "asks":
        asked = s.pick(
            "print(int((net(data[0][0]) * 1.0).requires_grad))",
            "print(int(torch.is_grad_enabled()))",
            "extra = net(data[0][0]).requires_grad",
            "print(net(data[0][0]).detach().mean().item())",
        )
        inner = [asked, *inner]
    guarded = s.chance(0.2) and use != "walk"
    body = ["net.eval()", *kept.setup] if s.chance(0.6) else [*kept.setup]
    body += block("with torch.no_grad():", inner) if guarded else inner
    ending_lines = ["net.train()"] if s.chance(0.5) and "eval" in body[0] else []
    decorated = ["@torch.no_grad()"] if use != "walk" and s.chance(0.12) else []
    s.define(*decorated, *block(f"def {name}(net, data):", body, ending_lines, returned))
    call = f"{name}({net}, data)"
    number = f"float({call})"
    uses = {
        "print": [f"print({number})"],
        "walk": [f"{o}.zero_grad()", *walk(s, "value"), f"{o}.step()"],
        "asks": [f"print({number})"],
        "compare": [
            "best_value = 1e9",
            f"value = {call}",
            *block("if value < best_value:", ["best_value = value", "print(float(value))"]),
        ],
        "keep": ["values = []", *block("for _ in range(3):", [f"values.append({call})"]), "print(sum(float(v) for v in values))"],
    }[use]
    if use == "walk":
        uses = [f"value = {call}", *[line.replace("model.parameters", f"{net}.parameters") for line in uses]]
        s.body += s.pick(uses, block("for _ in range(3):", uses))
        s.body += s.pick([], [f"print({number})"])
        return
    begin, told, last = logs(s, store(s))
    lines = [*forward(s, net), f"{o}.zero_grad()", "loss.backward()", f"{o}.step()", *told]
    if use in ("print", "asks") and s.chance(0.4):
        lines += block("if i == 2:", uses)
        s.body += [*begin, *loop(s, 4, lines), *last]
    else:
        s.body += [*begin, *loop(s, 4, lines), *last, *uses]


def inline_evaluation(s: Script) -> None:
    """An evaluation without a function, or forward passes whose losses are walked after all."""
    net, o, made = model(s)
    s.body += [*made, *data(s, 4)]
    kept = store(s)
    s.body += [*kept.setup, *s.pick([], [f"{net}.eval()"])]
    s.body += block("for i, (x, y) in enumerate(data):", [f"value = F.mse_loss({net}(x), y)", *kept.add("value")])
    if s.chance(0.4):
        lines = [f"objective = {kept.total}", *walk(s, "objective"), f"{o}.step()"]
        s.body += [line.replace("model.parameters", f"{net}.parameters") for line in lines]
    else:
        s.body += read(s, kept.total, kept.tensor)


SCENES = (recurrent, recurrent, module_state, outside, outside, evaluated, evaluated, inline_evaluation)
