"""Detaching a state behind the backward pass that frees its graph: for a loop that is a comprehension, or out of sight."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.second_backward import Cause, SecondBackward
from graphfix.interpreter.frames import Env, Frame
from graphfix.interpreter.values import Instance, Value
from graphfix.model import Ground, InsertAfter
from graphfix.repair.candidate import Candidate, Effect
from graphfix.repair.shapes import detached
from graphfix.repair.witness import Witness
from graphfix.source.quote import short

LOOPS = (ast.For, ast.AsyncFor, ast.While)
DOUBT = "code that follows may use the graph that `{}` has by then"


def behind_walk(evidence: Evidence, witness: Witness) -> Iterator[Candidate]:
    """What brings the old graph into the next iteration, detached right behind the backward pass that has freed it."""
    shown, program = witness.shown, evidence.program
    in_sight = isinstance(witness.loop, LOOPS) and program.holds(witness.loop)
    if not isinstance(shown, SecondBackward) or shown.cause is not Cause.CARRIED or in_sight:
        return
    around = witness.frame if isinstance(witness.frame, Frame) else None
    frame, statement = shown.freed_by.trace[-1] if shown.freed_by.trace else (None, None)
    if frame is None or statement is None or not program.holds(statement):
        return
    for carrier in shown.carriers:
        text, value = in_frame(carrier, around, frame)
        made = detached(value, text) if value is not None else None
        if made not in (None, text):
            edit = InsertAfter(program.span(statement), f"{text} = {made}")
            yield Candidate(Effect.CUT, f"detach `{short(text, 30)}` behind the backward()", (edit,), Ground.FREED, DOUBT.format(short(text, 20)))


def in_frame(carrier: str, around: Frame | None, frame: Frame) -> tuple[str, Value | None]:
    """How a call names the attribute that another one names `carrier`, and what it holds at the end; None where it has no way to it."""
    name, *attributes = carrier.split(".")
    value = held_by(around, name) if around is not None else None
    objects: list[Value | None] = [value]
    for attribute in attributes:
        value = value.attributes.get(attribute) if isinstance(value, Instance) else None
        objects.append(value)
    if value is None or not attributes:
        return "", None
    for depth in range(len(objects) - 2, -1, -1):
        variable = next((each for each, held in frame.env.variables.items() if held is objects[depth]), None)
        if variable is not None:
            return ".".join([variable, *attributes[depth:]]), value
    return "", None


def held_by(frame: Frame, name: str) -> Value | None:
    """What a name stands for in a call: a variable of its own, or of the code around."""
    env: Env | None = frame.env
    while env is not None:
        if name in env.variables:
            return env.variables[name]
        env = env.parent
    return None
