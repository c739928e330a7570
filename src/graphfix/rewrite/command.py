"""Each rule as a `libcst.codemod` command: `python -m libcst.tool codemod graphfix.codemods.commands.AccumulatedGraph`."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import libcst as cst
from libcst.codemod import CodemodCommand

from graphfix.model import Applicability, Finding
from graphfix.rewrite.apply import apply_fixes

MOST_PASSES = 10


class RuleCommand(CodemodCommand):
    """Applies the safe fixes of one rule to a whole module."""

    CODE: ClassVar[str] = ""

    def transform_module_impl(self, tree: cst.Module) -> cst.Module:
        text = tree.code
        for _ in range(MOST_PASSES):
            fixes = [finding.fix for finding in self.findings(text) if finding.fix is not None]
            safe = [fix for fix in fixes if fix.applicability is Applicability.SAFE]
            made = apply_fixes(text, safe).text
            if made == text:
                break
            text = made
        return tree if text == tree.code else cst.parse_module(text)

    def findings(self, text: str) -> list[Finding]:
        from graphfix.run.engine import findings_of

        path = Path(self.context.filename or "<string>")
        manager = self.context.metadata_manager
        roots = (Path(manager.root_path),) if manager is not None else (path.parent,)
        return findings_of(path, text, roots, counts=lambda finding: finding.code == self.CODE)
