"""Calls, tokens, seconds and cost of a run and of each of its judges, each call counted once, with all its tries.

`cost` is None where any call's price is unknown; `cached_share` is of the tokens of those calls whose server told how
many came from its cache, None where none did. `reused` calls came from earlier runs; nothing else counts them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jurybox.store.reader import RunReader

_PAID = "CASE WHEN NOT reused THEN {} END"
_SECONDS = _PAID.format("NULLIF(seconds, 0)")
_CALLS = (
    f"TOTAL(attempts > 0 AND NOT reused), TOTAL(reused), TOTAL({_SECONDS}), COUNT({_SECONDS}), "
    "COUNT(*) - COUNT(cost), TOTAL(cost)"
)
_TOKENS = "TOTAL({0}), TOTAL({1}), TOTAL({2}), TOTAL(CASE WHEN {2} IS NOT NULL THEN {0} END)"
_COLUMNS = ("tokens_in", "tokens_out", "tokens_cached")
_OF_CALLS = _TOKENS.format(*(_PAID.format(column) for column in _COLUMNS))
_OF_TRIES = _TOKENS.format(*_COLUMNS)
# A call answers series of one judge; any of them names it.
_SERIES_OF = "(SELECT call, MIN(series) AS series FROM judgments {} GROUP BY call)"


def spent(reader: RunReader) -> dict[str, Any]:
    """What the whole run took."""
    calls = reader._one(f"SELECT {_CALLS}, {_OF_CALLS} FROM calls")
    return _told(calls, reader._one(f"SELECT {_OF_TRIES} FROM attempts"))


def spending(reader: RunReader) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """What the whole run took, and judge -> what it took, in one walk."""
    judges = dict(reader._rows("SELECT series, judge FROM series"))
    if len(set(judges.values())) < 2:
        whole = spent(reader)
        return whole, dict.fromkeys(judges.values(), whole)
    calls = f"SELECT series, {_CALLS}, {_OF_CALLS} FROM {_SERIES_OF.format('')} JOIN calls USING (call) GROUP BY series"
    only = "WHERE call IN (SELECT call FROM attempts)"
    tries = f"SELECT series, {_OF_TRIES} FROM {_SERIES_OF.format(only)} JOIN attempts USING (call) GROUP BY series"
    asked, again = (_by_judge(reader._rows(query), judges) for query in (calls, tries))
    whole = _told(_sums(asked.values(), 10), _sums(again.values(), 4))
    return whole, {judge: _told(row, again.get(judge, [0.0] * 4)) for judge, row in asked.items()}


def _sums(rows: Iterable[Sequence[float]], width: int) -> list[float]:
    return [sum(column) for column in zip([0.0] * width, *rows, strict=True)]


def _by_judge(rows: Iterable[Sequence[Any]], judges: Mapping[int, str]) -> dict[str, list[float]]:
    """Sums of the rows of each judge. (SQLite sorts a million rows by number faster than by name.)"""
    found: dict[str, list[list[float]]] = {}
    for series, *row in rows:
        found.setdefault(judges[series], []).append(row)
    return {judge: _sums(kept, len(kept[0])) for judge, kept in found.items()}


def _told(row: Sequence[float], tries: Sequence[float]) -> dict[str, Any]:
    calls, reused, seconds, timed, unpriced, cost, *tokens = row
    tokens_in, tokens_out, cached, told = (one + other for one, other in zip(tokens, tries, strict=True))
    return {
        "calls": int(calls),
        "reused": int(reused),
        "tokens_in": int(tokens_in),
        "tokens_out": int(tokens_out),
        "tokens_cached": int(cached),
        "cached_share": cached / told if told else None,
        "seconds_a_call": seconds / timed if timed else None,
        "cost": None if unpriced else cost,
    }


# Of a judge that was never asked.
NOTHING: Mapping[str, Any] = _told([0.0] * 10, [0.0] * 4)
