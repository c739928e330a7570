"""Scenes whose losses come out of class methods, properties, closures, partial functions and generators."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.generated.containers import own
from benchmarks.generated.loops import data, logs, loop, model
from benchmarks.generated.stores import store
from benchmarks.generated.writer import Script, block

_LOSS = "F.mse_loss(net(x), y)"
Made = tuple[list[str], str]


def _class_method(s: Script, net: str) -> Made:
    kind = s.name("Objective")
    how, first = s.pick(("@classmethod", "cls, "), ("@staticmethod", ""))
    body = ["weight = 0.5", "", how, *block(f"def of({first}net, x, y):", [f"return {_LOSS}{' * cls.weight' if first else ''}"])]
    s.define(*block(f"class {kind}:", body))
    return [], f"{kind}.of({net}, x, y)"


def _property(s: Script, net: str) -> Made:
    kind, name = s.name("Batch"), s.name("batch")
    how = "@property"
    if s.chance(0.5):
        s.need("from functools import cached_property")
        how = "@cached_property"
    body = [*block("def __init__(self, net, x, y):", ["self.net, self.x, self.y = net, x, y"]), ""]
    body += [how, *block("def loss(self):", ["return F.mse_loss(self.net(self.x), self.y)"])]
    s.define(*block(f"class {kind}:", body))
    return [f"{name} = {kind}({net}, x, y)"], f"{name}.loss"


def _closure(s: Script, net: str) -> Made:
    name = s.name("make_objective")
    s.define(
        *block(f"def {name}(net, weight):", block("def objective(x, y):", [f"return {_LOSS} * weight"]), ["return objective"])
    )
    return [], f"{name}({net}, 0.5)(x, y)"


def _partial(s: Script, net: str) -> Made:
    s.need("import functools")
    name = s.name("objective")
    s.define(*block(f"def {name}(net, x, y, reduction='mean'):", ["return F.mse_loss(net(x), y, reduction=reduction)"]))
    made = s.pick(
        f"functools.partial({name}, {net})(x, y)",
        f"functools.partial({name}, {net}, reduction='sum')(x, y=y)",
        f"functools.partial({name}, y=y)({net}, x)",
    )
    return [], made


def _generator(s: Script, net: str) -> Made:
    name = s.name("parts")
    s.define(*block(f"def {name}(net, x, y):", ["out = net(x)", "yield F.mse_loss(out, y)", "yield 0.1 * out.pow(2).mean()"]))
    return [], s.pick(
        f"sum({name}({net}, x, y))",
        f"next({name}({net}, x, y))",
        f"sum(list({name}({net}, x, y)))",
        f"torch.stack(list({name}({net}, x, y))).sum()",
    )


def _pair(s: Script, net: str) -> Made:
    name = s.name("compute")
    s.define(
        *block(
            f"def {name}(net, x, y):",
            [
                "out = net(x)",
                "loss = F.mse_loss(out, y)",
                s.pick(
                    "return loss, {'mse': loss, 'out': out.mean()}",
                    "return loss, loss.item()",
                    "return loss, out",
                    "return loss, (loss, out.detach())",
                ),
            ],
        )
    )
    return [f"value, extra = {name}({net}, x, y)"], "value"


def _callable(s: Script, net: str) -> Made:
    kind = s.name("Criterion")
    body = [*block("def __init__(self, weight):", ["self.weight = weight", "self.last = None"]), ""]
    body += block(
        "def __call__(self, out, y):",
        [
            s.pick("self.last = F.mse_loss(out, y)", "self.last = F.mse_loss(out, y).detach()"),
            "return self.weight * F.mse_loss(out, y)",
        ],
    )
    s.define(*block(f"class {kind}:", body))
    name = s.name("criterion")
    s.body += [f"{name} = {kind}(0.5)"]
    return [], f"{name}({net}(x), y)"


def _module(s: Script, net: str) -> Made:
    kind, name = s.name("Wrapped"), s.name("wrapped")
    body = [*block("def __init__(self, net):", ["super().__init__()", "self.net = net", "self.seen = 0.0"]), ""]
    body += block(
        "def forward(self, x, y):",
        [
            "loss = F.mse_loss(self.net(x), y)",
            s.pick("self.seen = self.seen + loss", "self.seen += loss.item()", "self.seen += loss.detach()", "self.seen = loss"),
            "return loss",
        ],
    )
    s.define(*block(f"class {kind}(nn.Module):", body))
    s.body += [f"{name} = {kind}({net})"]
    return [], f"{name}(x, y)"


def _dispatched(s: Script, net: str) -> Made:
    name = s.name("LOSSES")
    s.define(f"{name} = {{'l1': F.l1_loss, 'l2': F.mse_loss, 'own': lambda a, b: (a - b).pow(2).sum()}}")
    return (
        [],
        f"{name}[{s.pick(chr(39) + 'l1' + chr(39), chr(39) + 'own' + chr(39), '[' + chr(39) + 'l2' + chr(39) + '][0]')}]({net}(x), y)",
    )


def _decorated(s: Script, net: str) -> Made:
    s.need("import functools")
    deco, name = s.name("counted"), s.name("objective")
    inner = [
        "result = function(*args)",
        s.pick("wrapper.calls.append(result)", "wrapper.calls.append(float(result))", "wrapper.total = wrapper.total + result"),
        "return result",
    ]
    s.define(
        *block(
            f"def {deco}(function):",
            [
                "@functools.wraps(function)",
                *block("def wrapper(*args):", inner),
                "wrapper.calls = []",
                "wrapper.total = 0.0",
                "return wrapper",
            ],
        )
    )
    s.define(f"@{deco}", *block(f"def {name}(net, x, y):", [f"return {_LOSS}"]))
    return [], f"{name}({net}, x, y)"


_KINDS: tuple[Callable[[Script, str], Made], ...] = (
    _class_method, _property, _closure, _partial, _generator, _pair, _callable, _module, _dispatched, _decorated,
)  # fmt: skip


def trained(s: Script) -> None:
    """Plain training on such a loss; it is told, kept, or walked twice."""
    net, o, made = model(s)
    s.body += [*made, *data(s, 4)]
    before, loss = s.random.choice(_KINDS)(s, net)
    begin, step, last = logs(
        s, own(s) if s.chance(0.4) else store(s), s.pick("loss", "loss", "loss.item()", "loss.detach()", loss)
    )
    second = s.pick([], [], [], ["(loss * 2).backward()"], [f"again = {loss}", "again.backward()"], ["print(loss.item())"])
    retain = s.pick("", "", "retain_graph=True")
    lines = [*before, f"loss = {loss}", f"{o}.zero_grad()", f"loss.backward({retain})", *second, f"{o}.step()", *step]
    s.body += [*begin, *loop(s, 4, lines), *last]


def outside(s: Script) -> None:
    """The loss, or a part of it, is made once before the loop that walks it."""
    net, o, made = model(s)
    s.body += [*made, *data(s, 3), "x, y = data[0]"]
    before, loss = s.random.choice(_KINDS)(s, net)
    form = s.pick("whole", "part", "lazy")
    walks = [f"{o}.zero_grad()", "total.backward()", f"{o}.step()", "print(float(total))"]
    if form == "whole":
        s.body += [*before, f"loss = {loss}", *block("for i in range(3):", ["total = loss * 1.5", *walks])]
    elif form == "part":
        s.body += [
            *before,
            f"loss = {loss}",
            *block("for i, (x, y) in enumerate(data):", [f"total = F.mse_loss({net}(x), y) + 0.1 * loss", *walks]),
        ]
    else:
        s.body += [
            *before,
            f"lazy = lambda: {loss}",
            *block("for i, (x, y) in enumerate(data):", ["total = lazy() * 1.0", *walks]),
        ]


def collected(s: Script) -> None:
    """Losses by comprehension, map or a generator over the data; summed and walked, or told."""
    net, o, made = model(s)
    s.body += [*made, *data(s, 3)]
    name = s.name("loss_of")
    s.define(*block(f"def {name}(net, batch):", ["x, y = batch", f"return {_LOSS}"]))
    losses = s.pick(
        f"[{name}({net}, b) for b in data]",
        f"list(map(lambda b: {name}({net}, b), data))",
        f"[F.mse_loss({net}(x), y) for x, y in data]",
        f"({name}({net}, b) for b in data)",
        f"tuple({name}({net}, b) for b in data)",
    )
    if s.chance(0.5):
        walk = s.pick("sum(losses).backward()", "torch.stack(list(losses)).mean().backward()", "[v.backward() for v in losses]")
        s.body += block("for epoch in range(2):", [f"losses = {losses}", f"{o}.zero_grad()", walk, f"{o}.step()"])
    else:
        s.body += [
            f"losses = {losses}",
            s.pick(
                "print(float(sum(losses)))",
                "print(sum(v.item() for v in losses))",
                "print(max(float(v) for v in losses))",
                "print(float(torch.stack(list(losses)).mean()))",
            ),
        ]


SCENES = (trained, trained, trained, outside, collected)
