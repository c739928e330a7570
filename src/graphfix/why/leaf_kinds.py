"""What is said of the errors about leaves: the tensors that an optimizer steps, and what may be done to them."""

from __future__ import annotations

from graphfix.why.kinds import Kind, Way

LEAF_IN_PLACE = Kind(
    "leaf-in-place",
    "a parameter is changed in place while PyTorch records",
    (
        "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.",
        "RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place operation.",
    ),
    (
        "leaf Variable that requires grad is being used in an in-place operation",
        "leaf Variable that requires grad has been used in an in-place operation",
    ),
    ("GF313", "GF204", "GF205", "GF401", "GF101"),
    """\
A parameter, or another tensor that was made or told to require grad, was changed
in place while PyTorch records.""",
    """\
A leaf is a tensor that you made with `requires_grad=True`, such as a parameter,
or told to require grad (`x.requires_grad_()`). Its gradient belongs to its present
content, so that content must not change within a recorded computation. An update
by hand (`w -= lr * w.grad`), an initial value (`w[0] = 1`, which writes to a view of
`w`), a total that starts with `requires_grad=True`, and features that are written
into the embeddings of a frozen model all do that.""",
    """\
Change parameters under `torch.no_grad()`. Copy any other tensor before you write
to it: `x = x.clone()`. A total of losses starts without `requires_grad`.""",
    (
        Way(
            "An update or an initial value by hand",
            ("GF313",),
            "-w -= lr * w.grad\n+with torch.no_grad():\n+    w -= lr * w.grad",
            "The update is not a part of the computation that is differentiated.",
        ),
        Way(
            "A row of a weight is set: a view of the leaf",
            ("GF313",),
            "-model.embed.weight[0] = 0\n+with torch.no_grad():\n+    model.embed.weight[0] = 0",
            "Indexing, `view()`, `chunk()` and `t()` give views. Writing to a view writes to the leaf.",
        ),
        Way(
            "A result was told to require grad, and is written to: the embeddings of a frozen model",
            ("GF313",),
            " embeds = embedding(ids)\n embeds.requires_grad_()\n-embeds[mask] = image_features\n"
            "+embeds = embeds.clone()\n+embeds[mask] = image_features",
            "A hook does so for checkpoints (`enable_input_require_grads()`). The copy is not a leaf. `no_grad` or `detach()` would stop what is written"
            " from training.",
            libraries=("/transformers/", "/peft/"),
        ),
        Way(
            "A total that is a leaf itself",
            ("GF313", "GF204"),
            "-total = torch.zeros((), requires_grad=True)\n+total = torch.zeros(())\n total += loss",
            "The total gets its graph from the losses. It needs no `requires_grad`.",
        ),
        Way(
            "A buffer to write results into requires grad",
            ("GF313",),
            "-out = torch.zeros(8, 4, requires_grad=True)\n+out = torch.zeros(8, 4)\n for i, row in enumerate(rows):\n     out[i] = net(row)",
            "The tensor becomes a part of the graph with the first write.",
        ),
        Way(
            "A parameter is sent to other processes",
            (),
            " with torch.no_grad():\n     for p in model.parameters():\n-        dist.broadcast(p, 0)\n+        dist.broadcast(p.detach(), 0)",
            "`no_grad` holds in its own thread. Gloo writes in another one (torch 1.7 to 2.0). `p.detach()` has the same memory.",
            libraries=("/torch/distributed/", "distributed_c10d"),
        ),
    ),
    is_local=True,
)

NOT_A_LEAF = Kind(
    "not-a-leaf",
    "the optimizer is given a tensor that is computed from others",
    ("ValueError: can't optimize a non-leaf Tensor",),
    ("can't optimize a non-leaf Tensor", "can't optimize a non-leaf Variable"),
    ("GF205", "GF313"),
    """\
An optimizer steps leaves, which no operation has computed; this one is the
result of an operation.""",
    """\
Only leaves, which no operation has computed, get a `.grad` to be stepped with.
An operation after `requires_grad=True`, be it `* 0.1` or `.cuda()`, gives another
tensor, which is not a leaf.""",
    "Compute first, then request the gradient: `.requires_grad_()` is last.",
    (
        Way(
            "An operation stands behind requires_grad",
            ("GF205",),
            "-w = torch.randn(4, requires_grad=True) * 0.1\n+w = (torch.randn(4) * 0.1).requires_grad_()",
            "`* 0.1` scales the initial value, which is meant to happen once.",
        ),
        Way(
            "A tensor is moved after requires_grad",
            ("GF205",),
            "-w = torch.randn(4, requires_grad=True).to(device)\n+w = torch.randn(4, device=device, requires_grad=True)",
            "On the CPU, `.to(device)` changes nothing and the program runs. On a GPU it is an operation.",
        ),
        Way(
            "The result of a module is optimized, not its parameters",
            (),
            "-optimizer = Adam([net(z)])\n+optimizer = Adam(net.parameters())",
            "If the result itself is to be trained, cut it off first: `x = net(z).detach().requires_grad_()`.",
        ),
        Way(
            "A parameter was written to in place, through a view of it",
            ("GF313",),
            "-lstm.bias_hh_l0.chunk(4)[1].fill_(1)\n+lstm.bias_hh_l0.detach().chunk(4)[1].fill_(1)",
            "Until torch 1.4 the write made the parameter a result. Since then it raises an error itself.",
        ),
    ),
    is_local=True,
    is_traced=True,
)

NON_LEAF_GRAD = Kind(
    "non-leaf-grad",
    "the .grad of a tensor that is computed from others is read",
    (
        "UserWarning: The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated "
        "during autograd.backward(). ...",
    ),
    ("The .grad attribute of a Tensor that is not a leaf Tensor is being accessed",),
    (),
    """\
`backward()` fills `.grad` of leaves only; this tensor is the result of an
operation, so its `.grad` stays None.""",
    """\
`backward()` fills the `.grad` of leaves: parameters, and tensors that you made
with `requires_grad=True`. The tensor here is the result of an operation, so its
`.grad` is None, and reading it gives only this warning. A later line then fails
with 'NoneType', or trains nothing.""",
    """\
Read `.grad` of the leaf. If it is the gradient of a result that you need, call
`t.retain_grad()` on it before `backward()`.""",
    (
        Way(
            "An operation stands behind requires_grad",
            (),
            "-w = torch.randn(4, requires_grad=True).to(device)\n+w = torch.randn(4, device=device, requires_grad=True)",
            "`.to(device)`, `* 0.1` and `.view()` give another tensor, and the leaf has no name any more.",
        ),
        Way(
            "The gradient of a hidden value is needed",
            (),
            " h = encoder(x)\n+h.retain_grad()\n decoder(h).sum().backward()\n print(h.grad)",
            "`retain_grad()` keeps the gradient of a tensor that is not a leaf.",
        ),
        Way(
            "The name was given to another tensor",
            (),
            "-x = x / 255\n-loss = net(x).sum()\n+loss = net(x / 255).sum()\n loss.backward()\n print(x.grad)",
            "`x` was the leaf, and is its quotient now.",
        ),
    ),
    is_local=True,
)

EMPTY_OPTIMIZER = Kind(
    "empty-parameter-list",
    "the optimizer is given no parameter",
    ("ValueError: optimizer got an empty parameter list",),
    ("optimizer got an empty parameter list",),
    (),
    """\
`model.parameters()` is empty: the module has no registered parameter.""",
    """\
The optimizer got nothing to train. `model.parameters()` finds what is registered:
modules and `nn.Parameter` that are attributes of a module, or in `nn.ModuleList`
and its like. It does not look into plain lists and dicts. It is also empty if it
is a generator that was used up before.""",
    """\
Put layers into `nn.ModuleList` or `nn.ModuleDict`, single weights into
`nn.Parameter`.""",
    (
        Way(
            "Layers in a plain list",
            (),
            "-self.layers = [nn.Linear(4, 4) for _ in range(3)]\n+self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))",
            "A list in an attribute is not registered. If other layers are registered, there is no error, and the list is not trained.",
        ),
        Way(
            "A weight that is a plain tensor",
            (),
            "-self.w = torch.randn(4, requires_grad=True)\n+self.w = nn.Parameter(torch.randn(4))",
            "A tensor with `requires_grad=True` is not registered.",
        ),
        Way(
            "The generator is used up",
            (),
            "-params = model.parameters()\n+params = list(model.parameters())\n print(sum(p.numel() for p in params))\n optimizer = SGD(params)",
            "`parameters()` gives a generator, which can be read once.",
        ),
        Way(
            "Everything is filtered out",
            (),
            "-optimizer = SGD(p for p in net.parameters() if p.requires_grad)\n"
            "+net.head.requires_grad_(True)\n+optimizer = SGD(p for p in net.parameters() if p.requires_grad)",
            "All parameters are frozen when the optimizer is made.",
        ),
        Way(
            "Parameters are made in the first forward pass",
            (),
            "+model(example)\n optimizer = SGD(model.parameters())",
            "A module that builds its layers in `forward` has none before. Build them in `__init__`, or run it once.",
        ),
    ),
    is_local=True,
)

DEEPCOPY = Kind(
    "deepcopy",
    "a tensor that has a graph is copied with deepcopy",
    (
        "RuntimeError: Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. ...",
    ),
    ("support the deepcopy protocol",),
    ("GF311",),
    """\
`copy.deepcopy` does not copy graphs, and met a tensor that is the result of an
operation: what a forward pass has left on the module, or a weight that is
computed from others.""",
    """\
`copy.deepcopy` does not copy graphs. If a module is copied, one of its
attributes holds the result of a forward pass (hidden state, a cache, the last
loss), or its weights are computed, as with the old `weight_norm`.""",
    """\
Detach or reset what a forward pass leaves on the module. Where a weight is
computed (the old `weight_norm`), copy `model.state_dict()` into a new module.""",
    (
        Way(
            "A module keeps a result of its forward pass",
            ("GF311",),
            "-self.h = h\n+self.h = h.detach()",
            "Hidden state, attention maps and the last loss are kept like that. An average of the weights (EMA) then copies the module.",
        ),
        Way(
            "The old weight_norm or spectral_norm computes a weight",
            (),
            "-from torch.nn.utils import weight_norm\n+from torch.nn.utils.parametrizations import weight_norm",
            "The old functions set a computed tensor as `weight`. The parametrizations can be copied.",
        ),
        Way(
            "A tensor or a list of tensors is copied",
            ("GF311",),
            "-best = copy.deepcopy(outputs)\n+best = [out.detach().clone() for out in outputs]",
            "`detach().clone()` copies the values.",
        ),
    ),
    is_local=True,
    is_traced=True,
)

SERIALIZED = Kind(
    "serialize",
    "a tensor that has a graph is sent to another process",
    (
        "RuntimeError: Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing "
        "process boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing ...",
    ),
    ("Cowardly refusing to serialize non-leaf tensor which requires_grad",),
    (),
    """\
A graph lives in one process, so a tensor that has one cannot be sent to another
process.""",
    """\
A graph lives in one process. A tensor that has one was put on a queue, given to
a process of `torch.multiprocessing`, or returned by a worker of a `DataLoader`.""",
    "Send the values: `queue.put(t.detach())`. Run whole steps in one process.",
    (
        Way(
            "A result is put on a queue",
            (),
            "-queue.put(model(x))\n+queue.put(model(x).detach())",
            "The other process gets the values, and no gradient.",
        ),
        Way(
            "A dataset returns a result of a model",
            (),
            " def __getitem__(self, index):\n-    return self.encoder(self.data[index])\n"
            "+    with torch.no_grad():\n+        return self.encoder(self.data[index])",
            "With `num_workers=0` nothing is sent, and the program runs.",
        ),
        Way(
            "An object with such a tensor is given to a new process",
            (),
            "-self.features = features\n+self.features = features.detach()",
            "The arguments of a process that is spawned are serialized, with all attributes.",
        ),
    ),
    is_local=True,
)

FLAG = Kind(
    "requires-grad-flag",
    "requires_grad is set on a tensor that is computed from others",
    (
        "RuntimeError: you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph that "
        "doesn't require differentiation use var_no_grad = var.detach().",
    ),
    ("you can only change requires_grad flags of leaf variables",),
    (),
    """\
The result of an operation requires grad because its inputs do; this cannot be
switched off on the result.""",
    """\
Whether the result of an operation requires grad follows from its inputs. Only
a leaf, such as a parameter, has a switch of its own.""",
    "Use `t.detach()` in the place of `t.requires_grad = False`.",
    (
        Way(
            "A result is to be cut off",
            (),
            "-target = net(x)\n-target.requires_grad = False\n+target = net(x).detach()",
            "`detach()` gives the same values without the graph. `torch.no_grad()` around the call saves the memory, too.",
        ),
        Way(
            "A computed weight is to be frozen",
            (),
            " for p in model.parameters():\n     p.requires_grad = False\n-model.conv.weight.requires_grad = False",
            "With the old `weight_norm`, `weight` is computed from `weight_g` and `weight_v`. Freeze those.",
        ),
    ),
    is_local=True,
)

INTEGER = Kind(
    "integer-grad",
    "a tensor of whole numbers is to require grad",
    (
        "RuntimeError: Only Tensors of floating point and complex dtype can require gradients",
        "RuntimeError: only Tensors of floating point dtype can require gradients",
    ),
    (
        "Only Tensors of floating point and complex dtype can require gradients",
        "only Tensors of floating point dtype can require gradients",
    ),
    (),
    "Whole numbers have no gradient, so this tensor cannot require grad.",
    """\
Gradients exist for floating-point and complex numbers. The tensor here has
whole numbers or truth values: it was made from Python ints, or by `argmax`,
`arange`, a comparison or `.long()`.""",
    "Make it a float first: `torch.tensor([1.0, 2.0], requires_grad=True)`.",
    (
        Way(
            "A tensor is made from Python ints",
            (),
            "-x = torch.tensor([1, 2], requires_grad=True)\n+x = torch.tensor([1.0, 2.0], requires_grad=True)",
            "The dtype follows from the numbers: ints give int64.",
        ),
        Way(
            "Quantized or integer weights are made parameters",
            (),
            '-self.index = nn.Parameter(index)\n+self.register_buffer("index", index)',
            "What is not trained is a buffer, or `nn.Parameter(index, requires_grad=False)`.",
        ),
        Way(
            "Token ids are to get a gradient",
            (),
            "-ids.requires_grad_()\n-out = model(ids)\n+out = model(inputs_embeds=embed(ids).detach().requires_grad_())",
            "Ids are indices. Their embedding has a gradient.",
        ),
    ),
    is_local=True,
)

LEAF_KINDS = (LEAF_IN_PLACE, NOT_A_LEAF, NON_LEAF_GRAD, EMPTY_OPTIMIZER, DEEPCOPY, SERIALIZED, FLAG, INTEGER)
