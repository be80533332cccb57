"""The log of what people rated: an append-only table in the run file, durable when a call returns.

It may be written beside a running `jurybox run` and by several annotating processes: every action is one short
transaction that waits for its turn, and no lock is held in between. The table is made by the first action, so files
without it stay what they are. Nothing is ever changed: an undo is an action that names what it takes back.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Literal, TypeVar

from jurybox.data.rating import Key, Rating, checked_comment, checked_rater, checked_score
from jurybox.errors import StoreError, unknown_name
from jurybox.store.connection import open_to_read, open_to_write
from jurybox.store.rated import LATEST, STANDING, rated

Action = Literal["score", "skip", "undo"]
T = TypeVar("T")

_TABLES = """
CREATE TABLE IF NOT EXISTS annotations (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    item INTEGER NOT NULL REFERENCES items,
    rubric TEXT NOT NULL,
    rater TEXT NOT NULL,
    action TEXT NOT NULL CHECK (action IN ('score', 'skip', 'undo')),
    score REAL,
    comment TEXT NOT NULL,
    at TEXT NOT NULL,              -- ISO 8601, UTC
    takes_back INTEGER REFERENCES annotations,  -- of an undo: the action that no longer stands
    CHECK ((action = 'score') = (score IS NOT NULL)),
    CHECK ((action = 'undo') = (takes_back IS NOT NULL))
);
CREATE INDEX IF NOT EXISTS annotations_of_rater ON annotations (rater);
CREATE UNIQUE INDEX IF NOT EXISTS annotations_taken_back ON annotations (takes_back) WHERE takes_back IS NOT NULL;
"""
_COLUMNS = "number, id, system, rubric, rater, action, score, comment, at"
_INSERT = (
    "INSERT INTO annotations (item, rubric, rater, action, score, comment, at, takes_back) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING number"
)


@dataclass(frozen=True, slots=True)
class Annotation:
    """One action of a rater. `takes_back` is the number of what an undo undid."""

    number: int
    id: str
    system: str
    rubric: str
    rater: str
    action: Action
    score: float | None
    comment: str
    at: str
    takes_back: int | None = None

    @property
    def key(self) -> Key:
        return (self.id, self.system)


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of ratings that were handed in: new, in the place of the same rater's earlier score, skips, there
    already, and older than what is there."""

    new: int = 0
    replaced: int = 0
    skipped: int = 0
    there: int = 0
    older: int = 0

    @property
    def taken(self) -> int:
        return self.new + self.replaced + self.skipped


class AnnotationLog:
    """A run file, open for annotating. Threads may share it."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        open_to_read(self.path).close()  # what is no run file is refused, and never made into one
        self._turn = Lock()
        try:
            self._connection = open_to_write(self.path)
        except sqlite3.Error as exc:
            raise StoreError(f"{self.path}: cannot be written: {exc}") from exc
        self._made = False
        self._rubrics = frozenset[str]()

    def __enter__(self) -> AnnotationLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def record(self, key: Key, rubric: str, rater: str, score: float, comment: str = "") -> Annotation:
        """A rater's score of an item on a rubric; it takes the place of the one they gave before."""
        return self._act(key, rubric, rater, "score", score, comment)

    def skip(self, key: Key, rubric: str, rater: str, comment: str = "") -> Annotation:
        """A rater leaves this for later, or for others."""
        return self._act(key, rubric, rater, "skip", None, comment)

    def undo(self, rater: str) -> Annotation | None:
        """Take back the rater's last action that stands, and say which it was; None when there is none left."""
        name = self._checked(checked_rater, rater)
        with self._durable():
            last = self._last(name)
            if last is not None:
                item = self._item(last.key)
                self._connection.execute(_INSERT, (item, last.rubric, name, "undo", None, "", _now(), last.number))
        return last

    def take(self, ratings: Sequence[Rating]) -> Taken:
        """Ratings from elsewhere, all of them or none. A rating without a time is taken as given now."""
        counts = Counter[str]()
        with self._durable():
            now, standing = _now(), self._standing()
            for rating in ratings:
                place = (
                    self._item(rating.key),
                    self._rubric(rating.rubric),
                    self._checked(checked_rater, rating.rater),
                )
                fate = _fate(rating, standing.get(place))
                counts[fate] += 1
                if fate not in ("there", "older"):
                    score = None if rating.score is None else self._checked(checked_score, rating.score)
                    said, action = self._checked(checked_comment, rating.comment), "skip" if score is None else "score"
                    self._connection.execute(_INSERT, (*place, action, score, said, rating.at or now, None))
        return Taken(**counts)

    def _act(self, key: Key, rubric: str, rater: str, action: Action, score: float | None, comment: str) -> Annotation:
        name, said = self._checked(checked_rater, rater), self._checked(checked_comment, comment)
        given = None if action == "skip" else self._checked(checked_score, score)
        at = _now()
        with self._durable():
            row = (self._item(key), self._rubric(rubric), name, action, given, said, at, None)
            (number,) = self._connection.execute(_INSERT, row).fetchone()
        return Annotation(number, *key, rubric, name, action, given, said, at)

    def _last(self, rater: str) -> Annotation | None:
        row = self._connection.execute(
            f"SELECT {_COLUMNS} FROM {STANDING} JOIN items USING (item) WHERE rater = ? ORDER BY number DESC LIMIT 1",
            (rater,),
        ).fetchone()
        return None if row is None else Annotation(*row)

    def _standing(self) -> dict[tuple[int, str, str], _Standing]:
        """What every rater says now, by item, rubric and rater; a skip only where there is no score under it."""
        columns = "item, rubric, rater, score, comment, at"
        skips = self._connection.execute(f"SELECT {columns} FROM {LATEST} WHERE action = 'skip'")
        found = {(item, rubric, rater): _Standing(*rest) for item, rubric, rater, *rest in skips}
        scores = self._connection.execute(f"SELECT {columns} FROM {rated(True)}")
        return found | {(item, rubric, rater): _Standing(*rest) for item, rubric, rater, *rest in scores}

    def _item(self, key: Key) -> int:
        row = self._connection.execute("SELECT item FROM items WHERE id = ? AND system = ?", key).fetchone()
        if row is None:
            raise StoreError(f"{self.path}: there is no item id '{key[0]}', system '{key[1]}'; nothing was recorded")
        return int(row[0])

    def _rubric(self, rubric: str) -> str:
        if rubric not in self._rubrics:
            self._rubrics = frozenset(name for (name,) in self._connection.execute("SELECT rubric FROM series"))
        if rubric not in self._rubrics:
            raise StoreError(f"{self.path}: {unknown_name('rubric', rubric, self._rubrics)}; nothing was recorded")
        return rubric

    def _checked(self, check: Callable[[Any], T], value: Any) -> T:
        try:
            return check(value)
        except ValueError as exc:
            raise StoreError(f"{self.path}: {exc}; nothing was recorded") from exc

    @contextmanager
    def _durable(self) -> Iterator[None]:
        """One transaction, on the disk when this ends; nothing of it where anything goes wrong."""
        with self._turn:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                for statement in () if self._made else _TABLES.split(";\n"):
                    self._connection.execute(statement)
                yield
                self._connection.execute("COMMIT")
                self._made = True
            except BaseException as exc:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                if not isinstance(exc, sqlite3.Error):
                    raise
                raise StoreError(f"{self.path}: cannot be written: {exc}; nothing was recorded, try again") from exc


@dataclass(frozen=True, slots=True)
class _Standing:
    score: float | None
    comment: str
    at: str


def _fate(rating: Rating, before: _Standing | None) -> str:
    """What becomes of a rating beside what its rater says now. A skip takes a score's place only if it is later."""
    if before is None:
        return "skipped" if rating.score is None else "new"
    if rating.score == before.score and rating.comment in ("", before.comment):
        return "there"
    if rating.at and before.at and rating.at < before.at:
        return "older"
    if rating.score is None:
        return "skipped" if rating.at and before.at else "older"
    return "new" if before.score is None else "replaced"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
