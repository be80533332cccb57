"""Calibrations are least squares among maps that never fall, and are judged on sources they have not seen."""

from __future__ import annotations

import json
import math
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats as scipy_stats
from scipy.optimize import isotonic_regression

from jurybox.stats.calibrate import (
    CALIBRATION_KINDS,
    CalibrationCheck,
    CalibrationKind,
    calibrate,
    check_calibration,
    choose_calibration,
)
from jurybox.stats.calibrate import pool_adjacent_violators as pava

Floats = NDArray[np.float64]
SCORES = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=40)


@given(st.lists(st.tuples(st.floats(1, 5), st.integers(1, 9)), min_size=1, max_size=40))
def test_pooling_is_scipys(pairs: list[tuple[float, int]]) -> None:
    values, weights = zip(*pairs, strict=True)
    assert pava(values, weights) == pytest.approx(isotonic_regression(values, weights=weights).x, abs=1e-9)


def test_by_hand() -> None:
    """Judge 1 2 3 with people 2, (4 and 1), 3: the 2.5 at 2 is above 2 and below 3, so nothing is pooled."""
    found = calibrate([1, 2, 2, 3], [2, 4, 1, 3], "isotonic")
    assert (found.judge, found.human, found.n) == ((1, 2, 3), (2, 2.5, 3), 4)
    assert list(found([0.5, 1.5, 2, 9])) == [2, 2.25, 2.5, 3]
    assert list(calibrate([1, 2, 3], [4, 2, 3], "isotonic")([1, 2, 3])) == [3, 3, 3]


def test_the_line_is_scipys_within_the_scale() -> None:
    rng = np.random.default_rng(0)
    judge = rng.uniform(1, 5, 60)
    human = np.clip(0.5 + 0.8 * judge + rng.normal(0, 0.4, 60), 1, 5)
    line = scipy_stats.linregress(judge, human)
    at = np.linspace(1, 5, 41)
    assert calibrate(judge, human)(at) == pytest.approx(np.clip(line.intercept + line.slope * at, 1, 5), abs=1e-9)


def test_a_steep_line_is_cut_at_the_ends_of_the_scale() -> None:
    found = calibrate([2.5, 3, 3.5], [1, 3, 5])
    assert list(found([1, 2, 2.5, 2.75, 3, 3.5, 5])) == pytest.approx([1, 1, 1, 2, 3, 5, 5])


@given(SCORES)
def test_ordinal_is_the_best_of_all_threshold_maps(pairs: list[tuple[int, int]]) -> None:
    """Against every way to put the five judge's scores on steps that never fall."""
    judge, human = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    ours = float(((calibrate(judge, human, "ordinal")(judge) - human) ** 2).sum())
    best = min(
        float(((np.array(steps, dtype=float)[judge.astype(int) - 1] - human) ** 2).sum())
        for steps in combinations_with_replacement(range(1, 6), 5)
    )
    assert ours == pytest.approx(best)


@pytest.mark.parametrize("kind", CALIBRATION_KINDS)
@given(pairs=SCORES)
def test_no_map_turns_the_judges_order_around_or_leaves_the_scale(
    kind: CalibrationKind, pairs: list[tuple[int, int]]
) -> None:
    judge, human = zip(*pairs, strict=True)
    found = calibrate(judge, human, kind)(np.linspace(1, 5, 81))
    assert (np.diff(found) >= -1e-12).all()
    assert found.min() >= 1
    assert found.max() <= 5


def test_a_harsh_judge_is_put_right_on_sources_it_was_not_fitted_on() -> None:
    rng = np.random.default_rng(1)
    human = rng.uniform(2, 5, 120)
    judge = human - 1 + rng.normal(0, 0.2, 120)
    for kind in ("linear", "isotonic"):
        found = check_calibration(judge, human, [n // 3 for n in range(120)], kind)
        assert found.folds == 10
        assert found.before.value == pytest.approx(math.sqrt(1 + 0.04), abs=0.1)
        assert found.after.value == pytest.approx(0.2, abs=0.06)
        assert found.gain.low is not None
        assert found.gain.low > 0.6


def test_the_check_learns_nothing_from_the_source_it_scores() -> None:
    """One source a fold, by hand: the map for a source comes from the others."""
    judge, human = np.array([1.0, 2, 3, 4, 2, 5]), np.array([2.0, 1, 4, 4, 3, 5])
    source = np.array([0, 0, 1, 1, 2, 2])
    found = check_calibration(judge, human, list(source), "isotonic", resamples=20)
    squares = [
        (
            calibrate(judge[source != left], human[source != left], "isotonic")(judge[source == left])
            - human[source == left]
        )
        ** 2
        for left in range(3)
    ]
    assert found.folds == 3
    assert found.after.value == pytest.approx(math.sqrt(np.concatenate(squares).mean()))
    assert found.before.value == pytest.approx(math.sqrt(((judge - human) ** 2).mean()))


def test_noise_is_not_worth_calibrating_on() -> None:
    """A judge that is right but for noise: on new sources the fit gains nothing."""
    rng = np.random.default_rng(2)
    human = rng.uniform(1, 5, 40)
    found = check_calibration(human + rng.normal(0, 0.3, 40), human, range(40), "isotonic")
    assert found.gain.low is not None
    assert found.gain.low < 0


def test_unscored_items_are_losses_and_one_source_is_undefined() -> None:
    found = check_calibration([3, math.nan, 4, 2], [3, 3, 4, 2], ["a", "b", "c", "d"])
    assert (found.after.n, found.after.n_unscored, found.folds) == (3, 1, 3)
    alone = check_calibration([3, 4], [3, 4], ["a", "a"])
    assert (alone.after.value, alone.after.method) == (None, "undefined: fewer than 2 labelled sources")


@pytest.mark.parametrize(
    ("judge", "human", "kind", "message"),
    [
        ([1, 2], [1], "linear", "1 labels need as many judge's scores, not 2"),
        ([math.nan], [1], "linear", "nothing to calibrate on"),
        ([], [], "isotonic", "nothing to calibrate on"),
        ([1], [1], "cubic", "one of linear, isotonic, ordinal, not 'cubic'"),
    ],
)
def test_misfits_are_refused(judge: list[float], human: list[float], kind: CalibrationKind, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        calibrate(judge, human, kind)


def foretold(kind: str, x: Floats, y: Floats, at: Floats) -> Floats:
    """What scipy's line or isotonic regression, fitted on x and y, says at other places."""
    if kind == "linear":
        line = scipy_stats.linregress(x, y)
        return np.asarray(np.clip(line.intercept + max(line.slope, 0) * at + min(line.slope, 0) * x.mean(), 1, 5))
    knots = np.unique(x)
    means, sizes = [y[x == knot].mean() for knot in knots], [(x == knot).sum() for knot in knots]
    found = np.interp(at, knots, isotonic_regression(means, weights=sizes).x)
    return np.asarray(np.clip(np.floor(found + 0.5), 1, 5) if kind == "ordinal" else found)


def left_out(kind: str, x: Floats, y: Floats, source: NDArray[np.intp]) -> Floats:
    found = np.empty(len(x))
    for one in np.unique(source):
        here = source == one
        found[here] = foretold(kind, x[~here], y[~here], x[here])
    return found


def chosen_by_hand(x: Floats, y: Floats, source: NDArray[np.intp]) -> str:
    return min(CALIBRATION_KINDS, key=lambda kind: float(((left_out(kind, x, y, source) - y) ** 2).sum()))


@pytest.mark.parametrize("seed", range(6))
def test_the_best_kind_pays_for_having_been_chosen(seed: int) -> None:
    """Against scipy's fits, one source a fold: the kind is chosen, within the other sources, for each source anew."""
    rng = np.random.default_rng(seed)
    source = np.repeat(np.arange(9), 3)
    x = rng.integers(1, 6, 27).astype(float)
    y = np.clip(np.round(1 + (x - 1) ** 2 / 4 + rng.normal(0, 0.8, 27)), 1, 5)
    assert choose_calibration(x, y, list(source)) == chosen_by_hand(x, y, source)
    held_out = np.empty(27)
    for one in range(9):
        here = source == one
        held_out[here] = foretold(chosen_by_hand(x[~here], y[~here], source[~here]), x[~here], y[~here], x[here])
    found = check_calibration(x, y, list(source), "best", resamples=20)
    assert found.after.value == pytest.approx(math.sqrt(((held_out - y) ** 2).mean()))
    assert "kind chosen in each" in found.after.method


def test_one_source_leaves_nothing_to_choose_by() -> None:
    assert choose_calibration([1, 2, 3], [5, 1, 2], ["a", "a", "a"]) == "linear"


def test_a_judge_that_says_nothing_gains_the_level_and_no_more() -> None:
    """Scores that have nothing to do with people's: the error falls to that of people's mean, and not below."""
    rng = np.random.default_rng(3)
    human, judge = rng.uniform(4, 5, 90), rng.uniform(1, 2, 90)
    source = [n // 3 for n in range(90)]
    found = check_calibration(judge, human, source)
    means = [human[np.array(source) != one].mean() for one in source]
    one_by_one = check_calibration(judge, human, source, folds=30, resamples=20)
    assert one_by_one.constant.value == pytest.approx(math.sqrt(((np.array(means) - human) ** 2).mean()))
    assert found.worth == "better"
    assert not found.beats_constant
    assert found.lead.value == pytest.approx(found.constant.value - found.after.value)  # type: ignore[operator]


def test_worth_is_told_by_the_gain_and_its_interval() -> None:
    rng = np.random.default_rng(1)
    human = rng.uniform(2, 5, 120)
    harsh = check_calibration(human - 1 + rng.normal(0, 0.2, 120), human, range(120))
    assert (harsh.worth, harsh.beats_constant) == ("better", True)
    right = check_calibration(human, human, range(120), "ordinal")
    assert right.before.value == 0
    assert right.worth == "no better"
    assert check_calibration([3, 4], [3, 4], ["a", "a"]).worth == "unknown"


def test_a_check_is_the_same_after_a_walk_through_json() -> None:
    found = check_calibration([3, math.nan, 4, 2], [3, 3, 4, 2], ["a", "b", "c", "d"], "best")
    assert CalibrationCheck.from_dict(json.loads(json.dumps(found.as_dict()))) == found
