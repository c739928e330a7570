"""Whether a Python number, of 64 bits, gives the same results as the tensor that it replaces."""

from __future__ import annotations

import ast
import re
import struct
from collections.abc import Iterable, Iterator
from functools import cached_property

from graphfix.analysis.flow import library
from graphfix.analysis.flow.calls import name_of
from graphfix.analysis.flow.circular import true_of_itself
from graphfix.analysis.flow.flow import Flow
from graphfix.analysis.flow.functions import arguments
from graphfix.analysis.flow.places import Place, Use
from graphfix.analysis.flow.swallowed import swallowed
from graphfix.calls.meanings import Library
from graphfix.effects.rows import row_of
from graphfix.effects.schema import Row
from graphfix.lazy_dataclass import dataclass
from graphfix.obligations.digits import Digits
from graphfix.obligations.divisors import Divisors
from graphfix.obligations.loaded_numbers import loads_doubles
from graphfix.obligations.texts import texts_of
from graphfix.obligations.totals import Totals
from graphfix.source.subtree import subtree

# conversions of `%` that cut a number, or a text: https://docs.python.org/3/library/stdtypes.html#printf-style-string-formatting
CONVERSION = re.compile(r"%(?:\(\w*\))?[-#0 +]*[\d*]*(?:\.[\d*]+)?[a-zA-Z]")
WHOLE = re.compile(r"%[-#0 +]*\d*[dixXou]")
CUT_TEXT = re.compile(r"%[-#0 +]*\d*\.\d+[sra]")
LARGEST = 3e38  # of 32 bits
# `Accelerator` and its like compute in the precision that a settings file says
HALF = frozenset("e f2 float16 half bfloat16 fp16 bf16 torch.HalfTensor torch.cuda.HalfTensor torch.BFloat16Tensor".split())
LESS_PRECISE = frozenset(
    """half bfloat16 float16 chalf complex32 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2
    autocast amp bf16 fp16 Accelerator Fabric deepspeed""".split()
)
MORE_PRECISE = frozenset(
    "double float64 cdouble complex128 DoubleTensor set_default_dtype set_default_tensor_type from_numpy numpy".split()
)


@dataclass(eq=False)
class Numbers:
    """Asks the flow of one file."""

    flow: Flow

    @cached_property
    def divisors(self) -> Divisors:
        return Divisors(self.flow)

    @cached_property
    def digits(self) -> Digits:
        return Digits(self.flow)

    @cached_property
    def totals(self) -> Totals:
        return Totals(self.flow)

    @cached_property
    def half_precision(self) -> ast.AST | None:
        """Where the code computes in less than 32 bits: Python's numbers have 64."""
        for document in self.flow.code.documents.values():
            place = document.spelling(LESS_PRECISE) if document.words & LESS_PRECISE else None
            place = place or next(filter(names_half, subtree(document.tree)), None)
            if place is not None:
                return place
        return self.type_by_name

    @cached_property
    def type_by_name(self) -> ast.AST | None:
        """Where the code may ask for a type, or a conversion, by a name that it puts together, or reads: `getattr(torch, settings["dtype"])`."""
        for call, dotted in self.flow.code.calls.items():
            if dotted == "getattr" and len(call.args) > 1 and not isinstance(call.args[1], ast.Constant):
                texts = texts_of(self.flow, call.args[1])
                if texts & (LESS_PRECISE | MORE_PRECISE) if texts is not None else self.may_convert(call):
                    return call
            elif dotted == "vars" and any(map(self.is_torch, call.args)):
                return call
        return next((part for part in self.namespaces if self.is_torch(part.value)), None)

    def is_torch(self, module: ast.expr) -> bool:
        return any(isinstance(each, Library) and each.name == "torch" for each in self.flow.code.meant_by(module))

    @property
    def namespaces(self) -> Iterator[ast.Attribute]:
        for document in self.flow.code.documents.values():
            for part in subtree(document.tree) if "__dict__" in document.words else ():
                if isinstance(part, ast.Attribute) and part.attr == "__dict__":
                    yield part

    def may_convert(self, got: ast.Call) -> bool:
        """Whether what `getattr` gives may be one of torch's types, or a conversion such as `net.half()`."""
        above = self.flow.paths.parents.get(got)
        is_called = isinstance(above, ast.Call) and above.func is got and not arguments(above)
        return is_called or self.is_torch(got.args[0])

    @cached_property
    def more_precise(self) -> bool:
        """Whether the code may compute in 64 bits: there, an integer tensor becomes 32 bits by a Python number, and 64 by a tensor.

        https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
        """
        if self.type_by_name is not None or loads_doubles(self.flow):
            return True
        documents = self.flow.code.documents.values()
        return any(document.words & MORE_PRECISE or any(map(asks_for_float, subtree(document.tree))) for document in documents)

    def may_meet_tensor(self, site: ast.AST, place: Place) -> bool:
        """Whether the other operand of arithmetic may be a tensor of its own."""
        sides = [site.left, site.right] if isinstance(site, ast.BinOp) else [getattr(site, "value", None)]
        others = [side for side in sides if side is not None and side is not place]
        return any(not self.is_plain_number(source) for side in others for source in self.flow.graph.sources(side))

    @true_of_itself
    def is_plain_number(self, source: Place) -> bool:
        if isinstance(source, ast.BinOp):
            return all(
                self.is_plain_number(each) for side in (source.left, source.right) for each in self.flow.graph.sources(side)
            )
        if not isinstance(source, ast.Call):
            return isinstance(source, ast.Constant)
        counted = isinstance(source.func, ast.Attribute) and source.func.attr in ("item", "size", "numel")
        return (
            counted or library.gives_no_graph(dotted := self.flow.code.calls.get(source, "")) and not dotted.startswith("torch.")
        )

    def is_alike(self, use: Use, place: Place, stored: ast.expr, computed: bool) -> bool:
        """Whether a reader does with a Python number exactly what it does with a tensor that holds it.

        `computed`: the number was computed from the one that is put away.
        """
        if use.how == "comparison":  # Python computes, and compares, in another precision
            return not computed and self.is_condition(use.site) and self.is_exact(use.site, place, stored)
        if use.how == "argument" and use.name == "int":
            return not computed
        if use.how == "argument" and is_sensitive(use.name, computed):
            return False
        if use.how == "argument" and use.name == "round" and swallowed(self.flow, use.site) is not None:
            return False  # it takes no tensor
        if use.how == "argument" and use.name.rpartition(".")[2] in ("isinf", "isnan", "isfinite", "isclose"):
            return not computed  # what is too large for 32 bits is not for 64
        if self.cuts_text(use, place, computed) or computed and makes_text(use) and self.digits.matter(use.site):
            return False
        if use.how == "argument" and use.name == "print":
            return not catches_prints(self.flow, use.site)
        if spells_out(use):
            return is_shown(self.flow, use.site)
        if (
            use.how != "arithmetic"
            or use.name in ("Add", "Sub", "Mult", "Div")
            and not isinstance(use.site, (ast.BinOp, ast.AugAssign))
        ):
            return use.how != "arithmetic"
        if self.tells_rounding(use, computed) or self.more_precise and self.may_meet_tensor(use.site, place):
            return False  # what is left of two close numbers tells how they were rounded; types are promoted otherwise
        if use.name in ("Add", "Mult"):
            return True
        divisor = use.site.right if isinstance(use.site, ast.BinOp) else getattr(use.site, "value", None)
        return (
            use.name == "Div"
            and divisor is not place
            and divisor is not None
            and (self.divisors.is_not_zero(divisor, set()) or self.divisors.counts(divisor, stored))
        )

    def tells_rounding(self, use: Use, computed: bool) -> bool:
        """Whether arithmetic makes much of the last bits of what was computed, or of the range that it was computed in."""
        if use.name == "Add":
            return computed and self.totals.cancels(use.site)
        return use.name == "Sub" and computed or use.name in ("Mult", "Div") and self.totals.is_running_product(use.site)

    def cuts_text(self, use: Use, place: Place, computed: bool) -> bool:
        """Whether a text shows a part of the number, or of its text: `"%d" % x` cuts what comes behind the point."""
        site = use.site
        if use.how != "text":
            return False
        if isinstance(site, ast.FormattedValue):
            spec = ast.unparse(site.format_spec) if site.format_spec is not None else ""
            return site.conversion > 0 and "." in spec
        own = own_conversions(self.flow, site, place)
        return any(CUT_TEXT.fullmatch(each) or computed and WHOLE.fullmatch(each) for each in own)

    def is_condition(self, site: ast.AST) -> bool:
        """Whether only the truth of a comparison matters."""
        above = self.flow.paths.parents.get(site)
        while isinstance(above, ast.BoolOp) or isinstance(above, ast.UnaryOp) and isinstance(above.op, ast.Not):
            site, above = above, self.flow.paths.parents.get(above)
        if isinstance(above, (ast.If, ast.While, ast.IfExp, ast.Assert)):
            return above.test is site
        return isinstance(above, ast.comprehension) or isinstance(above, ast.Call) and name_of(above.func) in ("print", "bool")

    def is_exact(self, site: ast.AST, place: Place, stored: ast.expr) -> bool:
        """Whether a number is compared with what 32 bits hold as well: tensors compare in their own precision."""
        if not isinstance(site, ast.Compare):
            return False
        own = set(self.flow.graph.sources(stored))
        sides = [side for side in (site.left, *site.comparators) if side is not place]
        return all(source in own or self.fits(source) for side in sides for source in self.flow.graph.sources(side))

    @true_of_itself
    def fits(self, source: Place) -> bool:
        """Whether a source is a number that 32 bits hold exactly."""
        if isinstance(source, ast.UnaryOp):
            return all(self.fits(each) for each in self.flow.graph.sources(source.operand))
        if isinstance(source, ast.Call):
            return self.flow.code.calls.get(source) == "float" and all(isinstance(each, ast.Constant) for each in source.args)
        if isinstance(source, ast.Attribute):
            return source.attr == "inf"
        if not isinstance(source, ast.Constant) or not isinstance(source.value, (int, float)) and source.value is not None:
            return False
        value = float(source.value or 0)
        return abs(value) < LARGEST and struct.unpack("f", struct.pack("f", value))[0] == value

def own_conversions(flow: Flow, site: ast.AST, place: Place) -> list[str]:
    """The conversions that a text made by `%` has for the value at `place`; none where the template is not known."""
    sources = flow.graph.sources(site.left) if isinstance(site, ast.BinOp) else ()
    given = site.right.elts if isinstance(site, ast.BinOp) and isinstance(site.right, ast.Tuple) else [place]
    return [found for source in sources for found, value in zip(conversions_in(source), given) if value is place]


def conversions_in(template: Place) -> list[str]:
    """The conversions of a constant template, in order."""
    text = template.value if isinstance(template, ast.Constant) else None
    return CONVERSION.findall(text.replace("%%", "")) if isinstance(text, str) else []


def asks_for_float(part: ast.AST) -> bool:
    """Whether Python's `float` or `complex`, of 64 bits each, is asked for as the type of numbers."""
    if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in ("to", "type"):
        return any(map(is_float, part.args))
    return isinstance(part, ast.keyword) and part.arg == "dtype" and is_float(part.value)


def is_float(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("float", "complex")


def names_half(part: ast.AST) -> bool:
    """Whether a text names a type of less than 32 bits, as numpy and settings do."""
    return isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.lstrip("<>=") in HALF


def is_sensitive(name: str, computed: bool) -> bool:
    """Whether a function raises where a tensor's does not, or makes much of the last bits of what was computed in 64."""
    if name in ("pow", "divmod"):
        return True
    row = row_of(name) if computed and "." in name else None
    return row is not None and (row.draws or row.rough)


def spells_out(use: Use) -> bool:
    """Whether the text of a tensor is made, which says what it is: `tensor(0.5, grad_fn=<AddBackward0>)`."""
    return use.how == "argument" and use.name in ("str", "repr", "ascii") or use.how == "text" and use.name in ("r", "s", "a")


def makes_text(use: Use) -> bool:
    """Whether digits of a number become a text: by a template, or by `format`."""
    return use.how == "text" or use.how == "argument" and use.name.rpartition(".")[2] in ("format", "format_map")


def catches_prints(flow: Flow, site: ast.AST) -> bool:
    """Whether what is printed or logged comes back to the program, where the text of a tensor says what it is."""
    if any({"redirect_stdout", "redirect_stderr"} & document.words for document in flow.code.documents.values()) or flow.own_starts:
        return True
    logs = [call for call, dotted in flow.code.calls.items() if dotted.startswith("logging.")]
    channels = [keyword.value for keyword in getattr(site, "keywords", ()) if keyword.arg == "file"]
    return comes_back(flow, [*channels, *(given for call in logs for given in arguments(call))], logs)


def comes_back(flow: Flow, channels: Iterable[ast.expr], logs: Iterable[ast.Call]) -> bool:
    """Whether the program reads what is written to one of these channels, or by one of these logs."""
    made = [source for channel in channels for source in flow.graph.sources(channel) if isinstance(source, ast.Call)]
    if any(row.reads for call in made for row in rows_called(flow, call)):
        return True
    in_files = any(name_of(call.func) == "open" for call in made)
    in_files |= any(row.writes for call in logs for row in rows_called(flow, call))
    return in_files and any(row.reads for call in flow.code.calls for row in rows_called(flow, call))


def rows_called(flow: Flow, call: ast.Call) -> tuple[Row, ...]:
    """The rows of the function that is called, or of all methods of its name."""
    return library.rows_named(flow.code.calls.get(call) or name_of(call.func))


def is_shown(flow: Flow, text: ast.AST) -> bool:
    """Whether a text is only printed, logged or written: nobody takes it apart."""
    above = flow.paths.parents.get(text)
    while isinstance(above, (ast.BinOp, ast.JoinedStr, ast.FormattedValue)):
        above = flow.paths.parents.get(above)
    if not isinstance(above, ast.Call) or not library.shows(flow.code.calls.get(above, "") or name_of(above.func)):
        return False
    return not catches_prints(flow, above)
