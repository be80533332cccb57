"""Named calibrations of a run: maps from a judge's scores to people's, kept in the run file they were fitted on.

Their table is made when the first one is kept, so files without it stay what they are. A name holds one map for each
rubric and judge; another map in its place must be asked for. Kept is not applied: that is the reports', by name.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import orjson

from jurybox.errors import StoreError
from jurybox.stats.calibrate import Calibration, CalibrationCheck
from jurybox.store.connection import open_to_read, open_to_write
from jurybox.store.lock import WriterLock
from jurybox.store.reader import RunReader

# What became of a calibration that was handed in.
Kept = Literal["new", "the same", "replaced"]

_TABLE = """
CREATE TABLE IF NOT EXISTS calibrations (
    name TEXT NOT NULL,
    rubric TEXT NOT NULL,
    judge TEXT NOT NULL,           -- or a jury, by its whole name
    kind TEXT NOT NULL,
    parameters TEXT NOT NULL,      -- the map's knots, as JSON
    n INTEGER NOT NULL,            -- items that it was fitted on
    sources INTEGER NOT NULL,
    rmse TEXT NOT NULL,            -- before, after and what lies between, on sources left out, as JSON
    human TEXT NOT NULL,           -- where the ratings came from
    signature TEXT NOT NULL,       -- of the scores that it was fitted on
    at TEXT NOT NULL,
    version TEXT NOT NULL,         -- of jurybox
    digest TEXT NOT NULL,
    PRIMARY KEY (name, rubric, judge)
) WITHOUT ROWID
"""
_COLUMNS = "name, rubric, judge, kind, parameters, n, sources, rmse, human, signature, at, version"
_ORDER = "name, judge, (SELECT MIN(series) FROM series WHERE series.rubric = calibrations.rubric), rubric"
_HOLES = ", ".join("?" * 13)


@dataclass(frozen=True, slots=True)
class NamedCalibration:
    """One map of a name: for one rubric and one judge. `human` says where the ratings came from, `signature` what the
    scores were, `at` when it was kept."""

    name: str
    rubric: str
    judge: str
    map: Calibration
    check: CalibrationCheck
    sources: int
    human: str
    signature: str
    version: str
    at: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 of the map and of what it was fitted on and is worth; not of its name, date or files. Rounded, so
        that the last bit of another machine's arithmetic makes no other map."""
        content = {
            "rubric": self.rubric,
            "judge": self.judge,
            "kind": self.map.kind,
            "knots": [[f"{number:.9g}" for number in side] for side in (self.map.judge, self.map.human)],
            "n": self.map.n,
            "sources": self.sources,
            "rmse": [_rounded(self.check.before.value), _rounded(self.check.after.value)],
        }
        return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()

    @property
    def mark(self) -> str:
        """How signatures show it: `cal:NAME:3f2a9c`."""
        return f"cal:{self.name}:{self.digest[:6]}"

    def as_dict(self) -> dict[str, Any]:
        check = self.check.as_dict()
        return {
            "kind": self.map.kind,
            "asked": check.pop("kind"),
            "n": self.map.n,
            "sources": self.sources,
            **check,
            "map": {"judge": list(self.map.judge), "human": list(self.map.human)},
            "human": self.human,
            "signature": self.signature,
            "at": self.at,
            "version": self.version,
            "digest": self.digest,
        }


def _rounded(value: float | None) -> str | None:
    return None if value is None else f"{value:.9g}"


def named_calibrations(reader: RunReader, name: str | None = None) -> list[NamedCalibration]:
    """What a run file holds, or holds under one name, by name, judge and rubric; nothing where it has no table."""
    if not reader.has_table("calibrations"):
        return []
    rows = reader._rows(f"SELECT {_COLUMNS} FROM calibrations ORDER BY {_ORDER}")
    return [found for found in map(_named, rows) if name in (None, found.name)]


def _named(row: Sequence[Any]) -> NamedCalibration:
    name, rubric, judge, kind, parameters, n, sources, rmse, human, signature, at, version = row
    knots: Mapping[str, Sequence[float]] = orjson.loads(parameters)
    fitted = Calibration(kind, tuple(knots["judge"]), tuple(knots["human"]), n)
    check = CalibrationCheck.from_dict(orjson.loads(rmse))
    return NamedCalibration(name, rubric, judge, fitted, check, sources, human, signature, version, at)


class CalibrationBook:
    """A finished or interrupted run file, held for keeping calibrations; refused while a run is writing to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        open_to_read(path).close()  # what is no run file is refused before a lock is left beside it
        try:
            self._lock = WriterLock(path, "calibrate when it has finished")
        except OSError as exc:
            raise StoreError(f"{path}: cannot be written: {exc.strerror}") from exc
        try:
            self._connection = open_to_write(path)
        except BaseException as exc:
            self._lock.release()
            if isinstance(exc, sqlite3.Error):
                raise StoreError(f"{path}: cannot be written: {exc}") from exc
            raise

    def __enter__(self) -> CalibrationBook:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        self._lock.release()

    def keep(
        self, calibrations: Sequence[NamedCalibration], *, instead: bool = False
    ) -> list[tuple[NamedCalibration, Kept]]:
        """Keep all of them or none, durably; each comes back with its date. One that differs from what its name holds
        is refused, unless it is to stand `instead`; one that does not differ leaves what is there."""
        with RunReader(self.path) as reader:
            there = {(old.name, old.rubric, old.judge): old for old in named_calibrations(reader)}
        now = datetime.now(UTC).isoformat(timespec="seconds")
        decided = [self._decided(new, there.get((new.name, new.rubric, new.judge)), now) for new in calibrations]
        changed = [new for new, kept in decided if kept == "replaced"]
        if changed and not instead:
            named = ", ".join(new.rubric for new in changed)
            raise StoreError(
                f"{self.path}: '{changed[0].name}' already holds another calibration of {named} by {changed[0].judge}; "
                "figures may carry its name, so nothing was changed: give another --name, or --replace"
            )
        self._write([new for new, kept in decided if kept != "the same"])
        return decided

    def _decided(self, new: NamedCalibration, old: NamedCalibration | None, now: str) -> tuple[NamedCalibration, Kept]:
        if old is not None and old.digest == new.digest:
            return old, "the same"
        return replace(new, at=now), "new" if old is None else "replaced"

    def _write(self, calibrations: Sequence[NamedCalibration]) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute(_TABLE)
            self._connection.executemany(
                f"INSERT OR REPLACE INTO calibrations ({_COLUMNS}, digest) VALUES ({_HOLES})",
                [_row(one) for one in calibrations],
            )
            self._connection.execute("COMMIT")
        except sqlite3.Error as exc:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise StoreError(f"{self.path}: cannot be written: {exc}; its calibrations are as they were") from exc


def _row(one: NamedCalibration) -> tuple[Any, ...]:
    knots = orjson.dumps({"judge": one.map.judge, "human": one.map.human}).decode()
    return (
        one.name,
        one.rubric,
        one.judge,
        one.map.kind,
        knots,
        one.map.n,
        one.sources,
        orjson.dumps(one.check.as_dict()).decode(),
        one.human,
        one.signature,
        one.at,
        one.version,
        one.digest,
    )
