"""The one small actor of a run on a cluster: money, requests and tokens a minute, prompts that items of two workers
may share, and what every worker must hear.

It counts with the very classes that one process counts with; `SharedAccount` and `SharedTurns` stand for them in the
workers. Without limits a worker calls it once or twice a batch, with limits up to three times a request.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

from jurybox.runner.budget import OverBudget, OwnAccount
from jurybox.runner.turns import OwnTurns

# Seconds after a worker was lost in which every batch is looked up again: its work may come in other pieces.
WARY = 120.0

Rates = tuple[float | None, float | None]


class Governor:
    """Made an actor by the driver; every method is a coroutine, so that one may wait while others are served.

    What a lost worker had set aside stays set aside: its calls in flight may have been paid.
    """

    def __init__(
        self, limit: float | None, spent: float, rates: Mapping[str, Rates], workers: int, stored: Sequence[Any]
    ) -> None:
        self._account = OwnAccount(limit, spent)
        self._turns = {judge: OwnTurns(*rate) for judge, rate in rates.items()}
        self._workers, self._joined, self._stored = workers, 0, stored
        self._wary_until = 0.0
        self._begun: set[str] = set()
        self._claimed: dict[bytes, int] = {}
        self._stop = asyncio.Event()

    async def reserve(self, token: int, most: float) -> tuple[bool, str]:
        """Whether money was set aside, and why there is none left if so."""
        try:
            return await self._account.reserve(token, most), ""
        except OverBudget as exc:
            return False, str(exc)

    async def settle(self, token: int, cost: float) -> None:
        self._account.settle(token, cost)

    async def wait(self, judge: str, tokens: int) -> float:
        return self._turns[judge].place(tokens)

    async def correct(self, judge: str, tokens: int) -> None:
        self._turns[judge].correct(tokens)

    async def join(self) -> tuple[int, Sequence[Any]]:
        """A worker is there: its number, and a reference to what is stored. One more than were asked for takes the
        place of one that was lost."""
        self._joined += 1
        if self._joined > self._workers:
            self._wary_until = time.monotonic() + WARY
        return self._joined, self._stored

    async def begin(self, batch: str) -> bool:
        """A worker begins with a batch; whether another may have judged some of it."""
        before = batch in self._begun
        self._begun.add(batch)
        return before or time.monotonic() < self._wary_until

    async def claim(self, worker: int, wanted: Sequence[Sequence[bytes]]) -> list[bool]:
        """For the keys of each item, whether this worker may ask for all of them: no other has claimed any."""
        return [self._claim(worker, keys) for keys in wanted]

    def _claim(self, worker: int, keys: Sequence[bytes]) -> bool:
        is_free = all(self._claimed.get(key, worker) == worker for key in keys)
        if is_free:
            self._claimed.update(dict.fromkeys(keys, worker))
        return is_free

    async def next_round(self, stored: Sequence[Any]) -> None:
        """Every answer so far is stored, and other workers will join."""
        self._joined, self._stored = 0, stored
        self._claimed.clear()

    async def stop(self) -> None:
        self._stop.set()

    async def stopped(self) -> None:
        """Returns when a stop is asked for."""
        await self._stop.wait()


class SharedAccount:
    """A worker's way to the money of the whole cluster."""

    def __init__(self, governor: Any, worker: int, limit: float | None) -> None:
        self._governor, self._worker = governor, worker
        self.limit = limit

    async def reserve(self, token: int, most: float) -> bool:
        is_set_aside, why = await self._governor.reserve.remote(self._of_worker(token), most)
        if why:
            raise OverBudget(why)
        return bool(is_set_aside)

    def settle(self, token: int, cost: float) -> None:
        self._governor.settle.remote(self._of_worker(token), cost)

    def _of_worker(self, token: int) -> int:
        """Tokens are addresses of one process: two workers may have the same."""
        return token << 20 | self._worker


class SharedTurns:
    """A worker's way to the requests and tokens a minute of one judge."""

    def __init__(self, governor: Any, judge: str) -> None:
        self._governor, self._judge = governor, judge

    async def wait(self, tokens: int) -> float:
        return float(await self._governor.wait.remote(self._judge, tokens))

    def correct(self, tokens: int) -> None:
        if tokens:
            self._governor.correct.remote(self._judge, tokens)
