"""What the pages know of the run file, kept up to date while somebody writes to it.

The index is read again when a run has gone on: at once where that takes a moment, else beside the requests, which get
the one before until then. While a run goes on, only what was judged since is read; once it has ended, all of it again.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from jurybox.errors import JuryboxError, StoreError
from jurybox.report.browse_index import read_index, renew_index
from jurybox.report.browsing import RunIndex
from jurybox.store import RunReader
from jurybox.store.browsing import footprint, has_writer, newest

# An index that is read in less is read while a request waits.
A_MOMENT = 0.15
# Between two readings pass so many times what one takes: a growing run costs this server a fifth of a core at most.
REST = 4
LEAST_REST = 1.0
# A run that says it is writing and has not for so long was probably killed.
SILENT = 180.0

State = Literal["complete", "running", "silent", "unfinished", "empty"]


@dataclass(frozen=True, slots=True)
class Pace:
    """How far a run is: judgments made and set out for, how many a second, and how many seconds that leaves."""

    state: State
    done: int
    expected: int
    rate: float | None
    left: float | None
    quiet: float

    @property
    def share(self) -> float:
        return min(self.done / self.expected, 1.0) if self.expected else 0.0


class Watch:
    """One run file, looked at by any number of requests at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._turn = threading.Lock()
        self._index: RunIndex | None = None
        self._seen: tuple[int, ...] | None = None
        self._had_writer = False
        self._read_at = self._took = 0.0
        self._reading = False
        self._counts: deque[tuple[float, int]] = deque(maxlen=30)

    def reader(self) -> RunReader:
        return RunReader(self.path)

    def index(self) -> RunIndex:
        """The newest index there is."""
        now = footprint(self.path)
        if now is None and self._index is None:
            self.reader()  # says what is wrong, as every command does
        if now is None:
            raise StoreError(f"{self.path}: the run file is gone; this page shows it again when it is back")
        with self._turn:
            replaced = self._seen is not None and now[0] != self._seen[0]
            if self._index is None or replaced:
                self._index = None
                self._counts.clear()
                return self._read(now)
            if now == self._seen or self._reading or time.monotonic() < self._read_at + self._rest:
                return self._index
            if not self._went_on():
                self._seen = now
                return self._index
            if self._took < A_MOMENT:
                return self._read(now)
            self._reading = True
            threading.Thread(target=self._read_beside, args=(now,), daemon=True).start()
            return self._index

    @property
    def _rest(self) -> float:
        return 0.0 if self._took < A_MOMENT / 3 else max(LEAST_REST, REST * self._took)

    def _went_on(self) -> bool:
        """Whether there are new judgments: somebody annotating changes the file too, and moves no score."""
        assert self._index is not None
        if self._had_writer or has_writer(self.path):
            return True
        with self.reader() as reader:
            return newest(reader) != self._index.newest

    def _read(self, seen: tuple[int, ...]) -> RunIndex:
        began = time.monotonic()
        before, known = self._had_writer, self._index
        self._had_writer = has_writer(self.path)
        ended = before and not self._had_writer
        with self.reader() as reader:
            index = read_index(reader) if known is None or ended else renew_index(reader, known)
        self._index, self._seen, self._read_at = index, seen, time.monotonic()
        self._took = self._read_at - began
        self._counts.append((self._read_at, index.judgments))
        return index

    def _read_beside(self, seen: tuple[int, ...]) -> None:
        try:
            self._read(seen)
        except JuryboxError:
            pass  # the file is gone or being replaced; the next request says so
        finally:
            self._reading = False

    def pace(self, index: RunIndex | None = None) -> Pace:
        """How far the run is, or was when `index` was read: a page is followed as long as what it shows is behind."""
        index = index or self.index()
        rate = self._rate()
        quiet = max(time.time() - self._written_at(), 0.0)
        left = index.missing / rate if rate else None
        return Pace(self._state(index, quiet), index.judgments, index.expected, rate, left, quiet)

    def _state(self, index: RunIndex, quiet: float) -> State:
        if not index.series:
            return "empty"
        writing = has_writer(self.path)
        behind = index is not self._index or footprint(self.path) != self._seen
        if behind and (writing or index.missing):
            return "running"  # what is shown is not the last of it
        if not index.missing:
            return "complete"
        if not writing:
            return "unfinished"
        return "silent" if quiet > SILENT else "running"

    def _rate(self) -> float | None:
        if len(self._counts) < 2:
            return None
        (began, first), (ended, last) = self._counts[0], self._counts[-1]
        return (last - first) / (ended - began) if last > first and ended - began >= 1 else None

    def _written_at(self) -> float:
        times = [
            path.stat().st_mtime for path in (self.path, self.path.with_name(self.path.name + "-wal")) if path.exists()
        ]
        return max(times, default=0.0)
