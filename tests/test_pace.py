"""The pace of a judge: how many at once, how many a minute, when it rests, and when it is gone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest

from jurybox.errors import JudgeFailure, JudgeRejection
from jurybox.judges import Judge
from jurybox.runner.budget import Budget, OverBudget
from jurybox.runner.pace import Pace
from jurybox.types import Item, Prompt, Question, Reply, Rubric, Sampling

QUESTION = Question(Item("p1", "base", "A summary.", {}), (Rubric("fluency", "Fluency"),), Prompt("x" * 4000), "tag")
THROTTLED = JudgeFailure("slow down", retry=True, throttled=True)
BROKEN = JudgeFailure("no connection", retry=True)


class Priced(Judge):
    spec = model = "priced"

    async def ask(self, question: Question) -> Reply:
        return Reply("")

    def cost(self, reply: Reply) -> float | None:
        """A dollar for a thousand tokens."""
        return ((reply.tokens_in or 0) + (reply.tokens_out or 0)) / 1000


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were slept, by a clock that only sleeping moves."""
    told: list[float] = []
    now = [1000.0]
    sleep = asyncio.sleep

    async def advance(seconds: float, result: object = None) -> None:
        if seconds:
            told.append(seconds)
            now[0] += seconds
        await sleep(0)

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(asyncio, "sleep", advance)
    return told


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await work()

    asyncio.run(main())


def make(most: int = 8, **limits: float) -> Pace:
    return Pace(Priced(), most, Budget(), **limits)


async def begun(pace: Pace, count: int) -> list[asyncio.Task[float]]:
    tasks = [asyncio.create_task(pace.enter(QUESTION)) for _ in range(count)]
    await asyncio.sleep(0)
    return tasks


def test_no_more_than_most_are_in_flight_and_those_who_wait_follow_in_order() -> None:
    async def work() -> None:
        pace = make(2)
        tasks = await begun(pace, 4)
        assert [task.done() for task in tasks] == [True, True, False, False]
        pace.answered(QUESTION, [Reply("")])
        await asyncio.sleep(0.01)
        assert [task.done() for task in tasks] == [True, True, True, False]
        pace.answered(QUESTION, [Reply("")])
        await asyncio.sleep(0.01)
        assert all(task.done() for task in tasks)
        assert pace.in_flight == 2

    run(work)


def test_a_429_halves_once_for_all_that_were_in_flight_together_and_answers_let_it_grow_back() -> None:
    async def work() -> None:
        pace = make(8)
        began = [task.result() for task in await begun(pace, 8)]
        for start in began:
            pace.failed(QUESTION, THROTTLED, start)
        assert (pace.window, pace.throttled) == (4.0, 8)
        again = await pace.enter(QUESTION)
        pace.failed(QUESTION, THROTTLED, again)
        assert pace.window == 2.0
        grown = []
        for _ in range(40):
            await pace.enter(QUESTION)
            pace.answered(QUESTION, [Reply("")])
            grown.append(pace.window)
        assert grown == sorted(grown)
        assert grown[1] == pytest.approx(2 + 1 / 2 + 1 / 2.5), "one more for each window full of answers"
        assert pace.window == 8.0, "and never beyond what was asked for"

    run(work)


def test_it_never_falls_below_one() -> None:
    async def work() -> None:
        pace = make(4)
        for _ in range(10):
            pace.failed(QUESTION, THROTTLED, await pace.enter(QUESTION))
        assert pace.window == 1.0

    run(work)


@pytest.mark.parametrize(
    ("limits", "seconds"),
    [({"rpm": 60.0}, 9.0), ({"rpm": 600.0}, 0.9), ({"tpm": 60 * 1350.0}, 9.0), ({"rpm": 60.0, "tpm": 1e9}, 9.0)],
)
def test_requests_and_tokens_a_minute_are_spread_evenly(
    limits: dict[str, float], seconds: float, slept: list[float]
) -> None:
    """A prompt of 4,000 characters and an answer of 350 tokens: 1,350 tokens a call."""

    async def work() -> None:
        pace = make(8, **limits)
        for _ in range(10):
            await pace.enter(QUESTION)
            pace.answered(QUESTION, [Reply("", tokens_in=1000, tokens_out=350)])

    run(work)
    assert sum(slept) == pytest.approx(seconds)
    assert max(slept) == pytest.approx(seconds / 9)


def test_tokens_that_were_used_correct_those_that_were_expected(slept: list[float]) -> None:
    async def work() -> None:
        pace = make(8, tpm=60 * 1350.0)
        for _ in range(3):
            await pace.enter(QUESTION)
            pace.answered(QUESTION, [Reply("", tokens_in=2000, tokens_out=700)])

    run(work)
    assert sum(slept) == pytest.approx(4.0), "twice the tokens, twice the time"


def test_a_server_that_wants_a_rest_gets_it(slept: list[float]) -> None:
    async def work() -> None:
        pace = make(8)
        pace.judge.rest_until = time.monotonic() + 7
        await pace.enter(QUESTION)
        assert slept == [7.0]
        await pace.enter(QUESTION)
        assert slept == [7.0], "and only once"

    run(work)


def test_a_row_of_failures_leaves_one_call_to_try_and_one_answer_lets_the_others_go(slept: list[float]) -> None:
    async def work() -> None:
        pace = make(16)
        for start in [task.result() for task in await begun(pace, 16)]:
            pace.failed(QUESTION, BROKEN, start)
        tasks = await begun(pace, 5)
        for _ in range(5):
            await asyncio.sleep(0)
        assert sum(task.done() for task in tasks) == 1
        assert slept == [0.5], "a pause before the first look"
        pace.answered(QUESTION, [Reply("")])
        for _ in range(5):
            await asyncio.sleep(0)
        assert all(task.done() for task in tasks)
        assert pace.window == 16

    run(work)


def test_a_server_that_stays_away_is_gone(slept: list[float]) -> None:
    async def work() -> None:
        pace = make(4)
        for _ in range(100):
            pace.failed(QUESTION, BROKEN, await pace.enter(QUESTION))
            await asyncio.sleep(2)

    with pytest.raises(JudgeRejection, match=r"priced: the server seems to be gone: \d+ tries in a row failed"):
        run(work)
    assert 60 <= sum(slept) <= 64


def test_one_answer_now_and_then_keeps_a_bad_server_alive(slept: list[float]) -> None:
    async def work() -> None:
        pace = make(4)
        for number in range(200):
            start = await pace.enter(QUESTION)
            if number % 20 == 19:
                pace.answered(QUESTION, [Reply("")])
            else:
                pace.failed(QUESTION, BROKEN, start)
            await asyncio.sleep(1)

    run(work)


def test_whoever_is_cancelled_while_waiting_takes_no_turn() -> None:
    async def work() -> None:
        pace = make(1)
        await pace.enter(QUESTION)
        first, second = await begun(pace, 2)
        first.cancel()
        await asyncio.sleep(0.01)
        pace.answered(QUESTION, [Reply("")])
        await asyncio.sleep(0.01)
        assert second.done()
        assert pace.in_flight == 1

    run(work)


def test_money_is_set_aside_before_a_call_and_no_call_is_sent_that_could_pass_the_limit() -> None:
    """The most a call may cost: 1,000 tokens in, times 1.4, and 600 out, so $2."""

    async def work() -> None:
        question = Question(QUESTION.item, QUESTION.rubrics, QUESTION.prompt, "tag", Sampling(max_tokens=600))
        budget = Budget(limit=6.0, spent=0.5)
        pace = Pace(Priced(), 8, budget)
        calls = [
            Question(question.item, question.rubrics, question.prompt, "tag", question.sampling, n) for n in (1, 2, 3)
        ]
        await pace.enter(calls[0])
        await pace.enter(calls[1])
        third = asyncio.create_task(pace.enter(calls[2]))
        await asyncio.sleep(0.01)
        assert not third.done(), "0.5 + 2 + 2 + 2 would be more than 6, but those under way may cost less"
        pace.answered(calls[0], [Reply("", tokens_in=900, tokens_out=100)])
        await asyncio.sleep(0.01)
        assert third.done(), "0.5 + 1 + 2 + 2 is not"
        pace.answered(calls[1], [Reply("", tokens_in=900, tokens_out=800)])
        pace.answered(calls[2], [Reply("", tokens_in=900, tokens_out=800)])
        assert budget.spent == pytest.approx(0.5 + 1 + 1.7 + 1.7)
        with pytest.raises(OverBudget, match=r"--max-cost 6: \$4\.9000 is spent, and the next call may cost \$2\.0000"):
            await pace.enter(calls[0])
        assert pace.in_flight == 0

    run(work)
