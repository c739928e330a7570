"""What is said of the errors about views that are changed in place, and about tensors of inference mode."""

from __future__ import annotations

from graphfix.why.kinds import Kind, Way

DETACHED_VIEW = Kind(
    "detach-view",
    "detach_() is called on a view",
    (
        "RuntimeError: Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, and "
        "gradient_as_bucket_view is set as True, gradients are views of DDP buckets ...",
    ),
    ("Can't detach views in-place",),
    (),
    """\
`detach_()` cuts a tensor from its graph in place, and a view shares its graph
with the tensor that it looks into.""",
    """\
A slice, a chunk, a transpose or a reshape is a view: it shares memory and graph
with another tensor. `detach_()` would cut one of the two only, so torch refuses.
The outputs of some layers are views as well, such as those of an LSTM with
`batch_first=True` or without a batch dimension.""",
    "Write `h = h.detach()` in the place of `h.detach_()`.",
    (
        Way(
            "Hidden state that is a slice, a chunk or an output of a layer",
            (),
            "-for h in state:\n-    h.detach_()\n+state = tuple(h.detach() for h in state)",
            "The new tensors have the same values. The old ones keep their graph until nothing refers to them.",
        ),
        Way(
            "A slice or a reshaped tensor",
            (),
            "-last = out[:, -1]\n-last.detach_()\n+last = out[:, -1].detach()",
            "Indexing gives a view.",
        ),
        Way(
            "DistributedDataParallel with gradient_as_bucket_view=True",
            (),
            "-for p in model.parameters():\n-    p.grad.detach_()\n-    p.grad.zero_()\n+optimizer.zero_grad()",
            "Each `.grad` is a view of a bucket that DDP sends. A `zero_grad` that is old, or written by hand, calls `detach_()` on it.",
        ),
        Way(
            "A gradient that was assigned is a view",
            (),
            "-p.grad = new.reshape(p.shape)\n+p.grad = new.reshape(p.shape).clone()\n optimizer.zero_grad(set_to_none=False)",
            "`reshape` gives a view if it can. `zero_grad` then calls `detach_()` on it if it has a graph.",
        ),
    ),
    is_local=True,
)

WRITTEN_VIEW = Kind(
    "view-in-place",
    "a view is changed in place, and its graph cannot be updated",
    (
        "RuntimeError: Output 0 of ... is a view and is being modified inplace. This view is the output of a function that returns multiple "
        "views. Such functions do not allow the output views to be modified inplace. ...",
        "RuntimeError: Output 0 of BackwardHookFunction... is a view and is being modified inplace. This view was created inside a custom "
        "Function (or because an input was returned as-is) ...",
        "RuntimeError: A view was created in no_grad mode and is being modified inplace with grad mode enabled. ...",
    ),
    (
        "is a view and is being modified inplace",
        "is a view and its base or another view of its base has been modified inplace",
        "A view was created in no_grad mode and is being modified inplace with grad mode enabled",
        "A view was created in inference mode and is being modified inplace",
    ),
    ("GF313",),
    """\
Something writes to a view, and autograd cannot tell the tensor below it and its
other views of the write.""",
    """\
If you write to a view, the tensor below it changes, and so do all its other
views. Autograd records that for one view of one tensor. It cannot for a view that
is one of several outputs (`chunk`, `split`, `unbind`, a loop over a tensor), that
a custom Function returned, or that was made under `no_grad()`.""",
    "Write out of place (`a = a + 1`, not `a += 1`), or `clone()` the view first.",
    (
        Way(
            "A part from chunk(), split() or unbind() is changed",
            (),
            " a, b = gates.chunk(2, dim=1)\n-a += bias\n+a = a + bias",
            "`mul_()`, `clamp_()`, `F.relu(a, inplace=True)` and `a[...] = 0` write in place, too.",
        ),
        Way(
            "A parameter is initialised through a view of it",
            ("GF313",),
            "-lstm.bias_hh_l0.chunk(4)[1].fill_(1)\n+lstm.bias_hh_l0.detach().chunk(4)[1].fill_(1)",
            "Under `torch.no_grad()` it works, too.",
        ),
        Way(
            "A backward hook on a module before an in-place activation",
            (),
            "-nn.ReLU(inplace=True)\n+nn.ReLU(inplace=False)",
            "`register_full_backward_hook` passes the output through a custom Function. The next layer writes to it. Grad-CAM, SHAP and "
            "profilers set such hooks.",
            "The message names `BackwardHookFunction`.",
        ),
        Way(
            "A loop over the rows of a tensor changes them",
            (),
            "-for row in x:\n-    row *= 2\n+x = x * 2",
            "A loop over a tensor calls `unbind()`.",
        ),
        Way(
            "A custom Function returns its input",
            (),
            " def forward(ctx, x):\n-    return x\n+    return x.clone()",
            "A gradient reversal layer is often written like that. With `return x.view_as(x)` it raises, too.",
        ),
        Way(
            "The view was made under no_grad()",
            (),
            " with torch.no_grad():\n     part = x[:2]\n-part += 1\n+    part += 1",
            "Move both into the block, or both out of it.",
        ),
    ),
    is_local=True,
)

INFERENCE = Kind(
    "inference-tensor",
    "a tensor of inference mode is used in training",
    (
        "RuntimeError: Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
        "tracked by autograd. ...",
        "RuntimeError: Inplace update to inference tensor outside InferenceMode is not allowed. ...",
    ),
    (
        "Inference tensors cannot be saved for backward",
        "Inplace update to inference tensor outside InferenceMode is not allowed",
        "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed",
    ),
    (),
    """\
A tensor that was made under `torch.inference_mode()` can never be a part of a
graph.""",
    """\
`torch.inference_mode()` makes tensors without what autograd needs, and they stay
like that after the block. Such a tensor was used in a computation that is
recorded: features, a cache or a running value from an evaluation.""",
    "Make it under `torch.no_grad()`, or `clone()` it outside of the block.",
    (
        Way(
            "Features are computed under inference_mode()",
            (),
            "-with torch.inference_mode():\n+with torch.no_grad():\n     features = backbone(x)\n loss = criterion(head(features), y)",
            "`no_grad()` makes normal tensors, which need no gradient.",
        ),
        Way(
            "A module fills a cache in an evaluation, and is trained later",
            (),
            '-self.cos = table.cos()\n+self.register_buffer("cos", table.cos())',
            "A cache that is made in the first forward pass (rotary embeddings, masks, positions) is an inference tensor if that pass was an "
            "evaluation. Make it in `__init__`.",
        ),
        Way(
            "PyTorch Lightning: the sanity check or a validation makes it",
            (),
            "-trainer = Trainer()\n+trainer = Trainer(inference_mode=False)",
            "Lightning validates under `inference_mode()`, before the first training step, too.",
            libraries=("/lightning/", "/pytorch_lightning/"),
        ),
    ),
    see="`t.is_inference()` says whether a tensor was made under `inference_mode()`.",
)

VIEW_KINDS = (DETACHED_VIEW, WRITTEN_VIEW, INFERENCE)
