"""Small random training programs as source text: straight lines and loops over one hidden state and a few leaves."""

from __future__ import annotations

from hypothesis import strategies as st

HEAD = """\
import torch
import torch.nn as nn
torch.manual_seed(0)
net = nn.Linear(3, 3)
deep = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
w = torch.randn(3, requires_grad=True)
x = torch.randn(3)
a = torch.zeros(3)
b = w.exp()
c = w + 1
loss = (w * 2).sum()
"""
NAMES = ("a", "b", "c")

_name = st.sampled_from(NAMES)
_operand = st.sampled_from((*NAMES, "w", "x"))
_expression = st.one_of(
    st.builds("{} {} {}".format, _operand, st.sampled_from(("+", "-", "*")), _operand),
    st.builds("{}({})".format, st.sampled_from(("net", "deep", "torch.tanh", "torch.exp", "torch.sin")), _operand),
    st.builds("{}.{}".format, _operand, st.sampled_from(("detach()", "clone()", "view(3)", "data", "relu()"))),
    st.builds("torch.stack([{}, {}]).mean(0)".format, _operand, _operand),
)
_loss = st.builds("loss = ({}).{}()".format, _expression, st.sampled_from(("sum", "mean")))
_plain = st.one_of(
    st.builds("{} = {}".format, _name, _expression),
    st.builds("{} = {}".format, _name, _name),
    st.builds("{0} = {0} + loss".format, _name),
    st.builds("{0} = {0} * loss.item()".format, _name),
    st.builds("{} = {}.detach()".format, _name, _name),
    st.builds("with torch.no_grad():\n    {} = {}".format, _name, _expression),
    st.builds("loss += {}.sum()".format, _name),
    _loss,
)
_walk = st.sampled_from(
    (
        *("loss.backward()",) * 2,
        "loss.backward(retain_graph=True)",
        "torch.autograd.backward([loss])",
        "a.sum().backward()",
    )
)


_write = st.one_of(
    st.builds("{} {} {}".format, _name, st.sampled_from(("+=", "*=", "-=", "/=")), _operand),
    st.builds(
        "{}.{}".format, _name, st.sampled_from(("relu_()", "mul_(2)", "sigmoid_()", "zero_()", "add_(w)", "detach().add_(1)"))
    ),
    st.builds("{}[{}] = {}".format, _name, st.sampled_from(("0", "x > 0", ":2")), st.sampled_from(("0", "loss", "x[0]"))),
    st.builds("a = nn.functional.{}({}, inplace=True)".format, st.sampled_from(("relu", "leaky_relu", "elu")), _name),
    st.builds("b = nn.ReLU(inplace=True)({})".format, _name),
    st.builds("with torch.no_grad():\n    {} += 1".format, _name),
)
_saving = st.one_of(
    st.builds("{} = {} {} {}".format, _name, _operand, st.sampled_from(("*", "/", "@")), _operand),
    st.builds("{} = {} ** 2".format, _name, _operand),
    st.builds("{} = nn.functional.mse_loss({}, {}) + x".format, _name, _operand, _operand),
    st.builds("{} = torch.{}({})".format, _name, st.sampled_from(("sigmoid", "tanh", "exp", "relu", "sqrt", "log1p")), _operand),
    st.builds("{} = {}.{}".format, _name, _name, st.sampled_from(("view(3)", "detach()", "data", "t()", "clone()"))),
)


def indented(lines: list[str]) -> str:
    return "\n".join("    " + line for text in lines for line in text.splitlines())


def looped(body: list[str]) -> str:
    return "for i in range(3):\n" + indented(body)


def nested(outer: list[str], inner: list[str], last: list[str]) -> str:
    return looped([*outer, looped(inner), *last])


_lines = st.lists(_plain, max_size=3)
_after = st.lists(_plain, max_size=2)
_step = st.builds(lambda before, loss, walk, after: [*before, loss, walk, *after], _lines, _loss, _walk, _after)
_block = st.one_of(
    _step.map("\n".join),
    _step.map(looped),
    st.builds(nested, _lines, _step, _lines),
    st.builds(lambda body, walk: looped(body) + "\n" + walk, _lines.filter(bool), _walk),
)
_writing = st.lists(st.one_of(_saving, _saving, _write, _plain), min_size=2, max_size=6)
writing = st.builds(lambda lines, name: HEAD + "\n".join(lines) + f"\n({name} + c).sum().backward()\n", _writing, _name)
programs = st.lists(st.one_of(_block, _block, _walk), min_size=1, max_size=2).map(lambda blocks: HEAD + "\n".join(blocks) + "\n")
