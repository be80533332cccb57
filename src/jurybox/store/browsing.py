"""Rows for whoever walks through a run page by page: everything narrow in one pass, wide texts for a page at a time.

No query here sorts or counts a million judgments for one page: `report/browsing.py` keeps the narrow columns as arrays
and asks this module for the texts of the fifty rows that it shows. Run files get no index for it and stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from jurybox.store.lock import MANIFEST
from jurybox.store.rated import ANNOTATIONS
from jurybox.store.reader import RunReader
from jurybox.store.replies import REPLY_COLUMNS, from_row
from jurybox.types import STATUSES, Reply, Status

# Characters of a summary in a list, of a reply in the list of failures.
GLIMPSE = 220

_STATUS = " ".join(f"WHEN '{status}' THEN {number}" for number, status in enumerate(STATUSES))


@dataclass(frozen=True, slots=True)
class SeriesRow:
    """One rubric under one judge, with how it was asked."""

    number: int
    rubric: str
    judge: str
    samples: int
    expected: int
    settings: Mapping[str, Any]


class Newest(NamedTuple):
    """The last call, item and repeated try of a run, and what it set out for: other when it went on."""

    call: int
    item: int
    tries: int
    expected: int


NOTHING_YET = Newest(0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class ItemLine:
    """An item in a list: who, and how its summary begins."""

    number: int
    id: str
    system: str
    summary: str


@dataclass(frozen=True, slots=True)
class Call:
    """One question to a judge about an item, for the series that it answered: what came back, and what came before."""

    number: int
    judge: str
    rubrics: tuple[str, ...]
    sample: int
    prompt_digest: str
    asked: int
    error: str
    reply: Reply | None
    earlier: tuple[tuple[str, str], ...]
    cost: float | None
    at: float
    reused: bool
    shown: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Lost:
    """The unscored samples of an item in one series."""

    number: int
    id: str
    system: str
    rubric: str
    judge: str
    statuses: tuple[Status, ...]
    why: str
    reply: str


def verdict_rows(reader: RunReader) -> Iterator[tuple[int, int, float, int]]:
    """Every judgment in the order of items and series: item, series, score (-1 for none), number of its status."""
    query = f"SELECT item, series, IFNULL(score, -1), CASE status {_STATUS} END FROM judgments"
    return reader._rows(f"{query} ORDER BY item, series, sample")


def verdict_rows_of(reader: RunReader, items: Sequence[int]) -> Iterator[tuple[int, int, float, int]]:
    """The same of these items alone."""
    query = f"SELECT item, series, IFNULL(score, -1), CASE status {_STATUS} END FROM judgments"
    wanted = "item IN (SELECT value FROM json_each(?))"
    return reader._rows(f"{query} WHERE {wanted} ORDER BY item, series, sample", (json.dumps(list(items)),))


def judged_since(reader: RunReader, call: int) -> tuple[list[int], int]:
    """The items with a judgment by a later call than this, and how many judgments there are by now."""
    later = [item for (item,) in reader._rows("SELECT DISTINCT item FROM judgments WHERE call > ?", (call,))]
    return later, int(reader._one("SELECT COUNT(*) FROM judgments")[0])


def item_columns(reader: RunReader) -> tuple[list[int], list[str], list[int]]:
    """Every item's number, system, and place of its id in the order of ids. Reads one index alone, and is one row for
    SQLite: a thread that fetches row by row queues for the interpreter's lock each time."""
    rows = reader._one(
        "SELECT json_group_array(item), json_group_array(system), json_group_array(place) "
        "FROM (SELECT item, system, DENSE_RANK() OVER (ORDER BY id) AS place FROM items)"
    )
    items, systems, places = map(json.loads, rows)
    return items, systems, places


def series_rows(reader: RunReader) -> list[SeriesRow]:
    rows = reader._rows("SELECT series, rubric, judge, samples, expected, settings FROM series ORDER BY series")
    return [
        SeriesRow(number, rubric, judge, samples, expected, json.loads(settings))
        for number, rubric, judge, samples, expected, settings in rows
    ]


def newest(reader: RunReader) -> Newest:
    """Found at once, however long the run is."""
    found = reader._one(
        "SELECT (SELECT MAX(call) FROM calls), (SELECT MAX(item) FROM items), (SELECT MAX(rowid) FROM attempts), "
        "(SELECT SUM(expected) FROM series)"
    )
    return Newest(*(number or 0 for number in found))


@contextmanager
def snapshot(reader: RunReader) -> Iterator[None]:
    """Several questions to one state of the file, whatever is written meanwhile."""
    reader._rows("BEGIN")
    try:
        yield
    finally:
        reader._rows("COMMIT")


def has_writer(path: Path) -> bool:
    """Whether a run says that it is writing, also to the folder of results that this file was made of. One that was
    killed cannot take that back."""
    return any(path.with_name(f"{name}-lock").exists() for name in (path.name, MANIFEST))


def footprint(path: Path) -> tuple[int, ...] | None:
    """Changes whenever something was written, also by annotating; None where there is no such file.

    A WAL that is empty is as good as none: readers make and remove such ones.
    """
    try:
        kept = path.stat()
    except OSError:
        return None
    try:
        log = path.with_name(path.name + "-wal").stat()
    except OSError:
        return (kept.st_ino, kept.st_mtime_ns, kept.st_size)
    return (kept.st_ino, kept.st_mtime_ns, kept.st_size, *((log.st_mtime_ns, log.st_size) if log.st_size else ()))


def item_lines(reader: RunReader, numbers: Sequence[int]) -> dict[int, ItemLine]:
    places = ", ".join("?" * len(numbers))
    query = f"SELECT item, id, system, SUBSTR(summary, 1, {GLIMPSE}) FROM items WHERE item IN ({places})"
    return {row[0]: ItemLine(*row) for row in reader._rows(query, tuple(numbers))}


def item_key(reader: RunReader, number: int) -> tuple[str, str] | None:
    """Id and system of an item, None where there is no such item."""
    found: tuple[str, str] | None = reader._one("SELECT id, system FROM items WHERE item = ?", (number,))
    return found


def same_source(reader: RunReader, id_: str) -> dict[str, int]:
    """What all systems wrote about one id: system -> number of the item, in the order they were judged."""
    rows = reader._rows("SELECT system, item FROM items WHERE id = ? ORDER BY item", (id_,))
    return dict(rows.fetchall())


def calls_of(reader: RunReader, number: int) -> list[Call]:
    """Every call about an item, in the order of judges and samples."""
    query = f"""
        SELECT call, judge, json_group_array(rubric), j.sample, prompt_digest, attempts, COALESCE(error, ''), cost, at,
               reused, shown, {", ".join(f"calls.{column}" for column in REPLY_COLUMNS)}
        FROM (SELECT * FROM judgments WHERE item = ? ORDER BY series, sample) j
        JOIN series USING (series) JOIN calls USING (call)
        GROUP BY call, judge ORDER BY MIN(j.series), j.sample
    """
    return [_call(reader, row) for row in reader._rows(query, (number,)).fetchall()]


def _call(reader: RunReader, row: Sequence[Any]) -> Call:
    number, judge, rubrics, sample, digest, asked, error, cost, at, reused, shown, *reply = row
    before = reader._rows("SELECT COALESCE(error, ''), COALESCE(text, '') FROM attempts WHERE call = ?", (number,))
    return Call(
        number,
        judge,
        tuple(json.loads(rubrics)),
        sample,
        digest.hex(),
        asked,
        error,
        None if error else from_row(reply),
        tuple(before.fetchall()),
        cost,
        at,
        bool(reused),
        None if shown is None else json.loads(shown),
    )


def lost_lines(reader: RunReader, cells: Sequence[tuple[int, int]]) -> list[Lost]:
    """The unscored samples of these (item, series), in this order; a reason is the last sample's."""
    query = f"""
        SELECT id, system, rubric, judge, json_group_array(status), COALESCE(error, ''), reasons,
               COALESCE(SUBSTR(text, 1, {GLIMPSE}), ''), MAX(j.sample)
        FROM judgments j JOIN items USING (item) JOIN series USING (series) JOIN calls USING (call)
        WHERE j.item = ? AND j.series = ? AND status != 'scored' GROUP BY j.item
    """
    found = []
    for item, series in cells:
        row = reader._one(query, (item, series))
        if row is not None:  # judged again in the meantime
            id_, system, rubric, judge, statuses, error, reasons, text, _ = row
            why = error or json.loads(reasons).get(rubric, "")
            told = tuple(dict.fromkeys(json.loads(statuses)))
            found.append(Lost(item, id_, system, rubric, judge, told, why, text))
    return found


def rated_state(reader: RunReader) -> tuple[int, int]:
    """Different after every action of a rater: ratings that came with the data, and the last line of the log."""
    (given,) = reader._one("SELECT COUNT(*) FROM ratings")
    if not reader.has_table(ANNOTATIONS):
        return (given, 0)
    return (given, reader._one("SELECT IFNULL(MAX(number), 0) FROM annotations")[0])
