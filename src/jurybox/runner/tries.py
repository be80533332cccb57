"""What several tries at one question come to, when they were made days apart: the same rules as for live calls."""

from __future__ import annotations

from collections.abc import Sequence

from jurybox.runner.patience import Answers, Outcome, Patience
from jurybox.store.batches import Returned
from jurybox.types import Attempt, Question, Status, Verdict


def decide(question: Question, came: Sequence[Returned], patience: Patience) -> Outcome | None:
    """What all tries at a question come to; None when it is to be asked again."""
    answers = Answers(question, patience)
    failures = 0
    is_over = False
    for number, one in enumerate(came):
        if one.reply is None:
            failures += 1
            is_over = not one.again or failures > patience.retries
        else:
            is_over = answers.take(one.reply, number)
    if not is_over:
        return None
    attempts = tuple(Attempt(one.reply, one.error, one.too_long) for one in came)
    if answers.decisive < 0:
        status: Status = "unsupported" if came[-1].too_long else "failed"
        return same_for_all(question, attempts, Verdict(status, reason=came[-1].error))
    return Outcome(attempts, answers.decisive, answers.verdicts)


def same_for_all(question: Question, attempts: tuple[Attempt, ...], verdict: Verdict) -> Outcome:
    return Outcome(attempts, max(len(attempts) - 1, 0), {rubric.name: verdict for rubric in question.rubrics})


def cost_of(came: Sequence[Returned]) -> float | None:
    """What all tries together cost; None when any price is unknown."""
    costs = [one.cost for one in came]
    return None if None in costs else sum(cost for cost in costs if cost is not None)
