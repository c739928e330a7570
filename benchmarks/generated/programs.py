"""One program per seed: scenes of training code one after the other, at times as functions."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.generated import carried, idioms, loops, players
from benchmarks.generated.writer import Script, block

FAMILIES: tuple[tuple[Callable[[Script], None], ...], ...] = (
    loops.SCENES,
    loops.SCENES,
    players.SCENES,
    carried.SCENES,
    carried.SCENES,
    idioms.SCENES,
)


def program(seed: int) -> str:
    """The text of the program with this seed; it runs on its own, in a fraction of a second, the same each time."""
    s = Script(seed)
    for _ in range(s.pick(1, 1, 1, 2)):
        scene = s.random.choice(s.random.choice(FAMILIES))
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
