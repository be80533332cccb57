"""A jury is the judges' scores combined item by item: its table, its panels, its gates, and what it refuses."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import krippendorff
import numpy as np
import pytest

from conftest import Command, Evaluate, WriteItems, item
from jurybox.api import looking
from jurybox.errors import SetupError
from jurybox.report.jury import JuryCombine, JurySummary
from jurybox.report.summary import Summary
from jurybox.report.table import summary_text
from jurybox.stats.agreement import Level
from server import Answer, Plan, Request, completion

A, B, C = "openai/a", "openai/b", "openai/c"
NAN = np.nan
LEVELS: tuple[Level, ...] = ("ordinal", "interval")

THREE = {"a": [1, 2, 3, 4], "b": [2, 2, 5, 4], "c": [3, 5, 4, 4]}


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


@pytest.mark.parametrize(("jury", "value"), [("mean", (2 + 3 + 4 + 4) / 4), ("median", (2 + 2 + 4 + 4) / 4)])
def test_the_jury_combines_each_item(
    evaluate: Evaluate, write_items: WriteItems, jury: JuryCombine, value: float
) -> None:
    judged(evaluate, write_items, THREE)
    found = the_jury(looking.show(evaluate.out, jury=jury))
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
    estimate = looking.show(evaluate.out, jury=jury).main.systems["base"]["fluency"]
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
    summary = looking.show(evaluate.out)
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
    found = the_jury(looking.show(evaluate.out))
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
