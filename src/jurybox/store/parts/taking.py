"""Parts into a run file: each part once, in one transaction, each call's first answer.

The table of parts that were taken is made in run files that need it; others stay what they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from jurybox.store.reader import RunReader
from jurybox.store.runfile import Entry, RunFile
from jurybox.store.series import put_series as put_row

# One room: what a run file keeps to itself is not for anybody further right.
PARTS = "parts"


def taken_parts(reader: RunReader) -> set[str]:
    """The parts that a run file was made of."""
    return {name for (name,) in reader._rows("SELECT name FROM parts")} if reader.has_table(PARTS) else set()


def put_series(store: RunFile, row: Mapping[str, Any]) -> int:
    """A series as the manifest has it; its number in the run file."""
    number = put_row(store._connection, row)
    store._rubrics[number] = row["rubric"]
    return number


def take_part(store: RunFile, name: str, entries: Iterable[Entry], numbers: Mapping[int, int]) -> bool:
    """Everything in a part that is new; `numbers` is the manifest's series -> the run file's. False when judgments of
    it wait for their call, which stands in another part."""
    connection = store._connection
    with store._translated():
        connection.execute("CREATE TABLE IF NOT EXISTS parts (name TEXT PRIMARY KEY) WITHOUT ROWID")
        connection.execute("BEGIN IMMEDIATE")
        is_whole = True
        for entry in entries:
            ours = replace(entry, verdicts={numbers[series]: verdict for series, verdict in entry.verdicts.items()})
            new, is_waiting = _new_part_of(store, ours)
            is_whole = is_whole and not is_waiting
            if new is not None:
                store._write_entry(new)
        if is_whole:
            connection.execute("INSERT OR IGNORE INTO parts VALUES (?)", (name,))
        connection.execute("COMMIT")
        return is_whole


def _new_part_of(store: RunFile, entry: Entry) -> tuple[Entry | None, bool]:
    """What of an entry the run file lacks, if anything; and whether it waits for a part that is not here yet."""
    row = store._connection.execute("SELECT error, at FROM calls WHERE key = ?", (entry.key,)).fetchone()
    if row is None:
        return (entry, False) if entry.attempts else (None, True)
    error, at = row
    if error is None:
        return (None if _is_judged(store, entry) else replace(entry, attempts=())), False
    return (entry if entry.attempts and entry.at != at else None), False


def _is_judged(store: RunFile, entry: Entry) -> bool:
    places = ", ".join("?" * len(entry.verdicts))
    (count,) = store._connection.execute(
        "SELECT COUNT(*) FROM judgments JOIN items USING (item) WHERE id = ? AND system = ? AND sample = ? "
        f"AND status != 'failed' AND series IN ({places})",
        (*entry.item.key, entry.sample, *entry.verdicts),
    ).fetchone()
    return bool(count == len(entry.verdicts))
