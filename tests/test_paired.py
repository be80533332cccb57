"""Paired differences, sign flips, Holm and power agree with somebody else's numbers, and keep their word."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats as scipy_stats

from jurybox.stats import detectable_difference, holm, paired_difference, sign_flip_test, sources_needed
from jurybox.stats.paired import (
    EXACT,
    FEW,
    FLIPS,
    LEVEL,
    MANY,
    differences,
    ends_of_difference,
    least_p,
    mean_differences,
    sign_flip_tests,
    standardised,
    superiority,
    t_power,
)

NAN = math.nan
# Student 1908, "The probable error of a mean", section IX: extra hours of sleep by two drugs, ten patients.
SECOND = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
FIRST = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def whole_scores(seed: int, n: int, shift: float = 0.0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    ease = 3.5 + 0.7 * rng.normal(size=n)
    first, second = (np.clip(np.round(ease + more + 0.8 * rng.normal(size=n)), 1, 5) for more in (shift, 0.0))
    return first, second


def test_the_difference_of_student_1908() -> None:
    found = paired_difference(FIRST, SECOND)
    assert found.value == pytest.approx(1.58)
    assert (found.n, found.n_unscored, found.seed) == (10, 0, 0)
    t = scipy_stats.ttest_rel(FIRST, SECOND)
    assert t.statistic == pytest.approx(4.0621, abs=1e-4)
    assert standardised(differences(FIRST, SECOND)[0]) == pytest.approx(t.statistic / math.sqrt(10))


def test_d_z_by_hand() -> None:
    """Differences 1, 2, 3, 2: mean 2, sum of squares around it 2, standard deviation sqrt(2 / 3)."""
    assert standardised(np.array([1.0, 2, 3, 2])) == pytest.approx(2 / math.sqrt(2 / 3))
    assert standardised(np.array([1.0, 1, 1])) is None
    assert standardised(np.array([1.0])) is None


def test_superiority_by_hand() -> None:
    found = superiority(np.array([1.0, 0.5, 0, -1]), 3)
    assert (found.value, found.n, found.n_unscored) == (2.5 / 4, 4, 3)


@pytest.mark.parametrize("n", [2, 5, 9, 12])
def test_exact_flips_agree_with_scipy(n: int) -> None:
    """scipy.stats.permutation_test with permutation_type="samples" and every resample; ties in the sums included."""
    for seed in range(5):
        first, second = whole_scores(seed, n, 0.5)

        def mean(one: NDArray[np.float64], other: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
            return np.asarray(np.mean(one - other, axis=axis))

        theirs = scipy_stats.permutation_test(
            (first, second), mean, permutation_type="samples", n_resamples=np.inf, vectorized=True
        )
        assert sign_flip_test(first, second).value == pytest.approx(theirs.pvalue, abs=1e-12)


def test_many_random_flips_come_close_to_all_of_them() -> None:
    """18 differences: 2^17 flips by scipy, 99,999 at random by us, four standard errors apart at most."""
    rng = np.random.default_rng(3)
    first, second = rng.normal(0.35, 1, 18), np.zeros(18)
    theirs = scipy_stats.permutation_test(
        (first, second),
        lambda one, other, axis: np.mean(one - other, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
    ).pvalue
    found = sign_flip_test(first, second)
    assert found.value == pytest.approx(theirs, abs=4 * math.sqrt(theirs * (1 - theirs) / FLIPS))
    assert found.value != theirs
    assert found.seed == 0
    assert "99,999 random sign flips of 18 differences" in found.method


def test_a_random_p_is_never_zero() -> None:
    found = sign_flip_test([5.0] * 40, [1.0] * 40)
    assert found.value == 1 / (FLIPS + 1) == least_p(40)


def test_the_normal_limit_is_what_random_flips_come_to() -> None:
    rng = np.random.default_rng(4)
    column = np.append(rng.normal(0.04, 1, MANY), 1e-6)  # one more, which moves nothing
    beyond, below = sign_flip_tests([column, column[:-1]], [0, 0])
    assert beyond.value == pytest.approx(below.value, abs=0.006)
    assert beyond.method.startswith("normal limit")
    assert 0.001 < (beyond.value or 0) < 0.5


def test_zeros_are_not_flipped_and_keep_the_test_exact() -> None:
    """Sixty ties and six wins: all 2^5 flips, p = 2 / 2^6."""
    found = sign_flip_test([3.0] * 60 + [4.0] * 6, [3.0] * 66)
    assert found.value == 2 / 2**6
    assert found.n == 66
    assert found.method == "exact sign flips of 6 differences"


def test_the_order_of_the_systems_does_not_matter_to_p() -> None:
    first, second = whole_scores(5, 40, 0.3)
    assert sign_flip_test(first, second).value == sign_flip_test(second, first).value
    ahead, behind = paired_difference(first, second), paired_difference(second, first)
    assert (ahead.value, ahead.low, ahead.high) == pytest.approx((-behind.value, -behind.high, -behind.low))  # type: ignore[operator]


def test_a_result_does_not_depend_on_its_company() -> None:
    columns = [differences(*whole_scores(seed, 30, 0.2))[0] for seed in range(6)]
    together, alone = mean_differences(columns, [0] * 6), mean_differences(columns[4:5], [0])
    assert (together[4].low, together[4].high) == pytest.approx((alone[0].low, alone[0].high))
    assert sign_flip_tests(columns, [0] * 6)[4] == sign_flip_tests(columns[4:5], [0])[0]


def test_the_seed_decides_and_is_kept() -> None:
    first, second = whole_scores(6, 30)
    first = first + np.random.default_rng(1).normal(size=30) / 10
    one, other = paired_difference(first, second, seed=1), paired_difference(first, second, seed=2)
    assert (one.seed, other.seed) == (1, 2)
    assert one.low != other.low
    assert one == paired_difference(first, second, seed=1)
    assert sign_flip_test(first, second, seed=1) != sign_flip_test(first, second, seed=2)


@pytest.mark.parametrize("n", [FEW, 20, 100])
def test_the_interval_is_as_wide_as_that_of_t_where_differences_are_normal(n: int) -> None:
    """scipy.stats.t.interval; plain percentiles would be 12 % narrower with 8 sources."""
    first = scipy_stats.norm.ppf((np.arange(n) + 0.5) / n)
    found = paired_difference(first, np.zeros(n))
    low, high = scipy_stats.t.interval(0.95, n - 1, first.mean(), scipy_stats.sem(first))
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.04 * (high - low))


@pytest.mark.parametrize("n", [3, FEW - 1, MANY + 1])
def test_few_and_many_sources_have_the_t_interval(n: int) -> None:
    first, second = whole_scores(8, n)
    found = paired_difference(first, second)
    low, high = scipy_stats.ttest_rel(first, second).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((max(low, -4), min(high, 4)), rel=1e-6)
    assert found.method == "mean paired difference; 95 % t interval over items"


@pytest.mark.parametrize("difference", [0.0, 1.0, -4.0])
def test_differences_that_are_all_the_same_are_neither_certain_nor_nan(difference: float) -> None:
    first = np.array([1.0] * 20) if difference < 0 else np.array([4.0] * 20)
    found = paired_difference(first, first - difference)
    assert found.value == difference
    assert "no spread" in found.method
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.high
    assert -4 <= found.low <= difference <= found.high <= 4
    assert sign_flip_test(first, first - difference).value == (1.0 if difference == 0 else 1 / (FLIPS + 1))


@pytest.mark.parametrize(
    ("first", "second", "n", "lost", "why"),
    [
        ([], [], 0, 0, "undefined: no source has a score of both"),
        ([3.0], [4.0], 1, 0, "undefined: only one source has a score of both"),
        ([3.0, NAN, 2.0], [NAN, 1.0, 2.0], 1, 2, "undefined: only one source has a score of both"),
        ([NAN], [NAN], 0, 1, "undefined: no source has a score of both"),
    ],
)
def test_fewer_than_two_sources_are_undefined(
    first: Sequence[float], second: Sequence[float], n: int, lost: int, why: str
) -> None:
    found = paired_difference(first, second)
    assert (found.value, found.low, found.high, found.n, found.n_unscored) == (None, None, None, n, lost)
    assert found.method == why
    test = sign_flip_test(first, second)
    assert test.value is None
    assert test.method.startswith("undefined: ")


def test_what_cannot_be_paired_is_refused() -> None:
    with pytest.raises(ValueError, match="one score a source"):
        paired_difference([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="one score a source"):
        paired_difference([[1.0]], [[1.0]])
    with pytest.raises(ValueError, match="infinite"):
        paired_difference([1.0, math.inf], [1.0, 2.0])


def test_unscored_differences_are_bounded_by_the_ends_of_the_scale() -> None:
    low, high = ends_of_difference([4, NAN, 2, NAN], [3, 2, NAN, NAN])
    assert low.tolist() == [1, 1 - 2, 2 - 5, 1 - 5]
    assert high.tolist() == [1, 5 - 2, 2 - 1, 5 - 1]


def test_holm_agrees_with_published_values() -> None:
    """The worked example in pingouin's documentation of `holm`; then Wikipedia's, where 0.01 and 0.005 are rejected
    at 5 % and the other two are not."""
    assert holm([0.50, 0.003, 0.32, 0.054, 0.0003]) == pytest.approx([0.64, 0.012, 0.64, 0.162, 0.0015])
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_counts_only_tests_that_were_possible() -> None:
    assert holm([0.02, None, 0.03]) == pytest.approx([0.04, None, 0.04])
    assert holm([None]) == [None]
    assert holm([]) == []
    assert holm([0.7, 0.8]) == [1.0, 1.0]


@pytest.mark.parametrize("n", [3, 6, 10, 34, 200, 5000])
@pytest.mark.parametrize("level", [0.05, 0.05 / 7])
def test_power_agrees_with_scipy(n: int, level: float) -> None:
    """The noncentral t distribution, scipy.stats.nct."""
    for noncentrality in (0.5, 1.0, 2.8, 6.0):
        t = scipy_stats.t.ppf(1 - level / 2, n - 1)
        expected = scipy_stats.nct.sf(t, n - 1, noncentrality) + scipy_stats.nct.cdf(-t, n - 1, noncentrality)
        assert t_power(n, noncentrality, level) == pytest.approx(expected, abs=2e-7)


@pytest.mark.parametrize(("effect", "n"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_sources_needed_agree_with_g_power(effect: float, n: int) -> None:
    """Cohen's small, medium and large d_z, two-sided 5 %, power 80 %: G*Power 3.1, "difference between two dependent
    means (matched pairs)"; R's power.t.test(type = "paired") gives 198.15, 33.37 and 14.30 before rounding up."""
    assert sources_needed(effect, 1.0) == n
    assert sources_needed(-effect * 2.5, 2.5) == n
    least = detectable_difference(n, 1.0)
    assert least is not None
    assert least <= effect < (detectable_difference(n - 1, 1.0) or 0)


def test_what_a_difference_needs_can_show_it() -> None:
    for level in (0.05, 0.05 / 42):
        for difference in (0.05, 0.31, 1.7):
            n = sources_needed(difference, 0.9, level)
            assert n is not None
            assert (detectable_difference(n, 0.9, level) or 9) <= difference * (1 + 1e-6)


def test_no_difference_is_detectable_where_no_p_is_small_enough() -> None:
    """Five sources flip in 2^4 ways that count, so p is 2 / 32 at best."""
    assert least_p(5) == 2 / 32 == sign_flip_test([5.0] * 5, [1.0] * 5).value
    assert detectable_difference(5, 1.0) is None
    assert detectable_difference(6, 1.0) is not None
    assert sources_needed(100.0, 1.0) == 6
    assert sources_needed(100.0, 1.0, LEVEL / 7) == 9
    assert EXACT >= 9


def test_nothing_is_planned_without_a_spread_or_a_difference() -> None:
    assert detectable_difference(20, 0.0) is None
    assert detectable_difference(1, 1.0) is None
    assert sources_needed(0.0, 1.0) is None
    assert sources_needed(0.5, 0.0) is None


@pytest.mark.parametrize(("n", "shift"), [(10, 0.4), (30, 0.0)])
def test_intervals_hold_the_truth_and_tests_their_level(n: int, shift: float) -> None:
    """400 studies of whole scores; bench/coverage_paired.py has 1,000 of each of many kinds."""
    truth = float(np.subtract(*whole_scores(99, 1_000_000, shift)).mean()) if shift else 0.0
    columns = [differences(*whole_scores(1000 + study, n, shift))[0] for study in range(400)]
    found = mean_differences(columns, [0] * 400)
    held = sum(one.low is not None and one.high is not None and one.low <= truth <= one.high for one in found)
    assert 0.92 <= held / 400 <= 0.98
    if not shift:
        p_values = [one.value for one in sign_flip_tests(columns, [0] * 400)]
        assert 0.005 <= sum(p is not None and p <= 0.05 for p in p_values) / 400 <= 0.07
