"""The tables of `show` out of a `RunIndex`: the same figures, without another walk over the run."""

from __future__ import annotations

from collections.abc import Mapping

from jurybox.report.browsing import RunIndex
from jurybox.report.judge import JudgeSummary
from jurybox.stats import mean_of_scores
from jurybox.types import SCALE, Estimate, Signature

Counts = tuple[int, ...]


def judge_tables(index: RunIndex, signatures: Mapping[tuple[str, str], Signature]) -> tuple[JudgeSummary, ...]:
    """What every judge said; what takes another look at the run (samples, quotes, a jury) is not in it."""
    statuses = index.statuses()
    found = []
    for judge in index.judges:
        systems: dict[str, dict[str, Estimate]] = {}
        spread: dict[str, dict[str, Counts]] = {}
        for place in index.series_of(judge=judge):
            rubric = index.series[place].rubric
            for system, estimate, counts in _series(index, place):
                systems.setdefault(system, {})[rubric] = estimate
                if any(counts):
                    spread.setdefault(system, {})[rubric] = counts
        found.append(
            JudgeSummary(
                judge,
                {rubric: signature for (rubric, by), signature in signatures.items() if by == judge},
                systems,
                {rubric: counts for (rubric, by), counts in statuses.items() if by == judge},
                distributions=spread,
            )
        )
    return tuple(found)


def _series(index: RunIndex, place: int) -> list[tuple[str, Estimate, Counts]]:
    """System by system: the mean of item scores, and how many are nearest to each step of the scale."""
    import numpy as np

    chosen = index.cell_series == place
    score, system = index.cell_score[chosen], index.system[index.cell_item[chosen]]
    size = len(index.systems)
    scored = ~np.isnan(score)
    kept, by = score[scored], system[scored]
    items, n = np.bincount(system, minlength=size), np.bincount(by, minlength=size)
    totals, squares = np.bincount(by, kept, size), np.bincount(by, (kept - 3) ** 2, size)
    steps = np.floor(kept + 0.5).astype(np.int64) - SCALE[0]
    nearest = np.bincount(by * len(SCALE) + steps, minlength=size * len(SCALE)).reshape(size, -1)
    return [
        (
            index.systems[code],
            mean_of_scores(int(n[code]), float(totals[code]), float(squares[code]), int(items[code] - n[code])),
            tuple(nearest[code].tolist()),
        )
        for code in np.flatnonzero(items)
    ]
