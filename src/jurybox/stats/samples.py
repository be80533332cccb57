"""Several samples of one judgment: how they become one score, and how far they differ from each other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median
from typing import Literal, get_args

from jurybox.stats.means import bounded_mean
from jurybox.types import SCALE, Estimate

Combine = Literal["mean", "median", "mode"]
COMBINES: tuple[Combine, ...] = get_args(Combine)

# The largest standard deviation on the scale: two samples, one at either end.
_WIDEST = (SCALE[-1] - SCALE[0]) / math.sqrt(2)


def mode(scores: Sequence[float]) -> float:
    """The score given most often; where several are, the mean of those."""
    counts = Counter(scores)
    most = max(counts.values())
    return fmean(score for score, count in counts.items() if count == most)


# What makes one score of an item's scored samples (at least one).
COMBINING: Mapping[Combine, Callable[[Sequence[float]], float]] = {"mean": fmean, "median": median, "mode": mode}


def mean_spread(n: int, total: float, total_of_squares: float, n_unscored: int) -> Estimate:
    """The mean over items of the standard deviation (n - 1) of an item's scored samples."""
    return _mean_over_items(n, total, total_of_squares, n_unscored, _WIDEST, "mean standard deviation within items")


def mean_agreement(n: int, total: float, total_of_squares: float, n_unscored: int) -> Estimate:
    """The mean over items of the share of pairs of an item's scored samples that are exactly equal."""
    return _mean_over_items(n, total, total_of_squares, n_unscored, 1.0, "mean share of equal pairs within items")


def _mean_over_items(
    n: int, total: float, total_of_squares: float, n_unscored: int, most: float, what: str
) -> Estimate:
    if n == 0:
        return Estimate(None, None, None, 0, n_unscored, "undefined: no item has two scored samples")
    return bounded_mean(n, total, total_of_squares - total * total / n, n_unscored, (0.0, most), what)
