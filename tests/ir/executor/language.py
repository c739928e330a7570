"""CPython's own tests of the language, run by the executor: the cases of a module of the package `test`, and its doctests."""

from __future__ import annotations

import ast
import builtins
import doctest
import importlib.util
import io
import sys
import types
import unittest
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphfix.ir.variables import within

from .modules import known, run, run_tree


@dataclass
class Report:
    """`failed`: what did not pass, each with the last line of what it said."""

    passed: int = 0
    skipped: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def source_of(name: str) -> Path | None:
    """The file of a module of the package `test`, which some distributions leave out."""
    try:
        found = importlib.util.find_spec(f"test.{name}")
    except ModuleNotFoundError:
        return None
    return Path(found.origin) if found is not None and found.origin is not None else None


def cases(name: str, path: Path, excluded: set[str]) -> Report:
    """Run the cases of a module but those that are excluded, each called `Class.method`."""
    report = Report()
    with loaded(name, path) as module:
        classes = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, unittest.TestCase)]
        for cls in dict.fromkeys(classes):
            some = {each.id().removeprefix(f"test.{name}."): each for each in flat(unittest.defaultTestLoader.loadTestsFromTestCase(cls))}
            report.skipped += [short for short in some if short in excluded]
            suite = unittest.TestSuite(each for short, each in some.items() if short not in excluded)
            result = unittest.TestResult()
            suite.run(result)
            bad = [*result.failures, *result.errors, *((each, "unexpected success") for each in result.unexpectedSuccesses)]
            failed = {getattr(each, "test_case", each).id().removeprefix(f"test.{name}."): text for each, text in bad}
            report.failed |= {short: text.strip().splitlines()[-1] for short, text in failed.items()}
            report.passed += result.testsRun - len(failed) - len({each.id() for each, _ in result.skipped})
    return report


def doctests(name: str, path: Path, excluded: set[str]) -> Report:
    """Run the doctests of a module. An example is called by its doctest and line; it counts as passed where it is no failure."""
    report = Report()
    with loaded(name, path) as module, by_executor():
        for test in doctest.DocTestFinder(recurse=True).find(module, module.__name__):
            one_doctest(name, test, excluded, report)
    return report


def one_doctest(name: str, test: doctest.DocTest, excluded: set[str], report: Report) -> None:
    def called(example: doctest.Example) -> str:
        return f"{test.name.removeprefix(f'test.{name}.')}:{example.source.splitlines()[0].strip()}"

    report.skipped += [called(example) for example in test.examples if called(example) in excluded]
    test.examples = [example for example in test.examples if called(example) not in excluded]

    class Runner(doctest.DocTestRunner):
        def report_failure(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
            report.failed[called(example)] = got

        def report_unexpected_exception(self, out: Any, test: doctest.DocTest, example: doctest.Example, exc_info: Any) -> None:
            report.failed[called(example)] = repr(exc_info[1])

    result = Runner(verbose=False).run(test, out=lambda text: None)
    report.passed += result.attempted - result.failed


@contextmanager
def loaded(name: str, path: Path) -> Iterator[types.ModuleType]:
    module = types.ModuleType(f"test.{name}")
    module.__dict__.update(__builtins__=builtins, __file__=str(path), __package__="test")
    with known(module.__name__, module), warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        run(path.read_text("utf-8"), module.__dict__, str(path))
        yield module


def flat(suites: Any) -> Iterator[unittest.TestCase]:
    for each in suites:
        if isinstance(each, unittest.TestCase):
            yield each
        else:
            yield from flat(each)


@contextmanager
def by_executor() -> Iterator[None]:
    """Doctests run by the executor, as an interactive session: what an expression gives is shown."""

    def compiled(source: str, filename: str, mode: str, flags: int, inherit: bool) -> str:
        compile(source, filename, mode, flags, inherit)  # it says what is no Python
        return source

    def executed(source: str, namespace: dict[str, Any]) -> None:
        tree = ast.parse(source)
        for statement in list(within(tree.body)):
            if isinstance(statement, ast.Expr):
                statement.value = ast.Call(ast.Name("__show__", ast.Load()), [statement.value], [])
        namespace["__show__"] = lambda value: sys.displayhook(value)
        run_tree(ast.fix_missing_locations(tree), namespace, "<doctest>")

    doctest.compile, doctest.exec = compiled, executed  # type: ignore[attr-defined]
    try:
        yield
    finally:
        del doctest.compile, doctest.exec  # type: ignore[attr-defined]
