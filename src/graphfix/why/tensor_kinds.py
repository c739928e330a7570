"""What is said of the errors that come of a tensor that has no graph, or has one where a number or an array is needed."""

from __future__ import annotations

from graphfix.why.kinds import Kind, Way

NO_GRAPH = Kind(
    "no-graph",
    "the loss has no graph to go back through",
    (
        "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
    ),
    ("does not require grad and does not have a grad_fn",),
    ("GF310", "GF205", "GF903"),
    """\
No recorded operation leads from the loss back to a parameter: the graph was
cut on the way, or was never recorded.""",
    """\
`backward()` was called on a tensor that no recorded operation made from a
parameter. Somewhere between the parameters and the loss the graph was cut, or
it was never recorded: by `.detach()`, `.data`, `.item()`, `.numpy()` or
`torch.tensor(...)`, by `torch.no_grad()` or `inference_mode()`, by `argmax` or a
comparison, by a reentrant checkpoint whose inputs are frozen, or because all
parameters have `requires_grad=False`.""",
    """\
Follow the loss back to the first tensor with `requires_grad=False`
(`print(t.requires_grad, t.grad_fn)`), and keep to tensor operations there.""",
    (
        Way(
            "The loss was made anew from a number",
            ("GF310",),
            "-loss = torch.tensor(criterion(out, y).item())\n+loss = criterion(out, y)",
            "`torch.tensor(...)` and `torch.Tensor([...])` copy numbers, and a number has no graph. A detour over NumPy does the same. "
            "Setting `requires_grad=True` on such a loss silences the error, and trains nothing.",
        ),
        Way(
            "The forward pass ran without recording",
            ("GF310",),
            "-with torch.no_grad():\n-    out = model(x)\n+out = model(x)",
            "`no_grad()`, `inference_mode()` and `set_grad_enabled(False)` switch recording off, also as a decorator or in a caller. "
            "`set_grad_enabled(False)` as a plain call stays in force until it is undone.",
        ),
        Way(
            "All parameters are frozen",
            (),
            """\
 for parameter in model.parameters():
     parameter.requires_grad = False
+model.head.requires_grad_(True)""",
            "With no trainable parameter in the way of the loss, nothing is recorded.",
            "`print([n for n, p in model.named_parameters() if p.requires_grad])` shows what is trainable.",
        ),
        Way(
            "A reentrant checkpoint, and none of its inputs requires grad",
            (),
            "-h = checkpoint(block, h, use_reentrant=True)\n+h = checkpoint(block, h, use_reentrant=False)",
            "With LoRA and other adapters, the embedding is frozen, so the input of the first checkpoint requires no grad. In transformers, "
            '`model.enable_input_require_grads()` or `gradient_checkpointing_kwargs={"use_reentrant": False}` is the cure.',
            'The log has the warning "None of the inputs have requires_grad=True", see [its page](checkpoint-without-grad.md).',
            libraries=("/torch/utils/checkpoint.py", "/transformers/", "/peft/", "/trl/"),
        ),
        Way(
            ".data or detach() cut the graph on the way",
            ("GF310",),
            "-loss = criterion(out.data, y)\n+loss = criterion(out, y)",
            "`Variable(out.data)` in old code does the same.",
        ),
        Way(
            "The loss counts: argmax, a comparison, rounding to int",
            ("GF310",),
            "-loss = (out.argmax(1) != y).float().mean()\n+loss = F.cross_entropy(out, y)",
            "A count has no gradient. It needs a smooth loss in its place.",
        ),
        Way(
            "The gradient of an input that does not require grad",
            (),
            "+x.requires_grad_()\n loss = criterion(model(x), y)\n grad, = torch.autograd.grad(loss, x)",
            "Data from a loader requires no grad. Adversarial examples, saliency maps and gradient penalties need it.",
        ),
        Way(
            "The loss comes from a list that stayed empty",
            (),
            "-loss = sum(losses, torch.zeros(()))\n-loss.backward()\n+if losses:\n+    sum(losses).backward()",
            "A batch without a positive example leaves the initial zero, which has no graph.",
        ),
    ),
)

NOT_SCALAR = Kind(
    "not-scalar",
    "backward() on a tensor with more than one element",
    ("RuntimeError: grad can be implicitly created only for scalar outputs",),
    ("grad can be implicitly created only for scalar outputs",),
    ("GF312",),
    """\
`backward()` without an argument needs one number to differentiate; the tensor
here has several elements, or none.""",
    """\
`backward()` without an argument needs one number to differentiate. The tensor
here has several elements: a loss made with `reduction="none"`, one loss for
each GPU or each sample, or a model's output itself. Or it has none: the batch
held nothing that the loss is computed from.""",
    "Take the mean or the sum first: `loss.mean().backward()`.",
    (
        Way(
            "A loss for each sample, or for each GPU",
            ("GF312",),
            "-loss.backward()\n+loss.mean().backward()",
            '`reduction="none"` gives a loss for each sample. `DataParallel` gathers one loss from each GPU if the module computes it.',
        ),
        Way(
            "A batch leaves nothing to compare",
            (),
            " if probas.numel() == 0:\n-    return probas * 0.0\n+    return probas.sum() * 0.0\n loss.backward()",
            "The first batches run, and a later one fails. The mean of no elements is nan; their sum is 0.",
        ),
        Way(
            "The gradient of a whole output",
            (),
            "-grad, = torch.autograd.grad(out, x)\n+grad, = torch.autograd.grad(out.sum(), x)",
            "The gradient of the sum has a row for each sample, as long as the samples do not depend on each other.",
        ),
    ),
    is_local=True,
    is_traced=True,
    stands=("loss", "backward"),
)

NUMPY = Kind(
    "numpy",
    "NumPy is given a tensor that has a graph",
    ("RuntimeError: Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",),
    ("call numpy() on Tensor that requires grad", "call numpy() on Variable that requires grad"),
    ("GF904", "GF102", "GF101", "GF103", "GF901"),
    """\
NumPy knows nothing of gradients, so torch refuses to hand over a tensor that
is part of a graph.""",
    """\
NumPy knows nothing of gradients, so torch refuses to hand over a tensor that
is part of a graph. Often NumPy is called by something else: `np.mean` over a
list of losses, `np.array`, a plot, a metric of scikit-learn.""",
    """\
Take `t.item()` for one number and `t.detach().cpu().numpy()` for an array. If
the tensors are kept in a list, do so where they are put into it.""",
    (
        Way(
            "An array is wanted",
            (),
            "-plt.plot(out.numpy())\n+plt.plot(out.detach().cpu().numpy())",
            "`detach()` gives the same values without the graph.",
        ),
        Way(
            "Losses are collected for a mean",
            ("GF102",),
            "-losses.append(loss)\n+losses.append(loss.item())",
            "`np.mean(losses)` calls `numpy()` on each of them. The list keeps all graphs, too.",
        ),
        Way(
            "An evaluation records graphs",
            ("GF103",),
            "+with torch.no_grad():\n     scores = model(x)\n     auc = roc_auc_score(y, scores)",
            "Without recording, the outputs have no graph.",
        ),
    ),
    is_local=True,
    stands=("out", "numpy"),
)

UNUSED = Kind(
    "unused",
    "a gradient is requested of a tensor that the loss was not computed from",
    (
        "RuntimeError: The differentiated Tensor at index 0 appears to not have been used in the graph. Set allow_unused=True if this is "
        "the desired behavior.",
        "RuntimeError: One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is "
        "the desired behavior.",
    ),
    ("appears to not have been used in the graph",),
    ("GF314", "GF205"),
    """\
There is no way from the loss back to one of the tensors whose gradient is
requested.""",
    """\
`torch.autograd.grad(loss, inputs)` found no way from the loss back to one of
the inputs: the loss was computed from another tensor. Either the input is a
copy (`x = x.to(device)`, `x = x.clone().requires_grad_()`) that was made
before or after the forward pass, or adapted weights are requested
(`w = w - lr * g`), while the model computes with its own.""",
    """\
Use the same tensor in the forward pass whose gradient is requested. If it may be
unused, pass `allow_unused=True` and expect None.""",
    (
        Way(
            "requires_grad came after the forward pass",
            ("GF314",),
            "-out = net(x)\n-x = x.clone().requires_grad_()\n+x = x.clone().requires_grad_()\n+out = net(x)\n grad(out.sum(), x)",
            "`clone()`, `to()`, `view()` and indexing give another tensor. The output was computed from the old one.",
        ),
        Way(
            "Adapted weights are requested, and the model does not use them",
            ("GF314",),
            "-loss = criterion(model(x), y)\n+loss = criterion(functional_call(model, adapted, x), y)\n grads = grad(loss, adapted.values())",
            "MAML and other meta-learning need a forward pass with the adapted weights, not with those of the module.",
        ),
        Way(
            "A part of the model is not used in this forward pass",
            (),
            "-grads = grad(loss, model.parameters())\n+grads = grad(loss, model.parameters(), allow_unused=True)",
            "A head for another task, or a layer that is skipped. The gradient of such a parameter is None.",
        ),
    ),
    is_local=True,
    is_traced=True,
)

TO_A_NUMBER = Kind(
    "to-number",
    "a tensor that has a graph is made into a number",
    (
        "UserWarning: Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior. "
        "Consider using tensor.detach() first. ...",
    ),
    ("Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior",),
    ("GF904",),
    """\
`float()`, `int()`, `math` or a format gives a number, and a number has no graph.""",
    """\
`float()`, `int()`, `math.exp()` or a format was given a tensor that has a graph.
The number that it gives has none. That is right for a log. It is wrong if the
number becomes part of a loss, because no gradient passes through it.""",
    """\
Write `loss.item()` for a number to print. In a loss, use the functions of
torch (`torch.exp`), not those of `math`.""",
    (
        Way(
            "A number is printed or logged",
            ("GF904",),
            "-total += float(loss)\n+total += loss.item()",
            "`.item()` says that a number is meant, so it does not warn.",
        ),
        Way(
            "A function of math within the loss",
            ("GF904",),
            "-loss = out * math.exp(weight)\n+loss = out * torch.exp(weight)",
            "The gradient ends here: `weight` is not trained by this loss.",
        ),
    ),
    is_local=True,
)

NO_GRADIENT = Kind(
    "no-inf-checks",
    "the gradient scaler steps an optimizer whose parameters have no gradient",
    ("AssertionError: No inf checks were recorded for this optimizer.",),
    ("No inf checks were recorded for this optimizer", "No inf checks were recorded prior to update"),
    ("GF309",),
    """\
No parameter of this optimizer got a gradient since the last step: `backward()`
was not called, or did not reach them.""",
    """\
`scaler.step(optimizer)` checks the gradients of the optimizer for inf and nan,
and found none to check: every `.grad` is None. Either `backward()` was not
called on the scaled loss, or the loss does not depend on the parameters that
this optimizer has.""",
    """\
Call `scaler.scale(loss).backward()` before `scaler.step(optimizer)`, and give the
optimizer the parameters that the loss is computed from.""",
    (
        Way(
            "backward() is missing",
            ("GF309",),
            "-scaler.scale(loss)\n+scaler.scale(loss).backward()\n scaler.step(optimizer)",
            "`scale` only multiplies the loss.",
        ),
        Way(
            "The graph is cut between the parameters and the loss",
            (),
            "-loss = torch.tensor(values, requires_grad=True).mean()\n+loss = torch.stack(values).mean()",
            "A loss that is made anew with `requires_grad=True` runs backward without an error, and reaches no parameter.",
        ),
        Way(
            "The optimizer has other parameters than the model",
            (),
            "-optimizer = SGD(model.parameters())\n model = build_model().to(device)\n+optimizer = SGD(model.parameters())",
            "The model was built anew, or its parameters were replaced, after the optimizer was made.",
        ),
        Way(
            "The framework scales already",
            (),
            "-scaler.scale(loss).backward()\n-scaler.step(optimizer)\n+accelerator.backward(loss)\n+optimizer.step()",
            "Accelerate and Lightning have a scaler of their own. A second one has seen no gradient.",
            libraries=("/accelerate/", "/lightning/", "/pytorch_lightning/"),
        ),
    ),
    see="`print([n for n, p in model.named_parameters() if p.grad is None])` after `backward()` names the parameters without a gradient.",
)

TENSOR_KINDS = (NO_GRAPH, NOT_SCALAR, NUMPY, UNUSED, TO_A_NUMBER, NO_GRADIENT)
