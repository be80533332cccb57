"""One invocation: check everything, then ask every question that the store has no answer to.

Workers share one stream of calls, so no more than `concurrency` are in flight; a worker takes its next call only when
the judgments of the last are durable. SIGKILL therefore loses no judgment that was counted, and repeats at most those
in flight.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from jurybox.data import Census
from jurybox.runner.budget import Budget
from jurybox.runner.job import Job
from jurybox.runner.keeping import Keeper
from jurybox.runner.preparing import Longest, check, open_series, refuse_unknown_prices
from jurybox.runner.progress import Progress, Silent, Tally
from jurybox.runner.session import Session
from jurybox.runner.writer import Writer
from jurybox.store import ReplyCache, RunFile, RunStore
from jurybox.types import Item

# Items of more characters may be more than a small context holds, so the server is asked for it where nobody knows it.
WORTH_ASKING = 12_000


async def prepare(job: Job, store: RunStore, stop: asyncio.Event, see: Callable[[Item], None] | None = None) -> Census:
    """Everything before the first call: the data is checked, the judges are ready, their prices are known."""
    longest = Longest()

    def seen(item: Item) -> None:
        longest.see(item)
        if see is not None:
            see(item)

    # In a thread, so that a stop can be asked for while a large file is being checked.
    census = await asyncio.to_thread(check, job, store, stop, seen)
    for judge in job.judges:
        await judge.prepare()
        if longest.characters > WORTH_ASKING:
            await judge.learn_context()
    refuse_unknown_prices(job)
    return census


async def execute(
    job: Job,
    store: RunFile,
    *,
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
    cache: ReplyCache | None = None,
    batch: bool = False,
    version: str,
) -> Tally:
    """Judge everything that is not judged yet. Returns early, with everything kept, once `stop` is set."""
    stop = stop or asyncio.Event()
    progress = progress or Silent()
    try:
        census = await prepare(job, store, stop)
        series = open_series(job, store, census.items, version)
        tally = Tally(total=census.items * job.judgments_an_item)
        keeper = Keeper(store, series, tally, progress, cache)
        budget = Budget(job.limits.max_cost, store.spent())
        if batch:
            from jurybox.runner.batching import execute_batches

            await execute_batches(job, keeper, budget, stop)
        else:
            writer = Writer(store)
            try:
                await Session(job, keeper, budget, writer).work(job.data, stop)
            finally:
                await writer.close()
        return tally
    finally:
        for judge in job.judges:
            await judge.close()
