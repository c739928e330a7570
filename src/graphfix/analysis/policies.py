"""Which way a run goes where the program does not say."""

from __future__ import annotations

import ast
import enum

from graphfix.interpreter.interning import Key, kind_of
from graphfix.interpreter.statements import is_raise
from graphfix.source.spelling import word
from graphfix.source.subtree import subtree

SAYS = frozenset(("print", "debug", "info", "warn", "warning", "error", "exception", "log", "write"))
ABRUPT = (ast.Return, ast.Break, ast.Continue)
# a branch, and whether its condition holds
Side = tuple[ast.AST, bool]


class PolicyKind(enum.Enum):
    """What a run does at branches that nothing decides."""

    USUAL = "the side that training usually takes"
    OTHER = "the other side"
    LATE = "the usual side from the second iteration on"
    EARLY = "the usual side in the first iteration only"


class Policy:
    """Answers undecided branches; `forced` goes first. Records what it was asked.

    `met`: whether a branch that policies answer differently was met in a loop's first iteration (False), in a later one (True).
    """

    def __init__(self, kind: PolicyKind, forced: dict[ast.AST, bool] | None = None) -> None:
        self.kind = kind
        self.forced = forced or {}
        self.asked: set[ast.AST] = set()
        self.met: set[bool] = set()

    def __call__(self, site: ast.AST, iteration: int, key: object = None, negated: bool = False) -> bool:
        """Whether the branch at `site` is taken; `key` is the question that it asks, `negated` where "no" takes it."""
        self.asked.add(site)
        if site in self.forced:
            return self.forced[site]
        if isinstance(key, Key) and kind_of(key) == "==" and key.parts[-1] is None:
            return negated  # what a caller may leave out is given
        usual = preferred(site)
        if isinstance(site, (ast.While, ast.Try)) or leaves(site):
            return usual
        self.met.add(iteration > 0)
        if self.kind is PolicyKind.USUAL:
            return usual
        if self.kind is PolicyKind.OTHER:
            return not usual
        return usual if (iteration > 0) is (self.kind is PolicyKind.LATE) else not usual


def repeats(kind: PolicyKind, earlier: dict[PolicyKind, Policy]) -> bool:
    """Whether a run under this policy would go the way of one that was made, as far as their branches tell."""
    usual, other = (earlier[each].met if each in earlier else {True, False} for each in (PolicyKind.USUAL, PolicyKind.OTHER))
    match kind:
        case PolicyKind.OTHER:
            return not usual
        case PolicyKind.LATE:
            return False not in usual or True not in other
        case _:
            return True not in usual or False not in other


def preferred(site: ast.AST) -> bool:
    """The side of a branch that training usually takes: not the one that leaves, no exception handler."""
    if isinstance(site, ast.If):
        return not leaves(site)
    return not isinstance(site, ast.Try)


def leaves(site: ast.AST) -> bool:
    return isinstance(site, ast.If) and is_abrupt(site.body[-1]) and not (site.orelse and is_abrupt(site.orelse[-1]))


def is_abrupt(statement: ast.stmt) -> bool:
    """Whether what follows the statement is not done."""
    return isinstance(statement, ABRUPT) or is_raise(statement)


def worth_taking(site: ast.AST, side: bool) -> bool:
    """A side of a branch that holds code."""
    if isinstance(site, ast.If):
        return bool(site.body if side else site.orelse)
    return True


def is_idle_exit(site: ast.AST, side: bool) -> bool:
    """Whether a side of a branch does nothing but leave, and gives nothing back: what follows is not done, and that is all."""
    code = side_of(site, side)
    return leaves(site) and all(
        is_raise(part)
        or isinstance(part, (ast.Break, ast.Continue, ast.Pass))
        or isinstance(part, ast.Return)
        and (part.value is None or isinstance(part.value, ast.Constant) and part.value.value is None)
        or isinstance(part, ast.Expr)
        and isinstance(part.value, ast.Call)
        and word(part.value.func) in SAYS
        for part in code
    )


def side_of(site: ast.AST, side: bool) -> list[ast.AST]:
    """The code that a side of a branch runs; of other questions than those of an `if`, all of it."""
    if isinstance(site, ast.IfExp):
        return [site.body if side else site.orelse]
    if isinstance(site, ast.If):
        return list(site.body if side else site.orelse)
    return [site]


def compatible(missing: list[Side]) -> list[Side]:
    """Those of the sides that one run can take: none that lies in the other side of another; of those that leave, one alone."""
    staying = [side for side in missing if not leaves(side[0])]
    if not staying:
        return missing[:1]
    chosen: list[Side] = []
    shut: set[ast.AST] = set()
    for site, side in staying:
        if site not in shut:
            chosen.append((site, side))
            shut.update(part for code in side_of(site, not side) if code is not site for part in subtree(code))
    return chosen
