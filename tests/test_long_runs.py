"""Material that a judge cannot hold: refused before the call, or shown in part as asked; what was shown is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conftest import Command, Evaluate, WriteItems, item
from jurybox.errors import SetupError, StoreError
from jurybox.runner import LONGS
from jurybox.store import RunReader
from jurybox.types import Judgment
from server import JudgeServer, body, error

REVIEWS = [
    f"Review number {n}: the kettle boils {'fast' if n % 3 else 'slowly'} and the lid sticks." for n in range(900)
]


def long_item(number: int = 0, **more: Any) -> dict[str, Any]:
    return item(number, reviews=REVIEWS, **more)


def only(path: Path) -> Judgment:
    with RunReader(path) as reader:
        (judgment,) = reader.judgments()
    return judgment


def test_by_default_nothing_is_sent_and_the_status_names_tokens_and_limit(evaluate: Evaluate) -> None:
    run = evaluate([long_item()], rubrics="faithfulness", context=8000)
    judgment = only(run.path)
    assert evaluate.server.requests == []
    assert judgment.verdict.status == "unsupported"
    assert "about 1" in judgment.verdict.reason
    assert "more than the 8,000 that openai/judge-1 can hold" in judgment.verdict.reason
    assert "--long sample" in judgment.verdict.reason


def test_a_short_item_beside_it_is_judged_as_ever(evaluate: Evaluate) -> None:
    run = evaluate([long_item(0), item(1)], rubrics="faithfulness", context=8000)
    with RunReader(run.path) as reader:
        assert [judgment.verdict.status for judgment in reader.judgments()] == ["unsupported", "scored"]


@pytest.mark.parametrize(("answer", "room"), [("tag", "1,024"), ("digit", "16")])
def test_a_bare_digit_needs_little_room(evaluate: Evaluate, answer: str, room: str) -> None:
    run = evaluate([long_item()], rubrics="faithfulness", context=8000, answer=answer)
    assert f"with {room} for the answer" in only(run.path).verdict.reason


def test_a_sample_fits_is_the_same_for_every_system_and_is_kept_with_its_error(evaluate: Evaluate) -> None:
    run = evaluate(
        [long_item(0), long_item(1, id="p0", system="other")], rubrics="faithfulness", context=8000, long="sample"
    )
    assert all(len(request.user) / 4 < 8000 for request in evaluate.server.requests)
    with RunReader(run.path) as reader:
        first, second = reader.judgments()
    assert first.shown is not None
    part = first.shown["parts"]["reviews"]
    assert part["of"] == 900
    assert 100 < len(part["shown"]) < 900
    assert 0 < part["error"] < 0.1
    assert second.shown == first.shown
    shown = {n for n in range(900) if f"Review number {n}: " in evaluate.server.requests[0].user}
    assert shown == set(part["shown"]), "what is kept is what was sent"
    assert "random sample of" in evaluate.server.requests[0].user


def test_another_seed_is_another_sample(evaluate: Evaluate, tmp_path: Path) -> None:
    options: dict[str, Any] = {"rubrics": "faithfulness", "context": 8000, "long": "sample"}
    one = only(evaluate([long_item()], seed=1, **options).path).shown
    two = only(evaluate([long_item()], seed=2, out=tmp_path / "two.db", **options).path).shown
    assert one is not None
    assert two is not None
    assert one["parts"]["reviews"]["shown"] != two["parts"]["reviews"]["shown"]


def test_an_extract_counts_over_all_reviews_for_coverage_and_finds_passages_for_faithfulness(
    evaluate: Evaluate,
) -> None:
    run = evaluate([long_item()], rubrics="faithfulness,aspect_coverage", context=8000, long="extract")
    with RunReader(run.path) as reader:
        shown = {judgment.rubric: judgment.shown for judgment in reader.judgments()}
    faithful, coverage = shown["faithfulness"], shown["aspect_coverage"]
    assert faithful is not None
    assert coverage is not None
    assert faithful["parts"]["reviews"]["way"] == "passages"
    assert coverage["parts"]["reviews"]["way"] == "counts"
    asked = next(request.user for request in evaluate.server.requests if "Aspect Coverage" in request.titles)
    assert "900" in asked, "counts are over all of them"


def test_what_was_too_long_is_judged_by_the_same_command_once_it_may_be_shown_less(evaluate: Evaluate) -> None:
    evaluate([long_item()], rubrics="faithfulness", context=8000)
    evaluate([long_item()], rubrics="faithfulness", context=8000)
    assert evaluate.server.requests == []
    run = evaluate([long_item()], rubrics="faithfulness", context=8000, long="sample")
    assert only(run.path).verdict.status == "scored"


def test_how_material_was_shortened_stands_in_the_signature_and_does_not_change_within_a_file(
    evaluate: Evaluate,
) -> None:
    options: dict[str, Any] = {"rubrics": "faithfulness", "context": 8000}
    run = evaluate([long_item()], **options, long="sample")
    with RunReader(run.path) as reader:
        assert "|classic+sample|" in next(reader.judgments()).signature
        assert reader.spent()["calls"] == 1
    with pytest.raises(StoreError, match="with long sample, and now it is extract"):
        evaluate([long_item(), item(1)], **options, long="extract")


def test_what_was_never_sent_is_no_call(evaluate: Evaluate) -> None:
    run = evaluate([long_item(0), item(1)], rubrics="faithfulness", context=8000)
    assert run.show().spent["calls"] == 1


def test_a_summary_that_is_too_long_by_itself_is_never_cut(evaluate: Evaluate) -> None:
    run = evaluate([item(0, summary="word " * 9000)], rubrics="fluency", context=8000, long="sample")
    verdict = only(run.path).verdict
    assert verdict.status == "unsupported"
    assert "--long sample cannot help" in verdict.reason
    assert evaluate.server.requests == []


def test_a_server_that_says_it_is_too_long_costs_one_item_not_the_run(evaluate: Evaluate) -> None:
    said = "This model's maximum context length is 4096 tokens, however you requested 9000 tokens"
    evaluate.server.plan = lambda request: error(400, said, "context_length_exceeded") if request.item == 0 else None
    run = evaluate([item(0), item(1)], concurrency=1)
    with RunReader(run.path) as reader:
        first, second = reader.judgments()
    assert (first.verdict.status, second.verdict.status) == ("unsupported", "scored")
    assert "4096" in first.verdict.reason


def test_a_server_that_tells_its_context_is_asked_for_it_before_the_first_long_prompt(evaluate: Evaluate) -> None:
    models = body('{"object": "list", "data": [{"id": "judge-1", "max_model_len": 8000}]}')
    evaluate.server.plan = lambda request: models if request.path.endswith("/models") else None
    run = evaluate([long_item()], rubrics="faithfulness")
    assert only(run.path).verdict.status == "unsupported"
    assert [request.path for request in evaluate.server.requests] == ["/v1/models"]


def test_a_plan_says_how_many_would_be_refused(jurybox: Command, server: JudgeServer, write_items: WriteItems) -> None:
    data = write_items([long_item(0), item(1)])
    words = ("plan", data, "--rubrics", "faithfulness", "--judge", "openai/m", "--base-url", server.base_url)
    assert "1 would be refused: see --long" in jurybox(*words, "--context", 8000).stdout
    assert "would be refused" not in jurybox(*words, "--context", 8000, "--long", "sample").stdout


def test_an_unknown_way_is_refused(evaluate: Evaluate) -> None:
    with pytest.raises(SetupError, match=f"--long.*{', '.join(sorted(LONGS))}"):
        evaluate([item(0)], long="cut")
