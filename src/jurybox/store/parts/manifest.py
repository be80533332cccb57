"""`manifest.json` of a result folder: its series, each with one configuration, and how often it was started.

The same rule as in a run file, by the same code: another layout, temperature or rubric text is refused.
"""

from __future__ import annotations

from typing import Any

import orjson

from jurybox.errors import StoreError
from jurybox.store.lock import MANIFEST
from jurybox.store.parts.folder import Folder
from jurybox.store.series import Series, continued, row_of

FORMAT = 1


class Manifest:
    """Series are numbered from 1 in the order they were opened."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        try:
            found = orjson.loads(folder.read(MANIFEST))
        except FileNotFoundError:
            found = {"jurybox": FORMAT, "starts": 0, "series": []}
        except (orjson.JSONDecodeError, OSError) as exc:
            raise StoreError(f"{folder.address}: {MANIFEST} cannot be read: {exc}") from exc
        if not isinstance(found, dict) or found.get("jurybox") != FORMAT:
            raise StoreError(f"{folder.address}: is no result folder of this jurybox; nothing was written to it")
        self.starts: int = found["starts"]
        self.series: list[dict[str, Any]] = found["series"]

    @property
    def names(self) -> dict[int, tuple[str, str]]:
        """Series -> (rubric, judge)."""
        return {number: (row["rubric"], row["judge"]) for number, row in enumerate(self.series, 1)}

    def open(self, series: Series) -> int:
        """The number of a series; nothing is written before `save`."""
        for number, row in enumerate(self.series, 1):
            if (row["rubric"], row["judge"]) == (series.rubric.name, series.judge):
                self.series[number - 1] = continued(self._folder.address, row, series)
                return number
        self.series.append(row_of(series))
        return len(self.series)

    def begin(self) -> int:
        """The number of the start that begins now; written down, so that no other has it."""
        self.starts += 1
        self.save()
        return self.starts

    def save(self) -> None:
        document = {"jurybox": FORMAT, "starts": self.starts, "series": self.series}
        self._folder.write(MANIFEST, orjson.dumps(document, option=orjson.OPT_INDENT_2))
