"""Baselines compute exactly what they say, and say so when they cannot."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from jurybox.data import Dataset
from jurybox.errors import JudgeSpecError
from jurybox.judges import Judge, Settings, make_judge
from jurybox.judges.baselines import BASELINES, rouge_1, rouge_l
from jurybox.judges.prices import Price, price_of
from jurybox.rubrics import load
from jurybox.types import Item, Prompt, Question, Reply, Review, Verdict

FLUENCY = load(["fluency"])


def verdict(judge: Judge, item: Item) -> Verdict:
    reply = asyncio.run(judge.ask(Question(item, FLUENCY, Prompt(""), "tag")))
    assert reply.verdicts is not None
    return reply.verdicts["fluency"]


def make(name: str) -> Judge:
    return make_judge(f"baseline/{name}", Settings())


def item(summary: str = "s", system: str = "a", **more: Any) -> Item:
    return Item("1", system, summary, more.pop("source", {}), **more)


ROUGE_SCORE = RougeScorer(["rouge1", "rougeL"], use_stemmer=False)
PAIRS = [
    ("the cat sat on the mat", "the the the cat"),
    ("It's GREAT, 10/10!", "great: it s 10 of 10"),
    ("nothing shared", "at all"),
    ("", "reference"),
    ("naïve café – ｆｕｌｌ", "naive cafe full na ve"),
    ("under_score and-hyphen", "under score and hyphen"),
]
EXAMPLES = [
    (example.summary, "\n".join(review.text for review in example.source["reviews"]))
    for example in Dataset(Path(str(files("jurybox.examples").joinpath("products.jsonl"))))
]


@pytest.mark.parametrize(("candidate", "reference"), [*PAIRS, *EXAMPLES])
def test_rouge_1_agrees_with_the_rouge_score_package(candidate: str, reference: str) -> None:
    """google-research/rouge, which cites the Perl original."""
    expected = ROUGE_SCORE.score(reference, candidate)["rouge1"].fmeasure
    assert rouge_1(candidate, reference) == pytest.approx(expected, abs=1e-12)


@given(st.text(max_size=60), st.text(max_size=60))
def test_rouge_1_agrees_with_the_rouge_score_package_on_any_text(candidate: str, reference: str) -> None:
    expected = ROUGE_SCORE.score(reference, candidate)["rouge1"].fmeasure
    assert rouge_1(candidate, reference) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("candidate", "reference"),
    [*PAIRS, *EXAMPLES, ("the mat the cat sat on", "the cat sat on the mat"), ("a b c " * 90, "c b a x " * 400)],
)
def test_rouge_l_agrees_with_the_rouge_score_package(candidate: str, reference: str) -> None:
    """Word order counts, and more than 64 words on both sides: one word of the machine does not hold them."""
    expected = ROUGE_SCORE.score(reference, candidate)["rougeL"].fmeasure
    assert rouge_l(candidate, reference) == pytest.approx(expected, abs=1e-12)


@given(st.text("abc ", max_size=90), st.text("abc ", max_size=90))
def test_rouge_l_agrees_with_the_rouge_score_package_on_any_words(candidate: str, reference: str) -> None:
    expected = ROUGE_SCORE.score(reference, candidate)["rougeL"].fmeasure
    assert rouge_l(candidate, reference) == pytest.approx(expected, abs=1e-12)


def test_rouge_l_is_a_judge_beside_rouge() -> None:
    source = {"reviews": (Review("boils fast"), Review("lid sticks"))}
    summary = "sticks fast boils lid"
    assert verdict(make("rouge"), item(summary, source=source)).score == pytest.approx(5)
    found = verdict(make("rouge-l"), item(summary, source=source))
    assert found.score == pytest.approx(1 + 4 * 2 / 4), "fast lid, or boils lid: two of four words stand in order"
    assert found.reason == "ROUGE-L against the source"
    assert verdict(make("rouge-l"), item(source={"question": "why?"})).status == "unsupported"


def test_rouge_reads_the_material_and_only_its_own_words() -> None:
    """Neither the question nor the words we show beside a rating are source."""
    source = {
        "reviews": (Review("boils fast", 5), Review("lid sticks")),
        "question": "really?",
        "key_features": ("red",),
    }
    found = verdict(make("rouge"), item("boils fast rating really red", source=source))
    assert found.score == pytest.approx(1 + 4 * rouge_1("boils fast rating really red", "red boils fast lid sticks"))


def test_rouge_without_source_is_unsupported() -> None:
    assert verdict(make("rouge"), item(source={"question": "why?"})).status == "unsupported"


def test_length_grows_with_every_word_and_stays_on_the_scale() -> None:
    scores = [verdict(make("length"), item("word " * words)).score or 0 for words in range(1, 400)]
    assert all(shorter < longer for shorter, longer in pairwise(scores))
    assert scores[0] > 1
    assert scores[-1] < 5
    assert scores[59] == pytest.approx(3), "sixty words are half way up"


def test_constant_says_the_middle_to_everything() -> None:
    judge = make("constant")
    assert {verdict(judge, item(summary)).score for summary in ("", "a", "b " * 500)} == {3.0}


def test_system_is_the_mean_rating_of_the_systems_other_summaries() -> None:
    judge = make("system")
    given = {"1": [4, 5], "2": [2], "3": [3, 3]}
    rated = [
        Item(number, "a", "s", {}, {"fluency": {str(rater): float(score) for rater, score in enumerate(scores)}})
        for number, scores in given.items()
    ]
    for each in (*rated, item(system="b", human={"fluency": {"ann": 1.0}})):
        judge.observe(each)
    # Own rating left out: (2 + 3) / 2, (4.5 + 3) / 2, (4.5 + 2) / 2; an unrated summary gets the mean of all three.
    found = [verdict(judge, each).score for each in (*rated, Item("4", "a", "s", {}))]
    assert found == pytest.approx([2.5, 3.75, 3.25, 9.5 / 3])


@pytest.mark.parametrize("human", [{}, {"coherence": {"ann": 4.0}}, {"fluency": {"ann": 4.0}}])
def test_system_without_other_ratings_is_unsupported(human: Any) -> None:
    judge = make("system")
    judge.observe(item(human=human))
    found = verdict(judge, item(human=human))
    assert (found.status, found.score) == ("unsupported", None)
    assert "no human ratings of other summaries by 'a'" in found.reason


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_costs_nothing(name: str) -> None:
    judge = make(name)
    assert judge.computed
    assert judge.cost(Reply("")) == 0.0


def test_an_unknown_baseline_names_the_nearest() -> None:
    with pytest.raises(
        JudgeSpecError, match=r"--judge baseline/lenght: unknown baseline 'lenght'\. Did you mean 'length'"
    ):
        make("lenght")


def exported_rows(folder: Path, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What `baseline/system` says of fluency, through the real command line."""
    (folder / "d.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    for words in (
        ("run", "d.jsonl", "--rubrics", "fluency", "--judge", "baseline/system", "--out", "run.db"),
        ("export", "run.db", "--to", "rows.jsonl"),
    ):
        subprocess.run([sys.executable, "-m", "jurybox", *words], cwd=folder, check=True, capture_output=True)
    return [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]


def test_the_system_baseline_sees_all_ratings_before_its_first_verdict(tmp_path: Path) -> None:
    """Ratings of the last item count for the first."""
    rated = [{"id": n, "system": "a", "summary": f"summary {n}", "human": {"fluency": [n]}} for n in (1, 2, 5)]
    rows = exported_rows(tmp_path, rated)
    assert {row["id"]: row["score"] for row in rows} == {"1": 3.5, "2": 3.0, "5": 1.5}


def test_summaries_that_read_the_same_keep_verdicts_and_reasons_of_their_own(tmp_path: Path) -> None:
    """A computed verdict is about the item, so one that looks the same in a prompt must not lend it its reply."""
    rated = [
        {"id": n, "system": system, "summary": "the same", "human": {"fluency": [score]}}
        for n in (1, 2)
        for system, score in (("a", 2), ("b", 5))
    ]
    rows = exported_rows(tmp_path, rated)
    assert {(row["system"], row["score"]) for row in rows} == {("a", 2.0), ("b", 5.0)}
    for row in rows:
        assert row["reason"] == f"mean rating of 1 other summaries by '{row['system']}'"
        assert row["reason"] in row["reply"]


@pytest.mark.parametrize(
    ("host", "model", "known"),
    [
        ("api.openai.com", "gpt-4o", True),
        ("api.openai.com", "gpt-4o-2024-08-06", True),
        ("api.openai.com", "gpt-unheard-of", False),
        ("127.0.0.1", "gpt-4o", False),
    ],
)
def test_a_price_counts_only_where_it_was_published(host: str, model: str, known: bool) -> None:
    assert (price_of("openai", host, model) is not None) == known


def test_a_price_counts_cached_tokens_apart_and_unknown_tokens_not_at_all() -> None:
    price = Price(2.0, 0.5, 10.0)
    assert price.of(Reply("", tokens_in=1_000_000, tokens_out=100_000, tokens_cached=400_000)) == pytest.approx(2.4)
    assert price.of(Reply("", tokens_in=5)) is None
