"""Halo: does a judge tell rubrics apart as far as people do, or has one impression several names (Thorndike 1920)?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from jurybox.stats.bias import Sides, matched
from jurybox.stats.correlation import midranks, ratio, spread
from jurybox.stats.jackknife import Told, jackknifed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Cells = NDArray[np.bool_]


def halo(scores: Sequence[ArrayLike], human: Sequence[ArrayLike]) -> Sides:
    """Mean Spearman correlation between pairs of rubrics, of the judge and of people's means, over the same items.

    One table a rubric on either side, all of the same sources and systems. A pair of rubrics counts if neither side is
    constant on it. Ranks are those of the whole, also where a source is left out for the interval.
    """
    import numpy as np

    tables = [matched(*both) for both in zip(scores, human, strict=True)]
    pairs = [_pair(tables[one], tables[other]) for one, other in combinations(range(len(tables)), 2)]
    kept = [pair for pair in pairs if not np.isnan(_correlations(pair.sum(axis=0, keepdims=True))).any()]
    seen = [there for _, _, there, _ in tables]
    n = int((np.sum(seen, axis=0) > 1).sum()) if seen else 0
    lost = max((lost for *_, lost in tables), default=0)
    parts = np.concatenate(kept or [np.zeros((1, 12))], axis=1)
    why = _why_no_halo(len(tables), n)

    def side(number: int) -> Any:
        return lambda sums: _mean_of_pairs(sums)[:, number]

    figures = {
        "the judge's": (side(0), 1.0),
        "people's": (side(1), 1.0),
        "the judge's less people's": (lambda sums: _mean_of_pairs(sums) @ np.array([1.0, -1.0]), 2.0),
    }
    what = f"mean Spearman's rho of {len(kept)} pairs of rubrics"
    return Sides(
        *(
            jackknifed(parts, figure, Told(n, lost, f"{what}, {whose}", why), (-most, most))
            for whose, (figure, most) in figures.items()
        )
    )


def _pair(one: tuple[Floats, Floats, Cells, int], other: tuple[Floats, Floats, Cells, int]) -> Floats:
    """Source x 12: n, sums, squares and products of the ranks of two rubrics, the judge's six and people's six."""
    import numpy as np

    there = one[2] & other[2]
    found = []
    for sides in ((one[0], other[0]), (one[1], other[1])):
        x, y = (_ranks(side, there) for side in sides)
        found += [part.sum(axis=1) for part in (there.astype(np.float64), x, y, x * x, y * y, x * y)]
    return np.stack(found, axis=1)


def _ranks(side: Floats, there: Cells) -> Floats:
    """Centred mid-ranks among the items there are, 0 elsewhere."""
    import numpy as np

    found = np.zeros(side.shape)
    if there.any():
        ranks = midranks(side[there])
        found[there] = ranks - ranks.mean()
    return found


def _correlations(sums: Floats) -> Floats:
    """Rows x pairs x sides, nan where a side is constant."""
    import numpy as np

    n, x, y, xx, yy, xy = np.moveaxis(sums.reshape(len(sums), -1, 2, 6), 3, 0)
    n = np.maximum(n, 1)
    return ratio(xy - x * y / n, spread(xx, x, n), spread(yy, y, n))


def _mean_of_pairs(sums: Floats) -> Floats:
    import numpy as np

    return np.asarray(_correlations(sums).mean(axis=1))


def _why_no_halo(rubrics: int, n: int) -> str:
    if rubrics < 2:
        return "a correlation between rubrics needs two rubrics, and there is " + ("one" if rubrics else "none")
    return "in every pair of rubrics, one is constant" if n else "no item has a score and a rating on two rubrics"
