"""What a training loop adds a loss to: totals, lists, meters, closures, slots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.generated.writer import Script, block


@dataclass(frozen=True)
class Store:
    """How to set it up, add to it, read one number out of it, empty it.

    `tensor`: what is read is a tensor whenever tensors were put in. `values`: an expression for all values, where it keeps them.
    """

    setup: list[str]
    add: Callable[[str], list[str]]
    total: str
    reset: list[str]
    tensor: bool = True
    values: str = ""
    single: bool = field(default=False)


def plain(s: Script) -> Store:
    name = s.name(s.pick("total", "running_loss", "epoch_loss", "acc"))
    start = s.pick("0.0", "0", "torch.zeros(())", "torch.tensor(0.0)")
    forms = [f"{name} += {{}}", f"{name} = {name} + {{}}", f"{name} = {{}} + {name}", f"{name} = torch.add({{}}, {name})"]
    if "torch" in start:
        forms += [f"{name}.add_({{}})"]
    form = s.random.choice(forms)
    reset = s.pick(f"{name} = {start}", f"{name} = {start}", f"{name} = {name} * 0 if False else {start}")
    return Store([f"{name} = {start}"], lambda v: [form.format(v)], name, [reset])


def none_first(s: Script) -> Store:
    name = s.name("total")
    if s.chance(0.5):
        return Store(
            [f"{name} = None"], lambda v: [f"{name} = {v} if {name} is None else {name} + {v}"], name, [f"{name} = None"]
        )
    add = lambda v: [*block(f"if {name} is None:", [f"{name} = {v}"]), *block("else:", [f"{name} = {name} + {v}"])]  # noqa: E731
    return Store([f"{name} = None"], add, name, [f"{name} = None"])


def average(s: Script) -> Store:
    name = s.name(s.pick("ema", "smooth", "baseline"))
    form = s.pick(
        f"{name} = 0.9 * {name} + 0.1 * {{}}", f"{name} += 0.1 * ({{}} - {name})", f"{name} = {name} * 0.5 + {{}} * 0.5"
    )
    start = s.pick("0.0", "torch.zeros(())")
    return Store([f"{name} = {start}"], lambda v: [form.format(v)], name, [f"{name} = {start}"])


def best(s: Script) -> Store:
    name = s.name(s.pick("best", "worst"))
    if s.chance(0.5):
        add = lambda v: block(f"if {name} is None or {v} < {name}:", [f"{name} = {v}"])  # noqa: E731
        return Store([f"{name} = None"], add, name, [f"{name} = None"])
    form = s.pick("{0} = min({0}, {1})", "{0} = {1} if {1} > {0} else {0}", "{0} = max({1}, {0})")
    start = s.pick("0.0", 'float("inf")')
    return Store([f"{name} = {start}"], lambda v: [form.format(name, v)], name, [f"{name} = {start}"], tensor=False)


def listed(s: Script) -> Store:
    name = s.name(s.pick("losses", "history", "window", "pending"))
    start = "[]"
    if s.chance(0.25):
        s.need("from collections import deque")
        start = s.pick("deque(maxlen=3)", "deque()")
    forms = [
        f"{name}.append({{}})",
        f"{name}.append({{}})",
        f"{name}.extend([{{}}])",
        f"{name} += [{{}}]",
        f"{name}.insert(0, {{}})",
    ]
    if start == "[]":
        forms += [f"{name} = {name} + [{{}}]", f"{name} = [*{name}, {{}}]"]
    form = s.random.choice(forms if start != "deque(maxlen=3)" else forms[:4])
    return Store([f"{name} = {start}"], lambda v: [form.format(v)], _summed(s, name), [_emptied(s, name, start)], values=name)


def _summed(s: Script, name: str) -> str:
    kind = s.pick("sum", "sum", "stack", "mean", "last", "reduce", "cat", "sorted", "comprehension")
    if kind == "reduce":
        s.need("import functools")
        s.need("import operator")
    return {
        "sum": f"sum({name})",
        "stack": f"sum({name}[j] for j in range(len({name})))",
        "mean": f"(sum({name}) / len({name}))",
        "last": f"{name}[-1]",
        "reduce": f"functools.reduce(operator.add, {name})",
        "cat": f"sum([v * 1.0 for v in {name}])",
        "sorted": f"sum(sorted({name}, key=lambda v: float(v)))",
        "comprehension": f"sum(v for v in {name} if v is not None)",
    }[kind]


def _emptied(s: Script, name: str, start: str) -> str:
    return s.pick(f"{name}.clear()", f"{name} = {start}", f"{name}.clear()" if "deque" in start else f"del {name}[:]")


def paired(s: Script) -> Store:
    name = s.name("records")
    kind = s.pick("tuple", "dict", "key", "rows", "growing")
    if kind == "tuple":
        return Store(
            [f"{name} = []"],
            lambda v: [f"{name}.append((i, {v}))"],
            f"sum(v for _, v in {name})",
            [f"{name}.clear()"],
            values=f"[v for _, v in {name}]",
        )
    if kind == "dict":
        return Store(
            [f"{name} = []"],
            lambda v: [f"{name}.append({{'step': i, 'loss': {v}}})"],
            f"sum(r['loss'] for r in {name})",
            [f"{name} = []"],
            values=f"[r['loss'] for r in {name}]",
        )
    if kind == "key":
        return Store(
            [f"{name} = {{}}"],
            lambda v: [f"{name}[i] = {v}"],
            f"sum({name}.values())",
            [f"{name}.clear()"],
            values=f"list({name}.values())",
        )
    if kind == "rows":
        s.need("from collections import defaultdict")
        add = s.pick(f"{name}['loss'].append({{}})", f"{name}['loss'] += [{{}}]", f"{name}['loss'] = {name}['loss'] + [{{}}]")
        return Store(
            [f"{name} = defaultdict(list)"],
            lambda v: [add.format(v)],
            f"sum({name}['loss'])",
            [f"{name}.clear()"],
            values=f"{name}['loss']",
        )
    return Store([f"{name} = ()"], lambda v: [f"{name} += ({v},)"], f"sum({name})", [f"{name} = ()"], values=name)


def entries(s: Script) -> Store:
    name = s.name(s.pick("stats", "metrics", "meters"))
    form = s.pick(
        "{0}['loss'] += {1}",
        "{0}['loss'] = {0}['loss'] + {1}",
        "{0}['loss'] = {0}.get('loss', 0.0) + {1}",
        "{0}.update(loss={0}['loss'] + {1})",
    )
    count = [f"{name}['n'] += 1"] if s.chance(0.5) else []
    total = f"{name}['loss']"
    return Store([f'{name} = {{"loss": 0.0, "n": 0}}'], lambda v: [form.format(name, v), *count], total, [f"{total} = 0.0"])


def attribute(s: Script) -> Store:
    name, kind = s.name("stats"), s.name("Stats")
    form = s.pick("class", "namespace", "dataclass", "on_class", "vars")
    total = f"{name}.total"
    setup = [f"{name} = {kind}()"]
    if form == "class":
        s.define(*block(f"class {kind}:", block("def __init__(self):", ["self.total = 0.0", "self.count = 0"])))
    elif form == "namespace":
        s.need("from types import SimpleNamespace")
        setup = [f"{name} = SimpleNamespace(total=0.0, count=0)"]
    elif form == "dataclass":
        s.need("from dataclasses import dataclass")
        s.define("@dataclass", *block(f"class {kind}:", ["total: float = 0.0", "count: int = 0"]))
    elif form == "vars":
        s.define(*block(f"class {kind}:", ["total = 0.0"]))
        return Store(setup, lambda v: [f"vars({name})['total'] = {total} + {v}"], total, [f"{total} = 0.0"])
    else:
        s.define(*block(f"class {kind}:", ["total = 0.0", "count = 0"]))
        return Store([], lambda v: [f"{kind}.total += {v}"], f"{kind}.total", [f"{kind}.total = 0.0"])
    add = s.pick(f"{total} += {{}}", f"{total} = {total} + {{}}")
    return Store(setup, lambda v: [add.format(v), f"{name}.count += 1"], total, [f"{total} = 0.0"])


def meter(s: Script) -> Store:
    """A class with a method that adds; some of them cut the value, in the open or where it is hard to see."""
    name, kind = s.name("meter"), s.name("Meter")
    cut = s.pick("v", "v", "v", "v.detach()", "float(v)", "torch.as_tensor(v).detach()")
    body = [*block("def __init__(self):", ["self.reset()"]), ""]
    body += [*block("def reset(self):", ["self.total = 0.0", "self.count = 0"]), ""]
    operator = s.pick("update", "update", "__iadd__", "__call__", "add")
    result = {"__iadd__": ["return self"], "__call__": ["return self.total"]}.get(operator, [])
    body += [*block(f"def {operator}(self, v, n=1):", [f"self.total += {cut} * n", "self.count += n"], result), ""]
    body += ["@property", *block("def avg(self):", ["return self.total / max(self.count, 1)"]), ""]
    body += [*block("def __str__(self):", ['return f"{float(self.avg):.4f}"']), ""]
    body += [*block("def __float__(self):", ["return float(self.total)"]), ""]
    body += block("def __lt__(self, other):", ["return float(self.total) < float(other)"])
    if s.chance(0.2):
        body += [
            "",
            *block("def __setattr__(self, key, v):", ["super().__setattr__(key, v.detach() if torch.is_tensor(v) else v)"]),
        ]
    s.define(*block(f"class {kind}:", body))
    add = {"__iadd__": f"{name} += {{}}", "__call__": f"{name}({{}})"}.get(operator, f"{name}.{operator}({{}})")
    return Store(
        [f"{name} = {kind}()"],
        lambda v: [add.format(v)],
        f"{name}.{s.pick('avg', 'total')}",
        [f"{name}.reset()"],
        tensor=cut == "v",
    )


def slots(s: Script) -> Store:
    name = s.name("slots")
    form = s.pick(f"{name}[i % 8] = {{}}", f"{name}[i % 8] += {{}}")
    return Store([f"{name} = torch.zeros(8)"], lambda v: [form.format(v)], f"{name}.sum()", [f"{name} = torch.zeros(8)"])


def closure(s: Script) -> Store:
    """A total that lives between the calls of a function: nonlocal, global, a default argument, a generator."""
    name, kind = s.name("add"), s.pick("nonlocal", "global", "default", "generator", "attribute")
    if kind == "nonlocal":
        inner = block("def add(v):", ["nonlocal total", "total = total + v", "return total"])
        s.define(*block(f"def make_{name}():", ["total = 0.0"], inner, ["return add"]))
        return Store([f"{name} = make_{name}()"], lambda v: [f"{name}({v})"], f"{name}(0.0)", [f"{name} = make_{name}()"])
    if kind == "generator":
        s.define(
            *block(f"def running_{name}():", ["total = 0.0"], block("while True:", ["v = yield total", "total = total + v"]))
        )
        start = [f"{name} = running_{name}()", f"next({name})"]
        return Store(start, lambda v: [f"{name}.send({v})"], f"{name}.send(0.0)", start)
    if kind == "global":
        s.define(
            f"TOTAL_{name} = 0.0",
            "",
            "",
            *block(f"def {name}(v):", [f"global TOTAL_{name}", f"TOTAL_{name} += v", f"return TOTAL_{name}"]),
        )
        s.define(*block(f"def reset_{name}():", [f"global TOTAL_{name}", f"TOTAL_{name} = 0.0"]))
        return Store([], lambda v: [f"{name}({v})"], f"{name}(0.0)", [f"reset_{name}()"])
    if kind == "default":
        s.define(*block(f"def {name}(v, memory=[]):", ["memory.append(v)", "return sum(memory)"]))
        return Store([], lambda v: [f"{name}({v})"], f"{name}(0.0)", [f"{name}.__defaults__[0].clear()"])
    s.define(
        *block(f"def {name}(v):", [f"{name}.total = {name}.total + v", f"return {name}.total"]), "", "", f"{name}.total = 0.0"
    )
    return Store([], lambda v: [f"{name}({v})"], f"{name}.total", [f"{name}.total = 0.0"])


def memory(s: Script) -> Store:
    """A buffer class around a list."""
    name, kind = s.name("memory"), s.name("Memory")
    keep = s.pick("v", "v", "(v, len(self.items))", "v.detach() if torch.is_tensor(v) else v")
    value = "item[0]" if keep.startswith("(") else "item"
    body = [*block("def __init__(self):", ["self.items = []"]), ""]
    body += [*block("def push(self, v):", [f"self.items.append({keep})"]), ""]
    body += [*block("def __len__(self):", ["return len(self.items)"]), ""]
    body += [*block("def __iter__(self):", [f"return iter([{value} for item in self.items])"]), ""]
    body += [*block("def total(self):", [s.pick("return sum(self)", f"return sum({value} for item in self.items)")]), ""]
    body += block("def clear(self):", [s.pick("self.items = []", "self.items.clear()")])
    s.define(*block(f"class {kind}:", body))
    push = s.pick(f"{name}.push({{}})", f"{name}.items.append({{}})") if keep == "v" else f"{name}.push({{}})"
    return Store(
        [f"{name} = {kind}()"], lambda v: [push.format(v)], f"{name}.total()", [f"{name}.clear()"], "detach" not in keep, name
    )


def heap(s: Script) -> Store:
    s.need("import heapq")
    name = s.name("hard")
    add = lambda v: [f"heapq.heappush({name}, (-float({v}), i, {v}))"]  # noqa: E731
    return Store([f"{name} = []"], add, f"sum(v for _, _, v in {name})", [f"{name}.clear()"], values=f"[v for _, _, v in {name}]")


KINDS = (
    plain,
    plain,
    plain,
    none_first,
    average,
    best,
    listed,
    listed,
    listed,
    paired,
    entries,
    entries,
    attribute,
    meter,
    meter,
    slots,
    closure,
    memory,
    heap,
)


def store(s: Script) -> Store:
    """Any of them."""
    return s.random.choice(KINDS)(s)
