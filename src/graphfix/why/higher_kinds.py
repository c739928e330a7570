"""What is said of the errors of derivatives that do not exist, and of gradients that have a graph."""

from __future__ import annotations

from graphfix.why.kinds import Kind, Way

NO_DERIVATIVE = Kind(
    "no-derivative",
    "an operation has no derivative, or none of second order",
    (
        "RuntimeError: derivative for aten::... is not implemented",
        "RuntimeError: trying to differentiate twice a function that was marked with @once_differentiable",
        "RuntimeError: the derivative for '...' is not implemented ...",
    ),
    (
        "derivative for aten::... is not implemented",
        "the derivative for '...' is not implemented",
        "trying to differentiate twice a function that was marked with @once_differentiable",
        "Double backwards is not supported for CuDNN RNNs",
    ),
    (),
    """\
`backward()` reached an operation that torch cannot differentiate; most often the
gradient itself is differentiated, and a fast kernel has no second derivative.""",
    """\
Every operation in a graph needs a derivative. If `create_graph=True` was used, the
gradient has a graph, too, and a second `backward()` differentiates the backward
operations. Fast kernels (flash attention, cuDNN's recurrent layers) and
custom Functions with `once_differentiable` have no such second derivative.""",
    """\
Run the forward pass with a kernel that has one (`sdpa_kernel(SDPBackend.MATH)`,
`torch.backends.cudnn.flags(enabled=False)`), or leave out `create_graph=True` if
no second derivative is needed.""",
    (
        Way(
            "Second order through attention: gradient penalty, MAML",
            (),
            "+from torch.nn.attention import SDPBackend, sdpa_kernel\n+with sdpa_kernel(SDPBackend.MATH):\n     out = model(x)",
            "Only the plain implementation of `scaled_dot_product_attention` has a second derivative. It has to be chosen in the forward "
            "pass.",
        ),
        Way(
            "A first-order gradient is enough",
            (),
            "-grads = torch.autograd.grad(loss, params, create_graph=True)\n+grads = torch.autograd.grad(loss, params)",
            "First-order MAML and its like use the gradient as a plain tensor. Libraries have an option for it (`first_order=True`).",
        ),
        Way(
            "Second order through an LSTM or a GRU on a GPU",
            (),
            "-out, h = rnn(x)\n+with torch.backends.cudnn.flags(enabled=False):\n+    out, h = rnn(x)",
            "cuDNN has no second derivative. WGAN-GP with a recurrent critic meets this.",
        ),
        Way(
            "A custom Function that is differentiable once",
            (),
            " @staticmethod\n-@once_differentiable\n def backward(ctx, grad):\n     return grad * 2",
            "Without the decorator, `backward` is recorded, as long as it consists of operations of torch. An extension in C++ or CUDA needs "
            "a second Function for its backward pass.",
        ),
        Way(
            "An operation that has no gradient stands in the loss",
            (),
            "-gate = torch.heaviside(x, torch.zeros(()))\n+gate = torch.sigmoid(10 * x)\n loss = (gate * out).mean()",
            "A step function is flat everywhere, so torch has no derivative for it. A smooth function takes its place.",
        ),
    ),
    see="`torch.autograd.set_detect_anomaly(True)` prints the line of the forward pass that recorded the operation.",
)

CREATE_GRAPH = Kind(
    "create-graph",
    "backward(create_graph=True) keeps the graph alive",
    (
        "UserWarning: Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can "
        "cause a memory leak. ...",
    ),
    ("Using backward() with create_graph=True will create a reference cycle",),
    ("GF307",),
    """\
With `create_graph=True`, each `.grad` has a graph that refers to its parameter, so
neither is freed.""",
    """\
With `create_graph=True` the gradients are recorded, so that they can be
differentiated again. `backward()` stores them in `.grad`, and their graph refers to
the parameters. Each holds the other, and the memory of the graph is not freed.""",
    """\
Leave out `create_graph=True` if no second derivative is needed. Otherwise use
`torch.autograd.grad(loss, params, create_graph=True)`, which fills no `.grad`.""",
    (
        Way(
            "No second derivative is needed",
            ("GF307",),
            "-loss.backward(create_graph=True)\n+loss.backward()",
            "It was copied from elsewhere, or `retain_graph=True` was meant.",
        ),
        Way(
            "A penalty or an inner step needs the gradient's graph",
            (),
            "-loss.backward(create_graph=True)\n-penalty = sum(p.grad.norm() for p in params)\n"
            "+grads = torch.autograd.grad(loss, params, create_graph=True)\n+penalty = sum(g.norm() for g in grads)",
            "The gradients are plain tensors, which go when the iteration ends.",
        ),
        Way(
            "A second-order optimizer needs it in .grad",
            (),
            " loss.backward(create_graph=True)\n optimizer.step()\n-optimizer.zero_grad(set_to_none=False)\n+optimizer.zero_grad(set_to_none=True)",
            "AdaHessian and its like read the graph of `.grad`. Setting `.grad` to None breaks the cycle.",
        ),
    ),
    is_local=True,
)

ASKED = Kind(
    "asked-of-data",
    "a gradient is requested of a tensor that needs none",
    ("RuntimeError: One of the differentiated Tensors does not require grad",),
    ("One of the differentiated Tensors does not require grad",),
    ("GF314",),
    """\
`torch.autograd.grad(loss, inputs)` was given an input with `requires_grad=False`.
The loss may well have a graph.""",
    """\
`torch.autograd.grad(loss, inputs)` computes gradients for the tensors in `inputs`,
and each of them has to need one when the call begins. One does not: it is data
(a batch, a mask), a frozen parameter, or what `.detach()`, `.data` or a
`torch.no_grad()` block made of the tensor that was meant. The loss is not what is
wrong here.""",
    """\
Have the input record before the forward pass (`x.requires_grad_()`), or leave it
out: `[p for p in model.parameters() if p.requires_grad]`.""",
    (
        Way(
            "A gradient of the data: a gradient penalty, a saliency map, an adversarial example",
            (),
            "+x = x.detach().requires_grad_()\n out = net(x)\n g, = torch.autograd.grad(out.sum(), x)",
            "Data needs no gradient unless it is told to, and that has to be before the forward pass.",
        ),
        Way(
            "Some parameters are frozen",
            (),
            "-grads = grad(loss, list(net.parameters()))\n+grads = grad(loss, [p for p in net.parameters() if p.requires_grad])",
            "A frozen parameter has no gradient to compute. Mind that the list of gradients gets shorter.",
        ),
        Way(
            "The tensor that is asked for is a copy without a graph",
            (),
            " z = encoder(x)\n-loss = head(z.detach()).sum()\n-g, = torch.autograd.grad(loss, z.detach())\n"
            "+z = z.detach().requires_grad_()\n+loss = head(z).sum()\n+g, = torch.autograd.grad(loss, z)",
            "`detach()` and `.data` give a new tensor at each call. Keep the one that goes through the forward pass, and have it record.",
        ),
    ),
    is_local=True,
    see="Print `[t.requires_grad for t in inputs]` in front of the call.",
)

HIGHER_KINDS = (NO_DERIVATIVE, CREATE_GRAPH, ASKED)
