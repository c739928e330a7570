"""Scenes whose special methods, properties, setters and descriptors do the work: they walk, step, cut, keep or look."""

from __future__ import annotations

from benchmarks.generated.loops import data, forward, logs, loop, model
from benchmarks.generated.stores import store
from benchmarks.generated.writer import Script, block

# the method, its parameters, and what a program writes so that it is called
_METHODS = (
    ("__iadd__", "self, v", "{0} += {1}"),
    ("__lshift__", "self, v", "{0} << {1}"),
    ("__setitem__", "self, key, v", "{0}[i] = {1}"),
    ("__setattr__", "self, key, v", "{0}.loss = {1}"),
    ("__call__", "self, v", "{0}({1})"),
    ("__contains__", "self, v", "{1} in {0}"),
    ("__matmul__", "self, v", "{0} @ {1}"),
    ("__getitem__", "self, v", "{0}[{1}]"),
    ("__eq__", "self, v", "{0} == {1}"),
    ("__ror__", "self, v", "[{1}] | {0}"),
    ("__gt__", "self, v", "{0} > [{1}]"),
)


def _object(s: Script, deed: list[str]) -> tuple[list[str], str]:
    """What makes an object, and the statement that calls its special method with the loss; `deed` speaks of v and self.kept."""
    kind, name = s.name("Sink"), s.name("sink")
    method, parameters, call = s.random.choice(_METHODS)
    inner = list(deed)
    if method == "__ror__" or method == "__gt__":
        inner = ["v = v[0]", *inner]
    inner += (
        ["return self"]
        if method not in ("__setitem__", "__setattr__", "__contains__")
        else ["return True"]
        if method == "__contains__"
        else []
    )
    body = [*block("def __init__(self):", ["self.__dict__['kept'] = []"]), "", *block(f"def {method}({parameters}):", inner)]
    if method == "__eq__":
        body += ["", "__hash__ = None"]
    s.define(*block(f"class {kind}:", body))
    return [f"{name} = {kind}()"], call.format(name, "loss")


def walking(s: Script) -> None:
    """The special method walks what it is given: now, or the one before."""
    net, o, made = model(s)
    deed = s.pick(
        ["v.backward()"],
        ["v.backward()", "self.kept.append(v)"],
        ["v.backward(retain_graph=True)"],
        ["(v * 0.5).backward(retain_graph=True)", "self.kept.append(v)"],
        ["self.kept.append(v)", *block("if len(self.kept) == 2:", ["sum(self.kept).backward()", "self.kept.clear()"])],
        [*block("for old in self.kept:", ["old.backward()"]), "self.kept[:] = [v]"],
        ["self.kept.append(v)", "self.kept[-1].backward()"],
    )
    setup, call = _object(s, deed)
    begin, told, last = logs(s, store(s))
    second = s.pick("loss.backward()", "loss.backward(retain_graph=True)")
    walks = s.pick([call], [call], [call, "loss.backward()"], [second, call])
    s.body += [
        *made,
        *setup,
        *data(s, 4),
        *begin,
        *loop(s, 4, [*forward(s, net), f"{o}.zero_grad()", *walks, f"{o}.step()", *told]),
        *last,
    ]


def keeping(s: Script) -> None:
    """The special method only keeps or tells what it is given."""
    net, o, made = model(s)
    deed = s.pick(
        ["self.kept.append(v)"],
        ["self.kept.append(v.detach())"],
        ["self.kept.append(float(v))"],
        ["self.kept[:] = [sum(self.kept) + v]"],
        ["print(v.item())"],
        ["self.kept.append({'v': v})"],
        ["self.kept.append(v.requires_grad)"],
    )
    setup, call = _object(s, deed)
    name = setup[0].split(" ")[0]
    tail = [f"print(len({name}.kept))", *s.pick([], [f"print(sum(float(v) for v in {name}.kept if not isinstance(v, dict)))"])]
    walks = [f"loss.backward({s.pick('', '', 'retain_graph=True')})"]
    order = [call, *walks] if s.chance(0.4) else [*walks, call]
    s.body += [*made, *setup, *data(s, 4), *loop(s, 4, [*forward(s, net), f"{o}.zero_grad()", *order, f"{o}.step()"]), *tail]


def ordered(s: Script) -> None:
    """Losses are wrapped in something that compares, hashes, iterates, and is unpacked."""
    net, o, made = model(s)
    kind, kept = s.name("Item"), s.name("items")
    body = [*block("def __init__(self, loss, index):", ["self.loss, self.index = loss, index"]), ""]
    body += [
        *block(
            "def __lt__(self, other):",
            [
                s.pick(
                    "return self.loss < other.loss",
                    "return float(self.loss) < float(other.loss)",
                    "return bool((self.loss - other.loss) < 0)",
                )
            ],
        ),
        "",
    ]
    parts = s.pick(["return iter((self.loss, self.index))"], ["yield self.loss", "yield self.index"])
    body += [*block("def __iter__(self):", parts), ""]
    body += [
        *block("def __add__(self, other):", ["return self.loss + (other.loss if isinstance(other, type(self)) else other)"]),
        "",
        "__radd__ = __add__",
        "",
    ]
    body += [
        *block("def __float__(self):", ["return float(self.loss)"]),
        "",
        *block("def __bool__(self):", [s.pick("return bool(self.loss > 0)", "return True")]),
    ]
    s.define(*block(f"class {kind}:", body))
    use = s.pick(
        [f"print(min({kept}).index)"],
        [f"print(sorted({kept})[0].index)"],
        [f"print(float(sum({kept})))"],
        [f"print([float(v) for v in {kept}])"],
        [f"print(max({kept}, key=float).index)"],
        [f"print(any({kept}))"],
    )
    if s.chance(0.3):
        use += [f"{o}.zero_grad()", s.pick(f"min({kept}).loss.backward()", f"sum({kept}).backward()"), f"{o}.step()"]
        train = [*forward(s, net), f"{kept}.append({kind}(loss, i))"]
    else:
        train = [*forward(s, net), f"{o}.zero_grad()", "loss.backward()", f"{o}.step()", f"{kept}.append({kind}(loss, i))"]
    s.body += [*made, *data(s, 3), f"{kept} = []", *block("for i, (x, y) in enumerate(data):", train), *use]


def described(s: Script) -> None:
    """A descriptor, a property with a setter, or slots between the loss and what keeps it."""
    net, o, made = model(s)
    kind, name = s.name("Tracked"), s.name("tracked")
    keep = s.pick("v", "v", "v.detach()", "v * 1.0")
    extra = s.pick([], [], ["v.backward()"], ["obj.count += int(v.requires_grad)"], ["obj.total = obj.total + v"])
    form = s.pick("descriptor", "setter", "mapping")
    if form == "descriptor":
        field = s.name("Field")
        s.define(
            *block(
                f"class {field}:",
                block("def __get__(self, obj, kind=None):", ["return obj.__dict__.get('hidden', 0.0)"]),
                [""],
                block("def __set__(self, obj, v):", [*extra, f"obj.__dict__['hidden'] = {keep}"]),
            )
        )
        s.define(*block(f"class {kind}:", [f"loss = {field}()", "count = 0", "total = 0.0"]))
    elif form == "setter":
        inner = [line.replace("obj", "self") for line in extra]
        s.define(
            *block(
                f"class {kind}:",
                ["count = 0", "total = 0.0", "hidden = 0.0", "", "@property"],
                block("def loss(self):", ["return self.hidden"]),
                ["", "@loss.setter"],
                block("def loss(self, v):", [*inner, f"self.hidden = {keep}"]),
            )
        )
    else:
        inner = [line.replace("obj", "self") for line in extra]
        s.define(
            *block(
                f"class {kind}(dict):",
                ["count = 0", "total = 0.0", ""],
                block("def __missing__(self, key):", ["return 0.0"]),
                [""],
                block("def __setitem__(self, key, v):", [*inner, f"super().__setitem__(key, {keep})"]),
            )
        )
    put = f"{name}['loss'] = loss" if form == "mapping" else f"{name}.loss = loss"
    get = f"{name}['loss']" if form == "mapping" else f"{name}.loss"
    mean = s.pick([], [f"loss = 0.9 * loss + 0.1 * {get}"], [f"loss = loss + 0.0 * {get}"])
    walks = [] if "v.backward()" in extra and s.chance(0.8) else ["loss.backward()"]
    order = [*walks, put] if s.chance(0.6) else [put, *walks]
    s.body += [
        *made,
        f"{name} = {kind}()",
        *data(s, 4),
        *loop(s, 4, [*forward(s, net), *mean, f"{o}.zero_grad()", *order, f"{o}.step()"]),
        f"print(float({get}), {name}.count, float({name}.total))",
    ]


SCENES = (walking, walking, keeping, ordered, described, described)
