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
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from jurybox.stats.bootstrap import RESAMPLES, SEED, complete, draws, estimate, numbered
from jurybox.types import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

Level = Literal["ordinal", "interval"]
LEVELS: tuple[Level, ...] = get_args(Level)

# Scores are compared to this many decimals: the mean of 3, 3 and 4 is one value, however it was summed.
_DECIMALS = 9
# A table of sources x patterns is summed faster than items are counted, unless it is much larger or does not fit.
_MOST_CELLS, _WORTH = 10_000_000, 8


def krippendorff_alpha(
    ratings: ArrayLike,
    groups: Sequence[Hashable] | NDArray[Any],
    level: Level = "ordinal",
    *,
    seed: int = SEED,
    resamples: int = RESAMPLES,
) -> Estimate:
    """Alpha of a matrix judges x items (nan where a judge has no score); `groups` names each item's source.

    n counts the items that at least two judges scored; the others carry nothing and are the losses.
    """
    return krippendorff_alphas(ratings, groups, (level,), seed=seed, resamples=resamples)[level]


def krippendorff_alphas(
    ratings: ArrayLike,
    groups: Sequence[Hashable] | NDArray[Any],
    levels: Sequence[Level] = LEVELS,
    *,
    seed: int = SEED,
    resamples: int = RESAMPLES,
) -> dict[str, Estimate]:
    """`krippendorff_alpha` at several levels of the same resamples, for little more than the price of one."""
    import numpy as np

    table = np.asarray(ratings, dtype=np.float64).round(_DECIMALS)
    pairable = complete(table, 2)
    n, n_unscored = int(pairable.sum()), int((~pairable).sum())
    if n == 0:
        nothing = Estimate(None, None, None, 0, n_unscored, "undefined: no item was scored by two judges")
        return dict.fromkeys(levels, nothing)
    patterns, which = _Patterns.of(table[:, pairable])
    values = [patterns.alpha(_counted(which, np.ones(n), patterns.count), level) for level in levels]
    source_of, _ = numbered(groups)
    source_of, sources = numbered(source_of[pairable])
    times = _times(which, source_of, patterns.count, sources)
    resampled = [
        [patterns.alpha(occurring, level) for level in levels]
        for occurring in map(times, draws(sources, resamples if sources > 1 else 0, seed))
    ]
    columns = np.array(resampled, dtype=np.float64).reshape(-1, len(levels)).T
    return {
        level: _told(level, value, column, n, n_unscored, sources, seed)
        for level, value, column in zip(levels, values, columns, strict=True)
    }


def _told(
    level: Level, value: float, resampled: NDArray[np.float64], n: int, n_unscored: int, sources: int, seed: int
) -> Estimate:
    if math.isnan(value):
        return Estimate(None, None, None, n, n_unscored, "undefined: all scores are the same")
    return estimate(value, resampled, n, n_unscored, f"Krippendorff's alpha, {level}", sources, seed)


def _times(
    which: NDArray[np.intp], source_of: NDArray[np.intp], kinds: int, sources: int
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """How often each pattern occurs when each source is drawn so many times."""
    import numpy as np

    if sources * kinds > _MOST_CELLS or sources * kinds > _WORTH * len(which):
        return lambda drawn: _counted(which, drawn[source_of], kinds)
    table = np.bincount(source_of * kinds + which, minlength=sources * kinds).reshape(sources, kinds)
    table = table.astype(np.float64)
    # einsum goes without BLAS, see `alpha`.
    return lambda drawn: np.asarray(np.einsum("s,sk->k", drawn, table), dtype=np.float64)


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
