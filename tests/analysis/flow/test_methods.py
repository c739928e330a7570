"""What a method does with what it is given: by the class of its object, where that is known, and else by all that may have one."""

from __future__ import annotations

import ast
import textwrap

import pytest

from graphfix.analysis.flow.flow import flow_of
from graphfix.analysis.flow.places import Sink
from graphfix.effects.project_rows import adding
from graphfix.effects.schema import Returns, Row
from graphfix.source.document import Document

HEAD = """
import random
import matplotlib.pyplot as plt
import torch
from mylib import Meter
from torch.utils.tensorboard import SummaryWriter

value = make()
"""


def arrivals(use: str) -> set[Sink]:
    made = flow_of(Document("train.py", HEAD + textwrap.dedent(use)), lambda name, document: None)
    tree = next(iter(made.code.documents))
    names = (part for part in ast.walk(tree) if isinstance(part, ast.Name) and part.id == "value" and isinstance(part.ctx, ast.Load))
    return {arrival.sink for arrival in made.graph.reach([next(names)]).arrivals}


@pytest.mark.parametrize(
    "use",
    [
        "writer = SummaryWriter()\nwriter.add_scalar('loss', value)",
        "plt.figure().savefig(value)",
        "[].append(value)",
        "def log(book):\n    book.info(value)",
        "def log(book):\n    book.add_scalar('loss', value)",
        "value.mean().item()",
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--rate', type=value)",
        "random.Random(0).seed(value)",
    ],
)
def test_a_method_that_is_known_lets_go_of_what_it_is_given(use: str) -> None:
    assert arrivals(use) == set()


@pytest.mark.parametrize(
    "use",
    [
        "Meter().record(value)",
        "meter = Meter()\nmeter.update(value)",
        "meter = Meter()\nmeter.info(value)",
        "def log(figure):\n    figure.savefig(value)",  # it may be an object of any class, and no class of Python or torch has one
        "def log(book):\n    book.nothing_has_this(value)",
        "def train(vae):\n    vae.encode(value)",  # a text has one, which takes no tensor
        "def train(clock):\n    clock.record(value)",
        "SummaryWriter().add_graph(net, value)",
    ],
)
def test_a_method_of_which_nothing_is_known_may_keep_what_it_is_given(use: str) -> None:
    assert Sink.ESCAPES in arrivals(use)


def test_the_class_of_an_object_says_which_row_holds() -> None:
    drawn = "{made}\nfirst = chosen.sample([value], 1)[0]\nfirst.backward()"
    assert Sink.WALKED in arrivals(drawn.format(made="chosen = random.Random(0)"))
    assert Sink.WALKED not in arrivals(drawn.format(made="chosen = torch.distributions.Normal(0.0, 1.0)"))
    assert Sink.WALKED in arrivals(drawn.format(made="def chosen_by(chosen): pass").replace("chosen.sample", "net.sample"))


def test_a_row_of_the_project_holds_for_its_class() -> None:
    use = "meter = Meter()\nmeter.update(value)"
    with adding((Row("mylib.Meter.update", Returns.NUMBER, of_class="mylib.Meter"),)):
        assert arrivals(use) == set()
    assert Sink.ESCAPES in arrivals(use)


def test_an_object_of_one_library_has_the_methods_of_that() -> None:
    stepped = "import gymnasium\n{made}\nnext_state = env.step(value)\nnext_state.backward()"
    assert Sink.WALKED not in arrivals(stepped.format(made="env = gymnasium.make('CartPole-v1')"))
    assert Sink.WALKED in arrivals("import diffusers\nscheduler = diffusers.DDPMScheduler()\nscheduler.step(value).backward()")
