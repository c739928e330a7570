"""How to build each layer and distribution of torch, and what to feed it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import distributions, nn
from torch_probe import Call, Trial
from torch_recipes import FUNCTIONAL, Recipe, call, index, mask, plain, spd, x

Build = Callable[..., nn.Module]

_IMAGES: dict[int, Recipe] = {
    1: lambda: call(x(2, 4, 8)),
    2: lambda: call(x(2, 4, 8, 8)),
    3: lambda: call(x(2, 4, 4, 4, 4)),
}

# name -> (constructor arguments, inputs); layers that are not named take nothing and a (3, 3) tensor.
LAYERS: dict[str, tuple[tuple[Any, ...], Recipe]] = {
    "Linear": ((3, 3), lambda: call(x())),
    "LazyLinear": ((3,), lambda: call(x())),
    "Bilinear": ((3, 3, 3), lambda: call(x(), x())),
    "Embedding": ((3, 3), lambda: call(index())),
    "EmbeddingBag": ((3, 3), lambda: call(index(2, 2))),
    "LayerNorm": ((3,), lambda: call(x())),
    "RMSNorm": ((3,), lambda: call(x())),
    "GroupNorm": ((2, 4), lambda: call(x(2, 4, 3))),
    "LocalResponseNorm": ((2,), lambda: call(x(2, 4, 8))),
    "CrossMapLRN2d": ((2,), lambda: call(x(2, 4, 8, 8))),
    "SyncBatchNorm": ((4,), _IMAGES[2]),
    "GLU": ((), lambda: call(x(3, 4))),
    "Softmax": ((1,), lambda: call(x())),
    "LogSoftmax": ((1,), lambda: call(x())),
    "Softmin": ((1,), lambda: call(x())),
    "Softmax2d": ((), _IMAGES[2]),
    "Threshold": ((0.5, 0.1), lambda: call(x())),
    "Dropout": ((), lambda: call(x(9, 9))),
    "AlphaDropout": ((), lambda: call(x(9, 9))),
    "FeatureAlphaDropout": ((), lambda: call(x(9, 9))),
    "Dropout1d": ((), lambda: call(x(2, 32, 3))),
    "Dropout2d": ((), lambda: call(x(2, 16, 3, 3))),
    "Dropout3d": ((), lambda: call(x(2, 16, 3, 3, 3))),
    "Flatten": ((), lambda: call(x(2, 3, 3))),
    "Unflatten": ((1, (2, 2)), lambda: call(x(3, 4))),
    "Fold": (((3, 3), (2, 2)), lambda: call(x(1, 4, 4))),
    "Unfold": (((2, 2),), lambda: call(x(1, 1, 3, 3))),
    "PixelShuffle": ((2,), _IMAGES[2]),
    "PixelUnshuffle": ((2,), _IMAGES[2]),
    "ChannelShuffle": ((2,), _IMAGES[2]),
    "Upsample": ((None, 2), _IMAGES[2]),
    "UpsamplingBilinear2d": ((None, 2), _IMAGES[2]),
    "UpsamplingNearest2d": ((None, 2), _IMAGES[2]),
    "FractionalMaxPool2d": ((2, 3), _IMAGES[2]),
    "FractionalMaxPool3d": ((2, 2), _IMAGES[3]),
    "MaxUnpool1d": ((2,), lambda: call(x(1, 1, 2), torch.tensor([[[0, 2]]]))),
    "CosineSimilarity": ((), lambda: call(x(), x())),
    "PairwiseDistance": ((), lambda: call(x(), x())),
    "RNN": ((3, 3), lambda: call(x(2, 2, 3))),
    "GRU": ((3, 3), lambda: call(x(2, 2, 3))),
    "LSTM": ((3, 3), lambda: call(x(2, 2, 3))),
    "RNNCell": ((3, 3), lambda: call(x())),
    "GRUCell": ((3, 3), lambda: call(x())),
    "LSTMCell": ((3, 3), lambda: call(x())),
    "MultiheadAttention": ((4, 2), lambda: call(x(3, 2, 4), x(3, 2, 4), x(3, 2, 4))),
    "TransformerEncoderLayer": ((4, 2, 8), lambda: call(x(3, 2, 4))),
    "TransformerDecoderLayer": ((4, 2, 8), lambda: call(x(3, 2, 4), x(3, 2, 4))),
    "TransformerEncoder": ((nn.TransformerEncoderLayer(4, 2, 8), 1), lambda: call(x(3, 2, 4))),
    "TransformerDecoder": ((nn.TransformerDecoderLayer(4, 2, 8), 1), lambda: call(x(3, 2, 4), x(3, 2, 4))),
    "Transformer": ((4, 2, 1, 1, 8), lambda: call(x(3, 2, 4), x(3, 2, 4))),
    "Sequential": ((nn.Linear(3, 3), nn.ReLU()), lambda: call(x())),
    "AdaptiveLogSoftmaxWithLoss": ((3, 4, [2]), lambda: call(x(), index(3))),
    "BCELoss": ((), FUNCTIONAL["binary_cross_entropy"][""]),
    "BCEWithLogitsLoss": ((), FUNCTIONAL["binary_cross_entropy_with_logits"][""]),
    "MultiLabelSoftMarginLoss": ((), FUNCTIONAL["multilabel_soft_margin_loss"][""]),
    "MultiLabelMarginLoss": ((), FUNCTIONAL["multilabel_margin_loss"][""]),
    "TripletMarginWithDistanceLoss": ((), FUNCTIONAL["triplet_margin_loss"][""]),
    "GaussianNLLLoss": ((), FUNCTIONAL["gaussian_nll_loss"][""]),
    "PoissonNLLLoss": ((), FUNCTIONAL["poisson_nll_loss"][""]),
    "NLLLoss2d": ((), lambda: call(x(1, 2, 3, 3), index(1, 3, 3))),
    **{
        name: ((), FUNCTIONAL[function][""])
        for name, function in {
            "MSELoss": "mse_loss",
            "L1Loss": "l1_loss",
            "SmoothL1Loss": "smooth_l1_loss",
            "HuberLoss": "huber_loss",
            "KLDivLoss": "kl_div",
            "CrossEntropyLoss": "cross_entropy",
            "NLLLoss": "nll_loss",
            "CTCLoss": "ctc_loss",
            "CosineEmbeddingLoss": "cosine_embedding_loss",
            "HingeEmbeddingLoss": "hinge_embedding_loss",
            "MarginRankingLoss": "margin_ranking_loss",
            "MultiMarginLoss": "multi_margin_loss",
            "SoftMarginLoss": "soft_margin_loss",
            "TripletMarginLoss": "triplet_margin_loss",
        }.items()
    },
}
for _rank, _image in _IMAGES.items():
    for _name in ("Conv", "ConvTranspose"):
        LAYERS[f"{_name}{_rank}d"] = ((4, 4, 3), _image)
        LAYERS[f"Lazy{_name}{_rank}d"] = ((4, 3), _image)
    for _name in ("BatchNorm", "InstanceNorm"):
        LAYERS[f"{_name}{_rank}d"] = ((4,), _image)
        LAYERS[f"Lazy{_name}{_rank}d"] = ((), _image)
    for _name in ("MaxPool", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool"):
        LAYERS[f"{_name}{_rank}d"] = ((2,), _image)
    for _name in ("ZeroPad", "ReflectionPad", "ReplicationPad", "CircularPad"):
        LAYERS[f"{_name}{_rank}d"] = ((1,), _image)
    LAYERS[f"ConstantPad{_rank}d"] = ((1, 0.0), _image)
    LAYERS[f"LPPool{_rank}d"] = ((2, 2), _image)

# Containers, and what is no layer or needs more than one process.
NOT_LAYERS = frozenset(
    "Buffer Container DataParallel Module ModuleDict ModuleList Parameter ParameterDict ParameterList RNNBase "
    "RNNCellBase UninitializedBuffer UninitializedParameter LinearCrossEntropyOptions".split()
)

_MODES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("reduction", {"reduction": "none"}),
    ("inplace", {"inplace": True}),
    ("return_indices", {"return_indices": True}),
    ("p=0", {"p": 0.0}),
    ("track_running_stats", {"track_running_stats": True}),
)


def layer_trials(name: str) -> dict[str, Trial]:
    arguments, inputs = LAYERS.get(name, ((), lambda: call(x())))
    build = getattr(nn, name)
    trials = {"": _layer_trial(build, arguments, {}, inputs), "eval": _layer_trial(build, arguments, {}, inputs, False)}
    for label, options in _MODES:
        trials[label] = _layer_trial(build, arguments, options, inputs)
    return trials


def _layer_trial(
    build: Build, arguments: tuple[Any, ...], options: dict[str, Any], inputs: Recipe, training: bool = True
) -> Trial:
    def trial() -> Call:
        layer = build(*arguments, **options).double().train(training)
        if isinstance(layer, nn.modules.lazy.LazyModuleMixin):
            layer(*[arg.detach() for arg in inputs()[0]])
        args, kwargs = inputs()
        return Call(layer, args, kwargs, tuple(layer.parameters()))

    return trial


DISTRIBUTIONS: dict[str, Recipe] = {
    "Bernoulli": lambda: call(x(3)),
    "Beta": lambda: call(x(3), x(3)),
    "Binomial": lambda: call(5, x(3)),
    "Categorical": lambda: call(x(3)),
    "Cauchy": lambda: call(x(3), x(3)),
    "Chi2": lambda: call(x(3)),
    "ContinuousBernoulli": lambda: call(x(3)),
    "Dirichlet": lambda: call(x(3)),
    "Exponential": lambda: call(x(3)),
    "FisherSnedecor": lambda: call(x(3), x(3)),
    "Gamma": lambda: call(x(3), x(3)),
    "Geometric": lambda: call(x(3)),
    "Gumbel": lambda: call(x(3), x(3)),
    "HalfCauchy": lambda: call(x(3)),
    "HalfNormal": lambda: call(x(3)),
    "Independent": lambda: call(distributions.Normal(x(3), x(3)), 1),
    "InverseGamma": lambda: call(x(3), x(3)),
    "Kumaraswamy": lambda: call(x(3), x(3)),
    "Laplace": lambda: call(x(3), x(3)),
    "LogNormal": lambda: call(x(3), x(3)),
    "LogisticNormal": lambda: call(x(3), x(3)),
    "LowRankMultivariateNormal": lambda: call(x(3), x(3, 2), x(3)),
    "MixtureSameFamily": lambda: call(distributions.Categorical(x(3)), distributions.Normal(x(3), x(3))),
    "Multinomial": lambda: call(4, x(3)),
    "MultivariateNormal": lambda: call(x(3), spd()),
    "NegativeBinomial": lambda: call(3, x(3)),
    "Normal": lambda: call(x(3), x(3)),
    "OneHotCategorical": lambda: call(x(3)),
    "OneHotCategoricalStraightThrough": lambda: call(x(3)),
    "Pareto": lambda: call(x(3), x(3)),
    "Poisson": lambda: call(x(3)),
    "RelaxedBernoulli": lambda: call(plain(1), x(3)),
    "RelaxedOneHotCategorical": lambda: call(plain(1), x(3)),
    "StudentT": lambda: call(x(3)),
    "TransformedDistribution": lambda: call(distributions.Normal(x(3), x(3)), [distributions.ExpTransform()]),
    "Uniform": lambda: call(x(3), (x(3) + 2)),
    "VonMises": lambda: call(x(3), x(3)),
    "Weibull": lambda: call(x(3), x(3)),
    "Wishart": lambda: call(torch.tensor(4.0, dtype=torch.float64), spd()),
}

DISTRIBUTION_METHODS = "sample rsample log_prob entropy cdf icdf mean variance stddev mode probs logits".split()


def make_distribution(name: str) -> distributions.Distribution:
    args, kwargs = DISTRIBUTIONS[name]()
    return getattr(distributions, name)(*args, validate_args=False, **kwargs)


def method_trial(name: str, method: str) -> Trial:
    """A method (or property) of a fresh distribution; `log_prob`, `cdf` get a value without graph."""

    def trial() -> Call:
        distribution = make_distribution(name)
        bound = getattr(type(distribution), method, None)
        if isinstance(bound, property) or not callable(getattr(distribution, method)):
            return Call(lambda: getattr(distribution, method))
        values = (distribution.sample(),) if method in ("log_prob", "cdf", "icdf") else ()
        return Call(getattr(distribution, method), values)

    return trial


__all__ = ["DISTRIBUTIONS", "DISTRIBUTION_METHODS", "LAYERS", "NOT_LAYERS", "layer_trials", "mask", "method_trial"]
