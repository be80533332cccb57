"""Group commit: whatever arrives before the next commit goes into it.

A caller of `put` goes on only when its entry is durable, so at most as many calls as are in flight can ever be lost.

A commit waits for the disk. On a quick one that is half a millisecond, and committing in the event loop's own thread
is the fastest way: handing it to another costs two waits for the interpreter's lock. Where commits are slow, a thread
takes them, so that the loop can go on sending. Which of the two is decided by how long the last ones took.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from jurybox.store import Entry, RunFile
from jurybox.types import Item

# Seconds a commit may take on average before a thread of its own pays off.
QUICK = 0.003


class Writing(Protocol):
    """Where judgments go. When `put` returns, the caller may take its next call."""

    async def put(self, entries: Sequence[Entry]) -> None:
        """Hand over what calls brought."""

    def expect(self, items: Iterable[Item]) -> None:
        """Items whose judgments will follow."""


class Writer:
    def __init__(self, store: RunFile) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, "jurybox-writer")
        self._waiting: list[tuple[Sequence[Entry], asyncio.Future[None]]] = []
        self._ahead: list[Item] = []
        self._committing: asyncio.Task[None] | None = None
        self._usual_seconds = 0.0

    async def put(self, entries: Sequence[Entry]) -> None:
        """Hand over entries; returns when they are durable."""
        durable: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((entries, durable))
        if self._committing is None:
            self._committing = asyncio.create_task(self._commit_waiting())
        await durable

    def expect(self, items: Iterable[Item]) -> None:
        """Items whose judgments will follow: the next commit takes them along."""
        self._ahead.extend(items)

    async def close(self) -> None:
        """Commit what was handed over, then let the thread go."""
        if self._committing is not None:
            await self._committing
        self._thread.shutdown()

    async def _commit_waiting(self) -> None:
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            ahead, self._ahead = self._ahead, []
            failure: Exception | None = None
            try:
                self._store.write([entry for entries, _ in waiting for entry in entries], ahead)
                await self._commit()
            except Exception as exc:
                failure = exc
            for _, durable in waiting:
                if durable.cancelled():  # its worker was stopped; the entry is kept all the same
                    continue
                if failure is None:
                    durable.set_result(None)
                else:
                    durable.set_exception(failure)
        self._committing = None

    async def _commit(self) -> None:
        started = time.perf_counter()
        if self._usual_seconds < QUICK:
            self._store.commit()
        else:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._store.commit)
        self._usual_seconds += 0.1 * (time.perf_counter() - started - self._usual_seconds)
