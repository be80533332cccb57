"""The figures of `stress` against other people's formulas and against simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, stats

from jurybox.stats import stress as figures
from jurybox.stats import wilson
from jurybox.types import Estimate


def test_a_drop_is_a_change_for_the_worse_whichever_end_is_best() -> None:
    before, after = np.array([5.0, 2.0, 3.0]), np.array([3.0, 4.0, 3.0])
    assert figures.drops(before, after, 5).tolist() == [2.0, -2.0, 0.0]
    assert figures.drops(before, after, 1).tolist() == [-2.0, 2.0, 0.0]


def test_thresholds_are_not_decided_by_rounding() -> None:
    """4.1 - 4.05 is 0.04999… or 0.05000… in binary; either is no more than 0.05. 4.35 - 3.85 is half a step."""
    drops = np.array([4.1 - 4.05, 3.15 - 3.1, 0.051, -0.051, 1.0])
    assert figures.fallen(drops).tolist() == [False, False, True, False, True]
    assert figures.moved(drops).tolist() == [False, False, True, True, True]
    assert figures.fooled(np.array([4.35 - 3.85, 0.49, 0.5])).tolist() == [True, False, True]


def test_room_for_an_attack_is_what_it_needs_to_succeed() -> None:
    assert figures.with_room(np.array([5.0, 4.6, 4.5, 1.0]), 5).tolist() == [False, False, True, True]
    assert figures.with_room(np.array([1.0, 1.4, 5.0]), 1).tolist() == [False, False, True]


def test_a_dose_response_falls_and_never_turns_back() -> None:
    ladders = np.array(
        [
            [1.0, 2.0, 3.0],  # each dose lower
            [1.0, 1.0, 1.0],  # noticed at once, then level
            [0.0, 0.0, 1.0],  # noticed in the end
            [0.0, 0.0, 0.0],  # never: no response
            [2.0, 1.0, 2.0],  # turns back
            [1.0, 0.97, 1.5],  # turns back by less than counts
            [-1.0, 0.0, 1.0],  # better than the original first
        ]
    )
    assert figures.rises_with_dose(ladders).tolist() == [True, True, True, False, False, True, False]


def test_the_share_solves_the_score_equation() -> None:
    """Wilson 1927: the ends are where |p - x| is t standard errors of x; solved by scipy, with the variance by hand."""
    hits = np.array([1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1, 1], dtype=bool)
    sources = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3])
    found = figures.share(hits, sources, 2, "share")
    p = hits.mean()
    per_source = np.array([hits[sources == k].mean() for k in range(4)])
    variance = per_source.var(ddof=1) / 4  # equal sizes: the variance of a mean of means
    effective = min(p * (1 - p) / variance, 12)
    t = stats.t.ppf(0.975, 3)

    def off(x: float) -> float:
        return float((p - x) ** 2 - t * t * x * (1 - x) / effective)

    assert found.value == p
    assert found.low == pytest.approx(optimize.brentq(off, 1e-9, p), abs=1e-6)
    assert found.high == pytest.approx(optimize.brentq(off, p, 1 - 1e-9), abs=1e-6)
    assert (found.n, found.n_unscored) == (12, 2)
    assert "4 sources" in found.method


@pytest.mark.parametrize("outcome", [True, False])
def test_a_share_without_exceptions_is_no_certainty(outcome: bool) -> None:
    """With 20 sources alike the far end is close to the exact one for 20 draws (Clopper-Pearson, by scipy)."""
    hits = np.full(200, outcome)
    found = figures.share(hits, np.repeat(np.arange(20), 10), 0, "share")
    exact = stats.binomtest(20 if outcome else 0, 20).proportion_ci(method="exact")
    assert found.low is not None
    assert found.high is not None
    assert found.low == pytest.approx(exact.low, abs=0.02)
    assert found.high == pytest.approx(exact.high, abs=0.02)


def test_the_share_covers_what_is_true() -> None:
    """Sources that differ (beta-binomial): 95 % intervals hold the truth about as often as they say. In 4,000
    simulations it was 95.0 %, and 92.1 % for a percentile bootstrap over sources. Wilson's interval over trials, as if
    they were independent, does not."""
    rng = np.random.default_rng(1)
    held = {"sources": 0, "trials": 0}
    sources = np.repeat(np.arange(20), 8)
    for _ in range(600):
        hits = rng.random(160) < np.repeat(rng.beta(1.6, 0.4, 20), 8)
        ours, naive = figures.share(hits, sources, 0, "share"), wilson(float(hits.sum()), 160, 0)
        for name, found in (("sources", ours), ("trials", naive)):
            assert found.low is not None
            assert found.high is not None
            held[name] += found.low <= 0.8 <= found.high
    assert held["sources"] >= 0.92 * 600
    assert held["trials"] < 0.85 * 600


def test_the_share_agrees_with_a_bootstrap_over_sources() -> None:
    """Where a percentile bootstrap is at its best, far from 0 and 1 and with many sources, both say the same."""
    rng = np.random.default_rng(2)
    sources = np.repeat(np.arange(60), 6)
    hits = rng.random(360) < np.repeat(rng.beta(3, 3, 60), 6)
    means = hits.reshape(60, 6).mean(axis=1)
    drawn = means[rng.integers(0, 60, (4000, 60))].mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    found = figures.share(hits, sources, 0, "share")
    assert found.low == pytest.approx(low, abs=0.015)
    assert found.high == pytest.approx(high, abs=0.015)


def test_few_sources_and_none() -> None:
    alone = figures.share(np.array([True, False]), np.array([0, 0]), 1, "share")
    assert (alone.value, alone.low, alone.high) == (0.5, None, None)
    assert "no interval from one source" in alone.method
    none = figures.share(np.array([], dtype=bool), np.array([], dtype=np.intp), 3, "share")
    assert (none.value, none.n, none.n_unscored) == (None, 0, 3)
    assert none.method.startswith("undefined: ")


def test_the_mean_drop_is_a_t_interval_over_sources() -> None:
    """One trial a source: scipy's own interval of a mean."""
    drops = np.array([0.0, 1.0, 2.0, 1.0, 0.5])
    found = figures.mean_drop(drops, np.arange(5), 0, "mean drop")
    low, high = stats.t.interval(0.95, 4, drops.mean(), stats.sem(drops))
    assert (found.value, found.low, found.high) == pytest.approx((drops.mean(), low, high))


def test_the_difference_is_newcombes() -> None:
    """Newcombe 1998, Statistics in Medicine 17, 873-890, table II, method 10: 56/70 - 48/80, and 9/10 - 3/10."""
    for (a, m, b, n), (low, high) in {
        (56, 70, 48, 80): (0.0524, 0.3339),
        (9, 10, 3, 10): (0.1705, 0.8090),
    }.items():
        found = figures.difference(wilson(a, m, 0), wilson(b, n, 0), "difference")
        assert found.value == pytest.approx(a / m - b / n)
        assert found.low == pytest.approx(low, abs=1e-4)
        assert found.high == pytest.approx(high, abs=1e-4)


def test_the_difference_of_nothing_is_nothing() -> None:
    nothing = figures.nothing(4, "no reason")
    some = Estimate(0.5, None, None, 10, 1, "share")
    found = figures.difference(nothing, some, "difference")
    assert (found.value, found.n, found.n_unscored, found.method) == (None, 0, 5, "undefined: no reason")
    without = figures.difference(some, some, "difference")
    assert without.value == 0
    assert without.low is None
    assert not math.isnan(without.value)
