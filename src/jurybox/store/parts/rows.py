"""What calls brought as rows of a Parquet part, and back: one row a judgment, every part complete in itself.

What belongs to a call stands in the first row of it, what belongs to an item in the first row of that item. `place`
and `item` are fingerprints of a judgment's and an item's key, so that an index of a large folder needs no texts.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import orjson

from jurybox.store.replies import from_row, to_row
from jurybox.store.runfile import Entry, metadata_json, source_json
from jurybox.types import Attempt, Item, Quote, Verdict

if TYPE_CHECKING:
    import pyarrow as pa

FINGERPRINT_BYTES = 16
# What an index reads.
NARROW = ("key", "place", "item", "digest", "series", "sample", "score", "status", "cost", "is_call")
# The key of a part's own metadata that says what servers turned out to lack, by judge.
LACKS = b"jurybox.lacks"


def schema() -> pa.Schema:
    import pyarrow as pa

    fields: list[tuple[str, pa.DataType]] = [
        ("key", pa.binary(32)),
        ("place", pa.binary(FINGERPRINT_BYTES)),
        ("item", pa.binary(FINGERPRINT_BYTES)),
        ("digest", pa.int64()),
        ("series", pa.int32()),
        ("is_call", pa.bool_()),
        ("id", pa.string()),
        ("system", pa.string()),
        ("rubric", pa.string()),
        ("judge", pa.string()),
        ("sample", pa.int32()),
        ("score", pa.float64()),
        ("status", pa.string()),
        ("reason", pa.string()),
        ("model", pa.string()),
        ("prompt_digest", pa.binary(32)),
        ("tokens_in", pa.int64()),
        ("tokens_out", pa.int64()),
        ("cost", pa.float64()),
        ("seconds", pa.float64()),
        ("at", pa.float64()),
        ("attempts", pa.string()),
        ("decisive", pa.int32()),
        ("reused", pa.bool_()),
        ("sent", pa.bool_()),
        ("shown", pa.string()),
        ("quotes", pa.string()),
        ("summary", pa.string()),
        ("source", pa.string()),
        ("metadata", pa.string()),
        ("human", pa.string()),
    ]
    return pa.schema(fields)


def fingerprint(*parts: object) -> bytes:
    return hashlib.blake2b("\0".join(map(str, parts)).encode(), digest_size=FINGERPRINT_BYTES).digest()


def item_fingerprint(item: Item) -> bytes:
    return fingerprint(*item.key)


def place_fingerprint(item: Item, series: int, sample: int) -> bytes:
    """Series are numbered in the order of the manifest."""
    return fingerprint(*item.key, series, sample)


def text_digest(item: Item) -> int:
    """Of everything an item is judged by: one that was judged before must still be the same."""
    hashed = hashlib.sha256(item.summary.encode() + b"\0" + source_json(item))
    return int.from_bytes(hashed.digest()[:8]) >> 1


def to_part(entries: Sequence[Entry], names: Mapping[int, tuple[str, str]], lacks: Mapping[str, Any]) -> bytes:
    """A part's bytes; `names` is series -> (rubric, judge)."""
    import pyarrow as pa

    rows: list[dict[str, Any]] = []
    told: set[tuple[str, str]] = set()
    for entry in sorted(entries, key=lambda entry: entry.item.key):
        rows += _rows(entry, names, is_new=entry.item.key not in told)
        told.add(entry.item.key)
    described = schema().with_metadata({LACKS: orjson.dumps(lacks)} if lacks else {})
    return table_bytes(pa.Table.from_pylist(rows, schema=described))


def table_bytes(table: pa.Table) -> bytes:
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def _rows(entry: Entry, names: Mapping[int, tuple[str, str]], is_new: bool) -> Iterator[dict[str, Any]]:
    item, reply = entry.item, entry.attempts[entry.decisive].reply if entry.attempts else None
    of_item = _item_columns(item) if is_new else {}
    of_call: dict[str, Any] = {"is_call": False}
    if entry.attempts:
        attempts = [(tried.error, tried.too_long, tried.reply and to_row(tried.reply)) for tried in entry.attempts]
        of_call = {"is_call": True, "attempts": orjson.dumps(attempts).decode()}
    for series, verdict in entry.verdicts.items():
        rubric, judge = names[series]
        yield {
            "key": entry.key,
            "place": place_fingerprint(item, series, entry.sample),
            "item": item_fingerprint(item),
            "digest": text_digest(item),
            "series": series,
            "id": item.id,
            "system": item.system,
            "rubric": rubric,
            "judge": judge,
            "sample": entry.sample,
            "score": verdict.score,
            "status": verdict.status,
            "reason": verdict.reason,
            "model": None if reply is None else reply.model,
            "prompt_digest": entry.prompt_digest,
            "tokens_in": None if reply is None else reply.tokens_in,
            "tokens_out": None if reply is None else reply.tokens_out,
            "cost": entry.cost,
            "seconds": None if reply is None else reply.seconds,
            "at": entry.at,
            "decisive": entry.decisive,
            "reused": entry.reused,
            "sent": entry.sent,
            "shown": None if entry.shown is None else orjson.dumps(entry.shown).decode(),
            "quotes": orjson.dumps(entry.quotes[rubric]).decode() if rubric in entry.quotes else None,
            **of_call,
            **of_item,
        }
        of_call, of_item = {"is_call": False}, {}


def _item_columns(item: Item) -> dict[str, Any]:
    return {
        "summary": item.summary,
        "source": source_json(item).decode(),
        "metadata": metadata_json(item),
        "human": orjson.dumps({rubric: dict(given) for rubric, given in item.human.items()}).decode(),
    }


def from_part(body: bytes) -> Iterator[Entry]:
    """Every call of a part; verdicts by the series' numbers in the manifest."""
    import pyarrow.parquet as pq

    items: dict[tuple[str, str], Item] = {}
    for batch in pq.ParquetFile(io.BytesIO(body)).iter_batches(batch_size=2048):
        rows = batch.to_pylist()
        # A call's rows stand together; where a batch ends between them, the second half is a call answered before.
        for (key, id_, system), found in groupby(rows, key=lambda row: (row["key"], row["id"], row["system"])):
            kept = list(found)
            if kept[0]["source"] is not None:
                items[id_, system] = _item(kept[0])
            yield _entry(key, items[id_, system], kept)


def _item(row: Mapping[str, Any]) -> Item:
    source, metadata, human = (json.loads(row[name]) for name in ("source", "metadata", "human"))
    return Item(row["id"], row["system"], row["summary"], source, human, metadata)


def _entry(key: bytes, item: Item, rows: Sequence[Mapping[str, Any]]) -> Entry:
    first = rows[0]
    return Entry(
        item=item,
        sample=first["sample"],
        key=key,
        prompt_digest=first["prompt_digest"],
        attempts=attempts_of(first["attempts"]),
        decisive=first["decisive"],
        verdicts={row["series"]: Verdict(row["status"], row["score"], row["reason"]) for row in rows},
        cost=first["cost"],
        reused=first["reused"],
        sent=first["sent"],
        shown=None if first["shown"] is None else json.loads(first["shown"]),
        quotes={row["rubric"]: [Quote(**one) for one in json.loads(row["quotes"])] for row in rows if row["quotes"]},
        at=first["at"],
    )


def attempts_of(text: str | None) -> list[Attempt]:
    if text is None:
        return []
    return [Attempt(reply and from_row(reply), error, too_long) for error, too_long, reply in json.loads(text)]
