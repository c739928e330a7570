"""What is said of the errors of what stands between the program and autograd: DDP, torch.compile, cuDNN."""

from __future__ import annotations

from graphfix.why.kinds import Kind, Way

_DDP = ("/torch/nn/parallel/", "/torch/distributed/")
_NAMED = "`graphfix trace` names the parameters, and so does the message with `TORCH_DISTRIBUTED_DEBUG=DETAIL`."

UNREDUCED = Kind(
    "ddp-unused",
    "DistributedDataParallel waits for gradients that never came",
    (
        "RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that your "
        "module has parameters that were not used in producing loss. ...",
    ),
    ("Expected to have finished reduction in the prior iteration before starting a new one",),
    (),
    """\
In the last iteration, some parameters of the module got no gradient, so DDP is
still waiting for them when the next forward pass begins.""",
    """\
After each `backward()`, DDP averages the gradients of all processes. It waits for
one gradient of each parameter. In the last iteration some parameters got none:
the loss was not computed from them. The error is raised by the next forward pass,
so the line that it names is not at fault. The end of the message has the indices
of the parameters.""",
    """\
Let every parameter take part in the loss, freeze those that do not
(`requires_grad_(False)` before DDP), or pass `find_unused_parameters=True`.""",
    (
        Way(
            "A layer is never used, or only in some iterations",
            (),
            "-model = DDP(net)\n+model = DDP(net, find_unused_parameters=True)",
            "A head for another task, a layer that is skipped at random, a branch that depends on the batch. A layer that is never used is "
            "better removed or frozen, as the search for unused parameters costs time.",
            libraries=_DDP,
        ),
        Way(
            "An output is computed, and the loss does not use it",
            (),
            " out, extra = model(x)\n-loss = criterion(out, y)\n+loss = criterion(out, y) + 0 * extra.sum()",
            "Return only what the loss uses, or let it take part with a factor of 0.",
            libraries=_DDP,
        ),
        Way(
            "Pretrained parts are not frozen",
            (),
            "+net.backbone.requires_grad_(False)\n model = DDP(net)",
            "A backbone that runs under `no_grad()`, or whose features are detached, gets no gradient. Freeze it before DDP wraps the "
            "module.",
            libraries=_DDP,
        ),
        Way(
            "Some batches have a part of the loss only",
            (),
            "-loss = aux_loss + box_loss if has_boxes else aux_loss\n+loss = aux_loss + (box_loss if has_boxes else 0 * scores.sum())",
            "A batch without a positive example leaves out a head. All processes have to reach the same parameters. An iteration without any "
            "`backward()` does not raise.",
            libraries=_DDP,
        ),
        Way(
            "The loss is computed around DDP",
            (),
            " out = model(x)\n-loss = criterion(model.module.encode(x), y)\n+loss = criterion(out, y)",
            "DDP waits for the gradients of the forward pass that it has seen. What is computed by `model.module` instead reaches a part of "
            "them.",
            libraries=_DDP,
        ),
        Way(
            "mmcv and mmengine: find the parameters",
            (),
            '-model_wrapper_cfg = dict(type="MMDistributedDataParallel")\n+model_wrapper_cfg = dict(\n'
            '+    type="MMDistributedDataParallel", detect_anomalous_params=True)',
            "`detect_anomalous_params=True` logs each parameter that the loss does not use; in mmcv it is an option of `OptimizerHook`. "
            "Remove it when they are found, as it is slow.",
            "The log names the parameters.",
            libraries=("/mmcv/", "/mmengine/", "/mmdet/"),
        ),
        Way(
            "Lightning and Accelerate: the option of the framework",
            (),
            '-trainer = Trainer(strategy="ddp")\n+trainer = Trainer(strategy="ddp_find_unused_parameters_true")',
            "With Accelerate: `DistributedDataParallelKwargs(find_unused_parameters=True)` in `kwargs_handlers`. Networks that are trained "
            "in turns (a GAN in one `LightningModule`) need it.",
            libraries=("/lightning/", "/pytorch_lightning/", "/accelerate/"),
        ),
    ),
    see=_NAMED,
)

READY_TWICE = Kind(
    "ddp-ready-twice",
    "DistributedDataParallel got two gradients of one parameter",
    (
        "RuntimeError: Expected to mark a variable ready only once. This error is caused by one of the following reasons: 1) Use of a module "
        "parameter outside the `forward` function. ... 2) Reused parameters in multiple reentrant backward passes. ...",
    ),
    ("Expected to mark a variable ready only once",),
    (),
    """\
DDP sends a gradient as soon as it is there, and here a parameter got a second
one, or one that DDP did not expect.""",
    """\
During `backward()`, DDP averages each gradient as soon as it is complete, and
expects each parameter once. A reentrant checkpoint runs a backward pass of its
own inside, so a parameter in two checkpoints is ready twice. With
`find_unused_parameters=True`, DDP takes a parameter for unused if the path to it
is hidden in a reentrant checkpoint or outside of `forward`; its gradient is then
one too many. The end of the message names the parameter.""",
    """\
Use `checkpoint(..., use_reentrant=False)`. Otherwise leave out
`find_unused_parameters`, or pass `static_graph=True` to DDP.""",
    (
        Way(
            "A reentrant checkpoint and find_unused_parameters=True",
            (),
            "-h = checkpoint(block, h, use_reentrant=True)\n+h = checkpoint(block, h, use_reentrant=False)",
            'In transformers and its trainers: `gradient_checkpointing_kwargs={"use_reentrant": False}`, and '
            "`ddp_find_unused_parameters=False`.",
            libraries=("/torch/utils/checkpoint.py", "/transformers/", "/trl/", "/peft/"),
        ),
        Way(
            "A block or a weight is used in several reentrant checkpoints",
            (),
            "-for _ in range(3):\n-    h = checkpoint(block, h, use_reentrant=True)\n"
            "+for _ in range(3):\n+    h = checkpoint(block, h, use_reentrant=False)",
            "Shared weights, tied embeddings and recurrent blocks are used several times in one forward pass. `static_graph=True` in DDP "
            "helps, too, if every iteration uses the same parameters.",
            libraries=("/torch/utils/checkpoint.py",),
        ),
        Way(
            "A parameter is used outside of forward()",
            (),
            "-out = model(x)\n-loss = criterion(out @ model.module.head.weight.T, y)\n+loss = criterion(model(x, with_head=True), y)",
            "DDP searches for unused parameters from the outputs of `forward`. The parameter counts as unused, and then gets a gradient. Move "
            "the computation into `forward`.",
            libraries=_DDP,
        ),
        Way(
            "Two forward passes with reentrant checkpoints, one backward()",
            (),
            "-loss = model(a).mean() + model(b).mean()\n+out_a, out_b = model(torch.cat([a, b])).chunk(2)\n"
            "+loss = out_a.mean() + out_b.mean()\n loss.backward()",
            "The parameters of a checkpoint are ready once for each forward pass. `use_reentrant=False` is a cure as well.",
            libraries=("/torch/utils/checkpoint.py",),
        ),
    ),
    see=_NAMED,
)

DONATED = Kind(
    "donated-buffers",
    "the graph of a compiled function cannot be retained",
    (
        "RuntimeError: This backward function was compiled with non-empty donated buffers which requires create_graph=False and "
        "retain_graph=False. Please keep backward(create_graph=False, retain_graph=False) across all backward() function calls, or set "
        "torch._functorch.config.donated_buffer=False to disable donated buffer.",
    ),
    ("This backward function was compiled with non-empty donated buffers",),
    ("GF318", "GF305", "GF306", "GF307"),
    """\
A backward pass that `torch.compile` made reuses the memory of its saved tensors,
so its graph cannot be retained.""",
    """\
`torch.compile` makes one autograd node of a compiled function. Its backward pass
is compiled at the first `backward()`. If that one is plain, the compiled code
writes into the memory of the saved tensors, to save memory. From then on the
graph cannot be retained, so a later `backward()` with `retain_graph=True` or
`create_graph=True` is refused.""",
    """\
Leave out `retain_graph=True`, and call `backward()` once on the sum of the losses.
If it is needed, set `torch._functorch.config.donated_buffer = False` first.""",
    (
        Way(
            "retain_graph=True is not needed",
            ("GF305", "GF306"),
            "-loss.backward(retain_graph=True)\n+loss.backward()",
            "It is left from the search for another error. If a state is carried from one iteration into the next, detach it.",
        ),
        Way(
            "Two losses go through one compiled function",
            (),
            "-loss_a.backward(retain_graph=True)\n-loss_b.backward()\n+(loss_a + loss_b).backward()",
            "One backward pass over the sum gives the same gradients.",
            "Another `backward()` follows the one that retains the graph.",
        ),
        Way(
            "Gradients for each loss, or of gradients, are needed",
            ("GF318",),
            "+import torch._functorch.config\n+torch._functorch.config.donated_buffer = False\n"
            " grads = [grad(loss, params, retain_graph=True) for loss in losses]",
            "Set it before the function is compiled. For `create_graph=True`, leave the function uncompiled, as a compiled backward pass "
            "has no derivative.",
            "The loss is one of several, or a later loss is computed from its gradients.",
        ),
    ),
)

COMPILED = Kind(
    "compiled-twice",
    "a gradient of compiled code is differentiated again",
    ("RuntimeError: torch.compile with aot_autograd does not currently support double backward",),
    ("torch.compile with aot_autograd does not currently support double backward",),
    ("GF318",),
    """\
`torch.compile` compiles the backward pass, too, and what it makes has no
derivative.""",
    """\
Somewhere, gradients of what a compiled module or function has computed are
recorded (`create_graph=True`), and the loss is made of them: a gradient penalty,
forces as the gradient of an energy, a physics-informed loss. `backward()` then
differentiates the compiled backward pass, which torch cannot do.""",
    """\
Leave that module or function uncompiled (`torch.compile(..., disable=True)`), or
compile only parts that no gradient of a gradient goes through.""",
    (
        Way(
            "A gradient of a gradient goes through compiled code",
            ("GF318",),
            "-critic = torch.compile(critic)\n out = critic(x)\n grad, = torch.autograd.grad(out.sum(), x, create_graph=True)",
            "The backend decides nothing: all but `backend=\"eager\"` compile the backward pass.",
        ),
    ),
)

CUDNN_RNN = Kind(
    "cudnn-rnn",
    "backward() through a recurrent layer in evaluation mode on a GPU",
    ("RuntimeError: cudnn RNN backward can only be called in training mode",),
    ("RNN backward can only be called in training mode", "backward_input can only be called in training mode"),
    (),
    """\
In evaluation mode, cuDNN does not keep what the gradients of an LSTM, a GRU or an
RNN need.""",
    """\
On a GPU, LSTM, GRU and RNN are computed by cuDNN. After `model.eval()` it runs
the forward pass without keeping what the gradients need. The same program runs
on the CPU.""",
    """\
Call `train()` on the recurrent layer before the forward pass, or compute it
without cuDNN: `with torch.backends.cudnn.flags(enabled=False):`.""",
    (
        Way(
            "The model stayed in evaluation mode",
            (),
            "+model.train()\n for x, y in train_loader:\n     criterion(model(x), y).backward()",
            "An evaluation, or a function that generates samples, called `eval()`, and nothing called `train()` afterwards. The mode at the "
            "time of the forward pass counts.",
            "`print([n for n, m in model.named_modules() if not m.training])` before the forward pass.",
        ),
        Way(
            "Gradients of a trained model: saliency maps, adversarial examples",
            (),
            " model.eval()\n+for m in model.modules():\n+    if isinstance(m, nn.RNNBase):\n+        m.train()",
            "Only the recurrent layers need training mode. Set their `dropout` to 0 if they have one.",
            "The line that calls `backward()` is one that trains nothing.",
        ),
        Way(
            "A frozen recurrent layer below layers that are trained",
            (),
            "-out = model(x)\n+with torch.backends.cudnn.flags(enabled=False):\n+    out = model(x)",
            "The gradient of the layers below goes through the frozen one. Without cuDNN it is slower.",
            "The recurrent layer is in evaluation mode on purpose.",
        ),
    ),
)

LIBRARY_KINDS = (UNREDUCED, READY_TWICE, DONATED, COMPILED, CUDNN_RNN)
