"""Which scores meet when two systems are compared: those of one judge, or of the jury item by item, by source.

A source where either summary is unscored is kept as such; one where either is not there at all is counted apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

from jurybox.report.judge import JudgeSummary
from jurybox.report.jury import JurySummary
from jurybox.stats import Combine
from jurybox.stats.paired import differences, ends_of_difference
from jurybox.store import RunReader

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Scores = NDArray[np.float64]

# System -> source -> score, None where it is unscored.
ItemScores = Mapping[str, Mapping[str, float | None]]


def item_scores(reader: RunReader, rubric: str, by: JudgeSummary, combine: Combine) -> ItemScores:
    """Each item's score by the judge; by a jury, combined as its table is: unscored as soon as one judge has none."""
    panel = by.panels[rubric] if isinstance(by, JurySummary) else (by.judge,)
    given: dict[tuple[str, str], dict[str, float | None]] = {}
    for judge, id_, system, score in reader.scores(rubric, combine):
        if judge in panel:
            given.setdefault((id_, system), {})[judge] = score
    found: dict[str, dict[str, float | None]] = {}
    for (id_, system), scores in given.items():
        found.setdefault(system, {})[id_] = _together([scores.get(judge) for judge in panel], rubric, by)
    return found


def _together(scores: Sequence[float | None], rubric: str, by: JudgeSummary) -> float | None:
    known = [score for score in scores if score is not None]
    if len(known) < len(scores):
        return None
    if not isinstance(by, JurySummary):
        return known[0]
    if rubric in by.learned:
        return math.fsum(weight * score for weight, score in zip(by.learned[rubric].weights, known, strict=True))
    return median(known) if by.combine == "median" else fmean(known)


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two systems' scores on the sources that both have, nan where unscored, and what follows from them alone."""

    first: str
    second: str
    scores: tuple[Scores, Scores]
    missing: int
    found: Scores
    n_unscored: int

    @classmethod
    def of(cls, pair: tuple[str, str], by_system: ItemScores) -> Meeting:
        import numpy as np

        one, other = (by_system.get(system, {}) for system in pair)
        both = [id_ for id_ in one if id_ in other]
        scores = tuple(np.array([side[id_] for id_ in both], dtype=np.float64) for side in (one, other))
        missing = len(one) + len(other) - 2 * len(both)
        return cls(*pair, (scores[0], scores[1]), missing, *differences(*scores))

    @property
    def means(self) -> tuple[float | None, float | None]:
        """Of the sources with both scores, so that they differ by the difference."""
        import numpy as np

        kept = ~np.isnan(self.scores[0] + self.scores[1])
        return (float(self.scores[0][kept].mean()), float(self.scores[1][kept].mean())) if kept.any() else (None, None)

    @property
    def ends(self) -> tuple[Scores, Scores]:
        return ends_of_difference(*self.scores)
