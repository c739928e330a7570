"""Scenes that look at more of a stored value than its number: its kind, its identity, its flags, its memory, its gradients."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.generated.containers import own
from benchmarks.generated.loops import data, forward, loop, model
from benchmarks.generated.stores import Store, store
from benchmarks.generated.writer import Script, block


def _kind(s: Script, value: str) -> list[str]:
    s.need("import numbers")
    return s.pick(
        [f"print(isinstance({value}, torch.Tensor))"],
        [f"print(torch.is_tensor({value}))"],
        [f"print(type({value}).__name__)"],
        [f"print(hasattr({value}, 'item'))"],
        [f"print(isinstance({value}, numbers.Number))"],
        [f"print(getattr({value}, 'ndim', -1))"],
        [f"print(torch.as_tensor({value}).dtype)"],
        [*block(f"match {value}:", block("case float():", ["print('number')"]), block("case _:", ["print('other')"]))],
        [*block("try:", [f"print({value}.dim())"]), *block("except AttributeError:", ["print('no dim')"])],
        [f"print({value}.item() if torch.is_tensor({value}) else -{value})"],
        [f"print(int(isinstance({value}, float)))"],
    )


def _flags(s: Script, value: str) -> list[str]:
    return s.pick(
        [f"print(getattr({value}, 'requires_grad', None))"],
        [f"print(getattr({value}, 'grad_fn', None) is not None)"],
        [f"print(getattr({value}, 'is_leaf', None))"],
        [f"print(torch.as_tensor({value}).requires_grad)"],
        [f"print((torch.zeros(1) + {value}).requires_grad)"],
        [f"print(torch.stack([torch.as_tensor({value}), torch.zeros(())]).requires_grad)"],
        [*block(f"if getattr({value}, 'requires_grad', False):", ["print('live')"])],
        [*block("try:", [f"torch.as_tensor({value}).numpy()"]), *block("except RuntimeError:", ["print('no numpy')"])],
        ["import copy", *block("try:", [f"copy.deepcopy({value})"]), *block("except RuntimeError:", ["print('no copy')"])],
        [
            *block("try:", [f"torch.as_tensor({value}).requires_grad_(False)"]),
            *block("except RuntimeError:", ["print('not a leaf')"]),
        ],
    )


def _later(s: Script, value: str) -> list[str]:
    """It is part of something that is walked after all, or tried to be."""
    again = f"(torch.ones(1, requires_grad=True) * {value}).sum()"
    return s.pick(
        [f"{again}.backward()"],
        [*block("try:", [f"{again}.backward()"]), *block("except RuntimeError as error:", ["print(str(error)[:10])"])],
        [
            *block("try:", [f"torch.as_tensor({value}).backward()"]),
            *block("except RuntimeError as error:", ["print(str(error)[:20])"]),
        ],
        [f"lr = 0.01 * {value}", "print(float(lr))"],
        [
            "weight = torch.ones(1, requires_grad=True)",
            f"(weight * float({value})).sum().backward()",
            "print(weight.grad.item())",
        ],
        [
            "weight = torch.ones(1, requires_grad=True)",
            f"g, = torch.autograd.grad((weight * {value}).sum(), weight)",
            "print(g.item())",
        ],
    )


def _identity(s: Script, value: str) -> list[str]:
    return s.pick(
        [f"print(loss is {value})"],
        [f"print(id(loss) == id({value}))"],
        [f"print({{loss: 1}}.get({value}))"],
        [f"print(loss in [{value}])"],
        [f"print(torch.as_tensor({value}).data_ptr() == torch.as_tensor(loss).data_ptr())"],
        [f"seen = {{id(v) for v in [{value}, loss]}}", "print(len(seen))"],
    )


def _memory(s: Script, value: str) -> list[str]:
    return s.pick(
        [f"changed = {value}", "changed += 1", f"print(float(loss), float({value}))"],
        [f"changed = torch.as_tensor({value}).detach()", "changed.zero_()", "print(float(loss))"],
        [f"changed = torch.as_tensor({value})", *block("with torch.no_grad():", ["changed.mul_(2)"]), "print(float(loss))"],
        [f"changed = torch.as_tensor({value}).data", "changed.fill_(3.0)", f"print(float({value}))"],
    )


_KINDS: tuple[Callable[[Script, str], list[str]], ...] = (_kind, _flags, _later, _identity, _memory)


def _any(s: Script) -> Store:
    return own(s) if s.chance(0.4) else store(s)


def looked_at(s: Script) -> None:
    """Plain training with a store that is looked at behind the loop, or in it."""
    net, o, made = model(s)
    kept = _any(s)
    put = s.pick("loss", "loss", "loss * 1.0", "loss / 3")
    look = s.random.choice(_KINDS)(s, s.pick(kept.total, kept.total, f"({kept.values})[-1]" if kept.values else kept.total))
    inside = s.chance(0.3)
    train = [*forward(s, net), f"{o}.zero_grad()", "loss.backward()", f"{o}.step()", *kept.add(put), *(look if inside else [])]
    tail = [*([] if inside else look), *s.pick([], [f"print(float({kept.total}))"])]
    s.body += [*made, *data(s, 3), *kept.setup, *loop(s, 3, train), *tail]


def evaluated(s: Script) -> None:
    """An evaluation whose result, or whose features, are looked at."""
    net, _, made = model(s)
    name, kept = s.name("validate"), _any(s)
    body = [
        *s.pick([], ["net.eval()"]),
        *kept.setup,
        *block("for i, (x, y) in enumerate(data):", ["loss = F.mse_loss(net(x), y)", *kept.add("loss")]),
    ]
    s.define(*block(f"def {name}(net, data):", body, [f"return {kept.total}"]))
    look = s.random.choice((_kind, _flags, _later, _memory))(s, "result")
    s.body += [*made, *data(s, 3), "loss = torch.zeros(())", f"result = {name}({net}, data)", *look]


def gradients(s: Script) -> None:
    """What the gradients of the training are, where a cut or a released graph would show."""
    net, o, made = model(s)
    scale = s.name("scale")
    kept = _any(s)
    form = s.pick("leaf", "retained", "hook", "counter", "grads")
    lines = ["x = x * 1.0"]
    first = f"{scale} = torch.ones(1, requires_grad=True)"
    if form == "leaf":
        lines += [
            *forward(s, net),
            f"loss = (loss * {scale}).sum()",
            f"{o}.zero_grad()",
            "loss.backward()",
            f"{o}.step()",
            f"print({scale}.grad.item())",
        ]
    elif form == "retained":
        lines += [
            f"out = {net}(x)",
            "out.retain_grad()",
            "loss = F.mse_loss(out, y)",
            f"{o}.zero_grad()",
            "loss.backward()",
            f"{o}.step()",
            "print(out.grad.norm().item())",
        ]
    elif form == "hook":
        first = f"{scale} = []"
        lines += [
            *forward(s, net),
            f"loss.register_hook(lambda g: {scale}.append(float(g)))",
            f"{o}.zero_grad()",
            "loss.backward()",
            f"{o}.step()",
            f"print(len({scale}))",
        ]
    elif form == "counter":
        first = f"{scale} = [0]"
        made = [
            *made,
            *block(f"for p in {net}.parameters():", [f"p.register_hook(lambda g: {scale}.__setitem__(0, {scale}[0] + 1))"]),
        ]
        made.insert(0, first)
        lines += [*forward(s, net), f"{o}.zero_grad()", "loss.backward()", f"{o}.step()", f"print({scale}[0])"]
    else:
        lines += [
            *forward(s, net),
            "loss.backward()",
            *block("if i % 2 == 1:", [f"{o}.step()", f"{o}.zero_grad()"]),
            f"print(sum(p.grad.norm().item() for p in {net}.parameters() if p.grad is not None))",
        ]
    second = s.pick([], [], ["extra = loss * 2", "print(float(extra))"])
    s.body += [
        *made,
        *([first] if form != "counter" else []),
        *data(s, 3),
        *kept.setup,
        *loop(s, 3, [*lines, *second, *kept.add("loss")]),
        f"print(float({kept.total}))",
    ]


SCENES = (looked_at, looked_at, looked_at, evaluated, gradients)
