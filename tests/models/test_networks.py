"""Networks that libraries build: what they give has a graph, unless somebody may have told their parameters to need none."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

LOOP = """
import torch, torchvision, timm, transformers, helper
from torch import nn
from torchvision import models
from torchvision.models import vgg19 as deep, segmentation

{setup}

def run(net, image, content):
    optimizer = torch.optim.Adam(net.parameters())
    {build}
    style = {part}(image)
    for step in range(100):
        loss = nn.functional.mse_loss({part}(net(content)), style)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def told(build: str, part: str = "vgg", setup: str = "") -> list[str]:
    text = LOOP.format(build=build.replace("\n", "\n    "), part=part, setup=setup)
    return [finding.code for finding in findings_of(Path("train.py"), text)]


@pytest.mark.parametrize(
    ("build", "part"),
    [
        ("vgg = models.vgg19(pretrained=True).eval()", "vgg"),
        ("vgg = torchvision.models.vgg19().to('cuda').features", "vgg"),
        ("vgg = deep()", "vgg.features[0]"),
        ("vgg = nn.Sequential(*list(models.vgg.vgg19().features.children())[:9])", "vgg"),
        ("vgg = models.VGG(helper.layers())", "vgg"),
        ("vgg = models.segmentation.fcn_resnet50().backbone", "vgg"),
        ("vgg = segmentation.fcn_resnet50().backbone", "vgg"),
        ("vgg = timm.create_model('resnet18')", "vgg"),
        ("vgg = transformers.AutoModel.from_pretrained('bert').embeddings", "vgg"),
        ("vgg = transformers.BertForMaskedLM(helper.settings).bert", "vgg"),
        ("vgg = models.vgg19()\nvgg.load_state_dict(torch.load('weights'))", "vgg"),
        ("vgg = models.vgg19()\nfor parameter in vgg.parameters():\n    parameter.requires_grad_(True)", "vgg"),
    ],
)
def test_what_a_network_gives_is_walked(build: str, part: str) -> None:
    assert told(build, part) == ["GF203"]


@pytest.mark.parametrize(
    ("build", "part"),
    [
        ("vgg = models.vgg19()\nfor p in vgg.parameters():\n    p.requires_grad = False", "vgg"),
        ("vgg = models.vgg19()\nfor p in vgg.features.parameters():\n    p.requires_grad = False", "vgg"),
        ("vgg = models.vgg19()\nfor p in vgg.parameters():\n    p.requires_grad = False", "vgg.features"),
        ("vgg = models.vgg19()\nfor name, p in vgg.named_parameters():\n    p.requires_grad_(False)", "vgg"),
        (
            "vgg = models.vgg19()\nfor child in vgg.children():\n    for p in child.parameters():\n        p.requires_grad = False",
            "vgg",
        ),
        ("vgg = models.vgg19().requires_grad_(False)", "vgg"),
        ("vgg = models.vgg19()\n[p.requires_grad_(False) for p in vgg.parameters()]", "vgg"),
        ("vgg = models.vgg19()\nhelper.freeze(vgg)", "vgg"),
        ("vgg = models.vgg19()\nhelper.freeze(vgg.features)", "vgg"),
        ("vgg = models.vgg19()\nvgg.apply(helper.freeze)", "vgg"),
        ("vgg = models.vgg19()\nvgg.freeze_encoder()", "vgg"),
        ("vgg = models.vgg19()", "vgg.features"),  # called on the spot, it may be a method
        ("vgg = helper.wrapped(models.vgg19())", "vgg"),
        ("vgg = models.quantization.resnet18()", "vgg"),
        ("vgg = models.feature_extraction.create_feature_extractor(helper.net, [])", "vgg"),
        ("vgg = models.VGG19_Weights()", "vgg"),
        ("vgg = transformers.AutoModel.from_pretrained('bert', load_in_8bit=True)", "vgg"),
        ("vgg = transformers.AutoTokenizer.from_pretrained('bert')", "vgg"),
    ],
)
def test_what_may_need_no_gradient_is_not(build: str, part: str) -> None:
    assert told(build, part) == []


@pytest.mark.parametrize(
    "setup",
    [
        "def freeze(net):\n    for p in net.parameters():\n        p.requires_grad = False",
        "def freeze(net, really):\n    for p in net.parameters():\n        p.requires_grad = not really",
        "class Net:\n    def freeze(self):\n        self.vgg.requires_grad_(False)",
        "def freeze(net):\n    [p.requires_grad_(False) for n, p in net.named_parameters() if 'fc' not in n]",
    ],
)
def test_what_the_file_may_freeze_in_code_that_no_run_comes_to_is_left_open(setup: str) -> None:
    assert told("vgg = models.vgg19()", setup=setup) == []
    assert told(
        "vgg = models.vgg19()",
        setup=setup.replace("= False", "= True").replace("(False)", "(True)").replace("= not really", "= True"),
    ) == ["GF203"]


@pytest.mark.parametrize("network", ["models.resnet18()", "timm.create_model('resnet18')", "torchvision.models.resnet18()"])
def test_a_total_of_losses_that_nobody_walks(network: str) -> None:
    """Nothing in the file walks, or makes a layer."""
    text = f"""
import timm, torchvision
from torch.nn import functional as F
from torchvision import models

def mean(loader):
    net, total = {network}, 0
    for x, y in loader:
        total += F.cross_entropy(net(x), y)
    return total.item() / len(loader)
"""
    assert [finding.code for finding in findings_of(Path("train.py"), text)] == ["GF101"]
