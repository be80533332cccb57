"""How far the samples of a judgment differ, series by series, out of the narrow columns of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jurybox.report.browse_index import cell_starts
from jurybox.report.judge import SampleSummary
from jurybox.stats import mean_agreement, mean_spread
from jurybox.store.browsing import SeriesRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rows = NDArray[np.void]


def sample_summaries(verdicts: Rows, series: Sequence[SeriesRow]) -> dict[str, dict[str, SampleSummary]]:
    """Judge -> rubric -> how far samples differ, where an item has more than one."""
    found: dict[str, dict[str, SampleSummary]] = {}
    for one in series:
        rows = verdicts[verdicts["series"] == one.number]
        starts = cell_starts(rows)
        if len(starts) < len(rows):
            found.setdefault(one.judge, {})[one.rubric] = _summary(rows["score"], starts)
    return found


def _summary(score: Floats, starts: NDArray[np.intp]) -> SampleSummary:
    import numpy as np

    cell = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(score))))
    scored = score >= 0
    cell, score = cell[scored], score[scored]
    n = np.bincount(cell, minlength=len(starts))
    several = n > 1
    spread, agreement = _spread(cell, score, n)[several], _equal_pairs(cell, score, n)[several]
    pairs, short = int(several.sum()), int((~several).sum())
    return SampleSummary(
        mean_spread(pairs, float(spread.sum()), float((spread**2).sum()), short),
        mean_agreement(pairs, float(agreement.sum()), float((agreement**2).sum()), short),
        int(n.min()),
        float(n.mean()),
        int(n.max()),
    )


def _spread(cell: NDArray[np.intp], score: Floats, n: NDArray[np.intp]) -> Floats:
    """Each item's standard deviation (n - 1)."""
    import numpy as np

    means = np.bincount(cell, score, len(n)) / np.maximum(n, 1)
    squares = np.bincount(cell, (score - means[cell]) ** 2, len(n))
    return np.sqrt(squares / np.maximum(n - 1, 1))


def _equal_pairs(cell: NDArray[np.intp], score: Floats, n: NDArray[np.intp]) -> Floats:
    """Each item's share of pairs of samples that are exactly equal."""
    import numpy as np

    order = np.lexsort((score, cell))
    cell, score = cell[order], score[order]
    new = np.ones(len(cell), dtype=bool)
    new[1:] = (cell[1:] != cell[:-1]) | (score[1:] != score[:-1])
    starts = np.flatnonzero(new)
    times = np.diff(np.append(starts, len(cell)))
    equal = np.bincount(cell[starts], times * (times - 1), len(n))
    return np.asarray(equal / np.maximum(n * (n - 1), 1), dtype=np.float64)
