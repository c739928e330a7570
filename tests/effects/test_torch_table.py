"""The recorded table against the torch that is installed, and against what we know about torch."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from graphfix.effects.table import OpFacts, facts, table, words_with

pytestmark = pytest.mark.deep

torch = pytest.importorskip("torch")

SCRIPTS = Path(__file__).parents[2] / "scripts"
SAMPLE = 150
HERE = ".".join(torch.__version__.split(".")[:2])


def test_every_row_is_on_its_own_line_and_in_order() -> None:
    lines = resources.files("graphfix.effects").joinpath("torch_table.json").read_text("utf-8").splitlines()
    names = [line.split(":", 1)[0].strip('"') for line in lines[2:-1]]
    assert names == sorted(names)
    assert len(names) == len(table()) - 1


def test_the_table_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    loads = json.loads

    def counted(text: bytes, **more: Any) -> Any:
        read.append(len(text))
        return loads(text, **more)

    table.cache_clear()
    facts.cache_clear()
    monkeypatch.setattr(json, "loads", counted)
    assert facts("torch.add") and facts("torch.mul") and table() is table()
    assert len(read) == 1 and read[0] < 1_000_000


def test_reading_the_table_imports_no_torch() -> None:
    code = "import sys; from graphfix.effects.table import facts; facts('torch.add'); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout == b"False\n"


def test_unknown_names_have_no_facts() -> None:
    assert facts("torch.no_such_operation") is None
    assert facts("torch") is None


@pytest.fixture(scope="module")
def recorder() -> ModuleType:
    sys.path.insert(0, str(SCRIPTS))
    try:
        import record_torch
    finally:
        sys.path.remove(str(SCRIPTS))
    return record_torch


@pytest.mark.skipif(table()["torch"].rsplit(".", 1)[0] != HERE, reason="the table was recorded with another torch")
def test_a_sample_of_the_table_is_what_torch_does(recorder: ModuleType) -> None:
    names = sorted(name for name in table() if "." in name)
    sample = random.Random(0).sample(names, SAMPLE)
    recorded = recorder.table(sample)
    assert {name: recorded.get(name) for name in sample} == {name: table()[name] for name in sample}


def known(name: str, variant: str = "") -> OpFacts:
    found = facts(name)
    assert found is not None, name
    return found.variants.get(variant, found)  # a variant that changes nothing is not in the table


SAVES_NOTHING = (
    "torch.add torch.sub torch.neg torch.sum torch.mean torch.cumsum torch.reshape torch.t torch.permute torch.unsqueeze "
    "torch.clone torch.cat torch.stack torch.diag torch.Tensor.view torch.Tensor.expand torch.Tensor.repeat torch.Tensor.T "
    "torch.Tensor.contiguous torch.Tensor.float torch.Tensor.double torch.Tensor.to torch.Tensor.__getitem__ "
    "torch.Tensor.__getitem__:slice torch.nn.functional.dropout:p=0 torch.lerp:number torch.Tensor.__add__ "
    "torch.Tensor.__sub__ torch.Tensor.__neg__ torch.nn.Identity torch.nn.Flatten torch.distributions.Normal"
).split()
SAVES = (
    "torch.mul torch.mul:number torch.div torch.div:number torch.pow torch.exp torch.log torch.sqrt torch.abs torch.sin torch.sigmoid "
    "torch.tanh torch.relu torch.nn.functional.softplus torch.softmax torch.max torch.norm torch.nn.functional.normalize "
    "torch.clamp torch.where torch.masked_fill torch.gather torch.index_select torch.Tensor.__getitem__:tensor "
    "torch.matmul torch.nn.functional.linear torch.nn.Linear torch.nn.Embedding torch.nn.functional.layer_norm torch.std "
    "torch.nn.functional.mse_loss torch.nn.functional.dropout torch.nn.RNN torch.nn.GRU torch.nn.LSTM torch.nn.GRUCell "
    "torch.utils.checkpoint.checkpoint torch.utils.checkpoint.checkpoint:reentrant torch.Tensor.__truediv__ "
    "torch.Tensor.__mul__ torch.Tensor.__pow__ torch.Tensor.__matmul__ torch.distributions.Bernoulli"
).split()


@pytest.mark.parametrize("name", SAVES_NOTHING)
def test_can_be_walked_twice(name: str) -> None:
    found = known(*name.split(":"))
    assert found.differentiable
    assert not found.saves


@pytest.mark.parametrize("name", SAVES)
def test_cannot_be_walked_twice(name: str) -> None:
    found = known(*name.split(":"))
    assert found.differentiable
    assert found.saves


@pytest.mark.parametrize("name", ("torch.sigmoid", "torch.tanh", "torch.softmax", "torch.relu", "torch.exp", "torch.sqrt"))
def test_keeps_its_output(name: str) -> None:
    assert known(name).saves_output


@pytest.mark.parametrize("name", ("torch.add", "torch.sub", "torch.nn.functional.linear", "torch.nn.Linear"))
def test_does_not_keep_its_output(name: str) -> None:
    assert not known(name).saves_output


@pytest.mark.parametrize("name", ("torch.mul", "torch.matmul"))
def test_keeps_both_inputs(name: str) -> None:
    assert known(name).saves_inputs == (0, 1)


@pytest.mark.parametrize("name", ("detach", "data", "argmax", "eq", "__lt__", "long", "detach_"))
def test_cuts_the_graph(name: str) -> None:
    assert known(f"torch.Tensor.{name}").cuts


@pytest.mark.parametrize("name", ("zeros", "randn", "tensor", "arange", "full", "ones_like", "rand", "eye", "linspace"))
def test_makes_a_leaf(name: str) -> None:
    assert known(f"torch.{name}").factory


@pytest.mark.parametrize("name", ("add_", "mul_", "relu_", "copy_", "zero_", "__iadd__", "clamp_", "masked_fill_"))
def test_writes_in_place(name: str) -> None:
    assert known(f"torch.Tensor.{name}").inplace


@pytest.mark.parametrize("name", ("torch.sum", "torch.mean", "torch.nn.MSELoss", "torch.nn.functional.cross_entropy"))
def test_gives_one_element(name: str) -> None:
    assert known(name).scalar


@pytest.mark.parametrize("name", ("torch.exp", "torch.det", "torch.matmul", "torch.sum:dim", "torch.nn.MSELoss:reduction"))
def test_gives_more_than_one_element(name: str) -> None:
    assert not known(*name.split(":")).scalar


def test_tuples_have_their_items() -> None:
    assert known("torch.max", "dim").items == ("tensor", "cut")
    assert known("torch.topk").items == ("tensor", "cut")
    assert known("torch.nn.LSTM").items == ("tensor", ["tensor", "tensor"])
    assert known("torch.nn.LSTMCell").items == ("tensor", "tensor")
    assert known("torch.nn.GRUCell").result == "tensor"
    assert known("torch.Tensor.split").plural


def test_a_linear_layer_keeps_its_weight_only_for_the_gradient_of_its_input() -> None:
    assert known("torch.nn.Linear").saves_parameters
    assert not known("torch.nn.Linear").saves_parameters_plain


@pytest.mark.parametrize("name", ("torch.rand", "torch.nn.functional.dropout", "torch.Tensor.bernoulli", "torch.nn.Dropout"))
def test_draws(name: str) -> None:
    assert known(name).random


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("item", "number"),
        ("tolist", "list"),
        ("shape", "other"),
        ("backward", "none"),
        ("is_leaf", "bool"),
        ("__float__", "number"),
    ],
)
def test_is_no_tensor(name: str, result: str) -> None:
    assert known(f"torch.Tensor.{name}").result == result


def called(name: str) -> OpFacts:
    """As `known`, of functions and methods whose names are written without `torch`."""
    return known(*f"torch.{name}".split(":"))


@pytest.mark.parametrize("name", ("exp", "Tensor.float", "Tensor.clone", "pow", "softmax", "cumsum", "add:number", "nn.functional.gelu"))
def test_keeps_the_shape_of_its_input(name: str) -> None:
    assert called(name).keeps_shape


@pytest.mark.parametrize("name", ("sum", "mm", "add", "pow:tensor", "t", "squeeze", "nn.functional.linear", "addmm", "Tensor.repeat"))
def test_gives_another_shape(name: str) -> None:
    assert not called(name).keeps_shape


@pytest.mark.parametrize("name", ("exp", "add", "Tensor.__mul__", "where", "Tensor.view", "reshape", "flatten", "squeeze", "transpose"))
def test_has_as_many_elements_as_it_is_given(name: str) -> None:
    assert called(name).elementwise


@pytest.mark.parametrize("name", ("sum", "mm", "matmul", "outer", "Tensor.expand", "Tensor.repeat", "index_select", "addmm", "baddbmm"))
def test_has_another_number_of_elements(name: str) -> None:
    assert not called(name).elementwise


def test_a_number_is_the_dimension_of_some_reductions() -> None:
    assert all(called(name).along for name in ("sum", "mean", "Tensor.amax", "logsumexp", "std", "argmax"))
    assert not any(called(name).along for name in ("norm", "linalg.vector_norm", "max", "softmax", "cumsum", "squeeze"))


def test_arguments_are_the_sizes_of_what_some_make() -> None:
    assert all(called(name).sized for name in ("zeros", "ones", "rand", "randn", "empty"))
    assert not any(called(name).sized for name in ("eye", "full", "arange", "zeros_like", "tensor"))


def test_some_change_the_shape_of_what_they_write_to() -> None:
    assert all(called(f"Tensor.{name}").reshapes for name in ("squeeze_", "unsqueeze_", "resize_", "set_", "t_", "as_strided_"))
    assert not any(called(f"Tensor.{name}").reshapes for name in ("add_", "zero_", "clamp_", "copy_", "index_fill_", "squeeze"))


def test_places_of_flags_are_those_of_the_signature() -> None:
    assert called("nn.ReLU").positions == {"inplace": 0}
    assert called("nn.functional.dropout").positions == {"training": 2, "inplace": 3}
    assert called("nn.CrossEntropyLoss").positions == {"reduce": 3, "reduction": 4}
    assert called("nn.functional.mse_loss").positions == {"reduce": 3, "reduction": 4}
    assert called("nn.Linear").positions == {}


def test_operands_of_products_are_saved_for_each_other() -> None:
    assert called("mul").saved_for == called("matmul").saved_for == ((1,), (0,))
    assert called("addmm").saves_inputs == (1, 2) and called("addmm").saved_for == ((2,), (1,))
    assert called("div").saved_for == ((1,), (0, 1))  # the divisor in any case


@pytest.mark.parametrize("name", ("log", "maximum", "nn.functional.mse_loss", "nn.MSELoss", "nn.functional.conv2d", "where"))
def test_saves_its_inputs_whichever_needs_a_gradient(name: str) -> None:
    assert called(name).saves_inputs and not called(name).saved_for


def test_some_save_nothing_for_one_of_their_inputs() -> None:
    assert all(called(name).saves_nothing_for == (0,) for name in ("addmm", "baddbmm", "addcmul", "fmod", "Tensor.index_add"))
    assert called("nn.functional.linear").saves_nothing_for == (2,)
    assert not any(called(name).saves_nothing_for for name in ("mul", "div", "add", "einsum", "lerp"))


def test_variants_tell_which_argument_makes_them() -> None:
    assert called("lerp:number").at == 2 and called("pow:tensor").at == 1
    assert called("einsum:alone").at == 2 and called("where:alone").at == 1
    assert called("nn.functional.dropout:p=0").at == 1 and called("dropout:training").at == 2


@pytest.mark.parametrize("name", ("sum", "mean", "div", "mul", "stack", "cat", "Tensor.half", "Tensor.view", "cumsum", "Tensor.type:dtype"))
def test_is_linear(name: str) -> None:
    assert called(name).linear


@pytest.mark.parametrize("name", ("relu", "abs", "exp", "sqrt", "norm", "max", "sort", "nn.functional.mse_loss", "nn.functional.dropout"))
def test_is_not_linear(name: str) -> None:
    assert not called(name).linear


def test_some_layers_keep_statistics() -> None:
    assert called("nn.BatchNorm2d").statistics and called("nn.SyncBatchNorm").statistics
    assert called("nn.InstanceNorm1d").ever("statistics") and not called("nn.InstanceNorm1d").statistics
    assert not any(called(f"nn.{name}").ever("statistics") for name in ("LayerNorm", "GroupNorm", "Dropout", "LSTM", "Linear"))
    assert {"BatchNorm1d", "LazyBatchNorm3d", "SyncBatchNorm"} <= words_with("statistics")


def test_some_gradients_that_are_recorded_are_computed_by_another_formula() -> None:
    names = ("nn.SiLU", "nn.functional.silu", "nn.Mish", "nn.GroupNorm", "group_norm", "det", "linalg.solve")
    assert all(called(name).other_formula for name in names)
    assert not any(called(name).other_formula for name in ("exp", "mul", "nn.Linear", "nn.ReLU", "nn.LayerNorm", "softmax"))
