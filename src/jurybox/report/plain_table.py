"""The table of a run with one judge and one sample an item, straight from SQLite.

`browse_tables` gives the same for any run, out of arrays. This way needs no numpy, so that `run` can end with its table
and `show` can print one in the time that the import alone would take.
"""

from __future__ import annotations

from collections.abc import Mapping

from jurybox.report.judge import JudgeSummary
from jurybox.stats import Combine, mean_of_scores
from jurybox.store import RunReader
from jurybox.types import SCALE, Estimate, Signature

_NONE = (0, 0.0, 0.0)


def plain_table(
    reader: RunReader, signatures: Mapping[tuple[str, str], Signature], combine: Combine = "mean"
) -> JudgeSummary:
    """What the one judge of a run said."""
    cells: dict[tuple[str, str], dict[int | None, tuple[int, float, float]]] = {}
    for rubric, _, system, step, items, total, squares in reader.tallies(combine):
        cells.setdefault((system, rubric), {})[step] = (items, total, squares)
    systems: dict[str, dict[str, Estimate]] = {}
    distributions: dict[str, dict[str, tuple[int, ...]]] = {}
    for (system, rubric), found in cells.items():
        unscored = found.pop(None, _NONE)[0]
        n = sum(items for items, _, _ in found.values())
        total, squares = sum(one for _, one, _ in found.values()), sum(one for _, _, one in found.values())
        systems.setdefault(system, {})[rubric] = mean_of_scores(n, total, squares, unscored)
        if found:
            distributions.setdefault(system, {})[rubric] = tuple(found.get(step, _NONE)[0] for step in SCALE)
    return JudgeSummary(
        next(judge for _, judge in signatures),
        {rubric: one for (rubric, _), one in signatures.items()},
        systems,
        {rubric: counts for (rubric, _), counts in reader.statuses().items()},
        distributions=distributions,
    )
