"""How much of the core is not yet as it is to be, and what five programs take, as counts: `python -m benchmarks.ratchets --write`.

`tests/meta/ratchets.toml` holds the numbers. All may only fall, but for the safe fixes on the faults of the fixtures, which may only rise.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

from graphfix.analysis.explore import Explorer, Tape
from graphfix.interpreter.interning import forget_keys
from graphfix.ir import lowering
from graphfix.relevance.parts import Parts
from graphfix.rewrite import layout
from graphfix.run.again import forget_files
from graphfix.run.examine import Job, examine
from graphfix.source import guard

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
NUMBERS = ROOT / "tests/meta/ratchets.toml"
SOURCE = ROOT / "src/graphfix"
ROOMS = (
    "analysis", "autograd", "calls", "dataflow", "effects", "interpreter", "ir", "models", "obligations", "project", "relevance",
    "repair", "rewrite", "run", "source",
)  # fmt: skip
SYNTAX_ROOMS = ("source", "ir", "rewrite")  # what may know syntax
BY_BARE_NAME = ("graphfix.effects.methods", "graphfix.effects.rows.methods_named", "graphfix.effects.project_rows.added_methods")
FIXTURES = ROOT / "fixtures"
RISING = "safe_fixes"
METER = '''
class Meter:
    def __init__(self):
        self.sum = 0

    def update(self, value, n):
        self.sum += value * n
'''
TRAIN = '''
import torch
from meters import Meter

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
losses = Meter()
for x in torch.randn(9, 3, 4):
    loss = net(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.update(loss, 3)
print(float(losses.sum))
'''
Numbers = dict[str, dict[str, int]]


def programs() -> dict[str, dict[str, str]]:
    """The five programs: the files of each, the first of which is asked for."""

    def fixture(name: str) -> dict[str, str]:
        return {"train.py": (FIXTURES / name).read_text("utf-8")}

    return {
        "gan": fixture("GF303-missing-detach/discriminator_input/before.py"),
        "rnn": fixture("GF201-carried-state/gru_sequence/before.py"),
        "evaluation": fixture("GF103-graph-in-evaluation/validation/before.py"),
        "two_files": {"train.py": TRAIN, "meters.py": METER},
        "clean": fixture("GF201-carried-state/ok_repackaged.py"),
    }


def measured() -> Numbers:
    """All numbers as they are now."""
    trees = {path: ast.parse(path.read_text("utf-8")) for path in sorted((*SOURCE.rglob("*.py"), *(ROOT / "codemods").glob("*.py")))}
    return {
        "code": {
            "files_that_import_ast": sum(imports_ast(tree) for path, tree in trees.items() if room_of(path) not in SYNTAX_ROOMS),
            "open_sites": sum(is_call_of(node, {"Open"}) for tree in trees.values() for node in ast.walk(tree)),
            "scans_of_trees": sum(
                is_scan(node) for path, tree in trees.items() if is_core(path) for node in ast.walk(tree)
            ),
            "rows_by_bare_name": sum(looked_up_by_name(tree) for path, tree in trees.items() if room_of(path) != "effects"),
        },
        "lines": {
            **{room: sum(map(lines_of, (SOURCE / room).rglob("*.py"))) for room in ROOMS},
            "codemods": sum(map(lines_of, (ROOT / "codemods").glob("*.py"))),
        },
        **{f"program_{name}": taken(files) for name, files in programs().items()},
        RISING: {"fixtures": safe_fixes()},
    }


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0] if path.is_relative_to(SOURCE) else "codemods"


def is_core(path: Path) -> bool:
    """Whether a file is one of the rooms of the core that should not look through syntax."""
    return room_of(path) in (*ROOMS, "codemods") and room_of(path) not in SYNTAX_ROOMS


def lines_of(path: Path) -> int:
    return path.read_text("utf-8").count("\n")


def imports_ast(tree: ast.Module) -> bool:
    nodes = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    return any(
        node.module == "ast" if isinstance(node, ast.ImportFrom) else any(alias.name == "ast" for alias in node.names) for node in nodes
    )


def is_call_of(node: ast.AST, names: set[str]) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return getattr(node.func, "id", getattr(node.func, "attr", "")) in names


def is_scan(node: ast.AST) -> bool:
    """Whether a call looks through the tree of a whole file."""
    if not is_call_of(node, {"subtree", "walk"}):
        return False
    assert isinstance(node, ast.Call)
    return bool(node.args) and ast.unparse(node.args[0]).split(".")[-1] in ("tree", "tree)")


def looked_up_by_name(tree: ast.Module) -> int:
    """How many calls ask what a method does by its bare name, whatever object has it."""
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if node.module in BY_BARE_NAME or f"{node.module}.{alias.name}" in BY_BARE_NAME
    }
    return sum(isinstance(node, ast.Name) and node.id in imported for node in ast.walk(tree))


class Counter:
    """Counts calls of what is replaced by what it wraps."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(("runs", "steps", "trials", "replays", "parses", "lowerings", "parts"), 0)

    def counting(self, name: str, wrapped: Callable[..., object]) -> Callable[..., object]:
        def count(*how: object, **more: object) -> object:
            self.counts[name] += 1
            return wrapped(*how, **more)

        return count

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        run = Explorer.run_knowing

        def stepped(explorer: Explorer, *how: object) -> object:
            before = explorer.steps
            self.counts["runs"] += 1
            try:
                return run(explorer, *how)  # type: ignore[arg-type]
            finally:
                self.counts["steps"] += explorer.steps - before

        patches = (
            mock.patch.object(Explorer, "run_knowing", stepped),
            mock.patch("graphfix.repair.trial.rerun", self.counting("trials", rerun_of_trials())),
            mock.patch.object(Tape, "replay", self.counting("replays", Tape.replay)),
            mock.patch.object(guard.ast, "parse", self.counting("parses", ast.parse)),
            mock.patch.object(lowering, "lowered", self.counting("lowerings", lowering.lowered)),
            mock.patch.object(Parts, "__init__", self.counting("parts", Parts.__init__)),
        )
        with contextlib.ExitStack() as stack:
            for each in patches:
                stack.enter_context(each)
            yield


def rerun_of_trials() -> Callable[..., object]:
    from graphfix.repair import trial

    return trial.rerun


def taken(files: dict[str, str]) -> dict[str, int]:
    """What the check of a program takes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for file, text in files.items():
            (folder / file).write_text(text, "utf-8")
        forget_all()
        counter = Counter()
        with counter.counted():
            outcome = examine(folder / next(iter(files)), Job((folder,)))
        assert not outcome.faults and not outcome.failed, outcome
        return counter.counts


def forget_all() -> None:
    """Let what was analysed before in this process make no difference."""
    forget_files()
    forget_keys()
    guard.parse.cache_clear()
    layout.layout_of.cache_clear()


def safe_fixes() -> int:
    """How many findings in the faulty programs of the fixtures have a safe fix."""
    outcomes = (examine(path, Job((path.parent,))) for path in sorted(FIXTURES.rglob("before.py")))
    return sum(
        finding.fix is not None and finding.fix.applicability.value == "safe" for outcome in outcomes for finding in outcome.findings
    )


def stored() -> Numbers:
    return tomllib.loads(NUMBERS.read_text("utf-8"))


def written(numbers: Numbers) -> str:
    """The file that holds these numbers."""
    head = "# What may only fall, but for `safe_fixes`, which may only rise; written by `python -m benchmarks.ratchets --write`\n"
    tables = ("\n".join((f"\n[{table}]", *(f"{name} = {number}" for name, number in own.items()))) + "\n" for table, own in numbers.items())
    return head + "".join(tables)


def changes(before: Numbers, now: Numbers) -> tuple[list[str], list[str]]:
    """What has become worse, and what has become better, each as a line."""
    worse, better = [], []
    for table in {**before, **now}:
        for name in {**before.get(table, {}), **now.get(table, {})}:
            old, new = before.get(table, {}).get(name), now.get(table, {}).get(name)
            if old != new:
                is_better = old is not None and new is not None and (new > old) is (table == RISING)
                (better if is_better else worse).append(f"{table}.{name}: {old} -> {new}")
    return worse, better


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the numbers down")
    wants = parser.parse_args().write
    now = measured()
    worse, better = changes(stored() if NUMBERS.exists() else {}, now)
    for word, lines in (("worse", worse), ("better", better)):
        for line in lines:
            print(f"{word}: {line}")
    if wants:
        NUMBERS.write_text(written(now), "utf-8")
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main())
