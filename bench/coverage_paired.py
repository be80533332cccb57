"""Do `compare`'s figures keep their word? Simulated studies with a known truth: `python bench/coverage_paired.py`.

Prints, over 1,000 studies each: how often the 95 % interval of a difference holds the true one (92-98 % wanted), how
often the sign-flip test finds a difference where there is none (5 % at most, but for chance), how often Holm over seven
rubrics does so, and how often a true difference of the size called detectable is found (80 % wanted).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from jurybox.stats.flip_power import detectable_by_flips, step_of
from jurybox.stats.multiplicity import holm
from jurybox.stats.paired import LEVEL, mean_differences, sign_flip_tests

STUDIES = 1_000
SIZES = (5, 8, 10, 20, 50, 200)
RUBRICS = 7

Floats = NDArray[np.float64]
# A population of differences: (rng, sources, shift of the first system) -> one difference a source.
Population = Callable[[np.random.Generator, int, float], Floats]


def whole(rng: np.random.Generator, n: int, shift: float) -> Floats:
    """Whole scores 1-5 of two summaries that share how hard their source is."""
    ease = 3.6 + 0.7 * rng.normal(size=n)
    first, second = (np.clip(np.round(ease + more + 0.8 * rng.normal(size=n)), 1, 5) for more in (shift, 0.0))
    return first - second


def sampled(rng: np.random.Generator, n: int, shift: float) -> Floats:
    """Means of three whole scores."""
    ease = 3.6 + 0.7 * rng.normal(size=(1, n))
    first, second = (
        np.clip(np.round(ease + more + 0.8 * rng.normal(size=(3, n))), 1, 5).mean(axis=0) for more in (shift, 0.0)
    )
    return np.asarray(first - second)


def rare(rng: np.random.Generator, n: int, shift: float) -> Floats:
    """Mostly equal; now and then one of the two fails badly. `shift` makes the second fail more often."""
    fails = rng.random((2, n)) < np.array([[0.15], [0.15 + shift / 2]])
    return np.asarray((fails[1] * 1.0 - fails[0]) * rng.choice([1, 2, 3], n, p=[0.5, 0.3, 0.2]))


def expected(rng: np.random.Generator, n: int, shift: float) -> Floats:
    """Scores that are expectations, as of `digit`: every value is another."""
    return rng.normal(shift, 0.8, n)


POPULATIONS: tuple[Population, ...] = (whole, sampled, rare, expected)


def coverage(population: Population, n: int, shift: float, studies: int = STUDIES, seed: int = 1) -> float:
    """The share of studies whose interval holds the true difference."""
    rng = np.random.default_rng(seed)
    truth = float(population(np.random.default_rng(seed + 1), 4_000_000, shift).mean()) if shift else 0.0
    found = mean_differences([population(rng, n, shift) for _ in range(studies)], [0] * studies)
    held = [one.low is not None and one.high is not None and one.low <= truth <= one.high for one in found]
    return sum(held) / studies


def others(population: Population, n: int, shift: float, studies: int = STUDIES, seed: int = 1) -> tuple[float, float]:
    """What was not chosen: coverage of plain percentiles and of BCa (Efron & Tibshirani 1993, chapters 13 and 14)."""
    rng, normal = np.random.default_rng(seed), NormalDist()
    truth = float(population(np.random.default_rng(seed + 1), 4_000_000, shift).mean()) if shift else 0.0
    held = np.zeros(2)
    for _ in range(studies):
        column = population(rng, n, shift)
        means = column[rng.integers(0, n, (2_000, n))].mean(axis=1)
        below = (means < column.mean()).mean() + (means == column.mean()).mean() / 2
        bias = normal.inv_cdf(min(max(float(below), 1e-4), 1 - 1e-4))
        lean = column - column.mean()
        skew = (lean**3).sum() / max(6 * (lean**2).sum() ** 1.5, 1e-12)
        ends = [bias + normal.inv_cdf(tail) for tail in (LEVEL / 2, 1 - LEVEL / 2)]
        corrected = [normal.cdf(bias + end / (1 - skew * end)) for end in ends]
        for way, tails in enumerate(((LEVEL / 2, 1 - LEVEL / 2), corrected)):
            low, high = np.quantile(means, tails)
            held[way] += low <= truth <= high
    return held[0] / studies, held[1] / studies


def level(population: Population, n: int, studies: int = STUDIES, seed: int = 1) -> float:
    """The share of studies that find a difference where there is none."""
    rng = np.random.default_rng(seed)
    found = sign_flip_tests([population(rng, n, 0.0) for _ in range(studies)], [0] * studies)
    return sum(one.value is not None and one.value <= LEVEL for one in found) / studies


def familywise(n: int, studies: int = STUDIES, seed: int = 1) -> float:
    """The share of studies in which Holm over seven correlated rubrics finds any difference where there is none."""
    rng = np.random.default_rng(seed)
    columns = []
    for _ in range(studies):
        shared = rng.normal(size=n)
        columns += [np.round(shared + rng.normal(size=n)) for _ in range(RUBRICS)]
    p_values = [one.value for one in sign_flip_tests(columns, [0] * len(columns))]
    found = 0
    for start in range(0, len(p_values), RUBRICS):
        found += any(p is not None and p <= LEVEL for p in holm(p_values[start : start + RUBRICS]))
    return found / studies


def power(population: Population, n: int, tests: int, studies: int = STUDIES, seed: int = 1) -> float:
    """The share of studies that find a difference as large as is called detectable, at the level of `tests` tests."""
    shift = _detectable_shift(population, n, LEVEL / tests)
    if math.isnan(shift):
        return math.nan
    rng = np.random.default_rng(seed)
    found = sign_flip_tests([population(rng, n, shift) for _ in range(studies)], [0] * studies)
    return sum(one.value is not None and one.value <= LEVEL / tests for one in found) / studies


def _detectable_shift(population: Population, n: int, level: float) -> float:
    """The shift at which the true mean difference is the one called detectable under the true spread; nan where the
    scale has no room for it."""
    low, high = 0.0, 4.0
    for _ in range(12):
        middle = (low + high) / 2
        sample = population(np.random.default_rng(2), 400_000, middle)
        size = detectable_by_flips(n, float(sample.std()), level, step_of(sample))
        if size is None:
            return math.nan
        low, high = (middle, high) if sample.mean() < size else (low, middle)
    return math.nan if high == 4.0 else high


def one_sided_rules(n: int, unequal: float) -> list[tuple[int, float, float]]:
    """Why mostly equal scores are covered too often. A rule that calls 0 excluded when k or more differences are not
    zero and all on one side: k, how often it leaves 0 in when a difference is unequal with this probability and
    either sign is as likely, and how often with the probability that is worst for it. Both exact."""

    def kept(k: int, q: float) -> float:
        return 1 - sum(math.comb(n, j) * q**j * (1 - q) ** (n - j) * 2.0 ** (1 - j) for j in range(k, n + 1))

    return [(k, kept(k, unequal), min(kept(k, q / 100) for q in range(1, 101))) for k in range(2, n + 1)]


def main() -> None:
    print(f"coverage of the 95 % interval, {STUDIES:,} studies each\n{'':24}" + "".join(f"{n:>8}" for n in SIZES))
    for population in POPULATIONS:
        for shift in (0.0, 0.4):
            row = [coverage(population, n, shift) for n in SIZES]
            print(f"{population.__name__ + f', shift {shift}':24}" + "".join(f"{share:8.1%}" for share in row))
    print("\nthe same of plain percentiles, and of BCa (whole, shift 0.4)")
    rivals = [others(whole, n, 0.4) for n in SIZES]
    for way, name in enumerate(("percentiles", "BCa")):
        print(f"{name:24}" + "".join(f"{shares[way]:8.1%}" for shares in rivals))
    print("\nrare, shift 0.0: coverage of 0 if k of n on one side and none on the other exclude it: here, at worst")
    for n in (5, 8, 10):
        told = "   ".join(
            f"k={k}: {here:.1%}, {worst:.1%}" for k, here, worst in one_sided_rules(n, 2 * 0.15 * 0.85)[:4]
        )
        print(f"{n:>4} sources   {told}   (all equal: {(1 - 2 * 0.15 * 0.85) ** n:.1%})")
    print("\nlevel of the sign-flip test at 5 %")
    for population in POPULATIONS:
        print(f"{population.__name__:24}" + "".join(f"{level(population, n):8.1%}" for n in SIZES))
    print("\nany false finding among seven rubrics after Holm")
    print(" " * 24 + "".join(f"{familywise(n):8.1%}" for n in SIZES))
    print("\npower at the difference called detectable (80 % wanted)")
    for tests in (1, RUBRICS):
        for population in (expected, whole, sampled):
            shares = [power(population, n, tests) for n in SIZES]
            told = "".join(f"{'-':>8}" if math.isnan(share) else f"{share:8.1%}" for share in shares)
            print(f"{f'{population.__name__}, level 0.05 / {tests}':24}{told}")


if __name__ == "__main__":
    main()
