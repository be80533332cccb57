"""Looking at annotations: what people say now, how far each rater is, and the whole log. Never writes.

A file that nobody annotated has ratings all the same, if they came with its data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jurybox.data.rating import Key, Rating
from jurybox.store.annotations import Annotation
from jurybox.store.rated import ANNOTATIONS, LATEST
from jurybox.store.reader import RunReader


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a rater is. `scored` and `skipped` are of items x rubrics, `total` is what there is of them in the run;
    `last` is when they last did something, empty where their ratings came with the data."""

    rater: str
    scored: int
    skipped: int
    total: int
    last: str

    def as_dict(self) -> dict[str, Any]:
        return {
            "rater": self.rater,
            "scored": self.scored,
            "skipped": self.skipped,
            "total": self.total,
            "last": self.last or None,
        }


def item_keys(reader: RunReader) -> list[Key]:
    """Every item of the run, in the order they were judged."""
    return list(reader._rows("SELECT id, system FROM items ORDER BY item"))


def current_ratings(reader: RunReader, rater: str | None = None) -> Iterator[Rating]:
    """What people say now, or one of them: given here, or come with the data (then without comment and time)."""
    query = f"SELECT id, system, rubric, rater, score, comment, at FROM {reader.rated} JOIN items USING (item)"
    where, values = ("", ()) if rater is None else (" WHERE rater = ?", (rater,))
    return (Rating(*row) for row in reader._rows(f"{query}{where} ORDER BY item, rubric, rater", values))


def skips(reader: RunReader, rater: str | None = None) -> list[Annotation]:
    """What raters skipped, or one of them, and have not come back to; the longest ago first."""
    if not reader.has_table(ANNOTATIONS):
        return []
    query = f"""
        SELECT latest.number, id, system, rubric, rater, action, score, comment, at
        FROM {LATEST} AS latest JOIN items USING (item)
        WHERE action = 'skip' AND (?1 IS NULL OR rater = ?1) ORDER BY latest.number
    """
    return [Annotation(*row) for row in reader._rows(query, (rater,))]


def history(reader: RunReader, rater: str | None = None) -> list[Annotation]:
    """Every action in the order it was taken, also what was undone and the undoing."""
    if not reader.has_table(ANNOTATIONS):
        return []
    query = """
        SELECT number, id, system, rubric, rater, action, score, comment, at, takes_back
        FROM annotations JOIN items USING (item) WHERE ?1 IS NULL OR rater = ?1 ORDER BY number
    """
    return [Annotation(*row) for row in reader._rows(query, (rater,))]


def progress(reader: RunReader) -> list[Progress]:
    """Everyone who rated or skipped anything on the run's rubrics, by name."""
    judged = "rubric IN (SELECT rubric FROM series)"
    (total,) = reader._one("SELECT (SELECT COUNT(*) FROM items) * (SELECT COUNT(DISTINCT rubric) FROM series)")
    query = f"SELECT rater, COUNT(*), MAX(at) FROM {reader.rated} WHERE {judged} GROUP BY rater"
    scored = {rater: (count, last) for rater, count, last in reader._rows(query)}
    skipped: dict[str, int] = {}
    last: dict[str, str] = {}
    for skip in skips(reader):
        skipped[skip.rater] = skipped.get(skip.rater, 0) + 1
        last[skip.rater] = max(last.get(skip.rater, ""), skip.at)
    return [
        Progress(
            rater,
            scored.get(rater, (0, ""))[0],
            skipped.get(rater, 0),
            total,
            max(scored.get(rater, (0, ""))[1], last.get(rater, "")),
        )
        for rater in sorted(scored.keys() | skipped.keys())
    ]
