"""Group commit: whatever arrives before the next commit goes into it.

A caller of `put` goes on only when its entry is durable, so at most as many calls as are in flight can ever be lost.

A commit waits for the disk. On a quick one that is half a millisecond, and committing in the event loop's own thread
is the fastest way: handing it to another costs two waits for the interpreter's lock. Where commits are slow, a thread
takes them, so that the loop can go on sending. Which of the two is decided by how long the last ones took.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

from jurybox.store import Entry, RunFile

# Seconds a commit may take on average before a thread of its own pays off.
QUICK = 0.003


class Writer:
    def __init__(self, store: RunFile) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, "jurybox-writer")
        self._waiting: list[Entry] = []
        self._next: asyncio.Future[None] | None = None
        self._committing: asyncio.Task[None] | None = None
        self._usual_seconds = 0.0

    async def put(self, entry: Entry) -> None:
        """Hand over an entry; returns when it is durable."""
        self._waiting.append(entry)
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        durable = self._next
        if self._committing is None:
            self._committing = asyncio.create_task(self._commit_waiting())
        await asyncio.shield(durable)

    async def close(self) -> None:
        """Commit what was handed over, then let the thread go."""
        if self._committing is not None:
            await self._committing
        self._thread.shutdown()

    async def _commit_waiting(self) -> None:
        while self._waiting:
            entries, durable = self._waiting, self._next
            self._waiting, self._next = [], None
            assert durable is not None, "entries never wait without a future"
            try:
                self._store.write(entries)
                await self._commit()
            except Exception as exc:
                durable.set_exception(exc)
                durable.exception()  # seen, even where every waiter was cancelled
            else:
                durable.set_result(None)
        self._committing = None

    async def _commit(self) -> None:
        started = time.perf_counter()
        if self._usual_seconds < QUICK:
            self._store.commit()
        else:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._store.commit)
        self._usual_seconds += 0.1 * (time.perf_counter() - started - self._usual_seconds)
