"""The ways in which a script runs a backward pass, steps, and reads a number."""

from __future__ import annotations

from benchmarks.generated.writer import Script, block, indented


def walk(s: Script, value: str, retain: bool = False) -> list[str]:
    """Statements that walk `value`; most of them plainly, some where it is hard to see."""
    arguments = "retain_graph=True" if retain else ""
    if retain or s.chance(0.45):
        form = s.pick("method", "method", "method", "function")
        if form == "function":
            return [f"torch.autograd.backward({value}{', ' + arguments if arguments else ''})"]
        return [f"{_bracketed(value)}.backward({arguments})"]
    return s.random.choice(_HIDDEN)(s, value)


def _bracketed(value: str) -> str:
    return value if value.replace("_", "a").replace(".", "a").isalnum() else f"({value})"


def _function(s: Script, value: str) -> list[str]:
    name = s.name(s.pick("walk", "finish", "flush"))
    s.define(*block(f"def {name}(value):", s.pick(["value.backward()"], ["if value is not None:", "    value.backward()"])))
    return [f"{name}({value})"]


def _getattr(s: Script, value: str) -> list[str]:
    return [f'getattr({value}, "backward")()']


def _methodcaller(s: Script, value: str) -> list[str]:
    s.need("import operator")
    return [f'operator.methodcaller("backward")({value})']


def _partial(s: Script, value: str) -> list[str]:
    s.need("import functools")
    name = s.name("later")
    return [f"{name} = functools.partial(torch.Tensor.backward, {value})", f"{name}()"]


def _table(s: Script, value: str) -> list[str]:
    name = s.name("COMMANDS")
    s.define(f"{name} = {{", '    "walk": lambda value: value.backward(),', '    "skip": lambda value: None,', "}")
    return [f'{name}["walk"]({value})']


def _map(s: Script, value: str) -> list[str]:
    return s.pick([f"list(map(torch.Tensor.backward, [{value}]))"], [f"[v.backward() for v in [{value}]]"])


def _stack(s: Script, value: str) -> list[str]:
    s.need("from contextlib import ExitStack")
    name = s.name("stack")
    return block(f"with ExitStack() as {name}:", [f"{name}.callback({_bracketed(value)}.backward)"])


def _context(s: Script, value: str) -> list[str]:
    kind = s.name("Walking")
    body = [*block("def __init__(self, value):", ["self.value = value"]), ""]
    body += [*block("def __enter__(self):", ["return self"]), ""]
    body += block("def __exit__(self, *error):", ["self.value.backward()"])
    s.define(*block(f"class {kind}:", body))
    return block(f"with {kind}({value}):", ["pass"])


def _manager(s: Script, value: str) -> list[str]:
    s.need("from contextlib import contextmanager")
    name = s.name("walking")
    s.define(
        "@contextmanager", *block(f"def {name}(value):", block("try:", ["yield value"]), block("finally:", ["value.backward()"]))
    )
    return block(f"with {name}({value}) as shown:", ["shown.item()"])


def _thread(s: Script, value: str) -> list[str]:
    s.need("import threading")
    name = s.name("thread")
    call = s.pick(f"target={_bracketed(value)}.backward", f"target=lambda v={value}: v.backward()")
    return [f"{name} = threading.Thread({call})", f"{name}.start()", f"{name}.join()"]


def _finally(s: Script, value: str) -> list[str]:
    return [*block("try:", [f"float({value})"]), *block("finally:", [f"{_bracketed(value)}.backward()"])]


def _class(s: Script, value: str) -> list[str]:
    kind, method = s.name("Engine"), s.pick("run", "__call__", "backward", "on_loss")
    base = []
    head = f"class {kind}:"
    if s.chance(0.5):
        base = [*block(f"class {kind}Base:", block(f"def {method}(self, value):", ["return None"])), "", ""]
        head = f"class {kind}({kind}Base):"
    s.define(*base, *block(head, block(f"def {method}(self, value):", ["value.backward()"])))
    return [f"{kind}()({value})" if method == "__call__" else f"{kind}().{method}({value})"]


def _property(s: Script, value: str) -> list[str]:
    kind = s.name("Lazy")
    s.define(
        *block(
            f"class {kind}:",
            block("def __init__(self, value):", ["self.value = value"]),
            [""],
            ["@property"],
            block("def walked(self):", ["self.value.backward()", "return float(self.value)"]),
        )
    )
    return [f"{kind}({value}).walked"]


def _generator(s: Script, value: str) -> list[str]:
    name = s.name("stages")
    s.define(*block(f"def {name}(value):", ["yield float(value)", "value.backward()", "yield 0.0"]))
    return s.pick([f"sum({name}({value}))"], block(f"for _ in {name}({value}):", ["pass"]))


def _grads(s: Script, value: str) -> list[str]:
    s.need("import itertools")
    return [
        "weights = [p for p in model.parameters() if p.requires_grad]",
        f"grads = torch.autograd.grad({value}, weights, allow_unused=True)",
        *block("for p, g in zip(weights, grads):", ["p.grad = g"]),
    ]


def _local(s: Script, value: str) -> list[str]:
    name = s.name("inner")
    return [*block(f"def {name}(v={value}):", ["v.backward()"]), f"{name}()"]


def _cached(s: Script, value: str) -> list[str]:
    s.need("import functools")
    name = s.name("walked")
    s.define("@functools.lru_cache(maxsize=None)", *block(f"def {name}(value):", ["value.backward()", "return float(value)"]))
    return [f"{name}({value})"]


def _scaled(s: Script, value: str) -> list[str]:
    kind = s.name("Scaler")
    s.define(*block(f"class {kind}:", block("def scale(self, value):", ["return value * 1.0"])))
    return [f"{kind}().scale({value}).backward()"]


_HIDDEN = (
    _function,
    _function,
    _getattr,
    _methodcaller,
    _partial,
    _table,
    _map,
    _stack,
    _context,
    _manager,
    _thread,
    _finally,
    _class,
    _property,
    _generator,
    _grads,
    _local,
    _cached,
    _scaled,
)


def read(s: Script, value: str, tensor: bool) -> list[str]:
    """Statements that print the number in `value`; `tensor`: whether it is a tensor, so that its methods are there."""
    forms = [
        f"print(float({value}))",
        f'print(f"{{float({value}):.4f}}")',
        f'print("%.4f" % {value})',
        f'print("{{:.4f}}".format({value}))',
        f"print(round(float({value}), 4))",
        f"print(float({value}) / 3)",
        f"print(torch.as_tensor({value}).detach().item())",
        f"print({value} > 0.5)",
    ]
    if tensor:
        bare = _bracketed(value)
        forms += [
            f"print({bare}.item())",
            f"print({bare}.detach().item())",
            f"print({bare}.detach().numpy().tolist())",
            f"print(torch.stack([{value}, {value}]).mean().item())",
            f"print(torch.isfinite({value}).item())",
            f'print(f"{{{bare}.item():.3f}}")',
            f"print(torch.sqrt({value}.abs()).item())" if bare == value else f"print({bare}.abs().item())",
        ]
        if s.chance(0.08):
            return block(f"if torch.is_tensor({value}):", [f"print({bare}.item())"])
        if s.chance(0.05):
            return [f"print(int({bare}.requires_grad))"]
    return [s.random.choice(forms)]


def every(s: Script, steps: int, lines: list[str], *, guard: bool = True) -> tuple[list[str], list[str]]:
    """Setup and statements that run `lines` every so many iterations; `guard`: nothing comes behind, so that a `continue` is right."""
    form = s.pick("modulo", "modulo", "counter", "attribute", "flag", "count", "guard" if guard else "modulo")
    if form == "modulo":
        return [], block(f"if (i + 1) % {steps} == 0:", lines)
    if form == "count":
        return [], block(f"if i % {steps} == {steps} - 1:", lines)
    if form == "counter":
        name = s.name("count")
        return [f"{name} = 0"], [f"{name} += 1", *block(f"if {name} == {steps}:", lines, [f"{name} = 0"])]
    if form == "attribute":
        name, kind = s.name("clock"), s.name("Clock")
        s.define(
            *block(
                f"class {kind}:",
                ["ticks = 0", ""],
                block("def tick(self):", ["self.ticks += 1", f"return self.ticks % {steps} == 0"]),
            )
        )
        return [f"{name} = {kind}()"], block(f"if {name}.tick():", lines)
    if form == "flag":
        name = s.name("due")
        return [], [f"{name} = (i + 1) % {steps} == 0", *block(f"if {name}:", lines)]
    return [], [*block(f"if (i + 1) % {steps} != 0:", ["continue"]), *lines]


def stepped(s: Script, optimizer: str = "optimizer", model: str = "model") -> list[str]:
    """An update of the parameters."""
    if s.chance(0.7):
        return [f"{optimizer}.step()"]
    form = s.pick("function", "nograd", "methodcaller", "clip")
    if form == "function":
        name = s.name("advance")
        s.define(*block(f"def {name}(optimizer):", ["optimizer.step()", "optimizer.zero_grad()"]))
        return [f"{name}({optimizer})"]
    if form == "nograd":
        update = block("if p.grad is not None:", ["p -= 0.01 * p.grad"])
        return block("with torch.no_grad():", block(f"for p in {model}.parameters():", update))
    if form == "methodcaller":
        s.need("import operator")
        return [f'operator.methodcaller("step")({optimizer})']
    return [f"nn.utils.clip_grad_norm_({model}.parameters(), 1.0)", f"{optimizer}.step()"]


def wrapped(s: Script, lines: list[str]) -> list[str]:
    """The statements, at times inside of another one that changes nothing."""
    form = s.pick("", "", "", "", "if", "try", "grad", "with")
    if form == "if":
        return ["if i >= 0:", *indented(lines)]
    if form == "try":
        return ["try:", *indented(lines), "except ZeroDivisionError:", "    pass"]
    if form == "grad":
        return ["with torch.enable_grad():", *indented(lines)]
    if form == "with":
        s.need("import contextlib")
        return ["with contextlib.nullcontext():", *indented(lines)]
    return lines
