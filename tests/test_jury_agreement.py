"""Krippendorff's alpha is the published one and that of the krippendorff package; its interval is over sources."""

from __future__ import annotations

from collections.abc import Sequence

import krippendorff
import numpy as np
import pytest
from numpy.typing import NDArray

from jurybox.stats import krippendorff_alpha
from jurybox.stats.agreement import Level

NAN = np.nan
LEVELS: tuple[Level, ...] = ("ordinal", "interval")

# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", section E: 4 observers, 12 units, missing data. He
# finds .815 (ordinal) and .849 (interval).
PUBLISHED = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]


@pytest.mark.parametrize(("level", "alpha"), [("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_is_the_published_one(level: Level, alpha: float) -> None:
    found = krippendorff_alpha(PUBLISHED, range(12), level)
    assert found.value == pytest.approx(alpha, abs=5e-4)
    assert (found.n, found.n_unscored, found.seed) == (11, 1, 0)
    assert found.low is not None
    assert found.high is not None
    assert found.low < alpha < found.high
    assert found.method == f"Krippendorff's alpha, {level}; 95 % percentile bootstrap over 11 sources, 500 resamples"


def ratings(seed: int, values: Sequence[float]) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    table = rng.choice(values, size=(rng.integers(2, 6), rng.integers(5, 60)))
    return np.where(rng.random(table.shape) < 0.2, NAN, table)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("values", [(1, 2, 3, 4, 5), (1, 5), tuple(np.linspace(1, 5, 97))])
def test_alpha_is_that_of_the_krippendorff_package(level: Level, values: Sequence[float]) -> None:
    for seed in range(25):
        table = ratings(seed, values)
        theirs = krippendorff.alpha(table, level_of_measurement=level)
        ours = krippendorff_alpha(table, range(table.shape[1]), level, resamples=2).value
        assert ours == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("level", LEVELS)
def test_the_interval_is_that_of_resampled_sources(level: Level) -> None:
    """The same draws, each put through the krippendorff package."""
    table, sources = ratings(3, (1, 2, 3, 4, 5)), 6
    group = np.arange(table.shape[1]) % sources
    rng = np.random.default_rng(7)
    alphas = []
    for _ in range(40):
        times = np.bincount(rng.integers(0, sources, sources), minlength=sources)
        alphas.append(krippendorff.alpha(np.repeat(table, times[group], axis=1), level_of_measurement=level))
    found = krippendorff_alpha(table, list(group), level, seed=7, resamples=40)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(alphas, [0.025, 0.975])))
    assert found.seed == 7
    assert "6 sources, 40 resamples" in found.method


@pytest.mark.parametrize("level", LEVELS)
def test_items_of_one_source_are_drawn_together(level: Level) -> None:
    """Copies of an item within its source add nothing, so the interval stays as wide as it was."""
    table = ratings(5, (1, 2, 3, 4, 5))
    count = table.shape[1]
    once = krippendorff_alpha(table, range(count), level)
    copied = krippendorff_alpha(np.tile(table, 4), list(range(count)) * 4, level)
    believed = krippendorff_alpha(np.tile(table, 4), range(4 * count), level)

    def width(low: float | None, high: float | None) -> float:
        assert low is not None
        assert high is not None
        return high - low

    assert width(copied.low, copied.high) == pytest.approx(width(once.low, once.high), rel=0.1)
    assert width(believed.low, believed.high) < 0.7 * width(copied.low, copied.high)


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_is_undefined_where_nothing_varies_or_nobody_meets(level: Level) -> None:
    same = krippendorff_alpha([[3.0, 3, 3], [3.0, 3, NAN]], "abc", level)
    assert (same.value, same.n, same.n_unscored, same.method) == (None, 2, 1, "undefined: all scores are the same")
    apart = krippendorff_alpha([[3, NAN], [NAN, 4]], "ab", level)
    assert (apart.value, apart.n, apart.n_unscored) == (None, 0, 2)
    assert apart.method == "undefined: no item was scored by two judges"


def test_one_source_has_an_alpha_and_no_interval() -> None:
    found = krippendorff_alpha([[1, 2, 3], [1, 3, 3]], "aaa")
    assert found.value is not None
    assert (found.low, found.high) == (None, None)
    assert "no interval from one source" in found.method


def test_resamples_without_variation_are_left_out_and_counted() -> None:
    found = krippendorff_alpha([[1, 5, 3], [1, 4, 3]], "abc", seed=1)
    assert "without variation left out)" in found.method
    assert found.low is not None
