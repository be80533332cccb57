"""Coefficients agree with scipy, resamples with resampling by hand, and what has no correlation says so."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from jurybox.stats import (
    COEFFICIENTS,
    Coefficient,
    Draws,
    ceiling,
    correlate_rows,
    in_place_of_raters,
    mean_of_raters,
    partial_summary_level,
    pooled,
    summary_level,
    system_level,
)
from jurybox.stats.correlation import redrawn
from jurybox.stats.figures import OVERS
from jurybox.stats.levels import averaged

DEV = Path(__file__).parents[2] / "shared" / "data" / "summeval_op_dev.jsonl"
NAN = np.nan


def by_scipy(x: Any, y: Any, coefficient: Coefficient) -> float:
    """nan where scipy would warn that a side is constant."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    there = ~(np.isnan(x) | np.isnan(y))
    x, y = x[there], y[there]
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    if coefficient == "spearman":
        return float(scipy_stats.spearmanr(x, y).statistic)
    if coefficient == "pearson":
        return float(scipy_stats.pearsonr(x, y).statistic)
    return float(scipy_stats.kendalltau(x, y, variant=coefficient[-1]).statistic)


def grid(seed: int, sources: int = 12, systems: int = 7, missing: float = 0.15) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    scores, human = rng.integers(1, 6, (sources, systems)).astype(float), rng.integers(3, 16, (sources, systems)) / 3
    scores[rng.random(scores.shape) < missing] = NAN
    human[rng.random(human.shape) < missing] = NAN
    return scores, human


def drawn(table: Any, resamples: int, seed: int = 0) -> Draws:
    return Draws.of(table.shape[0], table.shape[1], resamples, seed)


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_rows_agree_with_scipy(coefficient: Coefficient) -> None:
    scores, human = grid(1, 60)
    expected = [by_scipy(x, y, coefficient) for x, y in zip(scores, human, strict=True)]
    np.testing.assert_allclose(correlate_rows(scores, human, coefficient), expected, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=12),
    st.sampled_from(COEFFICIENTS),
)
def test_any_row_agrees_with_scipy(pairs: list[tuple[int, int]], coefficient: Coefficient) -> None:
    x, y = zip(*pairs, strict=True)
    found, expected = correlate_rows([x], [y], coefficient)[0], by_scipy(x, y, coefficient)
    assert found == pytest.approx(expected, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_a_redrawn_row_is_the_row_with_its_columns_repeated(coefficient: Coefficient) -> None:
    scores, human = grid(2)
    weights = drawn(scores, 15, 4).systems
    found = redrawn(scores, human, weights, coefficient)
    for draw, row in zip(weights.astype(int), found, strict=True):
        columns = np.repeat(np.arange(len(draw)), draw)
        expected = [by_scipy(x[columns], y[columns], coefficient) for x, y in zip(scores, human, strict=True)]
        np.testing.assert_allclose(row, expected, atol=1e-9)


def test_a_small_table_by_hand() -> None:
    """Source 1 is in order (1), source 2 has one of three pairs turned (rho 0.5, tau 1/3), source 3 is constant."""
    scores, human = [[1, 2, 3], [1, 3, 2], [4, 4, 4]], [[1, 2, 5], [1, 2, 3], [1, 2, 3]]
    draws = Draws.of(3, 3, 50)
    rho = summary_level(scores, human, "spearman", draws).estimate()
    assert rho.value == pytest.approx(0.75)
    assert (rho.n, rho.n_unscored) == (2, 1)
    zero = summary_level(scores, human, "spearman", draws, constant_as_zero=True).estimate()
    assert zero.value == pytest.approx(0.5)
    assert (zero.n, zero.n_unscored) == (3, 0)
    assert summary_level(scores, human, "kendall_b", draws).value == pytest.approx((1 + 1 / 3) / 2)


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_system_level_and_pooled_agree_with_scipy(coefficient: Coefficient) -> None:
    scores, human = grid(3)
    draws = drawn(scores, 20)
    there = ~(np.isnan(scores) | np.isnan(human))
    first, second = (np.nanmean(np.where(there, side, NAN), axis=0) for side in (scores, human))
    expected = by_scipy(first, second, coefficient)
    assert system_level(scores, human, coefficient, draws).value == pytest.approx(expected, abs=1e-9)
    found = pooled(scores, human, coefficient, draws)
    assert found.value == pytest.approx(by_scipy(scores.ravel(), human.ravel(), coefficient), abs=1e-9)
    assert (found.n, found.n_unscored) == (there.sum(), there.size - there.sum())


def test_resamples_of_all_levels_are_those_of_the_tables_drawn() -> None:
    scores, human = grid(5, 9, 6, 0.0)
    draws = Draws.of(9, 6, 12, seed=1)
    figures = [level(scores, human, "pearson", draws) for level in (summary_level, system_level, pooled)]
    for number in range(12):
        rows = np.repeat(np.arange(9), draws.sources[number].astype(int))
        columns = np.repeat(np.arange(6), draws.systems[number].astype(int))
        pick = {"sources": (rows, np.arange(6)), "systems": (np.arange(9), columns), "both": (rows, columns)}
        for over in OVERS:
            x, y = (side[np.ix_(*pick[over])] for side in (scores, human))
            expected = [
                float(np.nanmean([by_scipy(a, b, "pearson") for a, b in zip(x, y, strict=True)])),
                by_scipy(x.mean(axis=0), y.mean(axis=0), "pearson"),
                by_scipy(x.ravel(), y.ravel(), "pearson"),
            ]
            np.testing.assert_allclose([figure.resampled[over][number] for figure in figures], expected, atol=1e-9)


def test_pooled_tau_over_sources_is_that_of_the_sources_drawn() -> None:
    scores, human = grid(6, 8, 5)
    draws = Draws.of(8, 5, 10, seed=2)
    found = pooled(scores, human, "kendall_b", draws).resampled["sources"]
    for number in range(10):
        rows = np.repeat(np.arange(8), draws.sources[number].astype(int))
        assert found[number] == pytest.approx(
            by_scipy(scores[rows].ravel(), human[rows].ravel(), "kendall_b"), abs=1e-9
        )


def test_pooled_tau_of_too_many_items_is_not_attempted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jurybox.stats.levels.MOST_POOLED", 10)
    found = pooled(*grid(6, 8, 5), "kendall_b", Draws.of(8, 5, 10)).estimate()
    assert found.value is None
    assert found.method == "undefined: not computed for more than 10 items"


def test_an_interval_says_what_was_drawn_and_the_seed_repeats_it() -> None:
    scores, human = grid(7)
    found = summary_level(scores, human, "spearman", drawn(scores, 100, 3)).estimate()
    again = summary_level(scores, human, "spearman", drawn(scores, 100, 3)).estimate()
    assert found == again
    assert found.seed == 3
    assert "bootstrap t interval on Fisher's scale over 12 sources and 7 systems, 100 resamples" in found.method
    assert found.method.endswith(", jackknife over systems")
    systems = summary_level(scores, human, "spearman", drawn(scores, 100, 3)).estimate("systems")
    assert systems.method.endswith("95 % jackknife t interval on Fisher's scale over 7 systems")
    few = summary_level(scores[:, :4], human[:, :4], "spearman", Draws.of(12, 4, 100)).estimate()
    assert "over 12 sources, 100 resamples" in few.method


@pytest.mark.parametrize("level", [summary_level, pooled])
def test_an_interval_is_students_t_with_the_error_of_resamples_and_jackknife(level: Any) -> None:
    """Written out with scipy: on Fisher's scale over sources, over systems by the jackknife's formula (Efron &
    Tibshirani 1993, 11.5), and over both with single summaries counted once."""
    scores, human = grid(7, missing=0.0)
    figure = level(scores, human, "pearson", drawn(scores, 300))
    spread = {over: np.nanvar(found) for over, found in figure.resampled.items()}
    left_out = []
    for system in range(7):
        x, y = (np.delete(side, system, axis=1) for side in (scores, human))
        pairs = zip(x, y, strict=True) if level is summary_level else [(x.ravel(), y.ravel())]
        left_out.append(np.nanmean([by_scipy(*pair, "pearson") for pair in pairs]))
    of_sources, of_systems = spread["sources"] * 12 / 11, 6 / 7 * np.sum((np.array(left_out) - np.mean(left_out)) ** 2)
    once = of_sources + of_systems - (spread["both"] - spread["sources"] - spread["systems"])
    freedom = int((of_sources + of_systems) ** 2 / (of_sources**2 / 11 + of_systems**2 / 6))
    assert once > max(of_sources, of_systems), "else this example shows nothing"
    for over, error, degrees in (("sources", of_sources, 11), ("systems", of_systems, 6), ("both", once, freedom)):
        reach = scipy_stats.t.ppf(0.975, degrees) * math.sqrt(error) / (1 - figure.value**2)
        found = figure.estimate(over)
        place = math.atanh(figure.value)
        assert (found.low, found.high) == pytest.approx((math.tanh(place - reach), math.tanh(place + reach)))


def test_one_value_a_source_without_fishers_scale_is_the_t_interval_of_a_mean() -> None:
    """With very many resamples: scipy's interval of a mean of twelve numbers."""
    rows = np.random.default_rng(2).normal(0.6, 0.05, 12)
    found = averaged(rows, None, Draws.of(12, 7, 200_000), "mean").estimate()
    low, high = scipy_stats.t.interval(0.95, 11, rows.mean(), scipy_stats.sem(rows))
    assert (found.low, found.high) == pytest.approx((low, high), abs=2e-4)


@pytest.mark.parametrize(
    ("scores", "human", "why"),
    [
        ([[1.0], [2.0]], [[1.0], [2.0]], "no source has two summaries to compare"),
        ([[1, 2], [2, 1]], [[3, 3], [4, 4]], "people gave all summaries of a source the same"),
        ([[3, 3], [4, 4]], [[1, 2], [2, 1]], "the judge gave all summaries of a source the same"),
        ([[NAN, NAN], [NAN, NAN]], [[1, 2], [2, 1]], "no source has two summaries to compare"),
    ],
)
def test_what_has_no_correlation_says_why(scores: Any, human: Any, why: str) -> None:
    draws = Draws.of(2, len(scores[0]), 10)
    for coefficient in COEFFICIENTS:
        found = summary_level(scores, human, coefficient, draws).estimate()
        assert (found.value, found.low, found.high, found.n) == (None, None, None, 0)
        assert found.method.startswith(f"undefined: {why}")
        for level in (system_level, pooled):
            value = level(scores, human, coefficient, draws).estimate().value
            assert value is None or math.isfinite(value)


def test_no_interval_of_a_correlation_passes_1() -> None:
    """Two sides that are the same: tau-c of all items has resamples that differ, and must stop at 1 all the same."""
    scores, _ = grid(7, missing=0.0)
    draws = drawn(scores, 100)
    for coefficient in COEFFICIENTS:
        for level in (summary_level, system_level, pooled):
            found = level(scores, scores, coefficient, draws).estimate()
            assert found.high is None or found.high <= 1
    assert pooled(scores, scores, "kendall_c", draws).resampled["sources"].std() > 0


def test_the_ceiling_is_each_rater_against_the_others() -> None:
    rng = np.random.default_rng(8)
    human = rng.integers(1, 6, (10, 6, 3)).astype(float)
    draws = Draws.of(10, 6, 30)
    expected = []
    for rater in range(3):
        others = np.delete(human, rater, axis=2).mean(axis=2)
        rows = [by_scipy(human[source, :, rater], others[source], "spearman") for source in range(10)]
        expected.append(np.nanmean(rows))
    assert ceiling(human, "spearman", draws).value == pytest.approx(np.mean(expected), abs=1e-9)
    assert in_place_of_raters(human[:, :, 0], human, "spearman", draws).estimate().value is not None


def test_one_rater_has_no_ceiling() -> None:
    human = np.ones((3, 3, 1)) * [[[1], [2], [3]]]
    found = ceiling(human, "spearman", Draws.of(3, 3, 10)).estimate()
    assert found.value is None
    assert "one rater alone" in found.method


def test_the_mean_of_raters_leaves_out_who_did_not_rate() -> None:
    found = mean_of_raters([[[1, 2, NAN], [NAN, NAN, NAN]]])
    np.testing.assert_array_equal(found, [[1.5, NAN]])


def test_length_is_held_still_as_the_textbook_says() -> None:
    """Yule's formula from scipy's three rank correlations, averaged over sources."""
    rng = np.random.default_rng(9)
    x, y, z = rng.normal(size=(3, 6, 8))
    expected = []
    for a, b, c in zip(x, y, z, strict=True):
        ab, ac, bc = (by_scipy(*pair, "spearman") for pair in ((a, b), (a, c), (b, c)))
        expected.append((ab - ac * bc) / math.sqrt((1 - ac**2) * (1 - bc**2)))
    draws = Draws.of(6, 8, 20)
    assert partial_summary_level(x, y, z, "spearman", draws).value == pytest.approx(np.mean(expected), abs=1e-9)
    whole = partial_summary_level(x, y, x * 2, "spearman", draws).estimate()
    assert whole.method == "undefined: length explains one side wholly in every source"


@pytest.mark.skipif(not DEV.exists(), reason="the development data are not here")
def test_word_count_on_the_development_data() -> None:
    """The reference is computed here, by scipy and loops alone: word count has 0.70 on average over seven rubrics."""
    items = [json.loads(line) for line in DEV.read_text("utf-8").splitlines()]
    sources, systems = (sorted({item[key] for item in items}) for key in ("id", "system"))
    by_key = {(item["id"], item["system"]): item for item in items}
    words = np.array([[len(by_key[s, m]["summary"].split()) for m in systems] for s in sources])
    values = []
    for rubric in items[0]["human"]:
        human = np.array([[by_key[s, m]["human"][rubric] for m in systems] for s in sources], dtype=float)
        expected = np.nanmean([by_scipy(x, y, "spearman") for x, y in zip(words, human.mean(axis=2), strict=True)])
        draws = drawn(words, 10)
        found = summary_level(words, mean_of_raters(human), "spearman", draws).value
        assert found == pytest.approx(expected, abs=1e-9)
        values.append(found)
        left_out = [
            np.nanmean([by_scipy(h[:, r], np.delete(h, r, axis=1).mean(axis=1), "spearman") for h in human])
            for r in range(3)
        ]
        assert ceiling(human, "spearman", draws).value == pytest.approx(np.mean(left_out), abs=1e-9)
    assert np.mean(values) == pytest.approx(0.70, abs=0.005)
