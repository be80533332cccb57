"""Shares of sources with their intervals."""

from __future__ import annotations

import math
from statistics import NormalDist

from jurybox.stats.means import CONFIDENCE
from jurybox.types import Estimate


def wilson(successes: float, n: int, n_unscored: int, what: str = "share") -> Estimate:
    """A share with Wilson's score interval (1927), which keeps its coverage near 0 and 1 and is never a point.

    `successes` may hold halves, as ties are. Halves vary less than wins and losses do, so with them the interval is
    wider than it need be, never narrower.
    """
    if n == 0:
        return Estimate(None, None, None, 0, n_unscored, "undefined: nothing was scored")
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half_width = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # Rounding may step over an end by a last digit.
    low, high = max(centre - half_width, 0.0), min(centre + half_width, 1.0)
    return Estimate(share, low, high, n, n_unscored, f"{what}; 95 % Wilson interval over sources")
