"""Looking at a run: tallies for tables, rows for export, replies for replay. Never writes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from jurybox.errors import StoreError
from jurybox.store.connection import open_to_read
from jurybox.store.replies import REPLY_COLUMNS, from_row
from jurybox.types import Judgment, Signature, Status, Verdict


@dataclass(frozen=True, slots=True)
class Tally:
    """Item scores of one system on one rubric by one judge (each item's score is the mean of its scored samples)."""

    rubric: str
    judge: str
    system: str
    items: int
    scored: int
    total: float
    total_of_squares: float


class RunReader:
    """A run file opened read-only; safe while a run is still writing to it."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._connection = open_to_read(self.path)

    def __enter__(self) -> RunReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def expected(self) -> dict[tuple[str, str], int]:
        """(rubric, judge) -> judgments that the run set out for."""
        rows = self._rows("SELECT rubric, judge, expected FROM series")
        return {(rubric, judge): count for rubric, judge, count in rows}

    def signatures(self) -> dict[tuple[str, str], Signature]:
        """(rubric, judge) -> signature, in the order the series were opened."""
        found = {}
        for rubric, judge, samples, version, text in self._rows(
            "SELECT rubric, judge, samples, version, settings FROM series ORDER BY series"
        ):
            settings = json.loads(text)
            found[rubric, judge] = Signature(
                settings["rubric"], settings["layout"], judge, samples, settings["temperature"], "mean", version
            )
        return found

    def tallies(self) -> list[Tally]:
        """One row a rubric, judge and system; squares are taken from the middle of the scale to keep their digits."""
        query = """
            SELECT rubric, judge, system, COUNT(*), COUNT(mean), TOTAL(mean), TOTAL((mean - 3) * (mean - 3))
            FROM (SELECT item, series, AVG(score) AS mean FROM judgments GROUP BY item, series)
            JOIN items USING (item) JOIN series USING (series)
            GROUP BY series, system ORDER BY series, MIN(item)
        """
        return [Tally(*row) for row in self._rows(query)]

    def statuses(self) -> dict[tuple[str, str], dict[Status, int]]:
        """(rubric, judge) -> how many judgments ended how."""
        query = (
            "SELECT rubric, judge, status, COUNT(*) FROM judgments JOIN series USING (series) GROUP BY series, status"
        )
        found: dict[tuple[str, str], dict[Status, int]] = {}
        for rubric, judge, status, count in self._rows(query):
            found.setdefault((rubric, judge), {})[status] = count
        return found

    def spent(self) -> dict[str, Any]:
        """Calls, tokens, seconds and cost of the whole run; cost is None where any call's price is unknown."""
        row = self._one(
            "SELECT COUNT(*), TOTAL(tokens_in), TOTAL(tokens_out), TOTAL(tokens_cached), AVG(seconds), "
            "CASE WHEN COUNT(cost) = COUNT(*) THEN TOTAL(cost) END FROM calls"
        )
        calls, tokens_in, tokens_out, cached, seconds, cost = row
        return {
            "calls": calls,
            "tokens_in": int(tokens_in),
            "tokens_out": int(tokens_out),
            "tokens_cached": int(cached),
            "seconds_a_call": seconds,
            "cost": cost,
        }

    def judgments(self) -> Iterator[Judgment]:
        """Every judgment with its reply, item by item, streamed."""
        signatures = self.signatures()
        query = f"""
            SELECT id, system, rubric, judge, j.sample, status, score, reasons, prompt_digest, cost, error,
                   {", ".join(REPLY_COLUMNS)}
            FROM judgments j JOIN items USING (item) JOIN series USING (series) JOIN calls USING (call)
            ORDER BY j.item, j.series, j.sample
        """
        for row in self._rows(query):
            id_, system, rubric, judge, sample, status, score, reasons, digest, cost, error, *reply = row
            yield Judgment(
                id_,
                system,
                rubric,
                judge,
                sample,
                Verdict(status, score, json.loads(reasons).get(rubric, "")),
                digest.hex(),
                from_row(reply) if error is None else None,
                cost,
                str(signatures[rubric, judge]),
            )

    def item(self, id_: str, system: str) -> Mapping[str, Any]:
        """One item as it was judged: summary, source, metadata."""
        row = self._one(
            "SELECT summary, body, metadata FROM items JOIN sources USING (source) WHERE id = ? AND system = ?",
            (id_, system),
        )
        if row is None:
            raise StoreError(f"{self.path}: there is no item id '{id_}', system '{system}'")
        return {"summary": row[0], "source": json.loads(row[1]), "metadata": json.loads(row[2])}

    def ratings(self) -> Iterator[tuple[str, str, str, str, float]]:
        """Human ratings: id, system, rubric, rater, score."""
        return self._rows("SELECT id, system, rubric, rater, score FROM ratings JOIN items USING (item)")

    def attempts(self) -> Iterator[tuple[int, str | None, str | None]]:
        """Tries before the last one: call, error, text."""
        return self._rows("SELECT call, error, text FROM attempts ORDER BY call, attempt")

    def has_call(self, key: bytes) -> bool:
        return self._one("SELECT 1 FROM calls WHERE key = ? AND error IS NULL", (key,)) is not None

    def _one(self, query: str, values: tuple[Any, ...] = ()) -> Any:
        return self._rows(query, values).fetchone()

    def _rows(self, query: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        try:
            return self._connection.execute(query, values)
        except sqlite3.DatabaseError as exc:
            raise StoreError(f"{self.path}: cannot be read: {exc}") from exc
