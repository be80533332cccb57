"""Writing a run: items and judgments go in together, durable when `commit` returns.

Reading back is limited to what the runner must know while it writes: which calls were paid, which judgments are there.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from jurybox.errors import StoreError
from jurybox.store.connection import closed_on_error, open_to_read, open_to_write
from jurybox.store.lock import WriterLock
from jurybox.store.replies import REPLY_COLUMNS, from_row, to_row
from jurybox.store.series import Series, open_series
from jurybox.types import Attempt, Item, Quote, Reply, Status, Verdict

_HOLES = ", ".join("?" * len(REPLY_COLUMNS))
_REST = ("cost", "at", "reasons", "reused", "shown")
_UPSERT_CALL = (
    f"INSERT INTO calls (key, prompt_digest, sample, attempts, error, {', '.join(REPLY_COLUMNS)}, {', '.join(_REST)}) "
    f"VALUES (?, ?, ?, ?, ?, {_HOLES}, ?, ?, ?, ?, ?) "
    "ON CONFLICT (key) DO UPDATE SET attempts = excluded.attempts, error = excluded.error, "
    + ", ".join(f"{column} = excluded.{column}" for column in (*REPLY_COLUMNS, *_REST))
    + " RETURNING call"
)
_INSERT_ATTEMPT = f"INSERT INTO attempts VALUES (?, ?, ?, {_HOLES})"


@dataclass(frozen=True, slots=True)
class Entry:
    """What one call brought: its attempts, which of them decided, and a verdict for each series that it answered.

    No attempts means that a call with the same key was answered before, in this file. `reused` means that its reply
    comes from the cache of earlier runs, not `sent` that nobody was asked. `shown` is what a judge was shown of
    material that was shortened, and `quotes` are the passages that it quotes, by rubric. `at` is when it was answered,
    None for now.
    """

    item: Item
    sample: int
    key: bytes
    prompt_digest: bytes
    attempts: Sequence[Attempt]
    decisive: int
    verdicts: Mapping[int, Verdict]
    cost: float | None
    reused: bool = False
    sent: bool = True
    shown: Mapping[str, Any] | None = None
    quotes: Mapping[str, Sequence[Quote]] = field(default_factory=dict)
    at: float | None = None


class RunFile:
    """A run file that this process alone writes to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.is_dir() or not path.name:
            raise StoreError(f"--out {path}: is a directory; --out takes the name of a file")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = WriterLock(path)
        except OSError as exc:
            raise StoreError(f"--out {path}: cannot be made: {exc.strerror}") from exc
        try:
            self._connection = open_to_write(path)
            with closed_on_error(self._connection):
                # Looked up by the event loop while a thread may be committing: WAL lets both go on at once.
                self._committed = open_to_read(path)
        except BaseException:
            self._lock.release()
            raise
        self._recent_items: dict[tuple[str, str], int] = {}
        self._last_source: tuple[Any, int] = (None, 0)
        self._rubrics: dict[int, str] = {}
        self._failed: set[bytes] = set()
        self._resumed = self._connection.execute("SELECT 1 FROM calls LIMIT 1").fetchone() is not None

    @property
    def resumed(self) -> bool:
        """Whether the file held calls when it was opened."""
        return self._resumed

    def close(self) -> None:
        self._committed.close()
        self._connection.close()
        self._lock.release()

    def open_series(self, series: Series) -> int:
        """The number of a series; an existing one must have been made under the same settings."""
        number = open_series(self._connection, self.path, series)
        self._rubrics[number] = series.rubric.name
        return number

    def note_lacks(self, numbers: Iterable[int], lacks: Mapping[str, str]) -> None:
        """What these series' server turned out not to have: their signatures say so."""
        said = json.dumps(dict(lacks), ensure_ascii=False)
        with self._translated():
            self._connection.executemany(
                "UPDATE series SET lacks = ? WHERE series = ?", [(said, number) for number in numbers]
            )

    def spent(self) -> float:
        """USD that the file's calls have cost so far, as far as their prices are known."""
        return float(self._connection.execute("SELECT TOTAL(cost) FROM calls").fetchone()[0])

    def refuse_changed(self, item: Item) -> None:
        """An item that was judged before must still be the same item."""
        row = self._connection.execute(
            "SELECT summary, digest FROM items JOIN sources USING (source) WHERE id = ? AND system = ?", item.key
        ).fetchone()
        if row is not None and row != (item.summary, _source(item)[0]):
            raise StoreError(
                f"{self.path}: item id '{item.id}', system '{item.system}' was judged with another text; one run file "
                "keeps one version of an item: give another --out"
            )

    def find_reply(self, key: bytes) -> Reply | None:
        """The reply to a call with this key, if it was ever answered."""
        row = self._read(f"SELECT {', '.join(REPLY_COLUMNS)} FROM calls WHERE key = ? AND error IS NULL", (key,))
        return None if row is None else from_row(row)

    def judged(self, series: int, item: Item, sample: int) -> tuple[Status, float | None] | None:
        """How a judgment ended, with its score, if it is there."""
        row = self._read(
            "SELECT status, score FROM judgments JOIN items USING (item) "
            "WHERE series = ? AND id = ? AND system = ? AND sample = ?",
            (series, *item.key, sample),
        )
        return None if row is None else (row[0], row[1])

    def _read(self, query: str, values: Sequence[Any]) -> Any:
        return self._committed.execute(query, values).fetchone()

    def write(self, entries: Iterable[Entry], ahead: Iterable[Item] = ()) -> None:
        """Write entries into the open transaction, without making them durable yet.

        Items may be written `ahead` of their judgments: many at once touch far fewer pages than one at a time.
        """
        with self._translated():
            if not self._connection.in_transaction:
                self._connection.execute("BEGIN IMMEDIATE")
            for item in ahead:
                self._item_number(item)
            for entry in entries:
                self._write_entry(entry)

    def commit(self) -> None:
        """When this returns, everything written survives a power cut. May be called from another thread."""
        with self._translated():
            self._connection.execute("COMMIT")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except BaseException as exc:
            self._recent_items.clear()
            self._last_source = (None, 0)
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            if not isinstance(exc, sqlite3.Error):
                raise
            raise StoreError(f"{self.path}: cannot be written: {exc}; what was counted before is kept") from exc

    def _write_entry(self, entry: Entry) -> None:
        item = self._item_number(entry.item)
        call = self._write_call(entry)
        self._connection.executemany(
            "INSERT OR REPLACE INTO judgments VALUES (?, ?, ?, ?, ?, ?)",
            [
                (item, series, entry.sample, call, verdict.score, verdict.status)
                for series, verdict in entry.verdicts.items()
            ],
        )

    def _write_call(self, entry: Entry) -> int:
        if not entry.attempts:  # answered before, for this item or another
            return int(self._connection.execute("SELECT call FROM calls WHERE key = ?", (entry.key,)).fetchone()[0])
        if self._resumed or entry.key in self._failed:
            self._keep_failed_tries(entry.key)
        last = entry.attempts[entry.decisive]
        reasons = {self._rubrics[series]: verdict.reason for series, verdict in entry.verdicts.items()}
        (call,) = self._connection.execute(
            _UPSERT_CALL,
            (
                entry.key,
                entry.prompt_digest,
                entry.sample,
                len(entry.attempts) if entry.sent else 0,
                last.error or None,
                *to_row(last.reply),
                entry.cost,
                time.time() if entry.at is None else entry.at,
                orjson.dumps(reasons).decode(),
                entry.reused,
                None if entry.shown is None else orjson.dumps(entry.shown).decode(),
            ),
        ).fetchone()
        if last.reply is None:
            self._failed.add(entry.key)
        for number, attempt in enumerate(entry.attempts, 1):
            if attempt is not last:
                self._connection.execute(_INSERT_ATTEMPT, (call, number, attempt.error or None, *to_row(attempt.reply)))
        if entry.quotes:
            self._write_quotes(call, entry.quotes)
        return int(call)

    def _write_quotes(self, call: int, quotes: Mapping[str, Sequence[Quote]]) -> None:
        self._connection.executemany(
            "INSERT INTO quotes VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (call, rubric, quote.text, quote.field, quote.index, quote.start, quote.end, quote.similarity)
                for rubric, found in quotes.items()
                for quote in found
            ],
        )

    def _keep_failed_tries(self, key: bytes) -> None:
        """A call that failed before, in an earlier start or for another item: its error joins the attempts."""
        self._connection.execute(
            f"INSERT INTO attempts SELECT call, 0, error, {', '.join(REPLY_COLUMNS)} FROM calls "
            "WHERE key = ? AND error IS NOT NULL",
            (key,),
        )

    def _item_number(self, item: Item) -> int:
        """The item's row, made when it is new. Calls come grouped by item, so a short memory saves most look-ups."""
        known = self._recent_items.get(item.key)
        if known is not None:
            return known
        number = self._find_item(item) or self._insert_item(item)
        ratings = [(number, rubric, rater, n) for rubric, given in item.human.items() for rater, n in given.items()]
        if ratings:
            self._connection.executemany("INSERT OR REPLACE INTO ratings VALUES (?, ?, ?, ?)", ratings)
        if len(self._recent_items) > 1000:
            self._recent_items.clear()
        self._recent_items[item.key] = number
        return number

    def _find_item(self, item: Item) -> int | None:
        if not self._resumed:  # keys are unique in the data, so an item that was not seen lately is new
            return None
        row = self._connection.execute("SELECT item FROM items WHERE id = ? AND system = ?", item.key).fetchone()
        return None if row is None else int(row[0])

    def _insert_item(self, item: Item) -> int:
        cursor = self._connection.execute(
            "INSERT INTO items (id, system, summary, source, metadata) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (id, system) DO NOTHING",
            (item.id, item.system, item.summary, self._source_number(item), metadata_json(item)),
        )
        if cursor.rowcount == 1:
            return int(cursor.lastrowid or 0)
        row = self._connection.execute("SELECT item FROM items WHERE id = ? AND system = ?", item.key).fetchone()
        return int(row[0])

    def _source_number(self, item: Item) -> int:
        """The source's row: one for all the items that share it, which mostly stand together."""
        if item.source is self._last_source[0]:
            return self._last_source[1]
        digest, body = _source(item)
        query = "INSERT OR IGNORE INTO sources (digest, body) VALUES (?, ?)"
        cursor = self._connection.execute(query, (digest, body.decode()))
        number = cursor.lastrowid
        if cursor.rowcount == 0:
            (number,) = self._connection.execute("SELECT source FROM sources WHERE digest = ?", (digest,)).fetchone()
        self._last_source = (item.source, int(number or 0))
        return self._last_source[1]


def source_json(item: Item) -> bytes:
    """The source as it is stored."""
    return orjson.dumps(item.source)


def _source(item: Item) -> tuple[int, bytes]:
    """The source's digest, as a number that SQLite can hold, and its JSON."""
    body = source_json(item)
    return int.from_bytes(hashlib.sha256(body).digest()[:8]) >> 1, body


def metadata_json(item: Item) -> str:
    """The columns that jurybox does not know, as they are stored."""
    try:
        return orjson.dumps(item.metadata, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # nested deeper than orjson goes
        return json.dumps(item.metadata, default=str)
