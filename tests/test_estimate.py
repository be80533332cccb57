"""`jurybox estimate`: people's means of a run from few ratings, with what to label next; real files, real commands."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jurybox
from conftest import Command, Evaluate, WriteItems, item
from jurybox.errors import SetupError, StoreError
from jurybox.report.estimate import Estimates
from jurybox.report.estimate_text import estimates_text
from server import right_score

SOURCES, LABELLED = 40, 12
SYSTEMS = ("base", "new")
SHARED = Path(__file__).parent.parent.parent / "shared" / "data" / "summeval_op_dev.jsonl"
Rating = tuple[str, str, str, str, float]


def number_of(source: int, system: str) -> int:
    return source + SOURCES * SYSTEMS.index(system)


def records(**more: Any) -> list[dict[str, Any]]:
    return [
        {**item(number_of(source, system)), "id": f"s{source:02}", "system": system, **more}
        for source in range(SOURCES)
        for system in SYSTEMS
    ]


def rated(sources: Sequence[int], shift: float = 0.0) -> list[Rating]:
    """Two raters around four fifths of the judge's score, one of them a little milder."""
    rows = []
    for source in sources:
        for system in SYSTEMS:
            score = 1 + 0.8 * (right_score(number_of(source, system), "Fluency") - 1) + 0.3 * (source % 3 == 0) + shift
            rows += [(f"s{source:02}", system, "fluency", rater, score + off) for rater, off in (("x", 0), ("y", 0.4))]
    return rows


def write(path: Path, rows: Sequence[Rating]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("id", "system", "rubric", "rater", "score"), *rows])
    return path


@pytest.fixture
def run(evaluate: Evaluate, write_items: WriteItems) -> Path:
    evaluate(write_items(records()), rubrics="fluency,coherence")
    return evaluate.out


@pytest.fixture
def few(tmp_path: Path) -> Path:
    return write(tmp_path / "few.csv", rated(range(LABELLED)))


def test_the_estimate_is_the_formula_on_the_files_scores(run: Path, few: Path) -> None:
    found = jurybox.estimate(run, human=few).rubrics["fluency"].systems["new"]
    judge = np.array([right_score(number_of(source, "new"), "Fluency") for source in range(SOURCES)], dtype=float)
    ratings = rated(range(LABELLED))
    human = np.array([score for _, system, _, _, score in ratings if system == "new"]).reshape(-1, 2).mean(axis=1)
    assert found.found.human.value == pytest.approx(human.mean())
    assert found.found.judge.value == pytest.approx(judge.mean())
    assert found.found.weight > 0.2
    gap = judge[:LABELLED].mean() - judge[LABELLED:].mean()
    assert found.found.ppi.value == pytest.approx(human.mean() - found.found.weight * gap)
    assert (found.labelled, found.items) == (LABELLED, SOURCES)
    assert found.found.effective_n is not None
    assert found.found.effective_n > 1.5 * LABELLED, "the judge follows people closely here"


def test_json_has_the_agreed_shape(run: Path, few: Path, jurybox: Command) -> None:
    done = jurybox("estimate", run, "--human", few, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["judge"] == "openai/judge-1"
    assert told["signature"].startswith("jurybox|fluency@1:")
    assert told["unrated"] == ["coherence"]
    (rubric,) = told["rubrics"].values()
    assert set(rubric) == {"signature", "systems", "labelled", "next", "calibration"}
    assert set(rubric["systems"]) == set(SYSTEMS)
    for system in rubric["systems"].values():
        assert set(system) >= {"ppi", "human", "judge", "lambda", "effective_n", "n_labelled", "n_items"}
        assert set(system["ppi"]) == {"value", "low", "high", "n", "n_unscored", "method", "seed"}
    assert set(rubric["calibration"]) == {"linear", "isotonic", "ordinal"}
    assert set(rubric["next"]) == {"n", "why", "reason", "seed", "items", "expected_half_width"}


def test_ratings_in_the_run_are_used_and_a_file_takes_their_place(
    evaluate: Evaluate, write_items: WriteItems, few: Path
) -> None:
    evaluate(write_items(records(human={"fluency": [4, 5]})))
    own = jurybox.estimate(evaluate.out)
    assert (own.rubrics["fluency"].systems["base"].labelled, own.human) == (SOURCES, str(evaluate.out))
    file = jurybox.estimate(evaluate.out, human=few)
    assert (file.rubrics["fluency"].systems["base"].labelled, file.human) == (LABELLED, str(few))


def test_next_items_have_no_label_and_come_source_by_source(run: Path, few: Path) -> None:
    found = jurybox.estimate(run, human=few, next_labels=7).rubrics["fluency"].next
    assert len(set(found.items)) == 7
    assert all(int(id_[1:]) >= LABELLED for id_, _ in found.items)
    assert [id_ for id_, _ in found.items[::2]] == [id_ for id_, _ in found.items[1::2]] + [found.items[6][0]]
    again = jurybox.estimate(run, human=few, next_labels=9).rubrics["fluency"].next
    assert again.items[:7] == found.items, "more labels go on in the same order"
    assert jurybox.estimate(run, human=few, next_labels=7, seed=1).rubrics["fluency"].next.items != found.items


def test_by_default_as_many_as_halve_each_systems_interval(run: Path, few: Path) -> None:
    found = jurybox.estimate(run, human=few).rubrics["fluency"]
    for system, told in found.systems.items():
        chosen = [id_ for id_, by in found.next.items if by == system]
        assert len(chosen) == told.labels_to_halve > 0
        expected = found.next.expected[system]
        assert expected is not None
        assert told.needed is not None
        assert expected == pytest.approx(told.needed.expected)


def test_a_system_without_labels_gets_some_to_begin_with(run: Path, tmp_path: Path) -> None:
    rows = [row for row in rated(range(LABELLED)) if row[1] == "base"]
    found = jurybox.estimate(run, human=write(tmp_path / "base.csv", rows))
    new = found.rubrics["fluency"].systems["new"]
    assert new.found.ppi.value is None
    assert new.found.ppi.method == "undefined: fewer than 2 labelled sources"
    assert new.found.judge.value is not None
    assert sum(system == "new" for _, system in found.rubrics["fluency"].next.items) == 10
    assert "No estimate from fewer than 2 labelled sources: new" in estimates_text(found)
    assert "NaN" not in json.dumps(found.as_dict())


def picked(run: Path, tmp_path: Path) -> Estimates:
    """The sources that the judge likes best are the ones that people rated."""
    liked = sorted(
        range(SOURCES), key=lambda source: -sum(right_score(number_of(source, by), "Fluency") for by in SYSTEMS)
    )
    return jurybox.estimate(run, human=write(tmp_path / "liked.csv", rated(liked[:LABELLED], -0.4)))


def test_labels_that_were_picked_are_warned_of(run: Path, few: Path, tmp_path: Path) -> None:
    assert "WARNING" not in estimates_text(jurybox.estimate(run, human=few))
    found = picked(run, tmp_path)
    assert found.rubrics["fluency"].shift.unlike
    assert "WARNING: the labelled items look unlike the rest: the judge gives them +" in estimates_text(found)


def test_the_text_fits_80_columns_but_for_signatures_and_the_files_path(run: Path, few: Path, jurybox: Command) -> None:
    done = jurybox("estimate", run, "--human", few, env={"COLUMNS": "80"})
    assert done.returncode == 0, done.stderr
    table, _, signatures = done.stdout.partition("Signatures:")
    assert all(len(line) <= 80 for line in table.splitlines() if not line.startswith("Human ratings:"))
    assert "jurybox|fluency@1:" in signatures
    assert "Left out, because nobody rated them: coherence" in table
    assert f"{LABELLED}/{SOURCES}" in table


def test_a_jury_is_the_mean_of_its_judges_and_one_can_be_named(
    evaluate: Evaluate, write_items: WriteItems, few: Path
) -> None:
    evaluate(write_items(records()), judge=["openai/judge-1", "openai/judge-2", "baseline/length"])
    both = jurybox.estimate(evaluate.out, human=few)
    assert both.judge == "jury(mean: openai/judge-1 + openai/judge-2)"
    length = jurybox.estimate(evaluate.out, human=few, judge="baseline/length")
    assert length.judge == "baseline/length"
    assert "baseline/length" in length.rubrics["fluency"].signature
    theirs, ours = (one.rubrics["fluency"].systems["base"].found for one in (length, both))
    assert theirs.judge.value != ours.judge.value
    assert theirs.human == ours.human


def test_an_item_that_one_of_the_jury_has_not_scored_is_a_loss(
    evaluate: Evaluate, write_items: WriteItems, few: Path
) -> None:
    data = write_items(records())
    evaluate(data)
    evaluate(data, judge="openai/judge-2", limit=2 * 30)
    found = jurybox.estimate(evaluate.out, human=few).rubrics["fluency"].systems["base"].found
    assert (found.judge.n, found.judge.n_unscored, found.n_judged) == (30, SOURCES - 30, 30)
    assert found.ppi.n_unscored == SOURCES - 30


def test_intervals_know_the_ends_of_the_scale(run: Path, tmp_path: Path) -> None:
    """Twelve fives: the interval is not a point, and ends at 5."""
    rows = [(f"s{source:02}", "base", "fluency", "x", 5.0) for source in range(LABELLED)]
    found = jurybox.estimate(run, human=write(tmp_path / "fives.csv", rows)).rubrics["fluency"].systems["base"].found
    assert (found.ppi.value, found.ppi.high) == (5, 5)
    assert found.ppi.low is not None
    assert 3 < found.ppi.low < 4.5


def test_a_long_name_has_a_line_of_its_own(evaluate: Evaluate, write_items: WriteItems, few: Path) -> None:
    name = "a-system-with-quite-a-long-name-as-such-things-have"
    evaluate(write_items([*records(), {**item(1), "id": "s00", "system": name}]))
    lines = estimates_text(jurybox.estimate(evaluate.out, human=few)).splitlines()
    assert name in lines
    assert all(len(line) <= 80 for line in lines if not line.startswith(("Human ratings:", "  jurybox|")))


WRONG: dict[str, tuple[dict[str, Any], list[Rating], str]] = {
    "an unknown judge": ({"judge": "openai/judge-9"}, [], "--judge: unknown judge 'openai/judge-9'. Did you mean"),
    "an unknown rubric": ({"rubrics": "fluensy"}, [], "--rubrics: unknown rubric 'fluensy'. Did you mean 'fluency'"),
    "a rubric nobody rated": ({"rubrics": "coherence"}, [], "has no human ratings of coherence; rate some items"),
    "other items": (
        {},
        [("q1", "base", "fluency", "x", 4)],
        "no rated item of 'fluency' is in the run; rated is id 'q1'",
    ),
    "another scale": (
        {},
        [("s01", "base", "fluency", "x", 80)],
        "1 of 1 are off the scale 1-5; the first is 80 for id 's01'",
    ),
    "a seed below zero": ({"seed": -1}, [], "--seed: -1 is below zero"),
    "fewer than none": ({"next_labels": -1}, [], "--next: -1 is below zero"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_use_is_told(run: Path, tmp_path: Path, case: str) -> None:
    options, rows, message = WRONG[case]
    human = write(tmp_path / "human.csv", rows or rated(range(LABELLED)))
    with pytest.raises(SetupError) as caught:
        jurybox.estimate(run, human=human, **options)
    assert message in str(caught.value)


def test_a_run_without_ratings_says_how_to_give_them(run: Path, jurybox: Command) -> None:
    done = jurybox("estimate", run)
    assert done.returncode == 2
    assert "has no human ratings of fluency, coherence" in done.stderr
    assert "--human FILE (columns id, system, rubric, rater, score)" in done.stderr


def test_rated_items_that_are_not_in_the_run_are_counted(run: Path, tmp_path: Path) -> None:
    rows = [*rated(range(LABELLED)), ("q1", "base", "fluency", "x", 4.0)]
    found = jurybox.estimate(run, human=write(tmp_path / "more.csv", rows))
    assert found.foreign == 1
    assert "1 rated items are not in the run" in estimates_text(found)


def test_duels_are_refused(write_items: WriteItems, few: Path, tmp_path: Path) -> None:
    out = tmp_path / "duels.db"
    jurybox.duel(write_items(records()), SYSTEMS, rubrics="fluency", judge="baseline/length", out=out)
    with pytest.raises(StoreError, match="holds duels"):
        jurybox.estimate(out, human=few)


@pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared/data")
def test_on_real_ratings_most_of_them_hidden_the_intervals_hold_the_full_mean(tmp_path: Path) -> None:
    """SummEval-OP: 9 of 18 products rated, word count for a judge. The full mean of people is known here."""
    items = [json.loads(line) for line in SHARED.read_text("utf-8").splitlines()]
    out = tmp_path / "op.db"
    jurybox.evaluate(SHARED, rubrics="fluency,specificity,aspect_coverage", judge="baseline/length", out=out)
    ids = sorted({each["id"] for each in items})
    held = total = 0
    for seed in range(4):
        kept = set(np.random.default_rng(seed).permutation(ids)[:9].tolist())
        rows = [
            (each["id"], each["system"], rubric, str(rater), score)
            for each in items
            if each["id"] in kept
            for rubric, given in each["human"].items()
            for rater, score in enumerate(given)
        ]
        found = jurybox.estimate(out, human=write(tmp_path / f"{seed}.csv", rows))
        for rubric, told in found.rubrics.items():
            for system, one in told.systems.items():
                truth = np.mean([each["human"][rubric] for each in items if each["system"] == system])
                ppi, human = one.found.ppi, one.found.human
                assert None not in (ppi.low, ppi.high, human.low, human.high)
                held += (ppi.low or 9) <= truth <= (ppi.high or 0)
                assert (ppi.high or 0) - (ppi.low or 0) <= (human.high or 0) - (human.low or 0) + 1e-9
                total += 1
    assert total == 4 * 3 * 13
    assert held / total > 0.92
