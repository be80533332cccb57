"""`evaluate` and `plan`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal

from jurybox import __version__
from jurybox.api.jobs import DEFAULT_JUDGE, Data, make_job
from jurybox.api.looking import Run
from jurybox.data import PairedDataset
from jurybox.errors import SetupError, StoreError, refuse_unknown_choice
from jurybox.runner import Job, Plan, Progress, execute, make_plan
from jurybox.store import ReplyCache, RunFile, RunReader, default_path
from jurybox.types import Rubric

ENGINES = ("local", "ray")


def refuse_cluster_options(ray_address: str | None, workers: int | None) -> None:
    if ray_address is not None or workers is not None:
        raise SetupError("--ray-address and --workers are for --engine ray")


async def aevaluate(
    data: Data,
    *,
    rubrics: str | Sequence[str | Rubric],
    judge: str | Sequence[str] = DEFAULT_JUDGE,
    out: str | Path | None = None,
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
    cache: str | Path | bool = True,
    batch: bool = False,
    engine: Literal["local", "ray"] = "local",
    ray_address: str | None = None,
    workers: int | None = None,
    **options: Any,
) -> Run:
    """Judge every item on every rubric into one run file; what the file already has is not asked again.

    `cache` is where replies are kept across runs: True for the user's own, False for nowhere. With the engine `ray`
    workers on a cluster judge (`ray_address`; without one, on this machine) into a folder of results.
    """
    refuse_unknown_choice("engine", engine, ENGINES)
    if engine == "ray":
        from jurybox.api.scaling import evaluate_on_ray

        return await evaluate_on_ray(
            data,
            rubrics,
            judge,
            out,
            ray_address,
            workers,
            progress=progress,
            stop=stop,
            batch=batch,
            cache=cache,
            **options,
        )
    refuse_cluster_options(ray_address, workers)
    job = make_job(data, rubrics, judge, **options)
    path = default_out(data) if out is None else Path(out)
    fresh = not path.exists()
    store = RunFile(path)
    try:
        _refuse_mixing(path, duels=isinstance(data, PairedDataset))
        with _opened(cache, job) as replies:
            tally = await execute(
                job, store, progress=progress, stop=stop, cache=replies, batch=batch, version=__version__
            )
    except SetupError:
        store.close()
        if fresh:
            _remove_empty(path)
        raise
    finally:
        store.close()
    return Run(path, tally)


@contextmanager
def _opened(cache: str | Path | bool, job: Job, *, make: bool = True) -> Iterator[ReplyCache | None]:
    """The cache of replies, for as long as it is needed; only a cache that a person named must work."""
    if cache is False or not any(judge.cached for judge in job.judges):
        yield None
        return
    path = default_path() if cache is True else Path(cache)
    if not make and not path.exists():
        yield None
        return
    try:
        replies = ReplyCache(path)
    except StoreError:
        if cache is not True:
            raise
        yield None
        return
    try:
        yield replies
    finally:
        replies.close()


def evaluate(
    data: Data, *, rubrics: str | Sequence[str | Rubric], judge: str | Sequence[str] = DEFAULT_JUDGE, **options: Any
) -> Run:
    """`aevaluate` for code without an event loop."""
    return asyncio.run(aevaluate(data, rubrics=rubrics, judge=judge, **options))


def default_out(data: Data, kind: str = "run") -> Path:
    """Where a run goes when nobody says: beside you, named after the data, so that the same command goes on."""
    if isinstance(data, str | Path) and data != "-":
        return Path(f"{Path(data).stem}.{kind}.db")
    return Path(f"jurybox.{kind}.db")


def _refuse_mixing(path: Path, *, duels: bool) -> None:
    """One run file holds scores or duels: the same column would mean two things."""
    with RunReader(path) as reader:
        kinds = {signature.is_duel for signature in reader.signatures().values()}
    if kinds - {duels}:
        held, now = ("scores", "duels") if duels else ("duels", "scores")
        raise StoreError(f"{path}: holds {held}, and now {now} are asked for; give another --out")


def _remove_empty(path: Path) -> None:
    """Wrong input leaves nothing behind: the file was made for a run that never began."""
    try:
        with RunReader(path) as reader:
            spent = reader.spent()
            if spent["calls"] or spent["reused"]:
                return
    except StoreError:
        return
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def plan(
    data: Data,
    *,
    rubrics: str | Sequence[str | Rubric],
    judge: str | Sequence[str] = DEFAULT_JUDGE,
    out: str | Path | None = None,
    cache: str | Path | bool = True,
    batch: bool = False,
    engine: Literal["local", "ray"] = "local",
    ray_address: str | None = None,
    workers: int | None = None,
    **options: Any,
) -> Plan:
    """What `evaluate` with the same arguments would ask and cost; sends nothing, judges nothing."""
    refuse_unknown_choice("engine", engine, ENGINES)
    if engine == "ray":
        from jurybox.api.scaling import plan_on_ray, refuse_off_cluster

        refuse_off_cluster(data, batch, cache, workers)
        job = make_job(data, rubrics, judge, **options)
        return plan_on_ray(job, data, out, workers)
    refuse_cluster_options(ray_address, workers)
    job = make_job(data, rubrics, judge, **options)
    path = default_out(data) if out is None else Path(out)
    with _opened(cache, job, make=False) as replies, nullcontext() if not path.exists() else RunReader(path) as earlier:
        return make_plan(job, earlier, replies)
