"""In which direction a judge errs: leniency, clustering of scores, self-preference.

Pure functions on tables scores[source, system] and human[source, system] (people's mean) or ratings[source, system,
rater], nan where a cell is missing. Only items that both sides have are looked at; rated items without a score are the
losses (`n_unscored`). Intervals are over sources, so they hold for these systems.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jurybox.stats.clusters import clustered_mean
from jurybox.stats.jackknife import Told, jackknifed
from jurybox.stats.placing import mean_of_raters
from jurybox.stats.shares import clustered_share, share_difference
from jurybox.types import SCALE, Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Cells = NDArray[np.bool_]

WIDTH = float(SCALE[-1] - SCALE[0])
NO_ITEM = "no item has both a score and a rating"


@dataclass(frozen=True, slots=True)
class Sides:
    """A figure of the judge, the same of people, and the first less the second."""

    judge: Estimate
    human: Estimate
    difference: Estimate

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name).as_dict() for name in ("judge", "human", "difference")}


def leniency(scores: ArrayLike, human: ArrayLike) -> Estimate:
    """Mean score less people's mean over the same items: above 0, the judge gives more than people do."""
    judged, people, there, lost = matched(scores, human)
    what = "mean score less mean rating of the same items"
    return _mean(judged - people, there, lost, (-WIDTH, WIDTH), what)


def top_share(scores: ArrayLike, ratings: ArrayLike) -> Sides:
    """Share of scores at the top step, by the judge and by people (each rater's own ratings; an item counts once)."""
    judged, given, there, lost = _steps(scores, ratings)
    top, people = judged[:, :, -1], given[:, :, -1]
    what = f"share of scores at step {SCALE[-1]} (nearest step, halves up)"
    if not there.any():
        nothing = Estimate(None, None, None, 0, lost, f"undefined: {NO_ITEM}")
        return Sides(nothing, nothing, nothing)
    source_of, values, others = _source_of(there), top[there], people[there]
    judge = clustered_share(values, source_of, lost, what)
    human = clustered_share(others, source_of, lost, f"{what}, each rater's own")
    difference = share_difference(judge, human, values, others, source_of, f"{what}, judge less people")
    return Sides(judge, human, difference)


def score_entropy(scores: ArrayLike, ratings: ArrayLike) -> Sides:
    """Shannon's entropy (1948) of the scores' distribution over the steps, over its largest value: 1 where all steps
    are used alike, 0 where one alone is. Of people: each rater's own ratings, an item counting once. The plug-in
    figure: with few items it is a little too low on both sides."""
    import numpy as np

    judged, given, there, lost = _steps(scores, ratings)
    parts = np.concatenate([judged.sum(axis=1), given.sum(axis=1)], axis=1)
    steps = len(SCALE)
    figures = {
        "": (lambda sums: _entropy(sums[:, :steps]), 0.0),
        ", each rater's own": (lambda sums: _entropy(sums[:, steps:]), 0.0),
        ", judge less people": (lambda sums: _entropy(sums[:, :steps]) - _entropy(sums[:, steps:]), -1.0),
    }
    what = "entropy of scores over the steps (nearest step, halves up), 1 at most"
    n = int(there.sum())
    return Sides(
        *(
            jackknifed(parts, figure, Told(n, lost, what + words, NO_ITEM), (least, 1.0))
            for words, (figure, least) in figures.items()
        )
    )


def self_preference(scores: ArrayLike, human: ArrayLike, own: Sequence[bool | None]) -> Estimate:
    """Leniency on the systems of the judge's own family less leniency on the others'; `own` says of each system which
    it is, None of unknown family. These are left out."""
    import numpy as np

    judged, people, there, _ = matched(scores, human)
    off = np.where(there, judged - people, 0.0)
    kinds = [np.array([mark is wanted for mark in own], dtype=bool) for wanted in (True, False)]
    parts = np.stack(
        [part for kind in kinds for part in (off[:, kind].sum(axis=1), there[:, kind].sum(axis=1))], axis=1
    )
    known = kinds[0] | kinds[1]
    rated = ~np.isnan(np.asarray(human, dtype=np.float64))
    n = int(there[:, known].sum())
    told = Told(
        n,
        int(rated[:, known].sum()) - n,
        f"leniency on {kinds[0].sum()} systems of the judge's family less that on {kinds[1].sum()} of others",
        _why_no_preference(*(int(there[:, kind].sum()) for kind in kinds)),
    )

    def difference(sums: Floats) -> Floats:
        defined = (sums[:, 1] > 0) & (sums[:, 3] > 0)
        ours, theirs = sums[:, 0] / np.maximum(sums[:, 1], 1), sums[:, 2] / np.maximum(sums[:, 3], 1)
        return np.where(defined, ours - theirs, np.nan)

    return jackknifed(parts, difference, told)


def matched(scores: ArrayLike, human: ArrayLike) -> tuple[Floats, Floats, Cells, int]:
    """Both sides, the cells that both have, and how many rated ones have no score."""
    import numpy as np

    judged, people = (np.asarray(side, dtype=np.float64) for side in (scores, human))
    there = ~np.isnan(judged) & ~np.isnan(people)
    return judged, people, there, int((~np.isnan(people) & ~there).sum())


def _mean(values: Floats, there: Cells, lost: int, ends: tuple[float, float], what: str) -> Estimate:
    if not there.any():
        return Estimate(None, None, None, 0, lost, f"undefined: {NO_ITEM}")
    return clustered_mean(values[there], _source_of(there), lost, ends, what)


def _source_of(there: Cells) -> NDArray[np.intp]:
    """Of each cell that is there, its source as a number without gaps."""
    import numpy as np

    return np.unique(np.nonzero(there)[0], return_inverse=True)[1].reshape(-1)


def _steps(scores: ArrayLike, ratings: ArrayLike) -> tuple[Floats, Floats, Cells, int]:
    """Source x system x step: 1 at the judge's step; the share of the item's raters at each. 0 where a side has none.

    A score between two steps counts for the nearer one, in the middle for the upper one."""
    import numpy as np

    given = np.asarray(ratings, dtype=np.float64)
    judged, _, there, lost = matched(scores, mean_of_raters(given))
    steps = np.array(SCALE, dtype=np.float64)
    at, of_people = (np.floor(side.round(9) + 0.5)[..., None] == steps for side in (judged, given))
    shares = of_people.sum(axis=2) / np.maximum((~np.isnan(given)).sum(axis=2), 1)[:, :, None]
    return at * there[:, :, None], shares * there[:, :, None], there, lost


def _entropy(counts: Floats) -> Floats:
    import numpy as np

    total = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, total, out=np.full(counts.shape, np.nan), where=total > 0)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-(shares * logs).sum(axis=1) / math.log(counts.shape[1]) + 0.0)


def _why_no_preference(own: int, others: int) -> str:
    if own or others:
        return f"no summary with a score and a rating is by a system of {'another known' if own else 'its own'} family"
    return "no summary with a score and a rating is by a system of a known family"
