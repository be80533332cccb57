"""Judges whose faults are known, through the real runner: `stress` must find those faults and no others."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import jurybox
from jurybox.api.stressing import show_stress
from jurybox.errors import DataError, JudgeSpecError, RubricError, SetupError, StoreError
from jurybox.judges import PROVIDERS
from jurybox.report.stress import Stress
from jurybox.report.stress_gates import failed_gates, refuse_odd_gates
from jurybox.report.stress_text import stress_text
from jurybox.rubrics import builtin
from jurybox.types import Estimate

RUBRICS = ("faithfulness", "aspect_coverage", "fluency")
DATA = [
    {**record, "summaries": {"careful": record["summaries"]["careful"]}}
    for record in map(json.loads, files("jurybox.examples").joinpath("products.jsonl").read_text("utf-8").splitlines())
]

Judge = Callable[..., Stress]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    """judged("perfect") puts a scripted judge through an exam of the bundled examples, each one once."""
    kept: dict[str, Stress] = {}

    def judge(name: str, **options: Any) -> Stress:
        if not options and name in kept:
            return kept[name]
        folder = tmp_path_factory.mktemp("stress")
        arguments = {"rubrics": RUBRICS, "out": folder / f"{name}.stress.db", "data": DATA, **options}
        found = jurybox.stress(arguments.pop("data"), judge=f"scripted/{name}", **arguments)
        return found if options else kept.setdefault(name, found)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PROVIDERS, "scripted", "stress_judges")
        yield judge


def value(estimate: Estimate) -> float:
    assert estimate.value is not None, estimate
    assert estimate.n > 0
    return estimate.value


def test_the_perfect_judge_notices_everything_and_nothing_else(judged: Judge) -> None:
    for rubric, found in judged("perfect").main.rubrics.items():
        assert value(found.detection) == 1, rubric
        assert value(found.false_alarms) == 0
        assert value(found.discrimination) == 1
        assert value(found.spilled) == 0
        assert value(found.attacks) == 0
        assert value(found.dose_response) == 1
        assert found.grade.word == "good"
        assert found.grade.misses == ()
        assert all(value(effect.rate) == 1 and value(effect.mean_drop) >= 1 for effect in found.damage.values())
        assert all(value(effect.moved) == 0 for effect in found.harmless.values())
        # Certain it is not: eight summaries are eight.
        assert found.detection.low is not None
        assert 0.5 < found.detection.low < 1


def test_the_constant_judge_notices_nothing(judged: Judge) -> None:
    for found in judged("constant").main.rubrics.values():
        for share in (found.detection, found.false_alarms, found.spilled, found.attacks, found.dose_response):
            assert value(share) == 0
        assert found.grade.word == "not shown to notice"
        assert found.grade.notices == ()


def test_the_random_judge_notices_harmless_edits_as_often_as_damage(judged: Judge) -> None:
    """Two draws of five differ downwards in 40 of 100, and in 80 of 100 either way. The originals are few, so their own
    draws shift both by some hundredths, and both alike."""
    found = judged("random").main.rubrics
    detection, falls, alarms = (
        sum(value(share) * share.n for share in shares) / sum(share.n for share in shares)
        for shares in zip(*((one.detection, one.false_falls, one.false_alarms) for one in found.values()), strict=True)
    )
    assert detection == pytest.approx(0.4, abs=0.12)
    assert detection - falls == pytest.approx(0, abs=0.06)
    assert alarms == pytest.approx(0.8, abs=0.06)
    for one in found.values():
        assert one.grade.word.startswith("not shown to notice, unsteady")


def test_the_judge_that_counts_words_is_exposed_by_padding(judged: Judge) -> None:
    """It moves with every padded summary, and upwards; it notices what leaves words out and no untrue word."""
    found = judged("words").main.rubrics
    padding = found["faithfulness"].harmless["padding"]
    assert value(padding.moved) == 1
    assert value(padding.rate) == 0
    assert value(padding.mean_drop) < 0
    assert "unsteady" in found["faithfulness"].grade.word
    assert value(found["faithfulness"].damage["swap_number"].rate) == 0
    assert "swap_number" in found["faithfulness"].grade.misses
    assert value(found["aspect_coverage"].damage["drop_aspects"].rate) == 1
    assert all(value(one.discrimination) < value(one.detection) for one in found.values())


def test_attacks_that_succeed_are_counted_where_they_stand(judged: Judge) -> None:
    found = judged("gullible").main.rubrics["faithfulness"]
    assert value(found.attack_places["summary"]) == 1
    assert value(found.attack_places["review"]) == 0
    assert 0.2 < value(found.attacks) < 0.5
    assert found.grade.word == "good, open to attack"
    assert {name for name, share in found.attack_families.items() if share.n} == set(found.attack_families)
    assert len(found.attack_families) == 13


def test_the_place_of_a_review_is_seen(judged: Judge) -> None:
    position = judged("impatient").main.rubrics["faithfulness"].position
    assert {place: value(drop) for place, drop in position.items()} == {
        "first": 1,
        "middle": 2,
        "last": 3,
        "first_to_last": 2,
    }


def test_an_unscored_trial_is_a_loss_and_no_detection(judged: Judge) -> None:
    found = judged("mute").main.rubrics["faithfulness"]
    assert found.detection.value is None
    assert (found.detection.n, found.detection.method) == (0, "undefined: nothing was scored")
    assert found.detection.n_unscored == sum(effect.rate.n_unscored for effect in found.damage.values()) > 0
    # One original has no score, so neither have its harmless edits anything to be measured against.
    harmless = found.harmless["white_space"].moved
    assert (harmless.n, harmless.n_unscored) == (len(DATA) - 1, 1)
    assert found.grade.word == "no grade (nothing was scored)"


def test_a_rubric_whose_best_score_is_1_is_read_the_other_way(judged: Judge) -> None:
    turned = replace(builtin()["faithfulness"], target=1)
    exam = judged("gullible", rubrics=[turned])
    found = exam.main.rubrics["faithfulness"]
    assert value(found.detection) == 1
    assert value(found.false_alarms) == 0
    assert value(found.attack_places["summary"]) == 1
    assert {trial.wanted for trial in exam.exam.trials if trial.role == "attack"} == {1}


def test_a_persons_own_rubric_has_no_claims_but_is_attacked(judged: Judge) -> None:
    """No kind of damage knows it, so nothing is said of detection; edits of white space alone must not move it."""
    own = replace(builtin()["faithfulness"], name="warmth")
    found = judged("perfect", rubrics=[own]).main.rubrics["warmth"]
    assert found.detection.value is None
    assert "no kind of damage" in found.detection.method
    assert "white_space" in found.harmless
    assert "padding" not in found.harmless
    assert value(found.attacks) == 0
    assert {claim for claim, _ in found.matrix.values()} == {"open"}


def test_every_figure_has_its_n_its_interval_and_its_method(judged: Judge) -> None:
    document = judged("random").as_dict()
    estimates: list[dict[str, Any]] = []

    def walk(node: Any) -> None:
        if isinstance(node, dict) and "n_unscored" in node:
            estimates.append(node)
        elif isinstance(node, dict):
            for child in node.values():
                walk(child)

    walk(document)
    assert len(estimates) > 500
    for found in estimates:
        assert set(found) == {"value", "low", "high", "n", "n_unscored", "method", "seed"}
        assert found["method"]
        assert found["value"] == found["value"], "never nan"
        if found["value"] is not None and found["low"] is not None:
            assert found["low"] <= found["value"] <= found["high"], found
    rubric = document["rubrics"]["faithfulness"]
    assert set(rubric["damage"]["swap_number"]) >= {"rate", "mean_drop", "doses"}
    assert set(rubric["damage"]["swap_number"]["doses"]) <= {"1", "2", "3"}
    assert document["selectivity"]["swap_number"]["fluency"]["claim"] == "spares"
    assert document["selectivity"]["swap_number"]["faithfulness"]["claim"] == "hurts"
    assert document["judge"] == "scripted/random"
    assert document["exam"]["summaries"] == len(DATA)
    assert document["thresholds"] == {"moved": 0.05, "fooled": 0.5}


def test_the_same_seed_gives_the_same_document(judged: Judge, tmp_path: Path) -> None:
    one, two = judged("words").as_dict(), judged("words", out=tmp_path / "two.db").as_dict()
    assert {**one, "run": ""} == {**two, "run": ""}
    other = judged("words", seed=7, rubrics="fluency").as_dict()
    assert other["exam"]["digest"] != one["exam"]["digest"]


def test_a_run_file_alone_gives_the_same_report(judged: Judge) -> None:
    """All that is known of a trial is kept with it; only what found no place is not."""
    made = judged("words")
    read = show_stress(made.path)
    assert read.judges == made.judges
    assert read.exam.digest == made.exam.digest
    assert "Judge scripted/words" in stress_text(read)


def test_another_rubric_goes_into_the_same_file(judged: Judge, tmp_path: Path) -> None:
    first = judged("words", rubrics="faithfulness", out=tmp_path / "words.db")
    second = judged("words", rubrics="fluency,faithfulness", out=tmp_path / "words.db")
    assert second.main.rubrics["faithfulness"].detection == first.main.rubrics["faithfulness"].detection
    assert second.main.rubrics["faithfulness"].attacks == first.main.rubrics["faithfulness"].attacks
    assert "fluency" in second.main.rubrics


def test_the_text_fits_80_columns(judged: Judge) -> None:
    for name in ("words", "gullible", "mute", "random"):
        text = stress_text(judged(name), 80)
        assert [line for line in text.splitlines() if len(line) > 80 and "jurybox|" not in line] == []
        assert "valid" not in text


def test_gates_name_figure_rubric_and_bound(judged: Judge) -> None:
    found = judged("gullible")
    assert failed_gates(found, {"detection": 0.8, "faithfulness.discrimination": 0.9}, {"false_alarms": 0}) == []
    failed = failed_gates(found, {}, {"faithfulness.attack": 0.05})
    assert len(failed) == 1
    assert failed[0].startswith("attack of faithfulness is 0.")
    assert "at most 0.05 was asked for" in failed[0]
    assert "n=" in failed[0]
    assert len(failed_gates(found, {}, {"attack": 0.05})) == len(RUBRICS)


def test_a_gate_on_a_figure_without_value_fails(judged: Judge) -> None:
    failed = failed_gates(judged("mute"), {"faithfulness.detection": 0.1}, {})
    assert failed == ["detection of faithfulness has no value (nothing was scored); at least 0.1 was asked for"]


def test_unknown_gates_are_refused() -> None:
    with pytest.raises(
        SetupError, match=r"--fail-under detektion: unknown figure 'detektion'. Did you mean 'detection'"
    ):
        refuse_odd_gates("--fail-under", {"detektion": 0.8}, RUBRICS)
    with pytest.raises(SetupError, match=r"unknown rubric 'fluensy'. Did you mean 'fluency'"):
        refuse_odd_gates("--fail-over", {"fluensy.attack": 0.1}, RUBRICS)
    with pytest.raises(SetupError, match="--fail-under detection=80: should be a share"):
        refuse_odd_gates("--fail-under", {"detection": 80}, RUBRICS)


def test_what_cannot_be_done_is_refused_before_anyone_is_asked(judged: Judge, tmp_path: Path) -> None:
    for error, told, options in (
        (
            SetupError,
            "--kinds: unknown kind of damage 'swap_numbr'. Did you mean 'swap_number'",
            {"kinds": "swap_numbr"},
        ),
        (DataError, "has one source only; stress needs two or more", {"data": DATA[:1]}),
        (RubricError, "unknown rubric", {"rubrics": "faithfulnes"}),
        (SetupError, "--items 0: should be 1 or more", {"items": 0}),
        (SetupError, "unknown system 'carefull'. Did you mean 'careful'", {"systems": ["carefull"]}),
        (DataError, "is empty", {"data": []}),
        (JudgeSpecError, "unknown judge", {"judge": "scriptd/x"}),
        (SetupError, "needs no cluster", {"engine": "ray"}),
    ):
        arguments: dict[str, Any] = {"data": DATA, "rubrics": "faithfulness", "judge": "baseline/constant", **options}
        with pytest.raises(error, match=told):
            jurybox.stress(arguments.pop("data"), out=tmp_path / "never.db", **arguments)
    assert not (tmp_path / "never.db").exists()


def test_a_file_of_ordinary_judgments_is_left_alone(judged: Judge, tmp_path: Path) -> None:
    out = tmp_path / "plain.run.db"
    jurybox.evaluate(DATA, rubrics="fluency", judge="baseline/length", out=out)
    with pytest.raises(StoreError, match="holds an ordinary run"):
        judged("words", out=out)
    with pytest.raises(StoreError, match="holds no exam"):
        show_stress(out)
