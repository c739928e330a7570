"""The call graph: what each value may be that can be called, over all files of a program, whatever the order in which code runs.

An inclusion-based analysis that tells no calls apart (0-CFA: Shivers, https://doi.org/10.1145/53990.54007), with instances told apart
by class, and containers by the place where they are made. Its answers are kinds:

("code", node)            a function, lambda or generator expression of the program
("class", node)           a class of the program
("of", node)              an instance of a class of the program
("bound", node, class)    a method on an instance of a class
("super", class, of)      what `super()` gives in a method of the first, on an instance of the second
("file", tree)            a file of the program
("library", name)         a function, class or module of a library, by its full name
("made", name, flag)      what a function or class of a library gave; the flag: it was told to work in place
("method", name, word)    a method of such an object, or of the library's class that a class of the program has as a base
("box", place, name)      a container that was made here; `name`: by which class of a library, if any
("lost", why)             it is found by reflection
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from benchmarks.spike.sight import File, Sight
from graphfix.effects.rows import row_of
from graphfix.effects.schema import Returns
from graphfix.ir import instructions as ir
from graphfix.ir.blocks import Code
from graphfix.ir.variables import FUNCTIONS, Home, Variable

Kind = tuple[Any, ...]
Key = Any
REFLECTION = frozenset(("eval", "exec", "globals", "locals", "__import__"))
CONTAINERS = frozenset(("torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict"))
HANDING_ON = frozenset(
    ("to", "cuda", "cpu", "train", "eval", "double", "float", "half", "apply", "requires_grad_", "share_memory", "type", "copy")
)
WRAPPERS = frozenset(
    (
        "torch.nn.DataParallel",
        "torch.nn.parallel.DistributedDataParallel",
        "torch.compile",
        "torch.jit.script",
        "functools.partial",
    )
)
TAKING = frozenset(("pop", "get", "popleft", "setdefault"))
PUTTING = frozenset(("append", "add", "extend", "insert", "update", "setdefault", "appendleft", "add_module"))
LISTING = frozenset(("values", "items", "children", "modules", "named_children", "named_modules", "copy"))


class Kinds:
    """Solves it for a program."""

    def __init__(self, sight: Sight, entries: Iterable[ast.AST] = ()) -> None:
        """`entries`: functions that are run, though no code may call them. Of other functions only those are looked at that are called."""
        self.sight = sight
        self.sets: dict[Key, dict[Kind, None]] = {}
        self.out: dict[Key, list[Key]] = {}
        self.watchers: dict[Key, list[Callable[[Kind], None]]] = {}
        self.pending: list[tuple[Key, Kind]] = []
        self.codes: dict[ast.AST, Code] = {}
        self.file_of: dict[ast.AST, File] = {}
        self.class_body: dict[ast.AST, ast.ClassDef] = {}
        self.bases: dict[ast.ClassDef, tuple[Key, ...]] = {}
        self.linear: dict[ast.ClassDef, list[Any]] = {}
        self.called: dict[ast.AST, None] = {}  # codes that some code of the program calls
        self.callers: dict[ast.AST, set[ast.AST]] = {}
        self.heirs: dict[ast.ClassDef, list[ast.ClassDef]] = {}
        self.given: list[tuple[Key, Key]] = []  # arguments and what is set, with what gets them
        for file in sight.known.values():
            self.file_of.update(dict.fromkeys(file.lowered.nodes(), file))
        outer = [
            (file, node)
            for file in list(sight.known.values())
            for node in file.lowered.nodes()
            if isinstance(node, (ast.Module, ast.ClassDef))
        ]
        for stage in range(3):  # what is defined is known before anything is called
            for file, node in outer:
                self.look_at(file.lowered.code(node), file, stage)
            self.solve()
            self.linear.clear()
        for cls in list(self.bases):
            for base in self.linearised(cls)[1:]:
                if isinstance(base, ast.ClassDef):
                    self.heirs.setdefault(base, []).append(cls)
        for function in entries:
            self.demand(function)
        self.solve()
        self.unknown = self.partly_unknown()

    # -- the graph of inclusions

    def add(self, key: Key, kind: Kind) -> None:
        known = self.sets.setdefault(key, {})
        if kind not in known and len(known) < 30:
            known[kind] = None
            self.pending.append((key, kind))

    def edge(self, one: Key, two: Key) -> None:
        self.out.setdefault(one, []).append(two)
        for kind in list(self.sets.get(one, ())):
            self.add(two, kind)

    def watch(self, key: Key, see: Callable[[Kind], None]) -> None:
        seen: set[Kind] = set()

        def once(kind: Kind) -> None:
            if kind not in seen:
                seen.add(kind)
                see(kind)

        self.watchers.setdefault(key, []).append(once)
        for kind in list(self.sets.get(key, ())):
            once(kind)

    def solve(self) -> None:
        while self.pending:
            key, kind = self.pending.pop()
            for other in self.out.get(key, ()):
                self.add(other, kind)
            for see in list(self.watchers.get(key, ())):
                see(kind)

    def partly_unknown(self) -> set[Key]:
        """What has kinds, and may be something else that has none: some call gives it what is not known."""
        pending = [two for one, two in self.given if self.sets.get(two) and not self.sets.get(one) and not is_constant(one)]
        found: set[Key] = set()
        while pending:
            key = pending.pop()
            if key not in found:
                found.add(key)
                pending += self.out.get(key, ())
        return found

    def of(self, code: Code, value: int) -> list[Kind]:
        """What a value may be."""
        return list(self.sets.get((code, value), ()))

    # -- from instructions

    def demand(self, function: ast.AST) -> None:
        """Look at a function, once."""
        if function not in self.codes and function in self.file_of:
            self.look_at(self.file_of[function].lowered.code(function), self.file_of[function])

    def look_at(self, code: Code, file: File, stage: int | None = None) -> None:
        """`stage`: 2: only the calls, 1: attributes that are read, 0: all else."""
        self.codes[code.node] = code
        for each in code.instructions():
            handler = _HANDLERS.get(type(each))
            if handler is not None and (stage is None or stage == _STAGES.get(type(each), 0)):
                handler(self, code, each, file)
        if isinstance(code.node, ast.GeneratorExp) or code.is_generator:
            self.add(("return", code.node), ("box", code.node, ""))

    def variable(self, variable: Variable, file: File) -> Key:
        if variable.home is Home.GLOBAL:
            return self.sight.owner(variable, file)[1]
        return variable

    def read_name(self, code: Code, each: ir.ReadName, file: File) -> None:
        variable = each.variable
        result = (code, each.result)
        if variable.home is Home.GLOBAL:
            owner, found = self.sight.owner(variable, file)
            if not owner.binds(found.name):
                if hasattr(builtins, variable.name):
                    self.add(result, ("lost", variable.name) if variable.name in REFLECTION else ("library", variable.name))
                elif file.star_libraries and not variable.name.startswith("_"):
                    self.add(result, ("library", f"{file.star_libraries[0]}.{variable.name}"))
                return
            variable = found
        self.edge(variable, result)
        if variable.home is Home.CLASS:
            self.edge(("field", self.class_of_body(code), variable.name), result)

    def class_of_body(self, code: Code) -> Any:
        return code.node

    def write_name(self, code: Code, each: ir.WriteName, file: File) -> None:
        key = self.variable(each.variable, file)
        self.edge((code, each.value), key)
        if each.variable.home is Home.CLASS:
            self.edge((code, each.value), ("field", code.node, each.variable.name))

    def read_attribute(self, code: Code, each: ir.ReadAttribute, file: File) -> None:
        result = (code, each.result)
        self.watch((code, each.object), lambda kind: self.attribute(kind, each.name, result))

    def attribute(self, kind: Kind, name: str, result: Key) -> None:
        """What an attribute of an object of this kind may be."""
        what = kind[0]
        if what == "library":
            self.add(result, ("library", f"{kind[1]}.{name}"))
        elif what == "made":
            self.add(result, ("method", kind[1], name))
        elif what == "box":
            self.add(result, ("method", kind, name))
        elif what == "file":
            file = self.sight.known[kind[1]]
            if file.binds(name):
                self.edge(file.variable(name), result)
            else:
                owner, found = self.sight.owner(file.variable(name), file)
                if owner is not file:
                    self.edge(found, result)
            package = file.path.parent if file.path.stem == "__init__" else None
            inner = (
                self.sight.files.at(package / f"{name}.py")
                if package is not None and (package / f"{name}.py").is_file()
                else None
            )
            if inner is not None and inner.tree in self.sight.known:
                self.add(result, ("file", inner.tree))
        elif what in ("of", "class", "super"):
            cls = kind[2] if what == "super" else kind[1]
            self.edge(("attribute", cls, name), result)
            found_one = False
            line = self.linearised(cls)
            if what == "super":
                line = line[line.index(kind[1]) + 1 :] if kind[1] in line else []
            for base in line:
                if isinstance(base, str):
                    if not found_one:
                        self.add(result, ("method", base, name))
                    break
                if self.sets.get(("field", base, name)):
                    found_one = True
                    self.watch(("field", base, name), lambda of: self.bind(of, kind, cls, result))
                    break
            if what == "of" and not found_one:
                for base in line:
                    if isinstance(base, ast.ClassDef):
                        self.watch(("field", base, name), lambda of: self.bind(of, kind, cls, result))

    def bind(self, found: Kind, kind: Kind, cls: ast.ClassDef, result: Key) -> None:
        """An attribute of a class, as an instance or the class hands it out."""
        if found[0] == "code" and kind[0] != "class":
            words = decorators(found[1])
            if "staticmethod" in words:
                self.add(result, found)
            elif words & {"property", "cached_property", "lazy_property"}:
                self.give(found[1], ("of", cls))
                self.note_call(found[1], None)
                self.edge(("return", found[1]), result)
            else:
                self.add(result, ("bound", found[1], cls))
        elif found[0] == "code" and "classmethod" in decorators(found[1]):
            self.add(result, ("bound", found[1], cls))
        else:
            self.add(result, found)

    def give(self, function: ast.AST, kind: Kind) -> None:
        """The first parameter of a function gets this."""
        file = self.file_of.get(function)
        if file is not None:
            code = file.lowered.code(function)
            for variable in list(code.signature)[:1]:
                self.add(variable, kind)

    def linearised(self, cls: ast.ClassDef) -> list[Any]:
        """A class and its bases, in the order in which attributes are looked for; a base of a library by its name."""
        known = self.linear.get(cls)
        if known is None:
            self.linear[cls] = [cls]
            found: list[Any] = [cls]
            for key in self.bases.get(cls, ()):
                for kind in list(self.sets.get(key, ())):
                    if kind[0] == "class":
                        found += self.linearised(kind[1])
                    elif kind[0] == "library":
                        found.append(kind[1])
            last = {id(each): index for index, each in enumerate(found)}
            kept = [each for index, each in enumerate(found) if last[id(each)] == index]
            known = self.linear[cls] = [e for e in kept if not isinstance(e, str)] + [e for e in kept if isinstance(e, str)]
        return known

    def find(self, cls: ast.ClassDef, name: str) -> ast.AST | None:
        """The function that a class has as this method."""
        for base in self.linearised(cls):
            if isinstance(base, ast.ClassDef):
                for kind in self.sets.get(("field", base, name), ()):
                    if kind[0] == "code":
                        return kind[1]  # type: ignore[no-any-return]
        return None

    def is_module(self, cls: ast.ClassDef) -> bool:
        return any(
            isinstance(base, str) and (base.startswith("torch.nn") or base.endswith("Module")) for base in self.linearised(cls)
        )

    def write_attribute(self, code: Code, each: ir.WriteAttribute, file: File) -> None:
        self.watch((code, each.object), lambda kind: self.set_attribute(kind, each.name, (code, each.value)))

    def set_attribute(self, kind: Kind, name: str, value: Key) -> None:
        if kind[0] in ("of", "class"):
            self.edge(value, ("attribute", kind[1], name))
            self.given.append((value, ("attribute", kind[1], name)))
        elif kind[0] == "file":
            self.edge(value, self.sight.known[kind[1]].variable(name))

    def read_item(self, code: Code, each: ir.ReadItem, file: File) -> None:
        self.watch((code, each.object), lambda kind: self.element(kind, (code, each.result), code))

    def element(self, kind: Kind, result: Key, code: Code | None = None) -> None:
        if kind[0] == "box":
            self.edge(("content", kind[1]), result)
            if kind[2]:
                self.add(result, kind)  # a slice of it
        elif kind[0] == "of":
            for name in ("__getitem__", "__iter__", "__next__"):
                method = self.find(kind[1], name)
                if method is not None:
                    self.invoke(method, kind, None, result, code)
            if isinstance(kind[1], ast.ClassDef) and any(base in CONTAINERS for base in self.linearised(kind[1])):
                self.edge(("content", kind[1]), result)

    def write_item(self, code: Code, each: ir.WriteItem, file: File) -> None:
        def see(kind: Kind) -> None:
            if kind[0] == "box":
                self.edge((code, each.value), ("content", kind[1]))

        self.watch((code, each.object), see)

    def build(self, code: Code, each: ir.Build, file: File) -> None:
        if each.kind not in (ir.Kind.SLICE, ir.Kind.TEXT):
            self.add((code, each.result), ("box", each, ""))
            for item in each.items:
                self.put(code, item, each)

    def put(self, code: Code, item: ir.Item, place: Any) -> None:
        if item.stars:
            self.watch((code, item.value), lambda kind: self.element(kind, ("content", place), code))
        else:
            self.edge((code, item.value), ("content", place))

    def collect(self, code: Code, each: ir.Collect, file: File) -> None:
        self.put(code, each.item, code.givers[each.container])

    def unpack(self, code: Code, each: ir.Unpack, file: File) -> None:
        self.watch((code, each.value), lambda kind: self.element(kind, (code, each.result), code))

    def part(self, code: Code, each: ir.Part, file: File) -> None:
        self.edge((code, each.parts), (code, each.result))

    def iterate(self, code: Code, each: ir.Iterate, file: File) -> None:
        self.edge((code, each.value), (code, each.result))

    def next(self, code: Code, each: ir.Next, file: File) -> None:
        self.watch((code, each.iterator), lambda kind: self.element(kind, (code, each.result), code))

    def enter(self, code: Code, each: ir.Enter, file: File) -> None:
        self.edge((code, each.manager), (code, each.result))

    def make_function(self, code: Code, each: ir.MakeFunction, file: File) -> None:
        self.add((code, each.result), ("code", each.body))
        if isinstance(each.body, (ast.GeneratorExp, ast.Lambda)):
            self.demand(each.body)
        for argument in each.defaults:
            inner = file.lowered.code(each.body)
            for variable in inner.signature:
                if variable.name == argument.name:
                    self.edge((code, argument.value), variable)

    def make_class(self, code: Code, each: ir.MakeClass, file: File) -> None:
        self.bases[each.body] = tuple((code, argument.value) for argument in each.bases if argument.name is None)
        self.add((code, each.result), ("class", each.body))
        for statement in each.body.body:
            if isinstance(statement, FUNCTIONS) and not isinstance(statement, ast.Lambda):
                first = [*statement.args.posonlyargs, *statement.args.args][:1]
                if first and "staticmethod" not in decorators(statement):
                    what = "class" if "classmethod" in decorators(statement) else "of"
                    self.add(
                        file.lowered.scopes[statement].of_own(file.lowered.scopes[statement].spelled(first[0].arg)),
                        (what, each.body),
                    )

    def import_(self, code: Code, each: ir.Import, file: File) -> None:
        result = (code, each.result)
        base = "." * each.level + each.module
        if each.member == "*":
            return
        target = self.sight.find(base, file) if base else None
        if each.member is None:
            name = each.module.split(".")[0] if each.root else each.module
            found = self.sight.find(name, file) if each.root else target
            self.add(result, ("file", found.tree) if found is not None else ("library", name))
            return
        if target is not None and target.binds(each.member):
            self.edge(target.variable(each.member), result)
            return
        if target is not None:
            owner, found_variable = self.sight.owner(target.variable(each.member), target)
            if owner is not target:
                self.edge(found_variable, result)
                return
        inner = self.sight.find(f"{base}.{each.member}" if each.module else f"{base}{each.member}", file)
        if inner is not None:
            self.add(result, ("file", inner.tree))
        elif target is None and not each.level:
            self.add(result, ("library", f"{each.module}.{each.member}"))

    def yield_(self, code: Code, each: ir.Yield, file: File) -> None:
        if each.how is ir.Suspension.YIELD:
            self.edge((code, each.value), ("content", code.node))
        elif each.how is ir.Suspension.FROM:
            self.watch((code, each.value), lambda kind: self.element(kind, ("content", code.node), code))
        else:
            self.edge((code, each.value), (code, each.result))

    def return_(self, code: Code, each: ir.Return, file: File) -> None:
        if isinstance(code.node, FUNCTIONS):
            self.edge((code, each.value), ("return", code.node))

    # -- calls

    def call(self, code: Code, each: ir.Call, file: File) -> None:
        self.watch((code, each.function), lambda kind: self.call_of(kind, code, each, file))

    def call_of(self, kind: Kind, code: Code, each: ir.Call, file: File) -> None:
        what = kind[0]
        result = (code, each.result)
        if what == "code":
            self.invoke(kind[1], None, each, result, code)
        elif what == "bound":
            self.invoke(kind[1], ("class" if "classmethod" in decorators(kind[1]) else "of", kind[2]), each, result, code)
        elif what == "class":
            self.instantiate(kind[1], each, result, code)
        elif what == "of":
            for method in self.called_as(kind[1]):
                self.invoke(method, kind, each, result, code)
            if any(base in CONTAINERS for base in self.linearised(kind[1])):
                self.call_contents(("content", kind[1]), each, result, code)
        elif what == "box" and kind[2]:
            self.call_contents(("content", kind[1]), each, result, code)
        elif what == "library":
            self.call_library(kind[1], code, each, result, file)
        elif what == "made":
            self.call_made(kind, code, each, result)
        elif what == "method":
            self.call_method(kind, code, each, result)
        elif what == "lost":
            self.add(result, kind)

    def called_as(self, cls: ast.ClassDef) -> list[ast.AST]:
        """What runs when an instance is called."""
        for name in ("__call__", "forward"):
            found = self.find(cls, name)
            if found is not None:
                return [found]
        return []

    def call_contents(self, key: Key, each: ir.Call, result: Key, code: Code) -> None:
        def see(kind: Kind) -> None:
            if kind[0] == "of":
                for method in self.called_as(kind[1]):
                    self.invoke(method, kind, each, result, code)
            elif kind[0] == "box" and ("content", kind[1]) != key:
                self.call_contents(("content", kind[1]), each, result, code)

        self.watch(key, see)

    def note_call(self, function: ast.AST, code: Code | None) -> None:
        self.called[function] = None
        self.demand(function)
        if code is not None:
            self.callers.setdefault(function, set()).add(code.node)

    def invoke(self, function: ast.AST, receiver: Kind | None, each: ir.Call | None, result: Key, code: Code | None) -> None:
        """A function of the program is called, with `receiver` as its first argument."""
        file = self.file_of.get(function)
        if file is None:
            return
        self.note_call(function, code)
        inner = file.lowered.code(function)
        self.edge(("return", function), result)
        parameters = list(inner.signature)
        if receiver is not None and parameters:
            self.add(parameters.pop(0), receiver)
        if each is None or code is None:
            return
        for variable, argument in bound(inner, parameters, each):
            if argument.stars:
                self.watch((code, argument.value), lambda kind, variable=variable: self.element(kind, variable, code))
            else:
                self.edge((code, argument.value), variable)
                self.given.append(((code, argument.value), variable))

    def instantiate(self, cls: ast.ClassDef, each: ir.Call, result: Key, code: Code) -> None:
        self.add(result, ("of", cls))
        method = self.find(cls, "__init__")
        if method is not None:
            self.invoke(method, ("of", cls), each, ("nothing",), code)
            return
        fields = [part.target.id for part in cls.body if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)]
        for name, argument in zip(fields, [a for a in each.arguments if a.name is None], strict=False):
            self.edge((code, argument.value), ("attribute", cls, name))
        for argument in each.arguments:
            if argument.name is not None:
                self.edge((code, argument.value), ("attribute", cls, argument.name))
            elif any(base in CONTAINERS for base in self.linearised(cls)):
                self.edge((code, argument.value), ("content", cls))

    def call_library(self, name: str, code: Code, each: ir.Call, result: Key, file: File) -> None:
        values = [(code, argument.value) for argument in each.arguments]
        row = row_of(name)
        if name == "super":
            scope = file.lowered.scopes.get(code.node)
            cls = next((c for c in enclosing(scope)), None)
            if cls is not None:
                for variable in list(code.signature)[:1]:
                    self.watch(
                        variable, lambda kind: self.add(result, ("super", cls, kind[1])) if kind[0] in ("of", "class") else None
                    )
            return
        if name in ("getattr", "setattr"):
            given = code.givers[each.arguments[1].value] if len(each.arguments) > 1 else None
            if isinstance(given, ir.Constant) and isinstance(given.value, str):
                word = given.value
                if name == "getattr":
                    self.watch(values[0], lambda kind: self.attribute(kind, word, result))
                else:
                    self.watch(values[0], lambda kind: self.set_attribute(kind, word, values[2]))
            else:
                self.watch(
                    values[0], lambda kind: self.add(result, ("lost", name)) if kind[0] in ("of", "class", "file") else None
                )
            return
        if name in CONTAINERS or name in (
            "list",
            "tuple",
            "dict",
            "set",
            "collections.OrderedDict",
            "collections.deque",
            "collections.defaultdict",
        ):
            self.add(result, ("box", each, name if name in CONTAINERS else ""))
            for argument, value in zip(each.arguments, values, strict=True):
                self.edge(value, ("content", each)) if argument.name or name in CONTAINERS else None
                self.watch(value, lambda kind: self.element(kind, ("content", each), code) if kind[0] == "box" else None)
            return
        if row is not None and row.returns in (
            Returns.CONTENTS,
            Returns.VALUES,
            Returns.PAIRS,
            Returns.MAPPING,
            Returns.SEVERAL,
            Returns.RESULTS,
        ):
            self.add(result, ("box", each, ""))
            self.add(("content", each), ("box", each, ""))
            for value in values:
                self.watch(value, lambda kind: self.element(kind, ("content", each), code) if kind[0] in ("box", "of") else None)
        if (
            name in WRAPPERS
            or name == "copy.deepcopy"
            or row is not None
            and row.returns in (Returns.ITSELF, Returns.ELEMENT, Returns.COPY)
        ):
            for value in values:
                self.edge(value, result)
                self.watch(value, lambda kind: self.element(kind, result, code) if name in ("next", "random.choice") else None)
        if len(values) == 1:  # a decorator, as far as is known
            self.watch(values[0], lambda kind: self.add(result, kind) if kind[0] in ("code", "class", "bound") else None)
        inplace = any(a.name == "inplace" and is_true(code.givers[a.value]) for a in each.arguments)
        if (
            not inplace
            and name.startswith("torch.nn.")
            and each.arguments
            and each.arguments[-1].name is None
            and name.rpartition(".")[2] in ("ReLU", "ReLU6", "ELU", "LeakyReLU", "Dropout", "Dropout2d")
        ):
            inplace = is_true(code.givers[each.arguments[-1].value])
        self.add(result, ("made", name, inplace))
        if row is None or row.calls:
            self.call_back(values, code)

    def call_back(self, values: list[Key], code: Code) -> None:
        """What a library is given, it may call."""

        def see(kind: Kind) -> None:
            if kind[0] == "code":
                self.note_call(kind[1], code)
            elif kind[0] == "bound":
                self.note_call(kind[1], code)
                self.give(kind[1], ("of", kind[2]))

        for value in values:
            self.watch(value, see)

    def call_made(self, kind: Kind, code: Code, each: ir.Call, result: Key) -> None:
        """An object of a library is called; as a decorator it hands on the function."""
        values = [(code, argument.value) for argument in each.arguments]
        for value in values:
            self.watch(value, lambda of: self.add(result, of) if of[0] in ("code", "bound", "class") else None)
        self.call_back(values, code)

    def call_method(self, kind: Kind, code: Code, each: ir.Call, result: Key) -> None:
        name = kind[2]
        receiver = code.givers[each.function]
        owner = (code, receiver.object) if isinstance(receiver, ir.ReadAttribute) else ("nothing",)
        values = [(code, argument.value) for argument in each.arguments]
        if name in HANDING_ON and not (isinstance(kind[1], str) and kind[1].startswith("torch.autograd")):
            self.edge(owner, result)
        box = kind[1] if isinstance(kind[1], tuple) else None
        if box is not None:
            if name in TAKING:
                self.edge(("content", box[1]), result)
            if name in LISTING:
                self.add(result, ("box", box[1], ""))
                self.add(("content", box[1]), ("box", box[1], "")) if name == "items" else None
            if name in PUTTING:
                for value in values:
                    self.edge(value, ("content", box[1]))
                    self.watch(
                        value,
                        lambda of: self.element(of, ("content", box[1]), code) if of[0] == "box" and name != "append" else None,
                    )
        elif name == "__init__" and any(argument.stars or argument.value for argument in each.arguments):
            self.watch(owner, lambda of: self.fill(of, values, each) if of[0] == "super" else None)
        self.call_back(values, code)

    def fill(self, kind: Kind, values: list[Key], each: ir.Call) -> None:
        """`super().__init__(layers)` of a container of torch."""
        if any(base in CONTAINERS for base in self.linearised(kind[2])):
            for value in values:
                self.edge(value, ("content", kind[2]))
                self.watch(value, lambda of: self.element(of, ("content", kind[2])) if of[0] == "box" else None)


def bound(inner: Code, parameters: list[Variable], each: ir.Call) -> Iterator[tuple[Variable, ir.Argument]]:
    """Which parameter gets which argument; one that may land anywhere goes to all that are left."""
    signature = inner.signature
    named = {variable.name: variable for variable in parameters if variable not in (signature.rest, signature.keywords)}
    positional = [v for v in parameters if v not in (signature.rest, signature.keywords) and v not in signature.keyword_only]
    starred = False
    for argument in each.arguments:
        if argument.stars:
            for variable in positional if argument.stars == 1 else named.values():
                yield variable, argument
            if signature.rest is not None and argument.stars == 1:
                yield signature.rest, argument
            starred = starred or argument.stars == 1
        elif argument.name is not None:
            target = named.get(argument.name, signature.keywords)
            if target is not None:
                yield target, argument
        elif positional:
            if starred:
                for variable in positional:
                    yield variable, argument
            else:
                yield positional.pop(0), argument
        elif signature.rest is not None:
            yield signature.rest, argument


def is_constant(key: Key) -> bool:
    return isinstance(key, tuple) and isinstance(key[0], Code) and isinstance(key[0].givers[key[1]], ir.Constant)


def decorators(function: ast.AST) -> set[str]:
    """The last words of the decorators of a function."""
    found = set()
    for each in getattr(function, "decorator_list", ()):
        node = each.func if isinstance(each, ast.Call) else each
        found.add(node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else "")
    return found


def enclosing(scope: Any) -> Iterator[ast.ClassDef]:
    while scope is not None:
        if isinstance(scope.node, ast.ClassDef):
            yield scope.node
        scope = scope.outer


def is_true(instruction: ir.Instruction) -> bool:
    return isinstance(instruction, ir.Constant) and instruction.value is True


_STAGES: dict[type, int] = {ir.ReadAttribute: 1, ir.Call: 2}
_HANDLERS: dict[type, Callable[..., None]] = {
    ir.ReadName: Kinds.read_name,
    ir.WriteName: Kinds.write_name,
    ir.ReadAttribute: Kinds.read_attribute,
    ir.WriteAttribute: Kinds.write_attribute,
    ir.ReadItem: Kinds.read_item,
    ir.WriteItem: Kinds.write_item,
    ir.Build: Kinds.build,
    ir.Collect: Kinds.collect,
    ir.Unpack: Kinds.unpack,
    ir.Part: Kinds.part,
    ir.Iterate: Kinds.iterate,
    ir.Next: Kinds.next,
    ir.Enter: Kinds.enter,
    ir.MakeFunction: Kinds.make_function,
    ir.MakeClass: Kinds.make_class,
    ir.Import: Kinds.import_,
    ir.Call: Kinds.call,
    ir.Yield: Kinds.yield_,
    ir.Return: Kinds.return_,
}
