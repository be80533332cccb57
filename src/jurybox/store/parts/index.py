"""What a result folder holds, as arrays: every judgment's end, every item's text digest, every answered key.

Fingerprints of 16 bytes, sorted, so that a hundred million judgments are a few GB that workers on one machine share
(Ray hands numpy arrays to them without a copy).
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jurybox.store.parts.folder import Folder
from jurybox.store.parts.rows import NARROW
from jurybox.types import STATUSES, Status

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[Any]

# Statuses that another start may make again.
_FAILED, _UNSUPPORTED = STATUSES.index("failed"), STATUSES.index("unsupported")


@dataclass(frozen=True, slots=True)
class Table:
    """Sorted fingerprints, each once: `high` and `low` are their halves."""

    high: Numbers
    low: Numbers

    def __len__(self) -> int:
        return len(self.high)

    def find(self, fingerprint: bytes) -> int | None:
        """The place of a fingerprint, if it is there."""
        import numpy as np

        high, low = int.from_bytes(fingerprint[:8]), int.from_bytes(fingerprint[8:16])
        at = int(np.searchsorted(self.high, np.uint64(high)))
        while at < len(self.high) and self.high[at] == high:
            if self.low[at] == low:
                return at
            at += 1
        return None


@dataclass(frozen=True, slots=True)
class Stored:
    """The index of some parts. `parts` are their names; `spent` is USD, everything that was ever paid."""

    parts: tuple[str, ...]
    judgments: Table
    status: Numbers
    score: Numbers
    items: Table
    digest: Numbers
    keys: Table
    part_of_key: Numbers
    spent: float

    def end(self, place: bytes) -> tuple[Status, float | None] | None:
        """How a judgment ended, with its score."""
        at = self.judgments.find(place)
        if at is None:
            return None
        status = STATUSES[int(self.status[at])]
        return status, float(self.score[at]) if status == "scored" else None

    def part_with(self, key: bytes) -> str | None:
        """The part that holds the answer to a call."""
        at = self.keys.find(key)
        return None if at is None else self.parts[int(self.part_of_key[at])]

    def digest_of(self, item: bytes) -> int | None:
        at = self.items.find(item)
        return None if at is None else int(self.digest[at])


def read_columns(folder: Folder, names: Iterable[str]) -> dict[str, Any]:
    """The narrow columns of parts, one after another; `part` is the place of each row's part among those read, and
    `parts` their names. A part that is gone was packed into another, which the next look finds."""
    import numpy as np
    import pyarrow.parquet as pq

    columns: dict[str, list[Numbers]] = {}
    parts: list[str] = []
    for name in names:
        try:
            body = folder.read(name)
        except FileNotFoundError:
            continue
        table = pq.read_table(io.BytesIO(body), columns=list(NARROW)).combine_chunks()
        for column, values in _arrays(table).items():
            columns.setdefault(column, []).append(values)
        columns.setdefault("part", []).append(np.full(table.num_rows, len(parts), dtype=np.int32))
        parts.append(name)
    return {**{column: np.concatenate(found) for column, found in columns.items()}, "parts": tuple(parts)}


def _arrays(table: Any) -> dict[str, Numbers]:
    import numpy as np

    codes = {status: code for code, status in enumerate(STATUSES)}
    fixed = {name: _halves(table.column(name)) for name in ("key", "place", "item")}
    return {
        **fixed,
        "digest": table.column("digest").to_numpy(),
        "series": table.column("series").to_numpy(),
        "sample": table.column("sample").to_numpy(),
        "score": table.column("score").to_numpy(),
        "status": np.array([codes[status] for status in table.column("status").to_pylist()], dtype=np.uint8),
        "cost": np.nan_to_num(table.column("cost").to_numpy()),
        "is_call": np.array(table.column("is_call").to_pylist(), dtype=bool),
    }


def _halves(column: Any) -> Numbers:
    """The first 16 bytes of each value of fixed length, as two numbers."""
    import numpy as np

    width = column.type.byte_width
    whole = [np.zeros((0, 2), dtype=np.uint64)]
    for chunk in column.chunks:
        numbers = np.frombuffer(
            chunk.buffers()[1], dtype=">u8", offset=chunk.offset * width, count=len(chunk) * width // 8
        )
        whole.append(numbers.reshape(-1, width // 8)[:, :2].astype(np.uint64))
    return np.concatenate(whole)


def index(columns: dict[str, Any]) -> Stored:
    """The index of columns that were read."""
    import numpy as np

    if not columns["parts"]:
        return empty()
    failed = columns["status"] == _FAILED
    # Of a judgment that was made twice, one that did not fail comes first.
    judgments, rows = _table(columns["place"], failed)
    items, item_rows = _table(columns["item"], np.zeros_like(failed))
    answered = np.flatnonzero(columns["is_call"] & ~failed)
    keys, key_rows = _table(columns["key"][answered], failed[answered])
    return Stored(
        columns["parts"],
        judgments,
        columns["status"][rows],
        columns["score"][rows],
        items,
        columns["digest"][item_rows],
        keys,
        columns["part"][answered][key_rows],
        float(columns["cost"][columns["is_call"]].sum()),
    )


def empty() -> Stored:
    """The index of a folder without parts."""
    import numpy as np

    none = np.zeros(0, dtype=np.uint64)
    table = Table(none, none)
    small = np.zeros(0, dtype=np.int64)
    return Stored((), table, small, small, table, small, table, small, 0.0)


def complete_items(columns: dict[str, Any], series: Collection[int], samples: int, expected: int) -> Table:
    """Items that have all judgments that these series expect of one, none of which may be made again."""
    import numpy as np

    if not columns["parts"]:
        return empty().items
    closed = (columns["status"] != _FAILED) & (columns["status"] != _UNSUPPORTED)
    counted = np.flatnonzero(closed & np.isin(columns["series"], list(series)) & (columns["sample"] <= samples))
    _, once = _table(columns["place"][counted], np.zeros(len(counted), dtype=bool))
    of_item = columns["item"][counted[once]]
    order = np.lexsort((of_item[:, 1], of_item[:, 0]))
    of_item = of_item[order]
    starts = np.flatnonzero(_is_new(of_item))
    counts = np.diff(np.append(starts, len(of_item)))
    full = of_item[starts[counts >= expected]]
    return Table(full[:, 0].copy(), full[:, 1].copy())


def _table(halves: Numbers, last: Numbers) -> tuple[Table, NDArray[np.intp]]:
    """Each fingerprint once, and the row it was taken from: the first that is not `last`."""
    import numpy as np

    order = np.lexsort((last, halves[:, 1], halves[:, 0]))
    chosen = order[_is_new(halves[order])]
    return Table(halves[chosen, 0].copy(), halves[chosen, 1].copy()), chosen


def _is_new(halves: Numbers) -> NDArray[np.bool_]:
    import numpy as np

    new = np.ones(len(halves), dtype=bool)
    new[1:] = (halves[1:] != halves[:-1]).any(axis=1)
    return new
