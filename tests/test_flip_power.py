"""What so many sources can show is what the sign-flip test really finds, whole scores of few sources included."""

from __future__ import annotations

import numpy as np
import pytest

from jurybox.stats.flip_power import (
    MANY_SOURCES,
    detectable_by_flips,
    exact_flips,
    flip_power,
    needed_by_flips,
    normal_flips,
    step_of,
)
from jurybox.stats.paired import detectable_difference, sign_flip_tests, sources_needed


@pytest.mark.parametrize("n", [2, 5, 9, 14])
def test_p_without_listing_flips_is_that_of_all_flips(n: int) -> None:
    """Against `sign_flip_tests`, which lists every flip and is checked against scipy."""
    steps = np.random.default_rng(n).integers(-3, 5, (20, n))
    listed = [found.value for found in sign_flip_tests([row.astype(float) for row in steps], [0] * 20)]
    assert exact_flips(steps) == pytest.approx(listed, abs=1e-12)


def test_the_normal_limit_is_near_the_exact_p() -> None:
    steps = np.random.default_rng(1).integers(-2, 4, (200, 25))
    assert normal_flips(steps) == pytest.approx(exact_flips(steps), abs=0.01)


@pytest.mark.parametrize(
    ("column", "parts"),
    [([1, 0, -2], 1), ([0.5, 1], 2), ([1 / 3, 2 / 3], 3), ([0.5, 1 / 3], None), ([0.1234], None), ([], None)],
)
def test_steps_are_recognised(column: list[float], parts: int | None) -> None:
    assert step_of(np.array(column, dtype=float)) == parts


def whole(rng: np.random.Generator, n: int, shift: float) -> np.ndarray:
    ease = 3 + 0.5 * rng.normal(size=n)
    first, second = (np.clip(np.round(ease + more + 0.6 * rng.normal(size=n)), 1, 5) for more in (shift, 0.0))
    return np.asarray(first - second)


@pytest.mark.parametrize("n", [10, 20, 40])
def test_a_difference_called_detectable_is_found_in_four_studies_of_five(n: int) -> None:
    """1,000 studies of whole scores; by the t test alone it would be two in three with ten sources."""
    rng = np.random.default_rng(3)
    many = {shift: whole(np.random.default_rng(2), 100_000, shift) for shift in np.arange(0.3, 2.0, 0.05)}
    shift = next(s for s, one in many.items() if one.mean() >= (detectable_by_flips(n, one.std(), parts=1) or 9))
    found = sign_flip_tests([whole(rng, n, shift) for _ in range(1000)], [0] * 1000)
    assert 0.75 <= np.mean([(one.value or 0) <= 0.05 for one in found]) <= 0.9


def test_without_steps_or_with_many_sources_it_is_the_t_test() -> None:
    assert detectable_by_flips(10, 1.1, parts=None) == detectable_difference(10, 1.1)
    assert detectable_by_flips(MANY_SOURCES, 1.1, parts=1) == detectable_difference(MANY_SOURCES, 1.1)
    assert needed_by_flips(0.05, 1.1, parts=1) == sources_needed(0.05, 1.1)


def test_whole_scores_ask_for_more() -> None:
    by_flips, by_t = detectable_by_flips(10, 1.1, parts=1), detectable_difference(10, 1.1)
    assert by_flips is not None
    assert by_t is not None
    assert by_flips > 1.1 * by_t
    assert (needed_by_flips(1.2, 1.1, parts=1) or 0) > (sources_needed(1.2, 1.1) or 0)


def test_too_few_sources_show_nothing() -> None:
    assert flip_power(5, 4.0, 1.0, 0.05, 1) == 0.0
    assert detectable_by_flips(5, 1.0, parts=1) is None
    assert detectable_by_flips(10, 0.0, parts=1) is None
    assert needed_by_flips(0.0, 1.0, parts=1) is None
