"""What ended unscored, for a page that has to stay small: rows with their reason as long as there is room, then every
further item by its name under what happened to it. None is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from jurybox.store import Failure, RunReader, failure_counts, failures
from jurybox.types import Status

# Rows, and characters of HTML, that may be told in full; each row stands for all judgments of an item that ended alike.
MOST_ROWS, ROOM = 2_000, 1_000_000
# Characters of an error and of a reply in a row, and what the tags around them come to.
LONGEST_WHY, LONGEST_REPLY, TAGS = 600, 160, 200


@dataclass(frozen=True, slots=True)
class Named:
    """Items that failed alike, by name: (id, systems) in the order they were judged. `count` is of judgments."""

    judge: str
    status: Status
    rubrics: tuple[str, ...]
    items: tuple[tuple[str, tuple[str, ...]], ...]
    count: int


@dataclass(frozen=True, slots=True)
class Failures:
    """Counts by judge and status; what is told in full; what is named, and how many rows that would have been."""

    counts: Mapping[tuple[str, Status], int]
    rows: tuple[Failure, ...]
    named: tuple[Named, ...]
    more: int

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def failed(reader: RunReader, most: int = MOST_ROWS, room: int = ROOM) -> Failures:
    """Every failure of a run."""
    rows: list[Failure] = []
    rest: dict[tuple[str, Status, tuple[str, ...]], dict[str, list[str]]] = {}
    counts: dict[tuple[str, Status, tuple[str, ...]], int] = {}
    more = 0
    for one in failures(reader):
        room -= _size(one)
        if len(rows) < most and room >= 0:
            rows.append(one)
            continue
        room, more = -1, more + 1
        kind = (one.judge, one.status, one.rubrics)
        rest.setdefault(kind, {}).setdefault(one.id, []).append(one.system)
        counts[kind] = counts.get(kind, 0) + one.count
    named = tuple(Named(*kind, _items(found), counts[kind]) for kind, found in rest.items())
    return Failures(failure_counts(reader), tuple(rows), named, more)


def _items(found: Mapping[str, Sequence[str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """An item may be there twice, when its samples failed for different reasons."""
    return tuple((id_, tuple(dict.fromkeys(systems))) for id_, systems in found.items())


def _size(one: Failure) -> int:
    texts = (one.id, one.system, one.judge, one.why[:LONGEST_WHY], one.reply[:LONGEST_REPLY], ", ".join(one.rubrics))
    return TAGS + sum(len(escape(text)) for text in texts)
