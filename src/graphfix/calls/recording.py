"""Where autograd surely records nothing: inside of `no_grad`, however a file calls it, and in functions that it decorates."""

from __future__ import annotations

import ast

from graphfix.calls.graph import CallGraph
from graphfix.calls.meanings import Library, Meaning, Object
from graphfix.dataflow.solver import Direction, Over, Solution, solve
from graphfix.dataflow.ways import Ways
from graphfix.ir import instructions as ir
from graphfix.ir.blocks import Code

# https://pytorch.org/docs/stable/torch.html#locally-disabling-gradient-computation
OFF = frozenset(("no_grad", "inference_mode"))
ON = frozenset(("enable_grad",))
AT_ONCE = {"set_grad_enabled"}  # it switches when it is called, also where it is no context
BY_ARGUMENT = frozenset(("set_grad_enabled", "inference_mode"))


class Recording:
    """Asks it of the code of a program."""

    def __init__(self, graph: CallGraph) -> None:
        self.graph = graph
        self._solved: dict[Code, tuple[Solution, Solution]] = {}

    def is_off(self, code: Code, instruction: ir.Instruction) -> bool:
        """Whether each way to an instruction switches recording off, and none on again, in its own code object."""
        if code not in self._solved:
            self._solved[code] = self._solve(code)
        off, on = self._solved[code]
        position = off.ways.position[instruction][0]
        return position in off.ways.reachable and bool(off.before(instruction)) and not on.before(instruction)

    def is_decorated(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Whether a decorator switches recording off in the whole function."""
        file = self.graph.program.home(function)
        code = file.origins.code(function)
        for decorator in function.decorator_list:
            for each in file.origins.own(code).get(decorator, ()):
                if each.result is not None and self._switches(code, each.result, to=False):
                    return True
        return False

    def _solve(self, code: Code) -> tuple[Solution, Solution]:
        ways = Ways(code)
        switched = {True: {}, False: {}}  # type: dict[bool, dict[ir.Instruction, int]]
        ended = {True: {}, False: {}}  # type: dict[bool, dict[ir.Instruction, int]]
        bits: dict[ir.Value, int] = {}
        for each in code.instructions():
            if isinstance(each, ir.Enter):
                for to in (True, False):
                    if self._switches(code, each.manager, to=to):
                        switched[to][each] = bits.setdefault(each.manager, 2 << len(bits))
            elif isinstance(each, ir.Call) and self._names(code, each.function) == AT_ONCE and not self._is_used(code, each):
                is_on = not self._is_told_off(code, each)
                switched[is_on][each] = 1
                ended[not is_on][each] = 1
        for each in code.instructions():
            if isinstance(each, ir.Exit) and each.manager in bits:
                for to in (True, False):
                    ended[to][each] = bits[each.manager]
        return (
            solve(ways, switched[False], ended[False], Direction.FORWARD, Over.EVERY),
            solve(ways, switched[True], ended[True], Direction.FORWARD, Over.SOME),
        )

    def _is_used(self, code: Code, call: ir.Call) -> bool:
        """Whether what a call gives is used, as a context is that is entered."""
        return any(call.result in each.operands for each in code.instructions())

    def _names(self, code: Code, value: ir.Value) -> set[str]:
        """The last words of the library's names that a value may be; another one where it may be anything else."""
        return {last_word(meaning) for meaning in self.graph.meanings(code, value)}

    def _switches(self, code: Code, manager: ir.Value, *, to: bool) -> bool:
        """Whether a context surely switches recording off (`to` is False), or may switch it on."""
        given = code.givers[manager]
        meant = self.graph.meanings(code, manager)
        names = {last_word(meaning) for meaning in meant}
        if isinstance(given, ir.Call) and names and names <= BY_ARGUMENT and given.arguments:
            return self._is_told_off(code, given) is not to
        return bool(names & ON) if to else bool(names) and names <= OFF

    def _is_told_off(self, code: Code, call: ir.Call) -> bool:
        """Whether the constant that a call is given switches recording off; what is computed may switch it on."""
        giver = code.givers[call.arguments[0].value] if call.arguments else None
        names = self._names(code, call.function)
        off = names != AT_ONCE  # `inference_mode(True)` is the other way round
        return len(names) == 1 and isinstance(giver, ir.Constant) and giver.value is off


def last_word(meaning: Meaning) -> str:
    """The last word of the full name of a library's function, or of the one that gave an object; empty for anything else."""
    return meaning.name.rpartition(".")[2] if isinstance(meaning, (Library, Object)) else ""
