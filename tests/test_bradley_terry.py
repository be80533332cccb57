"""Bradley-Terry strengths are those that others publish and that another optimiser finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from jurybox.stats.bradley_terry import PRIOR, Result, log_strengths, ranking

# American League East 1987, wins of the row against the column; Agresti, Categorical Data Analysis (2nd ed., 2002),
# page 438. Fitted log-strengths with Baltimore at 0: the R package BradleyTerry2 (Turner & Firth 2012, Journal of
# Statistical Software 48(9)), model `baseballModel1`.
TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
WINS = (
    (0, 7, 9, 7, 7, 9, 11),
    (6, 0, 7, 5, 11, 9, 9),
    (4, 6, 0, 7, 7, 8, 12),
    (6, 8, 6, 0, 6, 7, 10),
    (6, 2, 6, 7, 0, 7, 12),
    (4, 4, 5, 6, 6, 0, 6),
    (2, 4, 1, 3, 1, 7, 0),
)
PUBLISHED = (1.5814, 1.4364, 1.2945, 1.2476, 1.1077, 0.6839, 0.0)


def test_baseball_has_its_published_strengths() -> None:
    found = log_strengths(np.array(WINS, float), prior=0)
    assert found - found[-1] == pytest.approx(PUBLISHED, abs=5e-5)


def by_scipy(wins: np.ndarray) -> np.ndarray:
    """The same likelihood, maximised by somebody else's optimiser."""

    def loss(strengths: np.ndarray) -> float:
        lead = strengths[:, None] - strengths[None, :]
        return float((wins * np.logaddexp(0, -lead)).sum() + strengths.sum() ** 2)

    found = minimize(loss, np.zeros(len(wins)), method="BFGS", options={"gtol": 1e-9})
    return np.asarray(found.x - found.x.mean())


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10_000), st.integers(1, 60))
def test_strengths_maximise_the_likelihood(size: int, seed: int, most: int) -> None:
    wins = np.random.default_rng(seed).integers(0, most, (size, size)).astype(float)
    np.fill_diagonal(wins, 0)
    games = wins + wins.T
    with_prior = wins + PRIOR * (games > 0)
    if not ((np.linalg.matrix_power((games > 0) + np.eye(size), size)) > 0).all():
        return
    assert log_strengths(wins) == pytest.approx(by_scipy(with_prior), abs=2e-4)


def test_a_stack_of_matrices_is_as_good_as_each_alone() -> None:
    stack = np.array([WINS, np.transpose(WINS)], float)
    found = log_strengths(stack)
    assert found[0] == pytest.approx(log_strengths(stack[0]))
    assert found[1] == pytest.approx(-found[0]), "whoever loses instead of winning has the opposite strength"
    assert found.mean(-1) == pytest.approx([0, 0])


def test_two_systems_differ_by_the_log_odds() -> None:
    found = log_strengths(np.array([[0, 30], [10, 0]], float), prior=0)
    assert found[0] - found[1] == pytest.approx(np.log(3))


def meetings(wins: tuple[tuple[int, ...], ...]) -> list[list[Result]]:
    """One meeting a source."""
    return [[(i, j, 1.0)] for i, row in enumerate(wins) for j, count in enumerate(row) for _ in range(count)]


def test_a_ranking_goes_from_the_strongest_down_with_intervals() -> None:
    found = ranking(TEAMS, meetings(WINS), {"Boston": 3})
    assert [system for system, _ in found] == list(TEAMS)
    for system, estimate in found:
        assert estimate.value is not None
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.low < estimate.value < estimate.high
        assert (estimate.n, estimate.n_unscored) == (273, 3 if system == "Boston" else 0)
        assert estimate.seed == 0
    top, bottom = found[0][1], found[-1][1]
    assert top.low is not None
    assert bottom.high is not None
    assert top.low > bottom.high


def test_the_interval_is_about_as_wide_as_the_published_standard_error() -> None:
    """0.3433 for Milwaukee less Baltimore in BradleyTerry2: the bootstrap of that difference is close to it."""
    rng = np.random.default_rng(1)
    results = meetings(WINS)
    stack = np.zeros((400, 7, 7))
    for number in range(400):
        for index in rng.integers(len(results), size=len(results)):
            ((i, j, _),) = results[index]
            stack[number, i, j] += 1
    spread = np.std((found := log_strengths(stack))[:, 0] - found[:, -1])
    assert spread == pytest.approx(0.3433, rel=0.2)


def test_the_same_seed_gives_the_same_interval_and_another_does_not() -> None:
    once, again, other = (ranking(TEAMS, meetings(WINS), {}, resamples=50, seed=seed) for seed in (1, 1, 2))
    assert once == again
    assert [(name, estimate.value) for name, estimate in once] == [(name, estimate.value) for name, estimate in other]
    assert [estimate.low for _, estimate in once] != [estimate.low for _, estimate in other]


def test_an_undefeated_system_has_a_finite_strength() -> None:
    found = dict(ranking("abc", [[(0, 1, 1.0), (0, 2, 1.0), (1, 2, 0.5)]] * 20, {}))
    best = found["a"]
    assert best.value is not None
    # Half a win against 20.5 for each of two: the odds of one meeting are 41 to 1.
    assert best.value == pytest.approx(2 / 3 * np.log(41), abs=1e-6)
    assert found["b"].value == pytest.approx(found["c"].value)
    assert "half a win added each way" in best.method


def test_where_one_side_never_lost_no_interval_is_claimed() -> None:
    """Every resample of a clean sweep is a clean sweep: its percentiles would be a point, and certainty a lie."""
    results: list[list[Result]] = [[(0, 1, float(n % 2)), (0, 2, 1.0), (1, 2, 1.0)] for n in range(20)]
    swept = ranking("abc", results, {})
    assert [system for system, _ in swept][2] == "c"
    assert all((estimate.low, estimate.high) == (None, None) for _, estimate in swept)
    assert all("never lost" in estimate.method for _, estimate in swept)
    tied = ranking("abc", [*results, [(0, 2, 0.5)]], {})
    assert all(estimate.low is not None for _, estimate in tied), "half a point is enough"


def test_ties_alone_make_all_equal() -> None:
    found = ranking("abc", [[(0, 1, 0.5), (0, 2, 0.5), (1, 2, 0.5)]] * 5, {})
    assert [estimate.value for _, estimate in found] == pytest.approx([0, 0, 0])


def test_systems_that_no_meeting_connects_have_no_strength() -> None:
    found = ranking("abcd", [[(0, 1, 1.0)], [(2, 3, 1.0)]], {})
    assert [(system, estimate.value, estimate.low) for system, estimate in found] == [(s, None, None) for s in "abcd"]
    assert "no chain of meetings connects all systems" in found[0][1].method


def test_one_source_gives_strengths_and_no_interval() -> None:
    found = ranking("ab", [[(0, 1, 1.0)]], {})
    assert found[0][0] == "a"
    assert found[0][1].value == pytest.approx(np.log(3) / 2)
    assert (found[0][1].low, found[0][1].high) == (None, None)


def test_sources_are_drawn_whole() -> None:
    """Ten copies of every meeting on the same sources say nothing new, so the interval does not shrink."""
    few = [[(0, 1, 1.0), (1, 2, 1.0)], [(1, 0, 1.0), (2, 1, 1.0)], [(0, 2, 1.0)], [(2, 0, 1.0)]] * 8
    many = [source * 10 for source in few]
    narrow, wide = (
        [(e.high or 0) - (e.low or 0) for _, e in ranking("abc", results, {}, seed=3)] for results in (many, few)
    )
    assert min(narrow) > 0.9 * min(wide)
