"""What the runs of a repaired file may not show that those of the file before did not: how fixes are tried together."""

from __future__ import annotations

from graphfix.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Health:
    """What each run over a file came to, as far as it can be compared with the runs over another version of it.

    `walks`: for each run, in order, how many nodes each walk gives a gradient that may be used, up to the first walk that raises, and
    whether one raises. `misused`: how many places make of a number what only a tensor can. `empty`: how many walk what has no graph.
    `unhooked`: how many ask for the gradient of such a tensor.
    """

    walks: tuple[tuple[tuple[int, ...], bool], ...]
    misused: int
    empty: int
    truncated: bool
    unhooked: int = 0

    def beside(self, other: Health) -> Health:
        """What both come to together: two programs that share a file."""
        return Health(
            (*self.walks, *other.walks),
            self.misused + other.misused,
            self.empty + other.empty,
            self.truncated or other.truncated,
            self.unhooked + other.unhooked,
        )

    def worse_than(self, before: Health) -> str:
        """Why this version is worse than the one `before`; empty where nothing says so."""
        if self.misused > before.misused:
            return "a number would be used as a tensor"
        if self.empty > before.empty:
            return "a backward() would find no graph"
        if self.unhooked > before.unhooked:
            return "a gradient would be asked for of a tensor that requires none"
        if self.truncated or before.truncated or len(self.walks) != len(before.walks):
            return ""
        for (now, raises), (then, raised) in zip(self.walks, before.walks):
            if raises and not raised:
                return "a backward pass would raise an error that it does not raise now"
            if len(now) < len(then) or not raised and any(less == 0 < more for less, more in zip(now, then)):
                return "a backward pass would reach no parameter any more"
        return ""
