"""Scenes with several networks: adversaries, actors and critics, distillation, penalties, inner steps."""

from __future__ import annotations

from benchmarks.generated.loops import logs
from benchmarks.generated.stores import store
from benchmarks.generated.walks import walk
from benchmarks.generated.writer import Script, block


def _told(s: Script, *values: str) -> tuple[list[str], list[str], list[str]]:
    """Some logs of these losses."""
    begin, step, last = [], [], []
    for _ in range(s.pick(0, 1, 1, 2)):
        a, b, c = logs(
            s, store(s), s.pick(*values, *(f"({value}).item()" if " " in value else f"{value}.item()" for value in values))
        )
        begin, step, last = begin + a, step + b, last + c
    return begin, step, last


def adversaries(s: Script) -> None:
    """A generator and a discriminator in turn."""
    g, d, og, od = s.name("gen"), s.name("disc"), s.name("opt_g"), s.name("opt_d")
    s.kept += [g, d]
    s.body += [
        f"{g} = nn.Sequential(nn.Linear(3, 5), nn.{s.pick('ReLU', 'Tanh')}(), nn.Linear(5, 4))",
        f"{d} = nn.Sequential(nn.Linear(4, 5), nn.{s.pick('Tanh', 'LeakyReLU')}(), nn.Linear(5, 1))",
        f"{og} = torch.optim.Adam({g}.parameters(), lr=0.01)",
        f"{od} = torch.optim.SGD({d}.parameters(), lr=0.05)",
    ]
    detach = s.pick("fake.detach()", "fake.detach()", "fake", "fake", "fake.clone()", "fake.data")
    retain = s.pick("", "", "retain_graph=True")
    anew = s.chance(0.5)
    wasserstein = s.chance(0.4)
    if wasserstein:
        d_loss, g_loss = f"{d}({detach}).mean() - {d}(real).mean()", f"-{d}(fake).mean()"
    else:
        d_loss = f"F.softplus(-{d}(real)).mean() + F.softplus({d}({detach})).mean()"
        g_loss = f"F.softplus(-{d}(fake)).mean()"
    begin, step, last = _told(s, "d_loss", "g_loss", "d_loss + g_loss")
    critic = [f"d_loss = {d_loss}", f"{od}.zero_grad()", f"d_loss.backward({retain})", f"{od}.step()"]
    remake = ["z = torch.randn(5, 3)", f"fake = {g}(z)"] if anew else []
    actor = [*remake, f"g_loss = {g_loss}", f"{og}.zero_grad()"]
    actor += s.pick(
        ["g_loss.backward()"], ["g_loss.backward()"], ["g_loss.backward(retain_graph=True)"], walk(s, "g_loss").copy()
    )
    actor = [line.replace("model.parameters", f"{g}.parameters") for line in actor] + [f"{og}.step()"]
    if s.chance(0.2):
        critic, actor = critic[:-1], [*actor, critic[-1]]
    inside = ["real = torch.randn(5, 4)", f"fake = {g}(torch.randn(5, 3))"]
    if s.chance(0.15):
        inside = ["real = torch.randn(5, 4)", *block("with torch.no_grad():", [f"fake = {g}(torch.randn(5, 3))"])]
        actor = [f"fake = {g}(torch.randn(5, 3))", *actor]
    if s.chance(0.2):
        critic = block("for _ in range(2):", critic)
    s.body += [*begin, *block(f"for i in range({s.random.randint(3, 5)}):", inside, critic, actor, step), *last]


def actor_critic(s: Script) -> None:
    """An actor, a critic, rewards; the advantage or the target cut or not."""
    p, v, op, ov = s.name("policy"), s.name("value_net"), s.name("opt_p"), s.name("opt_v")
    s.kept += [p, v]
    s.need("from torch.distributions import Categorical")
    s.body += [
        f"{p} = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))",
        f"{v} = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))",
        f"{op} = torch.optim.Adam({p}.parameters(), lr=0.01)",
        f"{ov} = torch.optim.Adam({v}.parameters(), lr=0.01)",
    ]
    if s.chance(0.5):
        cut = s.pick(".detach()", ".detach()", "")
        boot = s.pick(f"{v}(after).squeeze(-1).detach()", f"{v}(after).squeeze(-1)")
        begin, step, last = _told(s, "actor_loss", "critic_loss")
        both = s.chance(0.3)
        walks = (
            [f"{op}.zero_grad()", f"{ov}.zero_grad()", "(actor_loss + critic_loss).backward()", f"{op}.step()", f"{ov}.step()"]
            if both
            else [
                f"{op}.zero_grad()",
                f"actor_loss.backward({s.pick('', '', 'retain_graph=True')})",
                f"{op}.step()",
                f"{ov}.zero_grad()",
                "critic_loss.backward()",
                f"{ov}.step()",
            ]
        )
        lines = [
            "now, after, reward = torch.randn(5, 4), torch.randn(5, 4), torch.randn(5)",
            f"choice = Categorical(logits={p}(now))",
            "action = choice.sample()",
            f"target = reward + 0.9 * {boot}",
            f"advantage = target - {v}(now).squeeze(-1)",
            f"actor_loss = -(choice.log_prob(action) * advantage{cut}).mean()",
            "critic_loss = advantage.pow(2).mean()",
            *walks,
        ]
        s.body += [*begin, *block(f"for i in range({s.random.randint(3, 5)}):", lines, step), *last]
        return
    _episodes(s, p, v, op, ov)


def _episodes(s: Script, p: str, v: str, op: str, ov: str) -> None:
    """Log-probabilities and values of an episode, walked at its end; cleared or not."""
    holder = s.pick("saved = []", "saved = []")
    clear = s.pick("saved.clear()", "saved = []", "del saved[:]", "pass")
    outer = holder if s.chance(0.5) else "pass"
    returns = ["returns, ret = [], 0.0", *block("for r in rewards[::-1]:", ["ret = r + 0.9 * ret", "returns.insert(0, ret)"])]
    advantage = s.pick("(ret - value.detach())", "(ret - value.item())", "(ret - value)")
    kind = s.pick("stack", "sum")
    total = (
        "torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()"
        if kind == "stack"
        else "sum(policy_losses) + sum(value_losses)"
    )
    begin, step, last = _told(s, "loss", "loss * 1.0")
    lines = [
        "rewards = []",
        outer,
        *block(
            "for t in range(3):",
            [
                "seen = torch.randn(4)",
                f"choice = Categorical(logits={p}(seen))",
                "action = choice.sample()",
                f"saved.append((choice.log_prob(action), {v}(seen).squeeze()))",
                "rewards.append(float(action))",
            ],
        ),
        *returns,
        "policy_losses, value_losses = [], []",
        *block(
            "for (log_prob, value), ret in zip(saved, returns):",
            [f"policy_losses.append(-log_prob * {advantage})", "value_losses.append((value - ret) ** 2)"],
        ),
        f"{op}.zero_grad()",
        f"{ov}.zero_grad()",
        f"loss = {total}",
        "loss.backward()",
        f"{op}.step()",
        f"{ov}.step()",
        clear,
    ]
    s.body += [holder, *begin, *block("for i in range(3):", [line for line in lines if line != "pass"], step), *last]


def distilled(s: Script) -> None:
    """A student and a teacher: cut or not, in no_grad or not, an average of the student or not."""
    a, b, o = s.name("student"), s.name("teacher"), s.name("opt")
    s.need("import copy")
    s.kept += [a, b]
    s.body += [
        f"{a} = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))",
        f"{b} = copy.deepcopy({a})",
        f"{o} = torch.optim.SGD({a}.parameters(), lr=0.05)",
    ]
    form = s.pick("nograd", "detach", "open", "frozen")
    if form == "frozen":
        s.body += block(f"for p in {b}.parameters():", ["p.requires_grad_(False)"])
    target = {"nograd": block("with torch.no_grad():", [f"target = {b}(x)"]), "detach": [f"target = {b}(x).detach()"]}.get(
        form, [f"target = {b}(x)"]
    )
    average = block(
        "with torch.no_grad():", block(f"for p, q in zip({a}.parameters(), {b}.parameters()):", ["q.mul_(0.9).add_(0.1 * p)"])
    )
    begin, step, last = _told(s, "loss")
    lines = [
        "x = torch.randn(5, 4)",
        *target,
        f"loss = F.mse_loss({a}(x), target)",
        f"{o}.zero_grad()",
        "loss.backward()",
        f"{o}.step()",
        *s.pick([], average),
    ]
    s.body += [*begin, *block("for i in range(4):", lines, step), *last]


def penalised(s: Script) -> None:
    """Gradients of inputs: penalties, saliency, jacobian rows, with more or less create_graph and retain_graph."""
    net, o = s.name("critic"), s.name("opt")
    s.kept.append(net)
    s.body += [
        f"{net} = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))",
        f"{o} = torch.optim.SGD({net}.parameters(), lr=0.05)",
    ]
    form = s.pick("penalty", "saliency", "rows", "meta", "hessian")
    x = "x = torch.randn(4, 3, requires_grad=True)"
    begin, step, last = _told(s, "loss", "loss * 2")
    if form == "penalty":
        create, used = s.pick(
            ("create_graph=True", True),
            ("create_graph=True", True),
            ("create_graph=True", False),
            ("create_graph=True, retain_graph=True", True),
        )
        term = "loss = out.pow(2).mean() + 0.1 * penalty" if used else "loss = out.pow(2).mean()"
        lines = [
            x,
            f"out = {net}(x)",
            f"grad, = torch.autograd.grad(out.sum(), x, {create})",
            "penalty = (grad.norm(dim=1) - 1).pow(2).mean()",
            term,
        ]
        lines += s.pick([], ["print(penalty.item())"])
    elif form == "saliency":
        create = s.pick(", create_graph=True", ", retain_graph=True", ", retain_graph=True", "")
        lines = [
            x,
            f"out = {net}(x)",
            f"grad, = torch.autograd.grad(out.sum(), x{create})",
            f"loss = out.pow(2).mean() + {s.pick('0.1 * grad.abs().mean()', '0.0')}",
        ]
    elif form == "rows":
        retain = s.pick("retain_graph=True", "retain_graph=j < 1", "retain_graph=True", "retain_graph=(j + 1 < out.size(1))")
        rows = block("for j in range(2):", [f"row, = torch.autograd.grad(out[:, j].sum(), x, {retain})", "rows.append(row)"])
        lines = [
            x,
            f"out = {net}(x)",
            "rows = []",
            *rows,
            "print(torch.stack(rows).abs().mean().item())",
            s.pick("loss = out.pow(2).mean()", f"loss = {net}(x.detach()).pow(2).mean()"),
        ]
    elif form == "meta":
        order = s.pick("True", "True", "i >= 2", "False")
        lines = [
            "x = torch.randn(4, 3)",
            f"weights = dict({net}.named_parameters())",
            f"inner = torch.func.functional_call({net}, weights, (x,)).pow(2).mean()",
            f"grads = torch.autograd.grad(inner, list(weights.values()), create_graph={order})",
            "fast = {k: w - 0.1 * g for (k, w), g in zip(weights.items(), grads)}",
            f"loss = torch.func.functional_call({net}, fast, (x + 1,)).pow(2).mean()",
        ]
    else:
        lines = [
            "x = torch.randn(4, 3)",
            f"loss = {net}(x).pow(2).mean()",
            f"grads = torch.autograd.grad(loss, list({net}.parameters()), create_graph=True)",
            "dot = sum((g * torch.ones_like(g)).sum() for g in grads)",
            f"hv = torch.autograd.grad(dot, list({net}.parameters()){s.pick('', ', retain_graph=True')})",
            "print(sum(h.abs().sum().item() for h in hv))",
            f"loss = {s.pick(f'{net}(x).pow(2).mean()', 'loss')}",
        ]
    walks = [f"{o}.zero_grad()", f"loss.backward({s.pick('', '', '', 'retain_graph=True', 'create_graph=True')})", f"{o}.step()"]
    s.body += [*begin, *block(f"for i in range({s.random.randint(3, 5)}):", lines, walks, step), *last]


SCENES = (adversaries, adversaries, actor_critic, distilled, penalised)
