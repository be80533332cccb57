"""How many labels are needed is what the variance says; which ones is chance; and a sample that was picked is seen."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from jurybox.stats import Powered, labelled_shift, labels_needed, ppi_means, random_order
from jurybox.stats.labelling import expected_half_width

NAN = math.nan


def scores(seed: int, items: int, r: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    truth, noise = np.random.default_rng(seed).normal(size=(2, items))
    return truth, r * truth + math.sqrt(1 - r * r) * noise


def found(seed: int, labels: int, others: int, r: float) -> Powered:
    y, f = scores(seed, labels + others, r)
    return ppi_means(y[:labels], f[:labels], f[labels:])


def half_width(one: Powered) -> float:
    assert one.ppi.low is not None
    assert one.ppi.high is not None
    return (one.ppi.high - one.ppi.low) / 2


def test_people_alone_need_about_four_times_the_labels() -> None:
    """Without a judge: t(n - 1) / sqrt(n) halves from n = 20 at n = 73 (t table: 2.093 / 4.472 and 1.993 / 8.544)."""
    y, _ = scores(0, 20, 0)
    alone = ppi_means(y, np.full(20, NAN), np.full(500, NAN))
    needed = labels_needed(alone, 500)
    assert needed is not None
    assert needed.labels == 73 - 20
    assert needed.expected == pytest.approx(needed.half_width / 2, rel=0.02)


@pytest.mark.parametrize(("r", "others"), [(0.0, 1000), (0.6, 1000), (0.8, 400)])
def test_so_many_labels_do_halve_it_on_average(r: float, others: int) -> None:
    """200 studies: as planned from 20 labels, then carried out."""
    before, after = [], []
    for seed in range(200):
        start = found(seed, 20, others, r)
        needed = labels_needed(start, others)
        assert needed is not None
        if needed.labels is None:
            continue
        before.append(half_width(start))
        after.append(half_width(found(seed, 20 + needed.labels, others - needed.labels, r)))
    assert len(after) > 150
    assert sum(after) / sum(before) == pytest.approx(0.5, abs=0.05)


def test_where_all_items_would_not_do_it_says_how_many_more() -> None:
    start = found(1, 20, 10, 0.5)
    needed = labels_needed(start, 10)
    assert needed is not None
    assert needed.labels is None
    assert needed.half_width / 2 < needed.expected < needed.half_width
    assert 20 + 10 + needed.beyond == pytest.approx(80, abs=12)


def test_nothing_to_halve() -> None:
    assert labels_needed(ppi_means([3.0], [3.0], [3.0, 4.0]), 2) is None
    assert expected_half_width(ppi_means([3.0], [3.0], [3.0, 4.0]), 2, 1) is None


def test_labels_that_are_all_the_same_narrow_by_the_share_that_could_differ() -> None:
    """1 - 0.025^(1/n): 0.4593 of the way to the other end for 6, 0.2184 for 15 (Clopper-Pearson without an event)."""
    start = ppi_means([5.0] * 6, [4.0] * 6, [4.0] * 12, ends=(1.0, 5.0))
    needed = labels_needed(start, 12)
    assert needed is not None
    assert needed.labels == 9
    assert needed.expected == pytest.approx(needed.half_width * 0.2180 / 0.4593, rel=1e-3)


def test_the_order_depends_on_names_and_seed_alone() -> None:
    names = [f"p{number}" for number in range(50)]
    assert random_order(names, 1) == random_order(reversed(names + names), 1)
    assert random_order(names, 1) != random_order(names, 2)
    assert sorted(random_order(names, 1)) == sorted(names)


def test_every_source_is_as_likely_to_come_first() -> None:
    firsts = [random_order("abcd", seed)[0] for seed in range(400)]
    assert all(70 <= firsts.count(name) <= 130 for name in "abcd")


def laid_out(seed: int, picked: bool) -> bool:
    """40 sources x 3 systems with a shared part; 10 sources labelled, at random or the best of them."""
    rng = np.random.default_rng(seed)
    source, systems = rng.normal(size=40), np.array([2.0, 3.0, 4.0])
    judge = systems[:, None] + source[None, :] + rng.normal(0, 0.5, (3, 40))
    chosen = set(np.argsort(source)[-10:].tolist() if picked else rng.permutation(40)[:10].tolist())
    labelled = [number in chosen for _ in range(3) for number in range(40)]
    shift = labelled_shift(judge.ravel(), labelled, [s for s in range(3) for _ in range(40)], list(range(40)) * 3)
    assert shift.difference.value is not None
    return shift.unlike


def test_picked_labels_are_noticed_and_random_ones_hardly_ever() -> None:
    assert sum(laid_out(seed, picked=True) for seed in range(50)) == 50
    assert sum(laid_out(seed, picked=False) for seed in range(300)) <= 9


def test_a_system_that_is_labelled_more_is_no_difference() -> None:
    """System b is better and nearly always labelled; within systems labelled items are like the rest."""
    judge = [2.0, 2.2, 2.0, 2.2, 2.0, 2.2, 4.0, 4.2, 4.0, 4.2, 4.0, 4.2]
    labelled = [True, True, False, False, False, False, True, True, True, True, False, False]
    shift = labelled_shift(judge, labelled, ["a"] * 6 + ["b"] * 6, range(12))
    assert shift.difference.value == pytest.approx(0)
    assert not shift.unlike


@pytest.mark.parametrize(
    ("judge", "labelled"),
    [
        ([3.0, 4.0, 5.0], [True, True, True]),
        ([3.0, 4.0, 5.0], [True, False, False]),
        ([3.0, NAN, 5.0, 4.0], [True, True, False, False]),
        ([], []),
    ],
)
def test_too_few_to_compare(judge: list[float], labelled: list[bool]) -> None:
    shift = labelled_shift(judge, labelled, ["a"] * len(judge), range(len(judge)))
    assert shift.difference.value is None
    assert shift.difference.method.startswith("undefined: fewer than 2 labelled or 2 unlabelled")
    assert not shift.unlike
