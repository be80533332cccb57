"""Judging through batches in this process or in one of its own (`python tests/batching.py OUT DATA URL JUDGE…`)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jurybox.api.jobs import make_job
from jurybox.runner import Patience, Tally
from jurybox.runner.batching import execute_batches
from jurybox.runner.budget import Budget
from jurybox.runner.keeping import Keeper
from jurybox.runner.post import Polling
from jurybox.runner.preparing import check, open_series
from jurybox.store import ReplyCache, RunFile

QUICK = Polling(first=0.02, longest=0.05, settle=0.2)


class Heard:
    """Progress that remembers what was said."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.done: list[int] = []

    def update(self, tally: Tally) -> None:
        self.done.append(tally.done)

    def stopping(self, under_way: int) -> None:
        pass

    def say(self, text: str) -> None:
        self.said.append(text)


async def judge(
    out: Path,
    data: Path,
    url: str,
    judges: Sequence[str],
    *,
    rubrics: str = "fluency",
    progress: Heard | None = None,
    stop: asyncio.Event | None = None,
    most: int | None = None,
    cache: Path | None = None,
    polling: Polling = QUICK,
    **options: Any,
) -> Tally:
    """One start of a run by batches; `most` bounds the questions of one batch."""
    job = make_job(data, rubrics, list(judges), base_url=url, **options)
    job = replace(job, patience=Patience(retries=job.patience.retries, reasks=job.patience.reasks, first_pause=0.01))
    store = RunFile(out)
    try:
        census = check(job, store)
        series = open_series(job, store, census.items, "0")
        tally = Tally(total=census.items * job.judgments_an_item)
        for one in job.judges:
            if most is not None and one.batches is not None:
                one.batches.most = most
        heard = progress or Heard()
        replies = None if cache is None else ReplyCache(cache)
        keeper = Keeper(store, series, tally, heard, replies)
        budget = Budget(job.limits.max_cost, store.spent())
        await execute_batches(job, keeper, budget, stop or asyncio.Event(), polling=polling)
        if replies is not None:
            replies.close()
        return tally
    finally:
        for one in job.judges:
            await one.close()
        store.close()


if __name__ == "__main__":
    path, records, address, *specs = sys.argv[1:]
    asyncio.run(judge(Path(path), Path(records), address, specs, most=1000))
