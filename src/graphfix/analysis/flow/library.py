"""What code that is not in sight, but well known, does with what it is given."""

from __future__ import annotations

import ast
from collections.abc import Hashable

from graphfix.effects.rows import Returns, row_of
from graphfix.effects.table import facts

# attributes and methods of a tensor whose result has no graph
CUTS = frozenset(
    "data shape dtype device ndim layout detach item tolist size dim numel nelement stride is_cuda itemsize nbytes "
    "argmax argmin sample data_ptr element_size is_floating_point is_contiguous bool long int zero_grad".split()
)
# what asks for the graph of a tensor, or works on it; `numpy` raises where there is one
ASKS = frozenset(
    "grad_fn requires_grad is_leaf grad retain_grad retains_grad register_hook register_post_accumulate_grad_hook "
    "requires_grad_ numpy __array__ output_nr next_functions".split()
)
# methods of containers that put something in
PUTS = frozenset(
    "append appendleft add insert extend extendleft update setdefault put put_nowait push enqueue store fill_ copy_ add_ sub_ "
    "mul_ div_ addcmul_ addcdiv_ lerp_ index_add_ index_copy_ scatter_ scatter_add_ masked_fill_ masked_scatter_ index_put_ send "
    "__setitem__ __iadd__".split()
)
POURS = frozenset("extend extendleft update __iadd__".split())
# and those that take something out
TAKES = frozenset("pop popleft popitem get get_nowait values items keys __getitem__ __next__ next most_common".split())
OF_CONTAINERS = frozenset("clear remove index count sort reverse copy rotate qsize empty full task_done join __iter__".split())

# layers that are made of other modules, or call a function that they are given: all others are made of numbers
HOLDING = frozenset(
    "Sequential ModuleList ModuleDict ParameterList ParameterDict DataParallel Container Transformer TransformerEncoder "
    "TransformerDecoder TransformerEncoderLayer TransformerDecoderLayer TripletMarginWithDistanceLoss".split()
)
# methods of modules and optimizers, which neither walk nor keep what they are given, and whose results are leaves
OF_MODULES = frozenset(
    "parameters named_parameters buffers named_buffers modules children named_modules named_children state_dict load_state_dict "
    "parse_args parse_known_args add_argument "
    "train eval to cuda cpu half share_memory share_memory_ pin_memory zero_grad register_buffer register_parameter "
    "add_module add_param_group step double".split()
)
LEAVES = frozenset("parameters named_parameters buffers named_buffers state_dict load_state_dict step zero_grad".split())

# https://docs.pytorch.org/docs/stable/distributions.html
OF_DISTRIBUTIONS = frozenset("sample rsample log_prob entropy cdf icdf enumerate_support perplexity".split())
# methods that give back what they are called on
FLUENT = frozenset(
    "to cuda cpu train eval half double float requires_grad_ share_memory share_memory_ pin_memory apply contiguous retain_grad "
    "__iter__".split()
)

# roots of libraries that neither walk a graph nor keep what they are given, but for what is listed below: their rows are not written yet
TAME = frozenset("torch torchvision tqdm".split())
# except for these: they call what they are given, write it away, or keep it
WILD = frozenset(
    "torch.save torch.jit torch.compile torch.func torch.autograd torch.multiprocessing torch.distributed torch.vmap torch.fx "
    "torch.export torch.onnx torch.futures torch.library torch.overrides torch.package torch.hub torch.utils.tensorboard".split()
)
# https://docs.pytorch.org/docs/stable/data.html: what yields the tensors that it is given
LOADERS = frozenset(
    f"torch.utils.data.{name}"
    for name in "DataLoader TensorDataset Subset ConcatDataset ChainDataset StackDataset random_split".split()
)
JOINS = frozenset("torch.stack torch.cat torch.vstack torch.hstack".split())
# ways to write a text: the number that is written is the same
WRITERS = frozenset("format write info debug warning error critical exception log set_postfix set_description join print".split())
LOGS = frozenset("info debug warning error critical exception log".split())
# methods by which code takes part in logging: https://docs.python.org/3/library/logging.html
OF_HANDLERS = frozenset("emit filter handle format formatMessage makeRecord".split())

# methods that containers, texts, modules or optimizers have
COMMON = ASKS | PUTS | TAKES | OF_CONTAINERS | WRITERS | OF_MODULES | OF_DISTRIBUTIONS


def lets_go(dotted: str) -> bool:
    """Whether a function of this name neither walks nor keeps what it is given."""
    row = row_of(dotted)
    if row is not None:
        return not row.keeps
    if dotted == "torch.autograd.Variable":
        return True
    return dotted.split(".")[0] in TAME and not any(dotted == wild or dotted.startswith(wild + ".") for wild in WILD)


def goes_backward(dotted: str) -> bool:
    """Whether a function of this name runs a backward pass from what it is given."""
    row = row_of(dotted)
    return row is not None and row.backward


def holds_contents(dotted: str) -> bool:
    """Whether what a function of this name gives holds what its arguments hold."""
    row = row_of(dotted)
    return dotted in LOADERS or row is not None and row.returns in (Returns.CONTENTS, Returns.COPY)


def may_give_itself(dotted: str) -> bool:
    """Whether what a function of this name gives may be what it is given, or as that."""
    row = row_of(dotted)
    return row is not None and row.returns is Returns.COPY


def holds_pairs(dotted: str) -> bool:
    """Whether it holds tuples of what they hold."""
    row = row_of(dotted)
    return row is not None and row.returns is Returns.PAIRS


def is_container(dotted: str) -> bool:
    """Whether what a function of this name gives is a container, or goes over one, of what it is given."""
    row = row_of(dotted)
    return dotted in LOADERS or row is not None and row.holds


def iterates(dotted: str) -> bool:
    """Whether a function of this name goes over what it is given."""
    row = row_of(dotted)
    return dotted in LOADERS or dotted in JOINS or row is not None and row.iterates


def calls_argument(dotted: str) -> bool:
    """Whether a function of this name calls a function that it is given."""
    row = row_of(dotted)
    return row is not None and row.calls


def takes_numbers(dotted: str) -> bool:
    """Whether a function of this name does the same with a number as with a tensor of one element."""
    row = row_of(dotted)
    return row is not None and row.takes_numbers


def is_made_of_numbers(dotted: str) -> bool:
    """Whether a layer of torch of this name calls nothing that it is made with."""
    known = facts(dotted)
    return known is not None and known.kind == "layer" and dotted.rpartition(".")[2] not in HOLDING


def is_tensor_method(name: str) -> bool:
    """Whether tensors have a method of this name."""
    return facts(f"torch.Tensor.{name}") is not None


def gives_no_graph(dotted: str) -> bool:
    """Whether what a function of this name returns is never part of a graph."""
    row = row_of(dotted)
    if row is not None:
        return row.gives_no_graph
    known = facts(dotted)
    return known is not None and (known.cuts or known.factory)


def gives_numbers_at(call: ast.Call, dotted: str, key: Hashable) -> bool:
    """Whether what a call gives holds, under this key, what is never part of a graph: the places that `x.max(1)` gives with its values.

    `dotted`: the function of a library that is called, if it is one.
    """
    method = not dotted and isinstance(call.func, ast.Attribute)
    known = facts(f"torch.Tensor.{call.func.attr}" if method else dotted)  # type: ignore[attr-defined]
    if known is not None and asks_for_dimension(call, 0 if method else 1):
        known = known.variants.get("dim", known)
    index = 1 if key == ".indices" else key
    return known is not None and isinstance(index, int) and 0 <= index < len(known.items) and known.items[index] == "cut"


def asks_for_dimension(call: ast.Call, position: int) -> bool:
    """Whether a call spells a dimension: by its name, or as a number where a second tensor may stand (`torch.max(x, y)`)."""
    given = call.args[position] if position < len(call.args) else None
    given = given.operand if isinstance(given, ast.UnaryOp) else given
    spelled = isinstance(given, ast.Constant) and isinstance(given.value, int)
    return spelled or any(keyword.arg == "dim" for keyword in call.keywords)


def cuts_method(name: str) -> bool:
    """Whether what a tensor's method or attribute of this name gives is never part of a graph."""
    known = facts(f"torch.Tensor.{name}")
    return name in CUTS or name in LEAVES or known is not None and known.cuts


def hands_on_argument(name: str) -> bool:
    """Whether a tensor's method of this name gives a tensor that it is given, with its graph: `x.new(loss)`."""
    known = facts(f"torch.Tensor.{name}")
    given = known.variants.get("tensor") if known is not None and known.cuts else None
    return given is not None and not given.cuts
