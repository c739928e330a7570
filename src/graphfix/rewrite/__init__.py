"""Rewriting: operations on spans in, a text that parses out. libcst is imported only when something is rewritten."""

from graphfix.rewrite.apply import Applied, apply_fixes, edits_of

__all__ = ["Applied", "apply_fixes", "edits_of"]
