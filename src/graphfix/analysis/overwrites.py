"""Writes in place to tensors that a backward pass still needs, over all runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.runs import Run
from graphfix.autograd.backward import BackwardPass, Overwritten
from graphfix.autograd.graph import Node, Write
from graphfix.lazy_dataclass import dataclass


@dataclass(eq=False)
class Overwrite:
    """One place in the source that writes to saved tensors, over all runs."""

    write: Write
    walk: BackwardPass
    overwritten: Overwritten
    raising: set[Run] = field(default_factory=set)
    savers: list[Node] = field(default_factory=list)


def overwrites(evidence: Evidence) -> Iterator[Overwrite]:
    """The writes that make a backward pass raise."""
    faults: dict[ast.AST, Overwrite] = {}
    for run in evidence.tape.runs:
        for event in run.recording.walks:
            # torch raises at the first walk that meets one
            for overwritten in event.overwritten:
                write = overwritten.write
                if overwritten.certain and evidence.program.holds(write.site):
                    fault = faults.setdefault(write.site, Overwrite(write, event, overwritten))
                    fault.raising.add(run)
                    fault.savers.append(overwritten.node)
    for fault in faults.values():
        if not spared(evidence, fault):
            yield fault


def spared(evidence: Evidence, fault: Overwrite) -> bool:
    """Whether some run writes there, and later walks by the same call what saved the tensor, and nothing is amiss: code that works takes that way."""
    saver = fault.overwritten.node.site
    for run in evidence.tape.runs:
        written = [write.order for write in run.recording.writes if write.site is fault.write.site]
        for event in run.recording.walks if written and run not in fault.raising else ():
            if event.site is fault.walk.site and event.order > written[0]:
                if any(node.site is saver for node in event.below):
                    return True
    return False
