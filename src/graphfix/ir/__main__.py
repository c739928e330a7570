"""`python -m graphfix.ir FILE...`: the code objects of Python files, as text."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from graphfix.ir.lowering import Lowered
from graphfix.ir.printer import shown


def main(names: list[str]) -> int:
    """Print each file's code objects; 2 where one cannot be read or is no Python."""
    for name in names:
        try:
            tree = ast.parse(Path(name).read_bytes(), name)
        except (OSError, SyntaxError, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 2
        for code in Lowered(tree).codes():
            print("\n".join(shown(code)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
