"""Add and remove keyword arguments of a libcst call, with the commas, lines and comments around them."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from graphfix.rewrite.layout import RefusedError

Space = cst.BaseParenthesizableWhitespace


def add_argument(call: cst.Call, name: str, value: str) -> cst.Call:
    made = cst.parse_expression(value)
    args = list(call.args)
    for position, arg in enumerate(args):
        if arg.keyword is not None and arg.keyword.value == name:
            args[position] = arg.with_changes(value=made)
            return call.with_changes(args=args)
    arg = cst.Arg(made, keyword=cst.Name(name), equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")))
    if not args:
        return call.with_changes(args=[arg])
    last = args[-1]
    if isinstance(last.value, cst.GeneratorExp) and not last.value.lpar:
        last = last.with_changes(value=last.value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()]))
    between = _separator(call)
    if isinstance(last.comma, cst.Comma):
        end = last.comma.whitespace_after
        arg = arg.with_changes(comma=last.comma.with_changes(whitespace_after=_closing(end)))
    else:
        end = last.whitespace_after_arg
        arg = arg.with_changes(whitespace_after_arg=_closing(end))
    comma = cst.Comma(whitespace_after=_opening(end, between))
    args[-1] = last.with_changes(comma=comma, whitespace_after_arg=cst.SimpleWhitespace(""))
    return call.with_changes(args=[*args, arg])


def _separator(call: cst.Call) -> Space:
    """What stands between two arguments of this call, without comments."""
    if len(call.args) > 1 and isinstance(call.args[-2].comma, cst.Comma):
        found = call.args[-2].comma.whitespace_after
    elif isinstance(call.whitespace_before_args, cst.ParenthesizedWhitespace):
        found = call.whitespace_before_args
    else:
        found = cst.SimpleWhitespace(" ")
    if isinstance(found, cst.ParenthesizedWhitespace):
        return cst.ParenthesizedWhitespace(indent=found.indent, last_line=found.last_line)
    return cst.SimpleWhitespace(" ") if found.empty else found


def _opening(end: Space, between: Space) -> Space:
    """The space before the new argument: comments that stood behind the old last one stay with it."""
    if isinstance(end, cst.ParenthesizedWhitespace) and has_comment(end):
        last_line = between.last_line if isinstance(between, cst.ParenthesizedWhitespace) else end.last_line
        return end.with_changes(last_line=last_line)
    return between


def _closing(end: Space) -> Space:
    if isinstance(end, cst.ParenthesizedWhitespace):
        return cst.ParenthesizedWhitespace(indent=end.indent, last_line=end.last_line)
    return end


def remove_argument(call: cst.Call, name: str) -> cst.Call:
    args = list(call.args)
    found = [position for position, arg in enumerate(args) if arg.keyword is not None and arg.keyword.value == name]
    if not found:
        raise RefusedError(f"the call has no argument `{name}`")
    position = found[0]
    gone = args.pop(position)
    if has_comment(gone.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=cst.SimpleWhitespace(""))):
        raise RefusedError("there is a comment inside the argument")
    after = _space_after(gone)
    if position == len(args):
        return _drop_last(call, args, gone, after)
    before = _space_before(call, position)
    merged = _merge(before, after, take_last=_is_lines(after) and not _is_lines(before))
    return _with_space_before(call, args, position, merged)


def _drop_last(call: cst.Call, args: list[cst.Arg], gone: cst.Arg, after: Space) -> cst.Call:
    if not args:
        merged = _merge(call.whitespace_before_args, after, take_last=True)
        keep = merged if has_comment(merged) else cst.SimpleWhitespace("")
        return call.with_changes(args=[], whitespace_before_args=keep)
    last = args[-1]
    assert isinstance(last.comma, cst.Comma)
    merged = _merge(last.comma.whitespace_after, after, take_last=True)
    if isinstance(gone.comma, cst.Comma) or has_comment(merged):
        args[-1] = last.with_changes(comma=last.comma.with_changes(whitespace_after=merged))
    else:
        args[-1] = last.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=merged)
    return call.with_changes(args=args)


def _space_after(arg: cst.Arg) -> Space:
    if not isinstance(arg.comma, cst.Comma):
        return arg.whitespace_after_arg
    return _merge(arg.whitespace_after_arg, arg.comma.whitespace_after, take_last=True)


def _space_before(call: cst.Call, position: int) -> Space:
    if not position:
        return call.whitespace_before_args
    comma = call.args[position - 1].comma
    assert isinstance(comma, cst.Comma)
    return comma.whitespace_after


def _with_space_before(call: cst.Call, args: list[cst.Arg], position: int, space: Space) -> cst.Call:
    if not position:
        return call.with_changes(args=args, whitespace_before_args=space)
    previous = args[position - 1]
    assert isinstance(previous.comma, cst.Comma)
    args[position - 1] = previous.with_changes(comma=previous.comma.with_changes(whitespace_after=space))
    return call.with_changes(args=args)


def _is_lines(space: Space) -> bool:
    return isinstance(space, cst.ParenthesizedWhitespace)


def _merge(first: Space, second: Space, take_last: bool) -> Space:
    """One space for two that meet, with the comments of both."""
    if not has_comment(first) and not has_comment(second):
        return second if take_last else first
    if not isinstance(first, cst.ParenthesizedWhitespace):
        return second
    if not isinstance(second, cst.ParenthesizedWhitespace):
        return first
    own = second.first_line
    moved = [cst.EmptyLine(False, first.last_line, own.comment, own.newline)] if own.comment else []
    lines: Sequence[cst.EmptyLine] = [*first.empty_lines, *moved, *second.empty_lines]
    last = second.last_line if take_last else first.last_line
    return first.with_changes(empty_lines=lines, last_line=last)


def has_comment(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Comment) or any(has_comment(child) for child in node.children)
