"""One code object, interpreted over sets of atoms until nothing changes; its summary, and that of what it calls put into its frame."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from benchmarks.spike import library, steps
from benchmarks.spike.analysis import Analysis
from benchmarks.spike.domain import (
    CARRIERS,
    EMPTY,
    OFF,
    OLD_DATA,
    Atom,
    State,
    Summary,
    Value,
    before,
    below,
    field_of,
)
from benchmarks.spike.kinds import Kind, bound
from graphfix.dataflow.liveness import Liveness
from graphfix.dataflow.ways import Ways
from graphfix.ir import instructions as ir
from graphfix.ir.blocks import Block, Code
from graphfix.ir.variables import Home, Variable

STEPPED = ("stepped",)
MOST_GROUPS = 12  # recordings, and objects, that a summary tells apart
MOST_VISITS = 40  # of one block
MOST_CALLEES = 4  # of one call
NOT_CARRYING = frozenset(("code", "class", "library", "file", "bound"))


@dataclass(frozen=True, slots=True)
class Site:
    """Stands for the call by which an entry is run."""

    result: int
    node: ast.AST = field(default_factory=lambda: ast.Pass(lineno=0))


def young(atom: Atom) -> Atom:
    """An atom whatever the iteration that it was made in: an optimizer holds what was there when it was made."""
    if atom[0] in "OR":
        return (*atom[:3], None)
    return (atom[0], young(atom[1]), *atom[2:]) if atom[0] in "FMm" else atom


class Frame:
    """The interpretation of one code object. `mode`: whether operations are recorded at its entry."""

    def __init__(self, analysis: Analysis, code: Code, mode: int) -> None:
        self.analysis = analysis
        self.kinds = analysis.kinds
        self.code = code
        self.file = self.kinds.file_of[code.node]
        self.mode = mode
        self.values: dict[int, Value] = {}
        self.made_of: dict[Atom, set[Atom]] = {}
        self.traits: dict[Atom, library.Traits] = {}
        self.exits: State | None = None
        self.result: Value = EMPTY
        self.walked: set[Atom] = set()
        self.twice: set[Atom] = set()
        self.late: set[Atom] = set()
        self.stepped: set[Atom] = set()
        self.written: set[Atom] = set()
        self.issues: dict[tuple[str, str], None] = {}
        self.marks: set[str] = set()
        self.direct_sites: set[Any] = set()  # of calls of any module
        self.module_sites: set[Any] = set()  # of calls of modules of the program
        self.block: Block = code.entry
        self.state = State()
        self.loops_of: dict[Any, tuple[ast.AST, ...]] = {}
        self.at: ir.Instruction | Site = code.entry.instructions[0]

    # -- to its end

    def run(self) -> None:
        begin = State(mode=self.mode)
        for each in self.code.instructions():
            if (
                isinstance(each, ir.WriteName)
                and each.variable.owner is not self.code.node
                and each.variable.home is not Home.CLASS
            ):
                variable = self.variable(each.variable)
                begin.env[variable] = frozenset((("G", variable),))
        entering: dict[Block, State] = {self.code.entry: begin}
        order = {block: number for number, block in enumerate(self.code.blocks)}
        pending = {self.code.entry}
        visits: dict[Block, int] = {}
        while pending:
            block = min(pending, key=order.__getitem__)
            pending.discard(block)
            visits[block] = visits.get(block, 0) + 1
            if visits[block] > MOST_VISITS:
                self.issue("did not come to rest")
                break
            self.block, self.state = block, entering[block].copy()
            self.analysis.spend(len(block.instructions) + len(self.state.heap))
            for each in block.instructions:
                self.at = each
                step = steps.STEPS.get(type(each))
                if step is not None:
                    step(self, each)
            last = block.instructions[-1]
            if isinstance(last, ir.Return):
                self.leave()
                continue
            for target in block.successors:
                self.go(block, target, self.state, entering, pending)
            if block.handler is not None:
                self.go(block, block.handler, entering[block], entering, pending)
                self.go(block, block.handler, self.state, entering, pending)

    def leave(self) -> None:
        self.result |= self.values.get(self.at.value, EMPTY)  # type: ignore[attr-defined]
        if self.exits is None:
            self.exits = self.state.copy()
        else:
            self.exits.join(self.state)

    def go(self, block: Block, target: Block, state: State, entering: dict[Block, State], pending: set[Block]) -> None:
        if target.loop is not None and target.loop in block.loops:
            self.carry(target, state)
            state = self.aged(state, target.loop)
        known = entering.get(target)
        if known is None:
            known = entering[target] = state.copy()
            pending.add(target)
        elif known.join(state):
            pending.add(target)
        if target.loop is not None:
            live = self.live(target)
            for variable in [v for v in known.env if isinstance(v, Variable) and v.owner is self.code.node and v not in live]:
                if variable not in self.analysis.read_elsewhere:
                    del known.env[variable]

    # -- loops

    @cached_property
    def liveness(self) -> Liveness:
        return Liveness(Ways(self.code))

    def live(self, block: Block) -> set[Variable]:
        known = self.solution_at.get(block)
        if known is None:
            bits = self.liveness.bits
            state = self.liveness.solution.before(block.instructions[0])
            known = self.solution_at[block] = {variable for variable, bit in bits.items() if state & bit}
        return known

    @cached_property
    def solution_at(self) -> dict[Block, set[Variable]]:
        return {}

    def carry(self, header: Block, state: State) -> None:
        """What an iteration hands to the next one must not be freed."""
        loop = header.loop
        inside = [block for block in header.successors if loop in block.loops] or [header]
        live = set().union(*(self.live(block) for block in inside))
        for variable, value in state.env.items():
            if variable in live or variable in self.analysis.read_elsewhere:
                self.check_carried(value, state, loop, f"{getattr(variable, 'name', variable)}", variable)
        for atom, fields in state.heap.items():
            if atom[0] != "O" or loop not in self.loops_of.get(atom[1], ()):
                for name, value in fields.items():
                    if (atom, name) not in self.computed:
                        self.check_carried(value, state, loop, name)

    def check_carried(self, value: Value, state: State, loop: ast.AST | None, name: str, variable: Any = None) -> None:
        """`variable`: what it computes anew is kept until it does so again, unless that grows."""
        new = [a for a in self.carriers(value, state) if a[0] == "R" and a[3] is None and loop in self.loops_of.get(a[1], ())]
        below_it = self.history(new) if new else set()
        grows = any(a[0] == "R" and a[3] is not None and loop in self.loops_of.get(a[1], ()) for a in below_it)
        if not self.leads_to_freed(new, state):
            if grows or variable is None and name.startswith("["):
                state.kept.update(new)
            return
        if variable is None or grows or any((variable, a[1]) in self.copied for a in new):
            self.issue("keeps what was freed", name)

    def leads_to_freed(self, atoms: Iterable[Atom], state: State) -> bool:
        """Whether what was freed is part of these graphs; what code out of sight gives is one only if it was walked itself."""
        seen: set[Atom] = set()
        pending = list(atoms)
        while pending:
            atom = pending.pop()
            if atom[0] == "R" and atom not in seen:
                seen.add(atom)
                if atom in state.freed:
                    return True
                if not self.traits[atom].unknown:
                    pending.extend(self.made_of.get(atom, ()))
        return False

    @cached_property
    def walking_loops(self) -> set[ast.AST]:
        """The loops in which a backward pass is spelled."""
        return {
            loop
            for block in self.code.blocks
            for loop in block.loops
            if any(isinstance(each, ir.ReadAttribute) and each.name == "backward" for each in block.instructions)
        }

    @cached_property
    def copied(self) -> set[tuple[Any, Any]]:
        """The variables, with the places of recordings, that got them by a statement that does not compute them."""
        return set()

    @cached_property
    def computed(self) -> set[tuple[Atom, str]]:
        """The attributes that were written by the statement that computes their value: one graph is kept, until it is computed anew."""
        return set()

    def aged(self, state: State, loop: ast.AST) -> State:
        """A state as the next iteration of a loop sees it."""
        memo: dict[Atom, Atom] = {}
        order = {each: number for number, each in enumerate(self.block.loops)}

        def old(atom: Atom) -> Atom:
            known = memo.get(atom)
            if known is None:
                what = atom[0]
                if what in "RO":
                    inside = loop in self.loops_of.get(atom[1], ())
                    known = (
                        (what, atom[1], atom[2], loop)
                        if inside and (atom[3] is None or order.get(atom[3], 99) >= order.get(loop, 99))
                        else atom
                    )
                elif what == "F":
                    known = ("F", old(atom[1]), atom[2])
                elif what == "M":
                    known = ("M", old(atom[1]))
                elif what == "m":
                    known = ("m", old(atom[1]), atom[2])
                else:
                    known = atom
                memo[atom] = known
                if known is not atom and what == "R":
                    memo[known] = known
                    self.traits.setdefault(known, self.traits.setdefault(atom, library.UNKNOWN))
                    self.made_of.setdefault(known, set()).update(map(old, list(self.made_of.get(atom, ()))))
            return known

        aged = State(mode=state.mode, modes=dict(state.modes))
        values: dict[Value, Value] = {}

        def renamed(value: Value) -> Value:
            known = values.get(value)
            if known is None:
                known = values[value] = frozenset(map(old, value)) if value else value
            return known

        aged.env = {variable: renamed(value) for variable, value in state.env.items()}
        for atom, fields in state.heap.items():
            target = aged.heap.setdefault(old(atom), {})
            for name, value in fields.items():
                target[name] = target.get(name, EMPTY) | renamed(value)
        aged.open, aged.freed = set(map(old, state.open)), set(map(old, state.freed))
        aged.stale, aged.dirty = set(map(old, state.stale)), set(map(old, state.dirty))
        aged.left, aged.kept = set(map(old, state.left)), set(map(old, state.kept))
        aged.pending = {frozenset(map(old, each)) for each in state.pending}
        aged.stepped = {frozenset(map(old, each)) for each in state.stepped}
        return aged

    # -- values

    def variable(self, variable: Variable) -> Variable:
        if variable.home is Home.GLOBAL:
            return self.kinds.sight.owner(variable, self.file)[1]
        return variable

    def is_bound(self, variable: Variable) -> bool:
        owner, found = self.kinds.sight.owner(variable, self.file)
        return (
            owner.binds(found.name)
            or hasattr(builtins, found.name)
            or found.name.startswith("__")
            or bool(owner.star_libraries)
            or bool(self.file.star_libraries)
        )

    def kinds_of(self, value: int) -> list[Kind]:
        return self.kinds.of(self.code, value)

    def value(self, number: int) -> Value:
        return self.values.get(number, EMPTY)

    def carriers(self, value: Iterable[Atom], state: State | None = None) -> set[Atom]:
        """What of a value, and of what it contains, may bring a graph."""
        state = state or self.state
        found: set[Atom] = set()
        seen: set[Atom] = set()
        pending = list(value)
        while pending:
            atom = pending.pop()
            if atom in seen:
                continue
            seen.add(atom)
            if atom[0] in CARRIERS:
                found.add(atom)
            if atom[0] in "OPGF":
                for name, inner in state.heap.get(atom, {}).items():
                    if atom[0] == "O" or name.startswith("["):
                        pending.extend(inner)
        self.analysis.spend(len(seen))
        return found

    def history(self, atoms: Iterable[Atom]) -> set[Atom]:
        """All that a graph was made of."""
        found: set[Atom] = set()
        pending = list(atoms)
        while pending:
            atom = pending.pop()
            if atom not in found:
                found.add(atom)
                if atom[0] == "R":
                    pending.extend(self.made_of.get(atom, ()))
        self.analysis.spend(len(found))
        return found

    def contents(self, value: Iterable[Atom]) -> Value:
        """What an item of a value may be."""
        found: set[Atom] = set()
        for atom in value:
            fields = self.state.heap.get(atom, {})
            for name, inner in fields.items():
                if name.startswith("[") or name == "*":
                    found |= inner
            if atom[0] != "O":
                found.add(field_of(atom, "[]") if atom[0] in "PGF" else atom)
        return frozenset(found)

    def read_field(self, value: Iterable[Atom], name: str, state: State | None = None) -> Value:
        state = state or self.state
        found: set[Atom] = set()
        for atom in value:
            fields = state.heap.get(atom, {})
            known = fields.get(name)
            if known is not None:
                found |= known
                if name.startswith("[") and atom[0] in "PGF":
                    found.add(field_of(atom, name))
            elif atom[0] == "O":
                found |= fields.get("*", EMPTY)
                if name == "[]":
                    found |= (
                        self.contents((atom,))
                        if state is self.state
                        else frozenset(a for n, v in fields.items() if n[0] == "[" for a in v)
                    )
            else:
                found.add(field_of(atom, name) if atom[0] in "PGF" else atom)
        return frozenset(found)

    def write_field(self, value: Value, name: str, written: Value) -> None:
        strong = (
            len(value) == 1 and not name.startswith("[") and all(a[0] in "PGF" or a[0] == "O" and a[3] is None for a in value)
        )
        for atom in value:
            if atom[0] in "OPGF":
                fields = self.state.heap.setdefault(atom, {})
                fields[name] = written if strong else before(fields, atom, name) | written
        if not value and any(a[0] == "R" and self.is_sure(a) for a in self.carriers(written)):
            self.issue("writes into what is not followed")

    def object(self, number: int = 0, **fields: Value) -> Atom:
        """A fresh object of the instruction that runs."""
        site = self.at.result
        self.loops_of[site] = self.block.loops
        atom = ("O", site, number, None)
        self.state.heap[atom] = dict(fields)
        return atom

    def record(
        self, operands: Iterable[Atom], traits: library.Traits = library.PLAIN, number: int = 0, more: Value = EMPTY
    ) -> Value:
        """A fresh recording of these operands, if any of them may bring a graph."""
        if self.state.mode == OFF:
            return EMPTY
        given = self.carriers(operands) | more
        if given:
            given |= {a for a in operands if a[0] == "O"}
        taint = frozenset((OLD_DATA,)) if OLD_DATA in operands else EMPTY  # type: ignore[operator]
        if not given:
            return taint
        site = self.at.result
        self.loops_of[site] = self.block.loops
        atom = ("R", site, number, None)
        self.made_of.setdefault(atom, set()).update(given)
        self.traits[atom] = self.traits[atom].join(traits) if atom in self.traits else traits
        state = self.state
        state.freed.discard(atom)
        state.stale.discard(atom)
        state.dirty.discard(atom)
        state.open.add(atom)
        return frozenset((atom,)) | taint

    def issue(self, question: str, detail: str = "") -> None:
        line = getattr(self.at.node, "lineno", 0)
        self.issues[question, f"{self.file.path.name}:{line} {detail}".strip()] = None

    # -- what happens to graphs

    def walk(self, value: Iterable[Atom], is_root: bool = True, *, retains: bool = False) -> None:
        """A backward pass. `retains`: what it goes through can be walked again."""
        roots = self.carriers(value)
        found = self.history(roots)
        self.marks.add("walks")
        state = self.state
        if is_root:
            found = self.surely(found)
        if is_root and not any(a[0] in "RPGFXLMm" for a in roots):
            self.issue("backward without a graph")
        if is_root and state.mode == OFF:
            self.issue("backward without a graph", "under no_grad")
        for atom in found:
            what = atom[0]
            if what == "R":
                if atom in state.freed:
                    self.issue("two backwards over one graph")
                if atom in state.stale:
                    self.issue("a step between a graph and its backward")
                if atom in state.dirty:
                    self.issue("written in place before a backward")
            elif what in "PGF":
                if atom in state.freed:
                    self.twice.add(atom)
                self.walked.add(atom)
                if STEPPED in state.env:
                    self.late.add(atom)
            elif what == "m":
                self.analysis.trained.add(atom[2])
        if not retains:
            state.freed |= {atom for atom in found if atom[0] in "RPGF"}
        state.open -= found
        self.reach(found)

    def is_sure(self, atom: Atom) -> bool:
        """Whether something that is surely trained is part of a graph."""
        return any(a[0] == "M" for a in self.history((atom,)))

    def surely(self, found: set[Atom]) -> set[Atom]:
        """Where a graph has parts that surely are, those that code out of sight gave are taken for numbers."""
        if not any(a[0] == "M" for a in found):
            return found
        used: dict[Atom, list[Atom]] = {}
        for atom in found:
            for part in self.made_of.get(atom, ()) if atom[0] == "R" else ():
                used.setdefault(part, []).append(atom)
        sure: set[Atom] = set()
        pending = [a for a in found if a[0] in "MPGF"]
        while pending:
            atom = pending.pop()
            if atom not in sure:
                sure.add(atom)
                pending += used.get(atom, ())
        return sure

    def reach(self, found: set[Atom]) -> None:
        """The modules that a backward pass has come to: a step is to change each of them, or what was computed before it."""
        state = self.state
        if state.stepped:
            self.issue("trains what nothing steps")
        state.pending = state.pending - state.stepped
        state.stepped = set()
        for atom in found:
            if atom[0] == "R" and self.traits[atom].called and any(a[0] in "M" for a in self.made_of.get(atom, ())):
                state.pending.add(frozenset(a for a in self.history((atom,)) if a[0] in "Mm"))

    def pass_over(self, stepped: set[Atom], *, everything: bool) -> None:
        """A step has changed these."""
        state = self.state
        if any(a[0] in "PGF" for a in stepped):
            return  # it is for who calls this to say what is stepped
        left = (
            set()
            if everything
            else {e for e in state.pending if not any(a[0] == "M" and self.is_under(a[1], stepped) for a in e)}
        )
        state.pending = state.stepped = left

    def step(self, value: Value) -> None:
        """An optimizer steps: what it steps, and what of it was saved."""
        stepped = {a for a in self.carriers(value) if a[0] in "MmXPGF"}
        self.marks.add("steps")
        self.state.env[STEPPED] = EMPTY
        everything = not stepped or any(a[0] != "M" for a in stepped)
        self.stepped |= stepped
        stepped = self.widened(stepped)
        self.pass_over(stepped, everything=everything)
        stale = [a for a in self.state.open if a not in self.state.stale]
        for atom in stale:
            below_it = self.history((atom,))
            if any(a[0] == "M" and (everything or self.is_under(a[1], stepped)) for a in below_it):
                self.state.stale.add(atom)

    def is_under(self, atom: Atom, stepped: set[Atom]) -> bool:
        return any(("M", young(each)) in stepped for each in below(atom)) or atom[0] == "X"

    def widened(self, stepped: set[Atom]) -> set[Atom]:
        """The parameters of modules, with those of the modules in them."""
        pending = [a[1] for a in stepped if a[0] == "M"]
        seen: set[Atom] = set()
        aged: dict[Atom, list[Atom]] = {}
        for atom in self.state.heap:
            aged.setdefault(young(atom), []).append(atom)
        while pending:
            atom = young(pending.pop())
            if atom not in seen:
                seen.add(atom)
                for each in aged.get(atom, ()):
                    for value in self.state.heap[each].values():
                        pending.extend(a if a[0] not in "Mm" else a[1] for a in value)
        return {("M", atom) for atom in seen} | {a for a in stepped if a[0] != "M"}

    def write(self, value: Value) -> None:
        """The content of a tensor is written in place."""
        atoms = {a for a in value if a[0] in CARRIERS or a[0] == "O"}
        pending = [a for a in atoms if a[0] == "R"]
        while pending:
            atom = pending.pop()
            if self.traits[atom].view:
                under = {a for a in self.made_of.get(atom, ()) if a[0] in "RO" and a not in atoms}
                atoms |= under
                pending += [a for a in under if a[0] == "R"]
        if self.state.mode != OFF:
            if any(a[0] == "M" for a in atoms):
                self.issue("a leaf is written in place")
            if any(
                a[0] == "R" and not self.traits[a].called and any(b[0] == "M" for b in self.made_of.get(a, ())) for a in atoms
            ):
                self.issue("a leaf is written in place", "through a view")
        self.written |= {a for a in atoms if a[0] in "PGF"}
        for atom in self.state.open:
            traits = self.traits[atom]
            if atom in atoms and traits.saves_output or traits.saves_inputs and not atoms.isdisjoint(self.made_of.get(atom, ())):
                self.state.dirty.add(atom)

    # -- calls of the program

    def apply(self, function: ast.AST, binding: dict[Variable, Value], arguments: Iterable[Atom], base: int = 0) -> Value:
        """What a call of a function of the program gives."""
        if function not in self.kinds.codes:
            self.issue("calls what is not followed", getattr(function, "name", ""))
            return self.record(arguments)
        summary = self.analysis.summary(function, self.state.mode)
        if summary is None:
            return self.record(arguments)  # it has no effects, as is seen in the end
        return self.put(summary, binding, base)

    def put(self, summary: Summary, binding: dict[Variable, Value], base: int = 0) -> Value:
        """Put a summary into this frame, at the instruction that runs. `base`: the first number for what it makes."""
        state = self.state
        site = self.at.result
        self.loops_of[site] = self.block.loops
        memo: dict[Atom, Value] = {}
        self.analysis.spend(len(state.heap) + len(summary.heap) + len(summary.made_of))
        begin = {atom: dict(fields) for atom, fields in state.heap.items()}
        entry = State(heap=begin)

        def atoms_of(atom: Atom) -> Value:
            known = memo.get(atom)
            if known is not None:
                return known
            what = atom[0]
            if what == "P":
                known = binding.get(atom[1], EMPTY)
            elif what == "G":
                known = state.env.get(atom[1])
                if known is None:
                    known = EMPTY if atom[1].owner is self.code.node else frozenset((atom,))
            elif what == "F":
                known = self.read_field(atoms_of(atom[1]), atom[2], entry)
            elif what in "OR":
                known = frozenset(((what, site, base + atom[1], None),))
            elif what == "M":
                known = frozenset(("M", each) for each in atoms_of(atom[1]) or (("X", ""),))
            elif what == "m":
                known = frozenset(("m", each, atom[2]) for each in atoms_of(atom[1]) or (("X", ""),))
            else:
                known = frozenset((atom,))
            memo[atom] = known
            return known

        def mapped(value: Iterable[Atom]) -> Value:
            return frozenset(each for atom in value for each in (atoms_of(atom) if atom[0] != "R" or atom in live else ()))

        live = self.live_recordings(summary, atoms_of, entry)
        self.issues.update(summary.issues)
        self.marks |= summary.marks
        writes = frozenset(a for atom in summary.written for a in atoms_of(atom) if a[0] in CARRIERS or a[0] == "O")
        if writes and summary.walked:
            self.write(writes)
        if summary.late:
            self.walk_given([atom for atom in summary.walked if atom not in summary.late], atoms_of, entry, summary)
            self.step(frozenset(each for atom in summary.stepped for each in atoms_of(atom)))
        self.walk_given(summary.late or summary.walked, atoms_of, entry, summary)
        stepped = frozenset(each for atom in summary.stepped for each in atoms_of(atom))
        if summary.pending or summary.passed_over:
            if state.stepped and not summary.walked:
                self.issue("trains what nothing steps")
            state.pending |= {frozenset(mapped(each)) for each in summary.pending}
            state.stepped |= {frozenset(mapped(each)) for each in summary.passed_over}
        if "steps" in summary.marks:
            self.step(stepped)
        if writes:
            self.write(writes)
        for atom in live:
            new = next(iter(atoms_of(atom)))
            self.made_of.setdefault(new, set()).update(
                each
                for part in summary.made_of.get(atom, ())
                for each in (
                    self.carriers(mapped((part,)), entry) | {a for a in mapped((part,)) if a[0] == "O"}
                    if part[0] not in "Mm"
                    else mapped((part,))
                )
            )
            self.traits[new] = summary.traits[atom]
            for ours, theirs in (
                (state.open, summary.open), (state.freed, summary.freed), (state.stale, summary.stale), (state.dirty, summary.dirty),
                (state.kept, summary.kept),
            ):  # fmt: skip
                (ours.add if atom in theirs else ours.discard)(new)
        state.left |= {each for atom in summary.left for each in atoms_of(atom)}
        for atom in list(state.heap):
            if atom[0] == "O" and atom[1] == site and atom[3] is None and atom[2] >= base:
                del state.heap[atom]
        for atom, fields in summary.heap.items():
            targets = atoms_of(atom)
            for name, value in fields.items():
                written = mapped(value)
                if atom[0] == "O":
                    for each in targets:
                        state.heap.setdefault(each, {})[name] = written
                elif written or not name.startswith("["):
                    self.write_field(targets, name, written)
        for variable, value in summary.env.items():
            state.env[variable] = mapped(value)
        if summary.mode is not None:
            state.mode = summary.mode
        return mapped(summary.result)

    def walk_given(self, atoms: Iterable[Atom], atoms_of: Any, entry: State, summary: Summary) -> None:
        """A call goes backward through what it was given."""
        for atom in atoms:
            given = self.carriers(atoms_of(atom), entry)
            if given:
                self.walk(given, is_root=False)
                if atom in summary.twice and any(a[0] == "R" for a in self.history(given)):
                    self.issue("two backwards over one graph", "in what is called")
                self.twice |= {a for a in given if a[0] in "PGF"} if atom in summary.twice else set()

    def live_recordings(self, summary: Summary, atoms_of: Any, entry: State) -> set[Atom]:
        """The recordings of a summary that have something to record, by what the call was given."""
        live: set[Atom] = set()
        if self.state.mode == OFF and not summary.made_of:
            return live
        changed = True
        while changed:
            changed = False
            for atom, parts in summary.made_of.items():
                if atom in live:
                    continue
                for part in parts:
                    if part in live or part[0] in "MmXL" or part[0] in "PGF" and self.carriers(atoms_of(part), entry):
                        live.add(atom)
                        changed = True
                        break
        return live

    # -- its summary

    def summary(self) -> Summary:
        from benchmarks.spike.summaries import summary_of

        return summary_of(self)

    def arguments(self, function: ast.AST, call: ir.Call, receiver: Value | None) -> dict[Variable, Value]:
        """What each parameter of a function is given."""
        code = self.kinds.codes.get(function)
        if code is None:
            return {}
        parameters = list(code.signature)
        binding: dict[Variable, Value] = {}
        if receiver is not None and parameters:
            binding[parameters.pop(0)] = receiver
        for variable, argument in bound(code, parameters, call):
            given = self.value(argument.value)
            if argument.stars:
                given = self.contents(given)
            if variable in (code.signature.rest, code.signature.keywords):
                atom = ("O", self.at.result, -1 - parameters.index(variable), None)
                self.loops_of[self.at.result] = self.block.loops
                fields = self.state.heap.setdefault(atom, {})
                fields["[]"] = fields.get("[]", EMPTY) | given
                given = frozenset((atom,))
            binding[variable] = binding.get(variable, EMPTY) | given
        return binding
