"""What is said of the errors of code that was written for a PyTorch before 0.4."""

from __future__ import annotations

from graphfix.why.kinds import Kind, Way

OLD_INDEX = Kind(
    "zero-dim-index",
    "a tensor with one number is indexed",
    (
        "IndexError: invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
        "tensor to a number",
        "IndexError: too many indices for array: array is 0-dimensional, but 1 were indexed",
    ),
    (
        "invalid index of a 0-dim tensor",
        "invalid index of a 0-dimensional tensor",
        "too many indices for array: array is 0-dimensional",
    ),
    ("GF901",),
    """\
Since PyTorch 0.4 a loss is a tensor without dimensions, so it has no element
0; its number is read with `.item()`.""",
    """\
Since PyTorch 0.4 a loss is a tensor without dimensions, so it has no element
0, and neither has the array that `.numpy()` makes of it. `loss.data[0]` and
`loss[0]` are how torch 0.3 read the number in it.""",
    "Read the number with `loss.item()`.",
    (
        Way(
            "Code of the time of PyTorch 0.3",
            ("GF901",),
            "-print(loss.data[0])\n+print(loss.item())",
            "A loss had one dimension then.",
        ),
        Way(
            "A dimension is reduced away before the index",
            (),
            "-best = scores.max()[0]\n+best = scores.max()",
            "`max()` without `dim` gives one number; with `dim` it gives values and indices.",
        ),
    ),
    is_local=True,
)

OLD_SHAPE = Kind(
    "gradient-shape",
    "the gradient given to backward() has another shape than the loss",
    ("RuntimeError: Mismatch in shape: grad_output[0] has a shape of ... and output[0] has a shape of ...",),
    ("Mismatch in shape: grad_output",),
    ("GF903",),
    """\
What is given to `backward()` has to have the shape of the loss, which has no
dimensions since PyTorch 0.4.""",
    """\
What is given to `backward()` is the gradient of the tensor that it is called
on, and has to have its shape. A loss has no dimensions since PyTorch 0.4;
`torch.ones(1)`, with one dimension, was right before.""",
    "For a loss, call `loss.backward()`; else pass `torch.ones_like(output)`.",
    (
        Way(
            "A gradient for a loss of torch 0.3",
            ("GF903",),
            "-loss.backward(torch.ones(1))\n+loss.backward()",
            "A loss needs no argument: its gradient is 1.",
        ),
        Way(
            "A gradient of a fixed size for an output of another size",
            (),
            "-out.backward(torch.ones(batch_size))\n+out.backward(torch.ones_like(out))",
            "The last batch of an epoch is smaller, or the output has one more dimension.",
        ),
    ),
    is_local=True,
    stands=("loss", "backward"),
)

OLD_ARGUMENT = Kind(
    "retain-variables",
    "backward() is given the argument of an old PyTorch",
    ("TypeError: ... got an unexpected keyword argument 'retain_variables'",),
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
            "Only the name has changed. `GF305` finds where the argument is not needed at all.",
        ),
    ),
    is_local=True,
    stands=("loss", "backward"),
)

OLD_KINDS = (OLD_INDEX, OLD_SHAPE, OLD_ARGUMENT)
