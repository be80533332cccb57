"""Batches on their way: handed over, looked for after a kill, waited for, and brought home into the store.

Before a batch is sent the store knows that it will be; right after, under which id. What comes back is durable here,
group by group, before anything is made of it.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from jurybox.errors import JudgeFailure, JudgeRejection
from jurybox.judges import Judge
from jurybox.judges.batches import Batches, BatchState
from jurybox.runner.patience import Patience
from jurybox.runner.progress import Progress
from jurybox.store.batches import Batch, BatchBook, Returned
from jurybox.types import Question, Reply

# Answers made durable together while a batch is fetched.
GROUP = 200

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Polling:
    """Seconds: between looks at a batch (from `first` to `longest`), until a batch whose sending was broken off must
    have turned up at the server (`settle`), and that sending one may take (`sending`). So many looks in a row may fail
    (`failures`)."""

    first: float = 2.0
    longest: float = 60.0
    growth: float = 1.5
    settle: float = 30.0
    sending: float = 1800.0
    failures: int = 30


class Post:
    """The batches of one run. `halted` says why nothing more may be sent, if so."""

    def __init__(
        self, judges: Sequence[Judge], book: BatchBook, progress: Progress, patience: Patience, polling: Polling
    ) -> None:
        self._judges = {judge.spec: judge for judge in judges}
        self._book, self._progress = book, progress
        self._patience, self._polling = patience, polling
        self._most: dict[str, int] = {}
        self._last_said = ""
        self.halted = ""

    def out(self) -> list[Batch]:
        return self._book.open_batches(self._judges)

    def most(self, judge: Judge) -> int:
        """Questions that the next batch may hold; 0 while a crowded server must first finish the last."""
        most = self._most.get(judge.spec)
        if most is None:
            return _batches(judge).most
        return 0 if self._book.open_batches([judge.spec]) else most

    async def recover(self) -> None:
        """Find out what became of batches that were about to be sent when an earlier start ended."""
        for batch in self.out():
            if batch.remote is None:
                await self._look_for(batch, batch.at + self._polling.settle)

    async def send(self, judge: Judge, asked: Mapping[bytes, Question]) -> None:
        """Hand over questions; when this returns the store knows the batch's id."""
        batch = self._book.intend(judge.spec, f"jurybox-{uuid.uuid4().hex}", list(asked))
        named = {key.hex(): question for key, question in asked.items()}
        failures = 0
        while True:
            try:
                async with asyncio.timeout(self._polling.sending):
                    remote: str | None = await _batches(judge).submit(named, batch.label)
                break
            except JudgeRejection:
                self._book.drop(batch)
                raise
            except (JudgeFailure, TimeoutError) as exc:
                failures += 1
                await self._after_failure(exc, failures, f"{judge.spec}: a batch could not be handed over")
                # A server that broke off may have taken the batch all the same.
                throttled = isinstance(exc, JudgeFailure) and exc.throttled
                remote = None if throttled else await self._find(batch, time.time() + self._polling.settle)
                if remote is not None:
                    break
        self._book.note(batch, remote)
        self._progress.say(f"{judge.spec}: batch {remote} with {len(asked):,} questions is at the server")

    async def wait(self, stop: asyncio.Event) -> None:
        """Return when every batch is home, or when a stop is asked for."""
        pause, failures = self._polling.first, 0
        while out := self.out():
            if await pause_or_stop(pause, stop):
                return
            pause = min(pause * self._polling.growth, self._polling.longest)
            try:
                if await self._look(out, stop):
                    pause = self._polling.first
                failures = 0
            except (JudgeFailure, TimeoutError) as exc:
                failures += 1
                if failures > self._polling.failures:
                    raise JudgeRejection(
                        f"{failures} looks at the batches in a row failed, the last: {str(exc) or 'no answer'}; they "
                        "go on at the server, and the same command fetches their answers"
                    ) from exc

    async def _look(self, out: Sequence[Batch], stop: asyncio.Event) -> bool:
        """Look at every batch that is out and bring home those that are over; whether any was."""
        done = total = ended = 0
        for batch in out:
            async with asyncio.timeout(self._patience.deadline):
                state = await self._batches(batch).state(batch.remote or "")
            done, total = done + state.done, total + batch.questions
            if state.state != "working":
                ended += 1
                await self._end(batch, state, stop)
        are_out = "1 batch is out" if len(out) == 1 else f"{len(out)} batches are out"
        said = f"{are_out}, {done:,} of {total:,} questions answered"
        if said != self._last_said:
            self._last_said = said
            self._progress.say(said)
        return ended > 0

    async def _end(self, batch: Batch, state: BatchState, stop: asyncio.Event) -> None:
        if state.state == "refused":
            await self._refused(batch, state, stop)
        elif state.state == "lost":
            self._progress.say(
                f"{batch.judge}: batch {batch.remote} is lost ({state.said}); its questions are asked again"
            )
            self._book.finish(batch, f"batch {batch.remote} was lost: {state.said}")
        elif not await self._fetch(batch):  # a guess that was wrong
            self._book.note(batch, None)
            await self._look_for(batch, time.time())
        elif state.state == "cancelled":
            self._book.finish(batch, None)
            self.halted = (
                f"{batch.judge}: batch {batch.remote} was cancelled at the server; what it had answered is kept, and "
                "the same command asks for the rest"
            )
        else:
            self._book.finish(batch, "the batch ended without an answer to this question")

    async def _refused(self, batch: Batch, state: BatchState, stop: asyncio.Event) -> None:
        self._book.drop(batch)
        if not state.crowded:
            raise JudgeRejection(f"{batch.judge}: the server refused batch {batch.remote}: {state.said}")
        self._most[batch.judge] = max(1, batch.questions // 2)
        self._progress.say(f"{batch.judge}: {state.said} The next batch is smaller, and they go one at a time.")
        await pause_or_stop(self._polling.longest, stop)

    async def _fetch(self, batch: Batch) -> bool:
        """Bring home what a batch has; False when all of it is another's."""
        judge = self._judges[batch.judge]
        waiting = set(self._book.keys(batch))
        ours, strangers = len(waiting) < batch.questions, False
        group: list[tuple[bytes, Returned]] = []
        async for name, result in self._within(_batches(judge).results(batch.remote or "")):
            key = _key(name)
            if key not in waiting:
                strangers = True
                continue
            waiting.discard(key)
            ours = True
            group.append((key, to_returned(judge, result, _batches(judge).price)))
            if len(group) >= GROUP:
                self._book.keep(batch.number, group)
                group = []
        self._book.keep(batch.number, group)
        return ours or not strangers

    async def _within(self, results: AsyncIterator[T]) -> AsyncIterator[T]:
        """The same, with a limit on how long each may take to come."""
        while True:
            try:
                async with asyncio.timeout(self._patience.deadline):
                    result = await anext(results)
            except StopAsyncIteration:
                return
            yield result

    async def _look_for(self, batch: Batch, until: float) -> None:
        """Note the id of a batch that has none yet, or forget it, so that its questions are asked again."""
        remote = await self._find(batch, until)
        if remote is None:
            self._book.drop(batch)
        else:
            self._book.note(batch, remote)

    async def _find(self, batch: Batch, until: float) -> str | None:
        names = frozenset(key.hex() for key in self._book.keys(batch))
        while True:
            remote = await self._tried(
                lambda: self._batches(batch).find(batch.label, names, batch.at, self._book.remotes()),
                f"{batch.judge}: an earlier batch could not be looked for",
            )
            if remote is not None or time.time() >= until:
                return remote
            await asyncio.sleep(min(1.0, self._polling.first))

    async def _tried(self, action: Callable[[], Awaitable[T]], what: str) -> T:
        failures = 0
        while True:
            try:
                async with asyncio.timeout(self._patience.deadline):
                    return await action()
            except (JudgeFailure, TimeoutError) as exc:
                failures += 1
                await self._after_failure(exc, failures, what)

    async def _after_failure(self, exc: JudgeFailure | TimeoutError, failures: int, what: str) -> None:
        """Wait before the next try; raises when there is none."""
        retry = isinstance(exc, TimeoutError) or exc.retry
        if not retry or failures > self._patience.retries:
            raise JudgeRejection(f"{what}: {str(exc) or 'no answer'}") from exc
        after = exc.after if isinstance(exc, JudgeFailure) else None
        backoff = min(self._patience.first_pause * 2 ** (failures - 1), self._patience.longest_pause)
        await asyncio.sleep(backoff if after is None else after)

    def _batches(self, batch: Batch) -> Batches:
        return _batches(self._judges[batch.judge])


def to_returned(judge: Judge, result: Reply | JudgeFailure, price: float) -> Returned:
    """An answer as the store keeps it until it is judged; `price` is the share of the live one that it cost."""
    if isinstance(result, JudgeFailure):
        return Returned(None, str(result), result.retry, result.too_long)
    cost = judge.cost(result)
    return Returned(result, cost=None if cost is None else cost * price)


async def pause_or_stop(seconds: float, stop: asyncio.Event) -> bool:
    """Wait; True as soon as a stop is asked for."""
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        pass
    return stop.is_set()


def _batches(judge: Judge) -> Batches:
    assert judge.batches is not None, "judges without batches are refused before anything is asked"
    return judge.batches


def _key(name: str) -> bytes:
    try:
        return bytes.fromhex(name)
    except ValueError:  # none of ours
        return b""
