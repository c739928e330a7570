"""Scenes in which a loss also reaches parameters of others, whose gradients are cleared, used, read or gathered."""

from __future__ import annotations

from benchmarks.generated.loops import logs
from benchmarks.generated.stores import store
from benchmarks.generated.writer import Script, block

_READ = (
    "print(sum(p.grad.norm().item() for p in {0}.parameters() if p.grad is not None))",
    "print(sum(int(p.grad is None) for p in {0}.parameters()))",
    "norms.append(max([0.0] + [float(p.grad.abs().max()) for p in {0}.parameters() if p.grad is not None]))",
    "nn.utils.clip_grad_norm_([*{0}.parameters(), *{1}.parameters()], 0.1)",
    "print(nn.utils.clip_grad_norm_({0}.parameters(), 0.5).item())",
)


def _reader(s: Script, first: str, second: str) -> list[str]:
    return [s.random.choice(_READ).format(first, second)] if s.chance(0.4) else []


def _clearing(s: Script, net: str, optimizer: str, other: str) -> list[str]:
    return s.pick(
        [f"{optimizer}.zero_grad()"],
        [f"{optimizer}.zero_grad()"],
        [f"{net}.zero_grad()"],
        [f"{net}.zero_grad()", f"{other}.zero_grad()"],
        block(f"for p in {net}.parameters():", ["p.grad = None"]),
        block("if i % 2 == 0:", [f"{optimizer}.zero_grad()"]),
        [f"{optimizer}.zero_grad(set_to_none=False)"],
        [],
    )


def encoded(s: Script) -> None:
    """An encoder with two heads, each with a loss and an optimizer of its own."""
    e, a, b = s.name("encoder"), s.name("head"), s.name("probe")
    oe, ob = s.name("opt"), s.name("probe_opt")
    s.kept += [e, a, b]
    s.body += [
        f"{e}, {a}, {b} = nn.Linear(4, 5), nn.Linear(5, 1), nn.Sequential(nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 1))",
        f"{oe} = torch.optim.SGD([*{e}.parameters(), *{a}.parameters()], lr=0.05, momentum={s.pick('0.0', '0.9')})",
        f"{ob} = torch.optim.SGD({s.pick(f'{b}.parameters()', f'[*{b}.parameters(), *{e}.parameters()]')}, lr=0.05)",
        "norms = []",
    ]
    cut = s.pick("h", "h", "h.detach()", "h.clone()")
    side = [
        f"{s.pick('h = ' + e + '(x)', 'pass')}",
        f"side = F.mse_loss({b}({cut}), -y)",
        *_clearing(s, b, ob, e),
        f"side.backward({s.pick('', 'retain_graph=True')})",
        *_reader(s, e, b),
        f"{ob}.step()",
    ]
    main = [
        f"h = {s.pick('', 'torch.tanh')}({e}(x))",
        f"loss = F.mse_loss({a}(h), y)",
        *_clearing(s, e, oe, b),
        f"loss.backward({s.pick('', 'retain_graph=True')})",
        *_reader(s, e, a),
        f"{oe}.step()",
    ]
    first = [f"h = {e}(x)", *side] if s.chance(0.5) else []
    order = [*first, *main] if first else [*main, *side]
    begin, told, last = logs(s, store(s), s.pick("loss", "side"))
    s.body += [
        *begin,
        *block("for i in range(4):", ["x, y = torch.randn(5, 4), torch.randn(5, 1)"], order, told),
        *last,
        "print(norms)",
    ]


def players(s: Script) -> None:
    """A generator and a critic; what reaches the other one is cleared, stepped with, or looked at."""
    g, d, og, od = s.name("gen"), s.name("disc"), s.name("opt_g"), s.name("opt_d")
    s.kept += [g, d]
    s.body += [
        f"{g}, {d} = nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))",
        f"{og} = torch.optim.SGD({g}.parameters(), lr=0.05, weight_decay={s.pick('0', '0.1')})",
        f"{od} = torch.optim.SGD({s.pick(f'{d}.parameters()', f'{d}.parameters()', f'[*{d}.parameters(), *{g}.parameters()]')}, lr=0.05)",
        "norms = []",
    ]
    critic = [
        f"d_loss = {d}({g}(torch.randn(5, 3)){s.pick('', '', '.detach()')}).mean() - {d}(real).mean()",
        *_clearing(s, d, od, g),
        "d_loss.backward()",
        *_reader(s, g, d),
        f"{od}.step()",
    ]
    actor = [
        f"g_loss = -{d}({g}(torch.randn(5, 3))).mean()",
        *_clearing(s, g, og, d),
        "g_loss.backward()",
        *_reader(s, d, g),
        f"{og}.step()",
    ]
    actor = s.pick(
        actor,
        actor,
        block("if i > 0:", actor),
        block("for _ in range(2):", actor),
        [*actor[:-1], *block("if i % 2:", [actor[-1]])],
    )
    order = [*critic, *actor] if s.chance(0.6) else [*actor, *critic]
    outer = block("if i == 3:", ["break"]) if s.chance(0.2) else []
    begin, told, last = logs(s, store(s), "d_loss")
    s.body += [*begin, *block("for i in range(4):", ["real = torch.randn(5, 4)"], outer, order, told), *last, "print(norms)"]
    s.body += s.pick([], [f"print(sum(p.grad.sum().item() for p in {g}.parameters() if p.grad is not None))"], [f"{og}.step()"])


def hooked(s: Script) -> None:
    """Hooks on the other player's parameters or outputs that count, scale or collect."""
    g, d, og, od = s.name("gen"), s.name("disc"), s.name("opt_g"), s.name("opt_d")
    s.kept += [g, d]
    hook = s.pick(
        block(f"for p in {g}.parameters():", ["p.register_hook(lambda grad: calls.append(1))"]),
        [f"{g}.register_full_backward_hook(lambda m, i, o: calls.append(1))"],
        block(f"for p in {g}.parameters():", ["p.register_post_accumulate_grad_hook(lambda p: calls.append(1))"]),
        [f"{g}.register_forward_hook(lambda m, i, o: calls.append(o.requires_grad))"],
        [],
    )
    s.body += [f"calls, {g}, {d} = [], nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))", *hook]
    s.body += [f"{og}, {od} = torch.optim.Adam({g}.parameters(), lr=0.01), torch.optim.Adam({d}.parameters(), lr=0.01)"]
    lines = ["real = torch.randn(5, 4)", f"fake = {g}(torch.randn(5, 3))"]
    lines += [
        f"d_loss = {d}({s.pick('fake', 'fake', 'fake.detach()')}).mean() - {d}(real).mean()",
        f"{od}.zero_grad()",
        f"d_loss.backward({s.pick('', 'retain_graph=True')})",
        f"{od}.step()",
    ]
    lines += [
        *s.pick([f"fake = {g}(torch.randn(5, 3))"], []),
        f"g_loss = -{d}(fake).mean()",
        f"{og}.zero_grad()",
        "g_loss.backward()",
        f"{og}.step()",
    ]
    s.body += [*block("for i in range(3):", lines), "print(len(calls), sum(calls))"]


SCENES = (encoded, players, players, hooked)
