"""The tables of `show` out of a `RunIndex`: the same figures, without another walk over the run."""

from __future__ import annotations

from collections.abc import Mapping

from jurybox.report.browsing import RunIndex
from jurybox.report.judge import JudgeSummary
from jurybox.report.systems import by_system
from jurybox.types import Estimate, Signature

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
            chosen = index.cell_series == place
            of = index.system[index.cell_item[chosen]]
            for code, estimate, counts in by_system(index.cell_score[chosen], of, len(index.systems)):
                systems.setdefault(index.systems[code], {})[rubric] = estimate
                if any(counts):
                    spread.setdefault(index.systems[code], {})[rubric] = counts
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
