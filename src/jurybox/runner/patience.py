"""How long a call is tried: the one retry layer.

A failed call (timeout, reset, 429, 5xx) is tried again after a pause; an answer that could not be read is asked
again at once. Both are bounded, one deadline holds for all of it, and every attempt is kept.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass

from jurybox.errors import JudgeFailure
from jurybox.judges import Judge
from jurybox.parsing import read
from jurybox.types import Attempt, Question, Verdict


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
    """Every attempt at a call, which of them decided, and the verdicts by rubric name."""

    attempts: tuple[Attempt, ...]
    decisive: int
    verdicts: Mapping[str, Verdict]


async def ask(judge: Judge, question: Question, patience: Patience, rng: random.Random) -> Outcome:
    """Ask until the answer can be read or patience ends. Raises only what stops the whole run."""
    attempts: list[Attempt] = []
    best: tuple[int, int, Mapping[str, Verdict]] | None = None
    failures = unread = 0
    ends = asyncio.get_running_loop().time() + patience.deadline
    while True:
        try:
            async with asyncio.timeout_at(ends):
                reply = await judge.ask(question)
        except (JudgeFailure, TimeoutError) as exc:
            failures += 1
            attempts.append(Attempt(None, str(exc) or f"no answer within {patience.deadline:g} s"))
            pause = _pause(exc, failures, patience, rng)
            if pause is None or asyncio.get_running_loop().time() + pause >= ends:
                break
            await asyncio.sleep(pause)
            continue
        verdicts = read(reply, question.rubrics, question.answer)
        attempts.append(Attempt(reply))
        scored = sum(verdict.status in ("scored", "unsupported") for verdict in verdicts.values())
        if best is None or scored >= best[0]:
            best = (scored, len(attempts) - 1, verdicts)
        # Probabilities are the same however often they are asked for.
        if scored == len(verdicts) or unread >= patience.reasks or question.answer == "digit":
            break
        unread += 1
    if best is None:
        failed = Verdict("failed", reason=attempts[-1].error)
        return Outcome(tuple(attempts), len(attempts) - 1, {rubric.name: failed for rubric in question.rubrics})
    return Outcome(tuple(attempts), best[1], best[2])


def _pause(exc: Exception, failures: int, patience: Patience, rng: random.Random) -> float | None:
    """Seconds to wait before the next try, or None when there is no next try."""
    if not isinstance(exc, JudgeFailure) or not exc.retry or failures > patience.retries:
        return None
    backoff = min(patience.first_pause * 2 ** (failures - 1), patience.longest_pause)
    # Jitter spreads calls that failed together; a server's own word is never undercut.
    return (exc.after + rng.uniform(0, 0.1 * backoff)) if exc.after is not None else backoff * rng.uniform(0.5, 1)
