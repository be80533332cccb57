"""One worker of a cluster: the runner's own session on one event loop, for one batch of items after another.

Ray Data calls it with several batches at a time, all on the same loop; the pace bounds what is in flight over all of
them, so that the last calls of one batch do not leave the server idle.
"""

from __future__ import annotations

import asyncio
import gc
import pickle
import sys
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from jurybox.errors import JuryboxError
from jurybox.judges import Judge
from jurybox.runner.budget import Budget
from jurybox.runner.cluster.governor import SharedAccount, SharedTurns
from jurybox.runner.cluster.order import Order, Report
from jurybox.runner.cluster.twins import is_among
from jurybox.runner.cluster.writer import PartWriter
from jurybox.runner.job import Call, Job
from jurybox.runner.keeping import Keeper
from jurybox.runner.progress import Silent, Tally
from jurybox.runner.session import Session
from jurybox.store.parts import JUDGMENTS, PartStore, open_folder
from jurybox.types import Item

Batch = dict[str, Any]


class Worker:
    """The callable class of `map_batches`. Made in the actor, before its event loop runs; ready at the first batch."""

    def __init__(self, order: Order, governor: Any) -> None:
        _tune()
        self._order, self._governor = order, governor
        self._job = self._own(order.make_job())
        self._readying, self._line = asyncio.Lock(), asyncio.Lock()
        self._session: Session | None = None
        self._stop = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._broken: Report | None = None

    async def __call__(self, batch: Batch) -> Batch:
        later: list[Item] = []
        report = await self._judge(batch, later)
        return {"report": [report.to_bytes()], "later": [pickle.dumps(later)]}

    async def _judge(self, batch: Batch, later: list[Item]) -> Report:
        """What became of a batch; `later` is given the items that must wait for another worker's answers."""
        tally = Tally(kept=int(sum(batch["kept"])), done=int(sum(batch["kept"])), unscored=int(sum(batch["unscored"])))
        items: list[Item] = [item for packed in batch["items"] for item in pickle.loads(packed)]  # noqa: S301  our driver's
        if not items or self._stop.is_set():
            return Report(tally)
        if self._broken is not None:
            return self._broken
        progress = _Saying()
        try:
            session = await self._ready()
            if await self._governor.begin.remote(str(batch["name"][0])):
                below = f"{JUDGMENTS}/start={self._order.start:04d}"
                await asyncio.to_thread(self._store.look_again, below)
            items, others = await self._claimed(items)
            later += others
            keeper = Keeper(self._store, self._order.series, tally, progress, None)
            try:
                await self._in_line(session.counting(keeper), items)
            finally:
                await self._writer.flush()
        except JuryboxError as exc:
            self._broken = Report(tally, str(exc), type(exc).__name__, tuple(progress.said))
            return self._broken
        return Report(tally, said=tuple(progress.said))

    async def _claimed(self, items: list[Item]) -> tuple[list[Item], list[Item]]:
        """The items that this worker may ask about, and those of which another asks something at this moment."""
        twins = [item for item in items if is_among(self._order.repeated, item)]
        if not twins:
            return items, []
        wanted = [[call.key for call in self._job.calls([item]) if not self._is_known(call)] for item in twins]
        granted = await self._governor.claim.remote(self._number, wanted)
        refused = {item.key for item, is_granted in zip(twins, granted, strict=True) if not is_granted}
        return [item for item in items if item.key not in refused], [item for item in twins if item.key in refused]

    def _is_known(self, call: Call) -> bool:
        return call.judge.computed or self._store.is_answered(call.key)

    async def _in_line(self, session: Session, items: list[Item]) -> None:
        """Judge a batch. The next one begins when all of this one has been taken up, not when all of it is answered:
        calls in flight stay as many as they may be, and batches end one after another, not all at a time."""
        taken = asyncio.Event()
        async with self._line:
            judging = asyncio.ensure_future(session.work(_told(items, taken), self._stop))
            taking = asyncio.ensure_future(taken.wait())
            await asyncio.wait((judging, taking), return_when=asyncio.FIRST_COMPLETED)
            taking.cancel()
        await judging

    async def _ready(self) -> Session:
        async with self._readying:
            if self._session is None:
                self._session = await self._open()
        return self._session

    async def _open(self) -> Session:
        order = self._order
        self._number, (stored,) = await self._governor.join.remote()
        number = self._number
        self._store = PartStore(open_folder(order.folder), stored=await stored)
        self._writer = PartWriter(self._store, order.start, f"w{number:04d}-{uuid.uuid4().hex[:6]}")
        job = self._job
        for judge in job.judges:
            await judge.prepare()
        limits = job.limits
        account = SharedAccount(self._governor, number, limits.max_cost)
        turns = {}
        if limits.rpm is not None or limits.tpm is not None:
            turns = {judge.spec: SharedTurns(self._governor, judge.spec) for judge in job.judges if not judge.computed}
        self._spawn(self._hear())
        keeper = Keeper(self._store, order.series, Tally(), Silent(), None)
        return Session(job, keeper, Budget(account=account), self._writer, turns)

    def _own(self, job: Job) -> Job:
        """The job with the driver's knowledge of its judges: the same prompts, so the same keys, everywhere."""

        def known(judge: Judge) -> Judge:
            judge = self._order.computed.get(judge.spec, judge)
            if self._order.contexts.get(judge.spec) is not None:
                judge.context = self._order.contexts[judge.spec]
            return judge

        return replace(job, judges=tuple(known(judge) for judge in job.judges))

    async def _hear(self) -> None:
        """Stop when the driver says so."""
        await self._governor.stopped.remote()
        self._stop.set()

    def _spawn(self, coroutine: Any) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _tune() -> None:
    """This process is ours. What is imported stays and judgments leave no cycles behind; and the loop, which answers
    wait for, need not wait 5 ms for the lock whenever one of Ray's threads or a flush has it."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    sys.setswitchinterval(0.0005)


def _told(items: Iterable[Item], taken: asyncio.Event) -> Iterator[Item]:
    yield from items
    taken.set()


class _Saying(Silent):
    """What a person should know, kept for the driver."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)
