"""Scenes with context managers of the project: they step, freeze, switch modes, collect, or swallow what is raised."""

from __future__ import annotations

from benchmarks.generated.loops import data, forward, logs, loop, model
from benchmarks.generated.stores import store
from benchmarks.generated.writer import Script, block


def managed(s: Script, base: str, parameter: str, entry: list[str], exit_: list[str], given: str = "None") -> tuple[str, str]:
    """A context manager with these statements before and behind the body; its name, and what is called in a `with`."""
    name = s.name(base)
    form = s.pick("function", "function", "finally", "class", "stack", "decorator")
    if form in ("class", "decorator"):
        s.need("import contextlib")
        kind = name.title()
        attribute = [line.replace(parameter, f"self.{parameter}") for line in entry]
        behind = [line.replace(parameter, f"self.{parameter}") for line in exit_]
        head = f"class {kind}(contextlib.ContextDecorator):" if form == "decorator" else f"class {kind}:"
        body = [*block(f"def __init__(self, {parameter}):", [f"self.{parameter} = {parameter}"]), ""]
        body += [*block("def __enter__(self):", attribute, [f"return {given.replace(parameter, f'self.{parameter}')}"]), ""]
        s.define(*block(head, body, block("def __exit__(self, *error):", behind)))
        return kind, f"{kind}({{}})"
    s.need("from contextlib import contextmanager")
    inner = [f"yield {given}"] if given != "None" else ["yield"]
    if form == "finally":
        inner = [*block("try:", inner), *block("finally:", exit_)]
    else:
        inner = [*inner, *exit_]
    s.define("@contextmanager", *block(f"def {name}({parameter}):", entry, inner))
    if form == "stack":
        s.need("from contextlib import ExitStack")
        outer = s.name("entered")
        enter = [f"stack.enter_context({name}({parameter}))", "yield stack"]
        s.define("@contextmanager", *block(f"def {outer}({parameter}):", block("with ExitStack() as stack:", enter)))
        return outer, f"{outer}({{}})"
    return name, f"{name}({{}})"


def updating(s: Script) -> None:
    """Gradients are cleared when the body begins, and the optimizer steps when it ends."""
    net, o, made = model(s)
    entry, behind = s.pick(
        (["optimizer.zero_grad()"], ["optimizer.step()"]),
        ([], ["optimizer.step()", "optimizer.zero_grad()"]),
        (["optimizer.zero_grad()"], ["print('stepped')", "optimizer.step()"]),
    )
    _, call = managed(s, "updating", "optimizer", entry, behind)
    begin, told, last = logs(s, store(s))
    walks = s.pick(["loss.backward()"], ["loss.backward()"], ["loss.backward(retain_graph=True)"], ["(loss * 2).backward()"])
    lines = forward(s, net)
    form = s.pick("inside", "ahead", "two", "late")
    if form == "inside":
        lines = block(f"with {call.format(o)}:", lines, walks)
    elif form == "ahead":
        lines += block(f"with {call.format(o)}:", walks)
    elif form == "two":
        lines = block(f"with {call.format(o)}:", lines, walks)
        lines += block(f"with {call.format(o)}:", ["other = " + lines[1].strip().removeprefix("loss = "), "other.backward()"])
    else:
        lines = ["total_loss = 0.0", *block(f"with {call.format(o)}:", lines, ["total_loss = total_loss + loss"], walks)]
        lines += [f"print({s.pick('float(total_loss)', 'total_loss.item()', 'total_loss')})"]
    s.body += [*made, *data(s, 4), *begin, *loop(s, 4, [*lines, *told]), *last]


def rivals(s: Script) -> None:
    """A generator's pass in the middle of what a manager clears and steps."""
    g, d, og, od = s.name("gen"), s.name("disc"), s.name("opt_g"), s.name("opt_d")
    s.kept += [g, d]
    s.body += [
        f"{g} = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 4))",
        f"{d} = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))",
        f"{og} = torch.optim.SGD({g}.parameters(), lr=0.05)",
        f"{od} = torch.optim.SGD({d}.parameters(), lr=0.05)",
    ]
    _, call = managed(
        s, "updating", "optimizer", s.pick(["optimizer.zero_grad()"], []), s.pick(["optimizer.step()"], ["optimizer.step()"])
    )
    fake = s.pick(f"{g}(torch.randn(5, 3))", f"{g}(torch.randn(5, 3)).detach()")
    critic = [f"d_loss = {d}({fake}).mean() - {d}(real).mean()", *s.pick([f"{od}.zero_grad()"], []), "d_loss.backward()"]
    actor = [f"g_loss = -{d}({g}(torch.randn(5, 3))).mean()", *s.pick([f"{d}.zero_grad()"], []), "g_loss.backward()"]
    first, second = s.pick((od, og), (og, og), (od, og), (og, od))
    critic = block(f"with {call.format(first)}:", critic) + s.pick([], [f"{od}.step()"])
    actor = block(f"with {call.format(second)}:", actor)
    begin, told, last = logs(s, store(s), s.pick("d_loss", "g_loss", "d_loss + g_loss"))
    s.body += [*begin, *block("for i in range(4):", ["real = torch.randn(5, 4)"], critic, actor, told), *last]


_MODES = (
    (["was = net.training", "net.eval()"], ["net.train(was)"]),
    (["net.eval()"], ["net.train()"]),
    (["net.requires_grad_(False)"], ["net.requires_grad_(True)"]),
    (["torch.set_grad_enabled(False)"], ["torch.set_grad_enabled(True)"]),
)


def evaluating(s: Script) -> None:
    """An evaluation in a manager that switches something off, or does not."""
    net, o, made = model(s)
    entry, behind = s.random.choice(_MODES)
    name = s.name("evaluating")
    s.need("from contextlib import contextmanager")
    inner = block("with torch.no_grad():", ["yield net"]) if s.chance(0.3) else ["yield net"]
    body = [*entry, *block("try:", inner), *block("finally:", behind)] if s.chance(0.5) else [*entry, *inner, *behind]
    s.define("@contextmanager", *block(f"def {name}(net):", body))
    kept = store(s)
    inside = [*kept.setup, *block("for i, (x, y) in enumerate(data):", kept.add("F.mse_loss(m(x), y)"))]
    use = s.pick("print", "print", "walk", "regularise")
    tail = [f"print(float({kept.total}))"]
    if use == "walk":
        tail = [
            f"value = {kept.total}",
            *block("if torch.is_tensor(value) and value.requires_grad:", ["value.backward()", f"{o}.step()"]),
        ]
    elif use == "regularise":
        tail = [f"scale = float({kept.total})", f"print(({net}(data[0][0]) * scale).sum().item())"]
    check = block(f"with {name}({net}) as m:", inside) + tail
    begin, told, last = logs(s, store(s))
    train = [*forward(s, net), f"{o}.zero_grad()", "loss.backward()", f"{o}.step()", *told]
    s.body += [*made, *data(s, 4), *begin]
    if s.chance(0.5):
        s.body += [*block("for epoch in range(2):", block("for i, (x, y) in enumerate(data):", train), check), *last]
    else:
        s.body += [*loop(s, 4, train), *last, *check]


def frozen(s: Script) -> None:
    """A part is frozen while the body runs; the walk comes inside of it or behind."""
    net, o, made = model(s)
    head = s.name("head")
    s.kept.append(head)
    _, call = managed(
        s,
        s.pick("frozen", "without_grad"),
        "part",
        block("for p in part.parameters():", ["p.requires_grad = False"]),
        block("for p in part.parameters():", ["p.requires_grad = True"]),
        s.pick("None", "part"),
    )
    lines = [f"loss = F.mse_loss({head}({net}(x)), y)"]
    form = s.pick("walk inside", "walk behind", "penalty")
    begin, told, last = logs(s, store(s))
    if form == "walk inside":
        lines = block(f"with {call.format(net)}:", lines, ["loss.backward()"])
    elif form == "walk behind":
        lines = [*block(f"with {call.format(net)}:", lines), "loss.backward()"]
    else:
        lines += [
            *block(f"with {call.format(net)}:", [f"extra = {head}({net}(x)).pow(2).mean()"]),
            "(loss + 0.1 * extra).backward()",
        ]
    both = f"torch.optim.SGD([*{net}.parameters(), *{head}.parameters()], lr=0.05)"
    s.body += [*made, f"{head} = nn.Linear(1, 1)", f"{o} = {both}", *data(s, 4), *begin]
    s.body += [*loop(s, 4, [f"{o}.zero_grad()", *lines, f"{o}.step()", *told]), *last]


def recorded(s: Script) -> None:
    """A manager that collects what the body hands it, and sums it up at its exit."""
    net, o, made = model(s)
    kind, name = s.name("Recorder"), s.name("recorder")
    total = s.pick("sum(self.values)", "torch.stack(self.values).mean()", "sum(float(v) for v in self.values)", "self.values[-1]")
    body = [*block("def __init__(self):", ["self.values = []", "self.result = None"]), ""]
    body += [*block("def __enter__(self):", ["return self"]), ""]
    body += [*block("def add(self, value):", [f"self.values.append({s.pick('value', 'value', 'value.detach()')})"]), ""]
    body += block("def __exit__(self, *error):", [f"self.result = {total}", *s.pick([], ["self.values.clear()"])])
    s.define(*block(f"class {kind}:", body))
    train = [*forward(s, net), f"{o}.zero_grad()", "loss.backward()", f"{o}.step()", f"{name}.add(loss)"]
    if s.chance(0.3):
        train = [*forward(s, net), f"{name}.add(loss)"]
    inner = block(f"with {kind}() as {name}:", loop(s, 4, train))
    tail = [f"print(float({name}.result))"]
    if len(train) == 2:
        tail = [
            f"{o}.zero_grad()",
            *block(f"if torch.is_tensor({name}.result) and {name}.result.requires_grad:", [f"{name}.result.backward()"]),
            f"{o}.step()",
            *tail,
        ]
    s.body += [*made, *data(s, 4), *s.pick([*inner, *tail], block("for run in range(2):", [*inner, *tail]))]


def swallowed(s: Script) -> None:
    """A backward pass whose error the manager swallows: the script goes on with what was done."""
    net, o, made = model(s)
    s.need("import contextlib")
    manager = "contextlib.suppress(RuntimeError)"
    if s.chance(0.5):
        kind = s.name("Tolerant")
        inner = [
            *block("def __enter__(self):", ["return self"]),
            "",
            *block(
                "def __exit__(self, kind, value, trace):", [s.pick("return kind is RuntimeError", "return True", "return False")]
            ),
        ]
        s.define(*block(f"class {kind}:", inner))
        manager = f"{kind}()"
    begin, told, last = logs(s, store(s))
    second = s.pick("loss.backward()", "(out * 2).sum().backward()", "out.pow(2).mean().backward()")
    first = s.pick("loss.backward()", "loss.backward()", "loss.backward(retain_graph=True)")
    lines = [f"out = torch.tanh({net}(x))", "loss = F.mse_loss(out, y)", f"{o}.zero_grad()", first]
    lines += block(f"with {manager}:", [second, *s.pick([], ["print('twice')"])])
    s.body += [*made, *data(s, 3), *begin, *loop(s, 3, [*lines, f"{o}.step()", *told]), *last]


SCENES = (updating, updating, rivals, evaluating, evaluating, frozen, recorded, swallowed)
