"""Items on their way to the workers: read on the cluster by jurybox's own reader, one read task a file.

A row is one line of the data with all its items, so that the calls about one source stay on one worker. Items that
are complete already do not travel: the rows only count them.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from jurybox.data import Dataset
from jurybox.runner.cluster.starting import ray_module
from jurybox.store.parts import Stored, Table, item_fingerprint
from jurybox.store.parts.rows import place_fingerprint
from jurybox.types import Item

if TYPE_CHECKING:
    import pyarrow as pa

# Lines that leave a read task together; the next step cuts them into batches.
LINES_A_BLOCK = 256

Located = Iterable[tuple[int, Item]]


@dataclass(frozen=True, slots=True)
class Done:
    """Which items are complete: their judgments are in `stored` under `series` (number -> samples)."""

    complete: Table
    stored: Stored
    series: Mapping[int, int]

    def unscored(self, item: Item) -> int | None:
        """How many judgments of a complete item are unscored; None for an item that is not complete."""
        if self.complete.find(item_fingerprint(item)) is None:
            return None
        ends = [
            self.stored.end(place_fingerprint(item, series, sample))
            for series, samples in self.series.items()
            for sample in range(1, samples + 1)
        ]
        return sum(end is not None and end[0] != "scored" for end in ends)

    @property
    def an_item(self) -> int:
        return sum(self.series.values())


def rows_of(located: Located, done: Done | None, name: str) -> Iterator[dict[str, Any]]:
    """A row for each line that has something to judge; what is complete in between is counted in the next row."""
    kept = unscored = 0
    for line, found in groupby(located, key=lambda one: one[0]):
        to_judge: list[Item] = []
        for _, item in found:
            lost = None if done is None else done.unscored(item)
            if lost is None or done is None:
                to_judge.append(item)
            else:
                kept, unscored = kept + done.an_item, unscored + lost
        if to_judge:
            yield {"name": f"{name}:{line}", "items": pickle.dumps(to_judge), "kept": kept, "unscored": unscored}
            kept = unscored = 0
    if kept:
        yield {"name": f"{name}:end", "items": pickle.dumps([]), "kept": kept, "unscored": unscored}


def blocks_of(rows: Iterable[Mapping[str, Any]]) -> Iterator[pa.Table]:
    import pyarrow as pa

    fields: list[tuple[str, pa.DataType]] = [
        ("name", pa.string()),
        ("items", pa.binary()),
        ("kept", pa.int64()),
        ("unscored", pa.int64()),
    ]
    shape, block = pa.schema(fields), list[Mapping[str, Any]]()
    for row in rows:
        block.append(row)
        if len(block) >= LINES_A_BLOCK:
            yield pa.Table.from_pylist(block, schema=shape)
            block = []
    if block:
        yield pa.Table.from_pylist(block, schema=shape)


def dataset(parts: Collection[Dataset], done: Any) -> Any:
    """A Ray dataset of those rows. `done` is a reference to a `Done`, or None."""
    ray = ray_module()
    if all(part.path is None for part in parts):  # standard input or Python records: only the driver has them
        here = None if done is None else ray.get(done)
        tables = [table for part in parts for table in blocks_of(rows_of(part.located(), here, part.name))]
        return ray.data.from_arrow(tables)
    readers = [_reader(part, done) for part in parts]
    return ray.data.read_datasource(_source(readers), override_num_blocks=len(readers))


def dataset_of(items: Collection[Item]) -> Any:
    """A Ray dataset of items that the driver has in hand; those of one source in one row."""
    lines = (list(found) for _, found in groupby(items, key=lambda item: item.id))
    located = ((number, item) for number, found in enumerate(lines, 1) for item in found)
    return ray_module().data.from_arrow(list(blocks_of(rows_of(located, None, f"later of {len(items)}"))))


def _reader(part: Dataset, done: Any) -> Callable[[], Iterator[Any]]:
    fresh = part.again()

    def read() -> Iterator[Any]:
        ray = ray_module()
        here = None if done is None else ray.get(done)
        return blocks_of(rows_of(fresh.located(), here, fresh.name))

    return read


def _source(readers: Collection[Callable[[], Iterator[Any]]]) -> Any:
    """Ray's classes are known only while it runs, so ours is made then."""
    data = ray_module().data
    nothing = data.block.BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)

    def get_read_tasks(*_: Any, **__: Any) -> list[Any]:
        return [data.ReadTask(reader, nothing) for reader in readers]

    methods = {"estimate_inmemory_data_size": lambda _: None, "get_read_tasks": get_read_tasks}
    return type("Items", (data.Datasource,), methods)()
