"""Arguments with which each function of torch can be tried. Methods take the same, with the tensor first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Recipe = Callable[[], Arguments]


def x(*shape: int) -> torch.Tensor:
    """A leaf with values between 0.1 and 0.9, where nearly all functions are defined and smooth."""
    values = torch.rand(*(shape or (3, 3)), dtype=torch.float64) * 0.8 + 0.1
    return values.requires_grad_()


def index(*shape: int) -> torch.Tensor:
    return torch.zeros(shape or (2,), dtype=torch.int64)


def mask(*shape: int) -> torch.Tensor:
    return x(*shape).detach() > 0.5


def spd() -> torch.Tensor:
    """Symmetric and positive, for decompositions."""
    values = x().detach()
    return (values @ values.T + torch.eye(3, dtype=torch.float64)).requires_grad_()


def places() -> torch.Tensor:
    """Rows and columns of two items of a sparse matrix."""
    return torch.tensor([[0, 1], [1, 2]])


def sparse() -> torch.Tensor:
    """A sparse matrix with a graph of its own, as that of an adjacency with weights."""
    return torch.sparse_coo_tensor(places(), x(2), (3, 3)).coalesce()


def call(*args: Any, **kwargs: Any) -> Arguments:
    return args, kwargs


def plain(*shape: int) -> torch.Tensor:
    return x(*shape).detach()


# Tried in this order on everything that has no recipe of its own.
GENERIC: tuple[Recipe, ...] = (
    lambda: call(x()),
    lambda: call(x(), x()),
    lambda: call(x(), 1),
    lambda: call(x(), 0, 1),
    lambda: call(x(), dim=0),
    lambda: call(x(), 0, index()),
    lambda: call(x(), (0, 1)),
    lambda: call(x(), (0,), (1,)),
    lambda: call([x(), x()]),
    lambda: call(x(), x(), x()),
    lambda: call(x(3), x(3)),
    lambda: call(x(3)),
    lambda: call(x(2, 3, 3), x(2, 3, 3)),
    lambda: call(x(), 1.5),
    lambda: call(index(3, 3), 1),
    lambda: call(index(3, 3), index(3, 3)),
    lambda: call(x(9, 9), 0.5, True),
    lambda: call(x(1)),
    lambda: call(x(3, 2)),
    lambda: call(torch.complex(x(), x())),
    lambda: call(x(), 2, 0, 1.0),
    lambda: call(x(), x(3), 0),
    lambda: call(x(), x(3), 0, 0),
    lambda: call(1, x()),
    lambda: call(3),
    lambda: call(3, 3),
    lambda: call(),
)

# A flag that changes what a function gives back, tried on top of its first recipe.
FLAGS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("dim", {"dim": 0}),
    ("reduction", {"reduction": "none"}),
    ("inplace", {"inplace": True}),
    ("return_indices", {"return_indices": True}),
    ("as_tuple", {"as_tuple": True}),
    ("training", {"training": False}),
)

FUNCTIONS: dict[str, dict[str, Recipe]] = {
    # attribute access by index
    "__getitem__": {
        "": lambda: call(x(), 0),
        "slice": lambda: call(x(), slice(0, 2)),
        "none": lambda: call(x(), None),
        "tensor": lambda: call(x(), index()),
        "mask": lambda: call(x(), mask()),
        "list": lambda: call(x(), [0, 1]),
    },
    "__setitem__": {"": lambda: call(x(), 0, 1.0), "tensor": lambda: call(x(), 0, x(3))},
    "dropout": {
        "": lambda: call(x(9, 9), 0.5, True),
        "p=0": lambda: call(x(9, 9), 0.0, True),
        "training": lambda: call(x(9, 9), 0.5, False),
    },
    "__rpow__": {"": lambda: call(x(), 2.0)},
    "__pow__": {"": lambda: call(x(), 2), "tensor": lambda: call(x(), x())},
    # arithmetic with a number as well as with a tensor
    **{
        name: {"": lambda: call(x(), x()), "number": lambda: call(x(), 2.0)}
        for name in (
            "add sub mul div true_divide multiply subtract divide rsub __add__ __sub__ __mul__ __truediv__ "
            "__radd__ __rsub__ __rmul__ __rtruediv__ __iadd__ __isub__ __imul__ __itruediv__ eq ne lt gt le ge "
            "maximum minimum fmod remainder"
        ).split()
    },
    "pow": {"": lambda: call(x(), 2), "tensor": lambda: call(x(), x())},
    "addcmul": {"": lambda: call(x(), x(), x())},
    "lerp": {"": lambda: call(x(), x(), x()), "number": lambda: call(x(), x(), 0.5)},
    "where": {"": lambda: call(mask(), x(), x()), "alone": lambda: call(mask())},
    "masked_fill": {"": lambda: call(x(), mask(), 0.0)},
    "masked_select": {"": lambda: call(x(), mask())},
    "masked_scatter": {"": lambda: call(x(), mask(), x())},
    "gather": {"": lambda: call(x(), 0, index(2, 2))},
    "take": {"": lambda: call(x(), index())},
    "take_along_dim": {"": lambda: call(x(), index(1, 3), 0)},
    "put": {"": lambda: call(x(), torch.tensor([0, 1]), x(2))},
    "scatter": {"": lambda: call(x(), 0, index(1, 3), x(1, 3)), "number": lambda: call(x(), 0, index(1, 3), 1.0)},
    "scatter_add": {"": lambda: call(x(), 0, index(1, 3), x(1, 3))},
    "scatter_reduce": {"": lambda: call(x(), 0, index(1, 3), x(1, 3), "sum")},
    "index_select": {"": lambda: call(x(), 0, index())},
    "index_add": {"": lambda: call(x(), 0, index(2), x(2, 3))},
    "index_copy": {"": lambda: call(x(), 0, torch.tensor([0, 1]), x(2, 3))},
    "index_fill": {"": lambda: call(x(), 0, index(), 1.0)},
    "index_put": {"": lambda: call(x(), (index(),), x(2, 3))},
    "index_reduce": {"": lambda: call(x(), 0, index(2), x(2, 3), "prod")},
    "copy_": {"": lambda: call(x(), x())},
    "fill_": {"": lambda: call(x(), 0.5)},
    "zero_": {"": lambda: call(x())},
    "clamp": {"": lambda: call(x(), 0.2, 0.6)},
    "clip": {"": lambda: call(x(), 0.2, 0.6)},
    # shapes
    "view": {"": lambda: call(x(), 9), "dtype": lambda: call(x(), torch.int64)},
    "reshape": {"": lambda: call(x(), (9,))},
    "expand": {"": lambda: call(x(), 2, 3, 3)},
    "repeat": {"": lambda: call(x(), 2, 1)},
    "repeat_interleave": {"": lambda: call(x(), 2)},
    "tile": {"": lambda: call(x(), (2, 1))},
    "permute": {"": lambda: call(x(), (1, 0))},
    "transpose": {"": lambda: call(x(), 0, 1)},
    "unflatten": {"": lambda: call(x(9), 0, (3, 3))},
    "unfold": {"": lambda: call(x(), 0, 2, 1)},
    "movedim": {"": lambda: call(x(), 0, 1)},
    "narrow": {"": lambda: call(x(), 0, 0, 2)},
    "select": {"": lambda: call(x(), 0, 0)},
    "roll": {"": lambda: call(x(), 1)},
    "rot90": {"": lambda: call(x())},
    "flip": {"": lambda: call(x(), (0,))},
    "pad": {"": lambda: call(x(), (1, 1)), "reflect": lambda: call(x(1, 3, 3), (1, 1), "reflect")},
    "broadcast_to": {"": lambda: call(x(), (2, 3, 3))},
    "as_strided": {"": lambda: call(x(), (2, 2), (1, 1))},
    "resize_": {"": lambda: call(plain(), (2, 2))},
    "resize_as_": {"": lambda: call(plain(), plain(2))},
    "combinations": {"": lambda: call(x(3))},
    "diag_embed": {"": lambda: call(x())},
    **{name: {"": lambda: call([x(), x()])} for name in "cat stack concat concatenate hstack vstack dstack".split()},
    **{name: {"": lambda: call(x(6, 2), 2)} for name in "split chunk tensor_split unsafe_chunk unsafe_split".split()},
    "split_with_sizes": {"": lambda: call(x(), [1, 2])},
    "vsplit": {"": lambda: call(x(), 3)},
    "hsplit": {"": lambda: call(x(), 3)},
    "dsplit": {"": lambda: call(x(2, 3, 4), 2)},
    "meshgrid": {"": lambda: call(x(3), x(3))},
    "cartesian_prod": {"": lambda: call(x(3), x(3))},
    "block_diag": {"": lambda: call(x(), x())},
    "einsum": {"": lambda: call("ij,jk->ik", x(), x()), "alone": lambda: call("ij->", x())},
    "tensordot": {"": lambda: call(x(), x())},
    # algebra
    "mm": {"": lambda: call(x(), x())},
    "mv": {"": lambda: call(x(), x(3))},
    "dot": {"": lambda: call(x(3), x(3))},
    "vdot": {"": lambda: call(x(3), x(3))},
    "inner": {"": lambda: call(x(), x())},
    "outer": {"": lambda: call(x(3), x(3))},
    "ger": {"": lambda: call(x(3), x(3))},
    "cross": {"": lambda: call(x(), x())},
    "bmm": {"": lambda: call(x(2, 3, 3), x(2, 3, 3))},
    "addmm": {"": lambda: call(x(), x(), x())},
    "addmv": {"": lambda: call(x(3), x(), x(3))},
    "addr": {"": lambda: call(x(), x(3), x(3))},
    "addbmm": {"": lambda: call(x(), x(2, 3, 3), x(2, 3, 3))},
    "baddbmm": {"": lambda: call(x(2, 3, 3), x(2, 3, 3), x(2, 3, 3))},
    **{name: {"": lambda: call(spd())} for name in "cholesky cholesky_ex eigh eigvalsh inv cholesky_inverse".split()},
    "cholesky_solve": {"": lambda: call(x(), spd())},
    "solve_triangular": {"": lambda: call(spd(), x(), upper=True)},
    "tensorsolve": {"": lambda: call(spd(), x(3))},
    "lu_solve": {"": lambda: call(x(), *torch.linalg.lu_factor(spd()))},
    "multi_dot": {"": lambda: call([x(), x()])},
    "matrix_power": {"": lambda: call(x(), 2)},
    "vector_norm": {"": lambda: call(x())},
    # selection: values and positions
    "topk": {"": lambda: call(x(), 2)},
    "kthvalue": {"": lambda: call(x(), 1)},
    "quantile": {"": lambda: call(x(), 0.5)},
    "nanquantile": {"": lambda: call(x(), 0.5)},
    "searchsorted": {"": lambda: call(x(3), x(3))},
    "bucketize": {"": lambda: call(x(), plain(3))},
    "multinomial": {"": lambda: call(x(), 2)},
    "bernoulli": {"": lambda: call(x())},
    "normal": {"": lambda: call(x(), x())},
    "one_hot": {"": lambda: call(index(3), 4)},
    "bincount": {"": lambda: call(index(3))},
    # dtypes and devices
    "to": {
        "": lambda: call(x(), torch.float32),
        "same": lambda: call(x(), torch.float64),
        "device": lambda: call(x(), "cpu"),
    },
    "type": {"": lambda: call(x()), "dtype": lambda: call(x(), torch.float32)},
    "type_as": {"": lambda: call(x(), torch.zeros(1))},
    "float": {"": lambda: call(x())},
    "double": {"": lambda: call(x().float())},
    "item": {"": lambda: call(x(1))},
    "__float__": {"": lambda: call(x(1))},
    "__int__": {"": lambda: call(x(1))},
    "__bool__": {"": lambda: call(x(1))},
    "__index__": {"": lambda: call(index(1))},
    "tolist": {"": lambda: call(x())},
    "numpy": {"": lambda: call(plain())},
    "complex": {"": lambda: call(x(), x())},
    "polar": {"": lambda: call(x(), x())},
    "embedding": {"": lambda: call(x(), index())},
    "lstsq": {"": lambda: call(x(4, 3), x(4, 1))},
    # factories
    "tensor": {"": lambda: call([1.0, 2.0]), "tensor": lambda: call(x(3))},
    "as_tensor": {"": lambda: call([1.0, 2.0]), "tensor": lambda: call(x())},
    "asarray": {"": lambda: call(x())},
    "scalar_tensor": {"": lambda: call(1.0)},
    **{name: {"": lambda: call(2, 3)} for name in "zeros ones rand randn empty".split()},
    "arange": {"": lambda: call(3.0)},
    "range": {"": lambda: call(0.0, 3.0)},
    "linspace": {"": lambda: call(0.0, 1.0, 3)},
    "logspace": {"": lambda: call(0.0, 1.0, 3)},
    "eye": {"": lambda: call(3)},
    "full": {"": lambda: call((3,), 1.0)},
    "full_like": {"": lambda: call(x(), 1.0)},
    "randint": {"": lambda: call(0, 9, (9,))},
    "randint_like": {"": lambda: call(x(), 9)},
    "randperm": {"": lambda: call(9)},
    "new": {"": lambda: call(x(), 2), "tensor": lambda: call(plain(), x())},
    "new_tensor": {"": lambda: call(x(), [1.0, 2.0])},
    "new_full": {"": lambda: call(x(), (2,), 1.0)},
    **{name: {"": lambda: call(x(), (2, 2))} for name in "new_zeros new_ones new_empty".split()},
    "hann_window": {"": lambda: call(4)},
    "from_numpy": {"": lambda: call(plain().numpy())},
    "tril_indices": {"": lambda: call(3, 3)},
    "triu_indices": {"": lambda: call(3, 3)},
    "random_": {"": lambda: call(x())},
    "normal_": {"": lambda: call(x())},
    "uniform_": {"": lambda: call(x())},
    "requires_grad_": {"": lambda: call(x())},
    "retain_grad": {"": lambda: call(x())},
    "register_hook": {"": lambda: call(x(), lambda grad: None)},
    "backward": {"": lambda: call(x(1))},
    "istft": {"": lambda: call(torch.complex(x(3, 9), x(3, 9)), 4, window=torch.ones(4, dtype=torch.float64))},
    "embedding_bag": {"": lambda: call(x(), index(4), index(2))},
    "poisson_nll_loss": {"": lambda: call(x(), x(), True, False, 1e-8, 1)},
    "instance_norm": {"": lambda: call(x(2, 3, 4), x(3), x(3), None, None, True, 0.1, 1e-5, False)},
    "batch_norm": {"": lambda: call(x(), x(3), x(3), None, None, True, 0.1, 1e-5, False)},
    "grid_sampler": {"": lambda: call(x(1, 2, 4, 4), x(1, 3, 3, 2), 0, 0, False)},
    "as_strided_scatter": {"": lambda: call(x(), x(2, 2), (2, 2), (1, 1))},
    "narrow_copy": {"": lambda: call(x(), 0, 0, 2)},
    "stft": {"": lambda: call(x(16), 4, return_complex=True, window=torch.ones(4, dtype=torch.float64))},
}

_FUNCTIONAL: dict[str, Recipe] = {
    "linear": lambda: call(x(), x(), x(3)),
    "bilinear": lambda: call(x(), x(), x(2, 3, 3)),
    "embedding": lambda: call(index(), x()),
    "embedding_bag": lambda: call(index(2, 2), x()),
    "conv1d": lambda: call(x(1, 2, 8), x(2, 2, 3)),
    "conv2d": lambda: call(x(1, 2, 8, 8), x(2, 2, 3, 3)),
    "conv3d": lambda: call(x(1, 2, 4, 4, 4), x(2, 2, 2, 2, 2)),
    "conv_transpose1d": lambda: call(x(1, 2, 8), x(2, 2, 3)),
    "conv_transpose2d": lambda: call(x(1, 2, 8, 8), x(2, 2, 3, 3)),
    "conv_transpose3d": lambda: call(x(1, 2, 4, 4, 4), x(2, 2, 2, 2, 2)),
    "layer_norm": lambda: call(x(), (3,)),
    "rms_norm": lambda: call(x(), (3,)),
    "group_norm": lambda: call(x(2, 4, 3), 2),
    "batch_norm": lambda: call(x(), plain(3), plain(3), training=True),
    "instance_norm": lambda: call(x(2, 3, 4)),
    "local_response_norm": lambda: call(x(1, 2, 4, 4), 2),
    "prelu": lambda: call(x(), x(1)),
    "glu": lambda: call(x(2, 4)),
    "gumbel_softmax": lambda: call(x()),
    "interpolate": lambda: call(x(1, 2, 4, 4), scale_factor=2),
    "upsample": lambda: call(x(1, 2, 4, 4), scale_factor=2),
    "grid_sample": lambda: call(x(1, 2, 4, 4), x(1, 3, 3, 2), align_corners=False),
    "affine_grid": lambda: call(x(1, 2, 3), (1, 2, 4, 4), align_corners=False),
    "pixel_shuffle": lambda: call(x(1, 4, 2, 2), 2),
    "pixel_unshuffle": lambda: call(x(1, 1, 4, 4), 2),
    "channel_shuffle": lambda: call(x(1, 4, 2, 2), 2),
    "fold": lambda: call(x(1, 4, 4), (3, 3), (2, 2)),
    "unfold": lambda: call(x(1, 1, 3, 3), (2, 2)),
    "cosine_embedding_loss": lambda: call(x(), x(), torch.ones(3)),
    "cross_entropy": lambda: call(x(), index(3)),
    "nll_loss": lambda: call(x(), index(3)),
    "ctc_loss": lambda: call(
        x(4, 2, 3).log_softmax(2), torch.ones(2, 2, dtype=torch.int64), torch.tensor([4, 4]), torch.tensor([2, 2])
    ),
    "gaussian_nll_loss": lambda: call(x(), plain(), x()),
    "hinge_embedding_loss": lambda: call(x(), torch.tensor([1.0, -1.0, 1.0]).expand(3, 3)),
    "margin_ranking_loss": lambda: call(x(), x(), torch.ones(3, 3)),
    "multi_margin_loss": lambda: call(x(), index(3)),
    "multilabel_margin_loss": lambda: call(x(), index(3, 3)),
    "soft_margin_loss": lambda: call(x(), torch.ones(3, 3)),
    "triplet_margin_loss": lambda: call(x(), x(), x()),
    "triplet_margin_with_distance_loss": lambda: call(x(), x(), x()),
    **{
        name: (lambda: call(x(), plain()))
        for name in (
            "mse_loss l1_loss smooth_l1_loss huber_loss kl_div poisson_nll_loss binary_cross_entropy "
            "binary_cross_entropy_with_logits multilabel_soft_margin_loss"
        ).split()
    },
    "scaled_dot_product_attention": lambda: call(x(1, 2, 3, 4), x(1, 2, 3, 4), x(1, 2, 3, 4)),
    "max_unpool1d": lambda: call(x(1, 1, 2), torch.tensor([[[0, 2]]]), 2),
    "max_unpool2d": lambda: call(x(1, 1, 2, 2), torch.tensor([[[[0, 2], [8, 10]]]]), 2),
    "max_unpool3d": lambda: call(x(1, 1, 1, 1, 2), torch.tensor([[[[[0, 2]]]]]), 2),
    "fractional_max_pool2d": lambda: call(x(1, 2, 6, 6), 2, output_size=3),
}
for _rank, _shape in ((1, (1, 2, 8)), (2, (1, 2, 8, 8)), (3, (1, 2, 4, 4, 4))):
    for _name in ("max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool"):
        _FUNCTIONAL[f"{_name}{_rank}d"] = lambda shape=_shape: call(x(*shape), 2)  # type: ignore[misc]
    _FUNCTIONAL[f"lp_pool{_rank}d"] = lambda shape=_shape: call(x(*shape), 2, 2)  # type: ignore[misc]

# What takes its first arguments differently in torch.nn.functional; dropout is the one that has a second face.
FUNCTIONAL: dict[str, dict[str, Recipe]] = {name: {"": recipe} for name, recipe in _FUNCTIONAL.items()}
FUNCTIONAL["dropout"] = {"": lambda: call(x(9, 9)), "p=0": lambda: call(x(9, 9), 0.0)}
FUNCTIONAL["alpha_dropout"] = FUNCTIONAL["feature_alpha_dropout"] = {"": lambda: call(x(9, 9))}
FUNCTIONAL["dropout1d"] = {"": lambda: call(x(2, 32, 3))}
FUNCTIONAL["dropout2d"] = {"": lambda: call(x(2, 16, 3, 3))}
FUNCTIONAL["dropout3d"] = {"": lambda: call(x(2, 16, 3, 3, 3))}
