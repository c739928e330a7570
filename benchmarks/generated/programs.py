"""One program per seed: scenes of training code one after the other, at times as functions."""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import ModuleType

from benchmarks.generated import (
    accumulation,
    carried,
    containers,
    deferred,
    dropped,
    dtypes,
    freezing,
    guarded,
    idioms,
    loops,
    managers,
    modes,
    observers,
    players,
    results,
    rivals,
    specials,
    states,
    texts,
)
from benchmarks.generated.writer import Script, block

FAMILIES: tuple[ModuleType, ...] = (
    *(loops, loops, players, carried, carried, idioms),
    *(managers, containers, texts, dtypes, results, modes, guarded, states, accumulation, freezing, rivals),
    *(observers, specials, deferred, dropped),
)
NAMES = tuple(dict.fromkeys(family.__name__.rpartition(".")[2] for family in FAMILIES))


def program(seed: int, families: Collection[str] = NAMES) -> str:
    """The text of the program with this seed; it runs on its own, in a fraction of a second, the same each time."""
    s = Script(seed)
    among = [family for family in FAMILIES if family.__name__.rpartition(".")[2] in families]
    for _ in range(s.pick(1, 1, 1, 2)):
        scene = s.random.choice(s.random.choice(among).SCENES)
        if s.chance(0.75):
            scene(s)
        else:
            _in_function(s, scene)
    return s.text(seed)


def _in_function(s: Script, scene: Callable[[Script], None]) -> None:
    """The scene as a function of its own, which hands back its networks."""
    body, kept = s.body, s.kept
    s.body, s.kept = [], []
    scene(s)
    name = s.name(s.pick("train", "fit", "experiment"))
    s.define(*block(f"def {name}():", s.body, [f"return [{', '.join(s.kept)}]"]))
    made = s.name("trained")
    s.body, s.kept = [*body, f"{made} = {name}()"], [*kept, made]
