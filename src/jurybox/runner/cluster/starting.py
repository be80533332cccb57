"""Ray, for as long as a run needs it: our own on this machine, or a cluster that is there and stays there.

Only what was started here is ended here. No usage statistics, no dashboard, loopback alone.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from jurybox.errors import SetupError

# Seconds that a cluster has to take a connection. Ray itself would try for minutes.
REACHED_WITHIN = 10.0


@asynccontextmanager
async def connected(address: str | None, workers: int) -> AsyncIterator[None]:
    ray = ray_module(address)
    ours = not ray.is_initialized()
    if ours:  # in a thread: Ctrl-C is heard meanwhile, and Ray cannot put its own handlers in place of ours
        await asyncio.to_thread(_start, address, workers)
        _hear_signals()
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    try:
        yield
    finally:
        if ours:
            ray.shutdown()


def _hear_signals() -> None:
    """Ray has put a handler below Python's that ends the process three seconds after SIGTERM, whatever it does."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))


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
            _knock(address)
            ray.init(address=address, **quiet)
    except (OSError, ValueError, RuntimeError) as exc:
        what = (
            "no Ray could be started on this machine" if address is None else f"--ray-address {address}: no Ray there"
        )
        raise SetupError(f"{what}: {(str(exc).strip() or repr(exc)).splitlines()[0]}") from exc


def _knock(address: str) -> None:
    """Raises `OSError` where nobody listens. Names without a port (`auto`) and other protocols are left to Ray."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit() and "://" not in address:
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACHED_WITHIN).close()
