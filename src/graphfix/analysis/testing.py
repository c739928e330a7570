"""Whether a module holds tests."""

from __future__ import annotations

import ast
import re
from pathlib import PurePath

from graphfix.source.document import Document

# as test runners find modules: https://docs.pytest.org/en/stable/explanation/goodpractices.html#conventions-for-python-test-discovery
NAMED = re.compile(r"test_.*\.py|.*_test\.py|conftest\.py")
RUNNERS = frozenset(("pytest", "unittest", "hypothesis", "nose"))


def is_test(document: Document) -> bool:
    """Whether a module holds tests, or what they share: by its name, or as it imports what tests are run with.

    A test also does what is to fail, and keeps nothing for long.
    """
    modules = {part.module or "" for part in document.imports if isinstance(part, ast.ImportFrom)}
    modules |= {alias.name for part in document.imports if isinstance(part, ast.Import) for alias in part.names}
    named = NAMED.fullmatch(PurePath(document.path).name) is not None
    return named or any(module.split(".")[0] in RUNNERS for module in modules)
