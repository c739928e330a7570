"""What the programs beside a file's own may take for it, as counts: so that the answer for one file of many does not wait for all of them."""

from __future__ import annotations

# What further programs may take together, in steps: as much as the runs over any file may, or more where its own program takes much
LEAST_SHARE = 100_000
TIMES_OWN = 2


class TooDear(Exception):
    """A program takes more steps than are left for it."""


def share_beside(steps: int) -> int:
    """What further programs may take together for a file whose own program took these `steps`."""
    return max(LEAST_SHARE, TIMES_OWN * steps)
