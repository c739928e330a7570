"""What a run repairs, rule by rule: steps that follow one another, each with the files before and after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from graphfix.lazy_dataclass import dataclass
from graphfix.run.outcome import Fixed, Outcome


@dataclass(frozen=True)
class Step:
    """The repairs of one rule, on top of the steps before: path, old and new bytes of each file, and what was fixed."""

    code: str
    name: str
    files: tuple[tuple[Path, bytes, bytes], ...]
    fixed: tuple[Fixed, ...] = ()


def steps(outcomes: Sequence[Outcome]) -> Iterator[Step]:
    """The steps that change anything, from outcomes with stages; what only a later pass can fix comes behind."""
    changed = [outcome for outcome in outcomes if outcome.changed]
    texts = {outcome.path: outcome.before for outcome in changed}
    stages = {(stage.number, stage.code, stage.name) for outcome in changed for stage in outcome.stages}
    # passes that only one rule goes on with are one step
    for (code, name), group in groupby(sorted(stages), lambda key: key[1:]):
        keys = set(group)
        files: list[tuple[Path, bytes, bytes]] = []
        fixed: list[Fixed] = []
        for outcome in changed:
            reached = [stage for stage in outcome.stages if (stage.number, stage.code, stage.name) in keys]
            fixed += [one for stage in reached for one in stage.fixed]
            if reached and reached[-1].after != texts[outcome.path]:
                files.append((outcome.path, texts[outcome.path], reached[-1].after))
                texts[outcome.path] = reached[-1].after
        if files:
            yield Step(code, name, tuple(files), tuple(fixed))
