"""Several answers to one question: in one request where the server can, and as many as their mean needs."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conftest import Command, Evaluate, WriteItems, item
from jurybox.errors import SetupError
from jurybox.runner import Until
from jurybox.runner.keeping import Judged
from jurybox.runner.samples import enough
from jurybox.store import RunReader
from server import Answer, JudgeServer, Request, body, completion, error


def several(*scores: int) -> str:
    """A chat completion with one choice a score."""
    choices = [
        {
            "index": n,
            "message": {"role": "assistant", "content": f"Score- <score>{score}</score>"},
            "finish_reason": "stop",
        }
        for n, score in enumerate(scores)
    ]
    usage = {"prompt_tokens": 100, "completion_tokens": 7 * len(scores) + 1}
    return json.dumps({"model": "judge-1", "choices": choices, "usage": usage})


def scores(path: Path) -> dict[int, float | None]:
    with RunReader(path) as reader:
        return {judgment.sample: judgment.verdict.score for judgment in reader.judgments()}


def test_one_request_brings_all_samples_where_the_server_can(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate.server.plan = lambda request: body(several(*range(1, request.body["n"] + 1)))
    run = evaluate(write_items(1), samples=5)
    assert [request.body["n"] for request in evaluate.server.requests] == [5]
    assert scores(run.path) == {1: 1, 2: 2, 3: 3, 4: 4, 5: 5}
    assert run.show().spent["tokens_in"] == 100, "the prompt is paid once"
    assert run.show().spent["tokens_out"] == 36


def test_a_server_that_ignores_n_is_asked_on_and_that_is_said(
    jurybox: Command, server: JudgeServer, write_items: WriteItems
) -> None:
    words = ("run", write_items(3), "--rubrics", "fluency", "--judge", "openai/m", "--samples", 4, "--concurrency", 1)
    done = jurybox(*words, "--base-url", server.base_url, "--json")
    assert done.returncode == 0
    assert len(server.requests) == 12, "the first request brought one of four, and the others are asked for"
    assert sum("n" in request.body for request in server.requests) == 1, "found out once, remembered for the run"
    assert "openai/m has no n" in done.stderr


def test_each_sample_has_its_own_seed_so_seeds_are_asked_for_one_by_one(
    evaluate: Evaluate, write_items: WriteItems
) -> None:
    evaluate(write_items(1), samples=3, seed=7)
    assert sorted(request.body["seed"] for request in evaluate.server.requests) == [7, 8, 9]


def test_an_unread_answer_among_several_is_asked_again_by_itself(evaluate: Evaluate, write_items: WriteItems) -> None:
    three = json.loads(several(4, 2, 5))
    three["choices"][1]["message"]["content"] = "I would rather not."
    evaluate.server.plan = lambda request: body(json.dumps(three)) if "n" in request.body else completion("Score: 3")
    run = evaluate(write_items(1), samples=3)
    assert scores(run.path) == {1: 4, 2: 3, 3: 5}
    assert len(evaluate.server.requests) == 2


def test_a_second_start_asks_only_for_the_samples_that_are_missing(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate.server.plan = lambda request: body(several(*[3] * request.body.get("n", 1)))
    evaluate(write_items(1), samples=2, temperature=0.7)
    evaluate(write_items(1), samples=5, temperature=0.7)
    assert [request.body.get("n", 1) for request in evaluate.server.requests] == [2, 3]


def steady_and_torn(request: Request) -> Answer:
    """The judge is of one mind about item 0, and of two minds about item 1."""
    if request.item == 0:
        return body(several(*[4] * request.body.get("n", 1)))
    return body(several(*(1 if (request.nth + k) % 2 else 5 for k in range(request.body.get("n", 1)))))


def test_auto_asks_on_where_the_judge_is_of_two_minds_up_to_the_most(
    evaluate: Evaluate, write_items: WriteItems
) -> None:
    evaluate.server.plan = steady_and_torn
    run = evaluate(write_items(2), samples="auto", target_se=0.5, max_samples=9)
    with RunReader(run.path) as reader:
        found = Counter(judgment.id for judgment in reader.judgments())
        signature = str(next(iter(reader.signatures().values())))
    assert found == {"p0": 4, "p1": 9}
    assert "|n:auto<=9@0.5|" in signature
    assert run.complete
    assert run.show().missing == 0


def test_auto_stops_once_the_mean_is_known_and_goes_on_after_a_stop(
    evaluate: Evaluate, write_items: WriteItems
) -> None:
    evaluate.server.plan = steady_and_torn
    run = evaluate(write_items(2), samples="auto", target_se=0.75, max_samples=20)
    found = [value for _, value in sorted(scores_of(run.path, "p1").items())]
    for count in range(4, len(found)):
        assert standard_error(found[:count]) > 0.75, "it was not known before"
    assert standard_error(found) <= 0.75
    asked = len(evaluate.server.requests)
    evaluate(write_items(2), samples="auto", target_se=0.75, max_samples=20)
    assert len(evaluate.server.requests) == asked


def scores_of(path: Path, id_: str) -> dict[int, float]:
    with RunReader(path) as reader:
        return {j.sample: j.verdict.score for j in reader.judgments() if j.id == id_ and j.verdict.score is not None}


def standard_error(values: list[float]) -> float:
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))


def test_enough_looks_at_every_rubric_and_leaves_unscored_samples_out() -> None:
    rule = Until(0.5, least=3, most=9)
    same: list[list[Judged]] = [[("scored", 4.0), ("scored", 2.0)]] * 3
    torn: list[list[Judged]] = [[("scored", 4.0), ("scored", value)] for value in (1.0, 5.0, 3.0)]
    assert enough(same, rule)
    assert not enough(torn, rule)
    assert not enough([*same[:2], [("unparsed", None), ("scored", 2.0)]], rule)
    assert not enough([], rule)


def test_a_computed_judge_is_asked_once_with_auto(evaluate: Evaluate, write_items: WriteItems) -> None:
    run = evaluate(write_items(2), judge="baseline/length", samples="auto")
    assert sum(1 for _ in run.judgments()) == 2
    assert run.complete


@pytest.mark.parametrize(("option", "value"), [("max_samples", 3), ("target_se", 0.0), ("samples", 0)])
def test_odd_numbers_are_refused(evaluate: Evaluate, write_items: WriteItems, option: str, value: float) -> None:
    options: dict[str, Any] = {"samples": "auto", option: value}
    with pytest.raises(SetupError, match=f"--{option.replace('_', '-')}"):
        evaluate(write_items(1), **options)


def test_a_request_for_several_that_fails_is_tried_again(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate.server.plan = lambda request: error(500) if request.nth == 1 else body(several(2, 3, 4))
    run = evaluate(write_items([item(0)]), samples=3)
    assert scores(run.path) == {1: 2, 2: 3, 3: 4}
    assert run.tally is not None
    assert run.tally.retried == 1
