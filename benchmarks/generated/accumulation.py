"""Scenes that gather gradients, clip them, average weights, and save and load what they have."""

from __future__ import annotations

from benchmarks.generated.containers import own
from benchmarks.generated.loops import data, forward, logs, model
from benchmarks.generated.stores import store
from benchmarks.generated.walks import every
from benchmarks.generated.writer import Script, block


def _clip(s: Script, net: str) -> list[str]:
    return s.pick(
        [],
        [f"nn.utils.clip_grad_norm_({net}.parameters(), 1.0)"],
        [f"norm = nn.utils.clip_grad_norm_({net}.parameters(), 1.0)", "print(norm.item())"],
        [f"nn.utils.clip_grad_value_({net}.parameters(), 0.5)"],
        block(f"for p in {net}.parameters():", block("if p.grad is not None:", ["p.grad.clamp_(-0.5, 0.5)"])),
        [f"print(sum(p.grad.norm() for p in {net}.parameters() if p.grad is not None))"],
        [f"norms.append(max(p.grad.abs().max() for p in {net}.parameters() if p.grad is not None))"],
    )


def micro(s: Script) -> None:
    """Gradients of several batches before a step; the loss is scaled, summed, or walked each time."""
    net, o, made = model(s)
    steps = s.pick(2, 3)
    form = s.pick("each", "each", "scaled", "scaled", "sum", "list", "running")
    begin, told, last = logs(
        s, own(s) if s.chance(0.3) else store(s), s.pick("loss", "loss.item()", f"loss * {steps}", "loss.detach()")
    )
    due = [*_clip(s, net), f"{o}.step()", f"{o}.zero_grad()"]
    lines = forward(s, net)
    begin = [*begin, "norms = []"]
    if form == "each":
        lines += ["loss.backward()"]
    elif form == "scaled":
        lines += s.pick(
            [f"loss = loss / {steps}", "loss.backward()"],
            [f"(loss / {steps}).backward()"],
            [f"loss /= {steps}", "loss.backward()"],
        )
    elif form == "sum":
        begin, lines, due = (
            [*begin, "gathered = 0.0"],
            [*lines, f"gathered = gathered + loss / {steps}"],
            ["gathered.backward()", *due, *s.pick(["gathered = 0.0"], ["gathered = 0.0"], [])],
        )
    elif form == "list":
        begin, lines, due = (
            [*begin, "pending = []"],
            [*lines, "pending.append(loss)"],
            [
                s.pick("sum(pending).backward()", "torch.stack(pending).mean().backward()", "torch.autograd.backward(pending)"),
                *due,
                *s.pick(["pending = []"], ["pending.clear()"], []),
            ],
        )
    else:
        begin, lines = (
            [*begin, "running = 0.0"],
            [*lines, "running = running + loss", f"running.backward({s.pick('', 'retain_graph=True')})"],
        )
        due = [*due, "running = 0.0"]
    setup, due = every(s, steps, due, guard=False)
    s.body += [*made, *data(s, 6), *begin, *setup, *block("for i, (x, y) in enumerate(data):", lines, told, due), *last]


def saved(s: Script) -> None:
    """Checkpoints into a buffer; what is read back is told, compared, trained further."""
    net, o, made = model(s)
    s.need("import io")
    kept = own(s) if s.chance(0.3) else store(s)
    buffer = s.name("buffer")
    value = s.pick(kept.total, "loss", kept.values or kept.total)
    extra = s.pick(f"'value': {value}", f"'value': float({kept.total})", f"'value': {value}, 'epoch': i")
    how = s.pick("save", "save", "pickle", "deepcopy")
    state = f"{{'net': {net}.state_dict(), {extra}}}"
    train = [*forward(s, net), f"{o}.zero_grad()", "loss.backward()", f"{o}.step()", *kept.add("loss")]
    if how == "save":
        write = [f"{buffer} = io.BytesIO()", f"torch.save({state}, {buffer})"]
        back = [f"{buffer}.seek(0)", f"loaded = torch.load({buffer}, weights_only=False)"]
    elif how == "pickle":
        s.need("import pickle")
        write, back = [f"{buffer} = pickle.dumps({state})"], [f"loaded = pickle.loads({buffer})"]
    else:
        s.need("import copy")
        write, back = (
            [f"{buffer} = copy.deepcopy({{'net': {net}.state_dict(), 'value': float({kept.total})}})"],
            [f"loaded = {buffer}"],
        )
    use = s.pick(
        ["print(float(loaded['value']) if not isinstance(loaded['value'], list) else len(loaded['value']))"],
        ["print(getattr(loaded['value'], 'requires_grad', None))"],
        [f"{net}.load_state_dict(loaded['net'])"],
        ["print(loaded['value'])"],
        [f"{net}.load_state_dict(loaded['net'])", "print(type(loaded['value']).__name__ != '')"],
    )
    where = block("if i % 2 == 1:", write) if s.chance(0.4) else []
    s.body += [
        *made,
        *data(s, 4),
        *kept.setup,
        *block("for i, (x, y) in enumerate(data):", train, where),
        *([] if where else write),
        *back,
        *use,
    ]


def resumed(s: Script) -> None:
    """An evaluation's result, or a tensor of the training, goes through a buffer and is optimised afterwards."""
    net, _, made = model(s)
    s.need("import io")
    buffer = s.name("buffer")
    value = s.pick(
        f"{net}(data[0][0])",
        f"{net}(data[0][0]).detach()",
        f"sum(F.mse_loss({net}(x), y) for x, y in data)",
        f"{net}(data[0][0]).mean(0)",
    )
    s.body += [
        *made,
        *data(s, 3),
        f"{buffer} = io.BytesIO()",
        f"kept = {value}",
        f"torch.save(kept, {buffer})",
        f"{buffer}.seek(0)",
        f"again = torch.load({buffer})",
    ]
    s.body += s.pick(
        ["print(again.requires_grad, again.sum().item())"],
        [
            "again.requires_grad_(True)",
            "tuned = torch.optim.SGD([again], lr=0.1)",
            *block("for _ in range(2):", ["tuned.zero_grad()", "again.pow(2).sum().backward()", "tuned.step()"]),
            "print(again.sum().item())",
        ],
        [*block("if again.requires_grad:", ["again.pow(2).sum().backward()", "print(again.grad.sum().item())"])],
        ["hold = nn.Parameter(again)", "print(hold.requires_grad)"],
    )


def averaged(s: Script) -> None:
    """Weights that are averaged, kept as the best, or put back; some copies share memory with the net."""
    net, o, made = model(s)
    s.need("import copy")
    form = s.pick("ema", "ema module", "best", "best alias", "swa", "tensor")
    begin, told, last = logs(s, store(s))
    setup, behind, end = {
        "ema": (
            [f"shadow = {{k: v.clone() for k, v in {net}.state_dict().items()}}"],
            block(f"for k, v in {net}.state_dict().items():", ["shadow[k] = 0.9 * shadow[k] + 0.1 * v"]),
            ["print(sum(v.sum().item() for v in shadow.values()))"],
        ),
        "ema module": (
            [f"shadow = copy.deepcopy({net})"],
            block(
                f"for p, q in zip(shadow.parameters(), {net}.parameters()):",
                [
                    s.pick(
                        "p.data.mul_(0.9).add_(q.data, alpha=0.1)",
                        "p.data = 0.9 * p.data + 0.1 * q.data",
                        "p.data = 0.9 * p.data + 0.1 * q.detach()",
                    )
                ],
            ),
            ["print(sum(p.sum().item() for p in shadow.parameters()))"],
        ),
        "best": (
            ["best, best_state = None, None"],
            block(
                "if best is None or loss < best:",
                [
                    s.pick("best = loss", "best = loss.item()", "best = loss.detach()"),
                    f"best_state = copy.deepcopy({net}.state_dict())",
                ],
            ),
            ["print(float(best))", f"{net}.load_state_dict(best_state)"],
        ),
        "best alias": (
            ["best, best_state = float('inf'), None"],
            block("if loss < best:", ["best = loss", f"best_state = {net}.state_dict()"]),
            ["print(float(best))", f"{net}.load_state_dict(best_state)"],
        ),
        "swa": (
            ["average, n = None, 0"],
            [
                f"flat = torch.cat([p.{s.pick('view(-1)', 'reshape(-1)', 'detach().reshape(-1)')} for p in {net}.parameters()])",
                "average = flat if average is None else average + flat",
                "n += 1",
            ],
            ["print((average / n).norm().item())"],
        ),
        "tensor": (
            ["average = torch.zeros(1)"],
            [f"average = 0.9 * average + 0.1 * sum(p.pow(2).sum() for p in {net}.parameters())"],
            ["print(average.item())"],
        ),
    }[form]
    lines = [*forward(s, net), f"{o}.zero_grad()", "loss.backward()", f"{o}.step()", *behind, *told]
    s.body += [*made, *data(s, 4), *setup, *begin, *block("for i, (x, y) in enumerate(data):", lines), *last, *end]


def scheduled(s: Script) -> None:
    """Schedulers and warm-ups that read the loss, penalties on gradients, noise on weights."""
    net, o, made = model(s)
    kind = s.pick("plateau", "plateau", "step", "noise", "sign")
    begin, told, last = logs(s, store(s))
    total = s.pick("epoch_loss += loss", "epoch_loss += loss.item()", "epoch_loss = epoch_loss + loss")
    setup = {
        "plateau": [f"sched = torch.optim.lr_scheduler.ReduceLROnPlateau({o}, patience=0)"],
        "step": [f"sched = torch.optim.lr_scheduler.StepLR({o}, 1)"],
    }.get(kind, [])
    lines = [*forward(s, net), f"{o}.zero_grad()", "loss.backward()", *_clip(s, net), f"{o}.step()", total, *told]
    if kind == "noise":
        lines += block("with torch.no_grad():", block(f"for p in {net}.parameters():", ["p.add_(torch.randn_like(p) * 0.01)"]))
    after = {
        "plateau": [f"sched.step({s.pick('epoch_loss', 'epoch_loss / 4', 'float(epoch_loss)')})"],
        "step": ["sched.step()"],
    }.get(kind, ["print(float(epoch_loss))"])
    s.body += [
        *made,
        *data(s, 4),
        "norms = []",
        *setup,
        *begin,
        *block("for epoch in range(3):", ["epoch_loss = 0.0"], block("for i, (x, y) in enumerate(data):", lines), after),
        *last,
    ]
    s.body += [f"print({o}.param_groups[0]['lr'])"]


SCENES = (micro, micro, saved, saved, resumed, averaged, scheduled)
