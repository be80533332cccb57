"""Group commit: whatever arrives while one commit is under way goes into the next, in a thread of its own.

A caller of `put` goes on only when its entry is durable, so at most as many calls as are in flight can ever be lost.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from jurybox.store import Entry, RunFile


class Writer:
    def __init__(self, store: RunFile) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, "jurybox-writer")
        self._waiting: list[Entry] = []
        self._next: asyncio.Future[None] | None = None
        self._committing: asyncio.Task[None] | None = None

    async def put(self, entry: Entry) -> None:
        """Hand over an entry; returns when it is durable."""
        self._waiting.append(entry)
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        durable = self._next
        if self._committing is None:
            self._committing = asyncio.create_task(self._commit())
        await asyncio.shield(durable)

    async def _commit(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            entries, durable = self._waiting, self._next
            self._waiting, self._next = [], None
            assert durable is not None, "entries never wait without a future"
            try:
                await loop.run_in_executor(self._thread, self._store.write, entries)
            except Exception as exc:
                durable.set_exception(exc)
                durable.exception()  # seen, even where every waiter was cancelled
            else:
                durable.set_result(None)
        self._committing = None

    async def close(self) -> None:
        """Commit what was handed over, then let the thread go."""
        if self._committing is not None:
            await self._committing
        self._thread.shutdown()
