"""One direction of imports: who may know whom, room by room."""

from __future__ import annotations

import ast
import graphlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = (
    "analysis", "autograd", "calls", "campaign", "dataflow", "effects", "files", "interpreter", "ir", "models", "obligations", "project",
    "pullrequest", "relevance", "repair", "report", "review",
    "rewrite", "run", "server", "settings", "source", "traced", "verify", "why",
)  # fmt: skip
FOLDERS = {
    "graphfix.cli": ROOT / "cli",
    "graphfix.codemods": ROOT / "codemods",
    **{f"graphfix.{room}": ROOT / "src/graphfix" / room for room in ROOMS},
}
OUTSIDE = (
    "settings",
    "codemods",
    "rewrite",
    "report",
    "run",
    "cli",
    "verify",
    "review",
    "pullrequest",
    "why",
    "traced",
    "server",
    "campaign",
)
FORBIDDEN = {
    "graphfix.source": ("autograd", "interpreter", "models", "analysis", "obligations", "repair", "files", *OUTSIDE),
    "graphfix.effects": ("autograd", "interpreter", "models", "analysis", "obligations", "repair", "project", "source", "files", *OUTSIDE),
    "graphfix.ir": ("autograd", "effects", "interpreter", "models", "analysis", "obligations", "repair", "project", "files", *OUTSIDE),
    "graphfix.dataflow": ("autograd", "effects", "interpreter", "models", "analysis", "obligations", "repair", "project", "files", *OUTSIDE),
    "graphfix.calls": ("autograd", "interpreter", "models", "relevance", "analysis", "obligations", "repair", "project", "files", *OUTSIDE),
    "graphfix.relevance": ("autograd", "analysis", "obligations", "repair", "files", *OUTSIDE),
    "graphfix.autograd": ("interpreter", "models", "analysis", "obligations", "repair", "source", "files", *OUTSIDE),
    "graphfix.interpreter": ("models", "analysis", "obligations", "repair", "files", "project", *OUTSIDE),
    "graphfix.models": ("analysis", "obligations", "repair", "files", *OUTSIDE),
    "graphfix.project": ("interpreter", "analysis", "obligations", "repair", *OUTSIDE),
    "graphfix.analysis": ("obligations", "repair", *OUTSIDE),
    "graphfix.obligations": ("repair", *OUTSIDE),
    "graphfix.repair": tuple(room for room in OUTSIDE if room != "rewrite"),
    "graphfix.files": ("autograd", "interpreter", "models", "analysis", "obligations", "repair", *OUTSIDE),
    "graphfix.run": ("verify", "report", "review", "pullrequest", "why", "server", "campaign", "cli"),
    "graphfix.campaign": (
        "analysis",
        "codemods",
        "rewrite",
        "run",
        "report",
        "verify",
        "review",
        "why",
        "server",
        "traced",
        "cli",
    ),
    "graphfix.codemods": ("rewrite", "report", "server", "campaign", "cli"),
    "graphfix.rewrite": ("codemods", "report", "server", "campaign", "cli"),
    "graphfix.pullrequest": ("settings", "verify", "server", "campaign", "cli"),
    "graphfix.report": ("settings", "why", "server", "campaign", "cli"),
    "graphfix.review": ("settings", "codemods", "report", "server", "campaign", "cli"),
    "graphfix.server": ("verify", "review", "pullrequest", "why", "traced", "campaign", "cli"),
    "graphfix.settings": ("rewrite", "server", "campaign", "cli"),
    "graphfix.verify": ("why", "traced", "server", "campaign", "cli"),
    "graphfix.traced": ("settings", "why", "review", "pullrequest", "server", "campaign", "cli"),
    "graphfix.why": ("codemods", "verify", "review", "pullrequest", "server", "campaign", "cli"),
}
# the child process knows no graphfix: its imports are relative, and nothing but torch and the standard library
PROBE = ROOT / "src/graphfix/verify/probe"
# what joins two layers on purpose: the libcst commands, and `python -m graphfix`
ALLOWED = {
    ("codemods/commands.py", "graphfix.rewrite.command"),
    ("src/graphfix/__main__.py", "graphfix.cli"),
}


def imported(path: Path) -> set[str]:
    """The dotted names that a file imports anywhere, also inside of functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 or PROBE in path.parents, f"{path}:{node.lineno}: relative import"
            found.update({node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)})
    return found


def inside(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def broken(path: Path, forbidden: tuple[str, ...]) -> list[str]:
    """The imports of `path` from the forbidden layers."""
    place = path.relative_to(ROOT).as_posix()
    allowed = [name for where, name in ALLOWED if where == place]
    return sorted(
        name
        for name in imported(path)
        if any(inside(name, f"graphfix.{layer}") for layer in forbidden) and not any(inside(name, ok) for ok in allowed)
    )


def test_no_rule_imports_a_rule() -> None:
    """What several rules ask is analysis, what several do is repair; a rule knows what a rule is, and nothing of the others."""
    rules = {path.stem for path in FOLDERS["graphfix.codemods"].glob("*.py")} - {"__init__", "base", "commands"}
    taken = {
        stem: sorted(name for name in imported(FOLDERS["graphfix.codemods"] / f"{stem}.py") if inside(name, "graphfix.codemods"))
        for stem in rules
    }
    others = {stem: [name for name in names if not inside(name, "graphfix.codemods.base")] for stem, names in taken.items()}
    assert {stem: names for stem, names in others.items() if names} == {}


LANGUAGE = "graphfix.lazy_dataclass"  # stands for a module of the standard library


def test_what_rules_declare_of_runs_is_mere_words() -> None:
    """Rules name symptoms and expectations; what looks for them stands above the rules."""
    rules = [path for path in FOLDERS["graphfix.codemods"].glob("*.py")]
    named = {name for path in rules for name in imported(path) if inside(name, "graphfix.verify")}
    words = {"graphfix.verify.expected", "graphfix.autograd.symptoms"}
    assert {name for name in named if not any(inside(name, word) for word in words)} == set()
    for name in words:
        own = [part for part in imported(ROOT / f"src/{name.replace('.', '/')}.py") if inside(part, "graphfix")]
        assert not [part for part in own if not inside(part, LANGUAGE)]


@pytest.mark.parametrize("package", sorted(FORBIDDEN))
def test_a_layer_imports_only_what_lies_below(package: str) -> None:
    files = sorted(FOLDERS[package].rglob("*.py"))
    assert files
    assert {path.name: names for path in files if (names := broken(path, FORBIDDEN[package]))} == {}


def test_the_probe_needs_torch_and_the_standard_library_only() -> None:
    """It runs in the interpreter of the user's script."""
    for path in PROBE.glob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
        names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0]
        assert {name.partition(".")[0] for name in names} <= {*sys.stdlib_module_names, "torch"}, path


def test_only_the_command_line_imports_the_command_line() -> None:
    files = [p for folder in ("src/graphfix", "codemods") for p in (ROOT / folder).rglob("*.py") if "cli" not in p.parts]
    assert {path.name: names for path in files if (names := broken(path, ("cli",)))} == {}


def test_nothing_imports_the_top_folders_by_their_own_names() -> None:
    files = [path for folder in ("src/graphfix", "codemods", "cli") for path in (ROOT / folder).rglob("*.py")]
    assert not [path for path in files if any(inside(name, top) for name in imported(path) for top in ("codemods", "cli"))]


CORE = [
    path
    for room in (
        "autograd", "ir", "dataflow", "calls", "effects", "relevance", "interpreter", "models", "source", "analysis", "obligations", "repair",
    )  # fmt: skip
    for path in sorted(FOLDERS[f"graphfix.{room}"].rglob("*.py"))
]


def runtime_imports(path: Path) -> set[str]:
    """The dotted names that a file imports when it runs: not those that only types need."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = [ast.Pass()]
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found.update({node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)})
    return found


# what takes long to import and most files do without: notebooks, Python 2, and where values may go, which only fixes are asked about
DEFERRED = {
    "src/graphfix/analysis/evidence.py": {
        "graphfix.analysis.flow.flow",
        "graphfix.analysis.flow.places",
        "graphfix.analysis.flow.swallowed",
    },
    "src/graphfix/repair/joins.py": {"graphfix.obligations.merged_backwards"},
    "src/graphfix/source/decode.py": {"graphfix.source.notebook", "graphfix.source.old_python"},
}


def test_no_file_of_the_core_imports_inside_of_a_function() -> None:
    """Such an import dodges a circle, or hides what a file depends on; those that save time are listed."""
    inner: dict[str, set[str | None]] = {}
    for path in CORE:
        functions = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.FunctionDef)]
        nodes = [node for function in functions for node in ast.walk(function) if isinstance(node, ast.ImportFrom)]
        if nodes:
            inner[path.relative_to(ROOT).as_posix()] = {node.module for node in nodes}
    assert inner == DEFERRED


def test_no_files_of_the_core_import_each_other_in_a_circle() -> None:
    names = {".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__"): path for path in CORE}
    order = graphlib.TopologicalSorter({name: runtime_imports(path) & names.keys() - {name} for name, path in names.items()})
    order.prepare()  # raises CycleError, which names the circle


def test_the_theory_of_autograd_knows_nobody() -> None:
    for path in FOLDERS["graphfix.autograd"].rglob("*.py"):
        names = [name for name in imported(path) if name.startswith("graphfix.")]
        assert not [name for name in names if not inside(name, "graphfix.autograd") and not inside(name, LANGUAGE)]
