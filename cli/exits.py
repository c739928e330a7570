"""Exit codes."""

from __future__ import annotations

OK = 0
FINDINGS = 1
ERROR = 2
INTERRUPTED = 130
