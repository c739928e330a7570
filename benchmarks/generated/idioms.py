"""Scenes of one idiom each: hooks, trainers with overridden methods, generators, writes in place, names of old versions."""

from __future__ import annotations

from benchmarks.generated.loops import data, forward, logs, loop, model
from benchmarks.generated.stores import store
from benchmarks.generated.walks import read, walk
from benchmarks.generated.writer import Script, block


def _named(net: str, lines: list[str]) -> list[str]:
    return [line.replace("model.parameters", f"{net}.parameters") for line in lines]


def hooked(s: Script) -> None:
    """Hooks on tensors, modules and parameters that log, step or walk."""
    net, o, made = model(s)
    s.body += [*made, *data(s, 4)]
    kept = store(s)
    begin, told, last = logs(s, store(s))
    form = s.pick("tensor", "module", "accumulate", "output", "walk")
    if form == "tensor":
        s.body += [
            *begin,
            "seen = []",
            *loop(
                s,
                4,
                [
                    f"out = {net}(x)",
                    "out.register_hook(lambda g: seen.append(g.abs().sum()))",
                    "loss = F.mse_loss(out, y)",
                    f"{o}.zero_grad()",
                    "loss.backward()",
                    f"{o}.step()",
                    *told,
                ],
            ),
            *last,
            "print(sum(float(v) for v in seen))",
        ]
    elif form == "module":
        name = s.name("outputs")
        put = s.pick("output", "output.detach()", "output.mean()", "output")
        s.body += [
            f"{name} = []",
            f"handle = {net}.register_forward_hook(lambda module, inputs, output: {name}.append({put}))",
            *begin,
        ]
        use = s.pick("log", "log", "walk")
        lines = [*forward(s, net)]
        if use == "walk":
            lines += [f"loss = loss + 0.1 * {name}[-1].pow(2).mean()"]
        lines += [f"{o}.zero_grad()", "loss.backward()", f"{o}.step()", *told, *s.pick([], [f"{name}.clear()"])]
        s.body += [
            *loop(s, 4, lines),
            "handle.remove()",
            *last,
            f"print(len({name}))",
            f"print(sum(v.sum().item() for v in {name}))",
        ]
    elif form == "accumulate":
        s.body += [
            *begin,
            *block(
                f"for p in {net}.parameters():",
                [
                    "p.register_post_accumulate_grad_hook(lambda p: (p.data.add_(p.grad, alpha=-0.05), setattr(p, 'grad', None))[1])"
                ],
            ),
            *loop(
                s,
                4,
                [
                    *forward(s, net),
                    f"loss.backward({s.pick('', '', 'retain_graph=True')})",
                    *told,
                    *s.pick([], ["again = loss * 2", "print(again.item())"]),
                ],
            ),
            *last,
        ]
    elif form == "output":
        s.body += [
            *begin,
            "scale = torch.ones(1, requires_grad=True)",
            *loop(
                s,
                4,
                [
                    *forward(s, net),
                    "loss = loss * scale",
                    f"loss.register_hook(lambda g: g * {s.pick('0.5', '2')})",
                    f"{o}.zero_grad()",
                    "loss.backward()",
                    f"{o}.step()",
                    *told,
                ],
            ),
            *last,
            "print(scale.grad.item())",
        ]
    else:
        s.body += [*kept.setup, *begin]
        lines = [*forward(s, net), *kept.add("loss"), "gate = torch.ones(1, requires_grad=True)"]
        lines += [
            "gate.register_hook(lambda g, late=loss: late.backward())",
            f"{o}.zero_grad()",
            "(gate * 2).sum().backward()",
            f"{o}.step()",
            *told,
        ]
        s.body += [*loop(s, 4, lines), *read(s, kept.total, kept.tensor), *last]


def trainer(s: Script) -> None:
    """A trainer class with hook methods that a subclass overrides, and state on itself."""
    net, o, made = model(s)
    kind, sub = s.name("Trainer"), s.name("Custom")
    kept = store(s)
    base = s.pick(["pass"], ["return loss"], ["self.history.append(loss)"])
    over = s.pick(
        ["self.history.append(loss)"],
        ["self.total = self.total + loss"],
        ["self.total += loss.item()"],
        ["self.pending = loss"],
        ["self.history.append(loss.detach())"],
    )
    over_walk = s.chance(0.25)
    body = [
        *block(
            "def __init__(self, model, optimizer):",
            ["self.model, self.optimizer = model, optimizer", "self.history, self.total, self.pending = [], 0.0, None"],
        ),
        "",
    ]
    body += [*block("def on_batch(self, loss):", base), ""]
    body += [*block("def on_end(self):", s.pick(["pass"], ["return len(self.history)"])), ""]
    walks = ["pass"] if over_walk else ["self.optimizer.zero_grad()", *_self(walk(s, "loss")), "self.optimizer.step()"]
    fit = block("for i, (x, y) in enumerate(data):", [*forward(s, "self.model"), *walks, "self.on_batch(loss)"])
    body += block(
        "def fit(self, data):", fit, ["self.on_end()", s.pick("return float(self.total)", "return self.total", "return self")]
    )
    s.define(*block(f"class {kind}:", body))
    if over_walk:
        over = s.pick(["self.history.append(loss)"], ["self.total = self.total + loss"])
    total = "self.total" if "total" in over[0] else "sum(self.history)"
    end = (
        ["self.optimizer.zero_grad()", *_self(walk(s, total)), "self.optimizer.step()"]
        if over_walk
        else s.pick(["pass"], ["print(len(self.history))"])
    )
    s.define(*block(f"class {sub}({kind}):", block("def on_batch(self, loss):", over), [""], block("def on_end(self):", end)))
    name = s.name("trainer")
    s.body += [
        *made,
        *data(s, 4),
        *kept.setup,
        f"{name} = {s.pick(sub, sub, sub if over_walk else kind)}({net}, {o})",
        f"{name}.fit(data)",
    ]
    s.body += s.pick([f"{name}.fit(data)"], []) if not over_walk else []
    s.body += [f"print(sum(float(v) for v in {name}.history) + float({name}.total))"]


def _self(lines: list[str]) -> list[str]:
    return [line.replace("model.parameters", "self.model.parameters") for line in lines]


def generated(s: Script) -> None:
    """A generator that yields losses; its reader walks them, logs them, or both."""
    net, o, made = model(s)
    name = s.name("losses_of")
    state = s.pick([], ["total = total + loss"], ["last = loss"], ["seen.append(loss)"])
    start = {"t": ["total = 0.0"], "l": ["last = None"], "s": ["seen = []"]}.get(state[0][0], []) if state else []
    end = s.pick([], ["print(len(seen))"]) if start == ["seen = []"] else []
    s.define(
        *block(f"def {name}(net, data):", start, block("for x, y in data:", [*forward(s, "net"), *state, "yield loss"]), end)
    )
    begin, told, last = logs(s, store(s))
    s.body += [*made, *data(s, 4), *begin]
    form = s.pick("walk", "walk", "list", "sum", "log")
    if form == "walk":
        s.body += block(
            f"for i, loss in enumerate({name}({net}, data)):",
            [f"{o}.zero_grad()", *_named(net, walk(s, "loss")), f"{o}.step()", *told],
        )
        s.body += last
    elif form == "list":
        s.body += [
            f"made = list({name}({net}, data))",
            *block("for i, loss in enumerate(made):", [*_named(net, walk(s, "loss")), *told]),
            f"{o}.step()",
            *last,
        ]
    elif form == "sum":
        s.body += [f"whole = sum({name}({net}, data))", *_named(net, walk(s, "whole")), f"{o}.step()", "print(whole.item())"]
    else:
        s.body += [f"print(sum(float(v) for v in {name}({net}, data)))"]


def in_place(s: Script) -> None:
    """A write in place between a forward pass and its walk: to what the walk needs, or to what it does not."""
    net, o, made = model(s)
    s.body += [*made, *data(s, 4)]
    begin, told, last = logs(s, store(s))
    make = s.pick(
        f"h = torch.exp({net}(x) * 0.1)",
        f"h = torch.tanh({net}(x))",
        f"h = {net}(x)",
        f"h = {net}(x) + 1",
        f"h = torch.sigmoid({net}(x))",
        f"h = F.relu({net}(x))",
    )
    use = s.pick("k = h * 2", "k = h * h", "k = torch.tanh(h)", "k = h + 1", "k = h.sum()")
    write = s.pick(
        "h += 1",
        "h.mul_(0.5)",
        "h[0] = 0.0",
        "h.clamp_(-1, 1)",
        "h.add_(0.1)",
        "h[:, 0] *= 2",
        "h.zero_()",
        "F.relu(h, inplace=True)",
        "x += 0.1",
        "y.mul_(0.9)",
    )
    order = [make, use, write] if s.chance(0.6) else [make, write, use]
    total = s.pick(
        "loss = (k - 1).pow(2).mean()",
        "loss = (k.mean() + h.mean() - y.mean()).pow(2)",
        "loss = k.pow(2).mean() + h.sum() * 0.01",
    )
    lines = [*order, total, f"{o}.zero_grad()", *_named(net, walk(s, "loss")), f"{o}.step()", *told]
    s.body += [*begin, *loop(s, 4, lines), *last]


def legacy(s: Script) -> None:
    """What scripts for torch 0.3 look like where they still run, or do no more."""
    s.need("from torch.autograd import Variable")
    net, o, made = model(s)
    s.body += [*made, *data(s, 4)]
    begin, told, last = logs(s, store(s), s.pick("loss.data", "loss.data", "loss.data.item()", "float(loss.data)", "loss"))
    change = s.pick("x, y = Variable(x), Variable(y)", "x = Variable(x, requires_grad=True)", "x = Variable(x)")
    tell = s.pick(
        "print(loss.data.item())",
        "print(loss.data)",
        "print('%.4f' % loss.data)",
        f"print(next({net}.parameters()).data[0].mean().item())",
        f"print({net}(x).data[0].item())",
        "value = loss.data\nprint(value.item())",
        "count = (loss.data < 1).sum()\nprint(count.item())",
    )
    number = s.pick(
        [],
        [],
        ["print(round(loss.item(), 3))"],
        ["import numpy as np", "print(float(np.mean([loss.detach()])))"],
        ["import math", "print(math.sqrt(abs(loss)))"],
        ["import numpy as np", "print(float(np.mean([loss])))"],
        ["print(round(loss, 3))"],
    )
    update = s.pick(
        [f"{o}.step()"],
        [f"{o}.step()"],
        block(f"for p in {net}.parameters():", ["p.data -= 0.05 * p.grad.data"]),
        block(f"for p in {net}.parameters():", ["p.data.add_(p.grad.data, alpha=-0.05)"]),
    )
    lines = [
        change,
        *forward(s, net),
        f"{o}.zero_grad()",
        *_named(net, walk(s, "loss")),
        *update,
        *tell.split("\n"),
        *number,
        *told,
    ]
    if s.chance(0.3):
        lines.insert(
            1,
            s.pick(
                "x = x.data",
                "noise = torch.randn(5, 4)\nx = x + noise.data".replace("\n", "; "),
                f"guess = {net}(x).data\ny = y + 0.1 * guess".replace("\n", "; "),
            ),
        )
    s.body += [*begin, *loop(s, 4, lines), *last]


def stateful_queue(s: Script) -> None:
    """Prototypes, queues and banks of features that a later loss uses: cut when they are put in, or not."""
    net, o, made = model(s)
    s.body += [*made, *data(s, 5)]
    begin, told, last = logs(s, store(s))
    put = s.pick("feature", "feature.detach()", "feature.clone()", "feature.mean(0)")
    form = s.pick("queue", "prototype", "buffer", "attribute")
    if form == "queue":
        s.body += ["bank = []"]
        lines = [
            f"feature = {net}(x)",
            "loss = F.mse_loss(feature, y)",
            *block("if bank:", ["loss = loss + 0.1 * (feature.mean() - sum(b.mean() for b in bank)).pow(2)"]),
            f"{o}.zero_grad()",
            "loss.backward()",
            f"{o}.step()",
            f"bank.append({put})",
            *s.pick([], block("if len(bank) > 2:", ["bank.pop(0)"])),
        ]
    elif form == "prototype":
        s.body += ["centre = torch.zeros(1)"]
        cut = s.pick("centre", "centre.detach()")
        lines = [
            f"feature = {net}(x)",
            f"centre = 0.9 * {cut} + 0.1 * feature.mean(0)",
            "loss = (feature - centre).pow(2).mean() + F.mse_loss(feature, y)",
            f"{o}.zero_grad()",
            "loss.backward()",
            f"{o}.step()",
        ]
    elif form == "buffer":
        s.body += ["bank = torch.zeros(4, 5, 1)"]
        lines = [
            f"feature = {net}(x)",
            f"bank[i % 4] = {s.pick('feature', 'feature.detach()', 'feature.data')}",
            f"loss = F.mse_loss(feature, y){s.pick(' + 0.1 * bank.mean()', '')}",
            f"{o}.zero_grad()",
            "loss.backward()",
            f"{o}.step()",
        ]
    else:
        s.body += [f"{net}.last_feature = None"]
        lines = [
            f"feature = {net}(x)",
            "loss = F.mse_loss(feature, y)",
            *block(
                f"if {net}.last_feature is not None:",
                [f"loss = loss + 0.1 * (feature - {net}.last_feature{s.pick('', '.detach()')}).pow(2).mean()"],
            ),
            f"{o}.zero_grad()",
            "loss.backward()",
            f"{o}.step()",
            f"{net}.last_feature = feature",
        ]
    s.body += [*begin, *loop(s, 5, [*lines, *told]), *last]


SCENES = (hooked, hooked, trainer, generated, in_place, legacy, stateful_queue)
