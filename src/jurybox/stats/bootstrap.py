"""Resampling whole sources: summaries of one source share its material, so they are drawn together or not at all.

Percentile intervals (Efron & Tibshirani 1993, chapter 13) around the value of the data as they are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jurybox.stats.means import CONFIDENCE
from jurybox.types import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SEED = 0
RESAMPLES = 500


def numbered(groups: Sequence[Hashable] | NDArray[Any]) -> tuple[NDArray[np.intp], int]:
    """Each member's group as a number from 0 in the order of first appearance, and how many groups there are."""
    import numpy as np

    if isinstance(groups, np.ndarray):
        _, first, which = np.unique(groups, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.intp)
        rank[np.argsort(first)] = np.arange(len(first))
        return rank[which], len(first)
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(group, len(numbers)) for group in groups], dtype=np.intp), len(numbers)


def complete(scores: NDArray[np.float64], least: int) -> NDArray[np.bool_]:
    """Which columns of rows x columns have at least so many numbers."""
    import numpy as np

    return np.asarray((~np.isnan(scores)).sum(axis=0) >= least)


def draws(sources: int, resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """How often each source is drawn, resample by resample."""
    import numpy as np

    rng = np.random.default_rng(seed)
    for _ in range(resamples):
        yield np.bincount(rng.integers(0, sources, sources), minlength=sources).astype(np.float64)


def estimate(
    value: float, resampled: NDArray[np.float64], n: int, n_unscored: int, what: str, sources: int, seed: int
) -> Estimate:
    """A value with the percentiles of its resamples; those that are nan had no value and are counted."""
    import numpy as np

    if sources < 2:
        return Estimate(value, None, None, n, n_unscored, f"{what}; no interval from one source", seed)
    found = resampled[~np.isnan(resampled)]
    lost = len(resampled) - len(found)
    if lost * 2 > len(resampled):
        return Estimate(
            value, None, None, n, n_unscored, f"{what}; no interval: most resamples have no variation", seed
        )
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(found, [tail, 1 - tail])
    method = f"{what}; 95 % percentile bootstrap over {sources} sources, {len(resampled)} resamples"
    if lost:
        method += f" ({lost} without variation left out)"
    return Estimate(value, float(low), float(high), n, n_unscored, method, seed)
