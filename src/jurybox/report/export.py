"""Judgments out: one row a judgment, streamed to Parquet, CSV or JSONL."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from jurybox.errors import SetupError
from jurybox.report.calibrated import calibrated_judgments, uncalibrated
from jurybox.store import RunReader
from jurybox.types import Judgment

Row = Mapping[str, Any]

# Column -> the name of its type in pyarrow, in the order of the file.
COLUMNS: Mapping[str, str] = {
    "id": "string",
    "system": "string",
    "rubric": "string",
    "judge": "string",
    "sample": "int32",
    "score": "float64",
    "status": "string",
    "reason": "string",
    "model": "string",
    "prompt_digest": "string",
    "tokens_in": "int64",
    "tokens_out": "int64",
    "tokens_cached": "int64",
    "cost": "float64",
    "seconds": "float64",
    "reply": "string",
    "shown": "string",
    "quotes": "string",
    "signature": "string",
}
# What a calibration adds: the raw score stays what it is.
CALIBRATED: Mapping[str, str] = {"calibrated_score": "float64", "calibrated_signature": "string"}
_ROWS_A_GROUP = 10_000


def export_rows(reader: RunReader, calibration: str | None = None) -> Iterator[Row]:
    """One row a judgment; with the name of a calibration, its item's calibrated score beside the raw one."""
    if calibration is None:
        return map(_row, reader.judgments())
    uncalibrated(reader, calibration)  # refuses a name that serves nothing, before the first row
    return (
        {**_row(judgment), "calibrated_score": score, "calibrated_signature": signature}
        for judgment, score, signature in calibrated_judgments(reader, calibration)
    )


def _row(judgment: Judgment) -> Row:
    reply, verdict = judgment.reply, judgment.verdict
    return {
        "id": judgment.id,
        "system": judgment.system,
        "rubric": judgment.rubric,
        "judge": judgment.judge,
        "sample": judgment.sample,
        "score": verdict.score,
        "status": verdict.status,
        "reason": verdict.reason,
        "model": None if reply is None else reply.model,
        "prompt_digest": judgment.prompt_digest,
        "tokens_in": None if reply is None else reply.tokens_in,
        "tokens_out": None if reply is None else reply.tokens_out,
        "tokens_cached": None if reply is None else reply.tokens_cached,
        "cost": judgment.cost,
        "seconds": None if reply is None else reply.seconds,
        "reply": None if reply is None else reply.text,
        "shown": None if judgment.shown is None else orjson.dumps(judgment.shown).decode(),
        "quotes": orjson.dumps(judgment.quotes).decode() if judgment.quotes else None,
        "signature": judgment.signature,
    }


def export_run(reader: RunReader, to: Path, calibration: str | None = None) -> int:
    """Write every judgment to a file by its ending; returns how many."""
    write = FORMATS.get(to.suffix.lower())
    if write is None:
        raise SetupError(f"--to {to}: unknown ending '{to.suffix}'; known: {', '.join(FORMATS)}")
    try:
        columns = COLUMNS if calibration is None else {**COLUMNS, **CALIBRATED}
        return write(export_rows(reader, calibration), to, columns)
    except OSError as exc:
        raise SetupError(f"--to {to}: cannot be written: {exc.strerror or exc}") from exc


def _write_jsonl(rows: Iterable[Row], to: Path, columns: Mapping[str, str]) -> int:
    count = 0
    with to.open("wb") as file:
        for row in rows:
            file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
            count += 1
    return count


def _write_csv(rows: Iterable[Row], to: Path, columns: Mapping[str, str]) -> int:
    count = 0
    with to.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        for row in rows:
            writer.writerow(row)
            count += 1
    return count


def _write_parquet(rows: Iterable[Row], to: Path, columns: Mapping[str, str]) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, getattr(pa, kind)()) for name, kind in columns.items()])
    rows, count = iter(rows), 0
    with pq.ParquetWriter(to, schema) as writer:
        while group := list(islice(rows, _ROWS_A_GROUP)):
            writer.write_table(pa.Table.from_pylist(group, schema=schema))
            count += len(group)
    return count


FORMATS = {".parquet": _write_parquet, ".csv": _write_csv, ".jsonl": _write_jsonl}
