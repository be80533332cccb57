"""Does one judge follow people better than another? Tests for two correlations that share the human side.

`perm_both` and `perm_systems`: the paired permutation tests PERM-BOTH and PERM-SYSTEMS of Deutsch, Dror & Roth 2021 ("A
Statistical Analysis of Summarization Evaluation Metrics Using Resampling Methods"). The first swaps single summaries,
and finds leads that are not there when a judge likes some systems; the second swaps whole systems, and does not
(docs/design/agree.md). `williams`: Williams' test (1959; Steiger 1980, equation 7; for metrics: Graham & Baldwin 2014),
which assumes normal scores and independent cases; here these are systems' means. All are one-sided: a small p says that
the first follows people better than the second.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from jurybox.stats.correlation import Coefficient, correlate_rows
from jurybox.stats.means import t_cdf

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

PERMUTATIONS = 1000
LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Lead:
    """The result of a test: how far the first is ahead, the probability of as much by chance, and how it was found.

    `p` is None where the test cannot be made; the method says why.
    """

    difference: float | None
    p: float | None
    method: str
    statistic: float | None = None
    seed: int | None = None

    @property
    def ahead(self) -> bool:
        """The first is shown to be better, at the usual level."""
        return self.p is not None and self.p < LEVEL

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def perm_both(
    first: ArrayLike,
    second: ArrayLike,
    human: ArrayLike,
    coefficient: Coefficient = "spearman",
    *,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Lead:
    """Whether `first` has the higher summary-level correlation: scores[source, system] of both are put on one scale
    (mean 0, deviation 1) and the two scores of every summary are swapped by the toss of a coin.

    p counts the data themselves as one of the permutations (Phipson & Smyth 2010), so it is never 0.
    """
    import numpy as np

    coins = np.shape(first)
    return _permuted(first, second, human, coefficient, "PERM-BOTH", coins, permutations, seed)


def perm_systems(
    first: ArrayLike,
    second: ArrayLike,
    human: ArrayLike,
    coefficient: Coefficient = "spearman",
    *,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Lead:
    """The same question, with all scores of a system swapped together: what a judge likes about a system goes with it.

    m systems have 2^m swaps, so with few of them p cannot be small.
    """
    import numpy as np

    coins = (1, np.shape(first)[1])
    return _permuted(first, second, human, coefficient, "PERM-SYSTEMS", coins, permutations, seed)


def _permuted(
    first: ArrayLike,
    second: ArrayLike,
    human: ArrayLike,
    coefficient: Coefficient,
    name: str,
    coins: tuple[int, ...],
    permutations: int,
    seed: int,
) -> Lead:
    """`coins` is the shape of what is tossed for: a coin for each summary, or one for a system's whole column."""
    import numpy as np

    one, other, people = (np.asarray(side, dtype=np.float64) for side in (first, second, human))
    missing = np.isnan(one) | np.isnan(other) | np.isnan(people)
    one, other = (_standard(np.where(missing, np.nan, side)) for side in (one, other))
    observed = _differences(one[None], other[None], people, coefficient)[0]
    if math.isnan(observed):
        return Lead(None, None, "undefined: one of the two has no correlation with people")
    rng, count, done = np.random.default_rng(seed), 1, 0
    block = max((1 << 20) // max(one.size * one.shape[1], 1), 1)
    while done < permutations:
        size = min(block, permutations - done)
        swap = rng.random((size, *coins)) < 0.5
        leads = _differences(np.where(swap, other, one), np.where(swap, one, other), people, coefficient)
        count += int((np.nan_to_num(leads) >= observed - 1e-12).sum())
        done += size
    method = f"{name} on the summary-level difference, one-sided, {permutations} permutations"
    return Lead(float(observed), count / (permutations + 1), method, seed=seed)


def _standard(side: Floats) -> Floats:
    import numpy as np

    known = side[~np.isnan(side)]
    spread = known.std() if len(known) else 0.0
    return (side - known.mean()) / spread if spread > 0 else side * 0.0


def _differences(one: Floats, other: Floats, human: Floats, coefficient: Coefficient) -> Floats:
    """Permutations x sources x systems twice: the difference of the two means over sources."""
    import numpy as np

    def level(side: Floats) -> Floats:
        people = np.broadcast_to(human, side.shape).reshape(-1, human.shape[1])
        rows = correlate_rows(side.reshape(-1, human.shape[1]), people, coefficient).reshape(len(side), -1)
        count = (~np.isnan(rows)).sum(axis=1)
        return np.asarray(np.divide(np.nansum(rows, axis=1), count, out=np.full(len(rows), np.nan), where=count > 0))

    return level(one) - level(other)


def williams(first: float, second: float, between: float, n: int) -> Lead:
    """Whether r(first, people) is above r(second, people) when first and second correlate by `between`; n cases."""
    if any(math.isnan(r) for r in (first, second, between)):
        return Lead(None, None, "undefined: one of the correlations does not exist")
    if n < 4:
        return Lead(first - second, None, f"undefined: Williams' test needs 4 systems or more, there are {n}")
    if between > 1 - 1e-12:
        return Lead(first - second, None, "undefined: both order the systems alike")
    # The determinant of the three correlations; rounding may lead it below 0.
    determinant = max(1 - first**2 - second**2 - between**2 + 2 * first * second * between, 0.0)
    mean = (first + second) / 2
    below = 2 * (n - 1) / (n - 3) * determinant + mean**2 * (1 - between) ** 3
    t = (first - second) * math.sqrt((n - 1) * (1 + between) / below)
    p = 1 - t_cdf(t, n - 3)
    return Lead(first - second, p, f"Williams' test, one-sided, {n} systems", statistic=t)
