"""Before the first call: the data is checked, prices are known, and the store knows what it will be given."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from jurybox.data import Census
from jurybox.errors import SetupError
from jurybox.fields import characters
from jurybox.runner.job import Job, Until
from jurybox.store import RunStore, Series
from jurybox.types import DIRECT, Item, Reply


def check(
    job: Job,
    store: RunStore | None = None,
    stop: asyncio.Event | None = None,
    see: Callable[[Item], None] | None = None,
) -> Census:
    """The pass over the data before the first call; `see` sees every item."""

    def seen(item: Item) -> None:
        if stop is not None and stop.is_set():
            raise asyncio.CancelledError
        for judge in job.judges:
            judge.observe(item)
        if see is not None:
            see(item)
        if store is not None and store.resumed:
            store.refuse_changed(item)

    return job.data.check(job.rubrics, seen)


def open_series(job: Job, store: RunStore, items: int, version: str) -> Mapping[tuple[str, str], int]:
    """(rubric, judge) -> its series in the store."""
    return {
        (rubric.name, judge.spec): store.open_series(
            Series(
                rubric=rubric,
                judge=judge.spec,
                layout=DIRECT if judge.computed else sheet.label,
                sampling=job.sampling,
                material=() if judge.computed else sheet.fields,
                samples=job.samples_of(judge),
                expected=items * job.samples_of(judge, least=True),
                version=version,
                address=judge.address,
                fingerprint=judge.fingerprint,
                long="" if judge.computed or job.long == "refuse" else job.long,
                until=str(job.samples) if isinstance(job.samples, Until) and not judge.computed else "",
            )
        )
        for judge in job.judges
        for sheet in job.sheets
        for rubric in sheet.rubrics
    }


class Longest:
    """The longest item seen, in characters of what a judge may be shown."""

    def __init__(self) -> None:
        self.characters = 0

    def see(self, item: Item) -> None:
        self.characters = max(self.characters, len(item.summary) + characters(item.source))


def refuse_unknown_prices(job: Job) -> None:
    """A limit on money means nothing where nobody knows the price."""
    if job.limits.max_cost is None:
        return
    for judge in job.judges:
        if judge.cost(Reply("", tokens_in=1, tokens_out=1)) is None:
            raise SetupError(
                f"--max-cost: the price of {judge.spec} is not known; give it with --price IN,OUT (USD for a million "
                "tokens)"
            )
