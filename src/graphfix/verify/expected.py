"""What the results of a repair are measured by, and where they rightly differ from the original's.

A repair computes what its original computes. Where the original dies, that is so up to the walk in which it dies; what comes
after it is compared with a reference: the original, run on in the way that the repair stands for (`probe/reference.py`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Expected:
    """`reference` is empty where there is nothing to run on; then `reason` says why the results cannot be the same.

    `losses` is false where walks have no counterparts, because the repair joins or drops some: printed numbers and parameters
    decide then. `strict`: the same parameters get gradients from the first walks on.
    """

    reference: str = ""
    reason: str = ""
    losses: bool = True
    strict: bool = False


CUT = Expected("cut")
JOINED = Expected("retain", "several walks become one, over the sum of their losses", losses=False)
DROPPED = Expected("skip", "the second walk over a loss is gone", losses=False)
ANEW = Expected(reason="what was computed once is computed anew for each walk", strict=True)
TRAINED = Expected(reason="what was computed from a hidden leaf is the trained leaf now")
BY_RULE = {
    "GF102": CUT,
    "GF201": CUT,
    "GF202": CUT,
    "GF203": CUT,
    "GF204": Expected("cut", "a total starts anew: its value differs, its gradient does not", losses=False),
    "GF205": TRAINED,
    "GF301": Expected("retain"),
    "GF302": DROPPED,
    "GF303": Expected("retain"),
    "GF304": Expected("copy"),
    "GF306": Expected("cut", "the gradient ends where the iteration begins"),
    "GF308": Expected("retain"),
    "GF401": Expected("copy"),
    "GF901": Expected("old"),
    "GF903": Expected("old"),
}
BY_CASE = {
    "GF203/adjacency": ANEW,
    "GF203/mixing_weights": ANEW,
    "GF203/unsafe_noise_outside": ANEW,
    "GF203/unsafe_random_draw": ANEW,
    "GF301/loop_over_heads": JOINED,
    "GF301/loop_over_losses": JOINED,
    "GF301/summed_pair": JOINED,
    "GF302/every_iteration": ANEW,
    "GF302/unsafe_closure": ANEW,
    "GF303/unsafe_advantage": CUT,
    "GF304/unsafe_loss_per_action": Expected(reason="one step for the sum of the losses, in place of one behind each"),
    "GF308/unsafe_mapped_losses": JOINED,
    # an index of a numpy array: no way to run on, and the first read is in the first iteration
    "GF901/array_helper": Expected(reason="the original ends at its first read of a number"),
    "GF901/numpy_element": Expected(reason="the original ends at its first read of a number"),
}


def expected(key: str) -> Expected:
    """What is expected of the case `key`, such as `GF201/gru_state`."""
    return BY_CASE.get(key) or BY_RULE.get(key.partition("/")[0], Expected())
