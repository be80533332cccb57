"""What is out at a batch API, and what came back from it but is not judged yet.

Its three tables are made in a run file's first batch. An intent is noted before a batch is sent and its id right after,
so a kill between the two leaves a label to look for. What comes back is kept here by the key of its call, and goes from
here to the calls in the transaction that writes their judgments.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import orjson

from jurybox.errors import StoreError
from jurybox.store.replies import from_row, to_row
from jurybox.store.runfile import RunFile
from jurybox.types import Reply

# Answers that came before any batch did.
LIVE = 0

_TABLES = """
CREATE TABLE IF NOT EXISTS batches (
    batch INTEGER PRIMARY KEY,
    judge TEXT NOT NULL,
    label TEXT NOT NULL UNIQUE,    -- how the server knows it before we know its id
    remote TEXT,                   -- the server's id; none while we only mean to send it
    questions INTEGER NOT NULL,
    at REAL NOT NULL,
    over INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS batched (  -- questions whose answers have not come back
    key BLOB NOT NULL,
    batch INTEGER NOT NULL REFERENCES batches,
    PRIMARY KEY (key, batch)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS batched_in ON batched (batch);
CREATE TABLE IF NOT EXISTS returned (  -- what came back and is not judged yet
    key BLOB NOT NULL,
    batch INTEGER NOT NULL,
    reply TEXT,                    -- as JSON
    error TEXT NOT NULL,           -- why there is none
    again INTEGER NOT NULL,        -- whether asking again can help
    too_long INTEGER NOT NULL,
    cost REAL,
    PRIMARY KEY (key, batch)
) WITHOUT ROWID;
"""
_BATCH = "batch, judge, label, remote, questions, at"


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that is meant to be sent, or was. `remote` is its id at the server."""

    number: int
    judge: str
    label: str
    remote: str | None
    questions: int
    at: float


@dataclass(frozen=True, slots=True)
class Returned:
    """An answer that came back, or why none did."""

    reply: Reply | None
    error: str = ""
    again: bool = False
    too_long: bool = False
    cost: float | None = 0.0


class BatchBook:
    """The batches of one run file. Each method that changes something is one durable transaction, except `forget`,
    which joins the one that is open."""

    def __init__(self, runfile: RunFile) -> None:
        self._path, self._connection = runfile.path, runfile._connection
        with self._durable():
            for statement in _TABLES.split(";\n"):
                self._connection.execute(statement)

    def intend(self, judge: str, label: str, keys: Sequence[bytes]) -> Batch:
        """Note that these questions are about to be sent."""
        at = time.time()
        with self._durable():
            cursor = self._connection.execute(
                "INSERT INTO batches (judge, label, questions, at) VALUES (?, ?, ?, ?)", (judge, label, len(keys), at)
            )
            number = int(cursor.lastrowid or 0)
            self._connection.executemany("INSERT INTO batched VALUES (?, ?)", [(key, number) for key in keys])
        return Batch(number, judge, label, None, len(keys), at)

    def note(self, batch: Batch, remote: str | None) -> None:
        """Note a batch's id at the server, or that the one we had was another's."""
        with self._durable():
            self._connection.execute("UPDATE batches SET remote = ? WHERE batch = ?", (remote, batch.number))

    def drop(self, batch: Batch) -> None:
        """Forget a batch that the server does not have; its questions are to be asked again."""
        with self._durable():
            self._connection.execute("DELETE FROM batched WHERE batch = ?", (batch.number,))
            self._connection.execute("DELETE FROM batches WHERE batch = ?", (batch.number,))

    def keep(self, number: int, came: Iterable[tuple[bytes, Returned]]) -> None:
        """Keep what came back; its questions are no longer out."""
        with self._durable():
            for key, one in came:
                reply = None if one.reply is None else orjson.dumps(to_row(one.reply)).decode()
                self._connection.execute(
                    "INSERT OR IGNORE INTO returned VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (key, number, reply, one.error, one.again, one.too_long, one.cost),
                )
                self._connection.execute("DELETE FROM batched WHERE key = ? AND batch = ?", (key, number))

    def finish(self, batch: Batch, why_not: str | None) -> None:
        """A batch is over. What did not come back failed for this reason; with None it is as if never asked."""
        with self._durable():
            if why_not is not None:
                self._connection.execute(
                    "INSERT OR IGNORE INTO returned SELECT key, batch, NULL, ?, 1, 0, 0 FROM batched WHERE batch = ?",
                    (why_not, batch.number),
                )
            self._connection.execute("DELETE FROM batched WHERE batch = ?", (batch.number,))
            self._connection.execute("UPDATE batches SET over = 1 WHERE batch = ?", (batch.number,))

    def forget(self, keys: Iterable[bytes]) -> None:
        """These calls are judged: what came back for them is among the calls now."""
        self._connection.executemany("DELETE FROM returned WHERE key = ?", [(key,) for key in keys])

    def open_batches(self, judges: Iterable[str]) -> list[Batch]:
        """The batches of these judges that are meant, or out."""
        wanted = set(judges)
        rows = self._connection.execute(f"SELECT {_BATCH} FROM batches WHERE NOT over ORDER BY batch")
        return [batch for batch in (Batch(*row) for row in rows) if batch.judge in wanted]

    def remotes(self) -> frozenset[str]:
        """The ids of all batches that this file knows."""
        rows = self._connection.execute("SELECT remote FROM batches WHERE remote IS NOT NULL")
        return frozenset(remote for (remote,) in rows)

    def keys(self, batch: Batch) -> frozenset[bytes]:
        """The questions of a batch that have not come back."""
        rows = self._connection.execute("SELECT key FROM batched WHERE batch = ?", (batch.number,))
        return frozenset(key for (key,) in rows)

    def is_out(self, key: bytes) -> bool:
        return self._connection.execute("SELECT 1 FROM batched WHERE key = ?", (key,)).fetchone() is not None

    def returned(self, key: bytes) -> list[Returned]:
        """What came back for a call that is not judged yet, in the order of asking."""
        rows = self._connection.execute(
            "SELECT reply, error, again, too_long, cost FROM returned WHERE key = ? ORDER BY batch", (key,)
        )
        return [_returned(*row) for row in rows]

    @contextmanager
    def _durable(self) -> Iterator[None]:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            self._connection.execute("COMMIT")
        except BaseException as exc:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            if not isinstance(exc, sqlite3.Error):
                raise
            raise StoreError(f"{self._path}: cannot be written: {exc}; what was counted before is kept") from exc


def _returned(reply: str | None, error: str, again: int, too_long: int, cost: Any) -> Returned:
    found = None if reply is None else from_row(orjson.loads(reply))
    return Returned(found, error, bool(again), bool(too_long), cost)
