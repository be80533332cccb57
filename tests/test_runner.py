"""A run asks each question once, never more than so many at a time, and ends with the right scores or a clear word."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import server as answers
from conftest import Evaluate, WriteItems, assert_right, item
from jurybox import aevaluate
from jurybox.errors import DataError, JudgeRejection, SetupError
from jurybox.rubrics import packs
from jurybox.runner import Tally
from jurybox.store import RunReader
from jurybox.types import Judgment
from server import Answer, JudgeServer, Request


def judgments(path: Path) -> list[Judgment]:
    """By item; the store has them in the order in which they came."""
    with RunReader(path) as reader:
        return sorted(reader.judgments(), key=lambda judgment: judgment.id)


def statuses(path: Path) -> Counter[str]:
    return Counter(judgment.verdict.status for judgment in judgments(path))


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


# How much at once


@pytest.mark.parametrize("concurrency", [1, 7])
def test_never_more_than_so_many_calls_are_in_flight(
    evaluate: Evaluate, write_items: WriteItems, concurrency: int
) -> None:
    evaluate.server.latency = 0.01
    evaluate(write_items(40), concurrency=concurrency)
    assert min(concurrency, 2) <= evaluate.server.most_in_flight <= concurrency
    assert len(assert_right(evaluate.out)) == 40


def test_a_retry_does_not_make_room_for_another_call(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate.server.latency = 0.01
    evaluate.server.first(answers.error(429, "slow down", Retry_After="0.01"))
    evaluate(write_items(20), concurrency=3)
    assert evaluate.server.most_in_flight <= 3
    assert len(assert_right(evaluate.out)) == 20


# Each question once, right scores


def mishap(request: Request) -> Answer | None:
    """A fault for about half of all first tries and a quarter of second ones, always the same for the same body."""
    faults: tuple[Answer, ...] = (
        answers.error(500),
        answers.error(503, "loading", Retry_After="0"),
        answers.error(408),
        answers.error(409),
        answers.error(429, "slow down", Retry_After="0"),
        answers.reset,
        answers.half_a_body,
        answers.body("<html>Bad gateway</html>", kind="text/html"),
        answers.body('{"choices": []}'),
        answers.error(200, "loading"),
        answers.completion("I would say it is rather good."),
        answers.completion("The summary reads", finish="length"),
    )
    dice = int(request.digest[request.nth * 4 : request.nth * 4 + 4], 16)
    if request.nth > 2 or dice % (2 * request.nth):
        return None
    return faults[dice // 4 % len(faults)]


def test_300_judgments_are_right_whatever_goes_wrong(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate.server.plan = mishap
    run = evaluate(write_items(100), "fluency,coherence,faithfulness", concurrency=64)
    assert len(assert_right(evaluate.out)) == 300
    assert run.tally is not None
    assert (run.tally.total, run.tally.done, run.tally.unscored, run.tally.calls) == (300, 300, 0, 300)
    asked = len(evaluate.server.requests)
    assert run.tally.retried == asked - 300 > 100
    assert evaluate.rows("SELECT COUNT(*) FROM attempts") == [(asked - 300,)]


def test_every_judgment_has_exactly_one_row(evaluate: Evaluate, write_items: WriteItems) -> None:
    judges = ["openai/judge-1", "baseline/length"]
    evaluate(write_items(5), "fluency,coherence", judges, samples=2, temperature=0.5)
    assert evaluate.rows("SELECT COUNT(*), COUNT(DISTINCT series || ' ' || item || ' ' || sample) FROM judgments") == [
        (5 * 2 * 2 * 2, 5 * 2 * 2 * 2)
    ]
    assert len(judgments(evaluate.out)) == 40


def test_form_gives_several_judgments_a_call(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate(write_items(4), "fluency,coherence,faithfulness", layout="form")
    assert len(evaluate.server.requests) == 4
    assert len(assert_right(evaluate.out)) == 12


def test_json_answers_are_asked_for_and_read(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate(write_items(3), "fluency,coherence", answer="json")
    evaluate(write_items(3), "fluency,coherence", answer="json", layout="form", out=evaluate.out.with_name("form.db"))
    assert all("response_format" in request.body for request in evaluate.server.requests)
    assert len(evaluate.server.requests) == 6 + 3
    assert len(assert_right(evaluate.out)) == len(assert_right(evaluate.out.with_name("form.db"))) == 6


def test_half_a_form_keeps_the_scores_it_has(evaluate: Evaluate) -> None:
    evaluate.server.always(answers.completion("Reasoning for Fluency: fine.\nScore for Fluency: 4"))
    evaluate([item(0)], "fluency,coherence", layout="form", reasks=1)
    found = {judgment.rubric: judgment.verdict for judgment in judgments(evaluate.out)}
    assert found["fluency"].score == 4
    assert found["coherence"].status == "unparsed"
    assert len(evaluate.server.requests) == 2


def test_shared_requests_about_one_item_are_byte_identical_up_to_the_rubric(
    evaluate: Evaluate, write_items: WriteItems
) -> None:
    """Compared as they reached the server: that is what a prefix cache sees."""
    rubrics = packs()["product-opinion"]
    evaluate(write_items(2), "product-opinion", layout="shared")
    assert len(assert_right(evaluate.out)) == 2 * len(rubrics)
    for number in (0, 1):
        bodies = [request.raw for request in evaluate.server.requests if request.item == number]
        assert len(bodies) == len(rubrics)
        common = bodies[0].partition(b"\\n\\nScale of ")[0]
        assert f"[[item {number}]]".encode() in common
        assert b"The lid sticks." in common
        assert all(body.startswith(common) for body in bodies)


def test_a_jury_of_two_judges_each_judges_everything(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate(write_items(3), "fluency,coherence", ["openai/judge-1", "openai/judge-2"])
    found = assert_right(evaluate.out)
    assert Counter(judge for _, _, _, judge, _ in found) == {"openai/judge-1": 6, "openai/judge-2": 6}
    assert Counter(request.body["model"] for request in evaluate.server.requests) == {"judge-1": 6, "judge-2": 6}


def test_the_same_judge_twice_is_refused(evaluate: Evaluate) -> None:
    with pytest.raises(SetupError, match="named twice"):
        evaluate([item(0)], judge=["openai/judge-1", "openai/judge-1"])


def test_samples_are_separate_calls_that_are_warm_by_default(evaluate: Evaluate) -> None:
    evaluate([item(0)], samples=3, seed=10)
    assert {sample for *_, sample in assert_right(evaluate.out)} == {1, 2, 3}
    assert sorted(request.body["seed"] for request in evaluate.server.requests) == [10, 11, 12]
    assert {request.body["temperature"] for request in evaluate.server.requests} == {0.7}


def test_limit_judges_the_first_items_only(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate(write_items(10), limit=3)
    assert {name for name, *_ in assert_right(evaluate.out)} == {"p0", "p1", "p2"}


@pytest.mark.parametrize(
    "odd", [{"samples": 0}, {"concurrency": 0}, {"limit": 0}, {"temperature": -0.1}, {"temperature": 2.5}], ids=str
)
def test_an_odd_number_is_refused_before_any_call(evaluate: Evaluate, odd: dict[str, Any]) -> None:
    with pytest.raises(SetupError, match=f"--{next(iter(odd))}"):
        evaluate([item(0)], **odd)
    assert not evaluate.server.requests


def test_wrong_data_on_the_last_line_is_refused_before_any_call(evaluate: Evaluate, write_items: WriteItems) -> None:
    data = write_items([item(0), item(1), item(1)])
    with pytest.raises(DataError, match="line 3, field 'id'"):
        evaluate(data)
    assert not evaluate.server.requests


# Faults end in the right way


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(answers.error(408), id="408"),
        pytest.param(answers.error(409), id="409"),
        pytest.param(answers.error(429, "slow down", Retry_After="0"), id="429"),
        pytest.param(answers.error(500), id="500"),
        pytest.param(answers.error(503), id="503"),
        pytest.param(answers.reset, id="reset"),
        pytest.param(answers.half_a_body, id="half a body"),
        pytest.param(answers.body("<html></html>", kind="text/html"), id="html"),
        pytest.param(answers.error(200, "loading"), id="error with 200"),
        pytest.param(answers.body("{"), id="malformed"),
        pytest.param(answers.body('{"choices": []}'), id="no choices"),
    ],
)
def test_a_passing_fault_is_retried_then_scored_or_failed_with_every_attempt_kept(
    evaluate: Evaluate, fault: Answer
) -> None:
    evaluate.server.plan = lambda request: fault if request.item == 0 or request.nth == 1 else None
    run = evaluate([item(0), item(1)], retries=1)
    lost, found = judgments(evaluate.out)
    assert (lost.id, lost.verdict.status, lost.reply) == ("p0", "failed", None)
    assert lost.verdict.reason.startswith(evaluate.server.base_url)
    assert (found.id, found.verdict.status) == ("p1", "scored")
    assert evaluate.rows("SELECT attempts FROM calls") == [(2,), (2,)]
    assert evaluate.rows("SELECT COUNT(*) FROM attempts WHERE error IS NOT NULL") == [(2,)]
    assert run.tally is not None
    assert (run.tally.done, run.tally.unscored, run.tally.retried) == (2, 1, 2)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        pytest.param(
            answers.error(400, "temperature must be 1 for this model"), "400: temperature must be 1", id="400"
        ),
        pytest.param(answers.error(401, "Incorrect API key"), "401: Incorrect API key", id="401"),
        pytest.param(answers.error(404, "no model judge-1"), "404: no model judge-1", id="404"),
        pytest.param(answers.error(422, "extra field"), "422: extra field", id="422"),
        pytest.param(answers.error(429, "quota", "insufficient_quota"), "429: quota", id="insufficient quota"),
    ],
)
def test_a_lasting_fault_stops_the_run_at_once_and_keeps_what_was_paid(
    evaluate: Evaluate, write_items: WriteItems, fault: Answer, said: str
) -> None:
    evaluate.server.plan = lambda request: fault if not request.raw or request.item >= 5 else None
    with pytest.raises(JudgeRejection, match=said):
        evaluate(write_items(50), concurrency=1)
    asked = [request for request in evaluate.server.requests if request.raw]  # it may look up the names of the models
    assert len(asked) == 6
    assert len(assert_right(evaluate.out)) == 5


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        pytest.param(answers.error(400, "The prompt was filtered", "content_filter"), "refused", id="filtered prompt"),
        pytest.param(answers.completion("The", finish="content_filter"), "refused", id="filtered answer"),
        pytest.param(answers.completion(None, refusal="I cannot."), "refused", id="refusal"),
        pytest.param(answers.completion("The summary reads", finish="length"), "truncated", id="length"),
        pytest.param(answers.completion("Score- <score>9</score>"), "off_scale", id="off scale"),
        pytest.param(answers.completion("Nice kettle."), "unparsed", id="unparsed"),
    ],
)
def test_an_answer_without_a_score_is_a_status_of_its_item_alone(
    evaluate: Evaluate, fault: Answer, status: str
) -> None:
    evaluate.server.plan = lambda request: fault if request.item == 0 else None
    evaluate([item(0), item(1)], reasks=1)
    lost, found = judgments(evaluate.out)
    assert (lost.verdict.status, lost.verdict.score) == (status, None)
    assert found.verdict.status == "scored"
    assert sorted(evaluate.server.seen.values()) == [1, 2]


def test_an_answer_later_than_the_deadline_is_a_failure(evaluate: Evaluate) -> None:
    evaluate.server.plan = lambda request: answers.slow(30) if request.item == 0 else None
    evaluate([item(0), item(1)], deadline=1.5)
    lost, found = judgments(evaluate.out)
    assert lost.verdict.reason == "no answer within 1.5 s"
    assert found.verdict.status == "scored"


def test_a_dead_server_stops_the_run_with_one_clear_message(
    evaluate: Evaluate, write_items: WriteItems, closed_port: int
) -> None:
    with pytest.raises(JudgeRejection, match=r"10 calls in a row failed.*no connection.*refused"):
        evaluate(write_items(100), base_url=f"http://127.0.0.1:{closed_port}/v1", retries=0, concurrency=4)
    assert 10 <= statuses(evaluate.out)["failed"] < 20


def test_a_dead_server_stops_the_run_though_a_baseline_sits_in_the_jury(
    evaluate: Evaluate, write_items: WriteItems, closed_port: int
) -> None:
    judges = ["openai/judge-1", "baseline/length"]
    with pytest.raises(JudgeRejection, match="calls in a row failed"):
        evaluate(write_items(100), judge=judges, base_url=f"http://127.0.0.1:{closed_port}/v1", retries=0)


def test_a_few_failures_do_not_stop_a_run(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate.server.plan = lambda request: answers.error(500) if request.item < 9 else None
    evaluate(write_items(30), retries=0, concurrency=1)
    assert statuses(evaluate.out) == {"failed": 9, "scored": 21}


# Progress and stopping


class Watch:
    """Compares what is counted with what is durable, each time that something is counted."""

    def __init__(self, out: Path) -> None:
        self.out, self.seen, self.lost = out, [0], 0

    def update(self, tally: Tally) -> None:
        with RunReader(self.out) as reader:
            durable = sum(1 for _ in reader.judgments())
        self.lost += max(tally.done - durable, 0)
        self.seen.append(tally.done)

    def stopping(self, under_way: int) -> None:
        pass

    def say(self, text: str) -> None:
        pass


def test_a_judgment_is_durable_before_it_is_counted(evaluate: Evaluate, write_items: WriteItems) -> None:
    watch = Watch(evaluate.out)
    evaluate(write_items(30), progress=watch)
    assert watch.lost == 0
    assert watch.seen == sorted(watch.seen)
    assert watch.seen[-1] == 30


def test_a_stop_lets_calls_under_way_end_and_keeps_them(evaluate: Evaluate, write_items: WriteItems) -> None:
    data = write_items(200)
    evaluate.server.latency = 0.02

    async def stopped_after(count: int) -> Tally | None:
        stop = asyncio.Event()

        class Stopper(Watch):
            def update(self, tally: Tally) -> None:
                if tally.done >= count:
                    stop.set()

        options: dict[str, Any] = {"base_url": evaluate.server.base_url, "out": evaluate.out, "concurrency": 8}
        watch = Stopper(evaluate.out)
        run = await aevaluate(data, rubrics="fluency", judge="openai/judge-1", stop=stop, progress=watch, **options)
        return run.tally

    tally = asyncio.run(stopped_after(20))
    assert tally is not None
    assert 20 <= tally.done < 60
    asked = len(evaluate.server.requests)
    assert len(assert_right(evaluate.out)) == tally.done == asked
    evaluate(data)
    assert len(assert_right(evaluate.out)) == len(evaluate.server.requests) == 200


def test_a_fault_of_our_own_stops_the_run_and_keeps_what_was_paid(evaluate: Evaluate, write_items: WriteItems) -> None:
    class Broken(Watch):
        def update(self, tally: Tally) -> None:
            if tally.done == 5:
                raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        evaluate(write_items(50), progress=Broken(evaluate.out), concurrency=1)
    assert len(assert_right(evaluate.out)) == 5
    evaluate(write_items(50))
    assert len(evaluate.server.requests) == 50


def test_the_tally_adds_up_cost(server: JudgeServer, evaluate: Evaluate, write_items: WriteItems) -> None:
    server.first(answers.completion("Nice kettle."))
    run = evaluate(write_items(5), price=(1.0, 10.0))
    assert run.tally is not None
    assert run.tally.cost == pytest.approx(5 * 2 * (100 * 1 + 20 * 10) / 1e6)
    assert run.tally.unpriced == 0
    again = evaluate(write_items(5), price=(1.0, 10.0))
    assert again.tally is not None
    assert again.tally.cost == 0
