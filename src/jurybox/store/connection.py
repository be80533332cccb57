"""Opening run files: WAL, synchronous=FULL, 16 KiB pages, mode 600, and one clear error for what is not a run file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from jurybox.errors import StoreError

APPLICATION_ID = 0x4A555259  # "JURY"
FORMAT = 2
PAGE_BYTES = 16 * 1024
# WAL pages between checkpoints: 64 MiB, so that a checkpoint is rare beside the commits.
CHECKPOINT_PAGES = 4096
# Seconds to wait for another writer, as a run and its annotators do for each other. Each holds the file for a moment,
# but SQLite's queue is no queue: whoever asks most often gets it, so patience must outlast a busy import.
PATIENCE = 60


def open_to_write(path: Path) -> sqlite3.Connection:
    """Open a run file, or make it, readable by its owner alone."""
    fresh = not path.exists() or _is_blank(path)
    if fresh:
        _create(path)
    else:
        open_to_read(path).close()  # a foreign file is refused before anything could be written to it
    # Made in one thread, written from another, never by two at a time.
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    with closed_on_error(connection):
        if fresh:
            connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        if fresh:
            schema = files("jurybox.store").joinpath("schema.sql").read_text("utf-8")
            connection.executescript(
                f"BEGIN; {schema} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT}; COMMIT;"
            )
    return connection


@contextmanager
def closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    """What cannot be used is not left open: its locks would outlive the message."""
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _is_blank(path: Path) -> bool:
    """Whether a file holds nothing yet: empty, or an SQLite file without a table, as a kill can leave it."""
    if path.stat().st_size == 0:
        return True
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        return bool(connection.execute("SELECT COUNT(*) = 0 FROM sqlite_master").fetchone()[0])
    except sqlite3.DatabaseError:
        return False
    finally:
        connection.close()


def open_to_read(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise StoreError(f"{path}: there is no such run file; `jurybox run DATA --out {path}` makes one")
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{_reading_mode(path)}", uri=True, check_same_thread=False
        )
        with closed_on_error(connection):
            connection.execute("PRAGMA query_only = ON")
            _check_format(connection, path)
    except sqlite3.DatabaseError as exc:
        raise _unreadable(path, exc) from exc
    return connection


def _unreadable(path: Path, exc: sqlite3.DatabaseError) -> StoreError:
    """Only SQLite looks into a run file: closing any other descriptor of it would drop this process's locks on it, and
    a reader elsewhere would then take the WAL of a running writer for a dead one's."""
    if exc.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
        return StoreError(f"{path}: is not a run file; nothing was written to it")
    return StoreError(f"{path}: cannot be read as a run file: {exc}")


def _reading_mode(path: Path) -> str:
    """A reader that may write tidies up the WAL when it is the last to go; one that may not leaves its files behind."""
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        return "mode=rw"
    return "mode=ro" if path.with_name(path.name + "-wal").exists() else "immutable=1"


def _create(path: Path) -> None:
    """A new, empty file; one that held nothing goes first, with whatever mode it had."""
    try:
        for ending in ("", "-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as exc:
        raise StoreError(f"{path}: cannot be made: {exc.strerror}") from exc


def _check_format(connection: sqlite3.Connection, path: Path) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID:
        raise StoreError(f"{path}: is an SQLite file, but not of jurybox; nothing was written to it")
    if version != FORMAT:
        raise StoreError(f"{path}: has run format {version}; this jurybox reads format {FORMAT}")
