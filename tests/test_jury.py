"""A jury is the judges' scores combined item by item; its agreement and its weights agree with others' numbers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats as scipy_stats
from scipy.optimize import nnls

from conftest import Command, Evaluate, WriteItems, item
from jurybox import api
from jurybox.errors import SetupError
from jurybox.report import JuryCombine, JurySummary, Summary, summary_text
from jurybox.stats import krippendorff_alpha, learn_weights
from jurybox.stats.agreement import Level
from jurybox.stats.weights import simplex_weights
from server import Answer, Plan, Request, completion

A, B, C = "openai/a", "openai/b", "openai/c"
NAN = np.nan
LEVELS: tuple[Level, ...] = ("ordinal", "interval")

# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", section E: 4 observers, 12 units, missing data. He
# finds .815 (ordinal) and .849 (interval).
PUBLISHED = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]


def by_model(scores: Mapping[str, Sequence[int | None]]) -> Plan:
    """A server whose model m gives scores[m][i] to item i; None cannot be read."""

    def plan(request: Request) -> Answer:
        score = scores[request.body["model"]][request.item]
        return completion("I cannot say." if score is None else f"<score>{score}</score>")

    return plan


def judged(
    evaluate: Evaluate, write_items: WriteItems, scores: Mapping[str, Sequence[int | None]], **more: Any
) -> Summary:
    """Items 0, 1, … of system `base`, judged by each of the models."""
    evaluate.server.plan = by_model(scores)
    count = len(next(iter(scores.values())))
    return evaluate(write_items(count), judge=[f"openai/{model}" for model in scores], reasks=0, **more).show()


def the_jury(summary: Summary) -> JurySummary:
    assert summary.jury is not None
    assert summary.main is summary.jury
    return summary.jury


# Krippendorff's alpha


@pytest.mark.parametrize(("level", "alpha"), [("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_is_the_published_one(level: Level, alpha: float) -> None:
    found = krippendorff_alpha(PUBLISHED, range(12), level)
    assert found.value == pytest.approx(alpha, abs=5e-4)
    assert (found.n, found.n_unscored, found.seed) == (11, 1, 0)
    assert found.low is not None
    assert found.high is not None
    assert found.low < alpha < found.high
    assert found.method == f"Krippendorff's alpha, {level}; 95 % percentile bootstrap over 11 sources, 500 resamples"


def ratings(seed: int, values: Sequence[float]) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    table = rng.choice(values, size=(rng.integers(2, 6), rng.integers(5, 60)))
    return np.where(rng.random(table.shape) < 0.2, NAN, table)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("values", [(1, 2, 3, 4, 5), (1, 5), tuple(np.linspace(1, 5, 97))])
def test_alpha_is_that_of_the_krippendorff_package(level: Level, values: Sequence[float]) -> None:
    for seed in range(25):
        table = ratings(seed, values)
        theirs = krippendorff.alpha(table, level_of_measurement=level)
        ours = krippendorff_alpha(table, range(table.shape[1]), level, resamples=2).value
        assert ours == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("level", LEVELS)
def test_the_interval_is_that_of_resampled_sources(level: Level) -> None:
    """The same draws, each put through the krippendorff package."""
    table, sources = ratings(3, (1, 2, 3, 4, 5)), 6
    group = np.arange(table.shape[1]) % sources
    rng = np.random.default_rng(7)
    alphas = []
    for _ in range(40):
        times = np.bincount(rng.integers(0, sources, sources), minlength=sources)
        alphas.append(krippendorff.alpha(np.repeat(table, times[group], axis=1), level_of_measurement=level))
    found = krippendorff_alpha(table, list(group), level, seed=7, resamples=40)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(alphas, [0.025, 0.975])))
    assert found.seed == 7
    assert "6 sources, 40 resamples" in found.method


@pytest.mark.parametrize("level", LEVELS)
def test_items_of_one_source_are_drawn_together(level: Level) -> None:
    """Copies of an item within its source add nothing, so the interval stays as wide as it was."""
    table = ratings(5, (1, 2, 3, 4, 5))
    count = table.shape[1]
    once = krippendorff_alpha(table, range(count), level)
    copied = krippendorff_alpha(np.tile(table, 4), list(range(count)) * 4, level)
    believed = krippendorff_alpha(np.tile(table, 4), range(4 * count), level)

    def width(low: float | None, high: float | None) -> float:
        assert low is not None
        assert high is not None
        return high - low

    assert width(copied.low, copied.high) == pytest.approx(width(once.low, once.high), rel=0.1)
    assert width(believed.low, believed.high) < 0.7 * width(copied.low, copied.high)


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_is_undefined_where_nothing_varies_or_nobody_meets(level: Level) -> None:
    same = krippendorff_alpha([[3.0, 3, 3], [3.0, 3, NAN]], "abc", level)
    assert (same.value, same.n, same.n_unscored, same.method) == (None, 2, 1, "undefined: all scores are the same")
    apart = krippendorff_alpha([[3, NAN], [NAN, 4]], "ab", level)
    assert (apart.value, apart.n, apart.n_unscored) == (None, 0, 2)
    assert apart.method == "undefined: no item was scored by two judges"


def test_one_source_has_an_alpha_and_no_interval() -> None:
    found = krippendorff_alpha([[1, 2, 3], [1, 3, 3]], "aaa")
    assert found.value is not None
    assert (found.low, found.high) == (None, None)
    assert "no interval from one source" in found.method


def test_resamples_without_variation_are_left_out_and_counted() -> None:
    found = krippendorff_alpha([[1, 5, 3], [1, 4, 3]], "abc", seed=1)
    assert "without variation left out)" in found.method
    assert found.low is not None


# Learned weights


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


# The jury of a run

THREE = {"a": [1, 2, 3, 4], "b": [2, 2, 5, 4], "c": [3, 5, 4, 4]}


@pytest.mark.parametrize(("jury", "value"), [("mean", (2 + 3 + 4 + 4) / 4), ("median", (2 + 2 + 4 + 4) / 4)])
def test_the_jury_combines_each_item(
    evaluate: Evaluate, write_items: WriteItems, jury: JuryCombine, value: float
) -> None:
    judged(evaluate, write_items, THREE)
    found = the_jury(api.show(evaluate.out, jury=jury))
    estimate = found.systems["base"]["fluency"]
    assert estimate.value == pytest.approx(value)
    assert (estimate.n, estimate.n_unscored) == (4, 0)
    assert found.judge == f"jury({jury}: {A} + {B} + {C})"
    assert f"|classic|jury({jury}: {A} + {B} + {C})|n:1|t:0|mean|" in str(found.signatures["fluency"])


def test_an_item_counts_only_where_every_judge_scored_it(evaluate: Evaluate, write_items: WriteItems) -> None:
    """Otherwise whoever is missing would move the mean by being lenient or not."""
    summary = judged(evaluate, write_items, {"a": [1, 2, 3], "b": [5, None, 5]})
    estimate = the_jury(summary).systems["base"]["fluency"]
    assert (estimate.value, estimate.n, estimate.n_unscored) == (3.5, 2, 1)
    assert the_jury(summary).statuses == {"fluency": {"scored": 5, "unparsed": 1}}
    assert summary.unscored == 1


@pytest.mark.parametrize("jury", ["mean", "median"])
def test_a_judge_that_scored_nothing_leaves_the_jury_without_a_score(
    evaluate: Evaluate, write_items: WriteItems, jury: JuryCombine
) -> None:
    judged(evaluate, write_items, {"a": [1, 2], "b": [None, None]})
    estimate = api.show(evaluate.out, jury=jury).main.systems["base"]["fluency"]
    assert (estimate.value, estimate.n, estimate.n_unscored) == (None, 0, 2)


def test_samples_are_combined_before_judges(evaluate: Evaluate, write_items: WriteItems) -> None:
    """Judge a was asked once and b three times: each still has one voice, and the signature shows both numbers."""
    evaluate.server.plan = lambda request: completion(
        f"<score>{2 if request.body['model'] == 'a' else (3, 3, 5)[(request.nth - 1) % 3]}</score>"
    )
    data = write_items(2)
    evaluate(data, judge=A)
    evaluate(data, judge=B, samples=3, temperature=0.0)
    summary = evaluate(data, judge=A).show(combine="median")
    assert the_jury(summary).systems["base"]["fluency"].value == pytest.approx(2.5)
    assert f"|jury(mean: {A} + {B})|n:1,3|t:0|median|" in the_jury(summary).signature


def test_a_jury_that_has_not_met_yet_has_no_table(evaluate: Evaluate, write_items: WriteItems) -> None:
    judged(evaluate, write_items, THREE)
    connection = sqlite3.connect(evaluate.out)
    connection.execute("DELETE FROM judgments")
    connection.commit()
    connection.close()
    summary = api.show(evaluate.out)
    assert the_jury(summary).systems == {}
    assert the_jury(summary).alpha["fluency"]["ordinal"].value is None
    assert "Jury" not in summary_text(summary)


def test_baselines_are_not_on_the_jury(evaluate: Evaluate, write_items: WriteItems) -> None:
    judges = ["baseline/length", A, "baseline/constant"]
    evaluate.server.plan = by_model({"a": [4, 4], "b": [2, 2]})
    alone = evaluate(write_items(2), judge=judges).show()
    assert alone.jury is None
    assert alone.main.judge == A
    assert "jury" not in alone.as_dict()
    both = evaluate(write_items(2), judge=[*judges, B]).show()
    assert the_jury(both).judges == (A, B)


def test_a_judge_is_on_the_panels_of_what_it_was_asked(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate.server.plan = by_model({"a": [4, 4], "b": [2, 2]})
    data = write_items(2)
    evaluate(data, judge=A)
    summary = evaluate(data, judge=B, rubrics="fluency,coherence").show()
    found = the_jury(summary)
    assert found.panels == {"fluency": (A, B), "coherence": (B,)}
    assert found.systems["base"]["coherence"].value == 2
    assert set(found.alpha) == {"fluency"}
    assert f"|jury(mean: {B})|" in str(found.signatures["coherence"])
    assert f"coherence: without {A}" in summary_text(summary)


def test_a_judge_that_cannot_judge_a_rubric_is_not_on_its_panel(evaluate: Evaluate, write_items: WriteItems) -> None:
    judged(evaluate, write_items, THREE)
    connection = sqlite3.connect(evaluate.out)
    connection.execute(
        "UPDATE judgments SET score = NULL, status = 'unsupported' "
        "WHERE series = (SELECT series FROM series WHERE judge = 'openai/c')"
    )
    connection.commit()
    connection.close()
    found = the_jury(api.show(evaluate.out))
    assert found.panels == {"fluency": (A, B)}
    assert found.judge == f"jury(mean: {A} + {B})"
    assert found.systems["base"]["fluency"].n == 4


def test_show_json_is_about_the_jury(jurybox: Command, evaluate: Evaluate, write_items: WriteItems) -> None:
    judged(evaluate, write_items, {**THREE, "a": [1, 2, 3, None]})
    found = json.loads(jurybox("show", evaluate.out, "--json").stdout)
    jury = found["jury"]
    assert found["judge"] == jury["judge"] == f"jury(mean: {A} + {B} + {C})"
    assert found["signature"] == jury["signature"]
    assert found["systems"] == jury["systems"]
    assert found["systems"]["base"]["fluency"]["n_unscored"] == 1
    assert (jury["judges"], jury["combine"], jury["panels"]) == ([A, B, C], "mean", {"fluency": [A, B, C]})
    table = [[1, 2, 3, NAN], *([*map(float, THREE[name])] for name in "bc")]
    for level in LEVELS:
        alpha = jury["alpha"]["fluency"][level]
        assert alpha["value"] == pytest.approx(krippendorff.alpha(table, level_of_measurement=level))
        assert set(alpha) == {"value", "low", "high", "n", "n_unscored", "method", "seed"}
        assert (alpha["n"], alpha["seed"]) == (4, 0)
    assert "weights" not in jury
    assert set(found["judges"]) == {A, B, C}


def test_gates_are_about_the_jury(jurybox: Command, evaluate: Evaluate, write_items: WriteItems) -> None:
    """Judge a alone would fail this gate, the mean with b passes."""
    judged(evaluate, write_items, {"a": [2, 2], "b": [4, 4]})
    assert jurybox("show", evaluate.out, "--fail-under", "fluency=3").returncode == 0
    failed = jurybox("show", evaluate.out, "--fail-under", "fluency=3.1")
    assert failed.returncode == 1
    assert "fluency of base is 3.000, below 3.1" in failed.stderr


def labelled(count: int, people: Sequence[float]) -> list[dict[str, Any]]:
    return [item(n, id=f"p{n // 2}", system=f"s{n % 2}", human={"fluency": [people[n]] * 2}) for n in range(count)]


def test_weights_are_learned_from_the_ratings_of_the_run(
    evaluate: Evaluate, write_items: WriteItems, jurybox: Command
) -> None:
    """People say what judge a says, one higher; judge b says the opposite."""
    a = [1, 2, 3, 4, 1, 2, 3, 4, 2, 3, 1, 4]
    evaluate.server.plan = by_model({"a": a, "b": [5 - score for score in a]})
    run = evaluate(write_items(labelled(12, [score + 1 for score in a])), judge=[A, B])
    found = the_jury(run.show(jury="learned"))
    assert found.weights == {"fluency": {A: pytest.approx(1), B: pytest.approx(0)}}
    estimate = found.systems["s0"]["fluency"]
    assert estimate.value == pytest.approx(sum(a[::2]) / 6), "the judges' leniency stays in the score"
    assert estimate.method.endswith("weights taken as known")
    told = json.loads(jurybox("show", evaluate.out, "--jury", "learned", "--json").stdout)["jury"]
    assert told["combine"] == "learned"
    assert told["weights"]["fluency"][A] == pytest.approx(1)
    check = told["learned"]["fluency"]
    assert (check["n"], check["n_unscored"], check["sources"]) == (12, 0, 6)
    assert check["held_out"]["learned"]["rmse"]["value"] == pytest.approx(0, abs=1e-6)
    assert check["held_out"]["mean"]["rmse"]["value"] > 0.5
    assert check["held_out"]["gain"]["low"] > 0
    assert check["held_out"]["mean"]["pearson"]["value"] is None, "the plain mean never varies here"


@pytest.mark.parametrize(
    ("people", "told"),
    [
        ([3.0] * 9, "fluency has 9 items of 5 sources"),
        ([3.0] * 12, "fluency has the same rating for every item"),
        ([1.0, 5.0, 3.0, 2.0], "fluency has 4 items of 2 sources"),
    ],
)
def test_too_few_labels_are_refused(
    jurybox: Command, evaluate: Evaluate, write_items: WriteItems, people: Sequence[float], told: str
) -> None:
    evaluate(write_items(labelled(len(people), people)), judge=[A, B])
    done = jurybox("show", evaluate.out, "--jury", "learned")
    assert done.returncode == 2
    assert told in done.stderr
    assert "10 items of 3 sources that people rated and every judge scored" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_jury_of_one_is_refused(evaluate: Evaluate, write_items: WriteItems) -> None:
    run = evaluate(write_items(2), judge=[A, "baseline/length"])
    with pytest.raises(SetupError, match=f"--jury median: a jury is two judges or more, and .* has one: {A}"):
        run.show(jury="median")
    with pytest.raises(SetupError, match="unknown jury 'vote'"):
        run.show(jury="vote")  # type: ignore[arg-type]


def test_the_text_tells_the_jury_first_and_fits_80_columns(evaluate: Evaluate, write_items: WriteItems) -> None:
    a = [1, 2, 3, 4, 1, 2, 3, 4, 2, 3, 1, 4]
    evaluate.server.plan = by_model({"a": a, "b": a[::-1]})
    run = evaluate(write_items(labelled(12, a)), judge=["baseline/length", A, B])
    text = summary_text(run.show(jury="learned"))
    assert max(len(line) for line in text.splitlines() if "jurybox|" not in line) <= 80
    parts = [
        "Jury: weighted mean of 2 judges",
        "Agreement between the judges: Krippendorff's alpha",
        "Weights learned from human ratings",
        "Against people, on sources left out one by one",
        f"Judge {A}",
        f"Judge {B}",
        "Judge baseline/length",
        "Spent: ",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "nan" not in text
