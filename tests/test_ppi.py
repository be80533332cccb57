"""PPI++ means are those of ppi_py, keep sources together, are never wider than people alone, and never NaN."""

from __future__ import annotations

import importlib
import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats as scipy_stats

from jurybox.stats import Powered, ppi_mean, ppi_means
from jurybox.stats.ppi import LEAST_TUNED
from jurybox.types import Estimate

NAN = math.nan
SCALE = (1.0, 5.0)
Scores = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


@pytest.fixture(scope="module")
def ppi_py() -> Any:
    """The authors' package; importing it silences every warning of the process, so that is undone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("ppi_py")


def study(seed: int, labels: int = 20, others: int = 100, r: float = 0.8) -> Scores:
    """Labels, the judge on them, the judge on the others; all on the scale."""
    rng = np.random.default_rng(seed)
    truth, noise = rng.normal(size=(2, labels + others))
    human = np.clip(np.round(3.6 + 0.9 * truth[:, None] + rng.normal(0, 0.7, (labels + others, 3))), *SCALE).mean(
        axis=1
    )
    judge = np.clip(np.round(3.1 + 0.9 * (r * truth + math.sqrt(1 - r * r) * noise)), *SCALE)
    return human[:labels], judge[:labels], judge[labels:]


def width(found: Estimate) -> float:
    assert found.low is not None
    assert found.high is not None
    return found.high - found.low


@pytest.mark.parametrize("seed", range(25))
def test_without_clusters_it_is_ppi_py(ppi_py: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(3, 60)), int(rng.integers(2, 200))
    truth = rng.normal(size=n + m)
    y, f = truth + rng.normal(0, 0.3, n + m), rng.uniform(-0.5, 1.5) * truth + rng.normal(0, rng.uniform(0.1, 1), n + m)
    found = ppi_mean(y[:n], f[:n], f[n:], quantile="normal")
    assert found.value == pytest.approx(float(ppi_py.ppi_mean_pointestimate(y[:n], f[:n], f[n:])[0]), abs=1e-9)
    low, high = ppi_py.ppi_mean_ci(y[:n], f[:n], f[n:], alpha=0.05)
    assert found.low == pytest.approx(low[0], abs=1e-9)
    assert found.high == pytest.approx(high[0], abs=1e-9)


# What the authors' package prints: aangelopoulos/ppi_py, examples/power_analysis.ipynb, ballots of an election, power
# tuning on (Broska, Howes & van Loon 2024, section 3): n, N, variance of a label, PPI correlation, standard error and
# effective n, and how exact the input is. The first study has 308 votes for among 500. The others are of an earlier
# state of the same notebook, ppi_py/power_analysis.ipynb, with 132 of 200 and the squared correlation to six digits.
PUBLISHED = [
    (418, 5397, 0.616 * 0.384, 0.975093210410465, 0.008155693844479426, 3556, 1e-6),
    (687, 30600, 0.2244, math.sqrt(0.953987), 0.004676749108113767, None, 1e-5),
    (150, 6691, 0.2244, math.sqrt(0.953987), 0.010006442432328476, None, 1e-5),
]


def exactly(size: int, mean: float, variance: float) -> NDArray[np.float64]:
    """Numbers with this mean and variance."""
    ramp = np.linspace(-1, 1, size)
    return np.asarray(mean + (ramp - ramp.mean()) * math.sqrt(variance) / ramp.std())


@pytest.mark.parametrize(("n", "others", "variance", "r", "error", "effective", "digits"), PUBLISHED)
def test_ballots_as_published(
    n: int, others: int, variance: float, r: float, error: float, effective: int | None, digits: float
) -> None:
    """The published figures depend on the moments alone, so any labels and scores with these moments give them."""
    y = exactly(n, 0.62, variance)
    wave = np.cos(np.linspace(0, 2 * np.pi, n, endpoint=False))
    for known in (np.ones(n), y - y.mean()):
        wave -= known * (wave @ known) / (known @ known)
    f = 0.5 + r * (y - y.mean()) + math.sqrt(1 - r * r) * wave / wave.std() * math.sqrt(variance)
    found = ppi_means(y, f, exactly(others, 0.5, variance), quantile="normal")
    assert width(found.ppi) / 2 / scipy_stats.norm.ppf(0.975) == pytest.approx(error, rel=digits)
    assert found.ppi.value == pytest.approx(0.62)
    if effective is not None:
        assert found.effective_n is not None
        assert math.floor(found.effective_n) == effective


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_a_given_lambda_is_that_of_ppi_py(ppi_py: Any, weight: float) -> None:
    y, f, u = study(3)
    low, high = ppi_py.ppi_mean_ci(y, f, u, alpha=0.05, lam=weight)
    found = ppi_mean(y, f, u, weight=weight, quantile="normal")
    assert found.low == pytest.approx(low[0], abs=1e-9)
    assert found.high == pytest.approx(high[0], abs=1e-9)


def test_by_hand() -> None:
    """Labels 2 4, judge 1 3 there and 1 2 3 4 elsewhere.

    Covariance / 2 is 1/2; the judge's variance over all six is 22/15, times 1/2 + 1/4 is 11/10: lambda 5/11. The mean
    is 3 - 5/11 (2 - 5/2). Errors a source: (6/11) / 2 twice, and 5/11 of 3/8, 1/8, 1/8, 3/8.
    """
    found = ppi_means([2, 4], [1, 3], [1, 2, 3, 4], quantile="normal")
    assert found.weight == pytest.approx(5 / 11)
    assert found.ppi.value == pytest.approx(3 + 5 / 22)
    variance = 2 * (3 / 11) ** 2 + (5 / 11) ** 2 * (9 + 1 + 1 + 9) / 64
    assert width(found.ppi) / 2 == pytest.approx(scipy_stats.norm.ppf(0.975) * math.sqrt(variance))
    assert found.effective_n == pytest.approx(2 * 0.5 / variance)
    assert found.judge.value == pytest.approx(14 / 6)


def test_the_t_interval_pays_for_lambda() -> None:
    """Written out for one item a source: n - 2, leverage, Satterthwaite; quantile by scipy."""
    y, f, u = study(1)
    found = ppi_means(y, f, u)
    n, m, weight = len(y), len(u), found.weight
    assert 0 < weight < 1
    pooled = np.concatenate([f, u]).var(ddof=1) * (1 / n + 1 / m)
    residual = (y - y.mean()) - weight * (f - f.mean())
    leverage = f.var() / n**2 * (f.mean() - u.mean()) ** 2 / pooled**2
    ours = (residual @ residual) / (n - 2) / n * (1 + leverage)
    theirs = weight**2 * u.var(ddof=1) / m
    degrees = math.floor((ours + theirs) ** 2 / (ours**2 / (n - 2) + theirs**2 / (m - 1)))
    expected = scipy_stats.t.ppf(0.975, degrees) * math.sqrt(ours + theirs)
    assert width(found.ppi) / 2 == pytest.approx(expected, abs=1e-9)
    assert f"{degrees} degrees of freedom" in found.ppi.method
    assert found.effective_n == pytest.approx(n * (y.var(ddof=1) / n) / (ours + theirs))


def test_people_alone_is_the_t_interval_of_scipy() -> None:
    y, f, u = study(1)
    found = ppi_means(y, f, u).human
    low, high = scipy_stats.t.interval(0.95, len(y) - 1, y.mean(), scipy_stats.sem(y))
    assert found.low == pytest.approx(low, abs=1e-9)
    assert found.high == pytest.approx(high, abs=1e-9)


def test_copies_of_an_item_in_its_source_add_nothing() -> None:
    """Three copies of every item are three times the items, and the same estimate and interval."""
    y, f, u = study(5)
    once = ppi_mean(y, f, u)
    sources, others = list(range(20)) * 3, list(range(20, 120)) * 3
    thrice = ppi_mean(np.tile(y, 3), np.tile(f, 3), np.tile(u, 3), sources, others)
    assert thrice.value == pytest.approx(once.value, abs=2e-3)  # the pooled variance divides by n - 1
    assert width(thrice) == pytest.approx(width(once), rel=2e-3)
    unaware = ppi_mean(np.tile(y, 3), np.tile(f, 3), np.tile(u, 3))
    assert width(unaware) < 0.65 * width(once)


def test_what_labelled_and_other_items_of_a_source_share_does_not_cancel_silently() -> None:
    """A source's labelled and unlabelled item with one judge's score: the correction says nothing of the source."""
    y, f, _ = study(6, labels=40)
    together = ppi_means(y, f, f, range(40), range(40))
    apart = ppi_means(y, f, f, range(40), range(40, 80))
    assert apart.weight > 0.2
    assert together.weight == 0, "the judge's mean is the same on both sides whatever the sources are"
    assert together.ppi.value == pytest.approx(y.mean())


def test_a_label_without_a_judges_score_still_counts() -> None:
    y, f, u = study(2)
    f[:3], u[:10] = NAN, NAN
    found = ppi_means(y, f, u)
    assert found.human.n == 20
    assert found.human.value == pytest.approx(y.mean())
    assert (found.ppi.n, found.ppi.n_unscored, found.n_judged) == (20, 13, 107)
    expected = y.mean() - found.weight * (np.nanmean(f) - np.nanmean(u))
    assert found.weight > 0
    assert found.ppi.value == pytest.approx(expected)


@given(st.integers(0, 10**6), st.integers(2, 30), st.integers(0, 40), st.floats(-0.9, 0.99))
def test_never_wider_than_people_alone_and_never_nan(seed: int, labels: int, others: int, r: float) -> None:
    y, f, u = study(seed, labels, others, r)
    found = ppi_means(y, f, u, ends=SCALE)
    value, low, high = found.ppi.value, found.ppi.low, found.ppi.high
    assert value is not None
    assert low is not None
    assert high is not None
    assert 1 <= low <= value <= high <= 5
    assert width(found.ppi) <= width(found.human) + 1e-12
    assert found.effective_n is not None
    assert found.effective_n >= labels - 1e-9
    assert 0 <= found.weight <= 1


@pytest.mark.parametrize(("labels", "r"), [(12, 0.8), (30, 0.8), (30, 0.0)])
def test_intervals_cover_and_a_good_judge_narrows_them(labels: int, r: float) -> None:
    """300 studies; the 1,000 of every kind are in bench/coverage_ppi.py."""
    truth = float(study(99, 400_000, 0)[0].mean())
    studies = [study(seed, labels, 150, r) for seed in range(300)]
    found = [ppi_means(y, f, u, ends=SCALE) for y, f, u in studies]
    covered = np.mean([(one.ppi.low or 9) <= truth <= (one.ppi.high or 0) for one in found])
    assert 0.91 <= covered <= 0.99
    ratio = sum(width(one.ppi) for one in found) / sum(width(one.human) for one in found)
    assert ratio == pytest.approx(0.8 if r else 1.0, abs=0.05)
    bias = np.mean([(one.ppi.value or 0) - truth for one in found])
    assert abs(bias) < 0.05, "half a point of the judge's harshness is gone"


def test_few_labels_tune_nothing() -> None:
    y, f, u = study(1, LEAST_TUNED)
    assert ppi_means(y, y + 0.1 * f, u).weight > 0
    few = ppi_means(y[1:], (y + 0.1 * f)[1:], u)
    assert few.weight == 0
    assert f"fewer than {LEAST_TUNED} labelled sources" in few.ppi.method


def test_a_judge_that_is_exactly_right_is_not_believed_to_the_last_digit() -> None:
    y = np.array([1.0, 2, 3, 4, 5] * 2)
    found = ppi_means(y, y, np.arange(1000) % 5 + 1.0, weight=1.0, ends=SCALE)
    assert found.ppi.low == found.human.low
    assert found.weight == 0


NOTHING: dict[str, tuple[list[float], list[float], list[float], list[str], str]] = {
    "no label": ([], [], [3.0, 4.0], [], "undefined: fewer than 2 labelled sources"),
    "one label": ([4.0], [3.0], [3.0, 4.0], ["a"], "undefined: fewer than 2 labelled sources"),
    "one source": ([4.0, 5.0], [3.0, 3.0], [3.0, 4.0], ["a", "a"], "undefined: fewer than 2 labelled sources"),
    "nothing at all": ([], [], [], [], "undefined: fewer than 2 labelled sources"),
}


@pytest.mark.parametrize("case", NOTHING)
def test_too_little_is_undefined(case: str) -> None:
    y, f, u, groups, why = NOTHING[case]
    found = ppi_means(y, f, u, groups, [f"u{number}" for number in range(len(u))])
    assert (found.ppi.value, found.ppi.low, found.ppi.high, found.ppi.method) == (None, None, None, why)
    assert found.effective_n is None
    assert_no_nan(found)


SAME: dict[str, tuple[list[float], list[float], list[float]]] = {
    "all labels the same": ([5.0] * 9, [3.0, 4, 5] * 3, [4.0] * 9),
    "a constant judge": ([1.0, 2, 3] * 3, [3.0] * 9, [3.0] * 9),
    "no judge's score": ([1.0, 2, 3] * 3, [NAN] * 9, [NAN] * 9),
    "nothing unlabelled": ([1.0, 2, 3] * 3, [1.0, 2, 3] * 3, []),
    "one unlabelled": ([1.0, 2, 3] * 3, [1.0, 2, 3] * 3, [4.0]),
    "a judge that runs against people": ([1.0, 2, 3] * 3, [3.0, 2, 1] * 3, [1.0, 2, 3] * 3),
}


@pytest.mark.parametrize("case", SAME)
def test_where_the_judge_cannot_help_it_is_people_alone(case: str) -> None:
    y, f, u = SAME[case]
    found = ppi_means(y, f, u, ends=SCALE)
    assert found.weight == 0
    assert (found.ppi.value, found.ppi.low, found.ppi.high) == (found.human.value, found.human.low, found.human.high)
    assert width(found.ppi) > 0.1
    assert found.effective_n == len(y)
    assert_no_nan(found)


def assert_no_nan(found: Powered) -> None:
    for one in (found.ppi, found.human, found.judge):
        assert not any(number is not None and math.isnan(number) for number in (one.value, one.low, one.high))


@pytest.mark.parametrize(
    ("y", "f", "u", "groups", "message"),
    [
        ([1, 2], [1], [1], None, "2 labels need as many judge's scores and sources, not 1 and 2"),
        ([1, 2], [1, 2], [1], ["a"], "2 labels need as many judge's scores and sources, not 2 and 1"),
        ([1, NAN], [1, 2], [1], None, "labels are finite numbers"),
        ([1, 2], [1, math.inf], [1], None, "judge's scores are finite numbers or nan"),
    ],
)
def test_misfits_are_refused(y: list[float], f: list[float], u: list[float], groups: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ppi_mean(y, f, u, groups)


def test_never_wider_where_the_end_of_the_scale_cuts_the_interval_of_people_alone() -> None:
    for seed in range(150):
        y, f, u = study(seed, 9, 60, 0.6)
        found = ppi_means(np.minimum(y + 1.1, 5), f, u, ends=SCALE)
        assert width(found.ppi) <= width(found.human) + 1e-12


def test_what_the_judge_explains_is_scipys_r_squared_adjusted() -> None:
    y, f, u = study(4, 15)
    found = ppi_means(y, f, u)
    assert found.spread is not None
    r = scipy_stats.pearsonr(y, f).statistic
    assert found.weight > 0
    assert found.spread.explained == pytest.approx(1 - (1 - r * r) * 14 / 13)
    assert found.spread.variance == pytest.approx(y.var(ddof=1))
