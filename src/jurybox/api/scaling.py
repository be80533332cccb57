"""`evaluate` on a Ray cluster: the same job, made once more in every worker, into a folder of results."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from jurybox import __version__
from jurybox.api.jobs import Data, find_rubrics, make_job
from jurybox.api.looking import Run, path_of
from jurybox.data import PairedDataset
from jurybox.errors import SetupError, StoreError
from jurybox.judges import Judge
from jurybox.runner import Job, Plan, Progress, make_plan
from jurybox.store import RunReader
from jurybox.store.parts import Manifest, is_result_folder, open_folder, written_by_us
from jurybox.types import Rubric

DEFAULT_WORKERS = 2
# Options that are the driver's own: the data and what belongs to it has been read when a worker makes its job.
_OF_DRIVER = ("columns", "human", "limit", "report")


async def evaluate_on_ray(
    data: Data,
    rubrics: str | Sequence[str | Rubric],
    judge: str | Sequence[str],
    out: str | Path | None,
    address: str | None,
    workers: int | None,
    *,
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
    batch: bool = False,
    cache: str | Path | bool = True,
    **options: Any,
) -> Run:
    from jurybox.runner.cluster.driver import Cluster, execute_on_cluster
    from jurybox.runner.cluster.starting import ray_module

    refuse_off_cluster(data, batch, cache, workers)
    ray_module(address)  # before anything is read
    found = find_rubrics(rubrics)  # a worker's machine need not have the files
    job = make_job(data, found, judge, **options)
    place = results_of(data) if out is None else out
    _refuse_other_kind(place)
    shared = {name: value for name, value in options.items() if name not in _OF_DRIVER}
    folder = open_folder(place)
    with written_by_us(folder):
        tally = await execute_on_cluster(
            job,
            partial(make_job, (), found, judge, **shared),
            folder,
            Cluster(address, workers or DEFAULT_WORKERS, gpus_of(job)),
            progress=progress,
            stop=stop,
            version=__version__,
        )
    return Run(place, tally)


def plan_on_ray(job: Job, data: Data, out: str | Path | None, workers: int | None) -> Plan:
    """What workers would ask and cost, and how long so many of them would take. Asks no cluster."""
    place = results_of(data) if out is None else out
    count = workers or DEFAULT_WORKERS
    if not is_result_folder(place) or Manifest(open_folder(place)).starts == 0:
        return make_plan(job, workers=count)
    with RunReader(path_of(place)) as earlier:
        return make_plan(job, earlier, workers=count)


def results_of(data: Data) -> Path:
    """Where results go when nobody says."""
    if isinstance(data, str | Path) and data != "-":
        return Path(f"{Path(data).stem.strip('*') or 'jurybox'}.run")
    return Path("jurybox.run")


def gpus_of(job: Job) -> float:
    """GPUs that each worker needs."""
    return float(sum(_gpus(judge) for judge in job.judges))


def _gpus(judge: Judge) -> int:
    return int(getattr(judge, "gpus", 0))


def refuse_off_cluster(data: Data, batch: bool, cache: str | Path | bool, workers: int | None) -> None:
    """What a cluster does not have."""
    if batch:
        raise SetupError("--batch: a batch API needs no cluster; leave out --engine ray")
    if not isinstance(cache, bool):
        raise SetupError("--cache: the machines of a cluster share no cache of replies; leave it out with --engine ray")
    if isinstance(data, PairedDataset):
        raise SetupError("--engine ray: duels run on one machine; leave it out")
    if workers is not None and workers < 1:
        raise SetupError(f"--workers {workers}: should be 1 or more")


def _refuse_other_kind(place: str | Path) -> None:
    """Results go into a folder of their own; a run file, or a folder with other things in it, is none."""
    if is_result_folder(place):
        return
    path = Path(place)
    if path.is_file():
        raise StoreError(f"--out {path}: is a file; --engine ray writes a folder: give another name")
    if path.is_dir() and any(path.iterdir()):
        raise StoreError(f"--out {path}: is a folder with other things in it; nothing was written to it")
