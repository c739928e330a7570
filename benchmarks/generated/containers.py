"""Scenes whose values lie in containers of the program's own: subclasses, records, named tuples, queues."""

from __future__ import annotations

from benchmarks.generated.loops import data, forward, logs, loop, model
from benchmarks.generated.stores import Store, store
from benchmarks.generated.walks import read
from benchmarks.generated.writer import Script, block


def row(s: Script) -> Store:
    """A dict whose entries are attributes, in one of the usual ways."""
    kind, name = s.name("Row"), s.name("row")
    body = s.pick(
        ["__getattr__ = dict.__getitem__", "__setattr__ = dict.__setitem__"],
        [*block("def __init__(self, **given):", ["super().__init__(**given)", "self.__dict__ = self"])],
        [
            *block("def __getattr__(self, key):", ["return self[key]"]),
            "",
            *block("def __setattr__(self, key, value):", ["self[key] = value"]),
        ],
    )
    s.define(*block(f"class {kind}(dict):", body))
    add = s.pick(
        f"{name}.loss += {{}}",
        f"{name}.loss = {name}.loss + {{}}",
        f"{name}['loss'] += {{}}",
        f"{name}.update(loss={name}.loss + {{}})",
    )
    total = s.pick(f"{name}.loss", f"{name}['loss']", f"sum({name}.values())")
    return Store([f"{name} = {kind}(loss=0.0)"], lambda v: [add.format(v)], total, [f"{name}.loss = 0.0"])


def history(s: Script) -> Store:
    """A list with methods of its own."""
    kind, name = s.name("History"), s.name("history")
    keep = s.pick("value", "value", "value", "value.detach() if torch.is_tensor(value) else value")
    body = [*block("def append(self, value):", [f"super().append({keep})"]), ""] if s.chance(0.5) else []
    body += [
        *block("def mean(self):", [s.pick("return sum(self) / max(len(self), 1)", "return sum(v for v in self) / len(self)")]),
        "",
    ]
    body += ["@property", *block("def last(self):", ["return self[-1]"])]
    s.define(*block(f"class {kind}(list):", body))
    total = s.pick(f"{name}.mean()", f"{name}.last", f"sum({name})", f"{name}[-1]")
    return Store([f"{name} = {kind}()"], lambda v: [f"{name}.append({v})"], total, [f"{name}.clear()"], values=name)


def steps(s: Script) -> Store:
    """A list of named tuples or records."""
    kind, name = s.name("Step"), s.name("steps")
    form = s.pick("namedtuple", "typed", "dataclass", "slots", "frozen")
    if form == "namedtuple":
        s.need("from collections import namedtuple")
        s.define(f'{kind} = namedtuple("{kind}", "index loss")')
    elif form == "typed":
        s.need("from typing import NamedTuple")
        s.define(*block(f"class {kind}(NamedTuple):", ["index: int", "loss: torch.Tensor"]))
    elif form == "slots":
        s.define(
            *block(
                f"class {kind}:",
                [
                    "__slots__ = ('index', 'loss')",
                    "",
                    *block("def __init__(self, index, loss):", ["self.index = index", "self.loss = loss"]),
                ],
            )
        )
    else:
        s.need("from dataclasses import dataclass")
        s.define(
            "@dataclass(frozen=True)" if form == "frozen" else "@dataclass",
            *block(f"class {kind}:", ["index: int", "loss: torch.Tensor"]),
        )
    put = s.pick(f"{name}.append({kind}(i, {{}}))", f"{name}.append({kind}(index=i, loss={{}}))")
    total = s.pick(f"sum(each.loss for each in {name})", f"{name}[-1].loss", f"sum([each.loss for each in {name}]) / len({name})")
    return Store(
        [f"{name} = []"], lambda v: [put.format(v)], total, [f"{name}.clear()"], values=f"[each.loss for each in {name}]"
    )


def record(s: Script) -> Store:
    """A record that is changed in place or replaced by each step."""
    s.need("from dataclasses import dataclass, field, replace")
    kind, name = s.name("State"), s.name("state")
    s.define(
        "@dataclass",
        *block(f"class {kind}:", ["total: torch.Tensor = 0.0", "count: int = 0", "parts: list = field(default_factory=list)"]),
    )
    form = s.pick(
        f"{name}.total += {{}}",
        f"{name} = replace({name}, total={name}.total + {{}}, count={name}.count + 1)",
        f"{name} = {kind}({name}.total + {{}}, {name}.count + 1)",
        f"{name}.parts.append({{}})",
    )
    total = f"sum({name}.parts)" if "parts" in form else f"{name}.total"
    return Store([f"{name} = {kind}()"], lambda v: [form.format(v)], total, [f"{name} = {kind}()"])


def tables(s: Script) -> Store:
    """Containers of the standard library."""
    name = s.name("metrics")
    form = s.pick("defaultdict", "defaultdict", "ordered", "userdict", "deque", "chain", "number")
    if form == "defaultdict":
        s.need("from collections import defaultdict")
        return Store(
            [f"{name} = defaultdict(list)"],
            lambda v: [f"{name}['loss'].append({v})"],
            f"sum({name}['loss'])",
            [f"{name}.clear()"],
            values=f"{name}['loss']",
        )
    if form == "number":
        s.need("from collections import defaultdict")
        return Store(
            [f"{name} = defaultdict(float)"], lambda v: [f"{name}['loss'] += {v}"], f"{name}['loss']", [f"{name}.clear()"]
        )
    if form == "ordered":
        s.need("from collections import OrderedDict")
        return Store(
            [f"{name} = OrderedDict()"],
            lambda v: [f"{name}[f'step{{i}}'] = {v}"],
            f"sum({name}.values())",
            [f"{name}.clear()"],
            values=f"list({name}.values())",
        )
    if form == "userdict":
        s.need("from collections import UserDict")
        kind = s.name("Metrics")
        s.define(
            *block(f"class {kind}(UserDict):", block("def add(self, key, value):", ["self[key] = self.get(key, 0.0) + value"]))
        )
        return Store(
            [f"{name} = {kind}()"], lambda v: [f"{name}.add('loss', {v})"], f"{name}.get('loss', 0.0)", [f"{name}.clear()"]
        )
    s.need("from collections import deque")
    size = s.pick("", ", maxlen=2", ", maxlen=8")
    add = s.pick("append", "appendleft")
    return Store(
        [f"{name} = deque([]{size})"],
        lambda v: [f"{name}.{add}({v})"],
        s.pick(f"sum({name})", f"{name}[0]", f"max({name}, key=float)"),
        [f"{name}.clear()"],
        values=f"list({name})",
    )


OWN = (row, row, history, history, steps, steps, record, tables, tables)


def own(s: Script) -> Store:
    """Any of them."""
    return s.random.choice(OWN)(s)


def logged(s: Script) -> None:
    """Plain training that logs into containers of its own."""
    net, o, made = model(s)
    begin, step, last = [], [], []
    for _ in range(s.pick(1, 1, 2)):
        a, b, c = logs(s, own(s))
        begin, step, last = begin + a, step + b, last + c
    train = [*forward(s, net), f"{o}.zero_grad()", f"loss.backward({s.pick('', '', '', 'retain_graph=True')})", f"{o}.step()"]
    s.body += [*made, *data(s, 4), *begin, *loop(s, 4, [*train, *step]), *last]


def walked(s: Script) -> None:
    """What the container holds is walked at its end or every other iteration."""
    net, o, made = model(s)
    kept = own(s)
    walks = [
        f"gathered = {kept.total}",
        f"{o}.zero_grad()",
        "gathered.backward()",
        f"{o}.step()",
        *s.pick([], ["print(gathered.item())"]),
    ]
    reset = kept.reset if s.chance(0.8) else []
    begin, told, last = logs(s, store(s))
    if s.chance(0.5):
        due = block("if (i + 1) % 2 == 0:", walks, reset)
        s.body += [
            *made,
            *data(s, 4),
            *kept.setup,
            *begin,
            *block("for i, (x, y) in enumerate(data):", forward(s, net), kept.add("loss"), told, due),
            *last,
        ]
    else:
        lines = [*kept.setup, *block("for i, (x, y) in enumerate(data):", forward(s, net), kept.add("loss"), told), *walks]
        s.body += [*made, *data(s, 3), *begin, *block("for epoch in range(2):", lines), *last]


def outputs(s: Script) -> None:
    """A forward pass that returns a record; the losses are entries of it, the rest is kept or told."""
    net, o, made = model(s)
    kind, name = s.name("Output"), s.name("forward_pass")
    form = s.pick("dict", "class", "tuple", "object")
    fields = "loss=loss, logits=out, features=h"
    if form == "dict":
        s.define(*block(f"class {kind}(dict):", block("def __getattr__(self, key):", ["return self[key]"])))
    elif form == "class":
        s.need("from dataclasses import dataclass")
        s.define(
            "@dataclass",
            *block(f"class {kind}:", ["loss: torch.Tensor", "logits: torch.Tensor", "features: torch.Tensor = None"]),
        )
    elif form == "tuple":
        s.need("from typing import NamedTuple")
        s.define(*block(f"class {kind}(NamedTuple):", ["loss: torch.Tensor", "logits: torch.Tensor", "features: torch.Tensor"]))
    else:
        s.need("from types import SimpleNamespace")
        s.define(f"{kind} = SimpleNamespace")
    s.define(
        *block(
            f"def {name}(net, x, y):", ["h = x * 2.0", "out = net(h)", "loss = F.mse_loss(out, y)", f"return {kind}({fields})"]
        )
    )
    put = s.pick("result", "result.loss", "result.logits", "result.logits.detach()", "(result.loss, i)")
    kept = s.name("kept")
    tail = {
        "result": f"print(sum(float(r.loss) for r in {kept}))",
        "result.loss": f"print(sum({kept}))",
        "(result.loss, i)": f"print(sum(float(v) for v, _ in {kept}))",
    }.get(put, f"print(torch.cat({kept}).mean().item())")
    train = [f"{o}.zero_grad()", "result.loss.backward()", f"{o}.step()"]
    if s.chance(0.3):
        train += [
            s.pick("extra = result.logits.pow(2).mean()", "extra = (result.logits * 2).mean()"),
            s.pick("print(extra.item())", "extra.backward()"),
        ]
    begin, told, last = logs(s, own(s), "result.loss")
    s.body += [
        *made,
        *data(s, 4),
        f"{kept} = []",
        *begin,
        *loop(s, 4, [f"result = {name}({net}, x, y)", *train, f"{kept}.append({put})", *told]),
        *last,
        tail,
    ]


def replay(s: Script) -> None:
    """A memory of transitions from which later losses are made."""
    net, o, made = model(s)
    s.need("from collections import deque, namedtuple")
    kind, memory = s.name("Transition"), s.name("memory")
    s.define(f'{kind} = namedtuple("{kind}", ["x", "value", "target"])')
    stored = s.pick("value", "value", "value.detach()", "value.item() * torch.ones(5, 1)", "value.data")
    use = s.pick(
        "t.target - t.value", f"{net}(t.x) - t.value", f"{net}(t.x) - t.target", f"{net}(t.x) - (t.target + 0.9 * t.value)"
    )
    lines = [f"value = {net}(x)", f"{memory}.append({kind}(x, {stored}, y))"]
    batch = s.pick(f"list({memory})", f"list({memory})[-2:]", f"{memory}")
    walks = [
        f"loss = sum(({use}).pow(2).mean() for t in {batch}) / len({memory})",
        f"{o}.zero_grad()",
        *block("if loss.requires_grad:", ["loss.backward()", f"{o}.step()"]),
        "print(loss.item())",
    ]
    if s.chance(0.5):
        walks = [*walks, f"{memory}.clear()"]
    lines += s.pick(walks, block("if (i + 1) % 2 == 0:", walks))
    s.body += [
        *made,
        *data(s, 4),
        f"{memory} = deque(maxlen={s.pick(2, 4, 10)})",
        *block("for i, (x, y) in enumerate(data):", lines),
    ]
    s.body += read(s, f"sum(t.target.mean() for t in {memory})", False) if s.chance(0.3) else []


SCENES = (logged, logged, walked, walked, outputs, replay)
