"""Programs that are built to make an analysis explode: each piles one thing on another in its own way.

Each is put between a head that makes `model` and a tail with a fault (GF101), which has to be found all the same.
"""

from __future__ import annotations

HEAD = "import torch\ngiven = load()\nmodel = torch.nn.Linear(2, 2)\nk = 0\n"
TAIL = """\
total = 0
for _ in range(3):
    fresh = model(torch.ones(2)).sum()
    fresh.backward()
    total += fresh
print(total)
"""


BOMBS: dict[str, str] = {}
BOMBS["call tree"] = (
    "def f0(x):\n    return x * 2\n"
    + "".join(f"def f{n}(x):\n    return f{n - 1}(x) + f{n - 1}(x)\n" for n in range(1, 40))
    + "k = f39(model(torch.ones(2)))\n"
)
BOMBS["mutual recursion"] = (
    "".join(f"def f{n}(x):\n    return f{(n + 1) % 100}(x * 2) + f{(n * 7 + 3) % 100}(x)\n" for n in range(100))
    + "k = f0(model(torch.ones(2)))\n"
)
BOMBS["two thousand loops"] = "".join(
    f"for i in range(9):\n    t{n} = model(torch.ones(2)).sum()\n    t{n}.backward()\n" for n in range(300)
)
BOMBS["nested loops"] = (
    "".join("    " * n + f"for i{n} in range(3):\n" for n in range(6)) + "    " * 6 + "k = k + model(torch.ones(2)).sum()\n"
)
BOMBS["dict of itself"] = "k = {'a': model(torch.ones(2))}\n" + "k = {'a': k, 'b': k}\n" * 60 + "print(k['a']['b'])\n"
BOMBS["linked objects"] = (
    "class N:\n    def __init__(self, p):\n        self.p = p\n        self.h = model(torch.ones(2))\n        self.q = None\nk = N(None)\n"
    + "n = N(k)\nk.q = n\nk = n\n" * 400
    + "for i in range(3):\n    k.h = model(k.h)\n"
)
BOMBS["long list"] = "k = [" + ", ".join(str(i) for i in range(30000)) + "]\nfor i in k:\n    print(i)\n"
BOMBS["long dict"] = "k = {" + ", ".join(f"'k{i}': {i}" for i in range(15000)) + "}\nfor a, b in k.items():\n    print(a, b)\n"
BOMBS["attribute chain"] = "k = given" + ".a" * 180 + "\nk.b.c = k\n"
BOMBS["many methods"] = "class T:\n    def __init__(self):\n        self.model = model\n        self.total = 0\n" + "".join(
    f"    def m{n}(self, x):\n        loss = self.model(x).sum()\n        loss.backward()\n        self.total += loss\n"
    for n in range(60)
)
BOMBS["many layers"] = (
    "net = torch.nn.Sequential("
    + ", ".join("torch.nn.Linear(2, 2)" for _ in range(800))
    + ")\nfor layer in net:\n    k = layer(torch.ones(2))\n"
)
BOMBS["composed lambdas"] = (
    "f = lambda x: x * 2\n" + "f = (lambda g: lambda x: g(g(x)))(f)\n" * 40 + "k = f(model(torch.ones(2)))\n"
)
BOMBS["closures"] = (
    "def twice(f):\n    def g(x):\n        return f(f(x))\n    return g\nf = lambda x: x * 2\n"
    + "f = twice(f)\n" * 40
    + "k = f(model(torch.ones(2)))\n"
)
BOMBS["generator chain"] = "g = iter([model(torch.ones(2))])\n" + "g = (x * 2 for x in g)\n" * 80 + "k = sum(g)\n"
BOMBS["nested comprehensions"] = "k = " + "[x for x in " * 25 + "[model(torch.ones(2))]" + "]" * 25 + "\n"
BOMBS["product of comprehensions"] = (
    "a = [1, 2, 3]\nk = [model(torch.ones(2)) " + "".join(f"for x{n} in a " for n in range(9)) + "]\n"
)
BOMBS["stacked decorators"] = (
    "def d(f):\n    return lambda *a: f(*a)\n" + "@d\n" * 300 + "def k(x):\n    return x\nk(model(torch.ones(2)))\n"
)
BOMBS["nested tries"] = (
    "".join("    " * n + "try:\n" for n in range(60))
    + "    " * 60
    + "k = model(torch.ones(2))\n"
    + "".join("    " * n + "except E:\n" + "    " * (n + 1) + "raise\n" for n in range(59, -1, -1))
)
BOMBS["a thousand sides"] = "if given == 0:\n    k = model(torch.ones(2)).sum()\n" + "".join(
    f"elif given == {n}:\n    k = model(torch.ones(2)).sum()\n    k.backward()\n" for n in range(1, 180)
)
BOMBS["independent sides"] = (
    "def step(given):\n    h = model(torch.ones(2))\n"
    + "".join(f"    if given.a{n}:\n        h = h * {n}\n" for n in range(1000))
    + "    h.sum().backward()\nstep(given)\n"
)
BOMBS["match"] = "match given:\n" + "".join(f"    case [{n}, *rest]:\n        k = model(torch.ones(2))\n" for n in range(600))
BOMBS["partial of partial"] = "import functools\nf = model\n" + "f = functools.partial(f)\n" * 900 + "k = f(torch.ones(2))\n"
BOMBS["rotation"] = "a = b = c = model(torch.ones(2))\nwhile given:\n    a, b, c = b * c, c * a, a * b\n"
BOMBS["in place"] = "h = model(torch.ones(2)).exp()\n" + "h.add_(h)\n" * 3000
BOMBS["views"] = (
    "h = model(torch.ones(2)).clone()\nv0 = h\n" + "".join(f"v{n} = v{n - 1}[0:]\n" for n in range(1, 1500)) + "h.mul_(2)\n" * 300
)
BOMBS["deep graph"] = "h = model(torch.ones(2))\n" + "h = h * 2\n" * 6000 + "h.sum().backward()\n"
BOMBS["diamonds of graphs"] = "h = model(torch.ones(2))\n" + "h = h + h * h\n" * 3000 + "h.sum().backward()\n"
BOMBS["walked again and again"] = (
    "h = model(torch.ones(2)).exp()\n" + "h = h * h\n" * 400 + "h.sum().backward(retain_graph=True)\n" * 400
)
BOMBS["graphs under many keys"] = "d = {}\nfor i in range(9):\n" + "".join(
    f"    d[i, {n}] = model(torch.ones(2)).sum()\n    d[{n}] = d[i, {n}] + d.get({n}, 0)\n" for n in range(30)
)
BOMBS["deep inheritance"] = (
    "class C0(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.a = torch.nn.Linear(2, 2)\n    def forward(self, x):\n        return self.a(x)\n"
    + "".join(
        f"class C{n}(C{n - 1}):\n    def __init__(self):\n        super().__init__()\n"
        f"        self.a{n} = torch.nn.Linear(2, 2)\n    def forward(self, x):\n"
        f"        return self.a{n}(super().forward(x)) + super().forward(x)\n"
        for n in range(1, 200)
    )
    + "k = C199()(torch.ones(2))\n"
)
BOMBS["many globals"] = (
    "".join(f"g{n} = [model(torch.ones(2))]\n" for n in range(900))
    + "def touch():\n"
    + "".join(f"    global g{n}\n    g{n} = [g{n - 1}[0] * 2]\n" for n in range(1, 900))
    + "for i in range(3):\n    touch()\n"
)
BOMBS["properties"] = (
    "class P:\n    @property\n    def p0(self):\n        return model(torch.ones(2))\n"
    + "".join(f"    @property\n    def p{n}(self):\n        return self.p{n - 1} + self.p{n - 1}\n" for n in range(1, 40))
    + "k = P().p39\n"
)
BOMBS["operators of its own"] = (
    """\
class V:
    def __init__(self, h):
        self.h = h
    def __add__(self, o):
        return V(self.h + o.h)
    def __mul__(self, o):
        return self + o + self
    def __getattr__(self, name):
        return getattr(self.h, name)
k = V(model(torch.ones(2)))
"""
    + "k = k * k\n" * 300
)
BOMBS["nested functions"] = (
    "".join("    " * n + f"def f{n}(x):\n" for n in range(60))
    + "    " * 60
    + "return model(x)\n"
    + "".join("    " * n + f"return f{n}(x) * f{n}(x)\n" for n in range(59, 0, -1))
    + "k = f0(torch.ones(2))\n"
)
BOMBS["nested withs"] = (
    "from contextlib import contextmanager\n@contextmanager\ndef c():\n    yield model(torch.ones(2))\n"
    + "".join("    " * n + f"with c() as h{n}:\n" for n in range(60))
    + "    " * 60
    + "k = h0 * h59\n"
)
BOMBS["unpacked calls"] = "def f(*a, **b):\n    return f(*a, *a, **b) if given else a[0]\nk = f(*[model(torch.ones(2))] * 50)\n"
BOMBS["stack of states"] = (
    "h = c = model(torch.ones(2))\nstates = []\nfor i in range(9):\n"
    + "".join(f"    h, c = h * c + {n}, c + h\n    states.append((h, c))\n" for n in range(120))
    + "    torch.stack([a for a, b in states]).sum().backward()\n"
)
BOMBS["a class that makes itself"] = """\
class Tree:
    def __init__(self, depth):
        self.h = model(torch.ones(2))
        self.left = Tree(depth - 1)
        self.right = Tree(depth - 1)
    def total(self):
        return self.h + self.left.total() + self.right.total()
k = Tree(30).total()
"""
BOMBS["one long expression"] = (
    "k = (model(torch.ones(2))" + " * 2 + 1" * 90 + ")\n" + "k = (" + " + ".join("k * 2" for _ in range(90)) + ")\n"
)
BOMBS["many functions that train"] = "".join(
    f"""\
losses{n} = []
def train{n}(x, y, flag):
    for i in range(9):
        loss = (model(x) - y).pow(2).mean()
        if flag:
            loss = loss + {n}
        loss.backward()
        losses{n}.append(loss)
"""
    for n in range(60)
)
BOMBS["nested loops over what is given"] = (
    "".join("    " * n + f"for i{n} in given.x{n}:\n" for n in range(14))
    + "    " * 14 + "k = k + model(torch.ones(2))\n" + "    " * 14 + "k.sum().backward()\n"
)  # fmt: skip
BOMBS["nested loops that may be left"] = (
    "".join(
        "    " * n + f"while given.z{n}:\n" + "    " * (n + 1) + f"if given.y{n}: break\n" + "    " * (n + 1) + f"if given.x{n}: continue\n"
        for n in range(12)
    )
    + "    " * 12 + "k = model(torch.ones(2))\n"
)  # fmt: skip
BOMBS["nested dicts"] = "k = " + "{i: " * 30 + "model(torch.ones(2))" + " for i in given.x}" * 30 + "\n"
BOMBS["coroutines"] = (
    "import asyncio\nseen = []\n"
    + "".join(f"async def f{n}(x):\n    seen.append(x)\n    return await f{n + 1}(x) + await f{n + 1}(x * 2)\n" for n in range(40))
    + "async def f40(x):\n    return model(x)\nk = asyncio.run(f0(torch.ones(2)))\n"
)
BOMBS["methods that call two others"] = (
    "class M(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.l = torch.nn.Linear(2, 2)\n        self.n = 0\n"
    + "".join(f"    def m{n}(self, x):\n        self.n += 1\n        return self.m{n + 1}(x) + self.m{n + 1}(x * 2)\n" for n in range(60))
    + "    def m60(self, x):\n        return self.l(x)\nk = M().m0(torch.ones(2)).sum()\nk.backward()\n"
)
BOMBS["a growing graph that is walked"] = (
    "h = model(torch.ones(2)).exp()\n" + "h = h * 2\nh.sum().backward(retain_graph=True)\n" * 500
)
BOMBS["walks of one graph in a loop"] = (
    "for i in range(3):\n    h = model(torch.ones(2)).exp().sum()\n" + "    h.backward(retain_graph=True)\n" * 3000
)
BOMBS["totals of totals"] = "k0 = 0\n" + "".join(
    f"for x in given:\n    k{n} = k{n - 1} + model(x).sum()\n    k{n}.backward(retain_graph=True)\n" for n in range(1, 130)
)
BOMBS["many loops that train"] = "opt = torch.optim.SGD(model.parameters(), lr=0.1)\n" + "".join(
    f"""\
for x in given.loader{n}:
    opt.zero_grad()
    loss = model(x).pow(2).mean()
    if x.flag:
        loss = loss * 2
    loss.backward()
    opt.step()
"""
    for n in range(250)
)
BOMBS["in a function"] = "def main(k):\n" + "".join("    " + line + "\n" for line in (
    BOMBS["nested loops over what is given"] + TAIL
).splitlines()) + "main(given)\n"  # fmt: skip
BOMBS["in the loop that trains"] = (
    "for x in given.loader:\n    k = " + "[i for i in " * 25 + "[model(x)]" + "]" * 25 + "\n    for a in k:\n"
    + "".join("    " * (n + 2) + f"for i{n} in given.x{n}:\n" for n in range(14)) + "    " * 16 + "k = model(k)\n"
    + "    loss = model(x).sum()\n    loss.backward()\n"
)  # fmt: skip
def diamonds(body: str, use: str) -> str:
    """Three thousand classes, each with the two before it as bases. `{n}` is the number of a class, `{p}` that of the one before."""
    return (
        "class A0(torch.nn.Module):\n    pass\nclass B0(torch.nn.Module):\n    pass\n"
        + "".join(f"class A{n}(A{n - 1}, B{n - 1}):\n{body.format(n=n, p=n - 1)}class B{n}(A{n - 1}, B{n - 1}):\n    pass\n" for n in range(1, 1500))
        + use
    )


BOMBS["diamonds of classes"] = diamonds("    def forward(self, x):\n        return super().forward(x)\n", "A1499()(torch.ones(2))\n")
BOMBS["diamonds of classes that call themselves"] = diamonds(
    "    def forward(self, x):\n        return self.body(x)\n    def body(self, x):\n        return x * {n}\n", "k = A1499()(torch.ones(2))\n"
)
# those that are abandoned at some point, which is said
TOO_LONG = {"product_of_comprehensions.py", "nested_loops_over_what_is_given.py", "nested_dicts.py", "in_a_function.py"}
