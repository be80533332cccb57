"""A worker's judgments into parts: a new file every 50 judgments or 2 seconds, whichever comes first.

Other than a run file's writer it lets a call go on before its judgment is durable. A kill therefore costs the calls in
flight and what was not flushed yet. Many small parts are packed into a large one now and then.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

from jurybox.store import Entry
from jurybox.store.parts import PartStore, pack, part_name
from jurybox.types import Item

JUDGMENTS_A_PART = 50
SECONDS_A_PART = 2.0
PARTS_A_PACK = 200


class PartWriter:
    def __init__(self, store: PartStore, start: int, worker: str) -> None:
        self._store, self._start, self._worker = store, start, worker
        self._buffer: list[Entry] = []
        self._judgments = 0
        self._number = 0
        self._small: list[str] = []
        self._flushing = asyncio.Lock()
        self._timer: asyncio.Task[None] | None = None

    async def put(self, entries: Sequence[Entry]) -> None:
        """Take entries over. Whoever fills the buffer waits until it is durable."""
        now = time.time()
        stamped = [replace(entry, at=now) for entry in entries]
        self._buffer += stamped
        self._judgments += sum(len(entry.verdicts) for entry in stamped)
        self._store.remember(stamped)
        if self._judgments >= JUDGMENTS_A_PART:
            await self.flush()
        elif self._timer is None or self._timer.done():
            self._timer = asyncio.create_task(self._flush_later())

    def expect(self, items: Iterable[Item]) -> None:
        """Parts carry their items with them."""

    async def flush(self) -> None:
        """When this returns everything that was put before is durable."""
        async with self._flushing:
            entries, self._buffer, self._judgments = self._buffer, [], 0
            if not entries:
                return
            self._number += 1
            name = part_name(self._start, self._worker, self._number)
            await asyncio.to_thread(self._store.write, name, entries)
            self._small.append(name)
            if len(self._small) >= PARTS_A_PACK:
                await self._pack()

    async def _pack(self) -> None:
        """The packed part has the first one's name with its last number, so that it stands in their place."""
        small, self._small = self._small, []
        packed = f"{small[0].removesuffix('.parquet')}-{self._number:06d}.parquet"
        await asyncio.to_thread(pack, self._store.folder, small, packed)

    async def _flush_later(self) -> None:
        await asyncio.sleep(SECONDS_A_PART)
        await self.flush()
