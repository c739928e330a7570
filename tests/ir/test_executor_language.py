"""CPython's own tests of the language pass where the executor runs them, so instructions mean what CPython does."""

from __future__ import annotations

import gc
import sys

import pytest

from .executor.language import cases, doctests, source_of

pytestmark = pytest.mark.deep

FRAMES = "looks at frames and tracebacks of the interpreter"
COUNTS = "counts references"
STUBS = "looks into the code object of a function, or its closure"
STARS = "`except*` is not lowered"
WAITS = "asks a generator or coroutine what it waits for"
SLOW = "takes long, and says nothing of the language"
CHILD = "runs a program, or C code for tests, in a process of its own"
UNRAISABLE = "asks in which line an unraisable error arose"
# by module: which cases are left out, and why
EXCLUDED: dict[str, dict[str, str]] = {
    "test_augassign": {},
    "test_baseexception": {},
    "test_binop": {},
    "test_bool": {},
    "test_call": {},
    "test_class": {},
    "test_compare": {},
    "test_contains": {},
    "test_contextlib": {
        "ContextManagerTestCase.test_contextmanager_traceback": FRAMES,
        "ContextManagerTestCase.test_nokeepref": COUNTS,
        "TestExitStack.test_exit_exception_traceback": FRAMES,
    },
    "test_contextlib_async": {
        "AsyncContextManagerTestCase.test_contextmanager_traceback": FRAMES,
        "TestAsyncExitStack.test_exit_exception_traceback": FRAMES,
    },
    "test_asyncgen": {},
    "test_coroutines": {
        "CoroutineTest.test_cr_await": WAITS,
        "CoroutineTest.test_for_2": COUNTS,
        "CoroutineTest.test_for_3": COUNTS,
        "CoroutineTest.test_for_6": COUNTS,
        "CoroutineTest.test_func_7": "a generator that is no coroutine waits for one: only its flag says that it must not",
        "CoroutineTest.test_stack_in_coroutine_throw": FRAMES,
        "OriginTrackingTest.test_origin_tracking": FRAMES,
        "OriginTrackingTest.test_origin_tracking_warning": FRAMES,
    },
    "test_decorators": {},
    "test_descr": {
        "ClassPropertiesAndMethods.test_cycle_through_dict": SLOW,
        "ClassPropertiesAndMethods.test_slots": COUNTS,
        "ClassPropertiesAndMethods.test_slots_trash": SLOW,
        "ClassPropertiesAndMethods.test_wrapper_segfault": SLOW,
    },
    "test_dictcomps": {},
    "test_dynamicclassattribute": {},
    "test_enum": {},
    "test_exception_group": {
        "DeepRecursionInSplitAndSubgroup.test_deep_split": "needs a stack of the usual depth",
        "DeepRecursionInSplitAndSubgroup.test_deep_subgroup": "needs a stack of the usual depth",
        "ExceptionGroupFields.test_basics_ExceptionGroup_fields": FRAMES,
        "NestedExceptionGroupBasicsTest.test_iteration_full_tracebacks": FRAMES,
        "NestedExceptionGroupBasicsTest.test_nested_exception_group_tracebacks": FRAMES,
    },
    "test_exception_variations": dict.fromkeys(
        (
            f"ExceptStarTestCases.test_{case}"
            for case in (
                "nested", "nested_else", "nested_else_mixed1", "nested_else_mixed2", "nested_mixed1", "nested_mixed2", "try_except",
                "try_except_else", "try_except_else_finally", "try_except_else_finally_no_exception", "try_except_else_no_exception",
                "try_except_finally", "try_except_finally_no_exception", "try_except_no_exception",
            )
        ),
        STARS,
    ),
    "test_exceptions": {
        "ExceptionTests.testAttributes": "it passes alone, and not always beside other tests",
        "ExceptionTests.testExceptionCleanupState": COUNTS,
        "ExceptionTests.testSettingException": CHILD,
        "ExceptionTests.test_memory_error_in_PyErr_PrintEx": CHILD,
        "ExceptionTests.test_memory_error_subclasses": SLOW,
        "ExceptionTests.test_trashcan_recursion": SLOW,
        "ExceptionTests.test_unhandled": FRAMES,
        "NameErrorTests.test_name_error_suggestions": FRAMES,
        "NameErrorTests.test_name_error_suggestions_do_not_trigger_for_long_names": FRAMES,
        "NameErrorTests.test_name_error_suggestions_from_globals": FRAMES,
        "NameErrorTests.test_name_error_with_custom_exceptions": FRAMES,
        "NameErrorTests.test_unbound_local_error_doesn_not_match": FRAMES,
        "PEP626Tests.test_lineno_after_other_except": FRAMES,
        "PEP626Tests.test_lineno_after_raise_in_except": FRAMES,
        "PEP626Tests.test_lineno_after_raise_in_with_exit": FRAMES,
        "PEP626Tests.test_lineno_after_raise_simple": FRAMES,
        "PEP626Tests.test_lineno_after_with": FRAMES,
        "PEP626Tests.test_lineno_in_finally_except": FRAMES,
        "PEP626Tests.test_lineno_in_finally_normal": FRAMES,
        "PEP626Tests.test_lineno_in_named_except": FRAMES,
        "PEP626Tests.test_lineno_in_try": FRAMES,
        "PEP626Tests.test_missing_lineno_shows_as_none": FRAMES,
    },
    "test_fstring": {},
    "test_funcattrs": {
        "CellTest.test_comparison": STUBS,
        "FunctionPropertiesTest.test___builtins__": STUBS,
        "FunctionPropertiesTest.test___closure__": STUBS,
        "FunctionPropertiesTest.test___code__": STUBS,
        "FunctionPropertiesTest.test_copying___code__": STUBS,
        "FunctionPropertiesTest.test_empty_cell": STUBS,
        "FunctionPropertiesTest.test_set_cell": STUBS,
    },
    "test_generator_stop": {},
    "test_generators": {
        "GeneratorStackTraceTest.test_send_with_yield_from": FRAMES,
        "GeneratorStackTraceTest.test_throw_with_yield_from": FRAMES,
        "YieldFromTests.test_generator_gi_yieldfrom": WAITS,
    },
    "test_genericclass": {},
    "test_global": {},
    "test_grammar": {
        "GrammarTests.test_funcdef": STUBS,
        "GrammarTests.test_try_star": STARS,
        "GrammarTests.test_var_annot_metaclass_semantics": "annotations that a metaclass has prepared are begun anew",
    },
    "test_index": {},
    "test_isinstance": {},
    "test_iter": {},
    "test_keywordonlyarg": {},
    "test_named_expressions": {},
    "test_opcodes": {},
    "test_operator": {},
    "test_patma": dict.fromkeys(
        (
            f"TestTracing.test_{case}"
            for case in (
                "default_capture", "default_wildcard", "no_default", "only_default_capture", "only_default_wildcard", "unreachable_code",
            )
        ),
        FRAMES,
    ),
    "test_positional_only_arg": {"PositionalOnlyTestCase.test_annotations_constant_fold": STUBS},
    "test_property": {},
    "test_raise": {"TestTraceback.test_accepts_traceback": FRAMES, "TestTracebackType.test_attrs": FRAMES},
    "test_richcmp": {},
    "test_scope": {"ScopeTests.testCellIsArgAndEscapes": STUBS, "ScopeTests.testCellIsLocalAndEscapes": STUBS},
    "test_string_literals": {},
    "test_subclassinit": {},
    "test_super": {"TestSuper.test___classcell___expected_behaviour": STUBS},
    "test_type_annotations": {},
    "test_typechecks": {},
    "test_types": {},
    "test_typing": {},
    "test_unary": {},
    "test_userdict": {},
    "test_with": {},
    "test_yield_from": {},
}  # fmt: skip
DOCTESTS: dict[str, dict[str, str]] = {
    "test_descrtut": {},
    "test_extcall": {},
    "test_generators": {
        "__test__.coroutine:levels": COUNTS,
        "__test__.coroutine:with support.catch_unraisable_exception() as cm:": UNRAISABLE,
        "__test__.refleaks:with support.catch_unraisable_exception() as cm:": UNRAISABLE,
    },
    "test_genexps": {"__test__.doctests:int(max(tupleids) - min(tupleids))": COUNTS},
    "test_listcomps": {},
    "test_metaclass": {},
    "test_pep646_syntax": {},
    "test_setcomps": {},
    "test_unpack": {},
    "test_unpack_ex": {},
}
OWN = pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the table is that of the tests of Python 3.11")


@pytest.fixture(scope="module", autouse=True)
def small_heap() -> None:
    """Many cases collect garbage: what earlier tests have imported, such as torch, is not gone over each time."""
    gc.freeze()


@OWN
@pytest.mark.parametrize("name", EXCLUDED)
def test_the_cases_of_a_module_pass(name: str) -> None:
    path = source_of(name)
    if path is None:
        pytest.skip("this Python comes without the package test")
    report = cases(name, path, set(EXCLUDED[name]))
    assert report.failed == {}
    assert report.passed
    assert sorted(report.skipped) == sorted(EXCLUDED[name])


@OWN
@pytest.mark.parametrize("name", DOCTESTS)
def test_the_doctests_of_a_module_pass(name: str) -> None:
    path = source_of(name)
    if path is None:
        pytest.skip("this Python comes without the package test")
    report = doctests(name, path, set(DOCTESTS[name]))
    assert report.failed == {}
    assert report.passed
    assert set(report.skipped) == set(DOCTESTS[name])
