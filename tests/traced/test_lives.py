"""Where the tracer says that something happened."""

from __future__ import annotations

from typing import Any

from graphfix.verify.probe.tracing.lives import Lives


def test_walks_of_a_library_are_told_apart_by_its_lines() -> None:
    """What a trainer does below one line of the user's: that it iterates over data there is not where it goes backward."""
    lives = Lives()
    lives.foreign_folders = ("/lib/",)
    library: dict[str, Any] = {}
    code = "def ask(f):\n    return f()\ndef load(f):\n    return ask(f)\ndef walk(f):\n    return ask(f)\n"
    exec(compile(code, "/lib/trainer.py", "exec"), library)
    places = [library[name](lives.walked_at) for name in ("load", "walk")]
    assert [place.library for place in places] == [("/lib/trainer.py", 4), ("/lib/trainer.py", 6)]
    assert {place.line for place in places} == {places[0].line}
    made = [library[name](lives.here) for name in ("load", "walk")]
    assert made[0] is made[1]
