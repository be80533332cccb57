"""Replies kept across runs: one SQLite file for all of them, by the key of the call and the address that answered.

Losing it costs money, never a judgment: a run file holds all its own replies. So it need not wait for the disk, it is
written in large groups, and when anything is wrong with it the run goes on without it.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from pathlib import Path

from jurybox.errors import StoreError
from jurybox.places import cache_folder
from jurybox.store.connection import closed_on_error
from jurybox.store.replies import REPLY_COLUMNS, from_row, to_row
from jurybox.types import Reply

APPLICATION_ID = 0x4A525950  # "JRYP"
REPLIES_AT_ONCE = 256
_COLUMNS = ", ".join(REPLY_COLUMNS)
_HOLES = ", ".join("?" * len(REPLY_COLUMNS))


class ReplyCache:
    """Open for reading and writing; several processes may share one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not path.exists():
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
            self._connection = _opened(path)
        except (OSError, sqlite3.Error) as exc:
            raise StoreError(f"--cache {path}: cannot be used: {exc}; give another, or --no-cache") from exc
        self._new: list[tuple[object, ...]] = []
        self._empty = self._connection.execute("SELECT 1 FROM replies LIMIT 1").fetchone() is None

    def find(self, key: bytes, address: str) -> Reply | None:
        """The reply to a call with this key at this address, if it was ever answered."""
        if self._empty:
            return None
        query = f"SELECT {_COLUMNS} FROM replies WHERE key = ?"
        row = self._connection.execute(query, (_key(key, address),)).fetchone()
        return None if row is None else from_row(row)

    def has(self, key: bytes, address: str) -> bool:
        return not self._empty and self.find(key, address) is not None

    def keep(self, key: bytes, address: str, reply: Reply) -> None:
        """Keep a reply; it reaches the disk with the next group, or with `close`."""
        self._new.append((_key(key, address), *to_row(reply), time.time()))
        if len(self._new) >= REPLIES_AT_ONCE:
            self._write()

    def close(self) -> None:
        self._write()
        self._connection.close()

    def _write(self) -> None:
        try:
            with self._connection:
                self._connection.executemany(f"INSERT OR IGNORE INTO replies VALUES (?, {_HOLES}, ?)", self._new)
        except sqlite3.Error:  # full or locked: the replies are in the run file; they are only not shared
            pass
        self._new.clear()


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=5, check_same_thread=False)
    with closed_on_error(connection):
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
        if tables and application != APPLICATION_ID:
            raise sqlite3.DatabaseError("it is another SQLite file; nothing was written to it")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        if not tables:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(
                f"CREATE TABLE IF NOT EXISTS replies (key BLOB PRIMARY KEY, {_COLUMNS}, at REAL NOT NULL) WITHOUT ROWID"
            )
    return connection


def _key(key: bytes, address: str) -> bytes:
    """Two servers may call different models by one name; a run file goes on when its server moves, the cache does
    not."""
    return hashlib.sha256(key + address.encode()).digest()


def default_path() -> Path:
    """$JURYBOX_REPLIES, or replies.db in the user's cache."""
    own = os.environ.get("JURYBOX_REPLIES")
    return Path(own).expanduser() if own else cache_folder() / "replies.db"
