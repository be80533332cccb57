"""The alternative-annotator test: may the judge stand in for people? (Calderon, Reichart & Dror 2025)

Each rater is left out in turn. On every item that rater has rated, whoever lies closer to the remaining raters wins,
judge or rater (root mean squared distance; a tie is a win for both). The judge passes against a rater when its wins are
not more than epsilon behind: epsilon is what a judge's lower price is worth. One-sided t tests over items, one a rater,
under Benjamini & Yekutieli's correction (2001); `omega`, the share of raters it passes against, must reach one half.

As published: three raters or more, 30 items or more. Where we leave it: items are taken as independent, although those
of one source are not, so it passes a little too easily; that is one more reason to look at who else passes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from jurybox.stats.means import t_cdf

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

# The paper's values: 0.2 where raters are experts, 0.15 where they are skilled, 0.1 for crowd workers.
EPSILON = 0.2
LEAST_RATERS, LEAST_ITEMS = 3, 30
FALSE_DISCOVERY_RATE = 0.05
ENOUGH = 0.5


@dataclass(frozen=True, slots=True)
class AlternativeAnnotator:
    """`omega` is the share of raters passed, `advantage` the mean probability that the judge is as close as a rater or
    closer. Both are None where the test cannot be made; the method says why."""

    omega: float | None
    advantage: float | None
    passes: bool
    raters: int
    items: int
    epsilon: float
    method: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def alternative_annotator(scores: ArrayLike, human: ArrayLike, epsilon: float = EPSILON) -> AlternativeAnnotator:
    """The test of scores[items] against human[items, raters], nan where missing."""
    import numpy as np

    judge, ratings = np.asarray(scores, dtype=np.float64).reshape(-1), np.asarray(human, dtype=np.float64)
    ratings = ratings.reshape(len(judge), -1)
    wins = [_wins(judge, ratings, rater) for rater in range(ratings.shape[1])]
    usable = [(mine, theirs) for mine, theirs in wins if len(mine) >= LEAST_ITEMS]
    items = int((~np.isnan(judge) & ((~np.isnan(ratings)).sum(axis=1) > 1)).sum())
    if len(usable) < LEAST_RATERS:
        why = f"undefined: needs {LEAST_RATERS} raters with {LEAST_ITEMS} items each, there are {len(usable)}"
        return AlternativeAnnotator(None, None, False, len(usable), items, epsilon, why)
    p_values = [_p_value(theirs - mine, epsilon) for mine, theirs in usable]
    omega = sum(benjamini_yekutieli(p_values, FALSE_DISCOVERY_RATE)) / len(usable)
    advantage = float(np.mean([mine.mean() for mine, _ in usable]))
    method = f"alternative-annotator test, epsilon {epsilon:g}, Benjamini-Yekutieli at {FALSE_DISCOVERY_RATE:g}"
    return AlternativeAnnotator(omega, advantage, omega >= ENOUGH, len(usable), items, epsilon, method)


def _wins(judge: Floats, ratings: Floats, rater: int) -> tuple[Floats, Floats]:
    """Item by item, 1 where the judge (the rater) is at least as close to the other raters."""
    import numpy as np

    own, others = ratings[:, rater], np.delete(ratings, rater, axis=1)
    there = ~np.isnan(judge) & ~np.isnan(own) & (~np.isnan(others)).any(axis=1)
    mine, theirs = (
        np.sqrt(np.nanmean((others[there] - side[there][:, None]) ** 2, axis=1)).round(9) for side in (judge, own)
    )
    return (mine <= theirs).astype(np.float64), (theirs <= mine).astype(np.float64)


def _p_value(behind: Floats, epsilon: float) -> float:
    """That the judge is epsilon behind or more; `behind` is the rater's win less the judge's."""
    n, mean = len(behind), float(behind.mean())
    error = float(behind.std(ddof=1)) / math.sqrt(n)
    if error < 1e-12:
        return 0.0 if mean < epsilon else 1.0
    return float(t_cdf((mean - epsilon) / error, n - 1))


def benjamini_yekutieli(p_values: Sequence[float], rate: float) -> list[bool]:
    """Which are rejected with a false discovery rate of at most `rate`, however the tests depend on each other."""
    m = len(p_values)
    harmonic = sum(1 / k for k in range(1, m + 1))
    order = sorted(range(m), key=lambda place: p_values[place])
    passed = [rank for rank, place in enumerate(order, 1) if p_values[place] <= rank * rate / (m * harmonic)]
    rejected = set(order[: max(passed, default=0)])
    return [place in rejected for place in range(m)]
