"""Agreement between judges: Krippendorff's alpha, with an interval over sources.

Written out instead of calling the `krippendorff` package, against which it is tested: that one builds a matrix of all
values by all values for every item, which scores that are means or expectations (thousands of distinct values) do not
allow, and a bootstrap calls it hundreds of times. Both distances used here are squares of a difference, so alpha needs
sums only: of the values themselves (interval), or of their mid-ranks among all pairable values (ordinal: the ranks that
lie between two values, each end counted half, is the difference of their mid-ranks).

Source: Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability".
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from jurybox.stats.bootstrap import RESAMPLES, SEED, complete, draws, estimate, numbered
from jurybox.types import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

Level = Literal["ordinal", "interval"]

# Scores are compared to this many decimals: the mean of 3, 3 and 4 is one value, however it was summed.
_DECIMALS = 9


def krippendorff_alpha(
    ratings: ArrayLike,
    groups: Sequence[Hashable],
    level: Level = "ordinal",
    *,
    seed: int = SEED,
    resamples: int = RESAMPLES,
) -> Estimate:
    """Alpha of a matrix judges x items (nan where a judge has no score); `groups` names each item's source.

    n counts the items that at least two judges scored; the others carry nothing and are the losses.
    """
    import numpy as np

    table = np.asarray(ratings, dtype=np.float64).round(_DECIMALS)
    pairable = complete(table, 2)
    n, n_unscored = int(pairable.sum()), int((~pairable).sum())
    if n == 0:
        return Estimate(None, None, None, 0, n_unscored, "undefined: no item was scored by two judges")
    patterns, which = _Patterns.of(table[:, pairable])
    value = patterns.alpha(_counted(which, np.ones(n), patterns.count), level)
    if math.isnan(value):
        return Estimate(None, None, None, n, n_unscored, "undefined: all scores are the same")
    source_of, sources = numbered([group for group, kept in zip(groups, pairable, strict=True) if kept])
    resampled = [
        patterns.alpha(_counted(which, drawn[source_of], patterns.count), level)
        for drawn in draws(sources, resamples if sources > 1 else 0, seed)
    ]
    what = f"Krippendorff's alpha, {level}"
    return estimate(value, np.array(resampled, dtype=np.float64), n, n_unscored, what, sources, seed)


def _counted(which: NDArray[np.intp], weights: NDArray[np.float64], kinds: int) -> NDArray[np.float64]:
    import numpy as np

    return np.asarray(np.bincount(which, weights=weights, minlength=kinds), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Patterns:
    """The distinct ways in which an item was scored. Few where scores are whole, so a resample costs little."""

    values: NDArray[np.float64]  # distinct scores, ascending
    codes: NDArray[np.intp]  # judges x patterns: which value; one beyond the last where there is none
    size: NDArray[np.int64]  # scores in each pattern

    @classmethod
    def of(cls, table: NDArray[np.float64]) -> tuple[_Patterns, NDArray[np.intp]]:
        """The patterns of judges x items, and which one each item has."""
        import numpy as np

        values = np.unique(table[~np.isnan(table)])
        codes, which = np.unique(np.searchsorted(values, table), axis=1, return_inverse=True)
        return cls(values, codes, (codes < len(values)).sum(axis=0)), which.reshape(-1)

    @property
    def count(self) -> int:
        return int(self.codes.shape[1])

    def alpha(self, times: NDArray[np.float64], level: Level) -> float:
        """1 - observed / expected disagreement when pattern p occurs times[p] times; nan without variation.

        Products are summed without BLAS, whose threads cost more than they give at this size on a busy machine.
        """
        import numpy as np

        every_code = np.broadcast_to(times, self.codes.shape).ravel()
        counts = _counted(self.codes.ravel(), every_code, len(self.values) + 1)[:-1]
        n = counts.sum()
        places = np.cumsum(counts) - counts / 2 if level == "ordinal" else self.values
        places = places - (counts * places).sum() / n
        expected = 2 * (counts * places**2).sum() / (n - 1)
        if expected < 1e-12:
            return math.nan
        placed = np.append(places, 0.0)[self.codes]
        within = 2 * (self.size * (placed**2).sum(axis=0) - placed.sum(axis=0) ** 2) / (self.size - 1)
        return float(1 - (times * within).sum() / n / expected)
