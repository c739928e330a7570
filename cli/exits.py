"""Exit codes."""

from __future__ import annotations

OK = 0
FINDINGS = 1
ERROR = 2
SIGNALLED = 128  # and the number of the signal
INTERRUPTED = 130


def without_findings(code: int, *, exit_zero: bool) -> int:
    """The exit code of a run that came to `code`, where findings may not count: with `exit_zero`."""
    return OK if exit_zero and code == FINDINGS else code
