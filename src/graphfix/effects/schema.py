"""What a row says, and how a table says it: of one function, or one method of a class, of a library."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Any

from graphfix.lazy_dataclass import dataclass, fields


class Returns(enum.Enum):
    """What a function gives back; of a method, the object that it is called on is the first of what it is given."""

    NUMBER = "number"  # or a text, an array, None, an object that knows no tensors: no part of a graph
    CUT = "cut"  # tensors, or what holds them, that are never part of a graph: parameters, what is detached, what is sampled
    TEXT = "text"  # of what it is given
    OBJECT = "object"  # that is no tensor itself, and says nothing of what it holds
    MADE = "made"  # what is computed from what it is given, or taken out of it: it may be a tensor with its graph
    ELEMENT = "element"  # one of what it is given, or of what that holds
    CONTENTS = "contents"  # a container, or an iterator, of what its arguments hold
    VALUES = "values"  # the same of a mapping without its keys
    PAIRS = "pairs"  # one of tuples of what they hold
    MAPPING = "mapping"  # a mapping of what it is given
    RESULTS = "results"  # an iterator of what it calls gives
    COPY = "copy"  # the same, or another object that holds the same
    SEVERAL = "several"  # a tuple or list of what is computed from what it is given
    ITSELF = "itself"  # the object that it is called on

    __hash__ = object.__hash__


class Puts(enum.Enum):
    """What a method puts into the object that it is called on."""

    NOTHING = ""
    ITEM = "item"  # what it is given
    CONTENTS = "contents"  # what that holds

    __hash__ = object.__hash__


class Observes(enum.Enum):
    """What a function tells of a tensor that it is given."""

    NOTHING = ""
    GRAPH = "graph"  # whether it has one, or which
    TEXT = "text"  # its text, which names a graph
    MESSAGE = "message"  # the same, but for what a message formats as a number
    IDENTITY = "identity"  # which object it is
    ADDRESS = "address"  # where it lies, as a number
    VARIABLES = "variables"  # those of other functions
    SOURCE = "source"  # the text of code
    OPERATIONS = "operations"  # which ones have run
    LIFE = "life"  # who holds it, or when it is freed
    WARNINGS = "warnings"  # what torch warns of, where it is told to lead that to the program, or to make errors of it

    __hash__ = object.__hash__


@dataclass(frozen=True)
class Row:
    """What one function, or one method of a class, does with what it is given."""

    name: str
    returns: Returns
    source: str = ""  # where that is written
    of_class: str = ""  # of which it is a method
    puts: Puts = Puts.NOTHING  # into the object that it is called on
    observes: Observes = Observes.NOTHING
    keeps: bool = False  # what it is given outlives the call
    calls: bool = False  # a function that it is given
    iterates: bool = False  # it goes over what it is given
    writes: bool = False  # it changes what it is given, or something else that others see
    draws: bool = False  # random numbers, or it sets their seed
    pickles: bool = False  # it writes down what it is given, with whether it needs a gradient
    unpickles: bool = False  # it reads that back, or holds the bytes of it
    reads: bool = False  # it gives what the program may have written to a file, or holds that in memory
    paths: bool = False  # the texts that it is given name files
    collates: bool = False  # it makes tensors of the numbers that its items hold: of 64 bits, as Python's are
    batches: bool = False  # what it gives are parts of what it is given, in each iteration
    binds: bool = False  # it gives a function as a method of an object, and calls it not
    transparent: bool = False  # as a decorator it leaves what a function returns, and when it runs, as it is
    swallows: bool = False  # an error in the block of this context, or in the code of the program that this function, or class, runs
    starts: bool = False  # another process, whose error is an exit code to this one
    computes: bool = False  # the object that it gives may compute with tensors, with parameters of its own
    hides: bool = False  # it hands out what it is given under a name by which tensors hand out no graph
    maps: bool = False  # it runs a function on tensors of more dimensions than that sees
    parses_version: bool = False  # what it gives compares as the version that a text tells
    whole: bool = False  # the number that it gives has no fraction
    counts: bool = False  # it gives the numbers up to what it is given
    repeats: bool = False  # it gives an item more than once
    rough: bool = False  # what it computes may change much where what it is given changes little
    shares: bool = False  # what it gives lies in the memory of what it is given
    sized: bool = False  # what it gives has a length
    takes_numbers: bool = False  # it does the same with a number as with a tensor of one element
    makes_record: bool = False  # a class out of the names of its fields
    attribute: bool = False  # it is read, and not called
    compares: bool = False  # what it is given with something
    hashes: bool = False  # what it is given
    of_texts: bool = False  # it is given texts and numbers only: where it is given something else, another class has this method
    keyed: bool = False  # the first that it is given is a key
    of_arguments: bool = False  # what a method gives comes of its arguments alone
    attributes: str = ""  # it gives attributes of the object, whatever they are called: "always", or where this keyword is given
    takes_out: bool = False  # something out of the object that it is called on
    backward: bool = False  # it runs a backward pass from its first argument (of a method, the first behind the object that it is called on)
    runs: str = ""  # methods of classes in sight that it may run
    applies: bool = False  # it runs `forward` of its own class, behind a context, and each backward pass runs `backward` with that
    not_called: str = ""  # why the test that compares rows with what is installed does not call it
    even_in_sight: bool = False  # it holds for a function that the analysed code defines, too; no table says so, only old settings

    @property
    def gives_no_graph(self) -> bool:
        """Whether what it gives is never part of a graph, and holds none."""
        return self.returns in (Returns.NUMBER, Returns.CUT, Returns.TEXT)

    @property
    def gives_no_tensor(self) -> bool:
        """Whether what it gives is no tensor itself."""
        return self.returns not in (Returns.CUT, Returns.MADE, Returns.ELEMENT, Returns.COPY, Returns.ITSELF)

    @property
    def shows(self) -> bool:
        """Whether it writes the text of what it is given to where the program does not read it."""
        return self.observes in (Observes.TEXT, Observes.MESSAGE) and self.returns is not Returns.TEXT

    @property
    def holds(self) -> bool:
        """Whether what it gives is a container of what it is given."""
        return self.returns in (Returns.CONTENTS, Returns.VALUES, Returns.PAIRS, Returns.MAPPING, Returns.COPY)


class BadRow(ValueError):
    """A table that is no row: what is wrong, and with which `key` of the table; empty where it is the whole table."""

    def __init__(self, why: str, key: str = "") -> None:
        super().__init__(why)
        self.key = key


def rows_of(table: Mapping[str, Any]) -> Iterator[Row]:
    """A row for each name of a table: of the functions of a `module`, or of the methods of a `class`; raises `BadRow`."""
    _check(table, [key for key in HOMES if key in table])
    for name in table["names"].split():
        yield row_in_table(table, f"{home_of(table)}.{name}")


def home_of(table: Mapping[str, Any]) -> str:
    """The module or class whose functions or methods a table tells of."""
    return str(table.get("class", table.get("module")))


def row_in_table(table: Mapping[str, Any], name: str) -> Row:
    """The row of one name; raises `BadRow` for a word that a field does not have."""
    given = {key: value for key, value in table.items() if key not in HOMES and key != "names"}
    for key in CHOICES.keys() & given.keys():
        given[key] = _chosen(CHOICES[key], given[key], key)
    return Row(name=name, of_class=table.get("class", ""), **given)


def _check(table: Mapping[str, Any], homes: list[str]) -> None:
    """Raise `BadRow` for a key that is no field, or not of its kind, and for one that is missing."""
    for key, value in table.items():
        if not isinstance(value, KINDS.get(key, ())):
            raise BadRow(f"{key!r} is not a field, or not of its kind", key)
    missing = [*([] if homes else ["module"]), *(key for key in ("names", "returns") if key not in table)]
    if missing:
        raise BadRow(f"{missing[0]!r} is missing")
    if len(homes) > 1:
        raise BadRow("'module' and 'class' are both given", "class")


def _chosen(choice: type[enum.Enum], value: str, key: str) -> enum.Enum:
    try:
        return choice(value)
    except ValueError:
        words = ", ".join(repr(each.value) for each in choice if each.value)
        raise BadRow(f"{key} = {value!r} is none of {words}", key) from None


CHOICES: Mapping[str, type[enum.Enum]] = {"returns": Returns, "puts": Puts, "observes": Observes}
HOMES = ("module", "class")
# what a table may have, and of which kind it is
KINDS: Mapping[str, type] = {
    **dict.fromkeys((*HOMES, "names"), str),
    **{
        field.name: bool if field.type == "bool" else str
        for field in fields(Row)
        if field.name not in ("name", "of_class", "even_in_sight")
    },
}
