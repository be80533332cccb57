"""One invocation: check everything, then ask every question that the store has no answer to.

Workers share one stream of calls, so no more than `concurrency` are in flight; a worker takes its next call only when
the judgments of the last are durable. SIGKILL therefore loses no judgment that was counted, and repeats at most those
in flight.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import islice

from jurybox.data import Census
from jurybox.errors import JudgeRejection
from jurybox.judges import Judge
from jurybox.parsing import read
from jurybox.runner.job import Call, Job
from jurybox.runner.patience import Outcome, ask
from jurybox.runner.progress import Progress, Silent, Tally
from jurybox.runner.writer import Writer
from jurybox.store import Entry, RunFile, Series
from jurybox.types import DIRECT, Attempt, Item

# Seconds that calls under way are given when a stop is asked for: they are paid already.
GRACE = 10.0
FAILURES_IN_A_ROW = 10
ITEMS_AHEAD = 16
KEYS_REMEMBERED = 1_000_000


async def execute(
    job: Job, store: RunFile, *, progress: Progress | None = None, stop: asyncio.Event | None = None, version: str
) -> Tally:
    """Judge everything that is not judged yet. Returns early, with everything kept, once `stop` is set."""
    stop = stop or asyncio.Event()
    try:
        # In a thread, so that a stop can be asked for while a large file is being checked.
        census = await asyncio.to_thread(check, job, store, stop)
        for judge in job.judges:
            await judge.prepare()
        series = open_series(job, store, census.items, version)
        tally = Tally(total=census.items * job.judgments_an_item)
        await _Run(job, store, series, tally, progress or Silent()).work(stop)
        return tally
    finally:
        for judge in job.judges:
            await judge.close()


def check(job: Job, store: RunFile | None = None, stop: asyncio.Event | None = None) -> Census:
    """The pass over the data before the first call."""

    def seen(item: Item) -> None:
        if stop is not None and stop.is_set():
            raise asyncio.CancelledError
        for judge in job.judges:
            judge.observe(item)
        if store is not None and store.resumed:
            store.refuse_changed(item)

    return job.data.check(job.rubrics, seen)


def open_series(job: Job, store: RunFile, items: int, version: str) -> Mapping[tuple[str, str], int]:
    """(rubric, judge) -> its series in the store."""
    return {
        (rubric.name, judge.spec): store.open_series(
            Series(
                rubric=rubric,
                judge=judge.spec,
                layout=DIRECT if judge.computed else sheet.label,
                sampling=job.sampling,
                material=() if judge.computed else sheet.fields,
                samples=job.samples,
                expected=items * job.samples,
                version=version,
                address=judge.address,
                fingerprint=judge.fingerprint,
            )
        )
        for judge in job.judges
        for sheet in job.sheets
        for rubric in sheet.rubrics
    }


class _Run:
    """The state of one invocation."""

    def __init__(
        self, job: Job, store: RunFile, series: Mapping[tuple[str, str], int], tally: Tally, progress: Progress
    ) -> None:
        self._job, self._store, self._series = job, store, series
        self._tally, self._progress = tally, progress
        self._writer = Writer(store)
        # The calls under way, each with whoever waits for its answer.
        self._under_way: dict[bytes, list[asyncio.Future[None]]] = {}
        self._turns = {
            judge.spec: asyncio.Semaphore(judge.most_at_once) for judge in job.judges if judge.most_at_once is not None
        }
        self._rng = random.Random()  # noqa: S311  jitter, not secrets
        self._failed_in_a_row = 0
        self._asked: set[int] = set()

    async def work(self, stop: asyncio.Event) -> None:
        calls = self._job.calls(self._items())
        workers = [asyncio.create_task(self._worker(calls, stop)) for _ in range(self._job.concurrency)]
        stopped = asyncio.create_task(stop.wait())
        finished = asyncio.gather(*workers)
        try:
            await asyncio.wait((finished, stopped), return_when=asyncio.FIRST_COMPLETED)
            if not finished.done():
                self._progress.stopping(len(self._under_way))
                await asyncio.wait((finished,), timeout=GRACE)
            if finished.done():
                await finished
        finally:
            stopped.cancel()
            for worker in workers:
                worker.cancel()
            await asyncio.gather(finished, *workers, return_exceptions=True)
            await self._writer.close()

    def _items(self) -> Iterator[Item]:
        """The data, read a little ahead, so that items reach the store in groups."""
        items = iter(self._job.data)
        while group := list(islice(items, ITEMS_AHEAD)):
            self._writer.expect(group)
            yield from group

    async def _worker(self, calls: Iterator[Call], stop: asyncio.Event) -> None:
        for call in calls:
            if stop.is_set():
                return
            await self._settle(call)

    async def _settle(self, call: Call) -> None:
        """Bring one call's judgments into the store, asking only for what was never answered."""
        while call.key in self._under_way:  # the same prompt about another item: one answer serves both
            over = asyncio.get_running_loop().create_future()
            self._under_way[call.key].append(over)
            await over
        if self._count_kept(call):
            return
        others = self._under_way[call.key] = []
        try:
            outcome = self._answered_before(call)
            if outcome is None:
                outcome = await self._ask(call)
            await self._keep(call, outcome)
        finally:
            del self._under_way[call.key]
            for over in others:
                if not over.cancelled():
                    over.set_result(None)
        if not call.judge.computed:  # a baseline's success says nothing about a server
            self._stop_when_gone(outcome)

    async def _ask(self, call: Call) -> Outcome:
        """Ask; the deadline of a call that must wait for its judge begins when its turn comes."""
        async with self._turns.get(call.judge.spec, nullcontext()):
            return await ask(call.judge, call.question, self._job.patience, self._rng)

    def _count_kept(self, call: Call) -> bool:
        """Count a call's judgments if an earlier start left them all in the store."""
        if not self._store.resumed or not call.judge.kept:
            return False
        item, sample = call.question.item, call.question.sample
        statuses = [self._store.judged(number, item, sample) for number in self._numbers(call)]
        if None in statuses or "failed" in statuses:
            return False
        self._tally.kept += len(statuses)
        self._count(statuses)
        return True

    def _answered_before(self, call: Call) -> Outcome | None:
        """The outcome of a call with the same key that was paid before, for this item or another."""
        if call.judge.computed or not self._may_be_known(call.key):
            return None
        reply = self._store.find_reply(call.key)
        if reply is None:
            return None
        return Outcome((), 0, read(reply, call.question.rubrics, call.question.answer))

    def _may_be_known(self, key: bytes) -> bool:
        """False spares a look-up: this file was new, and the key was not asked since. A long run stops remembering."""
        if self._store.resumed or len(self._asked) >= KEYS_REMEMBERED:
            return True
        before = len(self._asked)
        self._asked.add(hash(key))
        return len(self._asked) == before

    async def _keep(self, call: Call, outcome: Outcome) -> None:
        cost = _cost(call.judge, outcome.attempts)
        verdicts = outcome.verdicts.values()
        await self._writer.put(
            Entry(
                item=call.question.item,
                sample=call.question.sample,
                key=call.key,
                prompt_digest=bytes.fromhex(call.prompt_digest),
                attempts=outcome.attempts,
                decisive=outcome.decisive,
                verdicts=dict(zip(self._numbers(call), verdicts, strict=True)),
                cost=cost,
            )
        )
        self._tally.calls += bool(outcome.attempts)
        self._tally.kept += 0 if outcome.attempts else len(outcome.verdicts)
        self._tally.retried += max(len(outcome.attempts) - 1, 0)
        self._tally.cost += cost or 0.0
        self._tally.unpriced += cost is None
        self._count([verdict.status for verdict in verdicts])

    def _count(self, statuses: Sequence[str | None]) -> None:
        self._tally.done += len(statuses)
        self._tally.unscored += sum(status != "scored" for status in statuses)
        self._progress.update(self._tally)

    def _numbers(self, call: Call) -> list[int]:
        return [self._series[rubric.name, call.judge.spec] for rubric in call.question.rubrics]

    def _stop_when_gone(self, outcome: Outcome) -> None:
        """A server that fails every call for good is gone; going on would only fill the store with failures."""
        failed = bool(outcome.attempts) and all(attempt.reply is None for attempt in outcome.attempts)
        self._failed_in_a_row = self._failed_in_a_row + 1 if failed else 0
        if self._failed_in_a_row >= max(self._job.concurrency, FAILURES_IN_A_ROW):
            raise JudgeRejection(
                f"{self._failed_in_a_row} calls in a row failed, each after every retry; the last: "
                f"{outcome.attempts[-1].error}"
            )


def _cost(judge: Judge, attempts: Sequence[Attempt]) -> float | None:
    """What all attempts together cost; None when any price is unknown."""
    costs = [judge.cost(attempt.reply) for attempt in attempts if attempt.reply is not None]
    return None if None in costs else sum(cost for cost in costs if cost is not None)
