"""Pairwise accuracy with ties, by hand and against a search through every threshold."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from jurybox.stats import Draws, alternative_annotator, pairwise_accuracy
from jurybox.stats.alternative import benjamini_yekutieli

NAN = float("nan")


def accuracy(scores: list[float], human: list[float], epsilon: float) -> float:
    """acc_eq as Deutsch, Foster & Freitag 2023 define it, pair by pair: (C + T_hm) / all pairs."""
    right = pairs = 0
    for a, b in itertools.combinations(range(len(scores)), 2):
        judge, people = scores[a] - scores[b], human[a] - human[b]
        called = 0 if round(abs(judge), 9) <= epsilon else np.sign(judge)
        right += called == np.sign(people)
        pairs += 1
    return right / pairs


def test_ties_count_as_answers() -> None:
    """Four summaries, six pairs. People tie the last two. The judge has 4 of 5 orders right and no tie: 4/6. With
    differences up to 0.5 as ties it calls that tie (+1) and no longer orders the first two (-1) or the third pair."""
    scores, human = [[1.0, 1.4, 3.0, 3.2]], [[2.0, 1.0, 4.0, 4.0]]
    assert accuracy(scores[0], human[0], 0.0) == pytest.approx(4 / 6)
    found = pairwise_accuracy(scores, human, Draws.of(1, 4, 10))
    assert found.exact.value == pytest.approx(4 / 6)
    assert found.epsilon == pytest.approx(0.2)
    assert found.tuned.value == pytest.approx(5 / 6)
    assert found.human_ties == pytest.approx(1 / 6)
    assert found.held_out.value is None, "there is no other source to take an epsilon from"


# The authors' own implementation, google-research/mt-metrics-eval: what tau_optimization_test.py expects of acc_23, the
# name of acc_eq there: accuracy without a threshold, the best threshold, and the accuracy at it.
PUBLISHED: dict[str, tuple[list[list[float]], list[list[float]], float, float, float]] = {
    "zero is best": ([[0, 2, 6, 8]], [[1, 2, 3, 4]], 6 / 6, 0, 6 / 6),
    "another is best": ([[0, 2, 6, 8]], [[1, 1, 1, 4]], 3 / 6, 4, 4 / 6),
    "four segments, some without a score": (
        [[0, 5, 2, 3, 2], [NAN, 2, 1, 5, 3], [9, 1, 5, 3, 8], [9, 3, 4, 4, 1], [NAN] * 5],
        [[1, 5, 2, 1, 1], [4, 2, 2, 1, 4], [5, 9, 2, 8, 7], [7, 6, NAN, 3, 2], [NAN] * 5],
        0.4666666666666667,
        1,
        0.4916666666666668,
    ),
}


@pytest.mark.parametrize("case", PUBLISHED)
def test_tie_calibration_as_published(case: str) -> None:
    scores, human, exact, epsilon, tuned = PUBLISHED[case]
    found = pairwise_accuracy(scores, human, Draws.of(len(scores), len(scores[0]), 10))
    assert found.exact.value == pytest.approx(exact, abs=1e-12)
    assert found.epsilon == epsilon
    assert found.tuned.value == pytest.approx(tuned, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 3)), min_size=4, max_size=4), min_size=1, max_size=5)
)
def test_the_threshold_is_the_best_there_is(rows: list[list[tuple[int, int]]]) -> None:
    scores = [[score / 4 for score, _ in row] for row in rows]
    human = [[float(rating) for _, rating in row] for row in rows]
    candidates = {0.0} | {abs(a - b) for row in scores for a, b in itertools.combinations(row, 2)}
    mean = {
        epsilon: np.mean([accuracy(x, y, epsilon) for x, y in zip(scores, human, strict=True)])
        for epsilon in candidates
    }
    found = pairwise_accuracy(scores, human, Draws.of(len(rows), 4, 5))
    assert found.tuned.value == pytest.approx(max(mean.values()))
    assert found.epsilon == pytest.approx(min(e for e, value in mean.items() if value > max(mean.values()) - 1e-9))
    assert found.exact.value == pytest.approx(mean[0.0])


def test_held_out_epsilon_comes_from_other_sources() -> None:
    """With two sources each is judged by the other's epsilon: 0 from the first, 1 from the second."""
    scores, human = [[1.0, 2.0, 3.0], [1.0, 2.0, 5.0]], [[1.0, 2.0, 3.0], [1.0, 1.0, 5.0]]
    found = pairwise_accuracy(scores, human, Draws.of(2, 3, 10))
    expected = (accuracy(scores[0], human[0], 1.0) + accuracy(scores[1], human[1], 0.0)) / 2
    assert found.held_out.value == pytest.approx(expected)


def test_no_pairs_is_undefined() -> None:
    found = pairwise_accuracy([[1.0], [2.0]], [[1.0], [2.0]], Draws.of(2, 1, 5))
    assert found.exact.value is found.tuned.value is found.held_out.value is found.epsilon is None
    assert found.exact.method.startswith("undefined")


def raters(noise: float, items: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A judge with some noise, and three raters with noise 0.7."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(3, 1, items)
    return truth + rng.normal(0, noise, items), truth[:, None] + rng.normal(0, 0.7, (items, 3))


def test_a_judge_as_close_as_people_may_stand_in() -> None:
    good, bad = (alternative_annotator(*raters(noise)) for noise in (0.3, 3.0))
    assert (good.omega, good.passes, good.raters, good.items) == (1.0, True, 3, 200)
    assert good.advantage is not None
    assert good.advantage > 0.5
    assert (bad.omega, bad.passes) == (0.0, False)


def test_wins_are_counted_by_distance_to_the_others() -> None:
    """Against the first rater the judge is closer to the others on 2 of 3 items in each triple, ties for both."""
    scores = np.tile([4.0, 4.0, 1.0], 20)
    human = np.tile([[1.0, 4.0, 4.0], [4.0, 4.0, 4.0], [4.0, 4.0, 4.0]], (20, 1))
    found = alternative_annotator(scores, human)
    # Rater 1: judge wins, tie, rater wins -> 2/3. Raters 2 and 3 (others 1 and 4; 4 and 4; 4 and 4): tie, tie, loss.
    assert found.advantage == pytest.approx(2 / 3)


def test_too_few_raters_or_items_is_undefined() -> None:
    judge, human = raters(0.5)
    for scores, people in ((judge, human[:, :2]), (judge[:20], human[:20])):
        found = alternative_annotator(scores, people)
        assert (found.omega, found.advantage, found.passes) == (None, None, False)
        assert found.method.startswith("undefined: needs 3 raters with 30 items each")


def test_the_test_is_made_of_scipys_parts() -> None:
    """One-sided one-sample t tests of the rater's wins less the judge's against epsilon, corrected by scipy."""
    judge, human = raters(0.9, 60, 3)
    p_values, shares = [], []
    for rater in range(3):
        others = np.delete(human, rater, axis=1)
        mine, theirs = (
            np.sqrt(((others - side[:, None]) ** 2).mean(axis=1)).round(9) for side in (judge, human[:, rater])
        )
        behind = (theirs <= mine).astype(float) - (mine <= theirs).astype(float)
        p_values.append(scipy_stats.ttest_1samp(behind, 0.2, alternative="less").pvalue)
        shares.append((mine <= theirs).mean())
    passed = scipy_stats.false_discovery_control(p_values, method="by") <= 0.05
    found = alternative_annotator(judge, human)
    assert found.omega == pytest.approx(passed.mean(), abs=1e-9)
    assert found.advantage == pytest.approx(np.mean(shares), abs=1e-9)


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=9))
def test_benjamini_yekutieli_is_scipys(p_values: list[float]) -> None:
    adjusted = scipy_stats.false_discovery_control(p_values, method="by")
    clear = [
        ours for ours, p in zip(benjamini_yekutieli(p_values, 0.05), adjusted, strict=True) if abs(p - 0.05) > 1e-9
    ]
    assert clear == [bool(p <= 0.05) for p in adjusted if abs(p - 0.05) > 1e-9]


def test_benjamini_yekutieli_steps_up() -> None:
    """Three tests at 0.05: thresholds 0.05 k / (3 x 11/6) = 0.00909, 0.01818, 0.02727."""
    assert benjamini_yekutieli([0.009, 0.5, 0.018], 0.05) == [True, False, True]
    assert benjamini_yekutieli([0.027, 0.027, 0.027], 0.05) == [True, True, True]
    assert benjamini_yekutieli([0.01, 0.02, 0.03], 0.05) == [False, False, False]
