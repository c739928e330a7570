"""What is said of the errors of torch.utils.checkpoint, which computes a part of the forward pass again in the backward pass."""

from __future__ import annotations

from graphfix.why.kinds import Kind, Way

_FILES = ("/torch/utils/checkpoint.py",)

WITHOUT_GRAD = Kind(
    "checkpoint-without-grad",
    "no input of a reentrant checkpoint requires grad",
    ("UserWarning: None of the inputs have requires_grad=True. Gradients will be None",),
    ("None of the inputs have requires_grad=True. Gradients will be None",),
    ("GF103",),
    """\
The output of this reentrant checkpoint has no graph, so nothing inside of it is
trained.""",
    """\
A reentrant checkpoint runs its function without recording, and makes one
autograd node from it. It makes this node only if one of its inputs requires
grad. None does, so the output has no graph, and the parameters inside get no
gradient. If no other part of the loss has a graph, `backward()` raises "element 0
of tensors does not require grad". Otherwise the program runs, and this part is
not trained.""",
    "Use `checkpoint(..., use_reentrant=False)`, which looks at the parameters, too.",
    (
        Way(
            "The first checkpoint of a model, whose input is data",
            (),
            "-h = checkpoint(block, x, use_reentrant=True)\n+h = checkpoint(block, x, use_reentrant=False)",
            "Data requires no grad. In old versions of torch, `x.requires_grad_()` before the call has the same effect.",
        ),
        Way(
            "Adapters on a frozen model, such as LoRA",
            (),
            "+model.enable_input_require_grads()\n model = get_peft_model(model, config)\n trainer = Trainer(model, args)",
            "The embedding is frozen, so the input of the first block requires no grad. "
            '`gradient_checkpointing_kwargs={"use_reentrant": False}` has the same effect.',
            libraries=("/transformers/", "/peft/", "/trl/"),
        ),
        Way(
            "A frozen backbone below the checkpoint",
            (),
            "-out = checkpoint(head, backbone(x), use_reentrant=True)\n+out = head(backbone(x))",
            "If the part inside is frozen, too, it needs no checkpoint.",
        ),
        Way(
            "An evaluation without no_grad()",
            ("GF103",),
            "+with torch.no_grad():\n     out = model(x)",
            "If nothing is trained, the warning is harmless. Without recording it does not appear, and checkpoints are not needed.",
        ),
    ),
    see="`graphfix trace train.py` names the checkpoint, if `backward()` raises because of it.",
)

RECOMPUTED = Kind(
    "checkpoint-recompute",
    "a checkpoint computed something else the second time",
    (
        "torch.utils.checkpoint.CheckpointError: torch.utils.checkpoint: Recomputed values for the following tensors have different metadata "
        "than during the forward pass. ...",
        "torch.utils.checkpoint.CheckpointError: torch.utils.checkpoint: A different number of tensors was saved during the original forward "
        "and recomputation. ...",
    ),
    (
        "Recomputed values for the following tensors have different metadata than during the forward pass",
        "A different number of tensors was saved during the original forward and recomputation",
    ),
    (),
    """\
A checkpoint runs its function again during `backward()`, and the second run saved
other tensors than the first one.""",
    """\
A checkpoint saves only its inputs in the forward pass, and runs its function again
during `backward()`. Both runs have to do the same operations on tensors of the same
shape, dtype and device. Here they did not: the function reads something that has
changed since, or it depends on a mode that differs.""",
    """\
Make the function depend on its arguments alone. `checkpoint(..., debug=True)` shows
the operations of both runs.""",
    (
        Way(
            "A cache of keys and values grows in the forward pass",
            (),
            "-out = model(**batch)\n+out = model(**batch, use_cache=False)",
            "The second run finds the cache of the first one, and computes longer sequences.",
            libraries=("/transformers/", "/trl/", "/peft/"),
        ),
        Way(
            "The function changes or reads state of its module",
            (),
            " def forward(self, x):\n-    self.step += 1\n-    return self.deep(x) if self.step % 2 else self.flat(x)\n"
            "+    return self.deep(x) if self.use_deep else self.flat(x)",
            "A counter, a cache or a random choice outside of torch is different in the second run. Decide before the checkpoint, and pass "
            "the decision as an argument.",
        ),
        Way(
            "A module changes between train() and eval() before backward()",
            (),
            " out = model(x)\n-model.eval()\n loss.backward()\n+model.eval()",
            "`backward()` runs the function again in the mode that its modules have then. Dropout, for one, saves nothing in evaluation mode.",
        ),
        Way(
            "Shapes depend on values: experts, masks, top-k",
            (),
            "-out = checkpoint(moe, x, use_reentrant=False)\n+out = moe(x)",
            "A small difference in rounding, or a bias that is updated between, sends a token to another expert.",
        ),
        Way(
            "Parameters are partitioned: DeepSpeed ZeRO-3, FSDP",
            (),
            '-model.gradient_checkpointing_enable({"use_reentrant": False})\n+model.gradient_checkpointing_enable({"use_reentrant": True})',
            "A parameter that is not gathered has the shape `[0]`, which counts as a difference. A reentrant checkpoint does not compare "
            "shapes. FSDP has checkpoints of its own: `apply_activation_checkpointing`.",
            "The message has the shape `torch.Size([0])`.",
            libraries=("/deepspeed/", "/torch/distributed/fsdp/", "/accelerate/"),
        ),
    ),
    see="`checkpoint(..., debug=True)` shows the operations of both runs.",
)

INPUTS_GIVEN = Kind(
    "checkpoint-inputs",
    "gradients of chosen inputs through a reentrant checkpoint",
    (
        "RuntimeError: When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
        ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing the `inputs` "
        "argument.",
    ),
    (
        "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad()",
        "torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter",
        "Checkpointing is not compatible with .grad() or when an `inputs` parameter is passed to .backward()",
    ),
    (),
    """\
A reentrant checkpoint runs a whole `backward()` inside, so it cannot compute the
gradients of chosen inputs alone.""",
    """\
A reentrant checkpoint calls `backward()` inside of the backward pass, which adds to
the `.grad` of every parameter. `torch.autograd.grad` and `backward(inputs=...)`
promise not to do that.""",
    "Use `checkpoint(..., use_reentrant=False)`.",
    (
        Way(
            "torch.autograd.grad through a checkpoint",
            (),
            "-h = checkpoint(block, x, use_reentrant=True)\n+h = checkpoint(block, x, use_reentrant=False)\n grad, = torch.autograd.grad(h.sum(), x)",
            "Gradient penalties, meta-learning and guidance in diffusion models do that.",
            libraries=_FILES,
        ),
        Way(
            "A model of a library has reentrant checkpoints switched on",
            (),
            '-model.gradient_checkpointing_enable()\n+model.gradient_checkpointing_enable({"use_reentrant": False})',
            "That is the method of transformers; other libraries have an option like it.",
            libraries=("/transformers/", "/diffusers/"),
        ),
    ),
    is_local=True,
)

CHECKPOINT_KINDS = (WITHOUT_GRAD, RECOMPUTED, INPUTS_GIVEN)
