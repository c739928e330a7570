"""Whether functions of libraries do what their rows say: each is called with tensors that have a graph.

usage: python3 -m benchmarks.library_rows [LIBRARY...]

Without names, all libraries that have rows. Prints for each how many rows it has, how many were called and took at least one of the
forms of arguments, how many are of what is not installed here, and how many have a reason under `not_called`; then each row that is
wrong, with what its function did instead. Nothing is drawn, sent or written to a file.
"""

from __future__ import annotations

import argparse
import builtins
import collections
import contextlib
import csv
import gc
import hashlib
import importlib
import io
import itertools
import os
import random
import re
import subprocess
import sys
import tempfile
import warnings
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy
import torch

from graphfix.effects.rows import files, rows_in
from graphfix.effects.schema import Observes, Puts, Returns, Row

DEEP = 5
CONTAINERS = (list, tuple, set, frozenset, collections.deque)
# methods that wait for another thread, show a window, or write a file
STOPS = frozenset("show display join wait task_done acquire communicate input save savefig tofile dump".split())


def arguments() -> Iterator[tuple[Any, ...]]:
    """What functions are given: numbers, rows, images and containers of tensors, each with a graph."""
    number = torch.tensor(0.5, requires_grad=True) * 1.0
    row = torch.tensor([0.3, 0.6, 0.2], requires_grad=True) * 1.0
    numbers, rows = [number, number * 2], [row, row * 2]
    yield from ((number,), (row,), (numbers,), (rows,), (number, number * 2), (row, row * 2), (number, number * 2, number * 3))
    yield from ((row, 0), (row, 0, 0), (row, 1), (numbers, number * 3), (numbers, 1), (rows, 1), (1, number), (0, number, 1))
    yield from ((lambda *given: given[0], numbers), (number, "real"), ({"a": number},), ("a", number), (0, number))
    image = torch.rand(1, 3, 8, 8, requires_grad=True) * 1.0
    yield from ((image,), (image, image * 0.5), (image[0],), (image[0], 4), (image, "b c h w -> b h w c"), ([image[0], image[0]], "b c h w -> c b h w"))


def own_arguments() -> Iterator[tuple[Any, ...]]:
    """What some take only: optimizers parameters, others a network, sizes, patterns or arrays."""
    yield ()
    weight = torch.nn.Parameter(torch.rand(3, 3))
    net = torch.nn.Linear(3, 3)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    yield from (([weight],), (net,), ([net],), (optimizer,), (optimizer, 2), (optimizer, lambda step: 1.0), (weight,))
    yield from ((3,), (3, 3), (8, 4, 3), ("a",), ("a", "b"))
    given = torch.rand(4, 3, requires_grad=True) * 1.0
    labels = torch.tensor([0, 1, 0, 1])
    yield from ((given, given * 0.5), (given, labels), (labels, labels), ([given, given],), (given, "a b -> a", "mean"))
    yield from (("a b -> b a",), ("a b -> a", "sum"), ("a b -> b a", "b", None), ([given, given], "* a"), (given, "a b -> b a"), (given, "a b -> a b 2"))
    yield from ((given.detach().numpy(),), (given.detach().numpy(), labels.numpy()), (numpy.ones((8, 8, 3), "uint8"),), (labels.numpy(), labels.numpy()))


def function_of(name: str) -> Any:
    """What a full name stands for; None where it is not installed."""
    module, *path = name.split(".")
    try:
        found: Any = builtins if module == "builtins" else importlib.import_module(module)
    except ImportError:
        return None
    for number, part in enumerate(path):
        if not hasattr(found, part):
            try:
                importlib.import_module(".".join([module, *path[: number + 1]]))
            except Exception:  # a library may fail to be imported in any way
                return None
        found = getattr(found, part, None)
    return found if callable(found) else None


def objects() -> dict[str, Callable[[], Any]]:
    """What makes an object of a class that has rows of methods; it holds tensors with a graph where it can."""

    def number() -> Any:
        return torch.tensor(0.5, requires_grad=True) * 1.0

    weight = torch.nn.Parameter(torch.rand(3))
    return {
        "builtins.list": lambda: [number(), number()],
        "builtins.dict": lambda: {"a": number(), 0: number()},
        "builtins.set": lambda: {number(), number()},
        "builtins.str": lambda: "a {} b",
        "builtins.bytes": lambda: b"ab",
        "builtins.float": lambda: 0.5,
        "collections.deque": lambda: collections.deque([number(), number()]),
        "collections.OrderedDict": lambda: collections.OrderedDict(a=number()),
        "collections.Counter": lambda: collections.Counter({number(): 2, "a": 1}),
        "collections.namedtuple": lambda: collections.namedtuple("Pair", "a b")(number(), number()),
        "re.Pattern": lambda: re.compile("a"),
        "io.IOBase": io.StringIO,
        "csv.writer": lambda: csv.writer(io.StringIO()),
        "random.Random": lambda: random.Random(0),
        "hashlib.hash": hashlib.md5,
        "numpy.ndarray": lambda: numpy.arange(6.0),
        "numpy.random.RandomState": lambda: numpy.random.RandomState(0),
        "torch.Tensor": lambda: torch.rand(3, requires_grad=True) * 1.0,
        "torch.nn.Module": lambda: torch.nn.Sequential(torch.nn.Linear(3, 3)),
        "torch.nn.RNNBase": lambda: torch.nn.LSTM(2, 2),
        "torch.optim.Optimizer": lambda: torch.optim.SGD([weight], lr=0.1),
        "torch.optim.lr_scheduler.LRScheduler": lambda: torch.optim.lr_scheduler.StepLR(torch.optim.SGD([weight], lr=0.1), 1),
        "torch.distributions.Distribution": lambda: torch.distributions.Normal(number(), number()),
        "torch.cuda.amp.GradScaler": lambda: torch.amp.GradScaler("cpu"),
        "torch.Generator": torch.Generator,
        "torch.utils.data.Sampler": lambda: torch.utils.data.DistributedSampler([1, 2], 1, 0),
        "PIL.Image.Image": lambda: _of("PIL.Image.new")("RGB", (8, 8)),
        "PIL.ImageDraw.ImageDraw": lambda: _of("PIL.ImageDraw.Draw")(_of("PIL.Image.new")("RGB", (8, 8))),
        "PIL.ImageEnhance.Brightness": lambda: _of("PIL.ImageEnhance.Brightness")(_of("PIL.Image.new")("RGB", (8, 8))),
        "matplotlib.axes.Axes": lambda: _of("matplotlib.figure.Figure")().add_subplot(),
        "matplotlib.figure.Figure": lambda: _of("matplotlib.figure.Figure")(),
        "matplotlib.axis.Axis": lambda: _of("matplotlib.figure.Figure")().add_subplot().get_xaxis(),
        "matplotlib.artist.Artist": lambda: _of("matplotlib.lines.Line2D")([0, 1], [0, 1]),
        "pandas.DataFrame": lambda: _of("pandas.DataFrame")({"a": [number(), number()], "b": [1, 2]}),
        "scipy.sparse.csr_matrix": lambda: _of("scipy.sparse.csr_matrix")(numpy.eye(3)),
        "sklearn.base.BaseEstimator": lambda: _of("sklearn.cluster.KMeans")(2).fit(numpy.eye(3)),
        "tqdm.tqdm": lambda: _of("tqdm.tqdm")(total=3, file=io.StringIO()),
        "rich.console.Console": lambda: _of("rich.console.Console")(file=io.StringIO()),
        "rich.table.Table": lambda: _of("rich.table.Table")("a"),
        "prettytable.PrettyTable": lambda: _of("prettytable.PrettyTable")(["a"]),
        "torchmetrics.Metric": lambda: _of("torchmetrics.CatMetric")(),
        "networkx.Graph": lambda: _of("networkx.Graph")([("a", "b")]),
        "gym.spaces.Space": lambda: _of("gym.spaces.Discrete")(2),
        "gymnasium.spaces.Space": lambda: _of("gymnasium.spaces.Discrete")(2),
        "torch_geometric.data.Data": lambda: _of("torch_geometric.data.Data")(x=torch.rand(3, 3, requires_grad=True) * 1.0),
        "torch_geometric.nn.MessagePassing": lambda: _of("torch_geometric.nn.GCNConv")(3, 3),
        "diffusers.SchedulerMixin": lambda: _of("diffusers.DDPMScheduler")(),
        "jinja2.Template": lambda: _of("jinja2.Template")("a {{ b }}"),
        "easydict.EasyDict": lambda: _of("easydict.EasyDict")(a=number()),
    }


def _of(name: str) -> Callable[..., Any]:
    found = function_of(name)
    if found is None:
        raise LookupError(name)
    return found


def tensors_in(value: Any, depth: int = DEEP) -> Iterator[Any]:
    """The tensors with a graph in a result, also of those that an iterator gives."""
    if isinstance(value, torch.Tensor):
        yield from [value] if value.grad_fn is not None else ()
    elif not depth:
        return
    elif isinstance(value, collections.abc.Mapping):
        yield from (each for part in (*value.keys(), *value.values()) for each in tensors_in(part, depth - 1))
    elif isinstance(value, numpy.ndarray):
        yield from tensors_in(value.ravel().tolist() if value.dtype == object else (), depth - 1)
    elif type(value).__module__.startswith("pandas.") and hasattr(value, "to_numpy"):
        yield from tensors_in(value.to_numpy(), depth - 1)
    elif isinstance(value, CONTAINERS) or hasattr(value, "__next__"):
        with contextlib.suppress(Exception):
            yield from (each for part in list(itertools.islice(value, 6)) for each in tensors_in(part, depth - 1))


@dataclass
class Told:
    """What a row's function did: how many forms of arguments it took, what of it the row denies, and tensors that may be kept."""

    row: Row
    installed: bool = True
    taken: int = 0
    wrong: list[str] = field(default_factory=list)
    watched: list[weakref.ref[Any]] = field(default_factory=list)

    def deny(self, what: str) -> None:
        if what not in self.wrong:
            self.wrong.append(what)

    def compare(self, given: tuple[Any, ...], made: Any, printed: str) -> None:
        """Note what the row denies of one call."""
        row = self.row
        found = list(tensors_in(made))
        if row.gives_no_graph and found:
            self.deny("gives a graph")
        if row.gives_no_tensor and isinstance(made, torch.Tensor) and made.grad_fn is not None:
            self.deny("gives a tensor")
        lists = [each for each in given if isinstance(each, list)]
        if row.returns in (Returns.CONTENTS, Returns.PAIRS) and not row.of_class and len(lists) == 1:
            held = [*lists[0], *given]
            if not all(any(one is other for other in held) for one in found):
                self.deny("gives other objects")
        text = printed + (made if isinstance(made, str) else "")
        if row.observes is Observes.NOTHING and "grad_fn" in text and not row.name.startswith("builtins."):
            self.deny("gives or writes the text of a tensor")


def state_of(given: tuple[Any, ...]) -> list[object]:
    """What a call may change of what it is given."""
    found: list[object] = []
    for each in given:
        if isinstance(each, torch.Tensor):
            found.append((each._version, each.requires_grad, each.shape))
        elif isinstance(each, (list, dict)):
            found.append([id(part) for part in each] if isinstance(each, list) else [*each])
    return found


def call(told: Told, function: Callable[..., Any], given: tuple[Any, ...], receiver: Any = None) -> None:
    """Call it once, and compare what it does with its row."""
    before, held = state_of(given), {id(each) for each in tensors_in(receiver)} if receiver is not None else set()
    written = io.StringIO()
    with contextlib.redirect_stdout(written), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = function(*given)
        except (Exception, SystemExit):
            return
        told.taken += 1
        with contextlib.suppress(Exception):
            told.compare(given, made, written.getvalue())
    if not (told.row.writes or told.row.calls) and state_of(given) != before:
        told.deny("changes what it is given")
    if receiver is not None and told.row.puts is Puts.NOTHING and not told.row.writes and {id(each) for each in tensors_in(receiver)} - held:
        told.deny("puts something into its object")


def told_by(row: Row) -> Told:
    """What the function or method of a row does, called with each form of arguments."""
    told = Told(row)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that are on their way out
        if row.of_class:
            call_method(told, row)
        else:
            function = function_of(row.name)
            told.installed = function is not None
            for given in forms(row) if function is not None else ():
                watch(told, given)
                call(told, function, given)
    return told


def forms(row: Row) -> Iterator[tuple[Any, ...]]:
    """The arguments that a function is called with."""
    if not row.name.startswith("builtins."):
        yield from own_arguments()
    # an array of objects may hold anything: the rows of these libraries speak of arrays of numbers
    of_numbers = row.name.split(".")[0] in ("numpy", "scipy", "skimage")
    yield from (given for given in arguments() if not (of_numbers and isinstance(given[0], dict)))


def watch(told: Told, given: tuple[Any, ...]) -> None:
    """Have it noted which of the tensors that it is given live on."""
    if not (told.row.keeps or told.row.puts is not Puts.NOTHING):
        told.watched += [weakref.ref(each) for each in tensors_in(given)]


def call_method(told: Told, row: Row) -> None:
    make, name = objects().get(row.of_class), row.name.rpartition(".")[2]
    try:
        receiver = make() if make is not None else None
        told.installed = receiver is not None and hasattr(receiver, name)
    except Exception:  # of what is not installed, or has no such attribute now
        told.installed = False
    if not told.installed:
        return
    if name in STOPS:
        return
    for given in [(), (0,), ("a",)] if row.attribute else [(), (0,), ("a",), *arguments(), *own_arguments()]:
        receiver = make()  # type: ignore[misc]
        if row.attribute:
            call(told, lambda: getattr(receiver, name), (), receiver)  # noqa: B023
            return
        watch(told, given)
        call(told, getattr(receiver, name), given, receiver)


def still_kept(told: list[Told]) -> None:
    """Note of each row whose tensors live on, though it says that it keeps nothing."""
    gc.collect()
    for each in told:
        if any(reference() is not None for reference in each.watched):
            each.deny("keeps what it is given")


@contextlib.contextmanager
def same_state() -> Iterator[None]:
    """What is drawn, or set, by one function is so for no other."""
    state = random.getstate(), numpy.random.get_state(), numpy.geterr(), torch.get_rng_state()
    yield
    random.setstate(state[0])
    numpy.random.set_state(state[1])
    numpy.seterr(**state[2])
    torch.set_rng_state(state[3])


def told_of(library: str) -> None:
    """Print what the functions of one library do."""
    sys.unraisablehook = lambda error: None  # of objects that were made of what they cannot be made of
    os.chdir(tempfile.mkdtemp())  # some write a file by any name that they are given
    shown, sys.stdout = sys.stdout, io.StringIO()
    rows = list(rows_in(f"{library}.toml").values())
    told = []
    for row in rows:
        if not row.not_called:
            with same_state():
                told.append(told_by(row))
    still_kept(told)
    wrong = [each for each in told if each.wrong]
    called = sum(each.taken > 0 for each in told)
    none = sum(each.installed and not each.taken for each in told)
    missing = sum(not each.installed for each in told)
    print(f"{library:20} {len(rows):6} {called:6} {none:9} {missing:7} {len(rows) - len(told):10} {len(wrong):5}", file=shown)
    for each in wrong:
        print(f"    {each.row.name} ({each.row.returns.value}): {', '.join(each.wrong)}", file=shown)
    shown.flush()
    os._exit(1 if wrong else 0)  # some libraries crash where they are taken down


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("libraries", nargs="*")
    options.add_argument("--within", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.within:
        told_of(given.libraries[0])
    print(f"{'library':20} {'rows':>6} {'called':>6} {'took none':>9} {'missing':>7} {'not called':>10} {'wrong':>5}", flush=True)
    failed = False
    for library in given.libraries or sorted(name.removesuffix(".toml") for name in files()):
        environment = os.environ | {"MPLBACKEND": "Agg", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}
        # each in a process of its own: what some are given ends the interpreter
        ended = subprocess.run([sys.executable, "-m", "benchmarks.library_rows", "--within", library], env=environment, stderr=subprocess.DEVNULL)
        failed |= ended.returncode != 0
        if ended.returncode not in (0, 1):
            print(f"{library:20} ended with {ended.returncode}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
