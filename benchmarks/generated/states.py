"""Scenes with a state over iterations in tuples, dicts, lists, records and attributes, handed on by functions and cells."""

from __future__ import annotations

from benchmarks.generated.loops import logs
from benchmarks.generated.stores import store
from benchmarks.generated.writer import Script, block

# how the state is made, how a step gets the tensor out of it, how it puts the next one in, how all of it is cut
_FORMS = {
    "tensor": ("torch.zeros(2, 4)", "state", "{}", "state.detach()"),
    "tuple": ("(torch.zeros(2, 4), 0)", "state[0]", "({}, state[1] + 1)", "(state[0].detach(), state[1])"),
    "pair": (
        "(torch.zeros(2, 4), torch.zeros(2, 4))",
        "(state[0] + state[1])",
        "({0}, 0.5 * {0})",
        "tuple(s.detach() for s in state)",
    ),
    "dict": (
        "{'h': torch.zeros(2, 4), 'n': 0}",
        "state['h']",
        "{{'h': {}, 'n': state['n'] + 1}}",
        "{'h': state['h'].detach(), 'n': state['n']}",
    ),
    "list": (
        "[torch.zeros(2, 4), torch.zeros(2, 4)]",
        "(state[0] + state[-1])",
        "[{0}, state[0]]",
        "[s.detach() for s in state]",
    ),
    "dicts": (
        "{'a': torch.zeros(2, 4), 'b': torch.zeros(2, 4)}",
        "(state['a'] - state['b'])",
        "{{'a': {0}, 'b': state['a']}}",
        "{k: v.detach() for k, v in state.items()}",
    ),
    "none": ("None", "(torch.zeros(2, 4) if state is None else state)", "{}", "state.detach() if state is not None else None"),
}


def _named(s: Script) -> tuple[str, str, str, str]:
    """A state in a record of the program's own."""
    kind = s.name("Carry")
    form = s.pick("namedtuple", "dataclass")
    if form == "namedtuple":
        s.need("from collections import namedtuple")
        s.define(f'{kind} = namedtuple("{kind}", "h n")')
        return (
            f"{kind}(torch.zeros(2, 4), 0)",
            "state.h",
            f"{kind}({{}}, state.n + 1)",
            s.pick(f"{kind}(state.h.detach(), state.n)", "state._replace(h=state.h.detach())"),
        )
    s.need("from dataclasses import dataclass, replace")
    s.define("@dataclass", *block(f"class {kind}:", ["h: torch.Tensor", "n: int = 0"]))
    return (
        f"{kind}(torch.zeros(2, 4))",
        "state.h",
        s.pick(f"{kind}({{}}, state.n + 1)", "replace(state, h={})"),
        "replace(state, h=state.h.detach())",
    )


def _parts(s: Script) -> tuple[list[str], str, str]:
    """Networks of a cell and a head, and the optimizer over both."""
    cell, head, o = s.name("cell"), s.name("head"), s.name("opt")
    s.kept += [cell, head]
    return (
        [
            f"{cell} = nn.Linear(7, 4)",
            f"{head} = nn.Linear(4, 1)",
            f"{o} = torch.optim.SGD([*{cell}.parameters(), *{head}.parameters()], lr=0.05)",
        ],
        cell,
        head,
    )


def handed(s: Script) -> None:
    """A function takes the state and returns the next one with a value."""
    made, cell, head = _parts(s)
    o = made[-1].split(" ")[0]
    start, get, put, cut = _named(s) if s.chance(0.3) else _FORMS[s.pick(*_FORMS)]
    name = s.name("update")
    s.define(
        *block(
            f"def {name}(cell, head, x, state):",
            [f"h = torch.tanh(cell(torch.cat([x, {get}], dim=1)))", f"return {put.format('h')}, head(h)"],
        )
    )
    treat = s.pick("never", "never", "before", "behind", "every", "window", "helper")
    step = [f"state, value = {name}({cell}, {head}, x, state)", "loss = (value - 1).pow(2).mean()"]
    walks = [f"{o}.zero_grad()", f"loss.backward({s.pick('', '', '', 'retain_graph=True')})", f"{o}.step()"]
    if treat == "helper":
        helper = s.name("repackage")
        s.define(*block(f"def {helper}(state):", [f"return {cut}"]))
        cut = f"{helper}(state)"
    cutting = [f"state = {cut}"]
    lines = [*step, *walks]
    if treat in ("before", "helper"):
        lines = [*cutting, *lines]
    elif treat == "behind":
        lines += cutting
    elif treat == "every":
        lines += block("if i % 2 == 1:", cutting)
    elif treat == "window":
        lines = [*step, "window = window + loss"]
        walks = [line.replace("loss.backward", "window.backward") for line in walks]
        lines = [*lines, *block("if (i + 1) % 2 == 0:", [*walks, *s.pick(cutting, cutting, []), "window = 0.0"])]
    begin, told, last = logs(s, store(s), s.pick("loss", "loss.item()", "value.mean()"))
    setup = [f"state = {start}", *(["window = 0.0"] if treat == "window" else [])]
    inner = block("for i in range(4):", ["x = torch.randn(2, 3)"], lines, told)
    s.body += [*made, *begin]
    s.body += [*setup, *inner, *last] if s.chance(0.7) else [*block("for epoch in range(2):", setup, inner), *last]


def kept(s: Script) -> None:
    """The state is an attribute of the module, a buffer, or an entry of a table by name."""
    kind, net, o = s.name("Cell"), s.name("net"), s.name("opt")
    s.kept.append(net)
    place, begin = s.pick(
        ("self.h", "self.h = torch.zeros(2, 4)"),
        ("self.h", "self.register_buffer('h', torch.zeros(2, 4))"),
        ("self.state['h']", "self.state = {'h': torch.zeros(2, 4)}"),
        ("self.states[-1]", "self.states = [torch.zeros(2, 4)]"),
    )
    body = [
        *block(
            "def __init__(self):", ["super().__init__()", "self.cell = nn.Linear(7, 4)", "self.head = nn.Linear(4, 1)", begin]
        ),
        "",
    ]
    body += [*block("def reset(self):", [begin if "register" not in begin else "self.h = torch.zeros(2, 4)"]), ""]
    body += [*block("def cut(self):", [f"{place} = {place}.detach()"]), ""]
    put = "self.states.append({})" if "states" in place and s.chance(0.5) else f"{place} = {{}}"
    inner = [
        f"h = torch.tanh(self.cell(torch.cat([x, {place}{s.pick('', '', '.detach()')}], dim=1)))",
        put.format(s.pick("h", "h", "h.detach()", "0.9 * h")),
        "return self.head(h)",
    ]
    s.define(*block(f"class {kind}(nn.Module):", body, block("def forward(self, x):", inner)))
    treat = s.pick([], [], [f"{net}.cut()"], [f"{net}.reset()"], block("if i % 2 == 0:", [f"{net}.cut()"]))
    lines = [
        "x = torch.randn(2, 3)",
        f"loss = ({net}(x) - 1).pow(2).mean()",
        f"{o}.zero_grad()",
        "loss.backward()",
        f"{o}.step()",
    ]
    lines = [*treat, *lines] if s.chance(0.5) else [*lines, *treat]
    first, told, last = logs(s, store(s))
    s.body += [
        f"{net} = {kind}()",
        f"{o} = torch.optim.SGD({net}.parameters(), lr=0.05)",
        *first,
        *block("for i in range(4):", lines, told),
        *last,
    ]


def layers(s: Script) -> None:
    """One state a layer, in a list or a dict by layer; cut one by one, all at once, or some."""
    cells, o = s.name("cells"), s.name("opt")
    s.kept.append(cells)
    form = s.pick("list", "dict", "stack")
    start = {
        "list": "[torch.zeros(2, 4) for _ in cells]".replace("cells", cells),
        "dict": f"{{i: torch.zeros(2, 4) for i in range(len({cells}))}}",
        "stack": "torch.zeros(2, 2, 4)",
    }[form]
    kind = s.pick("GRUCell", "RNNCell")
    inner = ["h = x"]
    if form == "stack":
        inner += [
            "following = []",
            *block(f"for n, cell in enumerate({cells}):", ["h = cell(h, states[n])", "following.append(h)"]),
            "states = torch.stack(following)",
        ]
    else:
        inner += block(f"for n, cell in enumerate({cells}):", ["states[n] = cell(h, states[n])", "h = states[n]"])
    cut = {
        "list": "states = [s.detach() for s in states]",
        "dict": "states = {n: s.detach() for n, s in states.items()}",
        "stack": "states = states.detach()",
    }[form]
    some = "states[0] = states[0].detach()" if form != "stack" else cut
    treat = s.pick([], [], [cut], [cut], [some], block("if i % 2 == 0:", [cut]))
    lines = [
        "x = torch.randn(2, 4)",
        *treat,
        *inner,
        "loss = (h - 1).pow(2).mean()",
        f"{o}.zero_grad()",
        "loss.backward()",
        f"{o}.step()",
    ]
    begin, told, last = logs(s, store(s))
    s.body += [
        f"{cells} = nn.ModuleList([nn.{kind}(4, 4) for _ in range(2)])",
        f"{o} = torch.optim.SGD({cells}.parameters(), lr=0.05)",
        f"states = {start}",
        *begin,
    ]
    s.body += [*block("for i in range(4):", lines, told), *last]


def session(s: Script) -> None:
    """An object that keeps state, total and networks, and is called once an iteration."""
    made, cell, head = _parts(s)
    o = made[-1].split(" ")[0]
    kind, name = s.name("Session"), s.name("session")
    start, get, put, cut = _FORMS[s.pick("tensor", "tuple", "dict", "pair")]
    mine = lambda text: text.replace("state", "self.state")  # noqa: E731
    treat = s.pick([], [], [f"self.state = {mine(cut)}"])
    body = [
        *block(
            "def __init__(self, cell, head, optimizer):",
            ["self.cell, self.head, self.optimizer = cell, head, optimizer", f"self.state = {start}", "self.total = 0.0"],
        ),
        "",
    ]
    inner = [
        *treat,
        f"h = torch.tanh(self.cell(torch.cat([x, {mine(get)}], dim=1)))",
        f"self.state = {mine(put).format('h')}",
        "loss = (self.head(h) - 1).pow(2).mean()",
        "self.optimizer.zero_grad()",
        "loss.backward()",
        "self.optimizer.step()",
        s.pick("self.total += loss", "self.total += loss.item()", "self.total = loss"),
        s.pick("return loss", "return self.total", "return loss.item()"),
    ]
    s.define(*block(f"class {kind}:", body, block(f"def {s.pick('step', '__call__')}(self, x):", inner)))
    call = (
        f"{name}.step(torch.randn(2, 3))"
        if "def step(self, x):" in "\n".join(s.definitions[-1])
        else f"{name}(torch.randn(2, 3))"
    )
    first, told, last = logs(s, store(s), "got")
    s.body += [
        *made,
        f"{name} = {kind}({cell}, {head}, {o})",
        *first,
        *block("for i in range(4):", [f"got = {call}", *told]),
        *last,
        f"print(float({name}.total))",
    ]


SCENES = (handed, handed, handed, kept, kept, layers, session)
