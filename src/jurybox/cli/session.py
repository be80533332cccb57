"""A run in the foreground: progress on standard error, Ctrl-C and SIGTERM that stop it cleanly."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from typing import Any

from jurybox.api import judging, looking
from jurybox.cli.bar import make_bar


def run_until_stopped(arguments: dict[str, Any]) -> looking.Run | None:
    """The run, finished or interrupted; None when a second Ctrl-C did not let it end."""
    _collect_rarely()
    try:
        return asyncio.run(_run(arguments))
    except asyncio.CancelledError:
        return None


def _collect_rarely() -> None:
    """What is imported stays, and a judgment leaves no cycles behind: looking for them as often as Python does by
    itself takes a fifteenth of all CPU. This process is ours to tune; a program that imports jurybox is not."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


async def _run(arguments: dict[str, Any]) -> looking.Run:
    """The first signal lets calls under way end, the second does not wait."""
    stop = asyncio.Event()
    working = asyncio.current_task()
    assert working is not None, "a coroutine runs in a task"

    def interrupt() -> None:
        if stop.is_set():
            working.cancel()
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, interrupt)
    with make_bar(sys.stderr) as bar:
        return await judging.aevaluate(progress=bar, stop=stop, report=bar.fetching, **arguments)
