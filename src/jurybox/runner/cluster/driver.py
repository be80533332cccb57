"""A run on a cluster, as its driver sees it: check, read what is stored, hand out the rest, count what comes back."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jurybox.errors import JudgeRejection, JuryboxError, StoreError, WeightsError
from jurybox.runner.cluster.governor import Governor
from jurybox.runner.cluster.order import Order, Report, add
from jurybox.runner.cluster.source import Done, dataset, dataset_of
from jurybox.runner.cluster.starting import connected, ray_module
from jurybox.runner.cluster.twins import Summaries
from jurybox.runner.cluster.worker import Worker
from jurybox.runner.job import Job, Until
from jurybox.runner.preparing import open_series
from jurybox.runner.progress import Progress, Silent, Tally
from jurybox.runner.run import prepare
from jurybox.runner.session import GRACE
from jurybox.store.parts import JUDGMENTS, Folder, Manifest, PartStore, Stored, complete_items, index, read_columns
from jurybox.types import Item

# Calls in a batch for every call that a worker may have in flight, and batches that it has at a time: the end of one
# overlaps with the next. Fewer calls, and workers wait for Ray; more, and whoever has batches in hand when the data
# ends works on alone for longer.
BATCH_FOR_EACH = 6
BATCHES_AT_ONCE = 3
# Batches that each worker should get at least, so that small data is spread too.
BATCHES_A_WORKER = 4
# Errors that end a run in a worker and are the same error here; any other is a judge's refusal.
_ERRORS: dict[str, type[JuryboxError]] = {"StoreError": StoreError, "WeightsError": WeightsError}


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where the workers are and how many; `address` None starts a Ray of our own on this machine."""

    address: str | None = None
    workers: int = 2
    gpus: float = 0.0


async def execute_on_cluster(
    job: Job,
    make_job: Callable[[], Job],
    folder: Folder,
    cluster: Cluster,
    *,
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
    version: str,
) -> Tally:
    """Judge everything that the folder lacks. `make_job` makes the same job in a worker, without its data."""
    stop, progress, summaries = stop or asyncio.Event(), progress or Silent(), Summaries()
    columns = await asyncio.to_thread(_columns, folder)
    stored = index(columns)
    store = PartStore(folder, Manifest(folder), stored)
    try:
        census = await prepare(job, store, stop, summaries.see)
    finally:
        for judge in job.judges:
            await judge.close()
    series = open_series(job, store, census.items, version)
    done = _done(job, columns, stored, series)
    del columns  # as long as everything that is stored
    tally = Tally(total=census.items * job.judgments_an_item)
    async with connected(cluster.address, cluster.workers):
        order = Order(
            make_job,
            series,
            folder.address,
            store.manifest.begin(),
            summaries.repeated(),
            {judge.spec: judge for judge in job.judges if judge.computed and not judge.in_process},
            {judge.spec: judge.context for judge in job.judges},
        )
        if not stop.is_set():
            await _Run(job, cluster, order, folder, tally, progress).work(census.items, stored, done, stop)
    return tally


def _columns(folder: Folder) -> dict[str, Any]:
    return read_columns(folder, folder.names(JUDGMENTS))


def _done(job: Job, columns: dict[str, Any], stored: Stored, series: Any) -> Done | None:
    """The items that need not be asked about at all: the driver's half of the anti-join. What `--samples auto` still
    wants, and baselines, which are computed anew at every start, are the workers' half."""
    if isinstance(job.samples, Until) or not stored.parts or not all(judge.kept for judge in job.judges):
        return None
    complete = complete_items(columns, set(series.values()), job.samples, job.judgments_an_item)
    return Done(complete, stored, dict.fromkeys(series.values(), job.samples))


class _Run:
    def __init__(
        self, job: Job, cluster: Cluster, order: Order, folder: Folder, tally: Tally, progress: Progress
    ) -> None:
        self._job, self._cluster, self._order, self._folder = job, cluster, order, folder
        self._tally, self._progress = tally, progress
        self._later: list[Item] = []
        self._said: set[str] = set()

    async def work(self, items: int, stored: Stored, done: Done | None, stop: asyncio.Event) -> None:
        """All items; then those that had to wait for the answers to others, until there are none."""
        ray = ray_module()
        limits, workers = self._job.limits, self._cluster.workers
        rates = {judge.spec: (limits.rpm, limits.tpm) for judge in self._job.judges}
        actor = ray.remote(Governor).options(num_cpus=0, max_concurrency=10_000)
        governor = actor.remote(limits.max_cost, stored.spent, rates, workers, [ray.put(stored)])
        try:
            rows = dataset(self._job.data.files, None if done is None else ray.put(done))
            await self._count(self._judged(rows, governor, items), governor, stop)
            while self._later and not stop.is_set() and not self._tally.stopped:
                later, self._later = self._later, []
                stored = index(await asyncio.to_thread(_columns, self._folder))
                await governor.next_round.remote([ray.put(stored)])
                await self._count(self._judged(dataset_of(later), governor, len(later)), governor, stop)
        finally:
            ray.kill(governor)

    def _judged(self, rows: Any, governor: Any, items: int) -> _Reports:
        ray = ray_module()
        workers = self._cluster.workers
        judged = rows.repartition(target_num_rows_per_block=self._lines_a_batch(items)).map_batches(
            Worker,
            batch_size=None,
            batch_format="numpy",
            compute=ray.data.ActorPoolStrategy(
                size=workers,
                max_tasks_in_flight_per_actor=BATCHES_AT_ONCE + 1,
                max_concurrent_calls_per_actor=BATCHES_AT_ONCE,
            ),
            fn_constructor_args=(self._order, governor),
            num_cpus=1,
            **({"num_gpus": self._cluster.gpus} if self._cluster.gpus else {}),
        )
        return _Reports(iter(judged.iter_batches(batch_size=None, batch_format="numpy", prefetch_batches=0)))

    def _lines_a_batch(self, items: int) -> int:
        calls = max(1, len(self._job.sheets) * len(self._job.judges) * self._job.least_samples)
        enough = BATCH_FOR_EACH * self._job.limits.concurrency // calls
        return max(1, min(enough, items // (self._cluster.workers * BATCHES_A_WORKER)))

    async def _count(self, reports: _Reports, governor: Any, stop: asyncio.Event) -> None:
        """Count batches as they come, until all are there or, once a stop was asked for, their time is over."""
        stopping = asyncio.create_task(stop.wait())
        deadline: float | None = None
        loop = asyncio.get_running_loop()
        coming = loop.run_in_executor(None, reports.next)
        try:
            while True:
                waiting = {coming} if deadline is not None else {coming, stopping}
                timeout = None if deadline is None else max(0.0, deadline - loop.time())
                arrived, _ = await asyncio.wait(waiting, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
                if coming in arrived:
                    batch = coming.result()
                    if batch is None:
                        return
                    self._take(batch)
                    coming = loop.run_in_executor(None, reports.next)
                elif deadline is None:
                    self._progress.stopping(self._job.limits.concurrency * self._cluster.workers)
                    await governor.stop.remote()
                    deadline = loop.time() + GRACE + 2
                else:
                    return
        except BaseException:
            governor.stop.remote()  # whoever still has a batch puts it aside
            raise
        finally:
            stopping.cancel()
            coming.cancel()  # whatever it may still bring
            await asyncio.to_thread(reports.close)

    def _take(self, batch: Any) -> None:
        for body, later in zip(batch["report"], batch["later"], strict=True):
            report = Report.from_bytes(body)
            add(self._tally, report.tally)
            self._later += pickle.loads(later)  # noqa: S301  our workers'
            for text in report.said:
                if text not in self._said:
                    self._said.add(text)
                    self._progress.say(text)
            self._progress.update(self._tally)
            if report.error:
                raise _ERRORS.get(report.kind, JudgeRejection)(report.error)


class _Reports:
    """The batches that come back, asked for in a thread. Closing them ends what is still under way for this run."""

    def __init__(self, batches: Any) -> None:
        self._batches = batches
        self._over = False

    def next(self) -> Any:
        """The next batch, or None; what Ray raises becomes one sentence."""
        try:
            return next(self._batches, None)
        except Exception as exc:
            last = str(exc).strip().splitlines()
            raise JudgeRejection(f"the cluster gave up: {last[-1] if last else type(exc).__name__}") from exc
        finally:
            if self._over:
                self.close()

    def close(self) -> None:
        self._over = True
        with contextlib.suppress(ValueError):  # its thread waits for a batch, and will close it then
            self._batches.close()
