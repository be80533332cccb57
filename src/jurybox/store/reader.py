"""Looking at a run: tallies for tables, rows for export, replies for replay. Never writes."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from jurybox.errors import StoreError
from jurybox.stats import COMBINING, Combine
from jurybox.store.connection import open_to_read
from jurybox.store.rated import ANNOTATIONS, rated
from jurybox.store.replies import REPLY_COLUMNS, from_row
from jurybox.types import Judgment, Quote, Signature, Status, Verdict


@dataclass(frozen=True, slots=True)
class Tally:
    """Item scores of one system on one rubric by one judge (each item's score is that of its scored samples)."""

    rubric: str
    judge: str
    system: str
    items: int
    scored: int
    total: float
    total_of_squares: float


@dataclass(frozen=True, slots=True)
class SampleTally:
    """How far the scored samples of an item differ, over the items of one series that have two or more of them.

    `spread` is an item's standard deviation, `agreement` its share of equal pairs; the last three are scored samples an
    item.
    """

    rubric: str
    judge: str
    items: int
    paired: int
    spread: float
    spread_of_squares: float
    agreement: float
    agreement_of_squares: float
    least: int
    mean: float
    most: int


# The passages quoted in a judgment's reason, as a JSON array in the order of a Quote's own fields.
_QUOTES = """(SELECT json_group_array(json_array(quote, field, entry, "start", "end", similarity))
              FROM quotes WHERE quotes.call = j.call AND quotes.rubric = series.rubric)"""


_TOKENS = "call, tokens_in, tokens_out, tokens_cached"


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
        query = """
            SELECT judge, COUNT(*), COUNT(*) - COUNT(field)
            FROM (SELECT DISTINCT judge, call FROM judgments JOIN series USING (series)) JOIN quotes USING (call)
            GROUP BY judge
        """
        return {judge: (quotes, absent) for judge, quotes, absent in self._rows(query)}

    def tallies(self, combine: Combine = "mean") -> list[Tally]:
        """One row a rubric, judge and system; squares are taken from the middle of the scale to keep their digits."""
        query = f"""
            SELECT rubric, judge, system, COUNT(*), COUNT(one), TOTAL(one), TOTAL((one - 3) * (one - 3))
            FROM (SELECT item, series, {self._combined(combine)} AS one FROM judgments GROUP BY item, series)
            JOIN items USING (item) JOIN series USING (series)
            GROUP BY series, system ORDER BY series, MIN(item)
        """
        return [Tally(*row) for row in self._rows(query)]

    def scores(self, rubric: str, combine: Combine = "mean") -> Iterator[tuple[str, str, str, float | None]]:
        """Each item's score on a rubric, None where no sample was scored: judge, id, system, score."""
        query = f"""
            SELECT judge, id, system, {self._combined(combine)}
            FROM judgments JOIN items USING (item) JOIN series USING (series)
            WHERE series IN (SELECT series FROM series WHERE rubric = ?)
            GROUP BY item, series ORDER BY item, series
        """
        return self._rows(query, (rubric,))

    def distributions(self, combine: Combine = "mean") -> list[tuple[str, str, str, int, int]]:
        """Rubric, judge, system, step of the scale, and how many items have a score nearest to it (halves go up)."""
        query = f"""
            SELECT rubric, judge, system, CAST(one + 0.5 AS INTEGER), COUNT(*)
            FROM (SELECT item, series, {self._combined(combine)} AS one FROM judgments GROUP BY item, series)
            JOIN items USING (item) JOIN series USING (series)
            WHERE one IS NOT NULL GROUP BY series, system, 4
        """
        return list(self._rows(query))

    def sample_tallies(self) -> list[SampleTally]:
        """One row for each series in which an item has more than one sample."""
        self._connection.create_function("root", 1, math.sqrt, deterministic=True)
        query = """
            SELECT rubric, judge, COUNT(*), COUNT(spread), TOTAL(spread), TOTAL(spread * spread), TOTAL(agreement),
                   TOTAL(agreement * agreement), MIN(scored), AVG(scored), MAX(scored)
            FROM (SELECT series, CAST(n AS INTEGER) AS scored,
                         CASE WHEN n > 1 THEN root(MAX((squares - total * total / n) / (n - 1), 0.0)) END AS spread,
                         CASE WHEN n > 1 THEN equal / (n * (n - 1)) END AS agreement
                  FROM (SELECT item, series, TOTAL(k) AS n, TOTAL(k * (score - 3)) AS total,
                               TOTAL(k * (score - 3) * (score - 3)) AS squares, TOTAL(k * (k - 1)) AS equal
                        FROM (SELECT item, series, score, COUNT(score) AS k FROM judgments
                              WHERE series IN (SELECT DISTINCT series FROM judgments WHERE sample > 1)
                              GROUP BY item, series, score)
                        GROUP BY item, series))
            JOIN series USING (series) GROUP BY series ORDER BY series
        """
        return [SampleTally(*row) for row in self._rows(query)]

    def statuses(self) -> dict[tuple[str, str], dict[Status, int]]:
        """(rubric, judge) -> how many judgments ended how."""
        query = (
            "SELECT rubric, judge, status, COUNT(*) FROM judgments JOIN series USING (series) GROUP BY series, status"
        )
        found: dict[tuple[str, str], dict[Status, int]] = {}
        for rubric, judge, status, count in self._rows(query):
            found.setdefault((rubric, judge), {})[status] = count
        return found

    def spent(self, judge: str | None = None) -> dict[str, Any]:
        """Calls, tokens, seconds and cost of the whole run or of one judge, each call counted once, with all its tries.

        `cost` is None where any call's price is unknown; `cached_share` is of the tokens of those calls whose server
        told how many came from its cache, None where none did. `reused` calls came from earlier runs; nothing else
        counts them.
        """
        one, values = "", tuple[str, ...]()
        if judge is not None:
            one = " AND call IN (SELECT call FROM judgments JOIN series USING (series) WHERE judge = ?)"
            values = (judge,)
        calls, reused, seconds, priced, cost = self._one(
            "SELECT TOTAL(attempts > 0 AND NOT reused), TOTAL(reused), "
            "AVG(CASE WHEN NOT reused THEN NULLIF(seconds, 0) END), "
            f"COUNT(cost) = COUNT(*), TOTAL(cost) FROM calls WHERE 1 {one}",
            values,
        )
        tokens_in, tokens_out, cached, share = self._one(
            "SELECT TOTAL(tokens_in), TOTAL(tokens_out), TOTAL(tokens_cached), TOTAL(tokens_cached) / "
            "NULLIF(TOTAL(CASE WHEN tokens_cached IS NOT NULL THEN tokens_in END), 0) "
            f"FROM (SELECT {_TOKENS} FROM calls WHERE NOT reused UNION ALL SELECT {_TOKENS} FROM attempts) "
            f"WHERE 1 {one}",
            values,
        )
        return {
            "calls": int(calls),
            "reused": int(reused),
            "tokens_in": int(tokens_in),
            "tokens_out": int(tokens_out),
            "tokens_cached": int(cached),
            "cached_share": share,
            "seconds_a_call": seconds,
            "cost": cost if priced else None,
        }

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
