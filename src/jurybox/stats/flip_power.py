"""What so many sources can show, by the sign-flip test itself where the t test would promise too much.

Whole scores of few sources tie, a tie is never flipped, and p moves in steps: ten sources that the t test credits with
80 % power find a difference in 67 % of studies. So where all differences are whole steps and sources are few, studies
are simulated: normal differences with the spread seen, rounded to the step, and the exact p of their sign flips.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from jurybox.stats.bootstrap import SEED
from jurybox.stats.paired import LEVEL, POWER, detectable_difference, least_p, sources_needed
from jurybox.types import SCALE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# From so many sources on, rounding costs less than two points of power, and the t test's answer stands.
MANY_SOURCES = 200
# Up to so many the distribution of flips is computed whole, beyond by its normal limit.
EXACT_SOURCES = 20
STUDIES = 1_000
# Whole scores; means of two, three, four or five of them.
_PARTS = (1, 2, 3, 4, 5)
_WIDEST = SCALE[-1] - SCALE[0]
_SAME = 1e-6


def step_of(column: NDArray[np.float64]) -> int | None:
    """Into how many parts a whole point is cut, so that every difference is so many of them; None where none does."""
    import numpy as np

    for parts in _PARTS:
        if len(column) and bool((abs(column * parts - np.round(column * parts)) < _SAME).all()):
            return parts
    return None


def detectable_by_flips(n: int, spread: float, level: float = LEVEL, parts: int | None = None) -> float | None:
    """The smallest true difference that n sources show with 80 % power, given the standard deviation of differences.

    `parts` is `step_of` the differences. None as in `detectable_difference`, and where no difference that the scale
    has room for would be shown so often.
    """
    by_t = detectable_difference(n, spread, level)
    if by_t is None or parts is None or n >= MANY_SOURCES:
        return by_t
    low, high = by_t, by_t
    while flip_power(n, high, _rounded(spread), level, parts) < POWER:
        low, high = high, high * 1.25
        if low > _WIDEST:
            return None
    while high - low > 0.005:
        middle = (low + high) / 2
        enough = flip_power(n, middle, _rounded(spread), level, parts) >= POWER
        low, high = (low, middle) if enough else (middle, high)
    return high


def needed_by_flips(difference: float, spread: float, level: float = LEVEL, parts: int | None = None) -> int | None:
    """How many sources show this difference with 80 % power; None as in `sources_needed`."""
    n = sources_needed(difference, spread, level)
    if n is None or parts is None:
        return n
    while n < MANY_SOURCES and flip_power(n, abs(difference), _rounded(spread), level, parts) < POWER:
        n += 1
    return n


def _rounded(spread: float) -> float:
    """Two digits are as much as is known of a spread, and pairs that share them share the simulation."""
    return float(f"{spread:.2g}")


@lru_cache(maxsize=4096)
def flip_power(n: int, difference: float, spread: float, level: float, parts: int) -> float:
    """The share of simulated studies in which the sign-flip test finds the difference."""
    import numpy as np

    if least_p(n) > level:
        return 0.0
    # The same studies for every difference, so that power grows with it and a search is not led astray by luck.
    drawn = np.random.default_rng(SEED).standard_normal((STUDIES, n))
    # Rounding adds a twelfth of a squared step to the variance (Sheppard 1898); the spread seen has it already.
    latent = math.sqrt(max(spread**2 - 1 / (12 * parts**2), spread**2 / 4))
    steps = np.clip(np.round((difference + latent * drawn) * parts), -_WIDEST * parts, _WIDEST * parts)
    flips = exact_flips if n <= EXACT_SOURCES else normal_flips
    return float((flips(steps.astype(np.int64)) <= level + 1e-12).mean())


def exact_flips(steps: NDArray[np.int64]) -> NDArray[np.float64]:
    """The exact two-sided p of sign flips for every row of whole numbers.

    Flipping signs multiplies the characteristic function by cos(d t) for each difference d; its discrete Fourier
    transform is the distribution of the sum, with no flip ever listed.
    """
    import numpy as np

    sizes, widest = abs(steps), int(abs(steps).sum(axis=1).max(initial=0))
    length = 2 * widest + 1
    angles = 2 * np.pi * np.arange(length) / length
    transform = np.ones((len(steps), length))
    for size in range(1, int(sizes.max(initial=0)) + 1):
        transform *= np.cos(size * angles)[None, :] ** (sizes == size).sum(axis=1)[:, None]
    chances = np.fft.ifft(transform, axis=1).real
    distance = np.minimum(np.arange(length), length - np.arange(length))
    reached = abs(steps.sum(axis=1))
    return np.asarray(np.where(distance[None, :] >= reached[:, None], chances, 0.0).sum(axis=1).clip(0.0, 1.0))


def normal_flips(steps: NDArray[np.int64]) -> NDArray[np.float64]:
    """The same by the normal limit. Sums of flips lie two steps apart, hence the one step of continuity."""
    import numpy as np

    squares = np.maximum((steps**2).sum(axis=1), 1)
    distance = np.maximum(abs(steps.sum(axis=1)) - 1, 0) / np.sqrt(2 * squares)
    return np.array([math.erfc(one) for one in distance])
