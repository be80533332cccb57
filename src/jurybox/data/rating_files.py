"""Files of ratings by format: a long table (CSV, TSV, JSONL, Parquet), Label Studio's JSON, Argilla's records.

Knows how to tell them apart and how to open them; what they say is for `label_studio`, `argilla` and `Intake`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import orjson

from jurybox.data import argilla, label_studio
from jurybox.data.rating import Intake
from jurybox.data.records import open_file, read_records
from jurybox.errors import DataError

RatingFormat = Literal["csv", "label-studio", "argilla"]
RATING_FORMATS: tuple[RatingFormat, ...] = get_args(RatingFormat)
COLUMNS = ("id", "system", "rubric", "rater", "score", "comment", "at")
# Of Argilla's folder: the records, and the names of the people whom it knows by UUID.
RECORDS, RATERS = "records.json", "raters.json"


def read_rating_file(path: Path, intake: Intake, wanted: RatingFormat | None = None) -> RatingFormat:
    """Read a file, or Argilla's folder, into the intake; returns its format, guessed from what it holds."""
    if path.is_dir():
        if wanted not in (None, "argilla"):
            raise DataError(str(path), None, f"is a directory; {wanted} takes a file")
        path, wanted = path / RECORDS, "argilla"
    if path.suffix.lower() != ".json":
        if wanted not in (None, "csv"):
            raise DataError(str(path), None, f"--format {wanted} is JSON, in a file that ends with .json")
        _read_long(path, intake)
        return "csv"
    document = _json(path)
    found = wanted or _guessed(path, document)
    if found == "csv":
        _rows(str(path), enumerate(document, 1), "entry", intake)
    elif found == "label-studio":
        _read(path, document, intake, label_studio.read)
    else:
        _name_raters(path.with_name(RATERS), intake)
        _read(path, document, intake, argilla.read)
    return found


def _json(path: Path) -> list[Any]:
    with open_file(path) as file:
        text = file.read()
    try:
        document = orjson.loads(text.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as exc:
        raise DataError(str(path), exc.lineno, f"is not JSON: {exc.msg} at position {exc.colno}") from exc
    if isinstance(document, Mapping):  # one task, as Label Studio exports it alone
        document = [document]
    if not isinstance(document, list) or not document:
        raise DataError(str(path), None, "should be a JSON list of tasks or records with at least one")
    return document


def _guessed(path: Path, document: list[Any]) -> RatingFormat:
    first = document[0] if isinstance(document[0], Mapping) else {}
    if label_studio.looks_like(first):
        return "label-studio"
    if argilla.looks_like(first):
        return "argilla"
    if {"rubric", "score"} <= first.keys():
        return "csv"
    raise DataError(
        str(path),
        None,
        "holds neither Label Studio's annotations nor Argilla's responses; an export of finished annotations is needed "
        "(Label Studio: JSON or JSON_MIN; Argilla: records.to_json), or a long table "
        f"({', '.join(COLUMNS[:5])}); --format says which it is meant to be",
    )


def _name_raters(path: Path, intake: Intake) -> None:
    """The names that our own export leaves beside Argilla's records."""
    if not path.is_file():
        return
    (names, *_) = _json(path)
    if not isinstance(names, Mapping):
        raise DataError(str(path), None, "should be a JSON object {user id: name}")
    intake.raters = {**{str(user): str(name) for user, name in names.items()}, **intake.raters}


def _read(path: Path, document: list[Any], intake: Intake, read: Callable[[Iterable[Any], Intake], None]) -> None:
    try:
        read(document, intake)
    except (AttributeError, TypeError) as exc:  # a list where a mapping should be, somewhere deep inside
        raise DataError(str(path), None, f"nothing was taken: not of the shape that was expected ({exc})") from exc


def _read_long(path: Path, intake: Intake) -> None:
    _rows(str(path), read_records(path), "line", intake)


def _rows(path: str, rows: Iterable[tuple[int, Any]], unit: str, intake: Intake) -> None:
    for line, row in rows:
        where = f"{unit} {line}"
        missing = [name for name in COLUMNS[:5] if not isinstance(row, Mapping) or row.get(name) is None]
        missing = [name for name in missing if name != "rater"]
        if missing:
            intake.problem(where, f"has no '{missing[0]}'; the columns are {', '.join(COLUMNS[:5])}")
            continue
        rater = "1" if row.get("rater") is None else row["rater"]
        item = (str(row["id"]), str(row["system"]))
        intake.take(where, item, str(row["rubric"]), rater, row["score"], _said(row.get("comment")), row.get("at"))


def _said(comment: Any) -> Any:
    """A comment in brackets may have been taken for a list."""
    return comment if comment is None or isinstance(comment, str) else orjson.dumps(comment).decode()
