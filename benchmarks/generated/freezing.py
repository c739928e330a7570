"""Scenes in which parts of a network do not train: for ever, for a while, by name, by cutting, by the optimizer."""

from __future__ import annotations

from benchmarks.generated.loops import data, logs
from benchmarks.generated.stores import store
from benchmarks.generated.writer import Script, block


def _net(s: Script) -> tuple[list[str], str, str]:
    """A trunk and a head."""
    trunk, head = s.name("trunk"), s.name("head")
    s.kept += [trunk, head]
    return [f"{trunk} = nn.Sequential(nn.Linear(4, 6), nn.Tanh())", f"{head} = nn.Linear(6, 1)"], trunk, head


def _freeze(s: Script, part: str) -> list[str]:
    return s.pick(
        [f"{part}.requires_grad_(False)"],
        block(f"for p in {part}.parameters():", ["p.requires_grad = False"]),
        block(f"for p in {part}.parameters():", ["p.requires_grad_(False)"]),
        block(
            f"for name, p in {part}.named_parameters():",
            block(
                f"if {s.pick(chr(39) + 'weight' + chr(39), chr(39) + '0' + chr(39), chr(39) + 'bias' + chr(39))} in name:",
                ["p.requires_grad = False"],
            ),
        ),
        [f"{part}.apply(lambda m: m.requires_grad_(False))"],
        block(f"for p in list({part}.parameters())[:1]:", ["p.requires_grad = False"]),
        [f"{part}.eval()"],
        [],
    )


def _optimizer(s: Script, trunk: str, head: str, o: str) -> str:
    both = f"[*{trunk}.parameters(), *{head}.parameters()]"
    return (
        f"{o} = torch.optim.SGD("
        + s.pick(
            both,
            f"{head}.parameters()",
            f"[p for p in {both} if p.requires_grad]",
            f"filter(lambda p: p.requires_grad, {both})",
            f"[{{'params': {trunk}.parameters(), 'lr': 0.01}}, {{'params': {head}.parameters()}}]",
        )
        + ", lr=0.05)"
    )


def features(s: Script) -> None:
    """Features of a trunk before the loop, in it, cached by batch; the trunk is frozen, cut, or trained."""
    made, trunk, head = _net(s)
    o = s.name("opt")
    made = [*made, *_freeze(s, trunk), _optimizer(s, trunk, head, o), *data(s, 3)]
    form = s.pick("ahead", "ahead", "inside", "cached", "listed")
    cut = s.pick("", "", "", ".detach()", ".clone()")
    setup: list[str] = []
    if form == "ahead":
        setup, get = [f"fixed = {trunk}(data[0][0]){cut}"], ["h, y = fixed, data[0][1]"]
        if s.chance(0.2):
            setup = block("with torch.no_grad():", setup)
    elif form == "listed":
        setup, get = [f"fixed = [{trunk}(x){cut} for x, _ in data]"], ["h, y = fixed[i], data[i][1]"]
    elif form == "cached":
        setup, get = (
            ["cache = {}"],
            ["x, y = data[i]", *block("if i not in cache:", [f"cache[i] = {trunk}(x){cut}"]), "h = cache[i]"],
        )
    else:
        get = ["x, y = data[i]", f"h = {trunk}(x){cut}"]
    begin, told, last = logs(s, store(s), s.pick("loss", "h.mean()", "loss.item()"))
    lines = [
        *get,
        f"loss = F.mse_loss({head}(h), y)",
        f"{o}.zero_grad()",
        f"loss.backward({s.pick('', '', '', 'retain_graph=True')})",
        f"{o}.step()",
    ]
    s.body += [*made, *setup, *begin, *block("for epoch in range(2):", block("for i in range(3):", lines, told)), *last]


def thawed(s: Script) -> None:
    """A part is frozen at first and thawed later, or the other way round."""
    made, trunk, head = _net(s)
    o = s.name("opt")
    made = [
        *made,
        *_freeze(s, trunk),
        f"{o} = torch.optim.SGD([*{trunk}.parameters(), *{head}.parameters()], lr=0.05)",
        *data(s, 3),
    ]
    when = s.pick("epoch == 1", "epoch > 0", "epoch % 2 == 0")
    change = block(
        f"if {when}:",
        s.pick(
            [f"{trunk}.requires_grad_(True)"],
            block(f"for p in {trunk}.parameters():", ["p.requires_grad = True"]),
            [f"{trunk}.requires_grad_(False)"],
            [f"{trunk}.requires_grad_(epoch == 1)"],
        ),
    )
    begin, told, last = logs(s, store(s))
    state = s.chance(0.4)
    lines = [f"h = {trunk}(x)", *(["carried = 0.5 * carried + h" + s.pick("", ".detach()"), "h = carried"] if state else [])]
    lines += [f"loss = F.mse_loss({head}(h), y)", f"{o}.zero_grad()", "loss.backward()", f"{o}.step()", *told]
    setup = ["carried = torch.zeros(5, 6)"] if state else []
    s.body += [
        *made,
        *begin,
        *setup,
        *block("for epoch in range(3):", change, block("for i, (x, y) in enumerate(data):", lines)),
        *last,
    ]
    s.body += s.pick([], [f"print(sum(int(p.grad is not None) for p in {trunk}.parameters()))"])


def probed(s: Script) -> None:
    """A head is trained on a cut trunk beside the main loss: one walk, two walks, or a walk that reaches both."""
    made, trunk, head = _net(s)
    o, probe, po = s.name("opt"), s.name("probe"), s.name("probe_opt")
    s.kept.append(probe)
    made = [
        *made,
        f"{probe} = nn.Linear(6, 1)",
        f"{o} = torch.optim.SGD([*{trunk}.parameters(), *{head}.parameters()], lr=0.05)",
        f"{po} = torch.optim.SGD({probe}.parameters(), lr=0.05)",
        *data(s, 4),
    ]
    cut = s.pick("h.detach()", "h.detach()", "h", "h.data", "h.clone()")
    lines = [f"h = {trunk}(x)", f"loss = F.mse_loss({head}(h), y)", f"side = F.mse_loss({probe}({cut}), y)"]
    lines += s.pick(
        [f"{o}.zero_grad()", f"{po}.zero_grad()", "(loss + side).backward()", f"{o}.step()", f"{po}.step()"],
        [f"{o}.zero_grad()", "loss.backward()", f"{o}.step()", f"{po}.zero_grad()", "side.backward()", f"{po}.step()"],
        [
            f"{o}.zero_grad()",
            f"{po}.zero_grad()",
            "loss.backward(retain_graph=True)",
            "side.backward()",
            f"{o}.step()",
            f"{po}.step()",
        ],
        [f"{o}.zero_grad()", f"{po}.zero_grad()", "side.backward()", "loss.backward()", f"{o}.step()", f"{po}.step()"],
    )
    begin, told, last = logs(s, store(s), s.pick("side", "loss", "loss + side", "side.item()"))
    s.body += [*made, *begin, *block("for i, (x, y) in enumerate(data):", lines, told), *last]


def partial(s: Script) -> None:
    """Gradients for some parameters only, embeddings and prompts as leaves, scales that are made once."""
    made, trunk, head = _net(s)
    o = s.name("opt")
    form = s.pick("prompt", "prompt", "scale", "inputs", "grad")
    begin, told, last = logs(s, store(s))
    made = [*made, *_freeze(s, trunk), *data(s, 4)]
    if form == "prompt":
        made += [
            f"prompt = {s.pick('nn.Parameter(torch.zeros(4))', 'torch.zeros(4, requires_grad=True)')}",
            f"{o} = torch.optim.SGD([prompt, *{head}.parameters()], lr=0.05)",
        ]
        made += s.pick([], ["shifted = prompt * 1.0"], ["shifted = torch.tanh(prompt)"])
        use = "shifted" if "shifted" in made[-1] else "prompt"
        lines = [f"loss = F.mse_loss({head}({trunk}(x + {use})), y)", f"{o}.zero_grad()", "loss.backward()", f"{o}.step()"]
    elif form == "scale":
        made += [
            f"{o} = torch.optim.SGD({head}.parameters(), lr=0.05)",
            s.pick(
                f"scale = {head}.weight.norm()", f"scale = {head}.weight.detach().norm()", f"scale = {trunk}[0].weight.norm()"
            ),
        ]
        lines = [f"loss = F.mse_loss({head}({trunk}(x)) * scale, y)", f"{o}.zero_grad()", "loss.backward()", f"{o}.step()"]
    elif form == "inputs":
        made += [f"{o} = torch.optim.SGD({head}.parameters(), lr=0.05)"]
        lines = [
            f"loss = F.mse_loss({head}({trunk}(x)), y)",
            f"{o}.zero_grad()",
            f"loss.backward(inputs=list({head}.parameters()))",
            *s.pick([], ["(loss * 2).backward()"]),
            f"{o}.step()",
        ]
    else:
        made += [f"{o} = torch.optim.SGD({head}.parameters(), lr=0.05)"]
        lines = [
            f"loss = F.mse_loss({head}({trunk}(x)), y)",
            f"grads = torch.autograd.grad(loss, list({head}.parameters()){s.pick('', ', retain_graph=True', ', create_graph=True')})",
            *block(f"for p, g in zip({head}.parameters(), grads):", ["p.grad = g"]),
            f"{o}.step()",
        ]
    s.body += [*made, *begin, *block("for i, (x, y) in enumerate(data):", lines, told), *last]


SCENES = (features, features, thawed, probed, partial)
