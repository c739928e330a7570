"""Whether an entry can hold a fault: the summaries are put together as the entry runs, and asked."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.spike.analysis import Analysis, TooLong
from benchmarks.spike.domain import EMPTY, ON, Atom, State, Value
from benchmarks.spike.frames import Frame, Site
from benchmarks.spike.kinds import Kinds
from benchmarks.spike.sight import File, Files, Sight
from benchmarks.spike.summaries import left_by
from graphfix.ir import instructions as ir

OF_WALKS = ("freezes parameters", "a loss that is not reduced", "threads")  # these are faults only where something goes backward
LOOP = ast.Pass()  # whoever uses a class may call its method again


@dataclass
class Verdict:
    """What stands against an entry: each question with its places; `reach`: the code objects that it comes to."""

    name: str
    issues: dict[tuple[str, str], None] = field(default_factory=dict)
    reach: set[ast.AST] = field(default_factory=set)
    left: set[Atom] = field(default_factory=set)
    walks: bool = False

    def why(self, *, optional: bool) -> list[tuple[str, str]]:
        left = [issue for issue in self.issues if optional or not issue[0].startswith("optional")]
        return left if self.walks else [issue for issue in left if issue[0] not in OF_WALKS]


class Questions:
    """Asks the entries of one file."""

    def __init__(self, path: Path, roots: tuple[Path, ...], files: Files, entries: Iterable[str]) -> None:
        found = files.at(path)
        assert found is not None
        self.file: File = found
        self.sight = Sight(found, roots, files)
        self.kinds = Kinds(self.sight, [each for name in entries for each in self.demanded(name)])
        self.analysis = Analysis(self.kinds)

    def ask(self, name: str) -> Verdict:
        """`name`: as `baseline` has it."""
        verdict = Verdict(name)
        try:
            self.look_at(verdict)
        except TooLong:
            verdict.issues["larger than the budget", self.file.path.name] = None
        return verdict

    def look_at(self, verdict: Verdict) -> None:
        name = verdict.name
        kind = name.partition(" ")[0]
        if self.sight.missing:
            verdict.issues["files are missing", self.file.path.name] = None
        if kind == "module":
            frame = self.analysis.module(self.file.tree)
            self.leftovers(frame, frame.exits or frame.state, set(), verdict)
            verdict.issues.update(frame.issues)
            verdict.reach = self.reach(self.file.tree)
            return
        functions = self.found(name)
        if not functions:
            verdict.issues["entry not found", name] = None
        for cls, function in functions:
            self.run(function, cls, verdict)

    def demanded(self, name: str) -> Iterable[ast.AST]:
        """What an entry runs: the function, and how an object of its class, or of an heir, is made."""
        for cls, function in self.found(name):
            yield function
            if cls is not None:
                yield from (
                    n
                    for c in self.file.tree.body
                    if isinstance(c, ast.ClassDef)
                    for n in c.body
                    if getattr(n, "name", "") == "__init__"
                )

    def found(self, name: str) -> list[tuple[ast.ClassDef | None, ast.AST]]:
        """The functions of an entry, with the class that has it as a method."""
        kind, _, rest = name.partition(" ")
        cls = None
        if kind == "method":
            owner, _, rest = rest.rpartition(".")
            cls = next((n for n in self.file.tree.body if isinstance(n, ast.ClassDef) and n.name == owner), None)
            if cls is None:
                return []
        body = cls.body if cls is not None else self.file.tree.body
        return [(cls, n) for n in body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) and n.name == rest]

    def run(self, function: ast.AST, cls: ast.ClassDef | None, verdict: Verdict) -> None:
        """A function, or a method on a fresh object, with arguments of which nothing is known."""
        module = self.analysis.module(self.file.tree)
        frame = Frame(self.analysis, self.kinds.codes[self.file.tree], ON)
        base = (module.exits or module.state).copy()
        frame.state = State(base.env, base.heap)
        frame.traits, frame.made_of, frame.loops_of = dict(module.traits), dict(module.made_of), dict(module.loops_of)
        frame.block = frame.code.blocks[-1]
        verdict.reach |= self.reach(function)
        receiver: Value | None = None
        classes = [cls, *self.kinds.heirs.get(cls, [])] if cls is not None else [None]
        for number, each in enumerate(classes):
            if each is not None:
                atom: Atom = ("O", -1, number, None)
                receiver = frozenset((atom,))
                frame.loops_of[-1] = ()
                frame.state.heap[atom] = {}
                initialiser = self.kinds.find(each, "__init__")
                if initialiser is not None and initialiser is not function and initialiser in self.kinds.codes:
                    frame.at = Site(-2)
                    self.apply(frame, initialiser, receiver)
                    verdict.reach |= self.reach(initialiser)
            for _ in range(2):
                frame.at = Site(-3 - number)
                result = self.apply(frame, function, receiver)
                if self.evaluates(verdict.reach):
                    result = EMPTY  # what an evaluation records is for nobody, whoever gets its result
                held = set().union(*(frame.history(frame.carriers(result)), set())) if result else set()
                frame.state.open -= {atom for atom in held if atom[0] == "R" and not frame.traits[atom].again}
                if each is None:
                    break
                for where, fields in frame.state.heap.items():
                    for name, value in fields.items():
                        if where[0] == "O" and where[1] == -1:
                            self.carried(frame, value, where, name, verdict)
                frame.loops_of[-3 - number] = (LOOP,)
                frame.state = frame.aged(frame.state, LOOP)
            self.leftovers(frame, frame.state, set(), verdict)
        verdict.issues.update(frame.issues)

    def carried(self, frame: Frame, value: Value, where: Atom, name: str, verdict: Verdict) -> None:
        new = [a for a in frame.carriers(value) if a[0] == "R" and a[3] is None and a[1] <= -3]
        if new and name.startswith("[") and any(a in frame.state.freed for a in frame.history(new)):
            verdict.issues["keeps what was freed", f"{self.file.path.name} {name}"] = None

    def apply(self, frame: Frame, function: ast.AST, receiver: Value | None) -> Value:
        code = self.kinds.codes[function]
        binding = {variable: frozenset((("X", variable.name),)) for variable in code.signature}
        if receiver is not None and list(code.signature):
            binding[next(iter(code.signature))] = receiver
        frame.loops_of.setdefault(frame.at.result, ())
        return frame.apply(function, binding, EMPTY)

    def leftovers(self, frame: Frame, state: State, held: set[Atom], verdict: Verdict) -> None:
        """Forward passes for which no backward pass comes."""
        verdict.left |= left_by(frame, state, held) | state.left
        if state.stepped:
            frame.issue("trains what nothing steps")
            verdict.issues.update(frame.issues)
        verdict.walks |= any(name == "walks" for name in frame.marks)
        self.judge(verdict)

    def judge(self, verdict: Verdict) -> None:
        for atom in verdict.left:
            if atom[0] == "M" or atom[0] == "L" or atom[0] == "m" and atom[2] in self.analysis.trained:
                verdict.issues[
                    "a forward pass without a backward", f"{self.file.path.name} {atom[-1] if atom[0] == 'm' else describe(atom)}"
                ] = None

    def again(self, verdict: Verdict) -> None:
        """Once all entries have been asked: what one has walked is known to be trained in the others."""
        self.judge(verdict)

    def evaluates(self, reach: set[ast.AST]) -> bool:
        """Whether something is set to evaluation there."""
        codes = [self.kinds.codes[node] for node in reach if node in self.kinds.codes]
        return any(isinstance(each, ir.ReadAttribute) and each.name == "eval" for code in codes for each in code.instructions())

    def reach(self, function: ast.AST) -> set[ast.AST]:
        """The code objects that one comes to."""
        callees: dict[ast.AST, list[ast.AST]] = {}
        for callee, callers in self.kinds.callers.items():
            for caller in callers:
                callees.setdefault(caller, []).append(callee)
        found: set[ast.AST] = set()
        pending = [function]
        while pending:
            each = pending.pop()
            if each not in found:
                found.add(each)
                pending += callees.get(each, ())
        return found


def describe(atom: Atom) -> str:
    words = []
    while isinstance(atom, tuple) and len(atom) > 1:
        if atom[0] == "F":
            words.append(str(atom[2]))
        elif atom[0] in "XL":
            words.append(str(atom[1]))
        elif atom[0] in "PG":
            words.append(getattr(atom[1], "name", ""))
        atom = atom[1]
    return ".".join(reversed(words))
