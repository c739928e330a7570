"""Python's own functions and containers, and the libraries that training scripts use beside torch."""

from __future__ import annotations

import ast

from graphfix.effects.rows import row_of
from graphfix.effects.schema import Observes, Returns, Row
from graphfix.effects.table import facts
from graphfix.interpreter import versions
from graphfix.interpreter.interning import kind_of
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.iteration import goes_on, iterate
from graphfix.interpreter.lookup import find_method
from graphfix.interpreter.recording import Handed, Number
from graphfix.interpreter.unknown_calls import call_back_from_outside, hand_on, run_callbacks
from graphfix.interpreter.values import (
    KEPT,
    NONE,
    Address,
    BoundMethod,
    Class,
    Constant,
    External,
    Function,
    Instance,
    NonTensor,
    Parameters,
    Partial,
    Sequence,
    Tensor,
    Unknown,
    Value,
    counter,
    cut_of,
    given,
    identities,
)
from graphfix.models.arithmetic import arithmetic
from graphfix.models.imported import call_imported
from graphfix.models.networks import built_network
from graphfix.models.operations import operation
from graphfix.models.registry import model_of, models

# what a function gives that may be a tensor
COMPUTED = (Returns.MADE, Returns.ELEMENT, Returns.COPY, Returns.SEVERAL)


def call_library(m: Interpreter, name: str, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    """Call a function of Python or of a library, by its qualified name."""
    top = name.partition(".")[0]
    model = model_of(name)
    if model is not None:
        made = model(m, arguments, keywords, site)
        if made is not None:
            return made
    version = versions.parsed(name, arguments)
    if version is not None:
        return version
    row = row_of(name)
    if row is not None and row.observes is Observes.ADDRESS and arguments:
        return Address((name, arguments[0].identity), arguments[0])
    if top == "builtins":
        return NonTensor((name, *identities(arguments), *identities(keywords.values())), cut=cut_of(*arguments))
    network = built_network(m, name, arguments, keywords, site)
    if network is not None:
        return network
    made = by_row(m, row, arguments, keywords, site) if row is not None else None
    if made is None:
        made = call_imported(m, name, arguments, keywords, site)
    return made if made is not None else out_of_sight(m, name, arguments, keywords, site)


def by_row(m: Interpreter, row: Row, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value | None:
    """What a function gives by its row; None where it does not say what becomes of what it is given."""
    values = given(arguments, keywords)
    numbers_only = row.gives_no_graph and all(map(is_plain, values))  # nothing that it is given, or has kept, may have a graph
    if row.backward or row.computes or (row.keeps or row.writes) and not numbers_only:
        return None
    if row.counts:
        return numbers_up_to(m, arguments, keywords, site)
    if row.returns is Returns.CONTENTS and row.iterates and values:  # what goes over its first argument, as a progress bar does
        return values[0]
    if row.calls:
        run_callbacks(m, values, site)
    if row.returns is Returns.CUT:
        return Tensor()
    node = m.record(site, values, True) if not row.gives_no_graph else None
    if node is not None:
        return Unknown((row.name, site, m.now()), node, is_object=row.gives_no_tensor)
    if row.returns in COMPUTED and not all(map(is_plain, values)):
        return Unknown((row.name, site, m.now()))  # of what is not known to have no graph
    return plain(m, row, arguments, site)


def is_plain(value: Value) -> bool:
    """Whether a value is surely no tensor, and holds none: a number, a text, an array."""
    return isinstance(value, (Constant, NonTensor))


def out_of_sight(m: Interpreter, name: str, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    """What a function gives of which nothing is known: it may keep what it is given, or call it."""
    values = given(arguments, keywords)
    hand_on(m, values, site, name)
    call_back_from_outside(m, values, site)
    node = m.record(site, values, True, certain=False, callee=name)
    made = Unknown((name, site, m.now()), node)
    if node is None:
        made.latent = m.latent(site, callee=name)
    m.recording.handed.append(Handed(m.now(), tuple(values), made))
    return made


def plain(m: Interpreter, row: Row, arguments: list[Value], site: ast.AST) -> Value:
    """What a function gives that has no graph: a number or an array, or an object of a library that knows no tensors."""
    top, _, rest = row.name.partition(".")
    if top == "math":
        note_numbers(m, row.name, arguments, site)
    if top in ("math", "numpy") and arguments:
        return NonTensor((row.name, *identities(arguments)), cut=cut_of(*arguments) if top == "math" else None)
    if rest.rpartition(".")[2][:1].isupper() or row.returns is Returns.OBJECT:
        return Unknown((row.name, site, m.now()), outside=True)
    return NonTensor((row.name, site, m.now()))


def note_numbers(m: Interpreter, name: str, arguments: list[Value], site: ast.AST) -> None:
    """Python takes the number out of a tensor that it is given in a number's stead."""
    for position, value in enumerate(arguments):
        if value.may_be_tensor:
            m.recording.numbers.append(Number(site, m.trace(), value, name, position, m.grad_enabled))


@models(
    "builtins.len",
)
def length(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value | None:
    value = arguments[0] if arguments else NONE
    if isinstance(value, Sequence):
        more = ("more",) if value.open else ()
        return NonTensor(("len", measured(value), len(value.items), *more))
    return NonTensor(("len", measured(value)))


def measured(value: Value) -> object:
    """What names a value in its length: a list is the same one while it grows."""
    return value.serial if isinstance(value, Sequence) else value.identity


@models(
    "builtins.range",
)
def numbers_up_to(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    """`range`: a counter that is 0 in the first iteration where it starts at 0."""
    known = [value.value for value in arguments if isinstance(value, Constant) and isinstance(value.value, int)]
    if len(known) == len(arguments) and known:
        try:
            numbers = range(*known)
        except (TypeError, ValueError):
            numbers = range(0)
        if len(numbers) <= 3 and (len(numbers) != 1 or all(isinstance(part, ast.Constant) for part in getattr(site, "args", ()))):
            return Sequence("tuple", [Constant(number) for number in numbers])
    from_zero = len(arguments) == 1
    key = (site, m.now(), arguments[0].identity if from_zero else None, 1)
    if from_zero:
        return Sequence("tuple", [counter(key, 0), counter(key, 1)], True)
    return Sequence("tuple", [NonTensor(("counter", key, index)) for index in range(2)], True)


@models(
    "builtins.enumerate",
)
def enumerated(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    start = keywords.get("start") or (arguments[1] if len(arguments) > 1 else None)
    items = iterate(m, arguments[0], site) if arguments else []
    key = (site, m.now(), measured(arguments[0]) if arguments else None, len(items) - 1)
    from_zero = start is None or (isinstance(start, Constant) and start.value == 0)
    pairs: list[Value] = []
    for index, item in enumerate(items):
        number: Value = counter(key, index) if from_zero else NonTensor(("counter", key, index))
        pairs.append(Sequence("tuple", [number, item]))
    made = Sequence("tuple", pairs, True)
    made.goes_on = bool(arguments) and goes_on(arguments[0])
    return made


@models(
    "builtins.zip",
)
def zipped(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    columns = [iterate(m, value, site) for value in arguments]
    rows = [Sequence("tuple", list(row)) for row in zip(*columns)]
    made = Sequence("tuple", list(rows), True)
    made.goes_on = all(map(goes_on, arguments))
    return made


@models(
    "builtins.map",
)
def mapped(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    if len(arguments) < 2:
        return Sequence("generator", [], True)
    columns = [iterate(m, value, site) for value in arguments[1:]]
    made = Sequence("generator", [m.call(arguments[0], list(row), {}, site) for row in zip(*columns)])
    made.goes_on = all(map(goes_on, arguments[1:]))
    return made


@models(
    "builtins.filter",
)
def filtered(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    body = getattr(getattr(arguments[0], "definition", None), "body", None) if arguments else None
    trained = isinstance(body, ast.Attribute) and body.attr == "requires_grad"  # those that are trained: all leaves of a graph
    if len(arguments) > 1 and isinstance(arguments[1], Parameters):
        kept = arguments[1]
        return Parameters(kept.owners, kept.form, kept.some or not trained)
    if len(arguments) > 1 and isinstance(arguments[1], Unknown) and kind_of(arguments[1].key) == "parameters" and trained:
        return arguments[1]
    if len(arguments) > 1 and isinstance(arguments[1], BoundMethod):
        return arguments[1]
    return Sequence("generator", iterate(m, arguments[1], site) if len(arguments) > 1 else [], True)


@models("builtins.float")
def as_float(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    return number(m, "float", arguments, site)


@models("builtins.int")
def as_integer(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    return number(m, "int", arguments, site)


def number(m: Interpreter, word: str, arguments: list[Value], site: ast.AST) -> Value:
    """`float`, `int` or `complex`."""
    if arguments and isinstance(arguments[0], Constant) and isinstance(arguments[0].value, (int, float, str)):
        try:
            return Constant(float(arguments[0].value))
        except (ValueError, OverflowError):
            return NonTensor(("number", site))
    note_numbers(m, word, arguments[:1], site)
    return NonTensor(("number", *identities(arguments)), cut=cut_of(*arguments))


@models(
    "builtins.sum",
)
def summed(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    total: Value = arguments[1] if len(arguments) > 1 else keywords.get("start", Constant(0))
    for item in iterate(m, arguments[0], site) if arguments else []:
        total = arithmetic(m, site, total, item, ast.Add())
    if isinstance(total, Constant):
        return NonTensor(("sum", site, m.now()))
    return total


@models(
    "builtins.max",
    "builtins.min",
)
def extreme(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    items = iterate(m, arguments[0], site) if len(arguments) == 1 else arguments
    for item in items:
        if item.node is not None:
            return item
    return NonTensor(("extreme", *identities(items)), cut=cut_of(*items))


@models(
    "builtins.iter",
    "functools.wraps.applied",
    "itertools.islice",
    "itertools.cycle",
)
def passed_on(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value | None:
    return arguments[0] if arguments else None


@models(
    "builtins.reversed",
)
def reversed_(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value | None:
    if arguments and isinstance(arguments[0], Sequence):
        return Sequence("tuple", list(reversed(arguments[0].items)), arguments[0].open)
    return Sequence("tuple", list(reversed(iterate(m, arguments[0], site))), True) if arguments else None


@models(
    "random.sample",
    "random.choices",
)
def sampled(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value | None:
    """`random.sample`: any of the items, so all that are known."""
    if arguments and isinstance(arguments[0], Sequence):
        return Sequence("list", list(arguments[0].items), True)
    return None


@models(
    "random.choice",
)
def chosen(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value | None:
    if arguments and isinstance(arguments[0], Sequence) and arguments[0].items:
        return arguments[0].items[0]
    return None


@models(
    "itertools.chain",
)
def chained(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    if any(isinstance(value, (Parameters, BoundMethod)) for value in arguments):
        # of a tensor it gives the rows, which are views and no leaves
        return Sequence("tuple", [item for value in arguments for item in (iterate(m, value, site) if isinstance(value, Tensor) else [value])])
    return Sequence("tuple", [item for value in arguments for item in iterate(m, value, site)], True)


@models(
    "functools.partial",
)
def partial(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value | None:
    return Partial(arguments[0], arguments[1:], keywords) if arguments else None


@models(
    "collections.namedtuple",
)
def named_tuple(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    fields: list[str] = []
    if len(arguments) > 1 and isinstance(arguments[1], Constant):
        fields = str(arguments[1].value).replace(",", " ").split()
    elif len(arguments) > 1 and isinstance(arguments[1], Sequence):
        for item in arguments[1].items:
            inner = item.items[0] if isinstance(item, Sequence) and item.items else item
            fields.append(str(inner.value) if isinstance(inner, Constant) else "_")
    made = Class("namedtuple", [External("builtins.tuple")], {}, None)
    made.fields = fields
    return made


@models("types.SimpleNamespace")
def namespace(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    made = Instance(Class("SimpleNamespace", [External("types.SimpleNamespace")], {}, None), ("namespace", site, m.now()))
    made.context = m.context
    made.attributes.update(keywords)
    return made


@models("builtins.next")
def next_item(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    value = arguments[0] if arguments else NONE
    if isinstance(value, Sequence) and value.items:
        return value.items[min(m.context[-1][1] if m.context else 0, len(value.items) - 1)]
    if isinstance(value, Parameters):
        return Tensor()
    if isinstance(value, Instance):
        method = find_method(value, "__next__")
        if method is not None:
            return m.call(method, [], {}, site)
    return Unknown(("next", site, m.now()), value.node)


@models("builtins.abs")
def absolute(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value | None:
    if arguments and isinstance(arguments[0], Tensor):
        return operation(m, facts("torch.abs"), arguments, {}, site, "abs")
    if arguments and arguments[0].may_be_tensor:
        return Unknown(("abs", arguments[0].identity), m.record(site, arguments, True))
    return None


@models("builtins.object", "builtins.open", "builtins.vars")
def some_object(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    return Unknown(("object", site, m.now()))


@models("typing.cast")
def cast(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value | None:
    return arguments[1] if len(arguments) > 1 else None


@models("functools.lru_cache", "functools.cache")
def kept(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    """`lru_cache(maxsize=8)` is a decorator, `lru_cache(function)` the function that keeps what it gives."""
    if arguments and isinstance(arguments[0], Function):
        arguments[0].wrappers.append(KEPT)
        return arguments[0]
    return External("functools.lru_cache")


@models("functools.wraps")
def wraps(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    return External("functools.wraps.applied")


@models("itertools.count")
def counted_up(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value:
    start = arguments[:1]
    return numbers_up_to(m, [*start, NonTensor(("count", site))], keywords, site)
