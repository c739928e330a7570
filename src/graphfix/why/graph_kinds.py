"""What is said of the errors that come of a graph that outlives its backward pass, or is changed before it."""

from __future__ import annotations

from graphfix.why.kinds import Kind, Way

SECOND_BACKWARD = Kind(
    "second-backward",
    "backward through the same graph a second time",
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
A backward() reached operations whose saved tensors an earlier backward() has
freed: some tensor still carries the graph of an earlier loss.""",
    """\
While a forward pass runs, PyTorch records it as a graph, and keeps in that
graph the tensors that the gradients need. backward() uses these tensors once
and frees them as it goes, so each recorded operation can be differentiated
one time. This error says that a backward() came to an operation that an
earlier backward() had already used up. It is raised at the second one, but
the cause is nearly always elsewhere: some tensor still carries the graph of
an earlier loss, and the new loss was computed from it. In a loop, the first
iteration runs and the second one raises; there retain_graph=True only hides
it, as the graph grows with each iteration, and memory and time with it.""",
    """\
Find the tensor that comes from before the earlier backward(), and compute it
anew, or detach() it where the gradient is to end.""",
    (
        Way(
            "Hidden state goes from one iteration into the next",
            ("GF201", "GF202"),
            """\
 for x, y in loader:
+    h = h.detach()
     out, h = rnn(x, h)
     F.mse_loss(out, y).backward()""",
        ),
        Way(
            "A sum of losses runs backward each time, old losses included",
            ("GF204",),
            """\
 for x, y in loader:
-    total += criterion(model(x), y)
+    total = criterion(model(x), y)
     total.backward()""",
        ),
        Way(
            "A tensor from before the loop is used in each iteration",
            ("GF203",),
            """\
-scale = weight.exp()
 for x, y in loader:
+    scale = weight.exp()
     F.mse_loss(x * scale, y).backward()""",
        ),
        Way(
            "Two losses share a part of the forward pass, one backward() each",
            ("GF301",),
            """\
-loss_a.backward()
-loss_b.backward()
+(loss_a + loss_b).backward()""",
        ),
        Way(
            "backward() is called twice on the same loss, perhaps in a helper",
            ("GF302",),
            """\
 loss.backward()
 optimizer.step()
-loss.backward()""",
        ),
        Way(
            "A memory or replay buffer keeps values with their graphs",
            ("GF102",),
            """\
-memory.append(model(x))
+memory.append(model(x).detach())
 loss = F.mse_loss(model(x), memory[0])""",
        ),
    ),
)  # fmt: skip

WRITTEN_IN_PLACE = Kind(
    "in-place",
    "a tensor that backward() needs was changed in place",
    ("one of the variables needed for gradient computation has been modified by an inplace operation",),
    ("GF401", "GF304", "GF306", "GF303", "GF201", "GF202", "GF203", "GF301"),
    """\
An operation kept a tensor for its gradient, and before backward() came to use
it, something wrote to that tensor.""",
    """\
Some operations keep a tensor for their gradient: sigmoid, tanh, relu, exp and
softmax keep their result, products and layers keep their inputs and weights.
Each tensor counts the in-place writes to it. This error says that a tensor
was written to after it was kept and before backward() came to use it. The
line with backward() is not at fault; the write is, somewhere between.""",
    """\
Write out of place (`x = x + r`, not `x += r`). If it is optimizer.step() that
writes, call every backward() that needs the old weights before it.""",
    (
        Way(
            "An in-place operation: x += r, x[mask] = 0, relu_(), inplace=True",
            ("GF401",),
            """\
 gate = torch.sigmoid(self.gate(x))
-gate += 0.1
+gate = gate + 0.1""",
        ),
        Way(
            "optimizer.step() stands between a forward pass and its backward()",
            ("GF304",),
            """\
 loss_a.backward(retain_graph=True)
-optimizer.step()
 loss_b.backward()
+optimizer.step()""",
        ),
        Way(
            "retain_graph=True keeps the last iteration, which used old weights",
            ("GF306",),
            """\
+h = h.detach()
 out, h = rnn(x, h)
-F.mse_loss(out, y).backward(retain_graph=True)
+F.mse_loss(out, y).backward()""",
        ),
    ),
)

OUT_OF_MEMORY = Kind(
    "out-of-memory",
    "out of memory",
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
If it comes in the first iteration, model and batch are too large. If it comes
after many iterations, or in the evaluation, memory grows: something keeps the
graphs of old iterations, and with them all tensors that their gradients need.
A running total of losses or a list of outputs is enough for that.""",
    """\
Keep numbers (`loss.item()`) and detached tensors, and evaluate under
torch.no_grad().""",
    (
        Way("A running total keeps the graph of every iteration", ("GF101",), "-total += loss\n+total += loss.item()"),
        Way(
            "A list keeps the graph of all that is put into it",
            ("GF102",),
            "-outputs.append(model(x))\n+outputs.append(model(x).detach())",
        ),
        Way(
            "An evaluation builds graphs that no backward() ever frees",
            ("GF103",),
            """\
+with torch.no_grad():
     for x, y in test_loader:
         total += criterion(model(x), y).item()""",
        ),
    ),
)

GRAPH_KINDS = (SECOND_BACKWARD, WRITTEN_IN_PLACE, OUT_OF_MEMORY)
