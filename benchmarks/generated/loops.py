"""Supervised training loops around stores: logged, walked in windows, walked at the end, walked later."""

from __future__ import annotations

from benchmarks.generated.stores import Store, store
from benchmarks.generated.walks import every, read, stepped, walk, wrapped
from benchmarks.generated.writer import Script, block, indented

LOSSES = (
    "F.mse_loss({model}(x), y)",
    "({model}(x) - y).pow(2).mean()",
    "({model}(x) - y).abs().mean()",
    "F.smooth_l1_loss({model}(x), y)",
    "F.mse_loss({model}(x), y) + 0.01 * sum(p.pow(2).sum() for p in {model}.parameters())",
)
PUT = ("{loss}",) * 9 + (
    "{loss}.item()",
    "{loss}.detach()",
    "float({loss})",
    "{loss} * x.size(0)",
    "{loss}.clone()",
    "{loss}.data",
    "{loss}.mean()",
    "{loss} / 2",
    "{loss} + 0.0",
    "torch.exp({loss})",
)


def model(s: Script) -> tuple[str, str, list[str]]:
    """Names of a model and its optimizer, and the statements that make them."""
    name, optimizer = s.name("model"), s.name("optimizer")
    if s.chance(0.6):
        shape = s.pick(
            "nn.Linear(4, 1)",
            "nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))",
            "nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 1))",
        )
    else:
        kind = s.name("Net")
        init = ["super().__init__()", "self.first = nn.Linear(4, 6)", "self.second = nn.Linear(6, 1)"]
        forward = [
            "h = torch.tanh(self.first(x))",
            *s.pick([], ["if self.training:", "    h = h * 0.9"], ["self.last = h"]),
            "return self.second(h)",
        ]
        s.define(
            *block(f"class {kind}(nn.Module):", block("def __init__(self):", init), [""], block("def forward(self, x):", forward))
        )
        shape = f"{kind}()"
    kind = s.pick(
        "torch.optim.SGD({}.parameters(), lr=0.05)",
        "torch.optim.Adam({}.parameters(), lr=0.01)",
        "torch.optim.SGD({}.parameters(), lr=0.05, momentum=0.9)",
    )
    s.kept.append(name)
    return name, optimizer, [f"{name} = {shape}", f"{optimizer} = {kind.format(name)}"]


def data(s: Script, count: int) -> list[str]:
    return s.pick(
        [f"data = [(torch.randn(5, 4), torch.randn(5, 1)) for _ in range({count})]"],
        [f"xs, ys = torch.randn({count}, 5, 4), torch.randn({count}, 5, 1)", "data = list(zip(xs, ys))"],
    )


def loop(s: Script, count: int, lines: list[str]) -> list[str]:
    """A loop that runs the statements with `i`, `x` and `y`."""
    form = s.pick("enumerate", "enumerate", "range", "while", "epochs", "generator")
    if form == "enumerate":
        return block("for i, (x, y) in enumerate(data):", lines)
    if form == "range":
        return block(f"for i in range({count}):", ["x, y = data[i]"], lines)
    if form == "while":
        return ["step = -1", *block(f"while step + 1 < {count}:", ["step += 1", "i = step", "x, y = data[i]"], lines)]
    if form == "epochs":
        return block("for epoch in range(2):", block("for i, (x, y) in enumerate(data):", lines))
    name = s.name("batches")
    s.define(*block(f"def {name}(data):", block("for i, (x, y) in enumerate(data):", ["yield i, x, y"])))
    return block(f"for i, x, y in {name}(data):", lines)


def forward(s: Script, model: str) -> list[str]:
    expression = s.random.choice(LOSSES).format(model=model)
    if s.chance(0.25):
        name = s.name(s.pick("compute_loss", "objective"))
        s.define(*block(f"def {name}(net, x, y):", [f"return {s.random.choice(LOSSES).format(model='net')}"]))
        expression = f"{name}({model}, x, y)"
    return [f"loss = {expression}"]


def logs(s: Script, store: Store, put: str | None = None) -> tuple[list[str], list[str], list[str]]:
    """Setup, statements of an iteration and statements after the loop of something that only tells."""
    put = put or s.random.choice(PUT)
    value = put.format(loss="loss")
    cut = any(word in put for word in (".item", "float("))
    live = store.tensor and not cut
    step = store.add(value)
    setup: list[str] = []
    after: list[str] = []
    if s.chance(0.4):
        lines = read(s, store.total, live) + (store.reset if s.chance(0.3) else [])
        made, due = every(s, s.pick(2, 2, 3), lines, guard=s.chance(0.1))
        setup, step = made, step + due
    guarded = bool(len(step) > len(store.add(value)))
    if not guarded or s.chance(0.4):
        after = read(s, store.total, live)
        if guarded:
            after = [
                "try:",
                *indented(after),
                "except (TypeError, AttributeError, ZeroDivisionError, IndexError):",
                "    print(-1.0)",
            ]
    if store.values and s.chance(0.3):
        after += [
            s.pick(
                f"print(sum(float(v) for v in {store.values}))",
                f"print(len({store.values}))",
                f"print([round(float(v), 3) for v in {store.values}])",
            )
        ]
    return [*store.setup, *setup], wrapped(s, step), after


def logged(s: Script) -> None:
    """A walk in each iteration; stores beside it that tell what it was, before or after."""
    net, optimizer, made = model(s)
    count = s.random.randint(3, 6)
    lines, setup, after = [], [*made, *data(s, count)], []
    retain = s.chance(0.12)
    parts = {"zero": [f"{optimizer}.zero_grad()"], "walk": walk(s, "loss", retain), "step": stepped(s, optimizer, net)}
    parts["walk"] = [line.replace("model.parameters", f"{net}.parameters") for line in parts["walk"]]
    before: list[str] = []
    behind: list[str] = []
    for _ in range(s.pick(1, 1, 2, 3)):
        first, step, last = logs(s, store(s))
        setup, after = setup + first, after + last
        (before if s.chance(0.35) else behind).extend(step)
    if s.chance(0.1):
        behind += s.pick(["print(loss.item())"], ["second = loss * 2", "print(second.item())"], ["loss = loss.detach()"])
    lines = [*forward(s, net), *before, *parts["zero"], *parts["walk"], *parts["step"], *behind]
    if s.chance(0.15):
        lines = [*block(f"if i == {s.pick(0, 1)}:", ["continue"]), *lines]
    s.body += setup + loop(s, count, lines) + after


def windowed(s: Script) -> None:
    """The store itself is walked every so many iterations, or logged where it looks the same."""
    net, optimizer, made = model(s)
    count, steps = s.pick(4, 6, 6), s.pick(2, 2, 3)
    kept = store(s)
    put = s.pick("loss", "loss", f"loss / {steps}", "loss.clone()", "loss * 1.0")
    value = kept.total
    target = value
    lines = []
    if s.chance(0.4):
        target = s.name("objective")
        lines = [f"{target} = {value}"]
    lines += [f"{optimizer}.zero_grad()"]
    lines += [line.replace("model.parameters", f"{net}.parameters") for line in walk(s, target, s.chance(0.12))]
    lines += stepped(s, optimizer, net)
    if s.chance(0.4):
        lines += read(s, target, kept.tensor)
    lines += kept.reset if s.chance(0.85) else []
    setup, due = every(s, steps, lines)
    first, step, last = [], [], []
    for _ in range(s.pick(0, 1, 1)):
        a, b, c = logs(s, store(s))
        first, step, last = first + a, step + b, last + c
    if s.chance(0.3):
        due = ["if not torch.isfinite(loss):", "    break", *due]
    s.body += [*made, *data(s, count), *first, *kept.setup, *setup]
    s.body += loop(s, count, [*forward(s, net), *kept.add(put), *step, *due]) + last


def at_end(s: Script) -> None:
    """What the loop collects is walked after it, or in its last iteration."""
    net, optimizer, made = model(s)
    count = s.random.randint(3, 5)
    kept = store(s)
    lines = [f"objective = {kept.total}"] if s.chance(0.5) else []
    walks = [line.replace("model.parameters", f"{net}.parameters") for line in walk(s, "objective" if lines else kept.total)]
    lines += [*walks, *stepped(s, optimizer, net), *read(s, "objective" if lines else "loss", True)]
    first, step, last = logs(s, store(s)) if s.chance(0.6) else ([], [], [])
    inner = [*forward(s, net), *kept.add(s.pick("loss", "loss", "loss / 3", "loss.clone()")), *step]
    where = s.pick("after", "after", "last", "else")
    s.body += [*made, *data(s, count), *first, *kept.setup]
    if where == "last":
        s.body += block(f"for i in range({count}):", ["x, y = data[i]"], inner, block(f"if i == {count} - 1:", lines)) + last
    elif where == "else":
        s.body += block("for i, (x, y) in enumerate(data):", inner) + block("else:", lines) + last
    else:
        s.body += block("for i, (x, y) in enumerate(data):", inner) + lines + last


def delayed(s: Script) -> None:
    """A loss that is walked an iteration later, by a queue, a previous value, or a list of things to do."""
    net, optimizer, made = model(s)
    count = s.random.randint(4, 6)
    walked = [f"{optimizer}.zero_grad()", *walk(s, "old", s.chance(0.1)), *stepped(s, optimizer, net)]
    walked = [line.replace("model.parameters", f"{net}.parameters") for line in walked]
    # a step between a forward pass and its walk is refused by torch as soon as an inner weight is needed
    plain = s.chance(0.7)
    if plain:
        walked = [line for line in walked if "step" not in line and "advance" not in line]
    form = s.pick("previous", "deque", "todo", "attribute")
    setup = [*made, *data(s, count)]
    end = [f"{optimizer}.step()"] if plain else []
    if form == "previous":
        setup += ["previous = None"]
        lines = [*forward(s, net), *block("if previous is not None:", ["old = previous"], walked), "previous = loss"]
    elif form == "attribute":
        setup += ["holder = type('Holder', (), {})()", "holder.loss = None"]
        lines = [*forward(s, net), *block("if holder.loss is not None:", ["old = holder.loss"], walked), "holder.loss = loss"]
    elif form == "deque":
        s.need("from collections import deque")
        setup += ["queue = deque()"]
        lines = [
            *forward(s, net),
            "queue.append(loss)",
            *block("if len(queue) > 1:", [f"old = queue.{s.pick('popleft', 'pop')}()"], walked),
        ]
    else:
        setup += ["todo = []"]
        lines = [*forward(s, net), "todo.append(lambda old=loss: old.backward())"]
        end = [*block("for call in todo:", ["call()"]), *end, f"{optimizer}.step()"]
    first, step, last = logs(s, store(s)) if s.chance(0.7) else ([], [], [])
    s.body += [*setup, *first, *loop(s, count, [*lines, *step]), *end, *last]


def twice(s: Script) -> None:
    """Two losses over one trunk: summed, retained, needlessly retained, or walked one after the other."""
    net, optimizer, made = model(s)
    count = s.random.randint(3, 5)
    shared = s.pick(f"out = {net}(x)", f"out = {net}(x)", f"out = torch.tanh({net}(x))")
    losses = [
        "first = F.mse_loss(out, y)",
        s.pick("second = out.pow(2).mean()", "second = (out - 1).abs().mean()", f"second = {net}(x + 1).pow(2).mean()"),
    ]
    one, two = s.pick(
        ("retain_graph=True", ""),
        ("retain_graph=True", ""),
        ("", ""),
        ("retain_graph=True", "retain_graph=True"),
        ("", "retain_graph=True"),
    )
    zero = [f"{optimizer}.zero_grad()"]
    middle = s.pick([], [], [], [f"{optimizer}.step()"], zero, ["print(first.item())"])
    form = s.pick("pair", "pair", "sum", "list", "backward")
    if form == "pair":
        walks = [f"first.backward({one})", *middle, f"second.backward({two})"]
    elif form == "sum":
        walks = ["loss = first + second", f"loss.backward({two})"]
    elif form == "list":
        walks = block("for part in (first, second):", [f"part.backward({one})"])
    else:
        walks = [f"torch.autograd.backward([first, second]{', ' + two if two else ''})"]
    last: list[str] = []
    step: list[str] = []
    begin: list[str] = []
    for _ in range(s.pick(0, 1, 2)):
        a, b, c = logs(s, store(s), s.pick("first", "second", "first + second", "second.item()"))
        begin, step, last = begin + a, step + b, last + c
    lines = [shared, *losses, *zero, *walks, f"{optimizer}.step()", *step]
    s.body += [*made, *data(s, count), *begin, *loop(s, count, lines), *last]


SCENES = (logged, logged, logged, windowed, windowed, at_end, delayed, twice)
