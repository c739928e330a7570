"""Promise 18: settings are plain values; they run nothing, and what is no value of a key is one error."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphfix.report.escape import escaped
from graphfix.settings.errors import SettingsError
from graphfix.settings.keys import KEYS
from graphfix.settings.resolver import Resolver

EXAMPLES = int(os.environ.get("GRAPHFIX_SETTINGS", "300"))  # 10,000 before a release
# what would do something where a setting is a command, an import, a template or a way out
HOSTILE = [
    "$(touch MARK)", "`touch MARK`", "!touch MARK", "; touch MARK", "__import__('os').system('touch MARK')", "os:system", "{0.__class__}",
    "%(here)s", "${HOME}", "~/x", "../../../etc/passwd", "/etc/passwd", "/dev/zero", "file:///etc/passwd", "git+ssh://x/y", "\\\\host\\x",
    "*" * 500, "[" * 500, "(a+)+$", "GF101", "all", "json", "sarif", "x.py", "\x1b[31m", "\u202e", "0", "",
]  # fmt: skip
PLAIN = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=20), st.integers(), st.booleans(), st.floats(allow_nan=False))
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(HOSTILE), inner, max_size=3), max_leaves=6
)
DONE: list[str] = []
WATCHED = (
    "exec",
    "compile",
    "import",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "ctypes.dlopen",
    "socket.",
)


def spelled(value: object) -> str:
    """The value in TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(letter):08X}" if not 0xD800 <= ord(letter) < 0xE000 else "?" for letter in value) + '"'
    if isinstance(value, list):
        return "[" + ", ".join(map(spelled, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{spelled(key)} = {spelled(part)}" for key, part in value.items()) + "}"
    return repr(value)


def asked(folder: Path) -> None:
    """All that a run asks of its settings."""
    resolver = Resolver()
    resolver.whole_run(folder)
    scope = resolver.scope_of(folder)
    for name in ("x.py", "a/b.py"):
        resolver.excludes(folder / name, False)
        resolver.accepts(folder / name)
        scope.excludes(folder / name, folder=False)


@pytest.fixture(scope="module", autouse=True)
def watched() -> None:
    """An audit hook stays: it writes down only while something is asked."""
    sys.addaudithook(lambda event, _: DONE.append(event) if DONE and event.startswith(WATCHED) else None)


@given(st.dictionaries(st.sampled_from([key.name for key in KEYS] + ["selct", "plugins"]), VALUES, min_size=1, max_size=3))
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_values_are_settings_or_one_error(tmp_path: Path, values: dict[str, object]) -> None:
    for name in ("graphfix.toml", "plain/graphfix.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / "graphfix.toml").write_text("".join(f"{name} = {spelled(value)}\n" for name, value in values.items()))
    (tmp_path / "plain/graphfix.toml").write_text('select = ["GF1"]\nextend-exclude = ["*.py"]\n')
    asked(tmp_path / "plain")  # whatever is imported for the first time is
    before = sorted(os.listdir(tmp_path))
    DONE[:] = ["watching"]
    try:
        asked(tmp_path)
    except SettingsError as error:
        assert len(escaped(str(error)).splitlines()) == 1  # as it is shown
    finally:
        done, DONE[:] = DONE[1:], []
    # a kind of value may bring in a module of graphfix or of the standard library, but nothing is started
    assert {event for event in done if event not in ("import", "exec", "compile")} == set()
    assert sorted(os.listdir(tmp_path)) == before and not Path("MARK").exists()
