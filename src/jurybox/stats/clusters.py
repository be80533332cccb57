"""Means of items that come in sources: items of one source are not independent, sources are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from jurybox.stats.means import CONFIDENCE, bounded_mean, t_quantile
from jurybox.types import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Ends = tuple[float, float]
NO_ENDS: Ends = (-math.inf, math.inf)


def clustered_mean(
    values: NDArray[np.float64], source_of: NDArray[np.intp], n_unscored: int, ends: Ends, what: str
) -> Estimate:
    """A mean with Student's t over sources: the variance of a ratio to the sources' sizes (Cochran 1977, 2.11 and 9A).

    For one item a source it is the t interval over items. Without spread it is the exact one of `bounded_mean`.
    """
    import numpy as np

    n, sources = len(values), len(np.unique(source_of))
    if n == 0:
        return Estimate(None, None, None, 0, n_unscored, "undefined: nothing was scored")
    mean = float(values.mean())
    if sources < 2:
        return Estimate(mean, None, None, n, n_unscored, f"{what}; no interval from one source")
    parts = np.bincount(source_of, values - mean) / n
    variance = float(parts @ parts) * sources / (sources - 1)
    if variance < 1e-12:
        return _without_spread(mean, n, sources, n_unscored, ends, what)
    half_width = t_quantile(sources - 1, (1 + CONFIDENCE) / 2) * math.sqrt(variance)
    return cut(mean, half_width, n, n_unscored, f"{what}; 95 % t interval over {sources} sources", ends)


def _without_spread(mean: float, n: int, sources: int, n_unscored: int, ends: Ends, what: str) -> Estimate:
    if not all(map(math.isfinite, ends)):
        return Estimate(mean, mean, mean, n, n_unscored, f"{what}; no spread, and no ends of a scale to bound it")
    found = bounded_mean(sources, mean * sources, 0.0, n_unscored, ends, what)
    return Estimate(mean, found.low, found.high, n, n_unscored, f"{found.method} over {sources} sources")


def cut(value: float, half_width: float, n: int, n_unscored: int, method: str, ends: Ends) -> Estimate:
    """Cut at the scale's ends, which no mean of people's scores can pass."""
    value, low, high = (min(max(end, ends[0]), ends[1]) for end in (value, value - half_width, value + half_width))
    return Estimate(value, low, high, n, n_unscored, method)
