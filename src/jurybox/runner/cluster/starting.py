"""Ray, for as long as a run needs it: our own on this machine, or a cluster that is there and stays there.

Only what was started here is ended here. No usage statistics, no dashboard, loopback alone.
"""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jurybox.errors import SetupError


@contextmanager
def connected(address: str | None, workers: int, gpus: float) -> Iterator[None]:
    ray = ray_module(address)
    ours = not ray.is_initialized()
    if ours:
        _start(address, workers)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    try:
        yield
    finally:
        if ours:
            ray.shutdown()


def ray_module(address: str | None = "a worker's or a cluster's") -> Any:
    """Ray, with its datasets. Whoever has no cluster need not have it. Ray reads its environment when it is imported:
    it reports to nobody, and where it is our own it stays on loopback."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # a person reads this terminal; Ray's logs have it all
    if address is None:
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    try:
        importlib.import_module("ray.data")
        return importlib.import_module("ray")
    except ImportError as exc:
        raise SetupError("--engine ray needs Ray: pip install 'jurybox[ray]'") from exc


def _start(address: str | None, workers: int) -> None:
    ray = ray_module(address)
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address is None:
            # "local" never joins a Ray that is there already. The CPUs are places: workers wait for servers, and one
            # each is left for reading and for cutting the data.
            ray.init(
                address="local",
                num_cpus=workers + 2,
                include_dashboard=False,
                _node_ip_address="127.0.0.1",
                object_store_memory=256 * 2**20,
                **quiet,
            )
        else:
            ray.init(address=address, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as exc:
        where = "on this machine" if address is None else f"at {address}"
        raise SetupError(f"--ray-address: no Ray could be reached {where}: {exc}") from exc
