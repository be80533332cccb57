"""A run to walk through: filters, orders and pages over any number of judgments, without asking SQLite to sort them.

`RunIndex` keeps of every item and series the mean, the lowest and the highest score and which statuses it had, as
arrays: some 50 bytes, and no text. That answers any filter and any order in milliseconds. Pages go on after the last
row that was shown (keyset), so a run that grows neither repeats nor skips one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from jurybox.report.jury import BASELINE
from jurybox.report.paging import Cursor, Slice, cut
from jurybox.store.browsing import Newest, SeriesRow
from jurybox.types import STATUSES, Status

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[Any]  # of whatever width
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

Sort = Literal["order", "low", "high", "disputed", "id"]
SORTS: tuple[Sort, ...] = get_args(Sort)
UNSCORED = sum(1 << number for number, status in enumerate(STATUSES) if status != "scored")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody looks for: items of a system that have a verdict of that rubric, judge, status and score.

    A score is the mean of an item's scored samples. An empty name is any; `status` is met by any sample."""

    system: str = ""
    rubric: str = ""
    judge: str = ""
    status: str = ""
    low: float | None = None
    high: float | None = None
    sort: Sort = "order"

    @property
    def about_verdicts(self) -> bool:
        return bool(self.rubric or self.judge or self.status) or self.low is not None or self.high is not None


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Where a text was found: in which items' own texts, in the reasons of which cells. None: not looked there."""

    items: Mask | None = None
    cells: Mask | None = None


@dataclass(frozen=True, eq=False)
class RunIndex:
    """The narrow columns of a run, by item and by cell (an item in a series)."""

    series: tuple[SeriesRow, ...]
    systems: tuple[str, ...]
    numbers: Numbers
    system: Numbers
    source: Numbers
    cell_item: Numbers
    cell_series: Numbers
    cell_score: Floats
    cell_low: Floats
    cell_high: Floats
    cell_statuses: Numbers
    cell_lost: Numbers
    status_counts: NDArray[np.int64]  # series x status
    newest: Newest
    verdicts: NDArray[np.void]  # every judgment, as `browse_index` reads them
    _scores: dict[tuple[str, str], Floats] = field(default_factory=dict)

    @property
    def judgments(self) -> int:
        return int(self.status_counts.sum())

    @property
    def expected(self) -> int:
        return sum(one.expected for one in self.series)

    @property
    def missing(self) -> int:
        """Judgments that the run set out for and has not made yet."""
        made = self.status_counts.sum(axis=1)
        return sum(max(one.expected - int(count), 0) for one, count in zip(self.series, made, strict=True))

    @property
    def unscored(self) -> int:
        return int(self.cell_lost.sum())

    @cached_property
    def judged(self) -> Numbers:
        """How many judgments each item has."""
        import numpy as np

        places = np.searchsorted(self.numbers, self.verdicts["item"])
        return np.bincount(places, minlength=len(self.numbers)).astype(np.int32)

    @cached_property
    def sources(self) -> int:
        import numpy as np

        return len(np.unique(self.source))

    @property
    def rubrics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.rubric for one in self.series))

    @property
    def judges(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.judge for one in self.series))

    def statuses(self) -> dict[tuple[str, str], dict[Status, int]]:
        """(rubric, judge) -> how many judgments ended how."""
        return {
            (one.rubric, one.judge): {status: int(n) for status, n in zip(STATUSES, counts, strict=True) if n}
            for one, counts in zip(self.series, self.status_counts, strict=True)
        }

    def place(self, number: int) -> int | None:
        """Where an item stands in the arrays."""
        import numpy as np

        place = int(np.searchsorted(self.numbers, number))
        return place if place < len(self.numbers) and self.numbers[place] == number else None

    def series_of(self, rubric: str = "", judge: str = "") -> list[int]:
        """Places of the series of a rubric and judge. Baselines count where one is named, or nothing else is there."""
        named = [
            place for place, one in enumerate(self.series) if rubric in ("", one.rubric) and (judge in ("", one.judge))
        ]
        real = [place for place in named if not self.series[place].judge.startswith(BASELINE)]
        return named if judge else real or named

    def cells_of(self, place: int) -> range:
        """The cells of an item."""
        import numpy as np

        # Of the same width, or a million numbers are widened for two.
        ends = np.array((place, place + 1), dtype=self.cell_item.dtype)
        start, end = np.searchsorted(self.cell_item, ends)
        return range(int(start), int(end))

    def cells_at(self, items: Numbers, series: Numbers) -> Mask:
        """Which cells are those of these items and series, both by number; what the index lacks is passed over."""
        import numpy as np

        column = np.full(max((one.number for one in self.series), default=0) + 2, -1, dtype=np.int32)
        column[[one.number for one in self.series]] = np.arange(len(self.series))
        of = column[np.minimum(series, len(column) - 1)]  # the last is nobody's
        place = np.searchsorted(self.numbers, items)
        place[place == len(self.numbers)] = 0
        known = (of >= 0) & (self.numbers[place] == items) if len(self.numbers) else np.zeros(len(items), dtype=bool)
        wanted = np.zeros((len(self.numbers), len(self.series)), dtype=bool)
        wanted[place[known], of[known]] = True
        among: Mask = wanted[self.cell_item, self.cell_series]
        return among

    def scores(self, rubric: str = "", judge: str = "") -> Floats:
        """Each item's mean over the series of a rubric and judge; nan where none scored it."""
        import numpy as np

        known = self._scores.get((rubric, judge))
        if known is None:
            chosen = self._in_series(self.series_of(rubric, judge)) & ~np.isnan(self.cell_score)
            at, size = self.cell_item[chosen], len(self.numbers)
            counts = np.bincount(at, minlength=size)
            totals = np.bincount(at, self.cell_score[chosen], minlength=size)
            known = np.divide(totals, counts, out=np.full(size, np.nan), where=counts > 0)
            if len(self._scores) >= 16:  # a page asks for few; this many are at hand
                self._scores.clear()
            self._scores[rubric, judge] = known
        return known

    def spreads(self, rubric: str = "", judge: str = "") -> Floats:
        """How far each item's lowest and highest score on one rubric lie apart, over judges and samples; the widest."""
        import numpy as np

        rubrics = self.rubrics if not rubric else (rubric,)
        column = np.full(len(self.series), -1, dtype=np.int64)
        for number, name in enumerate(rubrics):
            column[self.series_of(name, judge)] = number
        of = column[self.cell_series]
        chosen = (of >= 0) & ~np.isnan(self.cell_score)
        at = self.cell_item[chosen] * len(rubrics) + of[chosen]
        low = np.full(len(self.numbers) * len(rubrics), np.inf, dtype=np.float32)
        high = np.full(len(low), -np.inf, dtype=np.float32)
        np.minimum.at(low, at, self.cell_low[chosen])
        np.maximum.at(high, at, self.cell_high[chosen])
        widest = (high - low).reshape(-1, len(rubrics)).max(axis=1, initial=-1.0)
        spread: Floats = widest.astype(np.float64)
        return spread

    def select(self, wanted: Wanted, found: Found | None = None) -> Mask:
        """Which items are wanted; of those, with `found`, where a text was found in the item or in a wanted verdict."""
        import numpy as np

        mask = np.ones(len(self.numbers), dtype=bool)
        if wanted.about_verdicts:
            mask = self._items_with(self._met(wanted))
        if found is not None:
            hit = np.zeros(len(mask), dtype=bool) if found.items is None else found.items & mask
            if found.cells is not None:
                hit |= self._items_with(self._met(wanted) & found.cells)
            mask = hit
        if wanted.system:
            code = self.systems.index(wanted.system) if wanted.system in self.systems else -1
            mask &= self.system == code
        return mask

    def _items_with(self, cells: Mask) -> Mask:
        import numpy as np

        mask = np.zeros(len(self.numbers), dtype=bool)
        mask[self.cell_item[cells]] = True
        return mask

    def page(self, wanted: Wanted, found: Found | None, size: int, **cursors: Cursor | None) -> Slice:
        """A page of items in the wanted order."""
        import numpy as np

        places = np.flatnonzero(self.select(wanted, found))
        return cut(self._order(wanted)[places], self.numbers[places], places, size, **cursors)

    def lost_page(self, wanted: Wanted, size: int, **cursors: Cursor | None) -> Slice:
        """A page of cells with unscored samples, in the order of items and series."""
        import numpy as np

        cells = (self.cell_statuses & UNSCORED) > 0
        cells &= self._met(wanted)
        if wanted.system:
            code = self.systems.index(wanted.system) if wanted.system in self.systems else -1
            cells &= self.system[self.cell_item] == code
        places = np.flatnonzero(cells)
        items = self.numbers[self.cell_item[places]]
        series = np.array([one.number for one in self.series], dtype=np.int64)[self.cell_series[places]]
        return cut(items.astype(np.float64), series, places, size, **cursors)

    def _met(self, wanted: Wanted) -> Mask:
        """Which cells a person means."""
        import numpy as np

        chosen = self._in_series(self.series_of(wanted.rubric, wanted.judge))
        if wanted.status:
            bit = 1 << STATUSES.index(wanted.status) if wanted.status in STATUSES else 0
            chosen &= (self.cell_statuses & bit) > 0
        with np.errstate(invalid="ignore"):  # what has no score lies nowhere
            if wanted.low is not None:
                chosen &= self.cell_score >= wanted.low
            if wanted.high is not None:
                chosen &= self.cell_score <= wanted.high
        return chosen

    def _in_series(self, chosen: Iterable[int]) -> Mask:
        import numpy as np

        among = np.zeros(len(self.series), dtype=bool)
        among[list(chosen)] = True
        return among[self.cell_series]

    def _order(self, wanted: Wanted) -> Floats:
        """The value that items are ordered by, smallest first; those without a score come last."""
        import numpy as np

        if wanted.sort == "order":
            return np.zeros(len(self.numbers))
        if wanted.sort == "id":
            return self.source.astype(np.float64)
        if wanted.sort == "disputed":
            return -self.spreads(wanted.rubric, wanted.judge)
        scores = self.scores(wanted.rubric, wanted.judge)
        return np.where(np.isnan(scores), np.inf, -scores if wanted.sort == "high" else scores)
