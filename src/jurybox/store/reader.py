"""Looking at a run: tallies for tables, rows for export, replies for replay. Never writes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from jurybox.errors import StoreError
from jurybox.stats import COMBINING, Combine
from jurybox.store.connection import open_to_read
from jurybox.store.rated import ANNOTATIONS, rated
from jurybox.store.replies import REPLY_COLUMNS, from_row
from jurybox.store.spending import NOTHING, spending, spent
from jurybox.types import Judgment, Quote, Signature, Status, Verdict

# The passages quoted in a judgment's reason, as a JSON array in the order of a Quote's own fields.
_QUOTES = """(SELECT json_group_array(json_array(quote, field, entry, "start", "end", similarity))
              FROM quotes WHERE quotes.call = j.call AND quotes.rubric = series.rubric)"""


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
        for rubric, judge, samples, version, text, lacks in self._rows(
            "SELECT rubric, judge, samples, version, settings, lacks FROM series ORDER BY series"
        ):
            settings = json.loads(text)
            found[rubric, judge] = Signature(
                rubric=settings["rubric"],
                layout="+".join(filter(None, (settings["layout"], settings["long"]))),
                judge=judge,
                samples=settings["samples until"] or samples,
                temperature=None if "temperature" in json.loads(lacks) else settings["temperature"],
                combine="mean",
                version=version,
            )
        return found

    def lacks(self) -> dict[str, dict[str, str]]:
        """Judge -> what its server turned out not to have, each with the server's words."""
        rows = self._rows("SELECT judge, lacks FROM series WHERE lacks != '{}'")
        return {judge: json.loads(lacks) for judge, lacks in rows}

    def quote_counts(self) -> dict[str, tuple[int, int]]:
        """Judge -> passages that it quoted, and how many of these the material lacks."""
        if self._one("SELECT 1 FROM quotes LIMIT 1") is None:
            return {}  # seen at once, and the query below walks over all judgments
        query = """
            SELECT judge, COUNT(*), COUNT(*) - COUNT(field)
            FROM (SELECT DISTINCT judge, call FROM judgments JOIN series USING (series)) JOIN quotes USING (call)
            GROUP BY judge
        """
        return {judge: (quotes, absent) for judge, quotes, absent in self._rows(query)}

    def tallies(self, combine: Combine = "mean") -> Iterator[tuple[str, str, str, int | None, int, float, float]]:
        """Items of one rubric, judge and system whose score is nearest to one step (halves go up; None: no score).

        Rubric, judge, system, step, how many, their total, and their total of squares, taken from the middle of the
        scale to keep the digits.
        """
        query = f"""
            SELECT rubric, judge, system, CAST(one + 0.5 AS INTEGER), COUNT(*), TOTAL(one), TOTAL((one - 3) * (one - 3))
            FROM (SELECT item, series, {self._combined(combine)} AS one FROM judgments GROUP BY item, series)
            JOIN items USING (item) JOIN series USING (series)
            GROUP BY series, system, 4 ORDER BY series, MIN(item)
        """
        return self._rows(query)

    def systems(self) -> list[str]:
        """The systems whose summaries were judged, by name."""
        return [system for (system,) in self._rows("SELECT DISTINCT system FROM items ORDER BY system")]

    def scores(self, rubric: str, combine: Combine = "mean") -> Iterator[tuple[str, str, str, float | None]]:
        """Each item's score on a rubric, None where no sample was scored: judge, id, system, score."""
        query = f"""
            SELECT judge, id, system, {self._combined(combine)}
            FROM judgments JOIN items USING (item) JOIN series USING (series)
            WHERE series IN (SELECT series FROM series WHERE rubric = ?)
            GROUP BY item, series ORDER BY item, series
        """
        return self._rows(query, (rubric,))

    def statuses(self) -> dict[tuple[str, str], dict[Status, int]]:
        """(rubric, judge) -> how many judgments ended how."""
        query = (
            "SELECT rubric, judge, status, COUNT(*) FROM judgments JOIN series USING (series) GROUP BY series, status"
        )
        found: dict[tuple[str, str], dict[Status, int]] = {}
        for rubric, judge, status, count in self._rows(query):
            found.setdefault((rubric, judge), {})[status] = count
        return found

    def first_unscored(self, judge: str) -> tuple[str, str, str, str] | None:
        """The first judgment of this judge that ended without a score: id, system, rubric, why."""
        query = """
            SELECT id, system, rubric, status, reasons
            FROM judgments JOIN series USING (series) JOIN items USING (item) JOIN calls USING (call)
            WHERE judge = ? AND status != 'scored' ORDER BY item, series, judgments.sample LIMIT 1
        """
        row = self._one(query, (judge,))
        if row is None:
            return None
        id_, system, rubric, status, reasons = row
        return id_, system, rubric, json.loads(reasons).get(rubric) or status

    def spent(self, judge: str | None = None) -> dict[str, Any]:
        """What the whole run or one of its judges took; see `store/spending.py`."""
        return spent(self) if judge is None else dict(spending(self)[1].get(judge, NOTHING))

    def judgments(self, of: tuple[str, str] | None = None) -> Iterator[Judgment]:
        """Every judgment with its reply, item by item, streamed; with `of`, those of one item (id, system)."""
        signatures = self.signatures()
        query = f"""
            SELECT id, system, rubric, judge, j.sample, status, score, reasons, prompt_digest, cost, error, shown,
                   {_QUOTES}, {", ".join(REPLY_COLUMNS)}
            FROM judgments j JOIN items USING (item) JOIN series USING (series) JOIN calls USING (call)
            {"" if of is None else "WHERE id = ? AND system = ?"} ORDER BY j.item, j.series, j.sample
        """
        for row in self._rows(query, of or ()):
            id_, system, rubric, judge, sample, status, score, reasons, digest, cost, error, shown, quotes, *reply = row
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
                None if shown is None else json.loads(shown),
                tuple(Quote(*quote) for quote in json.loads(quotes)),
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
        """What people say now: id, system, rubric, rater, score. Annotations stand over what came with the data."""
        query = f"SELECT id, system, rubric, rater, score FROM {self.rated} JOIN items USING (item)"
        return self._rows(f"{query} ORDER BY item, rubric, rater")

    @property
    def rated(self) -> str:
        """SQL for the table of all current ratings; looked up each time, for the first annotation may come any time."""
        return rated(self.has_table(ANNOTATIONS))

    def has_table(self, name: str) -> bool:
        """Whether the file has a table that is made when it is first needed."""
        return self._one("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)) is not None

    def attempts(self) -> Iterator[tuple[int, str | None, str | None]]:
        """Tries before the last one: call, error, text."""
        return self._rows("SELECT call, error, text FROM attempts ORDER BY call, attempt")

    def has_call(self, key: bytes) -> bool:
        return self._one("SELECT 1 FROM calls WHERE key = ? AND error IS NULL", (key,)) is not None

    def _combined(self, combine: Combine) -> str:
        """SQL for the one score of an item's scored samples; what SQLite lacks is added to it."""
        if combine == "mean":
            return "AVG(score)"
        combining = COMBINING[combine]

        class Combining:
            def __init__(self) -> None:
                self.scores: list[float] = []

            def step(self, score: Any, /) -> None:
                if score is not None:
                    self.scores.append(score)

            def finalize(self) -> Any:
                return combining(self.scores) if self.scores else None

        self._connection.create_aggregate(f"{combine}_of", 1, Combining)
        return f"{combine}_of(score)"

    def _one(self, query: str, values: tuple[Any, ...] = ()) -> Any:
        return self._rows(query, values).fetchone()

    def _rows(self, query: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        try:
            return self._connection.execute(query, values)
        except sqlite3.DatabaseError as exc:
            raise StoreError(f"{self.path}: cannot be read: {exc}") from exc
