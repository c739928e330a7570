"""Functions of libraries that build a network, all of whose parameters need a gradient.

https://docs.pytorch.org/vision/stable/models.html, https://huggingface.co/docs/timm/reference/models,
https://huggingface.co/docs/transformers/main_classes/model
"""

from __future__ import annotations

import ast
import re

from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.networks import note_network
from graphfix.interpreter.values import Arguments, Keywords, Unknown, Value

# other names of these modules take a network, tell of one, or build one that is quantized
BUILDERS = re.compile(
    r"torchvision\.models\.(?:(?!feature_extraction|quantization|_)\w+\.)?(?!get_model_|get_weight|list_|_)\w+(?<!Weights)"
    r"|timm\.(?:models\.)?(?:factory\.)?create_model"
    r"|transformers\.(?:models\.(?:\w+\.)+)?\w*(?:Model|For[A-Z]\w*)(?:\.from_(?:pretrained|config))?"
)
# https://huggingface.co/docs/transformers/main_classes/quantization: what is stored in few bits is not trained
QUANTIZED = re.compile(r"quantiz|load_in_")


def built_network(m: Interpreter, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value | None:
    """The network that a library's function of this name builds; None where it builds none."""
    if not BUILDERS.fullmatch(name) or any(QUANTIZED.search(each) for each in keywords):
        return None
    made = Unknown(("network", site, m.now()))
    note_network(m, made)
    return made
