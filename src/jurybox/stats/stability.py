"""Does a judge say the same again? Intraclass correlation over the samples of an item.

One-way random effects: ICC(1,1) for one sample, ICC(1,k) for the mean of an item's samples (Shrout & Fleiss 1979).
Items may have different numbers of samples: n0 takes the place of k (Donner 1986, "A Review of Inference Procedures for
the Intraclass Correlation Coefficient in the One-Way Random Effects Model"), and ICC(1,k) is for a mean of n0 samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from jurybox.stats.bootstrap import numbered
from jurybox.stats.jackknife import Told, jackknifed
from jurybox.types import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

ONE_SAMPLE = "one sample an item"
# A mean square below this is rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Stability:
    """ICC(1,1): how far one sample can be relied on. ICC(1,k): how far the mean of an item's samples can."""

    single: Estimate
    mean: Estimate

    @classmethod
    def undefined(cls, why: str, items: int = 0) -> Stability:
        nothing = Estimate(None, None, None, 0, items, f"undefined: {why}")
        return cls(nothing, nothing)

    def as_dict(self) -> dict[str, Any]:
        return {**self.single.as_dict(), "mean_of_samples": self.mean.as_dict()}


def stability(samples: ArrayLike, groups: Sequence[Hashable]) -> Stability:
    """Of a matrix items x samples, nan where a sample was not scored; `groups` names each item's source. Items with
    fewer than two scored samples tell nothing of stability: left out, and the losses.

    The interval is made on the logarithm of F, the ratio of the mean squares, and taken back from there: half of it is
    Fisher's z of an intraclass correlation (Fisher 1925), which varies about equally at every value.
    """
    import numpy as np

    table = np.asarray(samples, dtype=np.float64)
    there = ~np.isnan(table)
    counts = there.sum(axis=1)
    kept = counts > 1
    n, lost = int(kept.sum()), int((~kept).sum())
    if n == 0:
        return Stability.undefined("no item has two scored samples" if table.shape[1] > 1 else ONE_SAMPLE, lost)
    source_of, sources = numbered([group for group, keep in zip(groups, kept, strict=True) if keep])
    parts = _parts(table[kept], there[kept], source_of, sources)
    each = f"{counts[kept].min()}" if counts[kept].min() == counts[kept].max() else "several"
    told = (
        Told(n, lost, f"ICC(1,1), one-way random, {each} samples an item", ""),
        Told(n, lost, f"ICC(1,k), one-way random, mean of an item's {each} samples", ""),
    )
    between, within, n0 = (float(part[0]) for part in _mean_squares(parts.sum(axis=0, keepdims=True)))
    if special := _without_ratio(between, within, n):
        return Stability(*(special(one) for one in told))
    return Stability(
        jackknifed(parts, _log_f, told[0], back=lambda log_f: math.expm1(log_f) / (math.exp(log_f) + n0 - 1)),
        jackknifed(parts, _log_f, told[1], back=lambda log_f: -math.expm1(-log_f)),
    )


def _without_ratio(between: float, within: float, n: int) -> Callable[[Told], Estimate] | None:
    """What is said where F is 0, infinite or nothing at all."""
    if n < 2:
        return lambda told: replace(told, why="two items with two scored samples are needed").undefined()
    if between < _ROUNDING:
        return lambda told: replace(told, why="the judge's mean is the same for every item").undefined()
    if within < _ROUNDING:
        return lambda told: told.without_interval(1.0, "no item's samples differ")
    return None


def _parts(table: Floats, there: NDArray[np.bool_], source_of: NDArray[np.intp], sources: int) -> Floats:
    """Source x 6: items, samples, their squared numbers, squares within items, sums, squared sums over numbers."""
    import numpy as np

    counts = there.sum(axis=1).astype(np.float64)
    # Centred at the mean of all: sums of squares keep their digits.
    known = np.where(there, table - table[there].mean(), 0.0)
    totals = known.sum(axis=1)
    means = totals / counts
    within = (np.where(there, known - means[:, None], 0.0) ** 2).sum(axis=1)
    columns = (np.ones(len(counts)), counts, counts**2, within, totals, totals * means)
    return np.stack([np.bincount(source_of, column, sources) for column in columns], axis=1)


def _mean_squares(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """Between items, within items, and n0."""
    import numpy as np

    items, samples, squared, squares_within, total, squares = sums.T
    free = np.maximum(items - 1, 1)
    between = np.maximum(squares - total**2 / samples, 0.0) / free
    return between, squares_within / np.maximum(samples - items, 1), (samples - squared / samples) / free


def _log_f(sums: Floats) -> Floats:
    """The logarithm of between over within, nan where one of them is 0."""
    import numpy as np

    between, within, _ = _mean_squares(sums)
    defined = (sums[:, 0] > 1) & (between > _ROUNDING) & (within > _ROUNDING)
    f = np.divide(between, within, out=np.ones_like(within), where=defined)
    return np.where(defined, np.log(f), np.nan)
