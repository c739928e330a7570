"""Scenes in which work is put off: coroutines, tasks, futures, queues, call-backs, registries, generators that wait."""

from __future__ import annotations

from benchmarks.generated.loops import data, forward, logs, model
from benchmarks.generated.stores import store
from benchmarks.generated.writer import Script, block


def _later(s: Script, deed: str) -> tuple[list[str], list[str], list[str]]:
    """Setup, what an iteration does, and what runs the deed (an expression of `v`) of all of them in the end."""
    name = s.name("later")
    form = s.pick("list", "stack", "future", "queue", "registry", "generator", "asyncio", "partial", "weak")
    if form == "list":
        return [f"{name} = []"], [f"{name}.append(lambda v=loss: {deed})"], block(f"for call in {name}:", ["call()"])
    if form == "stack":
        s.need("from contextlib import ExitStack")
        return [f"{name} = ExitStack()"], [f"{name}.callback(lambda v=loss: {deed})"], [f"{name}.close()"]
    if form == "future":
        s.need("from concurrent.futures import ThreadPoolExecutor")
        return (
            [f"{name} = []"],
            [f"{name}.append(loss)"],
            block("with ThreadPoolExecutor(1) as pool:", [f"done = list(pool.map(lambda v: {deed}, {name}))"]),
        )
    if form == "queue":
        s.need("import queue")
        return (
            [f"{name} = queue.Queue()"],
            [f"{name}.put(loss)"],
            block(f"while not {name}.empty():", [f"v = {name}.get()", deed]),
        )
    if form == "registry":
        kind = s.name("Events")
        body = [
            *block("def __init__(self):", ["self.calls = []"]),
            "",
            *block("def on(self, function):", ["self.calls.append(function)", "return function"]),
            "",
            *block("def fire(self, *args):", block("for call in self.calls:", ["call(*args)"])),
        ]
        s.define(*block(f"class {kind}:", body))
        handler = s.name("handle")
        s.define(*block(f"def {handler}(kept):", block("for v in kept:", [deed])))
        return [f"{name}, waiting = {kind}(), []", f"{name}.on({handler})"], ["waiting.append(loss)"], [f"{name}.fire(waiting)"]
    if form == "generator":
        worker = s.name("worker")
        s.define(
            *block(
                f"def {worker}():",
                [
                    "kept = []",
                    *block("try:", block("while True:", ["kept.append((yield len(kept)))"])),
                    *block("finally:", block("for v in kept:", [deed])),
                ],
            )
        )
        return [f"{name} = {worker}()", f"next({name})"], [f"{name}.send(loss)"], [f"{name}.close()"]
    if form == "asyncio":
        s.need("import asyncio")
        job = s.name("job")
        s.define(*block(f"async def {job}(v):", ["await asyncio.sleep(0)", deed, "return 0"]))
        gather = s.name("run_all")
        s.define(
            *block(
                f"async def {gather}(kept):",
                [s.pick(f"await asyncio.gather(*[{job}(v) for v in kept])", f"return [await {job}(v) for v in kept]")],
            )
        )
        return [f"{name} = []"], [f"{name}.append(loss)"], [f"asyncio.run({gather}({name}))"]
    if form == "partial":
        s.need("import functools")
        handler = s.name("finish")
        s.define(*block(f"def {handler}(v):", [deed]))
        return [f"{name} = []"], [f"{name}.append(functools.partial({handler}, loss))"], [f"done = [call() for call in {name}]"]
    s.need("import weakref")
    return (
        [f"{name}, alive = [], []"],
        ["alive.append(loss)", f"{name}.append(weakref.ref(loss))"],
        block(f"for ref in {name}:", ["v = ref()", *block("if v is not None:", [deed])]),
    )


def scheduled(s: Script) -> None:
    """Each iteration schedules something about its loss: a walk, a look, a number."""
    net, o, made = model(s)
    deed = s.pick(
        "v.backward()",
        "v.backward()",
        "print(v.item())",
        "print(v.requires_grad)",
        "(v * 1.0).backward(retain_graph=True)",
        "print(float(v.detach()))",
    )
    setup, step, end = _later(s, deed)
    walked = "backward" in deed
    train = (
        [*forward(s, net)]
        if walked and s.chance(0.8)
        else [*forward(s, net), f"{o}.zero_grad()", "loss.backward()", f"{o}.step()"]
    )
    end = [f"{o}.zero_grad()", *end, f"{o}.step()"] if walked else end
    begin, told, last = logs(s, store(s))
    s.body += [*made, *data(s, 3), *setup, *begin, *block("for i, (x, y) in enumerate(data):", train, step, told), *end, *last]


def pipeline(s: Script) -> None:
    """Generators in a chain: one makes losses, one walks them, one tells of them; some are left half-way."""
    net, o, made = model(s)
    source, walker = s.name("losses"), s.name("walked")
    s.define(*block(f"def {source}(net, data):", block("for x, y in data:", ["yield F.mse_loss(net(x), y)"])))
    tail = s.pick(
        ["yield loss"],
        ["yield loss.item()"],
        ["yield loss.detach()"],
        ["yield loss", "print('after', loss.item())"],
        ["yield loss", "total = total + loss"],
    )
    s.define(
        *block(
            f"def {walker}(source, optimizer):",
            [
                "total = 0.0",
                *block(
                    "for loss in source:",
                    ["optimizer.zero_grad()", f"loss.backward({s.pick('', '', 'retain_graph=True')})", "optimizer.step()", *tail],
                ),
                "print(float(total))",
            ],
        )
    )
    chain = f"{walker}({source}({net}, data), {o})"
    kept = store(s)
    use = s.pick(
        [f"print(sum(float(v) for v in {chain}))"],
        [f"values = list({chain})", "print(float(values[-1]))"],
        [*kept.setup, *block(f"for i, value in enumerate({chain}):", kept.add("value")), f"print(float({kept.total}))"],
        [f"steps = {chain}", "first = next(steps)", "second = next(steps)", "print(float(first) - float(second))"],
        [*block(f"for i, value in enumerate({chain}):", block("if i == 1:", ["break"])), "print(float(value))"],
        [
            f"values = list({chain})",
            *block(
                "if torch.is_tensor(values[0]) and values[0].requires_grad:",
                ["try:", "    (values[0] * 2).backward()", "except RuntimeError:", "    print('freed')"],
            ),
        ],
    )
    s.body += [*made, *data(s, 4), *use]


def talking(s: Script) -> None:
    """A coroutine that is sent batches and hands back losses, and keeps state between."""
    net, o, made = model(s)
    name, worker = s.name("trainer"), s.name("train_steps")
    state = s.pick(
        [],
        ["smooth = 0.9 * smooth + 0.1 * loss"],
        ["smooth = smooth + loss.item()"],
        ["smooth = loss"],
        ["smooth = 0.9 * smooth + 0.1 * loss.detach()"],
    )
    use = s.pick("loss", "loss", "loss + 0.1 * smooth")
    inner = [
        "x, y = yield loss",
        "loss = F.mse_loss(net(x), y)",
        "optimizer.zero_grad()",
        f"({use}).backward()",
        "optimizer.step()",
        *state,
    ]
    s.define(*block(f"def {worker}(net, optimizer):", ["loss, smooth = None, 0.0", *block("while True:", inner)]))
    begin, told, last = logs(s, store(s), "value")
    s.body += [
        *made,
        *data(s, 4),
        f"{name} = {worker}({net}, {o})",
        f"next({name})",
        *begin,
        *block("for i, (x, y) in enumerate(data):", [f"value = {name}.send((x, y))", *told]),
        *last,
    ]


def remembered(s: Script) -> None:
    """A cache, a default argument, a class attribute or a global that hands the same tensor out again."""
    net, o, made = model(s)
    name = s.name("penalty")
    form = s.pick("lru", "default", "class", "dict", "function")
    value = s.pick(
        "sum(p.pow(2).sum() for p in net.parameters())",
        "net(x).pow(2).mean()",
        "sum(p.abs().sum() for p in net.parameters()).detach()",
    )
    if form == "lru":
        s.need("import functools")
        s.define(
            "@functools.lru_cache(maxsize=None)",
            *block(f"def {name}(net, x=None):", [f"return {value.replace('net(x)', 'net(torch.ones(1, 4))')}"]),
        )
        call = f"{name}({net})"
    elif form == "default":
        s.define(
            *block(
                f"def {name}(net, x, memory={{}}):",
                [*block("if 'value' not in memory:", [f"memory['value'] = {value}"]), "return memory['value']"],
            )
        )
        call = f"{name}({net}, x)"
    elif form == "class":
        kind = s.name("Penalty")
        s.define(
            *block(
                f"class {kind}:",
                [
                    "value = None",
                    "",
                    "@classmethod",
                    *block(
                        "def of(cls, net, x):", [*block("if cls.value is None:", [f"cls.value = {value}"]), "return cls.value"]
                    ),
                ],
            )
        )
        call = f"{kind}.of({net}, x)"
    elif form == "dict":
        s.define(f"KNOWN_{name} = {{}}")
        s.define(*block(f"def {name}(net, x):", [f"return KNOWN_{name}.setdefault('value', {value})"]))
        call = f"{name}({net}, x)"
    else:
        s.define(
            *block(
                f"def {name}(net, x):",
                [*block(f"if not hasattr({name}, 'value'):", [f"{name}.value = {value}"]), f"return {name}.value"],
            )
        )
        call = f"{name}({net}, x)"
    use = s.pick(
        f"loss = loss + 0.01 * {call}",
        f"loss = loss + 0.01 * {call}",
        f"print(float({call}))",
        f"loss = loss * torch.exp(-0.01 * {call}).detach()",
    )
    begin, told, last = logs(s, store(s))
    s.body += [
        *made,
        *data(s, 3),
        *begin,
        *block(
            "for i, (x, y) in enumerate(data):",
            forward(s, net),
            [use, f"{o}.zero_grad()", "loss.backward()", f"{o}.step()", *told],
        ),
        *last,
    ]


def evaluated(s: Script) -> None:
    """What looks like an evaluation gives losses that something walks, or looks at, much later."""
    net, o, made = model(s)
    name, kept = s.name("evaluate"), store(s)
    body = [
        *s.pick([], ["net.eval()"]),
        *kept.setup,
        *block("for i, (x, y) in enumerate(data):", kept.add("F.mse_loss(net(x), y)")),
    ]
    s.define(*block(f"def {name}(net, data):", body, [f"return {kept.total}"]))
    deed = s.pick("v.backward()", "(v * 1.0).backward()", "print(float(v))", "print(getattr(v, 'requires_grad', None))")
    deed = deed if kept.tensor else "print(float(v))"
    setup, step, end = _later(s, deed)
    end = [f"{o}.zero_grad()", *end, f"{o}.step()"] if "backward" in deed else end
    lines = [f"loss = {name}({net}, data)", *step]
    s.body += [*made, *data(s, 3), *setup, *s.pick(lines, block("for epoch in range(2):", lines)), *end]


def retained(s: Script) -> None:
    """A graph is retained for a walk that comes much later, or never."""
    net, o, made = model(s)
    deed = s.pick(
        "v.backward()", "v.backward()", "(v * 2).backward(retain_graph=True)", "print(v.item())", "print(v.requires_grad)"
    )
    setup, step, end = _later(s, deed)
    retain = s.pick("retain_graph=True", "retain_graph=True", "retain_graph=i < 2", "create_graph=True")
    train = [*forward(s, net), f"loss.backward({retain})", *s.pick([], [f"{o}.zero_grad()"])]
    order = [*train, *step] if s.chance(0.7) else [train[0], *step, *train[1:]]
    begin, told, last = logs(s, store(s))
    s.body += [*made, *data(s, 3), *setup, *begin]
    s.body += [*block("for i, (x, y) in enumerate(data):", order, told), *end, f"{o}.step()", *last]


SCENES = (scheduled, scheduled, pipeline, pipeline, talking, remembered, evaluated, evaluated, retained, retained)
