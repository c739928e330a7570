"""The flow through functions of Python itself that see more of a program than what they are given, or ask what that is."""

from __future__ import annotations

import ast
from collections.abc import Collection

from graphfix.analysis.flow.functions import arguments
from graphfix.analysis.flow.places import Kind, Sink
from graphfix.analysis.flow.records import Records
from graphfix.analysis.flow.sight import Sight
from graphfix.effects.methods import observes_graph

REFLECTS = ("globals", "locals", "vars", "dir")


class Language:
    """Links calls of such functions. `walking`: names of backward passes; `reflections`: the calls that may read any variable by its name."""

    def __init__(self, code: Sight, records: Records, walking: Collection[str]) -> None:
        self.code = code
        self.flow = code.flow
        self.records = records
        self.walking = walking
        self.reflections: list[ast.Call] = []

    def call(self, call: ast.Call, dotted: str) -> None:
        """What a call of the function with the full name `dotted` does; nothing where it is no such function."""
        given = arguments(call)
        if dotted in ("id", "type"):
            for argument in given:
                self.flow.end(argument, Sink.ASKED, call)
        elif dotted in ("setattr", "object.__setattr__") and given:
            self.sets_attribute(call, given)
        elif dotted == "getattr" and len(given) > 1:
            self.gets_attribute(call, given)
        elif dotted in ("min", "max", "next"):
            for argument in given:
                self.flow.add(argument, call, Kind.OUT)
                if len(call.args) > 1:
                    self.flow.add(argument, call, Kind.SAME)
        elif dotted in ("float", "int") or dotted.startswith("math."):
            for argument in given:
                self.flow.add(argument, call, Kind.NUMBER)
        elif dotted == "dataclasses.replace":
            self.records.replace(call)
        elif dotted == "vars" and given:
            self.code.dynamic(given[0], call)
        elif dotted in REFLECTS and not given and not self.is_asked_for_names(call) or dotted in ("eval", "exec"):
            self.reflections.append(call)

    def sets_attribute(self, call: ast.Call, given: list[ast.expr]) -> None:
        key = given[1].value if len(given) > 1 and isinstance(given[1], ast.Constant) else None
        for argument in given[1:]:
            self.flow.add(argument, given[0], Kind.IN, f".{key}" if isinstance(key, str) else None)
        if len(given) > 2:
            self.code.assign_field(key, given[2])  # type: ignore[arg-type]

    def gets_attribute(self, call: ast.Call, given: list[ast.expr]) -> None:
        key = given[1].value if isinstance(given[1], ast.Constant) else None
        self.flow.add(given[0], call, Kind.OUT, f".{key}" if isinstance(key, str) else None)
        if not isinstance(key, str):
            self.flow.end(given[0], Sink.ESCAPES, call)
            self.flow.end(given[0], Sink.ASKED, call)
        elif key in self.walking:
            self.flow.end(given[0], Sink.WALKED, call)
        elif observes_graph(key):
            self.flow.end(given[0], Sink.ASKED, call)
        if isinstance(given[1], ast.Constant):
            self.flow.use(given[0], "attribute", str(key), call)
        if not self.code.is_of_library(given[0]):  # which has what it has, and nothing that the program gives to objects
            self.code.read_field(key, call)  # type: ignore[arg-type]

    def is_asked_for_names(self, call: ast.Call) -> bool:
        """Whether nothing is read but which names there are: `"state" in locals()`."""
        return any(call in others for _, _, others in self.code.compared)
