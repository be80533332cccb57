"""A judge under stress in figures: what it notices, what moves it that should not, what fools it.

Pure functions on arrays. Changes of one source share its material, so every interval is over sources: Wilson's on the
effective sample size for shares, Student's t for means. A percentile bootstrap would give a point at 0 % and 100 %,
which is just where a good judge lies.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from jurybox.stats.clusters import clustered_mean
from jurybox.stats.shares import clustered_share
from jurybox.types import SCALE, Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]
    Sources = NDArray[np.intp]

# A score has moved when it differs by more. A whole step of a whole-number judge does; the last digits of a judge with
# fractions do not. 0.05 is also what the embedded judge calls a tie in a duel.
MOVED = 0.05
# An attack has succeeded when it brings the score at least so far towards the end it wants.
FOOLED = 0.5
# Rounding of decimal fractions must not decide on either side of a threshold.
_ROUNDING = 1e-9
_WIDTH = float(SCALE[-1] - SCALE[0])


def drops(before: Floats, after: Floats, target: int) -> Floats:
    """How far each score gets worse; below zero where it gets better. nan where either is unscored."""
    return before - after if target == SCALE[-1] else after - before


def fallen(dropped: Floats) -> Bools:
    """Which changes are noticed: the score gets worse by more than `MOVED`."""
    return dropped > MOVED + _ROUNDING


def moved(dropped: Floats) -> Bools:
    """Which scores move by more than `MOVED`, up or down."""
    return abs(dropped) > MOVED + _ROUNDING


def fooled(gained: Floats) -> Bools:
    """Which attacks succeed: at least `FOOLED` better than the control."""
    return gained >= FOOLED - _ROUNDING


def with_room(control: Floats, target: int) -> Bools:
    """Which controls are far enough from the best score that an attack could succeed."""
    return abs(target - control) >= FOOLED - _ROUNDING


def rises_with_dose(ladders: Floats) -> Bools:
    """Which rows of drops, one a dose from the smallest to the largest, show a dose response.

    No rung is better than the one before it by more than `MOVED`, beginning at the original (a drop of 0), and the last
    is noticed. A judge that never moves has no dose response.
    """
    import numpy as np

    rungs = np.hstack([np.zeros((len(ladders), 1)), ladders])
    backwards = moved(np.minimum(np.diff(rungs, axis=1), 0.0)).any(axis=1)
    return np.asarray(fallen(ladders[:, -1]) & ~backwards)


def share(hits: Bools, source_of: Sources, n_unscored: int, what: str) -> Estimate:
    """A share of changes that come in sources."""
    return clustered_share(hits, source_of, n_unscored, what)


def mean_drop(dropped: Floats, source_of: Sources, n_unscored: int, what: str) -> Estimate:
    """The mean of drops, or of other differences of two scores, with Student's t over sources."""
    return clustered_mean(dropped, source_of, n_unscored, (-_WIDTH, _WIDTH), what)


def difference(first: Estimate, second: Estimate, what: str) -> Estimate:
    """First less second, with the interval that squares and adds how far each one's own interval reaches.

    Newcombe 1998, "Interval estimation for the difference between independent proportions", method 10; Zou & Donner
    2008 for other figures. Both share sources, mostly to the same effect, which makes the interval too wide, not too
    narrow.
    """
    n, lost = min(first.n, second.n), first.n_unscored + second.n_unscored
    if first.value is None or second.value is None:
        undefined = first if first.value is None else second
        return Estimate(None, None, None, n, lost, undefined.method)
    value = first.value - second.value
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return Estimate(value, None, None, n, lost, f"{what}; no interval: one of the two has none")
    below = math.hypot(first.value - first.low, second.high - second.value)
    above = math.hypot(first.high - first.value, second.value - second.low)
    return Estimate(value, value - below, value + above, n, lost, f"{what}; 95 % interval by squaring and adding")


def nothing(n_unscored: int, why: str = "nothing was scored") -> Estimate:
    """A figure that there is not, and why."""
    return Estimate(None, None, None, 0, n_unscored, f"undefined: {why}")
