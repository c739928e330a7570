"""Scenes with evaluations in the many forms in which recording is turned off, or is not, beside training."""

from __future__ import annotations

from benchmarks.generated.containers import own
from benchmarks.generated.loops import data, forward, logs, model
from benchmarks.generated.stores import store
from benchmarks.generated.writer import Script, block

_OFF = (
    "with torch.no_grad():",
    "with torch.inference_mode():",
    "with torch.set_grad_enabled(False):",
    "with torch.enable_grad():",
    "with torch.autograd.grad_mode.no_grad():",
)


def _train(s: Script, net: str, o: str, told: list[str]) -> list[str]:
    lines = [*forward(s, net), f"{o}.zero_grad()", "loss.backward()", f"{o}.step()", *told]
    return block("for i, (x, y) in enumerate(data):", lines)


def _quiet(s: Script, lines: list[str]) -> list[str]:
    """The statements with recording off in one of its forms, at times not at all."""
    form = s.pick("with", "with", "statement", "none", "none", "nested", "flag")
    if form == "with":
        return block(s.random.choice(_OFF), lines)
    if form == "statement":
        return ["torch.set_grad_enabled(False)", *lines, "torch.set_grad_enabled(True)"]
    if form == "nested":
        return block("with torch.no_grad():", block("with torch.enable_grad():", lines))
    if form == "flag":
        return [
            "was = torch.is_grad_enabled()",
            "torch.set_grad_enabled(False)",
            *block("try:", lines),
            *block("finally:", ["torch.set_grad_enabled(was)"]),
        ]
    return lines


def between(s: Script) -> None:
    """Training epochs with an evaluation between them, whose result is told, compared or kept."""
    net, o, made = model(s)
    kept = own(s) if s.chance(0.4) else store(s)
    measure = s.pick(
        f"F.mse_loss({net}(x), y)", f"({net}(x) - y).abs().mean()", f"F.mse_loss({net}(x), y).item()", f"{net}(x).std()"
    )
    if "item" in measure and not kept.tensor:
        measure = f"F.mse_loss({net}(x), y)"
    check = _quiet(s, [*kept.setup, *block("for i, (x, y) in enumerate(data):", kept.add(measure))])
    if s.chance(0.6):
        check = [f"{net}.eval()", *check, f"{net}.train()"]
    value = kept.total
    setup, use = s.pick(
        ([], [f"print(float({value}))"]),
        (["best = float('inf')"], block(f"if {value} < best:", [f"best = {value}", "print(float(best))"])),
        (["scores = []"], [f"scores.append({value})", "print(float(scores[-1]))"]),
        (["rate = 1.0"], [f"rate = 1.0 / (1.0 + {value})", f"{o}.param_groups[0]['lr'] = 0.05 * float(rate)"]),
        (
            ["bad, last = 0, None"],
            [
                f"current = {value}",
                "bad = bad + 1 if last is not None and current > last else 0",
                "last = current",
                *block("if bad > 3:", ["break"]),
            ],
        ),
        (
            ["patience = []"],
            [f"patience.append({value})", *block("if len(patience) > 1 and patience[-1] > patience[-2]:", ["print('worse')"])],
        ),
    )
    begin, told, last = logs(s, store(s))
    s.body += [*made, *data(s, 3), *setup, *begin, *block("for epoch in range(3):", _train(s, net, o, told), check, use), *last]


def phases(s: Script) -> None:
    """One loop body for training and evaluation, told apart by a flag."""
    net, o, made = model(s)
    name = s.name("run_epoch")
    kept = store(s)
    how = s.pick("enabled", "optimizer", "flag", "phase")
    walks = ["optimizer.zero_grad()", "loss.backward()", "optimizer.step()"]
    put = s.pick("loss", "loss", "loss.item()", "loss.detach()")
    put = put if kept.tensor or put == "loss" else "loss"
    add = kept.add(put)
    if how == "enabled":
        inner = block("with torch.set_grad_enabled(train):", ["loss = F.mse_loss(net(x), y)", *block("if train:", walks)]) + add
        calls = (f"{name}({net}, data, {o}, True)", f"{name}({net}, data, {o}, False)")
    elif how == "optimizer":
        inner = ["loss = F.mse_loss(net(x), y)", *block("if optimizer is not None:", walks), *add]
        calls = (f"{name}({net}, data, {o}, True)", f"{name}({net}, data, None, False)")
    elif how == "flag":
        inner = ["loss = F.mse_loss(net(x), y)", *block("if not train:", [*add, "continue"]), *walks, *add]
        calls = (f"{name}({net}, data, {o}, True)", f"{name}({net}, data, {o}, False)")
    else:
        inner = ["loss = F.mse_loss(net(x), y)", *block("if train == 'train':", walks), *add]
        calls = (f"{name}({net}, data, {o}, 'train')", f"{name}({net}, data, {o}, 'valid')")
    head = s.pick([], ["net.train(bool(train))"], ["net.train() if train else net.eval()"])
    result = s.pick(kept.total, f"float({kept.total})")
    s.define(
        *block(
            f"def {name}(net, data, optimizer, train):",
            head,
            kept.setup,
            block("for i, (x, y) in enumerate(data):", inner),
            [f"return {result}"],
        )
    )
    second = calls[1]
    check = (
        block("with torch.no_grad():", [f"value = {second}"])
        if s.chance(0.4) and how != "flag" or how == "enabled" and s.chance(0.3)
        else [f"value = {second}"]
    )
    tail = s.pick(["print(float(value))"], ["history.append(value)"], ["history.append((epoch, value))"])
    s.body += [
        *made,
        *data(s, 3),
        "history = []",
        *block("for epoch in range(3):", [f"first = {calls[0]}", *s.pick([], ["print(float(first))"]), *check, *tail]),
        "print(len(history))",
    ]


def decorated(s: Script) -> None:
    """Functions, methods and lambdas under a decorator that turns recording off or on."""
    net, o, made = model(s)
    decorator = s.pick("@torch.no_grad()", "@torch.no_grad", "@torch.inference_mode()", "@torch.enable_grad()", "")
    name = s.name("score")
    if s.chance(0.5):
        result = s.pick("return total", "return total / len(data)", "return float(total)", "return [total]")
        s.define(
            *([decorator] if decorator else []),
            *block(
                f"def {name}(net, data):",
                ["total = 0.0", *block("for x, y in data:", ["total += F.mse_loss(net(x), y)"]), result],
            ),
        )
        call = f"{name}({net}, data)"
    else:
        kind = s.name("Evaluator")
        body = [
            *block("def __init__(self, net):", ["self.net = net", "self.scores = []"]),
            "",
            *([decorator] if decorator else []),
        ]
        body += block(
            "def run(self, data):",
            ["total = sum(F.mse_loss(self.net(x), y) for x, y in data)", "self.scores.append(total)", "return total"],
        )
        s.define(*block(f"class {kind}:", body))
        name = s.name("evaluator")
        made = [*made, f"{name} = {kind}({net})"]
        call = f"{name}.run(data)"
    use = s.pick(
        [f"value = {call}", "print(value)"],
        [f"print({call})"],
        [f"value = {call}", "print(float(value[0]) if isinstance(value, list) else float(value))"],
        [f"scores.append({call})"],
    )
    begin, told, last = logs(s, store(s))
    s.body += [
        *made,
        *data(s, 3),
        "scores = []",
        *begin,
        *block("for epoch in range(2):", _train(s, net, o, told), use),
        *last,
        "print(len(scores))",
    ]


def targets(s: Script) -> None:
    """Targets, pseudo labels or weights from a pass without recording (or with it) that the training loss uses."""
    net, o, made = model(s)
    teacher = s.name("teacher")
    s.need("import copy")
    make = s.pick(
        f"{teacher} = copy.deepcopy({net})",
        f"{teacher} = {net}",
        f"{teacher} = nn.Linear(4, 1)",
        f"{teacher} = copy.deepcopy({net}).eval().requires_grad_(False)",
    )
    aim = _quiet(s, [f"aim = {teacher}(x){s.pick('', '', '.detach()', ' * 1.0')}"])
    if any("inference" in line for line in aim):
        aim = block("with torch.no_grad():", [f"aim = {teacher}(x)"])
    loss = s.pick(
        f"loss = F.mse_loss({net}(x), aim)",
        f"loss = F.mse_loss({net}(x), y) + 0.1 * ({net}(x) - aim).pow(2).mean()",
        f"weight = torch.exp(-(aim - y).abs())\nloss = (weight * ({net}(x) - y).pow(2)).mean()",
    )
    update = s.pick(
        [],
        block(
            "with torch.no_grad():",
            block(f"for p, q in zip({teacher}.parameters(), {net}.parameters()):", ["p.mul_(0.9).add_(q, alpha=0.1)"]),
        ),
        [f"{teacher}.load_state_dict({net}.state_dict())"],
    )
    if make == f"{teacher} = nn.Linear(4, 1)":
        update = []
    begin, told, last = logs(s, store(s), s.pick("loss", "aim.mean()", "loss.item()"))
    lines = [*aim, *loss.split("\n"), f"{o}.zero_grad()", "loss.backward()", f"{o}.step()", *update, *told]
    s.body += [*made, make, *data(s, 3), *begin, *block("for i, (x, y) in enumerate(data):", lines), *last]
    if s.chance(0.3):
        s.body += [f"print(sum(int(p.grad is not None) for p in {teacher}.parameters()))"]


def gradients(s: Script) -> None:
    """An evaluation that takes gradients of its inputs: saliency, attacks, penalties."""
    net, o, made = model(s)
    probe = ["probe = x.clone().requires_grad_(True)", f"score = F.mse_loss({net}(probe), y)"]
    walks = s.pick(
        ["score.backward()", "g = probe.grad"],
        ["g, = torch.autograd.grad(score, probe)"],
        ["g = torch.autograd.grad(score, probe, retain_graph=True)[0]"],
        ["g = torch.autograd.grad(score, [probe], create_graph=True)[0]"],
    )
    use = s.pick(
        ["print(g.norm().item())"],
        [f"attacked = x + 0.1 * g.sign()\nloss = F.mse_loss({net}(attacked), y)"],
        ["loss = loss + 0.1 * g.pow(2).sum()"],
    )
    use = use[0].split("\n")
    lines = [*forward(s, net), *probe, *walks, *use, f"{o}.zero_grad()", "loss.backward()", f"{o}.step()"]
    begin, told, last = logs(s, store(s), s.pick("loss", "score", "g.norm()", "score.item()"))
    s.body += [*made, *data(s, 3), *begin, *block("for i, (x, y) in enumerate(data):", lines, told), *last]


SCENES = (between, between, between, phases, phases, decorated, targets, gradients)
