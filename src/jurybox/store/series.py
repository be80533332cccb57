"""Series: one rubric under one judge in one run file, with one configuration, so its figures have one signature."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from jurybox.errors import StoreError
from jurybox.types import Rubric, Sampling


@dataclass(frozen=True, slots=True)
class Series:
    """What a run asks of one rubric and one judge. `material` is the fields that its prompts show, `until` the
    rule of `--samples auto`, `long` what is done with material that the judge cannot hold, where it is not refused."""

    rubric: Rubric
    judge: str
    layout: str
    samples: int
    expected: int
    version: str
    sampling: Sampling = field(default_factory=Sampling)
    material: tuple[str, ...] = ()
    address: str = ""
    fingerprint: str = ""
    until: str = ""
    long: str = ""

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that must not change within a run file, by the name a person knows it by."""
        return {
            "rubric": self.rubric.label,
            "layout": self.layout,
            **asdict(self.sampling),
            "material": ", ".join(self.material),
            "model": self.fingerprint,
            "samples until": self.until,
            "long": self.long,
        }


def row_of(series: Series) -> dict[str, Any]:
    """A new series as stores keep it."""
    return {
        "rubric": series.rubric.name,
        "judge": series.judge,
        "samples": series.samples,
        "expected": series.expected,
        "version": series.version,
        "address": series.address,
        "settings": series.settings,
        "body": asdict(series.rubric),
    }


def continued(path: str | Path, row: Mapping[str, Any], series: Series) -> dict[str, Any]:
    """The row of a series that goes on; raises where it was made under other settings."""
    before = dict(row["settings"])
    if not before["long"]:  # what was refused as too long may be shown in part now
        before["long"] = series.long
    for name, now in series.settings.items():
        if before[name] != now:
            raise StoreError(
                f"{path}: holds '{series.rubric.name}' by {series.judge} with {name} {_shown(before[name])}, and now "
                f"it is {_shown(now)}; one run file keeps one configuration: give another --out"
            )
    samples, expected = max(row["samples"], series.samples), max(row["expected"], series.expected)
    return {**row, "samples": samples, "expected": expected, "settings": before}


def open_series(connection: sqlite3.Connection, path: Path, series: Series) -> int:
    """The number of a series; an existing one must have been made under the same settings."""
    found = connection.execute(
        "SELECT samples, expected, settings FROM series WHERE rubric = ? AND judge = ?",
        (series.rubric.name, series.judge),
    ).fetchone()
    if found is None:
        return put_series(connection, row_of(series))
    samples, expected, settings = found
    row = {**row_of(series), "samples": samples, "expected": expected, "settings": json.loads(settings)}
    return put_series(connection, continued(path, row, series))


def put_series(connection: sqlite3.Connection, row: Mapping[str, Any]) -> int:
    """Insert a series, or bring it up to date; its number. What it lacks is left alone unless the row says it."""
    (number,) = connection.execute(
        "INSERT INTO series (rubric, judge, samples, expected, version, address, settings, body) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (rubric, judge) DO UPDATE SET "
        "samples = excluded.samples, expected = excluded.expected, settings = excluded.settings RETURNING series",
        (
            *(row[name] for name in ("rubric", "judge", "samples", "expected", "version", "address")),
            json.dumps(row["settings"]),
            json.dumps(row["body"], ensure_ascii=False),
        ),
    ).fetchone()
    return int(number)


def _shown(value: Any) -> str:
    return "none" if value in (None, "") else str(value)
