"""Two systems on the same sources: their difference, whether it could be luck, and what so many sources can show.

Pure functions on scores or on their differences, one a source. Scores that are nan are unscored: the source then has no
difference and is counted; `ends_of_difference` says what it could have done. Several differences of one length are
resampled together with the same draws: a result depends on its own scores and the seed, not on its company (but for
the last digit of a sum).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

from jurybox.stats.bootstrap import SEED
from jurybox.stats.means import CONFIDENCE, bounded_mean, t_quantile
from jurybox.stats.shares import wilson
from jurybox.types import SCALE, Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Differences = NDArray[np.float64]

LEVEL = 1 - CONFIDENCE
POWER = 0.8
RESAMPLES = 10_000
# 2^15 flips are all there are with 16 differences; more differences get this many at random. Holm multiplies p by the
# number of tests, so the smallest p that can come out must leave room for some thousands of them.
EXACT, FLIPS = 16, 99_999
# Below FEW, resamples of so few values repeat each other; above MANY, the mean is normal and resampling only costs.
FEW, MANY = 8, 1_000
_WIDEST = float(SCALE[-1] - SCALE[0])
_CELLS, _MOST_ROWS = 2**21, 8192
_SAME = 1e-9


def differences(first: ArrayLike, second: ArrayLike) -> tuple[Differences, int]:
    """first - second where both are scored, and how many sources are not."""
    import numpy as np

    one, other = (np.asarray(scores, dtype=np.float64) for scores in (first, second))
    if one.ndim != 1 or one.shape != other.shape:
        raise ValueError(f"two lists with one score a source are compared, not {one.shape} with {other.shape}")
    if np.isinf(one).any() or np.isinf(other).any():
        raise ValueError("a score is infinite; nan stands for unscored")
    found = one - other
    scored = ~np.isnan(found)
    return found[scored], int((~scored).sum())


def ends_of_difference(first: ArrayLike, second: ArrayLike) -> tuple[Differences, Differences]:
    """All differences at their lowest and at their highest, with either end of the scale for what is unscored.

    Manski 1989, "Anatomy of the selection problem": bounds that ask nothing about why a score is missing.
    """
    import numpy as np

    def filled(scores: ArrayLike, end: float) -> Differences:
        values = np.asarray(scores, dtype=np.float64)
        return np.where(np.isnan(values), end, values)

    worst, best = SCALE[0], SCALE[-1]
    return filled(first, worst) - filled(second, best), filled(first, best) - filled(second, worst)


def paired_difference(first: ArrayLike, second: ArrayLike, *, seed: int = SEED, resamples: int = RESAMPLES) -> Estimate:
    """The mean of first - second over sources, with a 95 % interval."""
    found, n_unscored = differences(first, second)
    return mean_differences([found], [n_unscored], seed=seed, resamples=resamples)[0]


def sign_flip_test(first: ArrayLike, second: ArrayLike, *, seed: int = SEED) -> Estimate:
    """The two-sided p-value of first and second being the same, as an estimate without an interval."""
    found, n_unscored = differences(first, second)
    return sign_flip_tests([found], [n_unscored], seed=seed)[0]


def mean_differences(
    columns: Sequence[Differences], n_unscored: Sequence[int], *, seed: int = SEED, resamples: int = RESAMPLES
) -> list[Estimate]:
    """The mean of each column with a 95 % interval from a bootstrap over sources.

    The expanded percentile interval (Hesterberg 2015, "What teachers should know about the bootstrap", section 5.2.3):
    plain percentiles, and BCa too, are too narrow with few sources (89 % coverage with ten); taken further out by what
    Student's t is wider than the normal, and sqrt(n / (n - 1)), they hold. Below 8 sources and above 1,000 the interval
    is t's; where all differences are the same it is `bounded_mean`'s exact one.
    """
    found = [_without_bootstrap(column, lost) for column, lost in zip(columns, n_unscored, strict=True)]
    drawn = [place for place, estimate in enumerate(found) if estimate is None]
    means = _by_length([columns[place] for place in drawn], lambda table: _resampled(table, resamples, seed))
    for place, resampled in zip(drawn, means, strict=True):
        found[place] = _expanded(columns[place], n_unscored[place], resampled, seed)
    return [estimate for estimate in found if estimate is not None]


def _without_bootstrap(column: Differences, n_unscored: int) -> Estimate | None:
    """The estimate where resampling has no place; None where it has."""
    n = len(column)
    if n < 2:
        method = f"undefined: {'no source has' if n == 0 else 'only one source has'} a score of both"
        return Estimate(None, None, None, n, n_unscored, method)
    if FEW <= n <= MANY and column.max() - column.min() > _SAME:
        return None
    deviations = float(((column - column.mean()) ** 2).sum())
    return bounded_mean(n, float(column.sum()), deviations, n_unscored, (-_WIDEST, _WIDEST), "mean paired difference")


def _expanded(column: Differences, n_unscored: int, resampled: Differences, seed: int) -> Estimate:
    import numpy as np

    n = len(column)
    tail = NormalDist().cdf(-math.sqrt(n / (n - 1)) * t_quantile(n - 1, 1 - LEVEL / 2))
    low, high = np.quantile(resampled, [tail, 1 - tail])
    method = f"mean paired difference; 95 % expanded percentile bootstrap over {n} sources, {len(resampled)} resamples"
    return Estimate(float(column.mean()), float(low), float(high), n, n_unscored, method, seed)


def _resampled(table: Differences, resamples: int, seed: int) -> Differences:
    """Means of sources drawn with replacement: columns x resamples."""
    import numpy as np

    n, rng = len(table), np.random.default_rng(seed)
    means = []
    for rows in _portions(resamples, n):
        drawn = rng.integers(0, n, (rows, n)) + n * np.arange(rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
        means.append(times.astype(np.float64) @ table / n)
    return np.concatenate(means).T


def sign_flip_tests(columns: Sequence[Differences], n_unscored: Sequence[int], *, seed: int = SEED) -> list[Estimate]:
    """Two-sided p-values: were the systems the same, each difference could as well have had the other sign.

    Fisher 1935, "The design of experiments", section 21. All flips are counted up to 16 differences that are not zero
    (flipping zero changes nothing); of more, 99,999 at random with (k + 1) / (N + 1) (Phipson & Smyth 2010), so p is
    never 0; above 1,000 the normal limit of the same distribution.
    """
    moved = [column[abs(column) > _SAME] for column in columns]
    p_values = _by_length(moved, lambda table: _p_values(table, seed))
    told = zip(columns, n_unscored, moved, p_values, strict=True)
    return [_tested(len(column), lost, len(moves), float(p), seed) for column, lost, moves, p in told]


def _tested(n: int, n_unscored: int, moved: int, p: float, seed: int) -> Estimate:
    if n < 2:
        return Estimate(None, None, None, n, n_unscored, "undefined: fewer than two sources have a score of both")
    if moved == 0:
        return Estimate(1.0, None, None, n, n_unscored, "sign flips; all differences are zero")
    if moved <= EXACT:
        return Estimate(p, None, None, n, n_unscored, f"exact sign flips of {moved} differences")
    if moved <= MANY:
        return Estimate(p, None, None, n, n_unscored, f"{FLIPS:,} random sign flips of {moved} differences", seed)
    return Estimate(p, None, None, n, n_unscored, f"normal limit of sign flips of {moved} differences")


def _p_values(table: Differences, seed: int) -> Differences:
    """One p for each column of differences that are not zero."""
    import numpy as np

    n = len(table)
    reached = abs(table.sum(axis=0)) - _SAME * abs(table).sum(axis=0)
    if n > MANY:
        spread = np.sqrt((table**2).sum(axis=0))
        return np.array([2 * NormalDist().cdf(-z) for z in abs(table.sum(axis=0)) / spread])
    exact = n <= EXACT
    as_far = np.zeros(table.shape[1])
    for signs in _all_signs(n) if exact else _random_signs(n, seed):
        as_far += (abs(signs @ table) >= reached).sum(axis=0)
    return np.asarray(as_far / 2 ** max(n - 1, 0) if exact else (as_far + 1) / (FLIPS + 1))


def _all_signs(n: int) -> Iterator[Differences]:
    """Every flip but for turning all round, which only changes the sign of the sum."""
    import numpy as np

    bits = np.arange(2 ** max(n - 1, 0))[:, None] >> np.arange(n)
    yield np.asarray(1 - 2 * (bits & 1), dtype=np.float64)


def _random_signs(n: int, seed: int) -> Iterator[Differences]:
    import numpy as np

    rng = np.random.default_rng(seed)
    for rows in _portions(FLIPS, n):
        drawn = np.frombuffer(rng.bytes(rows * math.ceil(n / 8)), np.uint8).reshape(rows, -1)
        yield np.asarray(1.0 - 2.0 * np.unpackbits(drawn, axis=1, count=n), dtype=np.float64)


def _portions(rows: int, n: int) -> Iterator[int]:
    """Rows in portions that memory can hold; they depend on n alone, for the draws to be the same in any company."""
    size = max(1, min(_MOST_ROWS, _CELLS // max(n, 1)))
    for start in range(0, rows, size):
        yield min(size, rows - start)


def _by_length(columns: Sequence[Differences], do: Callable[[Differences], Differences]) -> list[Differences]:
    """What `do` makes of a table of equally long columns, an entry for each column, in the order they came."""
    import numpy as np

    places: dict[int, list[int]] = {}
    for place, column in enumerate(columns):
        places.setdefault(len(column), []).append(place)
    done: dict[int, Differences] = {}
    for same in places.values():
        table = np.stack([columns[place] for place in same], axis=1)
        done.update(zip(same, do(table), strict=True))
    return [done[place] for place in range(len(columns))]


def standardised(column: Differences) -> float | None:
    """Cohen's d_z: mean over standard deviation of the differences (Cohen 1988, section 2.3.5); None without spread."""
    if len(column) < 2 or column.max() - column.min() <= _SAME:
        return None
    return float(column.mean() / column.std(ddof=1))


def superiority(column: Differences, n_unscored: int) -> Estimate:
    """The share of sources on which the first is higher, ties half (Grissom & Kim 2012, for dependent groups)."""
    points = (column > _SAME).sum() + (abs(column) <= _SAME).sum() / 2
    return wilson(float(points), len(column), n_unscored, "share of sources where the first is higher, ties half")


def least_p(n: int) -> float:
    """The smallest p that n sources can give, all differences being on one side."""
    return 2.0 ** (1 - n) if n <= EXACT else 1 / (FLIPS + 1) if n <= MANY else 0.0


def detectable_difference(n: int, spread: float, level: float = LEVEL, power: float = POWER) -> float | None:
    """The smallest true difference that n sources show with this power, given the standard deviation of differences.

    That of the paired t test, which the sign flips follow closely. None where no p can reach the level, however
    large the difference, and where nothing is known of the spread.
    """
    if n < 2 or spread <= 0 or least_p(n) > level:
        return None
    return _noncentrality(n, level, power) * spread / math.sqrt(n)


def sources_needed(difference: float, spread: float, level: float = LEVEL, power: float = POWER) -> int | None:
    """How many sources show this difference with this power; None for no difference or an unknown spread."""
    if abs(difference) <= _SAME or spread <= 0:
        return None
    effect, normal = abs(difference) / spread, NormalDist()
    n = max(2, math.floor(((normal.inv_cdf(1 - level / 2) + normal.inv_cdf(power)) / effect) ** 2))
    while least_p(n) > level or t_power(n, effect * math.sqrt(n), level) < power:
        n += 1
    return n


def t_power(n: int, noncentrality: float, level: float = LEVEL) -> float:
    """The power of the two-sided one-sample (so the paired) t test (Cohen 1988, chapter 2).

    The noncentral t is a normal over the square root of a chi-square; Simpson's rule over that root, because scipy
    takes longer to import than this takes to run. Checked against scipy.stats.nct; good to 1e-7 from three sources on.
    """
    degrees = n - 1
    t, normal, steps = t_quantile(degrees, 1 - level / 2), NormalDist(), 400
    reach = 10 / math.sqrt(2 * degrees)
    low, high = max(0.0, 1 - reach), 1 + reach
    width = (high - low) / steps
    log_scale = math.log(2) + degrees / 2 * math.log(degrees / 2) - math.lgamma(degrees / 2)
    total = 0.0
    for step in range(steps + 1):
        root = low + step * width
        if root > 0 or degrees == 1:
            log_root = math.log(root) if root > 0 else 0.0
            density = math.exp(log_scale + (degrees - 1) * log_root - degrees * root * root / 2)
            tails = normal.cdf(noncentrality - t * root) + normal.cdf(-noncentrality - t * root)
            total += (1 if step in (0, steps) else 4 if step % 2 else 2) * density * tails
    return total * width / 3


@lru_cache(maxsize=256)
def _noncentrality(n: int, level: float, power: float) -> float:
    """The noncentrality at which the test has this power, by bisection."""
    low, high = 0.0, 1.0
    while t_power(n, high, level) < power:
        low, high = high, high * 2
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if t_power(n, middle, level) < power else (low, middle)
    return high
