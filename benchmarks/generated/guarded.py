"""Scenes with try, except, else and finally around forward passes, backward passes and steps."""

from __future__ import annotations

from benchmarks.generated.loops import data, forward, logs, loop, model
from benchmarks.generated.stores import store
from benchmarks.generated.writer import Script, block


def skipped(s: Script) -> None:
    """A batch whose walk fails is skipped; the fault may be what makes it fail."""
    net, o, made = model(s)
    error = s.pick("RuntimeError", "RuntimeError", "Exception", "ValueError", "(RuntimeError, ValueError)")
    handler = s.pick(
        ["failed += 1"],
        ["failed += 1", "continue"],
        [f"{o}.zero_grad()", "failed += 1"],
        ["failed += 1", "raise"],
        ["failed += 1", "break"],
    )
    fault = s.pick(
        [], [], ["loss.backward()"], block("if i == 1:", ["raise RuntimeError('bad batch')"]), ["(loss * 2).backward()"]
    )
    ending = s.pick([], block("else:", [f"{o}.step()"]), block("finally:", [f"{o}.zero_grad()"]))
    step = [] if ending and "else" in ending[0] else [f"{o}.step()"]
    inner = [*forward(s, net), f"{o}.zero_grad()", "loss.backward()", *fault, *step]
    begin, told, last = logs(s, store(s))
    guarded = [*block("try:", inner), *block(f"except {error}:", handler), *ending]
    s.body += [*made, *data(s, 4), "failed = 0", *begin, *loop(s, 4, [*guarded, *told]), *last, "print(failed)"]


def carried(s: Script) -> None:
    """A state that goes over iterations, with a walk that is guarded."""
    net, o, made = model(s)
    state = s.name("state")
    update = s.pick(
        f"{state} = 0.5 * {state} + {net}(x)",
        f"{state} = torch.tanh({state} + {net}(x))",
        f"{state} = {net}(x) + {state}.detach()",
    )
    handler = s.pick(
        [f"{state} = torch.zeros(5, 1)"], ["print('reset')", f"{state} = {state}.detach()"], ["raise"], ["pass"], ["lost += 1"]
    )
    ending = s.pick([], [], block("finally:", [f"{state} = {state}.detach()"]), block("else:", [f"{state} = {state}.detach()"]))
    inner = [f"{o}.zero_grad()", f"loss.backward({s.pick('', '', 'retain_graph=True')})", f"{o}.step()"]
    error = s.pick("RuntimeError", "RuntimeError", "ZeroDivisionError")
    lines = [update, f"loss = F.mse_loss({state}, y)", *block("try:", inner), *block(f"except {error}:", handler), *ending]
    begin, told, last = logs(s, store(s), s.pick("loss", "loss.item()", f"{state}.mean()"))
    s.body += [
        *made,
        *data(s, 4),
        f"{state} = torch.zeros(5, 1)",
        "lost = 0",
        *begin,
        *loop(s, 4, [*lines, *told]),
        *last,
        f"print({state}.sum().item(), lost)",
    ]


def cleaned(s: Script) -> None:
    """What is done in `finally`: logging, walking, stepping, emptying."""
    net, o, made = model(s)
    kept = store(s)
    behind = s.pick(
        [f"{o}.step()"], [*kept.add("loss")], [f"{o}.step()", *kept.add("loss")], [*kept.add("loss"), f"{o}.zero_grad()"]
    )
    body = [*forward(s, net), *s.pick([f"{o}.zero_grad()"], []), f"loss.backward({s.pick('', '', 'retain_graph=True')})"]
    body += s.pick([], block("if i == 1:", ["continue"]), block("if i == 2:", ["break"]), [f"{o}.step()"])
    lines = ["loss = torch.zeros(())", *block("try:", body), *block("finally:", behind)]
    s.body += [*made, *data(s, 4), *kept.setup, *loop(s, 4, lines), f"print(float({kept.total}))"]


def tried(s: Script) -> None:
    """A function that returns out of its try, and callers that go on with what it made."""
    net, o, made = model(s)
    name = s.name("attempt")
    result = s.pick("return loss", "return loss.item()", "return loss, out", "return loss.detach()")
    body = [
        *block(
            "try:",
            [
                "out = net(x)",
                "loss = F.mse_loss(out, y)",
                "optimizer.zero_grad()",
                f"loss.backward({s.pick('', '', 'retain_graph=True')})",
                result,
            ],
        ),
        *s.pick(block("except RuntimeError:", ["return None"]), block("except ValueError as error:", ["print(error)", "raise"])),
        *block("finally:", ["optimizer.step()"]),
    ]
    s.define(*block(f"def {name}(net, optimizer, x, y):", body))
    value = "got[0]" if "," in result else "got"
    begin, told, last = logs(s, store(s), value)
    after = (
        []
        if not s.chance(0.3)
        else block(
            "if got is not None:",
            ["try:", f"    ({value} * 2).backward()", "except (RuntimeError, AttributeError):", "    print('no more')"],
        )
    )
    s.body += [
        *made,
        *data(s, 4),
        *begin,
        *loop(s, 4, [f"got = {name}({net}, {o}, x, y)", *block("if got is None:", ["continue"]), *told, *after]),
        *last,
    ]


def finite(s: Script) -> None:
    """Losses that are looked at before they are walked; what is not finite is left out, kept for later or raised."""
    net, o, made = model(s)
    test = s.pick("not torch.isfinite(loss)", "torch.isnan(loss).any()", "loss.item() > 1e6", "loss != loss", "loss > 1e6")
    reaction = s.pick(
        ["continue"],
        ["raise FloatingPointError('loss')"],
        ["skipped.append(loss)", "continue"],
        ["print('bad', loss.item())", "break"],
        ["loss = torch.nan_to_num(loss)"],
    )
    lines = [*forward(s, net), *block(f"if {test}:", reaction), f"{o}.zero_grad()", "loss.backward()", f"{o}.step()"]
    check = s.pick(
        [], [f"assert all(torch.isfinite(p).all() for p in {net}.parameters())"], ["assert torch.isfinite(loss), loss"]
    )
    begin, told, last = logs(s, store(s))
    s.body += [*made, *data(s, 4), "skipped = []", *begin, *loop(s, 4, [*lines, *check, *told]), *last, "print(len(skipped))"]


SCENES = (skipped, skipped, carried, carried, cleaned, tried, finite)
