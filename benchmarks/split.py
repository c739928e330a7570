"""Programs of one file, split into two files: does a safe fix change what they compute?

usage: python -m benchmarks.split FOLDER [--unsafe] [-v]

FOLDER holds scripts, or folders with a before.py each. Of each script, functions and classes go to a file of their own, which the
rest imports. Where both together still print what the script printed, `graphfix apply` is run over them, and they are run again.
Printed: how many were split and still ran, in how many a fix was made, in how many it changed the other file, and which run otherwise then.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)
SECONDS = 60


@dataclass(frozen=True)
class Result:
    """What came of one script: whether it was split, which files were changed, and how the runs differ."""

    name: str
    is_split: bool = False
    changed: tuple[str, ...] = ()
    harm: str = ""


def split(text: str) -> tuple[str, str] | None:
    """The definitions of a script, and the rest of it; None where there are no two such parts."""
    tree = ast.parse(text)
    imports = [part for part in tree.body if isinstance(part, IMPORTS)]
    definitions = [part for part in tree.body if isinstance(part, DEFINITIONS)]
    rest = [part for part in tree.body if part not in imports and part not in definitions]
    if not definitions or not rest:
        return None
    future = [part for part in imports if isinstance(part, ast.ImportFrom) and part.module == "__future__"]
    own = ast.ImportFrom("parts", [ast.alias(part.name) for part in definitions], 0)
    library = ast.Module([*imports, *definitions], [])
    script = ast.Module([*future, *(part for part in imports if part not in future), own, *rest], [])
    return tuple(ast.unparse(ast.fix_missing_locations(part)) + "\n" for part in (library, script))  # type: ignore[return-value]


def output(folder: Path, name: str) -> tuple[int, str]:
    """The exit status of a script, and what it prints."""
    try:
        done = subprocess.run([sys.executable, name], cwd=folder, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return -1, ""
    return done.returncode, done.stdout


def tried(path: Path, unsafe: bool) -> Result:
    """Split one script, repair it, and compare the runs."""
    name = path.parent.name if path.name == "before.py" else path.stem
    parts = split(path.read_text("utf-8"))
    if parts is None:
        return Result(name)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "whole.py").write_bytes(path.read_bytes())
        before = output(folder, "whole.py")
        (folder / "whole.py").unlink()
        for file, text in zip(("parts.py", "script.py"), parts, strict=True):
            (folder / file).write_text(text, "utf-8")
        if output(folder, "script.py") != before:
            return Result(name)
        more = ["--unsafe-fixes"] if unsafe else []
        subprocess.run([Path(sys.executable).with_name("graphfix"), "apply", ".", "-q", "--allow-dirty", "--no-cache", *more], cwd=folder, capture_output=True)
        now = {file: (folder / file).read_text("utf-8") for file in ("parts.py", "script.py")}
        changed = tuple(file for file, text in zip(now, parts, strict=True) if now[file] != text)
        after = output(folder, "script.py") if changed else before
    works = before[0] == 0
    harm = "" if after == before or not works else f"{before[0]} {before[1][-60:]!r} -> {after[0]} {after[1][-60:]!r}"
    return Result(name, True, changed, harm)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--unsafe", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    scripts = sorted([*options.folder.glob("*/before.py"), *options.folder.glob("*.py")])
    results = []
    for path in scripts:
        results.append(tried(path, options.unsafe))
        if options.verbose and results[-1].changed:
            print(results[-1].name, *results[-1].changed)
        if results[-1].harm:
            print(f"HARM {results[-1].name}: {results[-1].harm}")
    cut = [result for result in results if result.is_split]
    changed = [result for result in cut if result.changed]
    elsewhere = [result for result in changed if "parts.py" in result.changed]
    harmed = sum(bool(result.harm) for result in cut)
    print(f"{len(cut)} of {len(scripts)} split, {len(changed)} repaired ({len(elsewhere)} in the imported file), {harmed} harmed")


if __name__ == "__main__":
    main()
