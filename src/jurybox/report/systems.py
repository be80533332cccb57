"""Item scores, system by system: their mean as an `Estimate`, and how they spread over the scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jurybox.stats import mean_of_scores
from jurybox.types import SCALE, Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MIDDLE = (SCALE[0] + SCALE[-1]) / 2


def by_system(
    scores: NDArray[np.float64], systems: NDArray[Any], size: int
) -> list[tuple[int, Estimate, tuple[int, ...]]]:
    """For each system that has an item, by its number: the mean of item scores (nan is unscored), and how many are
    nearest to each step of the scale (halves go up)."""
    import numpy as np

    scored = ~np.isnan(scores)
    kept, by = scores[scored], systems[scored]
    items, n = np.bincount(systems, minlength=size), np.bincount(by, minlength=size)
    totals, squares = np.bincount(by, kept, size), np.bincount(by, (kept - _MIDDLE) ** 2, size)
    steps = np.floor(kept + 0.5).astype(np.int64) - SCALE[0]
    nearest = np.bincount(by * len(SCALE) + steps, minlength=size * len(SCALE)).reshape(size, -1)
    return [
        (
            int(code),
            mean_of_scores(int(n[code]), float(totals[code]), float(squares[code]), int(items[code] - n[code])),
            tuple(nearest[code].tolist()),
        )
        for code in np.flatnonzero(items)
    ]
