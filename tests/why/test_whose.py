"""Whose code a path is."""

from __future__ import annotations

import pytest

from graphfix.why.errors import Frame
from graphfix.why.whose import below, owner


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/home/ana/project/train.py", ""),
        ("train.py", ""),
        ("C:\\Users\\ana\\project\\train.py", ""),
        ("/home/ana/torch_tricks/train.py", ""),
        ("/home/ana/lib/python_tools/train.py", ""),
        ("~/work/lib/net.py", ""),
        ("/venv/lib/python3.11/site-packages/torch/_tensor.py", "torch"),
        ("/usr/lib/python3/dist-packages/numpy/core.py", "numpy"),
        ("C:\\Python311\\Lib\\site-packages\\lightning\\trainer.py", "lightning"),
        ("/venv/lib/python3.11/site-packages/six.py", "six"),
        ("/opt/pytorch/torch/nn/modules/module.py", "torch"),
        ("~/.../_tensor.py", "torch"),
        ("~/.../autograd/__init__.py", "torch"),
        ("/usr/lib/python3.11/runpy.py", "python"),
        ("C:\\Users\\ana\\AppData\\Local\\Programs\\Python\\Python311\\Lib\\runpy.py", "python"),
        ("<frozen runpy>", "python"),
        ("<string>", "python"),
        ("/venv/bin/torchrun", "python"),
    ],
)
def test_a_path_tells_whose_it_is(path: str, name: str) -> None:
    assert owner(Frame(path, 1)) == name


def test_a_cell_is_the_users() -> None:
    assert owner(Frame("", 1, cell=3)) == ""


def test_the_library_below_is_the_one_that_the_user_calls() -> None:
    frames = [Frame("train.py", 3), Frame("/x/site-packages/lightning/a.py", 5), Frame("/x/site-packages/torch/b.py", 7)]
    assert below(frames) == frames[1]
    assert below(frames[:1]) is None
    assert below(frames[1:]) is None
