"""What is said of the errors that come of a tensor that has no graph, has one where it should not, or is asked in an old way."""

from __future__ import annotations

from graphfix.why.kinds import Kind, Way

NO_GRAPH = Kind(
    "no-graph",
    "the loss has no graph to go back through",
    ("does not require grad and does not have a grad_fn", "One of the differentiated Tensors does not require grad"),
    ("GF310", "GF902", "GF205", "GF903"),
    """\
No recorded operation leads from the loss back to a parameter: the graph was
cut on the way, or was never recorded.""",
    """\
backward() was called on a tensor that no recorded operation made from a
parameter. Somewhere between the parameters and the loss the graph was cut, or
it was never recorded: by .detach(), .data, .item(), .numpy() or
torch.tensor(...), by torch.no_grad() or inference_mode(), by argmax or a
comparison, by a reentrant checkpoint whose inputs are frozen, or because all
parameters have requires_grad=False.""",
    """\
Follow the loss back to the first tensor with requires_grad=False
(`print(t.requires_grad, t.grad_fn)`), and keep to tensor operations there.""",
    (
        Way(
            "The loss was made anew from a number",
            ("GF310",),
            "-loss = torch.tensor(criterion(out, y).item())\n+loss = criterion(out, y)",
        ),
        Way("The forward pass ran without recording", ("GF310",), "-with torch.no_grad():\n-    out = model(x)\n+out = model(x)"),
        Way(
            ".data or detach() cut the graph on the way", ("GF310", "GF902"), "-loss = criterion(out.data, y)\n+loss = criterion(out, y)"
        ),
        Way(
            "A reentrant checkpoint, of whose inputs none requires grad",
            (),
            "-h = checkpoint(block, h, use_reentrant=True)\n+h = checkpoint(block, h, use_reentrant=False)",
        ),
    ),
)

NOT_SCALAR = Kind(
    "not-scalar",
    "backward() on a tensor with more than one element",
    ("grad can be implicitly created only for scalar outputs",),
    (),
    """\
backward() without an argument needs one number to differentiate; the tensor
here has several elements.""",
    """\
backward() without an argument needs one number to differentiate. The tensor
here has several elements: a loss made with reduction="none", one loss for
each GPU or each sample, or a model's output itself.""",
    "Take the mean or the sum first: `loss.mean().backward()`.",
    (Way("A loss for each sample, or for each GPU", (), "-loss.backward()\n+loss.mean().backward()"),),
    is_local=True,
    is_traced=True,
    stands=("loss", "backward"),
)

OLD_INDEX = Kind(
    "zero-dim-index",
    "a tensor with one number is indexed",
    (
        "invalid index of a 0-dim tensor",
        "invalid index of a 0-dimensional tensor",
        "too many indices for array: array is 0-dimensional",
    ),
    ("GF901", "GF902"),
    """\
Since PyTorch 0.4 a loss is a tensor without dimensions, so it has no element
0; its number is read with `.item()`.""",
    """\
Since PyTorch 0.4 a loss is a tensor without dimensions, so it has no element
0, and neither has the array that `.numpy()` makes of it. `loss.data[0]` and
`loss[0]` are how torch 0.3 read the number in it.""",
    "Read the number with `loss.item()`.",
    (Way("Code of the time of PyTorch 0.3", ("GF901",), "-print(loss.data[0])\n+print(loss.item())"),),
    is_local=True,
)

OLD_SHAPE = Kind(
    "gradient-shape",
    "the gradient given to backward() has another shape than the loss",
    ("Mismatch in shape: grad_output",),
    ("GF903",),
    """\
What is given to backward() has to have the shape of the loss, which has no
dimensions since PyTorch 0.4.""",
    """\
What is given to backward() is the gradient of the tensor that it is called
on, and has to have its shape. A loss has no dimensions since PyTorch 0.4;
`torch.ones(1)`, with one dimension, was right before.""",
    "For a loss, call `loss.backward()`; else pass `torch.ones_like(output)`.",
    (Way("A gradient for a loss of torch 0.3", ("GF903",), "-loss.backward(torch.ones(1))\n+loss.backward()"),),
    is_local=True,
    stands=("loss", "backward"),
)

OLD_ARGUMENT = Kind(
    "retain-variables",
    "backward() is given the argument of an old PyTorch",
    ("unexpected keyword argument 'retain_variables'",),
    ("GF903", "GF305", "GF306"),
    """\
`retain_variables` was renamed to `retain_graph` in PyTorch 0.2, and is gone.""",
    """\
`retain_variables` was renamed to `retain_graph` in PyTorch 0.2, and is gone.
Most often neither is needed: it is right only where a later backward() goes
through the same graph on purpose.""",
    "Leave the argument out, or call it `retain_graph` if it is needed.",
    (
        Way(
            "Code of the time of PyTorch 0.1",
            ("GF903",),
            "-loss.backward(retain_variables=True)\n+loss.backward(retain_graph=True)",
        ),
    ),
    is_local=True,
    stands=("loss", "backward"),
)

NUMPY = Kind(
    "numpy",
    "NumPy is given a tensor that has a graph",
    ("call numpy() on Tensor that requires grad", "call numpy() on Variable that requires grad"),
    ("GF904", "GF102", "GF101", "GF103", "GF901"),
    """\
NumPy knows nothing of gradients, so torch refuses to hand over a tensor that
is part of a graph.""",
    """\
NumPy knows nothing of gradients, so torch refuses to hand over a tensor that
is part of a graph. Often NumPy is called by something else: np.mean over a
list of losses, np.array, a plot, a metric of scikit-learn.""",
    """\
Take `t.item()` for one number and `t.detach().cpu().numpy()` for an array. If
the tensors are kept in a list, do so where they are put into it.""",
    (
        Way("An array is wanted", (), "-plt.plot(out.numpy())\n+plt.plot(out.detach().cpu().numpy())"),
        Way("Losses are collected for a mean", ("GF102",), "-losses.append(loss)\n+losses.append(loss.item())"),
    ),
    is_local=True,
    stands=("out", "numpy"),
)

LEAF_IN_PLACE = Kind(
    "leaf-in-place",
    "a parameter is changed in place while PyTorch records",
    (
        "leaf Variable that requires grad is being used in an in-place operation",
        "leaf Variable that requires grad has been used in an in-place operation",
    ),
    ("GF204", "GF205", "GF401", "GF101"),
    """\
A parameter, or another tensor made with requires_grad=True, was changed in
place while PyTorch records.""",
    """\
A leaf is a tensor that you made with requires_grad=True, such as a parameter.
Its gradient is asked for as it is, so its content must not change within a
recorded computation. An update by hand (`w -= lr * w.grad`), an initial value
(`w[0] = 1`) and a total that starts with requires_grad=True all do that.""",
    """\
Change parameters under torch.no_grad(). A total of losses starts as 0.0, or
as torch.zeros(()), without requires_grad.""",
    (
        Way("An update or an initial value by hand", (), "-w -= lr * w.grad\n+with torch.no_grad():\n+    w -= lr * w.grad"),
        Way(
            "A total that is a leaf itself",
            (),
            "-total = torch.zeros((), requires_grad=True)\n+total = torch.zeros(())\n total += loss",
        ),
    ),
    is_local=True,
)

NOT_A_LEAF = Kind(
    "not-a-leaf",
    "the optimizer is given a tensor that is computed from others",
    ("can't optimize a non-leaf Tensor", "can't optimize a non-leaf Variable"),
    ("GF205",),
    """\
An optimizer steps tensors that nothing was computed for (leaves); this one is
the result of an operation.""",
    """\
Only tensors that nothing was computed for (leaves) get a `.grad` to be stepped
with. An operation after requires_grad=True, be it `* 0.1` or `.cuda()`, gives
another tensor, which is not a leaf.""",
    "Compute first, then ask for the gradient: `.requires_grad_()` comes last.",
    (
        Way(
            "An operation stands behind requires_grad",
            ("GF205",),
            "-w = torch.randn(4, requires_grad=True) * 0.1\n+w = (torch.randn(4) * 0.1).requires_grad_()",
        ),
    ),
    is_local=True,
    is_traced=True,
)

DEEPCOPY = Kind(
    "deepcopy",
    "a tensor that has a graph is copied with deepcopy",
    ("support the deepcopy protocol",),
    ("GF311", "GF202", "GF102", "GF101", "GF205", "GF201"),
    """\
copy.deepcopy does not copy graphs, and met a tensor that is the result of an
operation: what a forward pass has left on the module, or a weight that is
computed from others.""",
    """\
copy.deepcopy does not copy graphs. If a module is copied, one of its
attributes holds the result of a forward pass (hidden state, a cache, the last
loss), or its weights are computed, as with the old weight_norm.""",
    """\
Detach or reset what a forward pass leaves on the module. Where a weight is
computed (the old weight_norm), copy `model.state_dict()` into a new module.""",
    (Way("A module keeps a result of its forward pass", ("GF311", "GF202"), "-self.h = h\n+self.h = h.detach()"),),
    is_local=True,
    is_traced=True,
)

UNUSED = Kind(
    "unused",
    "a gradient is asked for a tensor that the loss was not computed from",
    ("appears to not have been used in the graph",),
    ("GF205", "GF902"),
    """\
There is no way from the loss back to one of the tensors whose gradient is
asked for.""",
    """\
torch.autograd.grad(loss, inputs) found no way from the loss back to one of the
inputs: the loss was computed from another tensor. Either the input is a copy
(`x = x.to(device)`, `x = x.clone().requires_grad_()`) that was made before or
after the forward pass, or adapted weights are asked for (`w = w - lr * g`),
while the model computes with its own.""",
    """\
Use the same tensor in the forward pass whose gradient is requested. If it may be
unused, pass `allow_unused=True` and expect None.""",
    (
        Way(
            "requires_grad came after the forward pass",
            (),
            "-out = net(x)\n-x = x.clone().requires_grad_()\n+x = x.clone().requires_grad_()\n+out = net(x)\n grad(out.sum(), x)",
        ),
        Way(
            "Adapted weights are asked for, which the model does not compute with",
            (),
            "-loss = criterion(model(x), y)\n+loss = criterion(functional_call(model, adapted, x), y)\n grads = grad(loss, adapted.values())",
        ),
    ),
    is_local=True,
    is_traced=True,
)

TENSOR_KINDS = (
    NO_GRAPH, NOT_SCALAR, OLD_INDEX, OLD_SHAPE, OLD_ARGUMENT, NUMPY, LEAF_IN_PLACE, NOT_A_LEAF, DEEPCOPY, UNUSED,
)  # fmt: skip
