"""A result folder as the runner sees it: on the driver it opens series and refuses, in a worker it knows what is there.

out.run/manifest.json                                    series, settings, number of starts
out.run/judgments/start=3/w-1f3c-000017.parquet          what one worker flushed at one time
out.run/run.db                                           made by readers out of the parts; may be deleted
"""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jurybox.errors import StoreError
from jurybox.store.parts.folder import Folder
from jurybox.store.parts.index import Stored, empty, index, read_columns
from jurybox.store.parts.manifest import Manifest
from jurybox.store.parts.rows import attempts_of, item_fingerprint, place_fingerprint, text_digest, to_part
from jurybox.store.runfile import Entry
from jurybox.store.series import Series
from jurybox.types import Item, Reply, Status

JUDGMENTS = "judgments"
REPLIES_REMEMBERED = 20_000


class PartStore:
    """Implements `RunStore`. `stored` is what earlier starts left; `look_again` adds what came since."""

    def __init__(self, folder: Folder, manifest: Manifest | None = None, stored: Stored | None = None) -> None:
        self.folder = folder
        self.manifest = Manifest(folder) if manifest is None else manifest
        self._indexes = [empty() if stored is None else stored]
        self._replies: OrderedDict[bytes, Reply] = OrderedDict()
        self.lacks: dict[str, dict[str, str]] = {}

    @property
    def resumed(self) -> bool:
        return any(len(found.judgments) for found in self._indexes)

    def open_series(self, series: Series) -> int:
        return self.manifest.open(series)

    def note_lacks(self, numbers: Iterable[int], lacks: Mapping[str, str]) -> None:
        names = self.manifest.names
        for number in numbers:
            self.lacks[names[number][1]] = dict(lacks)

    def spent(self) -> float:
        return sum(found.spent for found in self._indexes)

    def refuse_changed(self, item: Item) -> None:
        known = self._indexes[0].digest_of(item_fingerprint(item))
        if known is not None and known != text_digest(item):
            raise StoreError(
                f"{self.folder.address}: item id '{item.id}', system '{item.system}' was judged with another text; one "
                "run keeps one version of an item: give another --out"
            )

    def is_answered(self, key: bytes) -> bool:
        return key in self._replies or any(found.part_with(key) is not None for found in self._indexes)

    def find_reply(self, key: bytes) -> Reply | None:
        if key in self._replies:
            return self._replies[key]
        known = len(self._indexes)
        parts = [part for found in self._indexes if (part := found.part_with(key)) is not None]
        for part in parts:
            try:
                return self._reply_in(part, key)
            except FileNotFoundError:  # packed into another since it was indexed, which the next look finds
                self.look_again()
        parts = [part for found in self._indexes[known:] if (part := found.part_with(key)) is not None]
        return self._reply_in(parts[0], key) if parts else None

    def judged(self, series: int, item: Item, sample: int) -> tuple[Status, float | None] | None:
        place = place_fingerprint(item, series, sample)
        for found in self._indexes:
            end = found.end(place)
            if end is not None and end[0] != "failed":
                return end
        return None

    def look_again(self, below: str = JUDGMENTS) -> None:
        """Read what others have written since."""
        known = {name for found in self._indexes for name in found.parts}
        new = [name for name in self.folder.names(below) if name not in known]
        if new:
            self._indexes.append(index(read_columns(self.folder, new)))

    def remember(self, entries: Sequence[Entry]) -> None:
        """Replies of late, so that the same prompt about another item is not asked again."""
        for entry in entries:
            reply = entry.attempts[entry.decisive].reply if entry.attempts else None
            if reply is not None:
                self._replies[entry.key] = reply
        while len(self._replies) > REPLIES_REMEMBERED:
            self._replies.popitem(last=False)

    def write(self, name: str, entries: Sequence[Entry]) -> None:
        """A new part; durable when this returns."""
        self.folder.write(name, to_part(entries, self.manifest.names, self.lacks))

    def _reply_in(self, part: str, key: bytes) -> Reply | None:
        import pyarrow.parquet as pq

        body = self.folder.read(part)
        columns = ["key", "is_call", "attempts", "decisive"]
        for row in pq.read_table(io.BytesIO(body), columns=columns).to_pylist():
            if row["key"] == key and row["is_call"]:
                return attempts_of(row["attempts"])[int(row["decisive"])].reply
        return None


def part_name(start: int, worker: str, number: int) -> str:
    return f"{JUDGMENTS}/start={start:04d}/{worker}-{number:06d}.parquet"


def pack(folder: Folder, names: Sequence[str], packed: str) -> None:
    """Many small parts as one, then the small ones go. A kill in between leaves both, which readers take for one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from jurybox.store.parts.rows import LACKS, table_bytes

    tables = [pq.read_table(io.BytesIO(folder.read(name))) for name in names]
    lacks: dict[bytes, Any] = {}
    for table in tables:
        if LACKS in (table.schema.metadata or {}):
            lacks[LACKS] = table.schema.metadata[LACKS]
    bare = [table.replace_schema_metadata(lacks or None) for table in tables]
    folder.write(packed, table_bytes(pa.concat_tables(bare)))
    for name in names:
        folder.remove(name)
