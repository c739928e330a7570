"""One error, as each program prints it: what people paste. Line 8 of `train.py` calls `loss.backward()`, called from line 12."""

from __future__ import annotations

MESSAGE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed)."
)
ENGINE = "/opt/venv/lib/python3.11/site-packages/torch/_tensor.py"

PLAIN = f"""\
Traceback (most recent call last):
  File "/home/ana/project/train.py", line 12, in <module>
    main()
    ~~~~^^
  File "/home/ana/project/train.py", line 8, in main
    loss.backward()
    ~~~~~~~~~~~~~^^
  File "{ENGINE}", line 623, in backward
    torch.autograd.backward(
    ^^^^^^^^^^^^^^^^^^^^^^^^
RuntimeError: {MESSAGE}
"""


def prefixed(*prefixes: str) -> str:
    """The plain form with these prefixes in front of its lines, in turns."""
    return "".join(f"{prefixes[number % len(prefixes)]}{line}\n" for number, line in enumerate(PLAIN.splitlines()))


COLOURED = f"""\
\x1b[1;31mTraceback (most recent call last):\x1b[0m
  File \x1b[35m"/home/ana/project/train.py"\x1b[0m, line \x1b[35m12\x1b[0m, in \x1b[35m<module>\x1b[0m
    \x1b[31mmain\x1b[0m\x1b[1;31m()\x1b[0m
    \x1b[31m~~~~\x1b[0m\x1b[1;31m^^\x1b[0m
  File \x1b[35m"/home/ana/project/train.py"\x1b[0m, line \x1b[35m8\x1b[0m, in \x1b[35mmain\x1b[0m
    loss.backward()
  File \x1b[35m"{ENGINE}"\x1b[0m, line \x1b[35m623\x1b[0m, in \x1b[35mbackward\x1b[0m
    torch.autograd.backward(
\x1b[1;35mRuntimeError\x1b[0m: \x1b[35m{MESSAGE}\x1b[0m
"""

LOST_ESCAPES = COLOURED.replace("\x1b", "")

RICH = """\
╭───────────────────── Traceback (most recent call last) ──────────────────────╮
│ /home/ana/project/train.py:12 in <module>                                    │
│                                                                              │
│    9                                                                         │
│   10                                                                         │
│   11 if __name__ == "__main__":                                              │
│ ❱ 12 │   main()                                                              │
│   13                                                                         │
│                                                                              │
│ /home/ana/project/train.py:8 in main                                         │
│                                                                              │
│    5 def main():                                                             │
│    6 │   loss = model(x).pow(2).sum()                                        │
│    7 │   loss.backward()                                                     │
│ ❱  8 │   loss.backward()                                                     │
│    9                                                                         │
│                                                                              │
│ ╭───────────── locals ─────────────╮                                         │
│ │ loss = tensor(3., grad_fn=<X>)   │                                         │
│ ╰──────────────────────────────────╯                                         │
│                                                                              │
│ /opt/venv/lib/python3.11/site-packages/torch/_ten                            │
│ sor.py:623 in backward                                                       │
│                                                                              │
│ ❱ 623 │   │   torch.autograd.backward(                                       │
╰──────────────────────────────────────────────────────────────────────────────╯
RuntimeError: Trying to backward through the graph a second time (or directly
access saved tensors after they have already been freed).
"""

IPYTHON = f"""\
---------------------------------------------------------------------------
RuntimeError                              Traceback (most recent call last)
Cell In[3], line 12
      9     loss.backward()
     11 if True:
---> 12     main()

File ~/project/train.py:8, in main(model, x)
      6 loss = model(x).pow(2).sum()
      7 loss.backward()
----> 8 loss.backward()

File {ENGINE}:623, in Tensor.backward(self, gradient, retain_graph)
    613 if has_torch_function_unary(self):
--> 623 torch.autograd.backward(
    624     self, gradient, retain_graph, create_graph, inputs=inputs
    625 )

RuntimeError: {MESSAGE}
"""

IPYTHON_8 = IPYTHON.replace("Cell In[3], line 12", "Input In [3], in <cell line: 12>()")

IPYTHON_7 = f"""\
---------------------------------------------------------------------------
RuntimeError                              Traceback (most recent call last)
<ipython-input-3-0123456789ab> in <module>
     10
     11 if True:
---> 12     main()

~/project/train.py in main(model, x)
      6     loss = model(x).pow(2).sum()
      7     loss.backward()
----> 8     loss.backward()

{ENGINE} in backward(self, gradient, retain_graph)
    613         if has_torch_function_unary(self):
--> 623         torch.autograd.backward(

RuntimeError: {MESSAGE}
"""

COLAB = IPYTHON_7.replace(
    "<ipython-input-3-0123456789ab> in <module>", "/tmp/ipython-input-3-123456789.py in <cell line: 0>()"
).replace(f"{ENGINE} in", "[/usr/local/lib/python3.11/dist-packages/torch/_tensor.py](https://localhost:8080/#) in")

PYTEST = f"""\
=================================== FAILURES ===================================
__________________________________ test_train __________________________________

    def test_train():
>       main()

train.py:12:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

    def main():
        loss = model(x).pow(2).sum()
        loss.backward()
>       loss.backward()

train.py:8:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

>           torch.autograd.backward(
E           RuntimeError: {MESSAGE}

../venv/lib/python3.11/site-packages/torch/_tensor.py:623: RuntimeError
=========================== short test summary info ============================
FAILED train.py::test_train - RuntimeError: Trying to backward through the gra...
========================= 1 failed, 3 passed in 1.20s ==========================
"""

PYTEST_SHORT = f"""\
train.py:12: in test_train
    main()
train.py:8: in main
    loss.backward()
../venv/lib/python3.11/site-packages/torch/_tensor.py:623: in backward
    torch.autograd.backward(
E   RuntimeError: {MESSAGE}
"""

GROUP = f"""\
  + Exception Group Traceback (most recent call last):
  |   File "/home/ana/project/run.py", line 3, in <module>
  |     asyncio.run(go())
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/home/ana/project/train.py", line 12, in work
    |     main()
    |   File "/home/ana/project/train.py", line 8, in main
    |     loss.backward()
    |   File "{ENGINE}", line 623, in backward
    |     torch.autograd.backward(
    | RuntimeError: {MESSAGE}
    +------------------------------------
"""

CHAINED = f"""\
{PLAIN}
During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/home/ana/project/run.py", line 40, in <module>
    cleanup()
  File "/home/ana/project/run.py", line 31, in cleanup
    os.remove(path)
FileNotFoundError: [Errno 2] No such file or directory: 'lock'
"""

LOGURU = f"""\
2024-05-01 10:11:12.123 | ERROR    | __main__:<module>:20 - An error has been caught in function '<module>', process 'Main' (1):
Traceback (most recent call last):

> File "/home/ana/project/train.py", line 12, in <module>
    main()
    └ <function main at 0x7f0000000000>

  File "/home/ana/project/train.py", line 8, in main
    loss.backward()
    │    └ <function Tensor.backward at 0x7f0000000001>
    └ tensor(3., grad_fn=<SumBackward0>)

  File "{ENGINE}", line 623, in backward
    torch.autograd.backward(
    │     │        └ <function backward at 0x7f0000000002>
    └ <module 'torch'>

RuntimeError: {MESSAGE}
"""

RANKS = "".join(f"[rank{rank}]: {line}\n" for line in PLAIN.splitlines() for rank in (0, 1))

WINDOWS = PLAIN.replace("/home/ana/project/", "C:\\Users\\ana\\project\\").replace("\n", "\r\n")

JSON_LOG = '{"level": "error", "exc_info": "' + PLAIN.replace('"', '\\"').replace("\n", "\\n") + '"}\n'

HTML = PLAIN.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")

ANOMALY = f"""\
/opt/venv/lib/python3.11/site-packages/torch/autograd/graph.py:979: UserWarning: Error detected in SigmoidBackward0. \
Traceback of forward call that caused the error:
  File "/home/ana/project/train.py", line 12, in <module>
    main()
  File "/home/ana/project/net.py", line 5, in forward
    y = torch.sigmoid(x)
 (Triggered internally at /pytorch/torch/csrc/autograd/python_anomaly_mode.cpp:122.)
  return Variable._execution_engine.run_backward(  # Calls into the C++ engine to run the backward pass
{PLAIN}"""

VSCODE = (
    IPYTHON.replace("Cell In[3], line 12", "Cell [In[3], line 12](vscode-notebook-cell:?execution_count=3&line=12)")
    .replace("File ~/project/train.py:8,", "File [~/project/train.py:8](file:///home/ana/project/train.py:8),")
    .replace("----> 8 loss", "[----> 8](file:///home/ana/project/train.py:8) loss")
)

DATABRICKS = IPYTHON.replace("Cell In[3], line 12", "File <command-4242>:12")

SPYDER = f"""\
Traceback (most recent call last):

  Cell In[3], line 12
    main()

  File ~/project/train.py:8 in main
    loss.backward()

  File {ENGINE}:623 in backward
    torch.autograd.backward(

RuntimeError: {MESSAGE}
"""

REPLICA = f"""\
Traceback (most recent call last):
  File "/home/ana/project/run.py", line 3, in <module>
    out = model(x)
RuntimeError: Caught RuntimeError in replica 0 on device 0.
Original {PLAIN}"""

TORCHRUN = f"""\
{prefixed("[rank3]: ")}\
============================================================
train.py FAILED
------------------------------------------------------------
Traceback (most recent call last):
  File "/venv/bin/torchrun", line 8, in <module>
    sys.exit(main())
  File "/venv/lib/python3.11/site-packages/torch/distributed/run.py", line 879, in main
    run(args)
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
"""

FORMS = {
    "torchrun": TORCHRUN,
    "plain": PLAIN,
    "crlf": PLAIN.replace("\n", "\r\n"),
    "colours": COLOURED,
    "colours without escapes": LOST_ESCAPES,
    "rich": RICH,
    "IPython 8.30": IPYTHON,
    "IPython 8.0": IPYTHON_8,
    "IPython 7": IPYTHON_7,
    "Colab": COLAB,
    "pytest": PYTEST,
    "pytest --tb=short": PYTEST_SHORT,
    "exception group": GROUP,
    "chained": CHAINED,
    "loguru": LOGURU,
    "ranks": RANKS,
    "one rank": prefixed("[rank0]: "),
    "Windows": WINDOWS,
    "JSON log": JSON_LOG,
    "HTML": HTML,
    "anomaly mode": ANOMALY,
    "logging": prefixed("2024-05-01 10:11:12,123 ERROR ", "2024-05-01 10:11:12,124 ERROR "),
    "time only": prefixed("10:11:12 INFO     "),
    "docker compose": prefixed("trainer-1  | "),
    "kubernetes": prefixed("2024-05-01T10:11:12.123456789Z stderr F "),
    "quoted mail": prefixed("> "),
    "indented": prefixed("        "),
    "GitHub Actions": prefixed("2024-05-01T10:11:12.1234567Z "),
    "ray": prefixed("(train_fn pid=4711) "),
    "mpirun": prefixed("[1,0]<stderr>:"),
    "srun --label": prefixed("0: "),
    "CloudWatch": prefixed("2024-05-01T10:11:12.123Z\t"),
    "one line": PLAIN.replace("    ~~~~^^\n", "").replace("    ~~~~~~~~~~~~~^^\n", "").replace("^", "").replace("\n", " "),
    "no indentation": "".join(line.lstrip() + "\n" for line in PLAIN.splitlines()),
    "broken at 60 columns": "".join(
        line[start : start + 60] + "\n" for line in PLAIN.splitlines() for start in range(0, len(line), 60)
    ),
    "header behind a bar": "Epoch 0:   0%|          | 0/10 [00:00<?, ?it/s]" + PLAIN,
    "Visual Studio Code": VSCODE,
    "Databricks": DATABRICKS,
    "Spyder": SPYDER,
    "replica": REPLICA,
    "without header": PLAIN.partition("\n")[2],
    "markdown": "Hello, my training dies:\n```python\n" + PLAIN + "```\nAny idea?\n",
    "tqdm": "Epoch 1:  10%|█         | 3/30\rEpoch 1:  13%|█▎        | 4/30" + "\n" + PLAIN,
    "no colon spaces": PLAIN.replace("RuntimeError: ", "builtins.RuntimeError: "),
    "exit note": PLAIN + "srun: error: node1: task 0: Exited with exit code 1\n",
}
