"""Scenes that make texts of what they have stored: formats, logging, JSON, CSV, and what is read off a text."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.generated.containers import own
from benchmarks.generated.loops import data, forward, loop, model
from benchmarks.generated.stores import Store, store
from benchmarks.generated.writer import Script, block


def _plain(s: Script, value: str) -> list[str]:
    return [
        s.pick(
            f"print({value})",
            f"print(f'{{{value}}}')",
            f"print(str({value}))",
            f"print('value: %s' % ({value},))",
            f"print('value: {{}}'.format({value}))",
            f"print(repr({value}))",
            f"print(' '.join(map(str, [{value}, 1])))",
            f"print(f'{{{value}!r}}')",
            f"print('%.3f' % {value})",
            f"print(format(float({value}), '.3f'))",
        )
    ]


def _json(s: Script, value: str) -> list[str]:
    s.need("import json")
    how = s.pick(
        "default=str", "default=float", "default=lambda v: round(float(v), 4)", "default=lambda v: v.tolist()", "default=repr"
    )
    whole = s.pick(f"{{'value': {value}}}", f"[{value}]", f"{{'rows': [{value}, 1]}}")
    return [f"print(json.dumps({whole}, {how}))"]


def _length(s: Script, value: str) -> list[str]:
    """What only the text tells: its length, a word in it, its parts."""
    return [
        s.pick(
            f"print(len(str({value})) > 30)",
            f"print('grad_fn' in str({value}))",
            f"print(str([{value}]).count(','))",
            f"print(repr({value}).startswith('tensor'))",
            f"print('grad' in '%s' % ({value},))",
            f"print('grad_fn' in '{{}}'.format([{value}]))",
        )
    ]


def _logging(s: Script, value: str) -> list[str]:
    s.need("import logging")
    s.need("import sys")
    name = s.name("log")
    begin = [
        f"{name} = logging.getLogger('train{len(s.definitions)}')",
        f"{name}.setLevel(logging.INFO)",
        f"{name}.addHandler(logging.StreamHandler(sys.stdout))",
    ]
    return [
        *begin,
        s.pick(
            f"{name}.info('loss %s', {value})",
            f"{name}.info('loss %.4f', {value})",
            f"{name}.info(f'loss {{{value}}}')",
            f"{name}.info({value})",
            f"{name}.debug('loss %s', {value})",
        ),
    ]


def _csv(s: Script, value: str) -> list[str]:
    s.need("import csv")
    s.need("import io")
    name = s.name("sheet")
    row = s.pick(f"[0, {value}]", f"(1, float({value}))", f"[str({value})]")
    return [
        f"{name} = io.StringIO()",
        f"csv.writer({name}).writerow({row})",
        s.pick(f"print({name}.getvalue())", f"print('grad_fn' in {name}.getvalue())"),
    ]


def _template(s: Script, value: str) -> list[str]:
    s.need("from string import Template")
    s.need("from pprint import pformat")
    return [
        s.pick(
            f"print(Template('loss $v').substitute(v={value}))",
            f"print(pformat([{value}]))",
            f"print('{{v}}'.format_map({{'v': {value}}}))",
            f"print('{{0.shape}}'.format(torch.as_tensor({value})))",
        )
    ]


_KINDS: tuple[Callable[[Script, str], list[str]], ...] = (
    _plain,
    _plain,
    _plain,
    _json,
    _json,
    _length,
    _logging,
    _csv,
    _template,
)


def text(s: Script, value: str) -> list[str]:
    """Statements that make a text of `value` and show it; what stands in an f-string may not have its quotes."""
    return s.random.choice(_KINDS)(s, value.replace("'", '"'))


def _any(s: Script) -> Store:
    return own(s) if s.chance(0.6) else store(s)


def told(s: Script) -> None:
    """Training that tells of its stores in texts, in the loop or behind it."""
    net, o, made = model(s)
    kept = _any(s)
    value = s.pick(kept.total, kept.total, kept.values or kept.total)
    inner = text(s, s.pick("loss", kept.total)) if s.chance(0.4) else []
    train = [*forward(s, net), f"{o}.zero_grad()", "loss.backward()", f"{o}.step()", *kept.add("loss"), *inner]
    s.body += [*made, *data(s, 3), *kept.setup, *loop(s, 3, train), *text(s, value)]


def evaluated(s: Script) -> None:
    """An evaluation whose results become a report."""
    net, _, made = model(s)
    kept = _any(s)
    name = s.name("report")
    value = s.pick(kept.total, kept.values or kept.total)
    measure = s.pick("F.mse_loss(net(x), y)", "net(x).mean()", "(net(x) - y).abs().mean()")
    body = [*s.pick([], ["net.eval()"]), *kept.setup, *block("for i, (x, y) in enumerate(data):", kept.add(measure))]
    form = s.pick("print", "return", "return number")
    if form == "print":
        body += text(s, value)
        call = [f"{name}({net}, data)"]
    elif form == "return":
        body += [f"return {{'value': {value}}}"]
        call = [f"result = {name}({net}, data)", *text(s, s.pick("result['value']", "result"))]
    else:
        total = kept.total.replace("'", '"')
        body += [f"return f'{{float({total}):.3f}}'"]
        call = [f"print({name}({net}, data))"]
    s.define(*block(f"def {name}(net, data):", body))
    s.body += [*made, *data(s, 3), *call]


def summarised(s: Script) -> None:
    """A class that writes its own text from what it keeps."""
    net, o, made = model(s)
    kind, name = s.name("Summary"), s.name("summary")
    body = [*block("def __init__(self):", ["self.total = 0.0", "self.rows = []"]), ""]
    body += [
        *block(
            "def add(self, value):",
            s.pick(
                ["self.total += value"], ["self.rows.append(value)", "self.total += value"], ["self.rows.append({'loss': value})"]
            ),
        ),
        "",
    ]
    shown = s.pick(
        "f'{self.total} {len(self.rows)}'",
        "f'{self.rows}'",
        "str(vars(self))",
        "'%s of %d' % (self.total, len(self.rows))",
        "'Summary(' + ', '.join(str(r) for r in self.rows) + ')'",
    )
    body += block(f"def {s.pick('__str__', '__repr__')}(self):", [f"return {shown}"])
    s.define(*block(f"class {kind}:", body))
    train = [*forward(s, net), f"{o}.zero_grad()", "loss.backward()", f"{o}.step()", f"{name}.add(loss)"]
    show = s.pick(f"print({name})", f"print(f'{{{name}}}')", f"print(str({name}), len(str({name})) > 60)")
    tail = text(s, name) if s.chance(0.2) else [show]
    s.body += [*made, *data(s, 3), f"{name} = {kind}()", *loop(s, 3, train), *tail]


SCENES = (told, told, told, evaluated, summarised)
