"""Series: one rubric under one judge in one run file, with one configuration, so its figures have one signature."""

from __future__ import annotations

import json
import sqlite3
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


def open_series(connection: sqlite3.Connection, path: Path, series: Series) -> int:
    """The number of a series; an existing one must have been made under the same settings."""
    row = connection.execute(
        "SELECT series, samples, settings FROM series WHERE rubric = ? AND judge = ?",
        (series.rubric.name, series.judge),
    ).fetchone()
    if row is None:
        return _insert(connection, series)
    number, samples, settings = row
    before = json.loads(settings)
    if not before["long"]:  # what was refused as too long may be shown in part now
        before["long"] = series.long
    for name, now in series.settings.items():
        if before[name] != now:
            raise StoreError(
                f"{path}: holds '{series.rubric.name}' by {series.judge} with {name} {_shown(before[name])}, and now "
                f"it is {_shown(now)}; one run file keeps one configuration: give another --out"
            )
    connection.execute(
        "UPDATE series SET samples = ?, expected = MAX(expected, ?), settings = ? WHERE series = ?",
        (max(samples, series.samples), series.expected, json.dumps(before), number),
    )
    return int(number)


def _insert(connection: sqlite3.Connection, series: Series) -> int:
    cursor = connection.execute(
        "INSERT INTO series (rubric, judge, samples, expected, version, address, settings, body) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            series.rubric.name,
            series.judge,
            series.samples,
            series.expected,
            series.version,
            series.address,
            json.dumps(series.settings),
            json.dumps(asdict(series.rubric), ensure_ascii=False),
        ),
    )
    return int(cursor.lastrowid or 0)


def _shown(value: Any) -> str:
    return "none" if value in (None, "") else str(value)
