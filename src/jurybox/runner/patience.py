"""How long a call is tried: the one retry layer.

A failed call (timeout, reset, 429, 5xx) is tried again after a pause; an answer that could not be read is asked
again at once. Both are bounded, one deadline holds for all of it (time spent waiting for a turn does not count), and
every attempt is kept.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from jurybox.errors import JudgeFailure
from jurybox.judges import Judge
from jurybox.parsing import read
from jurybox.runner.budget import Budget
from jurybox.runner.pace import Pace
from jurybox.types import Attempt, Question, Reply, Verdict


@dataclass(frozen=True, slots=True)
class Patience:
    """`retries` after failures, `reasks` after unread answers, `deadline` in seconds for the whole call."""

    retries: int = 6
    reasks: int = 2
    deadline: float = 300.0
    first_pause: float = 0.5
    longest_pause: float = 30.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """Every attempt at a call, which of them decided, and the verdicts by rubric name; `reused` was not paid for."""

    attempts: tuple[Attempt, ...]
    decisive: int
    verdicts: Mapping[str, Verdict]
    reused: bool = False


class Answers:
    """The answers that one question had so far: which of them decides, and whether that is enough."""

    def __init__(self, question: Question, patience: Patience) -> None:
        self._question, self._reasks = question, patience.reasks
        self._count, self._scored = 0, -1
        self.decisive = -1  # the number of its attempt; -1 while there is none
        self.verdicts: Mapping[str, Verdict] = {}

    def take(self, reply: Reply, number: int) -> bool:
        """Read one more; False when the question is to be asked again. Of equally good ones the last decides."""
        verdicts = read(reply, self._question.rubrics, self._question.answer)
        scored = sum(verdict.status in ("scored", "unsupported") for verdict in verdicts.values())
        if scored >= self._scored:
            self._scored, self.decisive, self.verdicts = scored, number, verdicts
        self._count += 1
        # Probabilities without reasoning are the same however often they are asked for.
        return scored == len(verdicts) or self._count > self._reasks or self._question.answer == "digit"


class Asking:
    """One question until its answer can be read or patience ends. Raises only what stops the whole run."""

    def __init__(self, pace: Pace, patience: Patience, rng: random.Random) -> None:
        self._pace, self._judge = pace, pace.judge
        self._patience, self._rng = patience, rng
        self._attempts: list[Attempt] = []
        self._spent = 0.0
        self._failures = 0

    async def several(self, question: Question, count: int) -> list[Outcome]:
        """The outcomes of the first samples that one request brought, at least one; each unread answer is asked again
        by itself. The failed tries before it are the first one's."""
        replies = await self._replies(question, count)
        if replies is None:
            return [self._failed(question)]
        first, *others = replies
        outcomes = [await self.one(question, first)]
        for number, reply in enumerate(others, 1):
            sample = replace(question, sample=question.sample + number)
            outcomes.append(await Asking(self._pace, self._patience, self._rng).one(sample, reply))
        return outcomes

    async def one(self, question: Question, reply: Reply | None = None) -> Outcome:
        """The outcome of one sample; `reply` is an answer that came already."""
        answers = Answers(question, self._patience)
        while True:
            if reply is None:
                found = await self._replies(question, 1)
                if found is None:
                    break
                reply = found[0]
            self._attempts.append(Attempt(reply))
            if answers.take(reply, len(self._attempts) - 1):
                break
            reply = None
        if answers.decisive < 0:
            return self._failed(question)
        return Outcome(tuple(self._attempts), answers.decisive, answers.verdicts)

    def _failed(self, question: Question) -> Outcome:
        last = self._attempts[-1]
        verdict = Verdict("unsupported" if last.too_long else "failed", reason=last.error)
        verdicts = {rubric.name: verdict for rubric in question.rubrics}
        return Outcome(tuple(self._attempts), len(self._attempts) - 1, verdicts)

    async def _replies(self, question: Question, count: int) -> Sequence[Reply] | None:
        """What one request brought, after as many failed ones as patience bears; None when it bears no more."""
        while True:
            began = await self._pace.enter(question, count)
            try:
                async with asyncio.timeout(self._patience.deadline - self._spent):
                    if count == 1:
                        replies: Sequence[Reply] = (await self._judge.ask(question),)
                    else:
                        replies = await self._judge.ask_several(question, count)
            except (JudgeFailure, TimeoutError) as exc:
                self._spent += time.monotonic() - began
                self._pace.failed(question, exc, began, count)
                if not await self._pause(exc):
                    return None
            except BaseException:
                self._pace.abandoned(question, count)
                raise
            else:
                self._spent += time.monotonic() - began
                self._pace.answered(question, replies, count)
                return replies

    async def _pause(self, exc: JudgeFailure | TimeoutError) -> bool:
        """Note a failed try and wait before the next one; False when there is no next one."""
        self._failures += 1
        error = str(exc) or f"no answer within {self._patience.deadline:g} s"
        self._attempts.append(Attempt(None, error, getattr(exc, "too_long", False)))
        pause = _pause(exc, self._failures, self._patience, self._rng)
        if pause is None or self._spent + pause >= self._patience.deadline:
            return False
        self._spent += pause
        await asyncio.sleep(pause)
        return True


async def ask(judge: Judge, question: Question, patience: Patience, rng: random.Random) -> Outcome:
    """One question to one judge, with nobody else in the line."""
    return await Asking(Pace(judge, 1, Budget()), patience, rng).one(question)


def _pause(exc: Exception, failures: int, patience: Patience, rng: random.Random) -> float | None:
    """Seconds to wait before the next try, or None when there is no next try."""
    if not isinstance(exc, JudgeFailure) or not exc.retry or failures > patience.retries:
        return None
    backoff = min(patience.first_pause * 2 ** (failures - 1), patience.longest_pause)
    # Jitter spreads calls that failed together; a server's own word is never undercut.
    return (exc.after + rng.uniform(0, 0.1 * backoff)) if exc.after is not None else backoff * rng.uniform(0.5, 1)
