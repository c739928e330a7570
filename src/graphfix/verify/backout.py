"""Which fixes may stay: those with which a command runs, and computes what it computed before."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import field
from typing import Generic, TypeVar

from graphfix.lazy_dataclass import dataclass

Fix = TypeVar("Fix", bound=Hashable)


@dataclass
class Settled(Generic[Fix]):
    """Fixes that stay, in order, and those that were backed out, each with the reason."""

    kept: list[Fix] = field(default_factory=list)
    refused: list[tuple[Fix, str]] = field(default_factory=list)
    runs: int = 0


def settle(fixes: Sequence[Fix], prove: Callable[[Sequence[Fix]], str]) -> Settled[Fix]:
    """Find the largest set of `fixes` that stands, by halving.

    `prove` says what is wrong with a set, "" where nothing is. A fix is refused where it is the one that makes a set that stood
    fall: with `n` fixes and `k` bad ones, `prove` is asked about k log2(n) times.
    """
    settled: Settled[Fix] = Settled()
    _settle(list(fixes), settled, prove)
    return settled


def _settle(fixes: list[Fix], settled: Settled[Fix], prove: Callable[[Sequence[Fix]], str], known: str = "") -> None:
    """Settle `fixes` on top of those that are kept already; `known` is what is wrong with all of them together."""
    if not fixes:
        return
    settled.runs += not known
    reason = known or prove([*settled.kept, *fixes])
    if not reason:
        settled.kept += fixes
    elif len(fixes) == 1:
        settled.refused.append((fixes[0], reason))
    else:
        middle, refused = len(fixes) // 2, len(settled.refused)
        _settle(fixes[:middle], settled, prove)
        # where the first half stands, both halves together are the set that has just fallen
        _settle(fixes[middle:], settled, prove, reason if len(settled.refused) == refused else "")
