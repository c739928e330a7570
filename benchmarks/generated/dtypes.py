"""Scenes in which numbers have another type than usual, or one that has a name: double, half, mixed, counted."""

from __future__ import annotations

from benchmarks.generated.containers import own
from benchmarks.generated.loops import logs, model
from benchmarks.generated.stores import store
from benchmarks.generated.walks import read
from benchmarks.generated.writer import Script, block

_NAMED = (
    "torch.float64",
    "torch.double",
    "torch.bfloat16",
    "torch.float32",
    "getattr(torch, 'float64')",
    "{'high': torch.float64, 'low': torch.bfloat16}['high']",
    "{'high': torch.float64, 'low': torch.bfloat16}['low']",
    "torch.float64 if torch.ones(1).item() > 0 else torch.float32",
)


def _typed(s: Script, net: str) -> tuple[list[str], str]:
    """Statements that give `net` another type, and an expression for it."""
    kind = s.name("kind")
    form = s.pick("to", "to", "method", "built", "attribute", "computed")
    if form == "to":
        return [f"{kind} = {s.random.choice(_NAMED)}", f"{net} = {net}.to({kind})"], kind
    if form == "built":
        return [
            f"{kind} = next({net}.parameters()).dtype",
            f"{net}.{s.pick('double', 'bfloat16')}()",
            f"{kind} = next({net}.parameters()).dtype",
        ], kind
    if form == "attribute":
        s.need("from types import SimpleNamespace")
        config = s.name("config")
        return [
            f"{config} = SimpleNamespace(dtype={s.pick('torch.float64', 'torch.bfloat16')}, lr=0.05)",
            f"{net}.to(dtype={config}.dtype)",
        ], f"{config}.dtype"
    if form == "computed":
        return [f"{kind} = getattr(torch, 'float' + str({s.pick(64, 32)}))", f"{net}.to({kind})"], kind
    method = s.pick("double", "bfloat16", "float")
    return [f"{net}.{method}()"], {"double": "torch.float64", "bfloat16": "torch.bfloat16", "float": "torch.float32"}[method]


def _batches(s: Script, kind: str) -> list[str]:
    return s.pick(
        [f"data = [(torch.randn(5, 4, dtype={kind}), torch.randn(5, 1, dtype={kind})) for _ in range(4)]"],
        [f"data = [(torch.randn(5, 4).to({kind}), torch.randn(5, 1).to({kind})) for _ in range(4)]"],
        [f"data = [(x.to({kind}), y.type({kind})) for x, y in zip(torch.randn(4, 5, 4), torch.randn(4, 5, 1))]"],
    )


def _loss(s: Script, net: str) -> str:
    return s.pick(
        f"F.mse_loss({net}(x), y)",
        f"({net}(x) - y).pow(2).mean()",
        f"F.mse_loss({net}(x).float(), y.float())",
        f"F.mse_loss({net}(x).double(), y.double())",
        f"F.l1_loss({net}(x), y) * 1000.1",
    )


def typed(s: Script) -> None:
    """Training in another type; totals and means of its losses."""
    net, o, made = model(s)
    change, kind = _typed(s, net)
    again = f"{o} = torch.optim.SGD({net}.parameters(), lr=0.05)"
    begin, step, last = [], [], []
    for _ in range(s.pick(1, 2)):
        put = s.pick("loss", "loss", "loss * 0.1", "loss.float()", "loss.double()", f"loss.to({kind})", "loss * x.size(0)")
        a, b, c = logs(s, own(s) if s.chance(0.4) else store(s), put)
        begin, step, last = begin + a, step + b, last + c
    lines = [f"loss = {_loss(s, net)}", f"{o}.zero_grad()", "loss.backward()", f"{o}.step()", *step]
    s.body += [*made, *change, again, *_batches(s, kind), *begin, *block("for i, (x, y) in enumerate(data):", lines), *last]


def sums(s: Script) -> None:
    """Large sums, differences and comparisons, whose digits depend on the type."""
    net, o, made = model(s)
    change, kind = _typed(s, net) if s.chance(0.5) else ([], "torch.float32")
    again = [f"{o} = torch.optim.SGD({net}.parameters(), lr=0.001)"] if change else []
    total = s.name("total")
    start = s.pick(
        "0.0",
        "0",
        f"torch.zeros((), dtype={kind})",
        "torch.zeros((), dtype=torch.float64)",
        "torch.tensor(0)",
        "16777216.0",
        "torch.tensor(16777216.0)",
    )
    put = s.pick("loss", "loss * 1e4", "loss / 3", "loss * 1e-4", "loss ** 2", "loss.round()", "loss + 1e6")
    lines = [
        f"loss = {_loss(s, net)}",
        f"{o}.zero_grad()",
        "loss.backward()",
        f"{o}.step()",
        s.pick(f"{total} += {put}", f"{total} = {total} + {put}"),
    ]
    if s.chance(0.3):
        lines += [
            "last = loss",
            s.pick("gap = loss - last", f"gap = {total} - loss", "gap = loss * 1e6 - last * 1e6"),
            "print(float(gap))",
        ]
    shown = s.pick(
        f"float({total})",
        f"float({total} - 16777216.0)",
        f"int({total})",
        f"float({total}) * 3",
        f"{total} == {total} + 0.0001",
        f"torch.as_tensor({total}).dtype",
        f"float({total} % 1)",
        f"{total} // 1",
    )
    s.body += [
        *made,
        *change,
        *again,
        *_batches(s, kind),
        f"{total} = {start}",
        *block("for i, (x, y) in enumerate(data):", lines),
        f"print({shown})",
    ]


def counted(s: Script) -> None:
    """Hits, counts and weights: integers beside floats, averages over them."""
    net, o, made = model(s)
    hits, seen, total = s.name("hits"), s.name("seen"), s.name("weighted")
    lines = [f"out = {net}(x)", "loss = F.mse_loss(out, y)", f"{o}.zero_grad()", "loss.backward()", f"{o}.step()"]
    lines += [
        s.pick(
            f"{hits} += (out > y).sum()",
            f"{hits} += ((out - y).abs() < 1).float().sum()",
            f"{hits} += (out.sign() == y.sign()).sum().item()",
        )
    ]
    lines += [s.pick(f"{seen} += x.size(0)", f"{seen} += len(y)", f"{seen} += torch.tensor(x.size(0))", f"{seen} += y.numel()")]
    lines += [
        s.pick(
            f"{total} += loss * x.size(0)",
            f"{total} += len(x) * loss",
            f"{total} += loss * (y > 0).sum()",
            f"{total} += loss.double() * len(x)",
            f"{total} += loss.sum() * torch.tensor(5)",
        )
    ]
    tail = [s.pick(f"print(float({hits}) / float({seen}))", f"print(100.0 * {hits} / {seen})", f"print({hits} // 2)")]
    tail += [
        s.pick(
            f"print(float({total} / {seen}))", f"print({total}.item() / {seen})", f"print(({total} / {seen}) if {seen} else 0)"
        )
    ]
    s.body += [
        *made,
        "data = [(torch.randn(5, 4), torch.randn(5, 1)) for _ in range(4)]",
        f"{hits}, {seen}, {total} = 0, 0, 0.0",
        *block("for i, (x, y) in enumerate(data):", lines),
        *tail,
    ]


def mixed(s: Script) -> None:
    """Autocast, half of the net in another type, losses cast back."""
    net, o, made = model(s)
    cast = s.pick(
        "torch.autocast('cpu', dtype=torch.bfloat16)",
        "torch.amp.autocast('cpu', dtype=torch.bfloat16)",
        "torch.autocast('cpu', enabled=False)",
    )
    inside = [f"out = {net}(x)"]
    loss = s.pick(["loss = F.mse_loss(out.float(), y)"], ["loss = F.mse_loss(out, y)"], ["loss = (out - y).pow(2).mean()"])
    whole = block(f"with {cast}:", inside, loss) if s.chance(0.5) else [*block(f"with {cast}:", inside), *loss]
    walks = ["loss.backward()"]
    if s.chance(0.3):
        walks = ["scaler.scale(loss).backward()"]
        made = [*made, "scaler = torch.amp.GradScaler('cpu', enabled=False)"]
    begin, told, last = logs(s, store(s), s.pick("loss", "loss.float()", "out.mean()", "out.float().mean()"))
    extra = read(s, "out.mean()", True) if s.chance(0.3) else []
    s.body += [*made, "data = [(torch.randn(5, 4), torch.randn(5, 1)) for _ in range(4)]", *begin]
    s.body += [
        *block("for i, (x, y) in enumerate(data):", whole, [f"{o}.zero_grad()", *walks, f"{o}.step()", *told, *extra]),
        *last,
    ]


SCENES = (typed, typed, sums, sums, counted, mixed)
