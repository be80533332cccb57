"""Shares that come in sources, beside statsmodels' interval on an effective size computed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from jurybox.stats.shares import clustered_share, share_difference, wilson
from jurybox.types import Estimate

# No stubs; the Wilson interval of the package, for sizes that are no whole numbers.
proportion: Any = pytest.importorskip("statsmodels.stats.proportion")


def ends(found: Estimate) -> tuple[float, float]:
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


def by_statsmodels(share: float, size: float) -> tuple[float, float]:
    low, high = proportion.proportion_confint(share * size, size, alpha=0.05, method="wilson")
    return float(low), float(high)


def size_by_hand(values: np.ndarray) -> float:
    """Sources x items of one source: Korn & Graubard's size, from the variance of the sources' means."""
    share, sources = values.mean(), len(values)
    of_means = (
        values.mean(axis=1).var(ddof=1) / sources * (stats.t.ppf(0.975, sources - 1) / stats.norm.ppf(0.975)) ** 2
    )
    return float(share * (1 - share) / max(of_means, values.var() / values.size))


@pytest.mark.parametrize("successes", [0, 1, 7, 20])
def test_independent_trials_are_wilsons(successes: int) -> None:
    found = wilson(successes, 20, 0)
    exact = stats.binomtest(successes, 20).proportion_ci(method="wilson")
    assert ends(found) == pytest.approx((exact.low, exact.high))
    assert ends(found) == pytest.approx(by_statsmodels(successes / 20, 20))


@pytest.mark.parametrize("raters", [1, 3])
@pytest.mark.parametrize("rho", [0.0, 0.6])
def test_sources_are_worth_their_effective_size(rho: float, raters: int) -> None:
    """Hits and misses, and shares of three raters; sources that differ, and sources that do not."""
    rng = np.random.default_rng(3)
    felt = rng.normal(0, np.sqrt(rho), (12, 1, 1)) + rng.normal(0, np.sqrt(1 - rho), (12, 6, raters))
    values = (felt > 0.5).mean(axis=2)
    found = clustered_share(values.ravel(), np.repeat(np.arange(12), 6), 4, "share")
    assert found.value == pytest.approx(values.mean())
    assert ends(found) == pytest.approx(by_statsmodels(values.mean(), size_by_hand(values)))
    assert (found.n, found.n_unscored) == (72, 4)


def test_hits_that_sources_do_not_share_are_worth_their_number_and_no_more() -> None:
    """Every source has one hit of four: less spread than chance gives. Sixteen trials, not infinitely many."""
    values = np.tile([1.0, 0.0, 0.0, 0.0], 4)
    found = clustered_share(values, np.repeat(np.arange(4), 4), 0, "share")
    assert ends(found) == pytest.approx(by_statsmodels(0.25, 16))


def test_a_difference_adds_squares_less_what_both_have_in_common() -> None:
    """Newcombe 1998, paired: the formula written out with numpy's correlation of the sources' sums."""
    rng = np.random.default_rng(4)
    source_of, felt = np.repeat(np.arange(15), 5), np.repeat(rng.normal(size=15), 5)
    one, other = ((felt + rng.normal(size=75) > cut).astype(float) for cut in (0.5, 1.0))
    first, second = (clustered_share(side, source_of, 0, "share") for side in (one, other))
    found = share_difference(first, second, one, other, source_of, "difference")
    r = np.corrcoef(*(side.reshape(15, 5).sum(axis=1) for side in (one, other)))[0, 1]
    (low, high), (other_low, other_high) = ends(first), ends(second)
    below, above = (
        np.array([one.mean() - low, other_high - other.mean()]),
        [high - one.mean(), other.mean() - other_low],
    )
    shape = np.array([[1, -r], [-r, 1]])
    assert found.value == pytest.approx(one.mean() - other.mean())
    assert found.value is not None
    assert ends(found) == pytest.approx(
        (found.value - np.sqrt(below @ shape @ below), found.value + np.sqrt(above @ shape @ above))
    )


def test_the_same_side_twice_does_not_differ() -> None:
    values, source_of = np.array([1.0, 0.0, 0.0, 0.0, 1.0, 1.0]), np.array([0, 0, 1, 1, 2, 2])
    one = clustered_share(values, source_of, 0, "share")
    found = share_difference(one, one, values, values, source_of, "difference")
    assert found.value == 0
    low, high = ends(found)
    assert low == pytest.approx(-high)


def test_one_source_has_no_interval_and_nothing_no_value() -> None:
    values, source_of = np.array([1.0, 0.0]), np.array([0, 0])
    one = clustered_share(values, source_of, 0, "share")
    assert (one.value, one.low) == (0.5, None)
    found = share_difference(one, one, values, values, source_of, "difference")
    assert (found.value, found.low) == (0.0, None)
    nothing = clustered_share(np.empty(0), np.empty(0, dtype=np.intp), 3, "share")
    assert nothing.method.startswith("undefined: ")
    assert share_difference(nothing, nothing, np.empty(0), np.empty(0), np.empty(0, dtype=np.intp), "d").value is None
