"""Why autograd refused a walk: the node that it came to, how it got there, and who had made and freed it."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from typing import Any

import torch

from ..births import KEY, birth_of
from ..saved import has_hooks, saved_names
from ..tensors import is_tensor, unseen
from .carriers import Held, held_in
from .lives import NEVER, Life, Place
from .writes import Writes

MOST = 200_000  # nodes
EXPECTED = re.compile(r"expected version (\d+)")
SECOND, IN_PLACE, NO_GRAPH, UNUSED, FROZEN, ONCE = "second", "inplace", "no-graph", "unused", "frozen", "once"


def kind_of(error: BaseException) -> str:
    """What kind of refusal an error is; empty for any other."""
    if type(error) is not RuntimeError:  # the text of another kind of error is the program's to make
        return ""
    text = str(error)
    if "second time" in text:
        return SECOND
    if "does not require grad and does not have a grad_fn" in text:
        return NO_GRAPH
    if "One of the differentiated Tensors does not require grad" in text:
        return FROZEN
    if "does not currently support double backward" in text:
        return ONCE
    if "appears to not have been used in the graph" in text:
        return UNUSED
    return IN_PLACE if "modified by an inplace operation" in text else ""


def explain(
    error: BaseException, roots: Iterable[Any], site: Place, number: int, frames: list[Any], writes: Writes
) -> dict[str, Any]:
    """What is known of a walk that raised: data for the report. `number`: of the walk, from 0."""
    told: dict[str, Any] = {"kind": kind_of(error), "message": str(error)[:2000], "now": place(site, number)}
    with unseen():
        if told["kind"] in (NO_GRAPH, UNUSED, FROZEN):
            return told
        if told["kind"] == ONCE:
            return told | _compiled(roots)
        starts = [node for root in roots if (node := _node(root)) is not None]
        above = reached(starts)
        hits = [node for node in above if _refuses(node, told["kind"]) and _is_older(node, told["kind"])]
        if not hits:
            return told
        # the engine runs the newest nodes first: https://pytorch.org/docs/stable/notes/autograd.html
        hit = max(hits, key=lambda node: node._sequence_nr())
        path = _path(hit, above)
        lives = [life for node in path if isinstance(life := node.metadata.get(KEY), Life)]
        life = hit.metadata.get(KEY)
        told["path"] = [place(each.site, each.step, each.kind) for each in lives]
        if not isinstance(life, Life):
            return told
        told["made"] = place(life.site, life.step, life.kind)
        if told["kind"] == SECOND:
            told.update(_carried(lives, frames))
        else:
            told.update(_written(error, life, frames, writes))
            told.update(_through(lives))
    return told


def _compiled(roots: Iterable[Any]) -> dict[str, Any]:
    """The line that took a gradient of compiled code with a graph: the nodes of such a gradient are named twice after their backward pass."""
    for node in reached([node for root in roots if (node := _node(root)) is not None]):
        life = node.metadata.get(KEY)
        if "Compiled" in type(node).__name__ and type(node).__name__.endswith("BackwardBackward") and isinstance(life, Life):
            return {"made": place(life.site, life.step, life.kind)}
    return {}


def _carried(lives: list[Life], frames: list[Any]) -> dict[str, Any]:
    """The walk that freed the graph, and the name through which it came to this one. `lives`: from the hit up to the root."""
    freed = lives[0].freed_by
    told: dict[str, Any] = {"freed_by": freed}
    for lower, upper in _edges(lives):
        if upper.step > freed >= lower.step and freed != NEVER:
            names = next((names for below, names in upper.old if below is lower), None)
            told["crossing"] = place(upper.site, upper.step, upper.kind)
            if names:
                told["carrier"] = names
            return told
    # nothing was made since: what both walks start from, or share, is still held
    known = {id(life) for life in lives if life.freed}
    held = held_in(frames, lambda tensor: id(birth_of(tensor)) in known)
    if held:
        last = max(lives.index(life) for life in lives if life.freed)
        top = [each for each in held if birth_of(each.tensor) is lives[last]]
        told["carrier"] = named((top or held)[0])
    return told


def _edges(lives: list[Life]) -> list[tuple[Life, Life]]:
    """What was made of what, the last first: a total is carried, not what was added to it."""
    return list(zip(lives, lives[1:]))[::-1]


def _through(lives: list[Life]) -> dict[str, Any]:
    """The name through which an older graph came into this one, if one did."""
    for lower, upper in _edges(lives):
        if upper.step > lower.step:
            names = next((names for below, names in upper.old if below is lower), None)
            return {"crossing": place(upper.site, upper.step, upper.kind), "through": names}
    return {}


def _written(error: BaseException, life: Life, frames: list[Any], writes: Writes) -> dict[str, Any]:
    """The write behind the operation's back, and the names of what was written to."""
    match = EXPECTED.search(str(error))
    found = writes.after(life, int(match[1]) if match else None)
    if found is None:
        return {}
    storage, where, name = found
    told: dict[str, Any] = {"write": {**place(where, NEVER), "name": name}}

    def lies_there(tensor: torch.Tensor) -> bool:
        return tensor.layout is torch.strided and tensor.untyped_storage().data_ptr() == storage

    held = held_in(frames, lies_there)
    if held:
        told["carrier"] = named(held[0])
    return told


def place(site: Place, step: int, kind: str = "") -> dict[str, Any]:
    told: dict[str, Any] = {"file": site.file, "line": site.line, "step": step}
    if kind:
        told["kind"] = kind
    if site.library is not None:
        told["library"] = list(site.library)
    if site.callers:
        told["callers"] = [list(caller) for caller in site.callers]
    return told


def named(held: Held) -> dict[str, Any]:
    return {"name": held.name, "base": held.base, "file": held.file, "function": held.function, "line": held.line}


def _node(root: Any) -> Any:
    return root.grad_fn if is_tensor(root) else getattr(root, "node", None)


def reached(starts: list[Any]) -> dict[Any, Any]:
    """All nodes below `starts`, each with the one above it on a shortest way."""
    above: dict[Any, Any] = dict.fromkeys(starts)
    pending = deque(starts)
    while pending and len(above) < MOST:
        node = pending.popleft()
        for child, _ in node.next_functions:
            if child is not None and child not in above:
                above[child] = node
                pending.append(child)
    return above


def _path(hit: Any, above: dict[Any, Any]) -> list[Any]:
    path = [hit]
    while above[path[-1]] is not None:
        path.append(above[path[-1]])
    return path


def _is_older(node: Any, kind: str) -> bool:
    """Whether a freed node was freed by an earlier walk, and not by the one that failed, on its way."""
    life = node.metadata.get(KEY)
    return kind != SECOND or not isinstance(life, Life) or life.freed


def _refuses(node: Any, kind: str) -> bool:
    """Whether a node's saved tensors cannot be had, for the reason of this kind of error."""
    word = "freed" if kind == SECOND else "inplace"
    for name in saved_names(type(node)):
        try:
            if not has_hooks(node, name):
                getattr(node, name)
        except RuntimeError as error:
            if word in str(error):
                return True
        except (AttributeError, NotImplementedError, TypeError):  # a property that knows no such tensor
            continue
    return False
