"""How fast one judge is asked: calls in flight, requests and tokens a minute, rests, and a server that is gone.

Calls in flight follow the server (AIMD): a 429 halves how many may be, every answer lets it grow back towards
`--concurrency`. A row of failures leaves one call, now and then, to find out whether the server is back; the others
wait without using up their retries, and when it stays away the run ends with a clear message.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence

from jurybox.errors import JudgeFailure, JudgeRejection
from jurybox.judges import Judge
from jurybox.runner.budget import Budget
from jurybox.runner.turns import OwnTurns, Turns
from jurybox.types import Question, Reply

FAILURES_IN_A_ROW = 10
# Seconds without an answer, while every try fails, after which a server is gone.
GONE_AFTER = 60.0
# Seconds between two looks at a server that may be gone, growing.
FIRST_LOOK, LONGEST_LOOK = 0.5, 8.0


class Pace:
    """The pace of one judge in one run. `most` is the calls that may be in flight when all is well, `window` those that
    may be now."""

    def __init__(
        self, judge: Judge, most: int, budget: Budget, rpm: float | None = None, tpm: float | None = None
    ) -> None:
        self.judge, self.budget = judge, budget
        self.most = min(most, judge.most_at_once or most)
        self.window = float(self.most)
        self.in_flight = self.throttled = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._turns: Turns | None = None if rpm is None and tpm is None else OwnTurns(rpm, tpm)
        self._cut_at = 0.0
        self._failures = 0
        self._failing_since = 0.0
        # While a server may be gone: the window that it had, when the next call may look, and the pause before it.
        self._window_before = 0.0
        self._look_at = self._look_pause = 0.0

    def share(self, turns: Turns) -> None:
        """Take turns with others who ask the same judge."""
        self._turns = turns

    async def enter(self, question: Question, samples: int = 1) -> float:
        """Wait for a turn, then take it; returns when it began. Raises `OverBudget` when there is no money for it."""
        while self.in_flight >= int(self.window) or self._waiting:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                self._given_up(turn)
                raise
            if self.in_flight < int(self.window):
                break
        self.in_flight += 1
        try:
            await self.budget.reserve(self.judge, question, samples)
            if self._turns is not None or self.judge.rest_until or self._look_at:
                await self._rest(question, samples)
        except BaseException:
            self._leave()
            raise
        return time.monotonic()

    def answered(self, question: Question, replies: Sequence[Reply], samples: int = 1) -> None:
        """A call brought these replies: the window grows by one for every window full of answers."""
        self._failures = 0
        if self._look_at:
            self.window, self._look_at = self._window_before, 0.0
        elif self.window < self.most:
            self.window = min(self.window + 1 / self.window, self.most)
        if self._turns is not None:
            used = sum((reply.tokens_in or 0) + (reply.tokens_out or 0) for reply in replies)
            self._turns.correct(used - self.budget.tokens(question, samples) if used else 0)
        self.budget.settle(self.judge, question, samples, replies)
        self._leave()

    def failed(self, question: Question, failure: JudgeFailure | TimeoutError, began: float, samples: int = 1) -> None:
        """A call failed. Raises `JudgeRejection` when the server is gone."""
        self.budget.settle(self.judge, question, samples, [])
        if isinstance(failure, JudgeFailure) and failure.throttled:
            self._slow_down(began)
        elif isinstance(failure, TimeoutError) or failure.retry:
            self._count_failure(failure, began)
        self._leave()

    def abandoned(self, question: Question, samples: int = 1) -> None:
        """A call was given up on our side."""
        self.budget.settle(self.judge, question, samples, [])
        self._leave()

    def _slow_down(self, began: float) -> None:
        """Halve, but once for all the calls that were in flight together."""
        self.throttled += 1
        if began >= self._cut_at:
            self.window = max(1.0, self.window / 2)
            self._cut_at = time.monotonic()

    def _count_failure(self, failure: Exception, began: float) -> None:
        now = time.monotonic()
        self._failing_since = self._failing_since if self._failures else now
        self._failures += 1
        if self._failures < max(FAILURES_IN_A_ROW, self.window):
            return
        if not self._look_at:
            self._window_before, self.window, self._look_pause = self.window, 1.0, FIRST_LOOK
        if began >= self._look_at:  # not one of those that were in flight together with the last look
            self._look_at = now + self._look_pause
            self._look_pause = min(2 * self._look_pause, LONGEST_LOOK)
        if now - self._failing_since >= GONE_AFTER:
            raise JudgeRejection(
                f"{self.judge.spec}: the server seems to be gone: {self._failures} tries in a row failed within "
                f"{now - self._failing_since:.0f} s; the last: {failure}"
            )

    async def _rest(self, question: Question, samples: int) -> None:
        now = time.monotonic()
        pause = max(0.0, self.judge.rest_until - now, self._look_at - now)
        if self._turns is not None:
            pause = max(pause, await self._turns.wait(self.budget.tokens(question, samples)))
        if pause > 0:
            await asyncio.sleep(pause)

    def _leave(self) -> None:
        self.in_flight -= 1
        self._wake()

    def _wake(self) -> None:
        """Let as many go on as there is room for."""
        room = int(self.window) - self.in_flight
        while room > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                room -= 1

    def _given_up(self, turn: asyncio.Future[None]) -> None:
        """Whoever waited is gone; its turn, if it had one already, is another's."""
        if turn in self._waiting:
            self._waiting.remove(turn)
        else:
            self._wake()
