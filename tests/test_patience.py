"""Patience is bounded: so many retries, so many second questions, one deadline; and every attempt is kept."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable

import pytest

from jurybox.errors import JudgeFailure, JudgeRejection
from jurybox.judges import Judge
from jurybox.runner.patience import Outcome, Patience, ask
from jurybox.types import Answer, Item, Prompt, Question, Reply, Rubric

FLUENCY, COHERENCE = Rubric(name="fluency", title="Fluency"), Rubric(name="coherence", title="Coherence")
GOOD, UNREAD = Reply("Score- <score>4</score>"), Reply("I would rather talk about the weather.")


class Scripted(Judge):
    """Gives the replies and raises the errors of its script, then the last of them for ever."""

    def __init__(self, *script: Reply | Exception) -> None:
        self.spec = self.model = "scripted"
        self.script, self.asked = script, 0

    async def ask(self, question: Question) -> Reply:
        step = self.script[min(self.asked, len(self.script) - 1)]
        self.asked += 1
        if isinstance(step, Exception):
            raise step
        return step


class Silent(Judge):
    spec = model = "silent"

    async def ask(self, question: Question) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError("never reached")


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were asked for; none of them is slept."""
    asked: list[float] = []
    sleep = asyncio.sleep

    async def recorded(seconds: float, result: object = None) -> None:
        asked.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", recorded)
    return asked


def settle(
    judge: Judge,
    patience: Patience | None = None,
    rubrics: tuple[Rubric, ...] = (FLUENCY,),
    answer: Answer = "tag",
    seed: int = 1,
) -> Outcome:
    question = Question(Item("p1", "base", "A summary.", {}), rubrics, Prompt("Judge."), answer)
    return asyncio.run(ask(judge, question, patience or Patience(), random.Random(seed)))


def failure(after: float | None = None, *, retry: bool = True, said: str = "busy") -> JudgeFailure:
    return JudgeFailure(said, retry=retry, after=after)


def statuses(outcome: Outcome) -> dict[str, str]:
    return {name: verdict.status for name, verdict in outcome.verdicts.items()}


def test_a_first_good_answer_is_enough(pauses: list[float]) -> None:
    outcome = settle(judge := Scripted(GOOD))
    assert judge.asked == 1
    assert outcome.verdicts["fluency"].score == 4
    assert (len(outcome.attempts), outcome.decisive, pauses) == (1, 0, [])


def test_failures_are_tried_again_until_an_answer_comes_and_all_are_kept(pauses: list[float]) -> None:
    outcome = settle(Scripted(failure(said="first"), failure(said="second"), GOOD))
    assert outcome.verdicts["fluency"].score == 4
    assert [attempt.error for attempt in outcome.attempts] == ["first", "second", ""]
    assert outcome.decisive == 2
    assert len(pauses) == 2


@pytest.mark.parametrize("retries", [0, 1, 4])
def test_retries_are_bounded_and_the_last_error_is_the_reason(pauses: list[float], retries: int) -> None:
    judge = Scripted(*(failure(said=f"error {number}") for number in range(1, 9)))
    outcome = settle(judge, Patience(retries=retries))
    assert judge.asked == retries + 1
    assert statuses(outcome) == {"fluency": "failed"}
    assert outcome.verdicts["fluency"].reason == f"error {retries + 1}"
    assert [attempt.error for attempt in outcome.attempts] == [f"error {n}" for n in range(1, retries + 2)]


def test_pauses_grow_with_jitter_up_to_a_bound(pauses: list[float]) -> None:
    settle(Scripted(failure()), Patience(retries=6, first_pause=1.0, longest_pause=8.0, deadline=1e6))
    for pause, most in zip(pauses, [1, 2, 4, 8, 8, 8], strict=True):
        assert most / 2 <= pause <= most
    assert len(set(pauses)) == 6


def test_two_calls_that_failed_together_do_not_come_back_together(pauses: list[float]) -> None:
    settle(Scripted(failure(), GOOD), seed=1)
    settle(Scripted(failure(), GOOD), seed=2)
    assert pauses[0] != pauses[1]


@pytest.mark.parametrize("after", [0.0, 3.0, 60.0])
def test_the_servers_own_word_on_waiting_is_honoured_and_never_undercut(pauses: list[float], after: float) -> None:
    patience = Patience(first_pause=1.0)
    settle(Scripted(failure(after), GOOD), patience)
    (pause,) = pauses
    assert after <= pause <= after + 0.1 * patience.first_pause


def test_a_wait_beyond_the_deadline_is_not_begun(pauses: list[float]) -> None:
    outcome = settle(judge := Scripted(failure(after=400.0, said="come back in 400 s")), Patience(deadline=300.0))
    assert (judge.asked, pauses) == (1, [])
    assert outcome.verdicts["fluency"].reason == "come back in 400 s"


def test_an_endless_wait_is_not_begun(pauses: list[float]) -> None:
    assert statuses(settle(Scripted(failure(after=float("inf"))))) == {"fluency": "failed"}
    assert pauses == []


def test_a_failure_that_no_retry_can_help_is_not_tried_again(pauses: list[float]) -> None:
    outcome = settle(judge := Scripted(failure(retry=False, said="nothing stored")))
    assert judge.asked == 1
    assert statuses(outcome) == {"fluency": "failed"}
    assert outcome.verdicts["fluency"].reason == "nothing stored"


def test_a_rejection_is_not_tried_again_and_goes_up() -> None:
    judge = Scripted(JudgeRejection("no such model"))
    with pytest.raises(JudgeRejection, match="no such model"):
        settle(judge)
    assert judge.asked == 1


def test_no_answer_within_the_deadline_is_a_failure_that_says_so() -> None:
    outcome = settle(Silent(), Patience(deadline=0.05))
    assert statuses(outcome) == {"fluency": "failed"}
    assert outcome.verdicts["fluency"].reason == "no answer within 0.05 s"


def test_one_deadline_holds_over_all_tries() -> None:
    """Real time: pauses of 20 ms and a thousand retries would be 20 s; the deadline is a tenth of one."""
    judge = Scripted(failure(after=0.02))
    outcome = settle(judge, Patience(retries=1000, deadline=0.1, first_pause=0.0))
    assert judge.asked <= 6
    assert statuses(outcome) == {"fluency": "failed"}


def test_the_deadline_holds_over_second_questions_too() -> None:
    class Slow(Judge):
        spec = model = "slow"

        async def ask(self, question: Question) -> Reply:
            await asyncio.sleep(0.2)
            return UNREAD

    outcome = settle(Slow(), Patience(reasks=1000, deadline=0.7))
    assert statuses(outcome) == {"fluency": "unparsed"}
    assert len(outcome.attempts) <= 5
    assert outcome.attempts[outcome.decisive].reply == UNREAD


@pytest.mark.parametrize("reasks", [0, 1, 3])
def test_an_unread_answer_is_asked_again_at_most_so_often_and_all_are_kept(pauses: list[float], reasks: int) -> None:
    outcome = settle(judge := Scripted(UNREAD), Patience(reasks=reasks))
    assert judge.asked == reasks + 1
    assert [attempt.reply for attempt in outcome.attempts] == [UNREAD] * (reasks + 1)
    assert statuses(outcome) == {"fluency": "unparsed"}
    assert pauses == []


def test_a_bound_below_zero_asks_no_second_time() -> None:
    outcome = settle(judge := Scripted(UNREAD), Patience(reasks=-1, deadline=5.0))
    assert judge.asked == 1
    assert statuses(outcome) == {"fluency": "unparsed"}


def test_an_unread_answer_and_then_a_readable_one_is_scored() -> None:
    outcome = settle(judge := Scripted(UNREAD, GOOD))
    assert judge.asked == 2
    assert outcome.verdicts["fluency"].score == 4
    assert [attempt.reply for attempt in outcome.attempts] == [UNREAD, GOOD]
    assert outcome.decisive == 1


def form(*scores: tuple[str, int]) -> Reply:
    return Reply("\n".join(f"Reasoning for {title}: fine.\nScore for {title}: {score}" for title, score in scores))


@pytest.mark.parametrize(
    ("replies", "decisive", "expected"),
    [
        ((form(("Fluency", 2)), UNREAD, UNREAD), 0, {"fluency": "scored", "coherence": "unparsed"}),
        ((UNREAD, form(("Coherence", 5)), UNREAD), 1, {"fluency": "unparsed", "coherence": "scored"}),
        ((form(("Fluency", 2)), form(("Coherence", 5)), UNREAD), 1, {"fluency": "unparsed", "coherence": "scored"}),
        (
            (form(("Fluency", 2)), form(("Fluency", 3), ("Coherence", 5))),
            1,
            {"fluency": "scored", "coherence": "scored"},
        ),
    ],
    ids=["the first", "the middle one", "the later of equals", "the complete one"],
)
def test_the_attempt_with_most_scored_rubrics_decides(
    replies: Iterable[Reply], decisive: int, expected: dict[str, str]
) -> None:
    """Scores of two attempts are never mixed into one form."""
    outcome = settle(Scripted(*replies), Patience(reasks=2), (FLUENCY, COHERENCE), "form")
    assert outcome.decisive == decisive
    assert statuses(outcome) == expected


def test_an_unread_answer_outlives_the_failures_around_it(pauses: list[float]) -> None:
    outcome = settle(Scripted(failure(), UNREAD, failure()), Patience(retries=2))
    assert statuses(outcome) == {"fluency": "unparsed"}
    assert outcome.attempts[outcome.decisive].reply == UNREAD
    assert len(outcome.attempts) == 4


def test_failures_and_second_questions_are_counted_apart(pauses: list[float]) -> None:
    judge = Scripted(failure(), UNREAD, failure(), UNREAD, failure(), GOOD)
    outcome = settle(judge, Patience(retries=3, reasks=2))
    assert outcome.verdicts["fluency"].score == 4
    assert len(outcome.attempts) == 6


@pytest.mark.parametrize("make", [ValueError, KeyError, RuntimeError], ids=lambda make: make.__name__)
def test_a_fault_of_our_own_is_not_hidden_as_a_failure(make: type[Exception]) -> None:
    with pytest.raises(make):
        settle(Scripted(make("bug")))
