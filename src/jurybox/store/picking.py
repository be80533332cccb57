"""Single things out of a run: its best and worst items, those that are disputed, those that failed.

SQLite looks through the whole run and hands over the few rows that were asked for, so a page about a million judgments
needs no more memory than one about a thousand. Ties go to whoever was judged first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from jurybox.store.reader import RunReader
from jurybox.types import Status

# Rubric -> the judges whose scores count on it.
Panels = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Ranked:
    """An item and its mean over rubrics."""

    id: str
    system: str
    mean: float


@dataclass(frozen=True, slots=True)
class Gap:
    """An item on the rubric where two figures of it lie furthest apart: the judge's and people's, or the lowest and the
    highest."""

    id: str
    system: str
    rubric: str
    one: float
    other: float

    @property
    def size(self) -> float:
        return abs(self.one - self.other)


@dataclass(frozen=True, slots=True)
class Failure:
    """Judgments of one item by one judge that ended unscored in the same way. `count` is of judgments: an item has
    several on a rubric when it has several samples. `reply` is the beginning of the last answer."""

    id: str
    system: str
    judge: str
    status: Status
    why: str
    reply: str
    rubrics: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Extent:
    """How much a run holds, and when its first and its last answer came (seconds since 1970; None without answers)."""

    items: int
    sources: int
    judgments: int
    raters: int
    began: float | None
    ended: float | None


def extent(reader: RunReader) -> Extent:
    """Sources are counted by id: what two systems wrote about one id belongs together."""
    items, sources = _one(reader, "SELECT COUNT(*), COUNT(DISTINCT id) FROM items")
    (judgments,) = _one(reader, "SELECT COUNT(*) FROM judgments")
    (raters,) = _one(reader, f"SELECT COUNT(DISTINCT rater) FROM {reader.rated}")
    began, ended = _one(reader, "SELECT MIN(at), MAX(at) FROM calls")
    return Extent(items, sources, judgments, raters, began, ended)


def rubric_bodies(reader: RunReader) -> dict[str, Mapping[str, Any]]:
    """Every rubric of the run as it was judged by: title, question, definition, scale."""
    return {rubric: json.loads(body) for rubric, body in _rows(reader, "SELECT rubric, body FROM series")}


def ranked_items(reader: RunReader, panels: Panels, *, highest: bool, limit: int) -> list[Ranked]:
    """The items with the highest or the lowest mean over all rubrics, among those that have a score on each."""
    scores, values = _item_scores(panels)
    query = f"""
        SELECT id, system, AVG(one) AS mean
        FROM (SELECT item, rubric, CASE WHEN COUNT(one) = COUNT(*) THEN AVG(one) END AS one
              FROM {scores} GROUP BY item, rubric)
        JOIN items USING (item)
        GROUP BY item HAVING COUNT(one) = ? ORDER BY mean {"DESC" if highest else "ASC"}, item LIMIT ?
    """
    return [Ranked(*row) for row in _rows(reader, query, (*values, len(panels), limit))]


def gaps_to_people(reader: RunReader, panels: Panels, limit: int) -> list[Gap]:
    """Items where the judge, or the mean of the panel, and the mean of the people who rated it lie furthest apart."""
    scores, values = _item_scores(panels)
    query = f"""
        SELECT id, system, rubric, given, rated, MAX(ABS(given - rated)) AS size
        FROM (SELECT item, rubric, AVG(one) AS given
              FROM {scores} GROUP BY item, rubric HAVING COUNT(one) = COUNT(*))
        JOIN (SELECT item, rubric, AVG(score) AS rated FROM {reader.rated} GROUP BY item, rubric) USING (item, rubric)
        JOIN items USING (item)
        GROUP BY item ORDER BY size DESC, item LIMIT ?
    """
    return _gaps(reader, query, (*values, limit))


def gaps_between_judges(reader: RunReader, panels: Panels, limit: int) -> list[Gap]:
    """Items on which the judges of a panel lie furthest apart."""
    scores, values = _item_scores(panels)
    query = f"""
        SELECT id, system, rubric, low, high, MAX(high - low) AS size
        FROM (SELECT item, rubric, MIN(one) AS low, MAX(one) AS high
              FROM {scores} GROUP BY item, rubric)
        JOIN items USING (item)
        WHERE high > low GROUP BY item ORDER BY size DESC, item LIMIT ?
    """
    return _gaps(reader, query, (*values, limit))


def gaps_between_samples(reader: RunReader, panels: Panels, limit: int) -> list[Gap]:
    """Items on which one judge's own samples lie furthest apart."""
    pairs, values = _series(panels)
    query = f"""
        SELECT id, system, rubric, low, high, MAX(high - low) AS size
        FROM (SELECT item, series, MIN(score) AS low, MAX(score) AS high
              FROM judgments WHERE series IN ({pairs}) GROUP BY item, series)
        JOIN series USING (series) JOIN items USING (item)
        WHERE high > low GROUP BY item ORDER BY size DESC, item LIMIT ?
    """
    return _gaps(reader, query, (*values, limit))


def ratings_of(reader: RunReader, id_: str, system: str) -> dict[str, dict[str, float]]:
    """What people gave one item: rubric -> rater -> score."""
    query = f"SELECT rubric, rater, score FROM {reader.rated} JOIN items USING (item) WHERE id = ? AND system = ?"
    found: dict[str, dict[str, float]] = {}
    for rubric, rater, score in _rows(reader, query, (id_, system)):
        found.setdefault(rubric, {})[rater] = score
    return found


def failures(reader: RunReader) -> Iterator[Failure]:
    """Every judgment that ended unscored, streamed in the order of items; those that ended alike are one."""
    query = """
        SELECT id, system, judge, status, COALESCE(error, ''), COALESCE(SUBSTR(text, 1, 400), ''), rubric, reasons
        FROM judgments j JOIN items USING (item) JOIN series USING (series) JOIN calls USING (call)
        WHERE status != 'scored' ORDER BY j.item, judge, status, j.series, j.sample
    """
    rows = ((*row[:4], row[4] or json.loads(row[7]).get(row[6], ""), row[5], row[6]) for row in _rows(reader, query))
    for (id_, system, judge, status, why), found in groupby(rows, key=lambda row: row[:5]):
        kept = list(found)
        rubrics = tuple(dict.fromkeys(row[6] for row in kept))
        yield Failure(id_, system, judge, status, why, kept[-1][5], rubrics, len(kept))


def failure_counts(reader: RunReader) -> dict[tuple[str, Status], int]:
    """(judge, status) -> how many judgments ended so; scored ones are left out."""
    query = """
        SELECT judge, status, COUNT(*) FROM judgments JOIN series USING (series) WHERE status != 'scored'
        GROUP BY judge, status ORDER BY COUNT(*) DESC, judge, status
    """
    return {(judge, status): count for judge, status, count in _rows(reader, query)}


def _gaps(reader: RunReader, query: str, values: tuple[Any, ...]) -> list[Gap]:
    # With MAX, SQLite takes the other columns of a group from the row that has it: an item's most disputed rubric.
    return [Gap(*row[:5]) for row in _rows(reader, query, values)]


def _item_scores(panels: Panels) -> tuple[str, tuple[str, ...]]:
    """A query for one score an item and series of a panel, and its values."""
    pairs, values = _series(panels)
    scores = f"SELECT item, series, AVG(score) AS one FROM judgments WHERE series IN ({pairs}) GROUP BY item, series"
    return f"({scores}) JOIN series USING (series)", values


def _series(panels: Panels) -> tuple[str, tuple[str, ...]]:
    """A query for the numbers of a panel's series, and its values."""
    pairs = [(rubric, judge) for rubric, judges in panels.items() for judge in judges]
    places = ", ".join(["(?, ?)"] * len(pairs)) or "(NULL, NULL)"
    return f"SELECT series FROM series WHERE (rubric, judge) IN (VALUES {places})", tuple(
        word for pair in pairs for word in pair
    )


def _one(reader: RunReader, query: str) -> Any:
    return _rows(reader, query).fetchone()


def _rows(reader: RunReader, query: str, values: tuple[Any, ...] = ()) -> Any:
    return reader._rows(query, values)  # one room: the reader's connection is not for anybody further right
