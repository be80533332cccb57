"""Files to raw records: one mapping a line, with its line number. Knows formats and encodings, not fields.

Refuses before anything is paid: a directory, an empty or foreign file, a wrong encoding, broken JSON,
a line longer than `MAX_LINE_BYTES`, a CSV row that does not fit its header.
"""

from __future__ import annotations

import ast
import csv
import io
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import orjson

from jurybox.data.remote import RemoteFile
from jurybox.errors import DataError

MAX_LINE_BYTES = 16 * 1024 * 1024
FORMATS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")

Record = Mapping[str, Any]
_BOM = b"\xef\xbb\xbf"
_FOREIGN_BOMS = {
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
    b"\x1f\x8b": "gzip",
    b"PK\x03": "a zip or Excel file",
}


def read_records(path: Path | RemoteFile) -> Iterator[tuple[int, Record]]:
    """Every record of a file with the line it begins on (for Parquet: the row), by the file's ending."""
    suffix = _checked_suffix(path)
    if suffix == ".parquet":
        yield from _read_parquet(path)
        return
    with open_file(path) as file:
        _refuse_foreign(file, str(path))
        if suffix in (".csv", ".tsv"):
            yield from _read_csv(file, str(path), "\t" if suffix == ".tsv" else ",")
        else:
            yield from read_json_lines(file, str(path))


def _checked_suffix(path: Path | RemoteFile) -> str:
    if path.is_dir():
        raise DataError(str(path), None, "is a directory; give one file (JSONL, CSV or Parquet)")
    if path.exists() and not path.is_file():
        raise DataError(str(path), None, "cannot be read twice; give a file, or - to read JSONL from standard input")
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        if not path.exists():
            raise DataError(str(path), None, "there is no such file or folder")
        raise DataError(str(path), None, f"unknown kind of file '{suffix}'; known endings: {', '.join(FORMATS)}")
    return suffix


def open_file(path: Path | RemoteFile) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as exc:
        raise DataError(str(path), None, f"cannot be read: {exc.strerror or exc}") from exc


def _refuse_foreign(file: IO[bytes], name: str) -> None:
    head = file.read(3)
    file.seek(0)
    for mark, kind in _FOREIGN_BOMS.items():
        if head.startswith(mark):
            raise DataError(name, 1, f"is not UTF-8 text but {kind}; save it as UTF-8 text")


def read_json_lines(file: IO[bytes], name: str) -> Iterator[tuple[int, Record]]:
    for number, line in enumerate(_bounded_lines(file, name), 1):
        text = line.removeprefix(_BOM) if number == 1 else line
        if not text.strip():
            continue
        try:
            record = orjson.loads(text)
        except orjson.JSONDecodeError as exc:
            raise DataError(name, number, _why_not_json(text, exc)) from exc
        if not isinstance(record, dict):
            raise DataError(name, number, f"holds {_json_kind(record)}; every line must be one JSON object {{…}}")
        yield number, record


def _bounded_lines(file: IO[bytes], name: str) -> Iterator[bytes]:
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise DataError(
                name, number, f"is longer than {MAX_LINE_BYTES // 2**20} MB; one line holds one item or one source"
            )
        yield line


def _why_not_json(text: bytes, exc: orjson.JSONDecodeError) -> str:
    if why := _why_not_utf8(text):
        return why
    if text.strip() in (b"[", b"{"):
        return "is not one JSON object a line; this looks like one indented JSON document: write it as JSON Lines"
    return f"is not JSON: {exc.msg} at position {exc.colno}"


def _why_not_utf8(text: bytes) -> str:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as bad:
        return f"is not UTF-8 (byte 0x{text[bad.start]:02x} at position {bad.start + 1}); save the file as UTF-8"
    return ""


def _json_kind(value: Any) -> str:
    return {list: "a list", str: "a text", bool: "true or false", type(None): "null"}.get(type(value), "a number")


def _read_csv(file: IO[bytes], name: str, delimiter: str) -> Iterator[tuple[int, Record]]:
    csv.field_size_limit(MAX_LINE_BYTES)
    header: list[str] | None = None
    line = 1
    with io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
        rows = csv.reader(text, delimiter=delimiter, strict=True)
        try:
            for row in rows:
                if header is None:
                    header = _checked_header(row, name)
                elif row:
                    yield line, _csv_record(header, row, name, line)
                line = rows.line_num + 1
        except csv.Error as exc:
            raise DataError(name, line, f"is not CSV: {exc}") from exc
        except UnicodeDecodeError as exc:
            # The reader decodes ahead of the rows that it gives: look for the line itself.
            file.seek(0)
            number, why = next((at, why) for at, bytes_ in enumerate(file, 1) if (why := _why_not_utf8(bytes_)))
            raise DataError(name, number, why) from exc


def _checked_header(row: list[str], name: str) -> list[str]:
    twice = {column for column in row if row.count(column) > 1}
    if twice:
        raise DataError(name, 1, f"names the column '{sorted(twice)[0]}' twice")
    return row


def _csv_record(header: list[str], row: list[str], name: str, line: int) -> Record:
    if len(row) != len(header):
        raise DataError(name, line, f"has {len(row)} cells where the header names {len(header)} columns")
    return {column: _cell(cell) for column, cell in zip(header, row, strict=True) if cell != ""}


def _cell(cell: str) -> Any:
    """Lists and mappings in a cell: JSON, or Python's own notation, which is how pandas writes them."""
    if cell[0] not in "[{":
        return cell
    try:
        return orjson.loads(cell)
    except orjson.JSONDecodeError:
        pass
    try:
        with warnings.catch_warnings(action="ignore"):  # prose in brackets, such as "[5in]", is no warning to anyone
            value = ast.literal_eval(cell)
        # Only what JSON can say: a set, or half a surrogate pair, stays the text that it was.
        return orjson.loads(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return cell


def _read_parquet(path: Path | RemoteFile) -> Iterator[tuple[int, Record]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with open_file(path) as file:
        try:
            table = pq.ParquetFile(file)
            number = 0
            for batch in table.iter_batches(batch_size=256):
                for row in batch.to_pylist():
                    number += 1
                    yield number, {column: value for column, value in row.items() if value is not None}
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as exc:
            raise DataError(str(path), None, f"is not Parquet: {exc}") from exc
