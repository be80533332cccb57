"""Reading the narrow columns of a run into a `RunIndex`: one pass over judgments, one over items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jurybox.report.browsing import RunIndex
from jurybox.stats import COMBINING, Combine
from jurybox.store import RunReader
from jurybox.store.browsing import (
    NOTHING_YET,
    Newest,
    SeriesRow,
    item_columns,
    judged_since,
    newest,
    series_rows,
    snapshot,
    verdict_rows,
    verdict_rows_of,
)
from jurybox.types import STATUSES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[Any]
    Items = tuple[tuple[str, ...], Numbers, Numbers, Numbers]


VERDICT = [("item", "i4"), ("series", "i2"), ("score", "f8"), ("status", "i1")]


def read_index(reader: RunReader) -> RunIndex:
    """Everything narrow of a run."""
    with snapshot(reader):
        latest = newest(reader)
        return index_of(reader, read_verdicts(reader), latest)


def renew_index(reader: RunReader, known: RunIndex) -> RunIndex:
    """The index of a run that went on: what was judged since is read and put among what is known.

    A call that was tried again keeps its number, and an answer may serve an item that comes later; where the count of
    judgments betrays such a thing, all of them are read.
    """
    with snapshot(reader):
        latest = newest(reader)
        verdicts = _went_on(reader, known, latest.item) if latest.tries == known.newest.tries else None
        if verdicts is None:
            verdicts = read_verdicts(reader)
        items = (known.systems, known.numbers, known.system, known.source)
        return index_of(reader, verdicts, latest, items=items if latest.item == known.newest.item else None)


def read_verdicts(reader: RunReader) -> NDArray[np.void]:
    """Every judgment as a row of item, series, score (-1 for none) and status, in the order of items and series."""
    import numpy as np

    return np.fromiter(verdict_rows(reader), dtype=np.dtype(VERDICT))


def _went_on(reader: RunReader, known: RunIndex, latest: int) -> NDArray[np.void] | None:
    """Known judgments, with all of those items that a later call is about read anew; None where that misses some."""
    import numpy as np

    changed, total = judged_since(reader, known.newest.call)
    fresh = np.fromiter(verdict_rows_of(reader, changed), dtype=np.dtype(VERDICT))
    again = np.zeros(max(latest, int(known.numbers[-1]) if len(known.numbers) else 0) + 1, dtype=bool)
    again[changed] = True
    kept = known.verdicts[~again[known.verdicts["item"]]]
    if len(kept) + len(fresh) != total:
        return None
    verdicts = np.concatenate((kept, fresh))
    if len(kept) and len(fresh) and kept["item"][-1] > fresh["item"][0]:
        verdicts = verdicts[np.argsort(verdicts["item"], kind="stable")]  # within an item they are in order already
    return verdicts


def index_of(
    reader: RunReader,
    verdicts: NDArray[np.void],
    latest: Newest = NOTHING_YET,
    combine: Combine = "mean",
    items: Items | None = None,
) -> RunIndex:
    """The index of judgments that were read. Items are read after them, so that every judgment has its item."""
    import numpy as np

    systems, numbers, system, source = items or _read_items(reader)
    series = tuple(series_rows(reader))
    cells = _cells(verdicts, {one.number: place for place, one in enumerate(series)}, combine)
    cells["cell_item"] = np.searchsorted(numbers, cells["cell_item"]).astype(np.int32)
    return RunIndex(
        series,
        systems,
        numbers,
        system,
        source,
        newest=latest,
        verdicts=verdicts,
        status_counts=_status_counts(verdicts, series),
        **cells,
    )


def _read_items(reader: RunReader) -> Items:
    """The systems, and of every item its number, its system and the place of its id in the order of ids."""
    import numpy as np

    items, systems, places = item_columns(reader)
    codes = {system: code for code, system in enumerate(dict.fromkeys(systems))}
    numbers = np.array(items, dtype=np.int32)
    order = np.argsort(numbers)
    names, system = _in_order(codes, np.array([codes[one] for one in systems], dtype=np.int32)[order])
    return names, numbers[order], system, np.array(places, dtype=np.int32)[order]


def _in_order(systems: Mapping[str, int], codes: Numbers) -> tuple[tuple[str, ...], Numbers]:
    """Systems in the order they were first judged, as `show` has them, and each item's among them."""
    import numpy as np

    names = {code: name for name, code in systems.items()}
    present, first = np.unique(codes, return_index=True)
    order = present[np.argsort(first)]
    again = np.zeros(len(names), dtype=np.int32)
    again[order] = np.arange(len(order))
    return tuple(names[int(code)] for code in order), again[codes]


def cell_starts(verdicts: NDArray[np.void]) -> NDArray[np.intp]:
    """Where each item and series begins; its samples stand together."""
    import numpy as np

    item, series = verdicts["item"], verdicts["series"]
    new = np.ones(len(verdicts), dtype=bool)
    new[1:] = (item[1:] != item[:-1]) | (series[1:] != series[:-1])
    return np.flatnonzero(new)


def _cells(verdicts: NDArray[np.void], places: Mapping[int, int], combine: Combine) -> dict[str, Any]:
    """One row for each item and series out of its samples."""
    import numpy as np

    item, series, score = verdicts["item"], verdicts["series"], verdicts["score"]
    starts = cell_starts(verdicts)
    if not len(starts):
        kinds = {"cell_score": "f8", "cell_low": "f4", "cell_high": "f4"}
        names = ("cell_item", "cell_series", "cell_score", "cell_low", "cell_high", "cell_statuses", "cell_lost")
        return {name: np.zeros(0, dtype=kinds.get(name, "i4")) for name in names}
    scored = score >= 0
    counts = np.add.reduceat(scored.astype(np.int32), starts)
    lookup = np.zeros(max(places) + 1, dtype=np.int32)
    lookup[list(places)] = list(places.values())
    low = np.minimum.reduceat(np.where(scored, score, np.inf), starts)
    high = np.maximum.reduceat(np.where(scored, score, -np.inf), starts)
    return {
        "cell_item": item[starts].astype(np.int32, copy=False),
        "cell_series": lookup[series[starts]],
        "cell_score": _combined(score, starts, counts, combine),
        "cell_low": low.astype(np.float32),
        "cell_high": high.astype(np.float32),
        "cell_statuses": np.bitwise_or.reduceat(1 << verdicts["status"], starts).astype(np.uint8),
        "cell_lost": (np.diff(np.append(starts, len(verdicts))) - counts).astype(np.int16),
    }


def _combined(
    score: NDArray[np.float64], starts: NDArray[np.intp], counts: NDArray[np.int32], combine: Combine
) -> NDArray[np.float64]:
    """One score of the scored samples of each cell; nan where there are none."""
    import numpy as np

    if combine == "mean":
        totals = np.add.reduceat(np.where(score >= 0, score, 0.0), starts)
        return np.where(counts == 0, np.nan, totals / np.maximum(counts, 1))
    groups = np.split(score, starts[1:])
    kept = (group[group >= 0].tolist() for group in groups)
    return np.array([COMBINING[combine](samples) if samples else np.nan for samples in kept], dtype=np.float64)


def _status_counts(verdicts: NDArray[np.void], series: tuple[SeriesRow, ...]) -> NDArray[np.int64]:
    import numpy as np

    numbers = [one.number for one in series]
    flat = verdicts["series"].astype(np.int64) * len(STATUSES) + verdicts["status"]
    counts = np.bincount(flat, minlength=(max(numbers, default=0) + 1) * len(STATUSES))
    return counts.reshape(-1, len(STATUSES))[numbers] if numbers else np.zeros((0, len(STATUSES)), dtype=np.int64)
