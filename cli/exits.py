"""Exit codes."""

from __future__ import annotations

OK = 0
FINDINGS = 1
ERROR = 2
SIGNALLED = 128  # and the number of the signal
INTERRUPTED = 130
