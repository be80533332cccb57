"""Two judges against the same people: Williams' test as published, permutation tests as they should behave."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats as scipy_stats

from jurybox.stats import perm_both, perm_systems, williams


def test_williams_as_published() -> None:
    """Steiger 1980, case A (n = 103, r .40 and .50, between them .10): t = -0.89, p = .37 on two sides, as in the
    manual of R's psych::r.test, whose other example (n = 5105) prints p = 0.1000759."""
    found = williams(0.4, 0.5, 0.1, 103)
    assert found.statistic == pytest.approx(-0.89, abs=0.005)
    assert found.p is not None
    assert 2 * (1 - found.p) == pytest.approx(0.37, abs=0.005)
    close = williams(0.693458895410494, 0.695966022434845, 0.988475791500198, 5105)
    assert close.p is not None
    assert 2 * (1 - close.p) == pytest.approx(0.1000759, abs=5e-8)


@pytest.mark.parametrize("seed", range(10))
def test_williams_p_is_that_of_scipys_t(seed: int) -> None:
    """Steiger's equation 7 with the determinant of numpy, on correlations that a sample really has."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    matrix = np.asarray(np.corrcoef(rng.normal(size=(3, n)) + rng.normal(size=n)))
    first, second, between = matrix[0, 2], matrix[1, 2], matrix[0, 1]
    below = 2 * np.linalg.det(matrix) * (n - 1) / (n - 3) + ((first + second) / 2) ** 2 * (1 - between) ** 3
    t = (first - second) * np.sqrt((n - 1) * (1 + between) / below)
    found = williams(first, second, between, n)
    assert found.statistic == pytest.approx(t, abs=1e-9)
    assert found.p == pytest.approx(scipy_stats.t.sf(t, n - 3), abs=1e-9)


def test_williams_is_one_sided() -> None:
    ahead, behind = williams(0.9, 0.5, 0.4, 20), williams(0.5, 0.9, 0.4, 20)
    assert ahead.p is not None
    assert behind.p == pytest.approx(1 - ahead.p)
    assert ahead.ahead
    assert not behind.ahead


@pytest.mark.parametrize(
    ("correlations", "n", "why"),
    [
        ((0.5, 0.4, 0.1), 3, "needs 4 systems"),
        ((0.5, 0.5, 1.0), 20, "order the systems alike"),
        ((float("nan"), 0.5, 0.1), 20, "does not exist"),
    ],
)
def test_williams_says_when_it_cannot_be_made(correlations: tuple[float, float, float], n: int, why: str) -> None:
    found = williams(*correlations, n)
    assert found.p is None
    assert not found.ahead
    assert why in found.method


def judges(good: float, bad: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    human = rng.normal(size=(15, 8))
    return human + rng.normal(0, good, human.shape), human + rng.normal(0, bad, human.shape), human


def test_perm_both_finds_the_better_judge() -> None:
    good, bad, human = judges(0.2, 2.0)
    found = perm_both(good, bad, human, permutations=200)
    assert found.p == pytest.approx(1 / 201), "as large a lead in no permutation but the data themselves"
    assert found.ahead
    assert not perm_both(bad, good, human, permutations=200).ahead


def test_perm_both_gives_nobody_a_lead_over_itself() -> None:
    good, _, human = judges(0.5, 0.5)
    found = perm_both(good, 10 * good + 3, human, permutations=100)
    assert found.difference == pytest.approx(0)
    assert found.p == 1.0


def test_perm_both_repeats_itself_with_its_seed_and_leaves_missing_cells_out() -> None:
    good, bad, human = judges(0.8, 1.0)
    good[0, :3] = np.nan
    human[1, 2] = np.nan
    first, again = (perm_both(good, bad, human, permutations=100, seed=5) for _ in range(2))
    assert first == again
    assert first.seed == 5
    assert first.p is not None


def test_whole_systems_are_swapped_as_an_enumeration_by_hand_has_it() -> None:
    """Five systems have 32 swaps; p over random ones comes close to the share of all 32, by scipy's correlations."""
    rng = np.random.default_rng(11)
    human = rng.normal(size=(6, 5))
    good, bad = human + rng.normal(0, 0.6, human.shape), human + rng.normal(0, 1.2, human.shape)
    one, other = ((side - side.mean()) / side.std() for side in (good, bad))

    def lead(first: np.ndarray, second: np.ndarray) -> float:
        rhos = [
            [scipy_stats.spearmanr(x, y).statistic for x, y in zip(side, human, strict=True)]
            for side in (first, second)
        ]
        return float(np.mean(rhos[0]) - np.mean(rhos[1]))

    swaps = [np.array(coins) for coins in itertools.product((True, False), repeat=5)]
    leads = [lead(np.where(swap, other, one), np.where(swap, one, other)) for swap in swaps]
    exact = np.mean(np.array(leads) >= lead(one, other) - 1e-12)
    found = perm_systems(good, bad, human, permutations=4000)
    assert found.p == pytest.approx(exact, abs=0.03)
    assert found.difference == pytest.approx(lead(one, other))
    assert "PERM-SYSTEMS" in found.method


def test_liking_for_systems_is_no_lead_when_whole_systems_are_swapped() -> None:
    """Two judges of equal worth, each with its own liking for each system: PERM-BOTH calls one of them better far too
    often (docs/design/agree.md), PERM-SYSTEMS about as often as it says."""
    rng, called = np.random.default_rng(12), {"both": 0, "systems": 0}
    for seed in range(80):
        human = rng.normal(size=8) + rng.normal(0, 0.5, (12, 8))
        one, other = (human + rng.normal(0, 1.0, 8) + rng.normal(0, 0.5, human.shape) for _ in range(2))
        called["both"] += perm_both(one, other, human, permutations=60, seed=seed).ahead
        called["systems"] += perm_systems(one, other, human, permutations=60, seed=seed).ahead
    assert called["both"] > 16, "more than 20 %"
    assert called["systems"] < 10


def test_perm_both_with_a_constant_says_so() -> None:
    good, _, human = judges(0.5, 0.5)
    found = perm_both(good, np.ones_like(good), human, permutations=10)
    assert (found.difference, found.p) == (None, None)
    assert found.method.startswith("undefined")
