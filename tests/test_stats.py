"""Every statistic agrees with somebody else's numbers: here SciPy's."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from jurybox.stats import mean_of_scores, t_quantile
from jurybox.types import SCALE, Estimate

# Scores that spread, and that stay clear of the ends of the scale with their interval.
SAMPLES = [
    [2, 3, 4],
    [3, 3, 3, 4],
    [2.5, 3.5, 3.0, 2.75, 3.25],
    [1, 5] * 20,
    [2, 3, 4, 3, 2, 4, 3, 3] * 30,
    [3.0, 3.0 + 1e-3],
]


def estimate(scores: list[float], n_unscored: int = 0) -> Estimate:
    return mean_of_scores(len(scores), sum(scores), sum((score - 3) ** 2 for score in scores), n_unscored)


@pytest.mark.parametrize("probability", [0.6, 0.9, 0.975, 0.995])
def test_t_quantile_agrees_with_scipy(probability: float) -> None:
    """scipy.stats.t.ppf, 1 to 500 degrees of freedom."""
    for degrees in range(1, 501):
        assert t_quantile(degrees, probability) == pytest.approx(scipy_stats.t.ppf(probability, degrees), rel=1e-9)


@pytest.mark.parametrize("scores", SAMPLES)
def test_interval_agrees_with_scipy(scores: list[float]) -> None:
    """scipy.stats.t.interval over scipy.stats.sem."""
    found = estimate(scores)
    mean, error = sum(scores) / len(scores), scipy_stats.sem(scores)
    low, high = scipy_stats.t.interval(0.95, len(scores) - 1, mean, error)
    assert found.value == pytest.approx(mean)
    assert found.low == pytest.approx(max(low, 1), rel=1e-6)
    assert found.high == pytest.approx(min(high, 5), rel=1e-6)
    assert found.method == "mean; 95 % t interval over items"


@pytest.mark.parametrize("n", [2, 3, 10, 250])
@pytest.mark.parametrize("score", [1.0, 2.5, 5.0])
def test_scores_without_spread_are_not_certain(n: int, score: float) -> None:
    """The share that could still differ is scipy's exact (Clopper-Pearson) bound for no event in n."""
    share = scipy_stats.binomtest(0, n).proportion_ci(method="exact").high
    found = estimate([score] * n)
    assert found.value == score
    assert found.low == pytest.approx(score - share * (score - 1))
    assert found.high == pytest.approx(score + share * (5 - score))
    assert "no spread" in found.method
    assert found.low != found.high


def test_nothing_scored_has_no_value() -> None:
    found = estimate([], n_unscored=7)
    assert (found.value, found.low, found.high, found.n, found.n_unscored) == (None, None, None, 0, 7)
    assert "nothing was scored" in found.method


def test_one_item_has_a_mean_and_no_interval() -> None:
    found = estimate([4.0], n_unscored=1)
    assert (found.value, found.low, found.high, found.n, found.n_unscored) == (4.0, None, None, 1, 1)


@pytest.mark.parametrize(("scores", "end"), [([5.0, 5, 4], "high"), ([1.0, 1, 2], "low"), ([1.0, 5], "both")])
def test_intervals_end_where_the_scale_ends(scores: list[float], end: str) -> None:
    mean, error = sum(scores) / len(scores), scipy_stats.sem(scores)
    low, high = scipy_stats.t.interval(0.95, len(scores) - 1, mean, error)
    found = estimate(scores)
    if end in ("high", "both"):
        assert high > 5
        assert found.high == 5
    if end in ("low", "both"):
        assert low < 1
        assert found.low == 1


@given(st.lists(st.floats(1, 5), min_size=2, max_size=50), st.integers(0, 9))
def test_the_interval_holds_the_mean_and_stays_on_the_scale(scores: list[float], n_unscored: int) -> None:
    found = estimate(scores, n_unscored)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    slack = 1e-9  # of floating point
    assert SCALE[0] - slack <= found.low <= found.value + slack
    assert found.value - slack <= found.high <= SCALE[-1] + slack
    assert (found.n, found.n_unscored) == (len(scores), n_unscored)
    assert all(map(math.isfinite, (found.value, found.low, found.high)))
