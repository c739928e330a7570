"""The kinds of errors: each message is known, in the words of this torch and of old ones, and what is said of it fits the screen."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest
import torch

from graphfix.autograd.symptoms import SECOND_WALK, WRITTEN_IN_PLACE
from graphfix.codemods import RULES
from graphfix.why.detail import detail_of, is_a_result
from graphfix.why.kinds import Kind, all_kinds, kind_of, kind_of_words
from graphfix.why.text import explanation

from .error_programs import MESSAGES, PROGRAMS
from .test_errors import is_printed

KINDS = {kind.key: kind for kind in all_kinds()}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


def w() -> torch.Tensor:
    return torch.ones(3, requires_grad=True)


def twice() -> None:
    loss = (w() ** 2).sum()
    loss.backward()
    loss.backward()


def in_place() -> None:
    y = torch.sigmoid(w())
    y += 1
    y.sum().backward()


def at_a_leaf() -> None:
    leaf = w()
    leaf += 1


RAISING: dict[str, list[Callable[[], object]]] = {
    "second-backward": [twice],
    "in-place": [in_place],
    "no-graph": [lambda: torch.ones(1).backward()],
    "asked-of-data": [lambda: torch.autograd.grad(w().sum(), torch.ones(1)), lambda: torch.autograd.grad(w().sum(), [w(), w().detach()])],
    "not-scalar": [lambda: (w() * 2).backward()],
    "zero-dim-index": [lambda: w().sum().data[0], lambda: w().sum()[0], lambda: w().sum().detach().numpy()[0]],
    "gradient-shape": [lambda: w().sum().backward(torch.ones(1))],
    "retain-variables": [lambda: w().sum().backward(retain_variables=True)],  # type: ignore[call-arg]
    "numpy": [lambda: w().numpy(), lambda: np.mean([w().sum(), w().sum()])],  # type: ignore[list-item]
    "leaf-in-place": [at_a_leaf],
    "not-a-leaf": [lambda: torch.optim.SGD([w() * 2], lr=0.1)],
    "deepcopy": [lambda: copy.deepcopy(w() * 2)],
    "unused": [lambda: torch.autograd.grad(w().sum(), w())],
}


@pytest.mark.parametrize("key", RAISING)
def test_what_torch_says_is_known(key: str) -> None:
    for raising in RAISING[key]:
        with pytest.raises(Exception) as caught:
            raising()
        found = kind_of(str(caught.value))
        assert found is not None
        assert found.key == key
        assert is_printed(found, f"{type(caught.value).__name__}: {caught.value}")


def test_every_kind_is_raised_here_or_needs_a_gpu() -> None:
    assert KINDS.keys() - RAISING.keys() - PROGRAMS.keys() == {"out-of-memory", "cudnn-rnn"}
    assert {"out-of-memory", "cudnn-rnn"} <= MESSAGES.keys()


@pytest.mark.parametrize(
    ("words", "key"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB", "out-of-memory"),
        ("RuntimeError: CUDA error: out of memory", "out-of-memory"),
        ("Trying to backward through the graph a second time, but the buffers have already been freed", "second-backward"),
        ("can\u2019t optimize a non-leaf Tensor", "not-a-leaf"),
        ("element 0 of variables does not require grad and does not have a grad_fn", "no-graph"),
        ("Trying to backward through the graph a sec\nond time", "second-backward"),
        ("backward through the graph a second time", "second-backward"),
        ("modified by an inplace operation", "in-place"),
        ("variables needed for gradient computation modified by inplace operation", "in-place"),
        ("cannot call numpy on tensor that requires grad", "numpy"),
    ],
)
def test_other_words_for_it_are_known(words: str, key: str) -> None:
    found = kind_of_words(words)
    assert found is not None
    assert found.key == key


@pytest.mark.parametrize("words", ["", "the graph", "hello", "shape mismatch", "KeyError: 'loss'", "error", "out of range"])
def test_other_words_are_nothing(words: str) -> None:
    assert kind_of_words(words) is None


def test_each_kind_says_what_fits_the_screen(kind: Kind) -> None:
    lines = ["".join(piece.text for piece in line) for line in explanation(kind)]
    assert max(map(len, lines)) <= 80
    assert len(kind.says.splitlines()) <= 10
    assert "walk" not in " ".join(lines)
    assert kind.ways


def test_kinds_name_rules_that_there_are(kind: Kind) -> None:
    codes = {rule.code for rule in RULES}
    assert set(kind.codes) <= codes
    assert len(set(kind.codes)) == len(kind.codes)
    assert {code for way in kind.ways for code in way.codes} <= set(kind.codes)


def test_rules_whose_fault_shows_as_an_error_explain_it() -> None:
    """What a rule declares to be its error, its kind leads to; rules on needless options of a working call are told apart."""
    needless = {"GF305", "GF307", "GF103"}
    for symptom, key in ((SECOND_WALK, "second-backward"), (WRITTEN_IN_PLACE, "in-place")):
        showing = {rule.code for rule in RULES if symptom in rule.shows}
        assert showing - needless <= set(KINDS[key].codes)


def test_the_tensor_at_fault_is_told_in_plain_words() -> None:
    with pytest.raises(RuntimeError) as caught:
        in_place()
    assert detail_of(str(caught.value)) == "torch names the tensor: a result of sigmoid, of shape [3], written to once since."
    weight = (
        "[torch.cuda.FloatTensor [8, 4]], which is output 0 of AsStridedBackward0, is at version 3; expected version 1 instead"
    )
    assert "a weight that optimizer.step() changed, or a slice" in detail_of(weight)
    assert "it was written to 2 times since" in detail_of(weight)
    assert detail_of("no tensor here") == ""
    assert is_a_result(str(caught.value)) and not is_a_result(weight) and not is_a_result("no tensor here")
