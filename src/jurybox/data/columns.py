"""Which column of a record means which field: by its name, by an alias, or because `--map` says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jurybox.errors import DataError, SetupError, unknown_name
from jurybox.fields import FIELDS, IDENTITY_ALIASES, canonical_name

# Columns named in a message, at most.
MOST_NAMES = 8


def checked_columns(columns: Mapping[str, str]) -> dict[str, str]:
    """What `--map` says, as field -> column."""
    known = (*FIELDS, *IDENTITY_ALIASES)
    for field in columns:
        if field not in known:
            raise SetupError("--map: " + unknown_name("field", field, known))
    return dict(columns)


def sorted_columns(
    name: str, line: int, record: Mapping[str, Any], columns: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a record of the file `name` into known fields by canonical name, and metadata."""
    known: dict[str, Any] = {}
    origin: dict[str, str] = {}
    metadata: dict[str, Any] = {}
    taken = set(columns.values())
    for field, column in columns.items():
        if record.get(column) is not None:
            known[field], origin[field] = record[column], column
    for column, value in record.items():
        if column in taken:
            continue
        field = canonical_name(column) or ""
        if not field or field in columns:
            metadata[column] = value
        elif value is None:
            continue
        elif field in origin and column != field:
            if origin[field] != field:
                both = f"columns '{origin[field]}' and '{column}' both mean '{field}'"
                raise DataError(name, line, f"{both}; choose with --map {field}=COLUMN")
            metadata[column] = value
        else:
            if field in origin:
                metadata[origin[field]] = known[field]
            known[field], origin[field] = value, column
    return known, metadata


def unused(metadata: Mapping[str, Any], field: str) -> str:
    """Advice for a field that is not there: the columns whose names say nothing, one of which may be it."""
    names = [f"'{column}'" for column in metadata]
    if not names:
        return ""
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f". If one of {', '.join(names[:MOST_NAMES])}{more} is meant, say --map {field}=COLUMN"
