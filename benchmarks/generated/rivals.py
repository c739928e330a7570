"""Scenes with adversaries in functions, classes and pools, with detaches present, missing, or in another place."""

from __future__ import annotations

from benchmarks.generated.loops import logs
from benchmarks.generated.stores import store
from benchmarks.generated.writer import Script, block


def _nets(s: Script) -> tuple[list[str], str, str, str, str]:
    g, d, og, od = s.name("gen"), s.name("disc"), s.name("opt_g"), s.name("opt_d")
    s.kept += [g, d]
    kind = s.pick("SGD", "Adam")
    made = [
        f"{g} = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 4))",
        f"{d} = nn.Sequential(nn.Linear(4, 5), nn.LeakyReLU(), nn.Linear(5, 1))",
        f"{og} = torch.optim.{kind}({g}.parameters(), lr=0.02)",
        f"{od} = torch.optim.{kind}({d}.parameters(), lr=0.02)",
    ]
    return made, g, d, og, od


def _fake(s: Script) -> str:
    return s.pick("fake", "fake", "fake.detach()", "fake.detach()", "fake.data", "fake.clone()")


def functions(s: Script) -> None:
    """A step of each player in a function; the fake is made outside, in both, or handed over."""
    made, g, d, og, od = _nets(s)
    d_step, g_step = s.name("d_step"), s.name("g_step")
    retain = s.pick("", "", "", "retain_graph=True")
    result = s.pick("return loss", "return loss.item()", "return loss.detach()")
    own = s.chance(0.4)
    take = ["fake = gen(torch.randn(5, 3))"] if own else []
    s.define(
        *block(
            f"def {d_step}(gen, disc, optimizer, real, fake):",
            s.pick(take, block("with torch.no_grad():", take) if take else []),
            [
                f"loss = F.softplus(-disc(real)).mean() + F.softplus(disc({_fake(s)})).mean()",
                "optimizer.zero_grad()",
                f"loss.backward({retain})",
                "optimizer.step()",
                result,
            ],
        )
    )
    clear = s.pick(["optimizer.zero_grad()"], ["gen.zero_grad()"], ["optimizer.zero_grad()", "disc.zero_grad()"], [])
    s.define(
        *block(
            f"def {g_step}(gen, disc, optimizer, fake):",
            take,
            ["loss = F.softplus(-disc(fake)).mean()", *clear, "loss.backward()", "optimizer.step()", result],
        )
    )
    lines = ["real = torch.randn(5, 4)", f"fake = {g}(torch.randn(5, 3))"]
    calls = [f"d_loss = {d_step}({g}, {d}, {od}, real, fake)", f"g_loss = {g_step}({g}, {d}, {og}, fake)"]
    calls = calls if s.chance(0.8) else calls[::-1]
    begin, told, last = logs(s, store(s), s.pick("d_loss", "g_loss", "d_loss + g_loss"))
    s.body += [*made, *begin, *block(f"for i in range({s.pick(3, 4)}):", lines, calls, told), *last]


def toggled(s: Script) -> None:
    """The other player's parameters are frozen while one of them trains."""
    made, g, d, og, od = _nets(s)
    name = s.name("set_trainable")
    s.define(*block(f"def {name}(net, flag):", block("for p in net.parameters():", ["p.requires_grad = flag"])))
    fake = _fake(s)
    critic = [
        *s.pick([f"{name}({d}, True)"], []),
        f"d_loss = {d}({fake}).mean() - {d}(real).mean()",
        f"{od}.zero_grad()",
        f"d_loss.backward({s.pick('', 'retain_graph=True')})",
        f"{od}.step()",
    ]
    actor = [
        *s.pick([f"{name}({d}, False)"], []),
        *s.pick([f"fake = {g}(torch.randn(5, 3))"], []),
        f"g_loss = -{d}(fake).mean()",
        f"{og}.zero_grad()",
        "g_loss.backward()",
        f"{og}.step()",
        *s.pick([f"{name}({d}, True)"], []),
    ]
    begin, told, last = logs(s, store(s), s.pick("d_loss", "g_loss", "d_loss.item()"))
    s.body += [
        *made,
        *begin,
        *block("for i in range(4):", ["real = torch.randn(5, 4)", f"fake = {g}(torch.randn(5, 3))"], critic, actor, told),
        *last,
    ]


def pooled(s: Script) -> None:
    """Old fakes in a pool, a queue or a replay list, which the critic sees again."""
    made, g, d, og, od = _nets(s)
    s.need("from collections import deque")
    put = s.pick("fake", "fake", "fake.detach()", "fake.data", "fake.clone()", "fake.detach().clone()")
    take = s.pick("pool[0]", "torch.cat(list(pool))", "pool[-1]", "pool[i % len(pool)]")
    critic = [
        f"pool.append({put})",
        f"old = {take}{s.pick('', '', '.detach()')}",
        f"d_loss = {d}(old).mean() - {d}(real).mean()",
        f"{od}.zero_grad()",
        "d_loss.backward()",
        f"{od}.step()",
    ]
    actor = [
        f"g_loss = -{d}({s.pick('fake', f'{g}(torch.randn(5, 3))')}).mean()",
        f"{og}.zero_grad()",
        "g_loss.backward()",
        f"{og}.step()",
    ]
    both = [*critic, *actor] if s.chance(0.6) else [*actor, *critic]
    begin, told, last = logs(s, store(s), s.pick("d_loss", "g_loss"))
    s.body += [
        *made,
        f"pool = {s.pick('deque(maxlen=2)', '[]', 'deque(maxlen=5)')}",
        *begin,
        *block("for i in range(4):", ["real = torch.randn(5, 4)", f"fake = {g}(torch.randn(5, 3))"], both, told),
        *last,
        "print(len(pool), pool[0].sum().item())",
    ]


def penalty(s: Script) -> None:
    """Gradient penalties and several critic steps for one of the generator."""
    made, g, d, og, od = _nets(s)
    name = s.name("penalty")
    flags = s.pick(
        "create_graph=True", "create_graph=True, retain_graph=True", "create_graph=True, only_inputs=True", "retain_graph=True"
    )
    body = [
        "mix = (0.5 * real + 0.5 * fake)" + s.pick(".requires_grad_(True)", ".detach().requires_grad_(True)"),
        "out = disc(mix)",
        f"grads = torch.autograd.grad(out.sum(), mix, {flags})[0]",
        "return (grads.norm(2, dim=1) - 1).pow(2).mean()",
    ]
    s.define(*block(f"def {name}(disc, real, fake):", body))
    cut = s.pick("fake.detach()", "fake", "fake.data")
    critic = [
        f"fake = {g}(torch.randn(5, 3))" + s.pick("", ".detach()"),
        f"d_loss = {d}(fake).mean() - {d}(real).mean() + {name}({d}, real, {cut})",
        f"{od}.zero_grad()",
        f"d_loss.backward({s.pick('', '', 'retain_graph=True')})",
        f"{od}.step()",
    ]
    actor = [f"g_loss = -{d}({g}(torch.randn(5, 3))).mean()", f"{og}.zero_grad()", "g_loss.backward()", f"{og}.step()"]
    actor = block("if i % 2 == 1:", actor) if s.chance(0.4) else actor
    critic = block("for _ in range(2):", critic) if s.chance(0.5) else critic
    begin, told, last = logs(s, store(s), s.pick("d_loss", "d_loss.item()"))
    s.body += [*made, *begin, *block("for i in range(3):", ["real = torch.randn(5, 4)"], critic, actor, told), *last]


def system(s: Script) -> None:
    """A class with both players; the fake is an attribute, and a method each walks."""
    made, g, d, og, od = _nets(s)
    kind, name = s.name("System"), s.name("system")
    cut = s.pick("self.fake", "self.fake", "self.fake.detach()", "self.fake.data")
    body = [
        *block(
            "def __init__(self, gen, disc, opt_g, opt_d):",
            ["self.gen, self.disc, self.opt_g, self.opt_d = gen, disc, opt_g, opt_d", "self.losses = {'g': 0.0, 'd': 0.0}"],
        ),
        "",
    ]
    body += [*block("def forward(self, z):", ["self.fake = self.gen(z)", "return self.fake"]), ""]
    note = s.pick(
        "self.losses['{0}'] += self.loss_{0}", "self.losses['{0}'] = self.loss_{0}", "self.losses['{0}'] += self.loss_{0}.item()"
    )
    body += [
        *block(
            "def backward_d(self, real):",
            [
                f"self.loss_d = 0.5 * (self.disc({cut}).mean() - self.disc(real).mean())",
                f"self.loss_d.backward({s.pick('', '', 'retain_graph=True')})",
                note.format("d"),
            ],
        ),
        "",
    ]
    body += [
        *block(
            "def backward_g(self):",
            [
                f"self.loss_g = -self.disc({s.pick('self.fake', 'self.gen(torch.randn(5, 3))')}).mean()",
                "self.loss_g.backward()",
                note.format("g"),
            ],
        ),
        "",
    ]
    first = ["self.opt_d.zero_grad()", "self.backward_d(real)", "self.opt_d.step()"]
    second = [s.pick("self.opt_g.zero_grad()", "self.opt_g.zero_grad()", "pass"), "self.backward_g()", "self.opt_g.step()"]
    both = [*first, *second] if s.chance(0.6) else [*second, *first]
    body += block("def optimize(self, real, z):", ["self.forward(z)", *both])
    s.define(*block(f"class {kind}:", body))
    tail = s.pick(
        [f"print(float({name}.losses['d']), float({name}.losses['g']))"],
        [f"print({name}.losses)"],
        [f"print({{k: float(v) for k, v in {name}.losses.items()}})"],
    )
    begin, told, last = logs(s, store(s), f"{name}.loss_{s.pick('d', 'g')}")
    s.body += [
        *made,
        f"{name} = {kind}({g}, {d}, {og}, {od})",
        *begin,
        *block("for i in range(4):", [f"{name}.optimize(torch.randn(5, 4), torch.randn(5, 3))", *told]),
        *last,
        *tail,
    ]


SCENES = (functions, functions, toggled, pooled, penalty, system, system)
