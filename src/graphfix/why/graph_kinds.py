"""What is said of the errors that come of a graph that outlives its backward pass, or is changed before it."""

from __future__ import annotations

from graphfix.why.kinds import Kind, Way

SECOND_BACKWARD = Kind(
    "second-backward",
    "backward through the same graph a second time",
    (
        "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they have already "
        "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
        "retain_graph=True if you need to backward through the graph a second time ...",
    ),
    (
        "Trying to backward through the graph a second time",
        "access saved tensors after they have already been freed",
        "saved intermediate results have already been freed",
        "saved variables after they have already been freed",
        "the buffers have already been freed",
    ),
    (
        "GF201", "GF202", "GF204", "GF203", "GF301", "GF302", "GF303", "GF308", "GF304", "GF306", "GF205", "GF102", "GF101",
        "GF902",
    ),
    """\
A `backward()` reached operations whose saved tensors an earlier `backward()` has
freed: some tensor still carries the graph of an earlier loss.""",
    """\
While a forward pass runs, PyTorch records it as a graph, and keeps in that
graph the tensors that the gradients need. `backward()` uses these tensors once
and frees them, so each recorded operation can be differentiated one time. This
error says that a `backward()` reached an operation that an earlier `backward()`
had already used up. It is raised at the second one, but the cause is nearly
always elsewhere: some tensor still carries the graph of an earlier loss, and
the new loss was computed from it. In a loop, the first iteration runs and the
second one raises; there `retain_graph=True` only hides it, as the graph grows
with each iteration, and memory and time with it.""",
    """\
Find the tensor that comes from before the earlier `backward()`, and compute it
anew, or `detach()` it where the gradient is to end.""",
    (
        Way(
            "Hidden state goes from one iteration into the next",
            ("GF201", "GF202"),
            """\
 for x, y in loader:
+    h = h.detach()
     out, h = rnn(x, h)
     F.mse_loss(out, y).backward()""",
            "The state of iteration 2 was computed in iteration 1, whose graph is freed. The same goes for state that a module or a "
            "trainer keeps on itself (`self.h`).",
        ),
        Way(
            "Two losses share a part of the forward pass, one backward() each",
            ("GF301",),
            """\
-loss_a.backward()
-loss_b.backward()
+(loss_a + loss_b).backward()""",
            "The first `backward()` frees the shared part, and the second one needs it. The gradient of the sum is the sum of the "
            "gradients.",
        ),
        Way(
            "A tensor from before the loop is used in each iteration",
            ("GF203", "GF205"),
            """\
-scale = weight.exp()
 for x, y in loader:
+    scale = weight.exp()
     F.mse_loss(x * scale, y).backward()""",
            "It was computed once, so its graph can be used once. This happens to embeddings, adjacency matrices, features of a backbone "
            "and weights that are computed from a parameter.",
        ),
        Way(
            "A sum of losses runs backward each time, old losses included",
            ("GF204",),
            """\
 for x, y in loader:
-    total += criterion(model(x), y)
+    total = criterion(model(x), y)
     total.backward()""",
            "The total of iteration 2 contains the loss of iteration 1, whose graph is freed.",
        ),
        Way(
            "The discriminator's loss goes back into the generator",
            ("GF303", "GF301"),
            """\
-d_loss = criterion(D(fake), zeros)
+d_loss = criterion(D(fake.detach()), zeros)
 d_loss.backward()
 g_loss = criterion(D(fake), ones)
 g_loss.backward()""",
            "The loss of the first player frees the graph of the second one. The discriminator needs the generated data, but not the "
            "generator's gradient.",
        ),
        Way(
            "backward() is called twice on the same loss, perhaps in a helper",
            ("GF302",),
            """\
 loss.backward()
 optimizer.step()
-loss.backward()""",
            "A trainer or a helper may call the second one.",
        ),
        Way(
            "A memory or replay buffer keeps values with their graphs",
            ("GF102",),
            """\
-memory.append(model(x))
+memory.append(model(x).detach())
 loss = F.mse_loss(model(x), memory[0])""",
            "A later loss is computed from a stored value, whose graph was freed when it was new.",
        ),
        Way(
            "The closure of an optimizer uses a loss that is computed outside",
            ("GF302",),
            """\
-loss = criterion(model(x), y)
 def closure():
     optimizer.zero_grad()
+    loss = criterion(model(x), y)
     loss.backward()
     return loss
 optimizer.step(closure)""",
            "LBFGS calls its closure several times in one step, so the closure has to compute the loss each time.",
        ),
        Way(
            "PyTorch Lightning: training_step calls backward() itself",
            (),
            """\
 def training_step(self, batch, index):
     loss = self.criterion(self(batch.x), batch.y)
-    loss.backward()
     return loss""",
            "Lightning calls `backward()` on the loss that `training_step` returns. Either let Lightning do it, or set "
            "`self.automatic_optimization = False` and call `self.manual_backward(loss)`. State that `training_step` keeps on `self` "
            "has to be detached as in any other loop.",
            libraries=("/lightning/", "/pytorch_lightning/", "/lightning_fabric/"),
        ),
        Way(
            "PyTorch Lightning: two manual_backward() on one graph",
            ("GF301",),
            """\
-self.manual_backward(loss_a)
-self.manual_backward(loss_b)
+self.manual_backward(loss_a + loss_b)""",
            "`manual_backward` frees the graph as `backward()` does. It hands `retain_graph=True` on to `backward()`.",
            libraries=("/lightning/", "/pytorch_lightning/", "/lightning_fabric/"),
        ),
        Way(
            "Accelerate: loss.backward() and accelerator.backward(loss)",
            ("GF302", "GF301"),
            """\
-loss.backward()
 accelerator.backward(loss)""",
            "`accelerator.backward` takes the place of `loss.backward()`. Two losses on one graph are summed before it.",
            libraries=("/accelerate/",),
        ),
        Way(
            "DeepSpeed: engine.backward() for two losses on one graph",
            ("GF301", "GF302"),
            """\
-engine.backward(loss_a)
-engine.backward(loss_b)
+engine.backward(loss_a + loss_b)
 engine.step()""",
            "`engine.backward` frees the graph as `backward()` does.",
            libraries=("/deepspeed/",),
        ),
        Way(
            "mmcv: two optimizer hooks are registered",
            (),
            """\
-custom_hooks = [dict(type="GradientCumulativeOptimizerHook")]
+optimizer_config = dict(type="GradientCumulativeOptimizerHook")""",
            "A config that inherits `optimizer_config` from its base and adds a hook for cumulative iterations has two hooks. Each one "
            "calls `backward()` on the loss of the same iteration. Replace the hook, instead of adding one.",
            "Look for two optimizer hooks among the hooks that the runner prints when it starts.",
            libraries=("/mmcv/", "/mmengine/"),
        ),
        Way(
            "torch.compile: two outputs of a compiled module run backward apart",
            (),
            """\
 out_a, out_b = compiled(x)
-out_a.mean().backward()
-out_b.mean().backward()
+(out_a.mean() + out_b.mean()).backward()""",
            "All that is compiled together is one autograd node. The first `backward()` through any output frees all of it, even if "
            "the outputs share no operation and the same code runs without `torch.compile`.",
            "Run the program once without `torch.compile`. If it runs, this is the cause.",
            libraries=("/torch/_dynamo/", "/torch/_functorch/", "/torch/_inductor/"),
        ),
        Way(
            "A reentrant checkpoint reads a tensor that it is not given",
            (),
            """\
-out = checkpoint(lambda x: block(x, memory), x, use_reentrant=True)
+out = checkpoint(block, x, memory, use_reentrant=False)""",
            "A reentrant checkpoint runs a backward pass of its own. It stops at the inputs of the checkpoint, but goes on through "
            "a tensor from a closure or an attribute, and frees that tensor's graph.",
            libraries=("/torch/utils/checkpoint.py",),
        ),
        Way(
            "Several threads run a backward pass over one graph",
            ("GF308",),
            """\
-for thread in [Thread(target=loss.backward) for loss in losses]:
-    thread.start()
+sum(losses).backward()""",
            "The thread that comes first frees what the others need.",
        ),
    ),
)  # fmt: skip

WRITTEN_IN_PLACE = Kind(
    "in-place",
    "a tensor that backward() needs was changed in place",
    (
        "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: "
        "[torch.FloatTensor ...] is at version ...; expected version ... instead. Hint: enable anomaly detection to find the operation "
        "that failed to compute its gradient ...",
        "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: "
        "[torch.FloatTensor ...], which is output 0 of ..., is at version ...; expected version ... instead. ...",
    ),
    ("one of the variables needed for gradient computation has been modified by an inplace operation",),
    ("GF401", "GF304", "GF306", "GF303", "GF201", "GF202", "GF203", "GF301"),
    """\
An operation kept a tensor for its gradient, and before `backward()` used it,
something wrote to that tensor.""",
    """\
Some operations keep a tensor for their gradient: sigmoid, tanh, relu, exp and
softmax keep their result, products and layers keep their inputs and weights.
Each tensor counts the in-place writes to it. This error says that a tensor
was written to after it was kept and before `backward()` used it. The line with
`backward()` is not at fault; the write is, somewhere between.""",
    """\
Write out of place (`x = x + r`, not `x += r`). If `optimizer.step()` is what
writes, call every `backward()` that needs the old weights before it.""",
    (
        Way(
            "An in-place operation: `x += r`, `x[mask] = 0`, relu_(), inplace=True",
            ("GF401",),
            """\
 gate = torch.sigmoid(self.gate(x))
-gate += 0.1
+gate = gate + 0.1""",
            "The message names a result of an operation (`which is output 0 of SigmoidBackward0`).",
        ),
        Way(
            "optimizer.step() stands between a forward pass and its backward()",
            ("GF304", "GF303"),
            """\
 loss_a.backward(retain_graph=True)
-optimizer.step()
 loss_b.backward()
+optimizer.step()""",
            "A step writes to all weights. Two players that are trained in turns, such as the networks of a GAN or an actor and a "
            "critic, meet this most often. The message names a weight: a tensor without an operation, or a transpose.",
        ),
        Way(
            "retain_graph=True keeps the last iteration, which used old weights",
            ("GF306",),
            """\
+h = h.detach()
 out, h = rnn(x, h)
-F.mse_loss(out, y).backward(retain_graph=True)
+F.mse_loss(out, y).backward()""",
            "The graph of the last iteration is still there, but `optimizer.step()` has changed the weights that it saved. "
            "`retain_graph=True` was most often added against another error.",
        ),
        Way(
            "Results are written into the slices of a tensor that is read again",
            ("GF401",),
            """\
+steps = [x.new_zeros(3, 8)]
 for t in range(1, 5):
-    h[:, t] = cell(x[:, t], h[:, t - 1])
+    steps.append(cell(x[:, t], steps[-1]))
+h = torch.stack(steps, dim=1)""",
            "Slices share the version counter of the whole tensor. Writing to one slice counts as a write to those that a layer has "
            "saved.",
        ),
        Way(
            "DistributedDataParallel: the module runs twice before backward()",
            (),
            """\
-model = DistributedDataParallel(net)
+model = DistributedDataParallel(net, broadcast_buffers=False)""",
            "Before each forward pass, DDP writes the buffers of rank 0 into the module, such as the running mean of BatchNorm. The "
            "first forward pass has saved them. Instead of switching that off, run one forward pass over both batches: "
            "`model(torch.cat([real, fake]))`. PyTorch 2.13 keeps the version counter of these buffers, so it does not raise.",
            "The message names a tensor of the shape of a buffer. A run with one process and without DDP does not raise.",
            libraries=("/torch/nn/parallel/", "/torch/distributed/", "/torch/multiprocessing/"),
        ),
        Way(
            "A module writes to its own buffer after it has used it",
            ("GF401",),
            """\
 def forward(self, x):
-    out = self.proj(x) * self.scale
-    self.scale.mul_(0.9).add_(0.1 * out.detach().mean(0))
+    out = self.proj(x) * self.scale.clone()
+    self.scale.mul_(0.9).add_(0.1 * out.detach().mean(0))
     return out""",
            "Moving averages, queues and codebooks do this. Save a copy, or write after `backward()`.",
        ),
    ),
)

OUT_OF_MEMORY = Kind(
    "out-of-memory",
    "out of memory",
    (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate ...",
        "RuntimeError: MPS backend out of memory ...",
        "RuntimeError: ... DefaultCPUAllocator: can't allocate memory ...",
    ),
    (
        "CUDA out of memory",
        "CUDA error: out of memory",
        "HIP out of memory",
        "XPU out of memory",
        "MPS backend out of memory",
        "DefaultCPUAllocator: can't allocate memory",
        "DefaultCPUAllocator: not enough memory",
        "OutOfMemoryError",
    ),
    ("GF101", "GF102", "GF103", "GF306", "GF202", "GF307", "GF305", "GF903"),
    """\
If memory grows from iteration to iteration, something keeps the graphs of old
iterations, and with them all tensors that their gradients need.""",
    """\
If it is raised in the first iteration, model and batch are too large. If it is
raised after many iterations, or in the evaluation, memory grows: something
keeps the graphs of old iterations, and with them all tensors that their
gradients need. A running total of losses or a list of outputs is enough.""",
    """\
Keep numbers (`loss.item()`) and detached tensors, and evaluate under
`torch.no_grad()`.""",
    (
        Way(
            "A running total keeps the graph of every iteration",
            ("GF101",),
            "-total += loss\n+total += loss.item()",
            "The total is a tensor with a graph, and its graph contains those of all losses.",
        ),
        Way(
            "A list keeps the graph of all that is put into it",
            ("GF102",),
            "-outputs.append(model(x))\n+outputs.append(model(x).detach())",
            "Each output keeps all tensors of its forward pass that the gradients need.",
        ),
        Way(
            "An evaluation builds graphs that no backward() ever frees",
            ("GF103",),
            """\
+with torch.no_grad():
     for x, y in test_loader:
         total += criterion(model(x), y).item()""",
            "`model.eval()` does not switch recording off.",
        ),
        Way(
            "retain_graph=True in a loop keeps every iteration",
            ("GF306", "GF305"),
            """\
+h = h.detach()
 out, h = rnn(x, h)
-F.mse_loss(out, y).backward(retain_graph=True)
+F.mse_loss(out, y).backward()""",
            "It was most often added against another error, and hides that each iteration goes back into all earlier ones.",
        ),
        Way(
            "A module keeps a result of its forward pass",
            ("GF202",),
            "-self.features = features\n+self.features = features.detach()",
            "The graph lives as long as the attribute, and longer if the next forward pass computes with it.",
        ),
        Way(
            "create_graph=True records the graph of the gradients",
            ("GF307",),
            "-loss.backward(create_graph=True)\n+loss.backward()",
            "Each `.grad` then holds a graph that holds the parameter, and neither is freed.",
        ),
    ),
)

GRAPH_KINDS = (SECOND_BACKWARD, WRITTEN_IN_PLACE, OUT_OF_MEMORY)
