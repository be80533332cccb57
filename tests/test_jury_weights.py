"""Weights learned from human ratings are scipy's, are shares, and are checked on sources they have not seen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats as scipy_stats
from scipy.optimize import nnls

from jurybox.stats import learn_weights
from jurybox.stats.weights import simplex_weights

NAN = np.nan


def centred(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    x, y = x - x.mean(axis=0), y - y.mean()
    return x.T @ x, x.T @ y


def by_scipy(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """scipy's non-negative least squares; one heavy row says that the weights sum to one."""
    heavy = 1e5
    x, y = x - x.mean(axis=0), y - y.mean()
    weights, _ = nnls(np.vstack([x, np.full(x.shape[1], heavy)]), np.append(y, heavy))
    return np.asarray(weights, dtype=np.float64)


@pytest.mark.parametrize("judges", [2, 3, 5, 8])
def test_weights_are_those_of_scipy(judges: int) -> None:
    zeros = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        truth = rng.normal(size=60)
        x = truth[:, None] * rng.normal(0.5, 0.5, judges) + rng.normal(size=(60, judges))
        gram, cross = centred(x, truth)
        ours = simplex_weights(gram[None], cross[None])[0]
        assert ours == pytest.approx(by_scipy(x, truth), abs=1e-5)
        zeros += int((ours == 0).sum())
    assert judges == 2 or zeros > 0, "some judges earn nothing"


@given(st.integers(0, 10**6), st.integers(1, 8))
def test_weights_are_shares(seed: int, judges: int) -> None:
    rng = np.random.default_rng(seed)
    gram, cross = centred(rng.integers(1, 6, (5, judges)).astype(float), rng.integers(1, 6, 5).astype(float))
    weights = simplex_weights(gram[None], cross[None])[0]
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)


def test_judges_that_cannot_be_told_apart_share_evenly() -> None:
    rng = np.random.default_rng(0)
    one = rng.normal(size=30)
    gram, cross = centred(np.column_stack([one, one, one]), one)
    assert simplex_weights(gram[None], cross[None])[0] == pytest.approx([1 / 3] * 3, abs=1e-6)


def test_leniency_does_not_matter_to_the_weights() -> None:
    """People are 0.7 a + 0.3 b, a is lenient and b is harsh: the weights are found, and nothing is left over."""
    rng = np.random.default_rng(2)
    scores = rng.uniform(2, 4, (2, 40))
    people = 0.7 * scores[0] + 0.3 * scores[1]
    found = learn_weights(scores + np.array([[0.9], [-0.8]]), people, [n // 2 for n in range(40)])
    assert found.weights == pytest.approx((0.7, 0.3), abs=1e-6)
    assert (found.n, found.n_unscored, found.sources) == (40, 0, 20)
    assert found.learned["rmse"].value == pytest.approx(0, abs=1e-6)
    assert found.learned["pearson"].value == pytest.approx(1)
    assert found.gain.low is not None
    assert found.gain.low > 0


def test_the_check_learns_without_the_source_it_scores() -> None:
    """The same by hand: scipy's weights without each source, then RMSE and scipy's r over all held-out items."""
    rng = np.random.default_rng(4)
    people = rng.uniform(1, 5, 36)
    x = people[:, None] * [0.8, 0.5, 0.1] + rng.normal(0, [0.5, 0.8, 1.0], (36, 3)) + [0.5, -0.5, 2]
    source = np.arange(36) // 3
    found = learn_weights(x.T, people, list(source), resamples=20)
    for ours, equal in ((found.learned, False), (found.plain, True)):
        raw, error = np.zeros(36), np.zeros(36)
        for left_out in range(12):
            here, there = source == left_out, source != left_out
            weights = np.full(3, 1 / 3) if equal else by_scipy(x[there], people[there])
            raw[here] = x[here] @ weights
            error[here] = raw[here] + (people[there] - x[there] @ weights).mean() - people[here]
        assert ours["rmse"].value == pytest.approx(np.sqrt((error**2).mean()), abs=1e-5)
        assert ours["pearson"].value == pytest.approx(scipy_stats.pearsonr(raw, people)[0], abs=1e-5)


def test_an_item_that_a_judge_did_not_score_teaches_nothing() -> None:
    rng = np.random.default_rng(2)
    scores = rng.uniform(1, 5, (2, 12))
    people = scores.mean(axis=0)
    whole = learn_weights(scores[:, 1:], people[1:], range(11))
    scores[1, 0] = NAN
    found = learn_weights(scores, people, range(12))
    assert found.weights == whole.weights
    assert (found.n, found.n_unscored, found.gain.n_unscored) == (11, 1, 1)
