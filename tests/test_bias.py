"""Bias: every figure against an independent computation, thin data as undefined, intervals that hold, and `agree`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from conftest import Command, Evaluate, WriteItems
from jurybox.api import agreeing
from jurybox.report.agree_text import agreement_text
from jurybox.report.families import family
from jurybox.stats import (
    Sides,
    halo,
    leniency,
    score_entropy,
    self_preference,
    self_preference_given_human,
    stability,
    top_share,
    verbosity,
    verbosity_without_noise,
)
from jurybox.stats.jackknife import Told, jackknifed
from jurybox.types import Estimate
from server import Answer, Request, completion, mark

Floats = NDArray[np.float64]
ESTIMATE = {"value", "low", "high", "n", "n_unscored", "method", "seed"}
NOTHING = np.full((3, 4), np.nan)


def value(found: Estimate) -> float:
    assert found.value is not None, found.method
    return found.value


def interval(found: Estimate) -> tuple[float, float]:
    assert found.low is not None, found.method
    assert found.high is not None, found.method
    return found.low, found.high


def study(seed: int, sources: int = 12, systems: int = 6, missing: float = 0.1) -> tuple[Floats, Floats, Floats]:
    """Scores, ratings[source, system, rater] and words, with gaps in scores and in ratings."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(0, 0.7, (sources, systems)) + rng.normal(0, 0.5, (sources, 1))
    words: Floats = np.floor(np.exp2(5 + 0.5 * quality + rng.normal(0, 0.6, quality.shape)))
    noise = rng.normal(0, 0.7, (sources, systems, 3))
    ratings = np.clip(np.round(3.2 + quality[:, :, None] + noise), 1, 5)
    scores = np.clip(2.5 + 0.8 * quality + 0.2 * np.log2(words) + rng.normal(0, 0.4, quality.shape), 1, 5)
    scores[rng.random(scores.shape) < missing] = np.nan
    ratings[rng.random(ratings.shape) < missing] = np.nan
    return scores, ratings, words


def means(ratings: Floats) -> Floats:
    """People's mean, nan where nobody rated: one item at a time."""
    found = [[np.mean(cell[~np.isnan(cell)]) if (~np.isnan(cell)).any() else np.nan for cell in row] for row in ratings]
    return np.array(found)


def deleted(figure: Callable[..., Estimate], *tables: Floats) -> tuple[float, float]:
    """The jackknife's interval the long way: the whole figure again without each source."""
    sources = len(tables[0])
    whole = value(figure(*tables))
    without = [value(figure(*(np.delete(table, source, axis=0) for table in tables))) for source in range(sources)]
    pseudo = sources * whole - (sources - 1) * np.array(without)
    low, high = stats.t.interval(0.95, sources - 1, pseudo.mean(), stats.sem(pseudo))
    return float(low), float(high)


def test_the_jackknife_of_a_mean_is_students_interval() -> None:
    x = np.random.default_rng(0).normal(3, 1, 9)
    parts = np.stack([x, np.ones(9)], axis=1)
    found = jackknifed(parts, lambda sums: np.asarray(sums[:, 0] / sums[:, 1]), Told(9, 0, "mean", ""))
    assert value(found) == pytest.approx(x.mean())
    assert interval(found) == pytest.approx(stats.ttest_1samp(x, 0).confidence_interval())


def test_leniency_is_the_mean_difference_with_students_interval() -> None:
    rng = np.random.default_rng(1)
    people, scores = rng.uniform(1, 5, (15, 1)), rng.uniform(1, 5, (15, 1))
    found = leniency(scores, people)
    assert value(found) == pytest.approx(scores.mean() - people.mean())
    assert interval(found) == pytest.approx(stats.ttest_rel(scores[:, 0], people[:, 0]).confidence_interval())


def test_leniency_is_over_items_that_both_have_and_counts_the_rest() -> None:
    scores, ratings, _ = study(2)
    people = means(ratings)
    both = ~np.isnan(scores) & ~np.isnan(people)
    found = leniency(scores, people)
    assert value(found) == pytest.approx(scores[both].mean() - people[both].mean())
    assert (found.n, found.n_unscored) == (both.sum(), (~np.isnan(people) & np.isnan(scores)).sum())
    assert found.n_unscored > 0


def test_a_judge_half_a_point_above_everyone_is_not_certain_to_stay_so() -> None:
    found = leniency([[3.5, 4.5], [2.5, 1.5]], [[3, 4], [2, 1]])
    low, high = interval(found)
    assert value(found) == 0.5
    assert low < 0.5 < high


def test_shares_and_entropy_count_each_raters_own_ratings() -> None:
    """Judge: 4.5 goes up to 5, 4.4 down to 4, 2.5 up to 3. People: an item counts once, however many rated it."""
    scores = [[4.5, 4.4], [2.5, 5.0]]
    ratings = np.array([[[5, 5, 4], [4, np.nan, np.nan]], [[1, 2, 3], [5, 5, np.nan]]])
    top, entropy = top_share(scores, ratings), score_entropy(scores, ratings)
    assert value(top.judge) == 0.5
    assert value(top.human) == pytest.approx((2 / 3 + 0 + 0 + 1) / 4)
    assert value(top.difference) == pytest.approx(value(top.judge) - value(top.human))
    assert value(entropy.judge) == pytest.approx(stats.entropy([0, 0, 1, 1, 2], base=5))
    assert value(entropy.human) == pytest.approx(stats.entropy([1 / 3, 1 / 3, 1 / 3, 1 / 3 + 1, 2 / 3 + 1], base=5))
    assert value(entropy.difference) == pytest.approx(value(entropy.judge) - value(entropy.human))


def test_entropy_is_1_where_steps_are_used_alike_and_0_where_one_is() -> None:
    even = np.array([[1.0, 2, 3, 4, 5]] * 3)
    assert value(score_entropy(even, even[:, :, None]).judge) == pytest.approx(1)
    constant = score_entropy(np.full((3, 5), 4.0), even[:, :, None]).judge
    assert value(constant) == 0
    assert constant.low is None, "no claim of certainty"
    assert "no interval: every source says the same" in constant.method


def test_an_interval_is_the_whole_figure_without_each_source() -> None:
    scores, ratings, words = study(3, missing=0)
    people = means(ratings)
    assert interval(verbosity(scores, people, words)) == pytest.approx(deleted(verbosity, scores, people, words))
    plain = interval(verbosity_without_noise(scores, ratings, words))
    assert plain == pytest.approx(deleted(verbosity_without_noise, scores, ratings, words))
    entropy = score_entropy(scores, ratings).human
    low, high = deleted(lambda *tables: score_entropy(*tables).human, scores, ratings)
    assert interval(entropy) == pytest.approx((low, min(high, 1.0)))


def test_verbosity_is_the_slope_of_a_regression_with_one_constant_a_source() -> None:
    """Against numpy's lstsq with a column for each source."""
    scores, ratings, words = study(4)
    people = means(ratings)
    both = ~np.isnan(scores) & ~np.isnan(people)
    source = np.nonzero(both)[0]
    columns = [np.log2(words[both]), people[both], *(source == one for one in range(len(scores)))]
    slope = np.linalg.lstsq(np.stack(columns, axis=1).astype(float), scores[both], rcond=None)[0][0]
    assert value(verbosity(scores, people, words)) == pytest.approx(slope)


def test_noise_is_taken_out_as_one_rater_is_the_instrument_of_the_other() -> None:
    """Two raters: two-stage least squares with either as the other's instrument, their normal equations averaged."""
    scores, ratings, words = study(5, missing=0)
    ratings = ratings[:, :, :2]
    z, j, first, second = (
        (table - table.mean(axis=1, keepdims=True)).ravel()
        for table in (np.log2(words), scores, ratings[:, :, 0], ratings[:, :, 1])
    )
    left, right = np.zeros((2, 2)), np.zeros(2)
    for rater, instrument in ((first, second), (second, first)):
        known, used = np.stack([z, instrument]), np.stack([z, rater])
        left, right = left + known @ used.T, right + known @ j
    assert value(verbosity_without_noise(scores, ratings, words)) == pytest.approx(np.linalg.solve(left, right)[0])


def test_without_noise_nothing_is_taken_out() -> None:
    scores, ratings, words = study(6, missing=0)
    same = np.repeat(ratings[:, :, :1], 3, axis=2) + np.array([0.0, 0.5, -0.25])
    plain = verbosity(scores, means(same), words)
    assert value(verbosity_without_noise(scores, same, words)) == pytest.approx(value(plain))


def test_raters_of_some_items_only_are_not_used_for_the_noise() -> None:
    scores, ratings, words = study(7, missing=0)
    ratings[0, 0, 2] = np.nan
    without = ratings.copy()
    without[0, :, 2] = np.nan
    one, other = (verbosity_without_noise(scores, table, words) for table in (ratings, without))
    assert value(one) == value(other)
    ratings[0, 1, 1] = np.nan
    lost = verbosity_without_noise(scores, ratings, words)
    assert (lost.n, lost.n_unscored) == (66, 6), "the first source has one steady rater left"


def test_self_preference_is_leniency_with_its_own_less_leniency_with_others() -> None:
    scores, ratings, _ = study(8)
    people = means(ratings)
    own = [True, False, None, False, True, None]
    found = self_preference(scores, people, own)
    ours, theirs = (value(leniency(scores[:, which], people[:, which])) for which in ([0, 4], [1, 3]))
    assert value(found) == pytest.approx(ours - theirs)
    both = ~np.isnan(scores) & ~np.isnan(people)
    assert found.n == both[:, [0, 1, 3, 4]].sum()
    assert "2 systems of the judge's family" in found.method


def test_a_flat_judge_prefers_nobody_among_summaries_that_people_rate_alike() -> None:
    """Its own systems are the worse ones, so half of people's scale looks like leniency with them."""
    people = np.random.default_rng(9).uniform(1, 5, (10, 4)) * [0.5, 0.5, 1, 1]
    scores = 2 + people / 2
    own = [True, True, False, False]
    assert interval(self_preference(scores, people, own))[0] > 0.2
    assert value(self_preference_given_human(scores, people, own)) == pytest.approx(0, abs=1e-9)


def test_halo_is_the_mean_correlation_of_pairs_of_rubrics() -> None:
    """Against scipy's spearmanr, pair by pair."""
    tables = [study(seed) for seed in (10, 11, 12)]
    scores, people = [table[0] for table in tables], [means(table[1]) for table in tables]
    found = halo(scores, people)
    there = [~np.isnan(a) & ~np.isnan(b) for a, b in zip(scores, people, strict=True)]
    for side, given in ((found.judge, scores), (found.human, people)):
        expected = [
            stats.spearmanr(given[a][there[a] & there[b]], given[b][there[a] & there[b]])[0]
            for a, b in combinations(range(3), 2)
        ]
        assert value(side) == pytest.approx(np.mean(expected))
    assert value(found.difference) == pytest.approx(value(found.judge) - value(found.human))
    assert "3 pairs of rubrics" in found.judge.method


def test_one_impression_under_several_names_shows_as_halo() -> None:
    rng = np.random.default_rng(13)
    people = [rng.uniform(1, 5, (12, 6)) for _ in range(3)]
    impression = sum(people)
    found = halo([impression + rng.normal(0, 0.3, (12, 6)) for _ in people], people)
    assert interval(found.difference)[0] > 0.7


def test_intervals_stay_within_what_is_possible() -> None:
    """Student's interval around such figures reaches beyond 1, where nothing can be."""
    rng = np.random.default_rng(16)
    scores = rng.uniform(1, 5, (4, 5))
    scores[0] = scores[0][::-1]
    near = [scores, scores + rng.normal(0, 0.3, scores.shape)]
    assert interval(halo(near, near).judge)[1] == 1
    even = np.array([[1.0, 2, 3, 4, 5], [1, 2, 3, 4, 4], [5, 2, 3, 4, 1]])
    assert interval(score_entropy(even, even[:, :, None]).judge)[1] == 1


def test_a_constant_rubric_has_no_part_in_halo() -> None:
    tables = [study(seed, missing=0) for seed in (14, 15)]
    scores, people = [table[0] for table in tables], [means(table[1]) for table in tables]
    alone = halo(scores, people)
    found = halo([*scores, np.full_like(scores[0], 4.0)], [*people, people[0]])
    assert value(found.difference) == value(alone.difference)
    assert "1 pairs of rubrics" in found.judge.method


# Shrout & Fleiss 1979, table 2: six targets, four judges. They report ICC(1,1) = .17 and ICC(1,4) = .44.
SHROUT_FLEISS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def test_stability_is_what_shrout_and_fleiss_published() -> None:
    found = stability(SHROUT_FLEISS, range(6))
    assert value(found.single) == pytest.approx(0.17, abs=0.005)
    assert value(found.mean) == pytest.approx(0.44, abs=0.005)
    low, high = interval(found.single)
    assert low < 0.17 < high


def test_unequal_numbers_of_samples_are_an_analysis_of_variance() -> None:
    """F by scipy's f_oneway; n0 as in Donner 1986. The item with one scored sample is left out and counted."""
    items = [[4, 5, 4], [2, 2], [3, 3, 4, 5], [1, 2, 1], [5, 4], [3]]
    table = np.full((6, 4), np.nan)
    for row, given in enumerate(items):
        table[row, : len(given)] = given
    kept = items[:-1]
    f = stats.f_oneway(*kept).statistic
    sizes = np.array([len(given) for given in kept])
    n0 = (sizes.sum() - (sizes**2).sum() / sizes.sum()) / (len(kept) - 1)
    found = stability(table, ["a", "a", "b", "b", "c", "c"])
    assert value(found.single) == pytest.approx((f - 1) / (f + n0 - 1))
    assert value(found.mean) == pytest.approx(1 - 1 / f)
    assert (found.single.n, found.single.n_unscored) == (5, 1)
    assert "over 3 sources" in found.single.method


def test_a_judge_that_always_says_the_same_again_is_stable_without_a_claim_of_certainty() -> None:
    found = stability([[3, 3], [4, 4], [2, 2]], "abc")
    assert value(found.single) == value(found.mean) == 1
    assert found.single.low is None
    assert "no interval: no item's samples differ" in found.single.method


ROW = np.array([[1.0, 2, 3, 4]])
FLAT = np.full((3, 4), 3.0)
RAMP = np.tile(ROW, (3, 1)) + np.arange(3.0)[:, None] / 4
LENGTHS = np.array([[10.0, 30, 20, 40], [15, 10, 25, 45], [30, 20, 25, 10]])


def of(sides: Sides) -> Estimate:
    return sides.difference


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (lambda: leniency(NOTHING, RAMP), "no item has both a score and a rating"),
        (lambda: of(top_share(NOTHING, RAMP[:, :, None])), "no item has both a score and a rating"),
        (lambda: of(score_entropy(RAMP, NOTHING[:, :, None])), "no item has both a score and a rating"),
        (lambda: verbosity(RAMP, NOTHING, LENGTHS), "no source has two items"),
        (lambda: verbosity(RAMP[:, :1], RAMP[:, :1], LENGTHS[:, :1]), "no source has two items"),
        (lambda: verbosity(RAMP, RAMP, FLAT), "within no source do lengths differ"),
        (lambda: verbosity(RAMP, np.log2(LENGTHS), LENGTHS), "within no source do lengths differ apart from"),
        (lambda: verbosity_without_noise(RAMP, RAMP[:, :, None], LENGTHS), "no source has two raters"),
        (
            lambda: verbosity_without_noise(RAMP, np.stack([FLAT, RAMP], axis=2), LENGTHS),
            "people's ratings differ by no more than their noise",
        ),
        (lambda: self_preference(RAMP, RAMP, [False] * 4), "by a system of its own family"),
        (lambda: self_preference(RAMP, RAMP, [True] * 4), "by a system of another known family"),
        (lambda: self_preference(RAMP, RAMP, [None] * 4), "by a system of a known family"),
        (lambda: self_preference_given_human(RAMP, RAMP, [True] * 4), "no source has systems of both kinds"),
        (lambda: of(halo([RAMP], [RAMP])), "needs two rubrics, and there is one"),
        (lambda: of(halo([], [])), "needs two rubrics, and there is none"),
        (lambda: of(halo([RAMP, FLAT], [RAMP, RAMP])), "in every pair of rubrics, one is constant"),
        (lambda: of(halo([RAMP, NOTHING], [RAMP, RAMP])), "no item has a score and a rating on two rubrics"),
        (lambda: stability([[3], [4]], "ab").single, "one sample an item"),
        (lambda: stability([[3, np.nan], [4, np.nan]], "ab").single, "no item has two scored samples"),
        (lambda: stability([[3, 4]], "a").mean, "two items with two scored samples are needed"),
        (lambda: stability([[3, 3], [3, 3]], "ab").mean, "the judge's mean is the same for every item"),
    ],
)
def test_what_cannot_be_said_is_undefined_with_its_reason(found: Callable[[], Estimate], why: str) -> None:
    estimate = found()
    assert estimate.value is estimate.low is estimate.high is None
    assert estimate.method.startswith("undefined: ")
    assert why in estimate.method


def test_people_who_give_all_the_same_hold_nothing_still() -> None:
    """The slope is then that on length alone, within sources."""
    z = np.log2(LENGTHS) - np.log2(LENGTHS).mean(axis=1, keepdims=True)
    assert value(verbosity(RAMP, FLAT, LENGTHS)) == pytest.approx((z * RAMP).sum() / (z * z).sum())


def test_one_source_has_a_figure_and_no_interval() -> None:
    people = np.array([[2.0, 1, 4, 3]])
    for found in (leniency(ROW, people), verbosity(ROW, people, LENGTHS[:1]), halo([ROW] * 2, [people] * 2).difference):
        assert found.value is not None
        assert found.low is None
        assert "no interval" in found.method


def simulated(rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """20 sources x 6 systems: scores, people, words. The judge gives 0.3 more than people and 0.15 more a doubling;
    sources differ in how harshly and how much for length it judges them. Better summaries are longer."""
    quality = rng.normal(0, 0.7, (20, 6)) + rng.normal(0, 0.5, (20, 1))
    doublings = 0.5 * quality + rng.normal(0, 0.6, quality.shape)
    liking = 0.15 + rng.normal(0, 0.1, (20, 1))
    scores = 3.3 + quality + liking * doublings + rng.normal(0, 0.4, quality.shape) + rng.normal(0, 0.3, (20, 1))
    return scores, 3 + quality, np.exp2(6 + doublings)


def held(estimates: list[Estimate], truth: float) -> float:
    return float(np.mean([low <= truth <= high for low, high in map(interval, estimates)]))


def test_intervals_of_leniency_and_verbosity_hold_the_truth_in_95_of_100_studies() -> None:
    """400 studies, so 92-98 % is almost three standard errors; bench/coverage_bias.py has thousands and all figures."""
    rng = np.random.default_rng(20)
    studies = [simulated(rng) for _ in range(400)]
    assert 0.92 <= held([leniency(scores, people) for scores, people, _ in studies], 0.3) <= 0.98
    assert 0.92 <= held([verbosity(*one) for one in studies], 0.15) <= 0.98


def test_raters_noise_looks_like_verbosity_and_is_taken_out() -> None:
    """With three noisy raters the plain slope of the same judge is far from 0.15 and the corrected one is not."""
    rng = np.random.default_rng(21)
    plain, corrected = [], []
    for _ in range(300):
        scores, people, words = simulated(rng)
        ratings = people[:, :, None] + rng.normal(0, 0.8, (20, 6, 3))
        plain.append(verbosity(scores, ratings.mean(axis=2), words))
        corrected.append(verbosity_without_noise(scores, ratings, words))
    assert held(plain, 0.15) < 0.6
    assert 0.92 <= held(corrected, 0.15) <= 0.98


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("openai/gpt-4o", "gpt"),
        ("openai/o3-mini", "gpt"),
        ("chatgpt-3.5-turbo", "gpt"),
        ("anthropic/claude-opus-4-5", "claude"),
        ("ollama/llama3.1:8b", "llama"),
        ("vicuna-13b-v1.5", "llama"),
        ("openai/meta-llama/Llama-3.1-8B", "llama"),
        ("Mixtral-8x7B", "mistral"),
        ("local//home/claude/models/Qwen2.5-7B-Q4_K_M.gguf", "qwen"),
        ("gemini-1.5-pro", "gemini"),
        ("human-summaries", "human"),
        ("embedded", None),
        ("baseline/length", None),
        ("replay/gpt-4.run.db", None),
        ("deepseek-r1-distill-llama-8b", None),
        ("gpt-j-6b", None),
        ("demo1", None),
        ("barthez", None),
        ("m0", None),
    ],
)
def test_a_family_is_read_from_the_name_and_never_guessed(name: str, expected: str | None) -> None:
    assert family(name) == expected


SYSTEMS = ("gpt-4", "Llama-2-7b-chat", "ours", "claude-3")


def records() -> list[dict[str, Any]]:
    """Ten sources, four systems, two rubrics, three raters."""
    rng = np.random.default_rng(30)
    found = []
    for source in range(10):
        for number, system in enumerate(SYSTEMS):
            index = source * len(SYSTEMS) + number
            ratings = {rubric: rng.integers(2, 5, 3).tolist() for rubric in ("fluency", "coherence")}
            summary = " ".join(["word"] * int(rng.integers(5, 40)))
            found.append(
                {"id": f"s{source}", "system": system, "summary": f"{summary} {mark(index)}", "reviews": ["Good."]}
                | {"human": ratings}
            )
    return found


def likes_its_own(request: Request) -> Answer:
    """5 for gpt-4, 2 or 3 for the others."""
    own = request.item % len(SYSTEMS) == 0
    return completion(f"<score>{5 if own else 2 + request.item // 3 % 2}</score>")


def test_agree_tells_bias_in_json_and_in_words(evaluate: Evaluate, write_items: WriteItems, jurybox: Command) -> None:
    evaluate.server.plan = likes_its_own
    evaluate(write_items(records()), rubrics="fluency,coherence", judge="openai/gpt-judge-4")
    done = jurybox("agree", evaluate.out, "--json", "--resamples", 100)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["bias"]
    assert set(found) == {"rubrics", "halo", "self_preference", "stability"}
    one = found["rubrics"]["fluency"]
    assert set(one["leniency"]) == set(one["verbosity"]) == set(one["verbosity_corrected"]) == ESTIMATE
    for sides in (one["top_share"], one["entropy"], found["halo"]):
        assert set(sides) == {"judge", "human", "difference"}
        assert all(set(estimate) == ESTIMATE for estimate in sides.values())
    assert set(found["stability"]["coherence"]) == {*ESTIMATE, "mean_of_samples"}
    assert found["stability"]["coherence"]["method"] == "undefined: one sample an item"
    assert "NaN" not in done.stdout


def test_a_judge_that_likes_its_own_family_is_found_out(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate.server.plan = likes_its_own
    evaluate(write_items(records()), rubrics="fluency,coherence", judge="openai/gpt-4o-mini")
    agreement = agreeing.agree(evaluate.out, resamples=100)
    found = agreement.bias.self_preference
    assert found.family == "gpt"
    assert found.systems == {"gpt": ["gpt-4"], "llama": ["Llama-2-7b-chat"], None: ["ours"], "claude": ["claude-3"]}
    assert interval(found.difference)[0] > 1.5
    assert interval(found.given_human)[0] > 1.5
    assert value(found.leniency["gpt"]) > 1.5
    assert set(found.rubrics) == {"fluency", "coherence"}
    text = agreement_text(agreement)
    assert "Gives its own family's systems (gpt) more than others" in text.replace("\n", " ")
    assert "1 system of unknown family left out" in " ".join(text.split())
    assert [line for line in text.splitlines() if len(line) > 80 and "jurybox|" not in line] == []


def test_samples_tell_how_stable_a_judge_is(evaluate: Evaluate, write_items: WriteItems) -> None:
    """Samples by hand out of the run file, against scipy's analysis of variance."""
    rng = np.random.default_rng(31)
    evaluate.server.plan = lambda request: completion(
        f"<score>{min(max(round(request.item % 5 + 1 + rng.normal(0, 0.7)), 1), 5)}</score>"
    )
    evaluate(write_items(records()), judge="openai/judge-1", samples=3, temperature=1.0)
    rows = evaluate.rows("SELECT item, score FROM judgments ORDER BY item, sample")
    by_item: dict[int, list[float]] = {}
    for item, score in rows:
        by_item.setdefault(item, []).append(score)
    f = stats.f_oneway(*by_item.values()).statistic
    agreement = agreeing.agree(evaluate.out, resamples=100)
    found = agreement.bias.stability["fluency"]
    assert value(found.single) == pytest.approx((f - 1) / (f + 2))
    assert value(found.mean) == pytest.approx(1 - 1 / f)
    assert found.single.n == 40
    text = " ".join(agreement_text(agreement).split())
    assert f"one sample item's mean fluency {found.single.value:.2f} n=40 {found.mean.value:.2f} n=40" in text
    assert "no figure: a correlation between rubrics needs two rubrics, and there is one" in text


def test_a_jury_has_neither_samples_nor_several_families(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate.server.plan = likes_its_own
    evaluate(write_items(records()), judge=["openai/gpt-4o", "openai/claude-3"])
    found = agreeing.agree(evaluate.out, resamples=100).bias
    assert found.self_preference.difference.method == "undefined: a jury of several families (gpt, claude)"
    assert "ask about each with --judge" in found.stability["fluency"].single.method
    one = agreeing.agree(evaluate.out, resamples=100, judge="openai/claude-3").bias
    assert one.self_preference.family == "claude"
    assert value(one.self_preference.difference) < 0


def test_a_judge_without_a_family_says_so(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate(write_items(records()), judge="baseline/length")
    found = agreeing.agree(evaluate.out, resamples=100).bias.self_preference
    assert found.difference.method == "undefined: no family of models is known for baseline/length"
    assert found.family is None
    assert not any(math.isnan(value(estimate)) for estimate in found.leniency.values())
