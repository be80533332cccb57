"""`agree` on real run files: its shape, its verdict, whom it is about, and what it refuses or calls undefined."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest

from conftest import Command, Evaluate, WriteItems
from jurybox.api import agreeing, duels
from jurybox.errors import SetupError, StoreError
from jurybox.report.agree import Agreement
from jurybox.report.agree_text import agreement_text
from jurybox.stats.agreement import Level
from server import Answer, Request, completion, mark

DEV = Path(__file__).parents[2] / "shared" / "data" / "summeval_op_dev.jsonl"
ESTIMATE = {"value", "low", "high", "n", "n_unscored", "method", "seed"}
SOURCES, SYSTEMS = 14, 6
Rate = Callable[[int, int], Any]


def records(rate: Rate, sources: int = SOURCES, systems: int = SYSTEMS) -> list[dict[str, Any]]:
    """Summaries of 5 to 44 words, rated by a rule of (source, system); None is not rated."""
    rng = random.Random(0)
    found = []
    for source in range(sources):
        for system in range(systems):
            words = " ".join(["word"] * rng.randint(2, 40))
            ratings = rate(source, system)
            found.append(
                {
                    "id": f"s{source}",
                    "system": f"m{system}",
                    "summary": f"{words} {mark(source * systems + system)}",
                    "reviews": ["Boils fast word.", "The lid sticks."],
                    **({} if ratings is None else {"human": {"fluency": ratings}}),
                }
            )
    return found


def noisy(seed: int = 1) -> Rate:
    """Three raters around a quality of each summary that has nothing to do with its length or system."""
    rng = random.Random(seed)

    def rate(source: int, system: int) -> list[int]:
        quality = (source * 7 + system * 5) % SYSTEMS
        return [min(max(round(quality * 0.8 + 1 + rng.gauss(0, 0.4)), 1), 5) for _ in range(3)]

    return rate


def knows_people(items: list[dict[str, Any]]) -> Callable[[Request], Answer]:
    """A judge that gives people's mean, rounded."""
    means = [round(sum(item["human"]["fluency"]) / 3) for item in items]
    return lambda request: completion(f"<score>{means[request.item]}</score>")


def agree(evaluate: Evaluate, **options: Any) -> Agreement:
    return agreeing.agree(evaluate.out, **{"resamples": 200, **options})


def not_finite(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(not_finite, value.values()))
    if isinstance(value, list | tuple):
        return any(map(not_finite, value))
    return isinstance(value, float) and not math.isfinite(value)


def test_the_shape_that_other_programs_rely_on(evaluate: Evaluate, write_items: WriteItems, jurybox: Command) -> None:
    evaluate(write_items(records(noisy())), judge="baseline/length")
    done = jurybox("agree", evaluate.out, "--json", "--resamples", 100)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["rubrics"]["fluency"]
    for level in ("summary_level", "system_level", "pooled"):
        for coefficient in ("spearman", "kendall_b", "kendall_c", "pearson"):
            assert set(found[level][coefficient]) == ESTIMATE
    assert set(found["ceiling"]) == ESTIMATE
    assert set(found["alpha"]) == {"ordinal", "interval"}
    assert set(found["baselines"]) == {"length", "constant", "system", "rouge", "rouge_l"}
    assert all(set(estimate) == ESTIMATE for estimate in found["baselines"].values())
    assert found["beats_baselines"] is False
    assert set(found["intervals"]["summary_level"]["spearman"]) == {"sources", "systems", "both"}
    assert found["counts"] == {"items": 84, "unscored": 0, "sources": 14, "systems": 6, "raters": 3}
    assert found["signature"].startswith("jurybox|fluency@1:")
    assert "NaN" not in done.stdout


def test_word_count_is_not_shown_to_be_better_than_word_count(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate(write_items(records(noisy())), judge="baseline/length")
    found = agree(evaluate)
    one = found.rubrics["fluency"]
    assert one.headline.value == pytest.approx(one.trivial.baselines["length"].value)
    assert one.trivial.beaten["length"] is False
    text = agreement_text(found)
    assert "not shown to be better than word count" in text
    assert "valid" not in text


def test_a_judge_that_follows_people_beats_them_all(evaluate: Evaluate, write_items: WriteItems) -> None:
    items = records(noisy())
    evaluate.server.plan = knows_people(items)
    evaluate(write_items(items))
    found = agree(evaluate)
    one = found.rubrics["fluency"]
    assert one.trivial.beaten == dict.fromkeys(("length", "constant", "system", "rouge", "rouge_l"), True)
    assert one.beats_baselines
    assert one.standing.judge.passes
    assert "valid as far as these ratings go" in agreement_text(found)
    partial = one.trivial.partial.value
    assert partial is not None
    assert partial > 0.8, "length explains nothing here"


@pytest.mark.parametrize(
    ("systems", "said"),
    [
        (4, "95 % interval over sources: what other sources would give for these very systems"),
        (5, "95 % interval over sources and systems: what other sources and other systems like these would give"),
    ],
)
def test_with_few_systems_the_verdict_is_about_these(
    evaluate: Evaluate, write_items: WriteItems, systems: int, said: str
) -> None:
    items = records(noisy(), systems=systems)
    evaluate.server.plan = knows_people(items)
    evaluate(write_items(items))
    text = agreement_text(agree(evaluate)).replace("\n", " ")
    assert said in text
    assert ("figures and verdict hold for these systems only" in text) == (systems == 4)


def test_the_page_fits_80_columns(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate(write_items(records(noisy())), rubrics="fluency,coherence", judge=["baseline/length", "baseline/rouge"])
    text = agreement_text(agree(evaluate))
    assert [line for line in text.splitlines() if len(line) > 80 and "jurybox|" not in line] == []
    assert "coherence: left out, no human ratings of its items" in text
    assert "84 items of 14 sources and 6 systems, 3 raters" in text


def test_the_jury_is_whom_it_is_about_unless_another_is_named(evaluate: Evaluate, write_items: WriteItems) -> None:
    items = records(noisy())
    evaluate.server.plan = knows_people(items)
    evaluate(write_items(items), judge=["openai/a", "openai/b", "baseline/length"])
    found = agree(evaluate)
    assert found.judge == "jury(mean: openai/a + openai/b)"
    assert list(found.rubrics["fluency"].judges) == ["openai/a", "openai/b", "baseline/length", found.judge]
    assert agree(evaluate, judge="jury").judge == found.judge
    named = agree(evaluate, judge="baseline/length")
    assert named.judge == "baseline/length"
    assert "baseline/length" in named.signatures["fluency"]
    with pytest.raises(SetupError, match=r"unknown judge 'openai/c'\. Did you mean"):
        agree(evaluate, judge="openai/c")


def test_ratings_from_a_file_are_those_in_the_data(evaluate: Evaluate, write_items: WriteItems, tmp_path: Path) -> None:
    items = records(noisy())
    evaluate(write_items(items), judge="baseline/length")
    inside = agree(evaluate).as_dict()
    rows = ["id,system,rubric,rater,score"]
    for item in items:
        rows += [
            f"{item['id']},{item['system']},fluency,{rater},{score}"
            for rater, score in enumerate(item["human"]["fluency"], 1)
        ]
    path = tmp_path / "people.csv"
    path.write_text("\n".join([*rows, "elsewhere,m0,fluency,1,3"]), "utf-8")
    outside = agree(evaluate, human=path).as_dict()
    assert outside["human"] == str(path)
    assert outside["rubrics"] == inside["rubrics"]


def test_an_item_without_a_score_is_a_loss_and_is_counted(evaluate: Evaluate, write_items: WriteItems) -> None:
    items = records(noisy())
    right = knows_people(items)
    evaluate.server.plan = lambda request: completion("I cannot say.") if request.item == 3 else right(request)
    evaluate(write_items(items), reasks=0)
    found = agree(evaluate)
    assert (found.rubrics["fluency"].counts.items, found.rubrics["fluency"].counts.unscored) == (83, 1)
    assert "1 rated items have no score" in agreement_text(found)


@pytest.mark.parametrize(
    ("rate", "sources", "systems", "undefined"),
    [
        (lambda s, m: [(s * m) % 5 + 1], 6, 6, "ceiling"),
        (lambda s, m: [1 + s % 5, 2, 3], 6, 1, "headline"),
        (lambda s, m: [1 + m % 5, 2, 3], 1, 6, ""),
        (lambda s, m: [4, 4, 4], 6, 6, "headline"),
        (lambda s, m: {"a": 1 + (s + m) % 5} if (s * m) % 3 else ({"b": 2} if m % 2 else {}), 8, 6, ""),
        (lambda s, m: [3, 4], 1, 1, "headline"),
    ],
    ids=["one rater", "one system", "one source", "all ties", "missing cells", "one item"],
)
def test_thin_data_are_undefined_and_never_nan(
    evaluate: Evaluate, write_items: WriteItems, rate: Rate, sources: int, systems: int, undefined: str
) -> None:
    evaluate(write_items(records(rate, sources, systems)), judge="baseline/length")
    found = agree(evaluate)
    assert not not_finite(found.as_dict())
    assert "nan" not in agreement_text(found)
    if undefined:
        estimate = getattr(found.rubrics["fluency"], undefined)
        assert estimate.value is None
        assert estimate.method.startswith("undefined: ")
    assert not found.rubrics["fluency"].beats_baselines


def test_a_constant_judge_has_no_figure_and_beats_nobody(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate(write_items(records(noisy())), judge="baseline/constant")
    found = agree(evaluate)
    assert found.rubrics["fluency"].headline.value is None
    assert found.rubrics["fluency"].beats_baselines is False
    assert "no figure: the judge gave all summaries of a source the same" in agreement_text(found).replace(
        "\n           ", " "
    )


@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        (None, "holds no human ratings"),
        ("zz,m0,fluency,a,3", "have no item in common; items are joined by id and system"),
        ("s0,m0,fluensy,a,3", r"are of other rubrics \(fluensy\) than .* has \(fluency\)"),
        ("s0,m0,fluency,a,7", "1 of 1 are off the scale 1-5; the first is 7 for id 's0', system 'm0'"),
    ],
)
def test_nothing_to_compare_is_a_clear_message(
    evaluate: Evaluate, write_items: WriteItems, tmp_path: Path, ratings: str | None, message: str
) -> None:
    evaluate(write_items(records(lambda s, m: None, 2, 2)), judge="baseline/length")
    path = None
    if ratings is not None:
        path = tmp_path / "people.csv"
        path.write_text(f"id,system,rubric,rater,score\n{ratings}\n", "utf-8")
    with pytest.raises(SetupError, match=message):
        agree(evaluate, human=path)


def test_duels_are_refused(evaluate: Evaluate, write_items: WriteItems, tmp_path: Path) -> None:
    out = tmp_path / "duel.db"
    duels.duel(write_items(records(noisy(), 2, 2)), ["m0", "m1"], rubrics="fluency", judge="baseline/length", out=out)
    with pytest.raises(StoreError, match="holds duels"):
        agreeing.agree(out)


@pytest.mark.skipif(not DEV.exists(), reason="the development data are not here")
def test_word_count_on_the_development_data(evaluate: Evaluate) -> None:
    """Word count reaches the headline of published prompts, passes the alternative-annotator test on every rubric once
    it has people's scale, and is not called valid for it."""
    evaluate(DEV, rubrics="product-opinion", judge="baseline/length")
    found = agree(evaluate)
    values = [one.headline.value or 0.0 for one in found.rubrics.values()]
    assert len(values) == 7
    assert np.mean(values) == pytest.approx(0.70, abs=0.005)
    assert all("length" in one.standing.trivial_too for one in found.rubrics.values())
    assert not any(one.beats_baselines for one in found.rubrics.values())
    text = agreement_text(found)
    assert "Not shown to be better than word\ncount on 7" in text
    assert "Warning: where a trivial judge passes this test too" in text
    assert "valid" not in text


@pytest.mark.skipif(not DEV.exists(), reason="the development data are not here")
@pytest.mark.parametrize("level", ["ordinal", "interval"])
def test_people_agree_among_themselves_as_the_krippendorff_package_says(evaluate: Evaluate, level: Level) -> None:
    evaluate(DEV, rubrics="product-opinion", judge="baseline/constant")
    found = agree(evaluate)
    items = [json.loads(line) for line in DEV.read_text("utf-8").splitlines()]
    for rubric, one in found.rubrics.items():
        table = np.array([item["human"][rubric] for item in items], dtype=float).T
        expected = krippendorff.alpha(reliability_data=table, level_of_measurement=level)
        assert one.alpha[level].value == pytest.approx(expected, abs=1e-9)
