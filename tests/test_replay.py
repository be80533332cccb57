"""Judges that ask nobody: the replies of an earlier run, and the baselines that every judge must beat."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from rouge_score import rouge_scorer

import server as answers
from conftest import Evaluate, WriteItems, assert_right, item
from jurybox.api import Run
from jurybox.errors import StoreError
from jurybox.judges import Settings, make_judge
from jurybox.judges.baselines import rouge_1
from jurybox.types import Item, Prompt, Question, Rubric, Verdict

RUBRIC = Rubric(name="fluency", title="Fluency")


def verdicts(run: Run) -> dict[tuple[str, str, int], Verdict]:
    return {(judgment.id, judgment.rubric, judgment.sample): judgment.verdict for judgment in run.judgments()}


# Replay


def test_replay_gives_the_same_verdicts_at_no_request(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate.server.plan = lambda request: answers.completion("Nice kettle.") if request.item == 0 else None
    data = write_items(4)
    first = evaluate(data, "fluency,coherence", samples=2)
    asked = len(evaluate.server.requests)
    replayed = evaluate(
        data, "fluency,coherence", f"replay/{evaluate.out}", samples=2, out=evaluate.out.with_name("second.db")
    )
    assert verdicts(replayed) == verdicts(first)
    assert len(evaluate.server.requests) == asked
    assert replayed.tally is not None
    assert replayed.tally.cost == replayed.tally.unpriced == 0


def test_replay_can_be_read_anew_with_other_patience(evaluate: Evaluate) -> None:
    """The model that answered is still named; only the judge is another."""
    evaluate([item(0)])
    run = evaluate([item(0)], judge=f"replay/{evaluate.out}", out=evaluate.out.with_name("second.db"), reasks=0)
    (judgment,) = run.judgments()
    assert judgment.reply is not None
    assert judgment.reply.model == "judge-1"
    assert judgment.judge == f"replay/{evaluate.out}"


def test_a_prompt_that_was_never_asked_is_failed_with_the_reason(evaluate: Evaluate) -> None:
    evaluate([item(0)])
    run = evaluate([item(0), item(1)], judge=f"replay/{evaluate.out}", out=evaluate.out.with_name("second.db"))
    found = verdicts(run)
    assert found["p0", "fluency", 1].status == "scored"
    assert found["p1", "fluency", 1].status == "failed"
    assert "holds no reply to this prompt (sample 1)" in found["p1", "fluency", 1].reason


def test_a_call_that_failed_then_is_no_reply_now(evaluate: Evaluate) -> None:
    evaluate.server.always(answers.error(500))
    evaluate([item(0)], retries=0)
    run = evaluate([item(0)], judge=f"replay/{evaluate.out}", out=evaluate.out.with_name("second.db"))
    assert [verdict.status for verdict in verdicts(run).values()] == ["failed"]


def test_of_several_judges_one_must_be_named(evaluate: Evaluate) -> None:
    evaluate([item(0)], judge=["openai/judge-1", "openai/judge-2", "baseline/length"])
    second: dict[str, Any] = {"out": evaluate.out.with_name("second.db")}
    with pytest.raises(StoreError, match=r"replies of 2 judges; name one with replay/.*#JUDGE.*openai/judge-2"):
        evaluate([item(0)], judge=f"replay/{evaluate.out}", **second)
    with pytest.raises(StoreError, match="Did you mean 'openai/judge-2'"):
        evaluate([item(0)], judge=f"replay/{evaluate.out}#openai/judge-3", **second)
    evaluate([item(0)], judge=f"replay/{evaluate.out}#openai/judge-2", **second)
    assert len(assert_right(second["out"])) == 1


def test_a_baseline_beside_the_judge_needs_no_name(evaluate: Evaluate) -> None:
    evaluate([item(0)], judge=["baseline/length", "openai/judge-1"])
    evaluate([item(0)], judge=f"replay/{evaluate.out}", out=evaluate.out.with_name("second.db"))
    assert len(assert_right(evaluate.out.with_name("second.db"))) == 1


def test_replay_needs_a_run_file(evaluate: Evaluate, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no such run file"):
        evaluate([item(0)], judge=f"replay/{tmp_path / 'none.db'}")
    assert not evaluate.out.exists()


# Baselines


def verdict(name: str, judged: Item, *others: Item) -> Verdict:
    judge = make_judge(f"baseline/{name}", Settings())
    for seen in (judged, *others):
        judge.observe(seen)
    reply = asyncio.run(judge.ask(Question(judged, (RUBRIC,), Prompt(""), "tag")))
    assert reply.verdicts is not None
    return reply.verdicts["fluency"]


def summary(text: str, system: str = "base", source: dict[str, Any] | None = None, **human: float) -> Item:
    ratings = {"fluency": dict(human)} if human else {}
    return Item(text, system, text, source or {}, ratings)


def test_constant_always_says_the_middle() -> None:
    assert verdict("constant", summary("short")).score == verdict("constant", summary("a longer one")).score == 3


def test_length_only_counts_words() -> None:
    scores = [verdict("length", summary("word " * count)).score for count in (1, 10, 100, 10_000)]
    assert scores == sorted(set(filter(None, scores)))
    assert verdict("length", summary("word " * 60)).score == pytest.approx(3.0)


def test_system_is_the_mean_rating_of_the_systems_other_summaries() -> None:
    judged, other = summary("one", ann=5, bob=4), summary("two", ann=1, bob=2)
    foreign = summary("three", "another", ann=4)
    assert verdict("system", judged, other, foreign).score == pytest.approx(1.5)


def test_system_without_other_ratings_is_unsupported() -> None:
    assert verdict("system", summary("one", ann=5)).status == "unsupported"
    assert verdict("system", summary("one"), summary("two", "another", ann=5)).status == "unsupported"


def test_rouge_needs_a_source() -> None:
    assert verdict("rouge", summary("one")).status == "unsupported"
    assert verdict("rouge", summary("it boils fast", source={"description": "It boils fast."})).score == 5
    assert verdict("rouge", summary("no word", source={"description": "It boils fast."})).score == 1


@pytest.mark.parametrize(
    ("candidate", "reference"),
    [
        ("the lid sticks and the lid leaks", "The lid sticks. It leaks."),
        ("boils 1.7 litres", "It boils 1.7 l in 3 min"),
        ("nothing", "shared"),
        ("same", "same"),
    ],
)
def test_rouge_agrees_with_googles(candidate: str, reference: str) -> None:
    """google-research/rouge (rouge_score 0.1.2), ROUGE-1 without stemming."""
    theirs = rouge_scorer.RougeScorer(["rouge1"], use_stemmer=False).score(reference, candidate)["rouge1"].fmeasure
    assert rouge_1(candidate, reference) == pytest.approx(theirs)


def test_baselines_are_judged_anew_and_ask_nobody(evaluate: Evaluate, write_items: WriteItems) -> None:
    names = ["length", "constant", "rouge", "system"]
    for _ in range(2):
        run = evaluate(write_items(3), judge=[f"baseline/{name}" for name in names])
    statuses = {judgment.judge: judgment.verdict.status for judgment in run.judgments()}
    assert statuses == {
        "baseline/length": "scored",
        "baseline/constant": "scored",
        "baseline/rouge": "scored",
        "baseline/system": "unsupported",
    }
    assert len(list(run.judgments())) == 12
    assert not evaluate.server.requests
