"""Record what each public operation of torch does to the graph, as data for the abstract tape.

`python3 scripts/record_torch.py` writes src/graphfix/effects/torch_table.json. Nothing in
the table is written by hand: what cannot be run is not in it.
"""

from __future__ import annotations

import inspect
import itertools
import json
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch_layers
from torch_modes import has_other_formula
from torch_probe import Call, Facts, Trial, fresh, live, probe, walk
from torch_recipes import FLAGS, FUNCTIONAL, FUNCTIONS, GENERIC, Recipe, call, mask, places, plain, sparse, x
from torch_shapes import positions, shape_facts

TABLE = Path(__file__).parent.parent / "src" / "graphfix" / "effects" / "torch_table.json"

MODULES = {
    "torch": torch,
    "torch.nn.functional": torch.nn.functional,
    "torch.linalg": torch.linalg,
    "torch.fft": torch.fft,
    "torch.special": torch.special,
}
# Change the interpreter's state, need a device or files, or are no operations on tensors.
DENIED = re.compile(
    r"set_.*|get_.*|.*autocast.*|.*(mkldnn|miopen|cudnn|fbgemm|quanti[sz]|sparse|xla|vulkan|mps|cuda|hip|xpu|dlpack).*|(.*_)?ipu(_.*)?|"
    r"manual_seed|seed|save|load|compile|fork|wait|from_file|init_num_threads|use_deterministic.*|import_.*|parse_.*|"
    r"merge_type.*|unify_type.*|prepare_.*|profiler.*|sym_.*|thread_safe.*|boolean_dispatch|handle_torch_function|"
    r"has_torch_function.*|assert_int.*|while_loop|cond|vmap|choose_qparams.*|classproperty|record_stream|"
    r"share_memory_|map_.*|apply_|module_load|reinforce|storage|untyped_storage|storage_type|data_ptr|ipc.*|"
    r"hash_tensor|lobpcg|.*_backward.*|batch_norm_(stats|elemt|gather.*|update.*)|fake_quant.*|fused_.*|grad_dtype|"
    r"slice_inverse|empty_permuted|rename_?|align_.*|refine_names|register_post.*|is_vulkan.*|typename|to_padded_tensor"
)
DUNDERS = tuple(
    f"__{name}__"
    for name in (
        "add sub mul truediv floordiv mod pow matmul neg pos abs radd rsub rmul rtruediv rpow rmatmul iadd isub imul "
        "itruediv ipow getitem setitem eq ne lt gt le ge and or xor invert float int bool index len contains rfloordiv"
    ).split()
)
PLURAL = frozenset(
    "split chunk unbind tensor_split vsplit hsplit dsplit split_with_sizes unsafe_chunk unsafe_split meshgrid "
    "broadcast_tensors unsafe_split_with_sizes nonzero where split_copy unbind_copy split_with_sizes_copy".split()
)
# variants that are told by the argument at one place
AT = ("number", "tensor", "alone", "p=0", "training")


def names() -> Iterator[str]:
    """Every name that is tried, in a fixed order."""
    for prefix, module in MODULES.items():
        for name in dir(module):
            value = getattr(module, name)
            if not name.startswith("_") and callable(value) and not inspect.isclass(value) and not denied(name):
                yield f"{prefix}.{name}"
    for name in [*dir(torch.Tensor), *DUNDERS]:
        if name in DUNDERS or not (name.startswith("_") or denied(name)):
            yield f"torch.Tensor.{name}"
    for name in dir(torch.nn):
        value = getattr(torch.nn, name)
        if inspect.isclass(value) and name not in torch_layers.NOT_LAYERS:
            yield f"torch.nn.{name}"
    for name in torch_layers.DISTRIBUTIONS:
        yield f"torch.distributions.{name}"
        for method in torch_layers.DISTRIBUTION_METHODS:
            yield f"torch.distributions.{name}.{method}"
    yield from EXTRA


def denied(name: str) -> bool:
    return bool(DENIED.fullmatch(name))


def _recipes(name: str, functional: bool) -> dict[str, Recipe]:
    """The recipes written for `name`; an in-place form takes what its twin takes."""
    for candidate in (name, name.rstrip("_") or name):
        if functional and candidate in FUNCTIONAL:
            return FUNCTIONAL[candidate]
        if candidate in FUNCTIONS:
            return FUNCTIONS[candidate]
    return {} if functional or name not in FUNCTIONAL else FUNCTIONAL[name]


def _trial(function: Any, recipe: Recipe, extra: dict[str, Any]) -> Trial:
    def trial() -> Call:
        args, kwargs = recipe()
        return Call(function, args, {**kwargs, **extra})

    return trial


def _runs(trial: Trial) -> bool:
    try:
        return fresh(trial).run() is not NotImplemented
    except Exception:  # these arguments do not fit; the next ones may
        return False


def function_trials(function: Any, name: str, functional: bool) -> dict[str, Trial]:
    recipes = dict(_recipes(name, functional))
    if not recipes or not _runs(_trial(function, recipes[""], {})):
        first = next((recipe for recipe in GENERIC if _runs(_trial(function, recipe, {}))), None)
        if first is None:
            return {}
        recipes[""] = first
    trials = {label: _trial(function, recipe, {}) for label, recipe in recipes.items()}
    for label, flag in FLAGS:
        if label not in recipes and not set(flag) & set(recipes[""]()[1]):
            trials[label] = _trial(function, recipes[""], flag)
    return trials


def _attribute_trial(name: str) -> Trial:
    return lambda: Call(lambda tensor: getattr(tensor, name), (x(),))


def _checkpoint_trial(reentrant: bool) -> Trial:
    from torch.utils.checkpoint import checkpoint

    return lambda: Call(lambda tensor: checkpoint(torch.exp, tensor, use_reentrant=reentrant), (x(),))


def _recipe_trial(path: str, recipe: Recipe) -> Trial:
    function: Any = torch
    for part in path.split(".")[1:]:
        function = getattr(function, part)
    return _trial(function, recipe, {})


EXTRA: dict[str, dict[str, Trial]] = {
    "torch.utils.checkpoint.checkpoint": {"": _checkpoint_trial(False), "reentrant": _checkpoint_trial(True)},
    "torch.autograd.Variable": {"": lambda: Call(torch.autograd.Variable, (x(),))},
    "torch.nn.Parameter": {"": lambda: Call(torch.nn.Parameter, (x(),))},
}
for _path, _recipe in {
    "torch.Tensor.where": lambda: call(x(), mask(), x()),
    **{f"torch.Tensor.{name}": lambda: call(x()) for name in ("to_sparse", "to_sparse_coo", "to_sparse_csr")},
    "torch.Tensor.sparse_mask": lambda: call(x(), sparse().detach()),
    "torch.Tensor.set_": lambda: call(plain(), plain(2)),
    "torch.sparse_coo_tensor": lambda: call(places(), x(2), (3, 3)),
    "torch.sparse.mm": lambda: call(sparse(), x()),
    "torch.sparse.sum": lambda: call(sparse()),
    "torch.sparse.softmax": lambda: call(sparse(), 1),
    "torch.sparse.log_softmax": lambda: call(sparse(), 1),
    "torch.nn.utils.get_total_norm": lambda: call([plain(), plain()]),
    "torch.nn.utils.clip_grad_norm_": lambda: call([x()], 1.0),
    "torch.nn.utils.clip_grad_value_": lambda: call([x()], 1.0),
    "torch.nn.utils.parameters_to_vector": lambda: call([x(), x()]),
    "torch.nn.utils.rnn.pad_sequence": lambda: call([x(2), x(3)]),
    "torch.nn.utils.rnn.pack_padded_sequence": lambda: call(x(), torch.tensor([3, 2, 1])),
    "torch.nn.utils.rnn.pack_sequence": lambda: call([x(3), x(2)]),
}.items():
    EXTRA[_path] = {"": _recipe_trial(_path, _recipe)}


def trials_of(qualified: str) -> dict[str, Trial]:
    prefix, name = qualified.rsplit(".", 1)
    if qualified in EXTRA:
        return EXTRA[qualified]
    if prefix == "torch.nn":
        return torch_layers.layer_trials(name)
    if prefix.startswith("torch.distributions."):
        return {"": torch_layers.method_trial(prefix.rsplit(".", 1)[1], name)}
    if prefix != "torch.Tensor":
        return function_trials(getattr(MODULES[prefix], name), name, prefix == "torch.nn.functional")
    if callable(getattr(torch.Tensor, name)):
        return function_trials(getattr(torch.Tensor, name), name, False)
    return {"": _attribute_trial(name)}


def _kind(qualified: str) -> str:
    prefix, name = qualified.rsplit(".", 1)
    if prefix == "torch.nn" and qualified not in EXTRA:
        return "layer"
    if prefix == "torch.distributions":
        return "distribution"
    if prefix == "torch.Tensor" or prefix.startswith("torch.distributions."):
        is_call = prefix != "torch.Tensor" or callable(getattr(torch.Tensor, name))
        return "method" if is_call else "attribute"
    return "function"


def _distribution_facts(name: str) -> Facts:
    """A distribution saves when its constructor already makes graph that each `log_prob` walks again."""
    torch.manual_seed(0)
    distribution = torch_layers.make_distribution(name)
    value = distribution.sample()
    first = walk(live(distribution.log_prob(value)))
    twice = first or walk(live(distribution.log_prob(value)))
    return {"kind": "distribution", "result": "other", "differentiable": True, **({"saves": True} if twice else {})}


def record(qualified: str) -> Facts | None:
    """The facts of one operation, with those variants that differ from its plain call; nothing if it cannot be run."""
    if _kind(qualified) == "distribution":
        return _distribution_facts(qualified.rsplit(".", 1)[1])
    variants: dict[str, Facts] = {}
    for label, trial in trials_of(qualified).items():
        try:
            variants[label] = {**probe(trial), **_shapes(trial)}
        except Exception:  # a flag that this function does not take, or arguments that it refuses
            continue
    plain = variants.pop("", None)
    if plain is None:
        return None
    plain.update(_modes(trials_of(qualified)[""], plain))
    named = positions(function_of(qualified))
    name = qualified.rsplit(".", 1)[1]
    for facts in (plain, *variants.values()):
        if "empty" in name:  # memory as it was found
            facts.pop("random", None)
        if name in PLURAL and facts["result"] in ("tuple", "list"):
            facts["items"], facts["plural"] = facts["items"][:1], True
    different = {label: facts for label, facts in variants.items() if facts != plain}
    for label, place in places_of(qualified, different, named).items():
        different[label]["at"] = place
    more = {**({"positions": named} if named else {}), **({"variants": different} if different else {})}
    return {"kind": _kind(qualified), **plain, **more}


def _shapes(trial: Trial) -> Facts:
    """What a call makes of shapes, where that holds for all of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: True for name, holds in shape_facts(trial).items() if holds}


def _modes(trial: Trial, facts: Facts) -> Facts:
    """What a call computes otherwise where gradients are recorded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {"other_formula": True} if facts.get("saves") and has_other_formula(trial) else {}


def places_of(qualified: str, labels: Iterable[str], named: dict[str, int]) -> dict[str, int]:
    """Where the argument stands by which a variant differs from the plain call."""
    trials = trials_of(qualified)
    first = fresh(trials[""], plain=True).args
    found = {label: different_at(first, fresh(trials[label], plain=True).args) for label in labels if label in AT}
    return {label: place for label in found if (place := named.get(label, found[label])) is not None}


def different_at(first: tuple[Any, ...], second: tuple[Any, ...]) -> int | None:
    """The first place that is left out, or else at which one has a tensor and the other has none, or something else."""
    if len(second) < len(first):
        return len(second)
    for place, (one, other) in enumerate(itertools.zip_longest(first, second)):
        tensors = isinstance(one, torch.Tensor) + isinstance(other, torch.Tensor)
        if tensors == 1 or not tensors and one != other:
            return place
    return None


def function_of(qualified: str) -> Any:
    """The function, method or class of this name, or None where it is that of an object that is made first."""
    found: Any = torch
    for part in qualified.split(".")[1:]:
        found = getattr(found, part, None)
    return found


def table(wanted: list[str]) -> dict[str, Facts]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        recorded = {name: record(name) for name in wanted}
    return {name: facts for name, facts in sorted(recorded.items()) if facts is not None}


def line(facts: Facts) -> str:
    return json.dumps(facts, sort_keys=True, separators=(",", ":"))


def main() -> int:
    torch.set_num_threads(1)
    rows = [f'"torch":{json.dumps(torch.__version__.split("+")[0])}']
    rows += [f"{json.dumps(name)}:{line(facts)}" for name, facts in table(list(dict.fromkeys(names()))).items()]
    TABLE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    print(f"{len(rows) - 1} operations recorded")
    return 0


if __name__ == "__main__":
    sys.exit(main())
