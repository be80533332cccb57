"""What moves a judge's score among summaries that people rate alike: length, or who wrote them.

The slope on it in a least-squares regression of the score on it and on people's mean, everything centred within its
source (a fixed effect of each source). People's mean carries the noise of its raters. Where better summaries are
longer, part of their quality is therefore left in the slope, and a judge that never minded length looks as if it did
(errors in variables, Fuller 1987). `verbosity_without_noise` takes that part out where two raters or more rated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jurybox.stats.bias import matched
from jurybox.stats.jackknife import Told, jackknifed
from jurybox.stats.placing import mean_of_raters
from jurybox.types import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Cells = NDArray[np.bool_]

NO_SOURCE = "no source has two items with a score and a rating"
# Below this share of its largest possible value, a determinant is rounding.
_NO_SPREAD = 1e-9
_DOUBLING = "points a doubling of words, given people's mean, within sources"
_SAME_LENGTH = "within no source do lengths differ apart from people's ratings"


def verbosity(scores: ArrayLike, human: ArrayLike, words: ArrayLike) -> Estimate:
    """Points that a doubling of length adds to the score of summaries that people rate alike: the slope on log2(words).
    Tables of source x system; `human` is people's mean."""
    return _slope(scores, human, _doublings(words), _DOUBLING, _SAME_LENGTH)


def verbosity_without_noise(scores: ArrayLike, ratings: ArrayLike, words: ArrayLike) -> Estimate:
    """`verbosity` with the raters' noise taken out: people's spread is measured by products of different raters, whose
    noise is independent (the same as using one rater as the instrument of another). ratings[source, system, rater].

    Of each source those raters are used who rated all of its items; a source needs two of them, or it is lost.
    """
    import numpy as np

    judged, given = np.asarray(scores, dtype=np.float64), np.asarray(ratings, dtype=np.float64)
    lengths, rated = _doublings(words), np.asarray((~np.isnan(given)).any(axis=2))
    there = np.asarray(~np.isnan(judged) & ~np.isnan(lengths) & rated)
    steady = np.asarray((~np.isnan(given) | ~there[:, :, None]).all(axis=1))
    enough = np.asarray(steady.sum(axis=1) > 1)
    kept = np.where(steady[:, None, :] & enough[:, None, None], given, np.nan)
    noise = [_noise_of_mean(kept[source][there[source]]) for source in range(len(kept))]
    what, why = f"{_DOUBLING}, without the raters' noise", "no source has two raters of all its items"
    if enough.any():
        why = "people's ratings differ by no more than their noise, or lengths do not differ apart from them"
    found = _slope(judged, mean_of_raters(kept), lengths, what, why, np.array(noise))
    lost = int(rated.sum()) - found.n
    return Estimate(found.value, found.low, found.high, found.n, lost, found.method)


def self_preference_given_human(scores: ArrayLike, human: ArrayLike, own: Sequence[bool | None]) -> Estimate:
    """Points that a judge gives its own family's systems beyond others' that people rate alike; `own` as in
    `self_preference`. A judge that uses less of the scale than people is lenient with bad systems, whoever made them:
    this takes that out."""
    import numpy as np

    marks = np.array([math.nan if mark is None else float(mark) for mark in own])
    table = np.broadcast_to(marks, np.shape(scores))
    what = "points for the judge's own family, given people's mean, within sources"
    return _slope(scores, human, table, what, "no source has systems of both kinds apart from people's ratings")


def _doublings(words: ArrayLike) -> Floats:
    """log2 of the number of words; an empty summary counts as one word."""
    import numpy as np

    return np.asarray(np.log2(np.maximum(np.asarray(words, dtype=np.float64), 1.0)))


def _noise_of_mean(ratings: Floats) -> float:
    """Of one source, items x raters without gaps: the part of the spread of the items' means that is raters' noise.

    Raters' own means are taken out. The spread of means less the mean product of different raters is this noise.
    """
    import numpy as np

    known = ratings[:, ~np.isnan(ratings).any(axis=0)]
    raters = known.shape[1]
    if raters < 2 or not len(known):  # with no scored item there is nothing to spread
        return 0.0
    off = known - known.mean(axis=0)
    together = off.sum(axis=1)
    products = (together @ together - (off * off).sum()) / (raters * (raters - 1))
    return float(together @ together / raters**2 - products)


def _slope(
    scores: ArrayLike, human: ArrayLike, x: Floats, what: str, why: str, noise: Floats | None = None
) -> Estimate:
    """The slope on x beside people's mean, less `noise` of each source in the latter's spread. Sources with one item
    cannot be centred: left out, and counted as losses."""
    import numpy as np

    judged, people, there, lost = matched(scores, human)
    there = there & ~np.isnan(x)
    alone = there.sum(axis=1, keepdims=True) < 2
    n, lost = int((there & ~alone).sum()), lost + int((there & alone).sum())
    j, h, z = (_centred(side, there & ~alone) for side in (judged, people, x))
    parts = np.stack([(one * other).sum(axis=1) for one, other in ((z, z), (z, h), (h, h), (z, j), (h, j))], axis=1)
    if noise is None:
        return jackknifed(parts, _slope_of_moments, Told(n, lost, what, why if n else NO_SOURCE))
    parts[:, 2] -= np.where(alone[:, 0], 0.0, noise)
    return jackknifed(parts, _slope_without_noise, Told(n, lost, what, why))


def _centred(side: Floats, there: Cells) -> Floats:
    import numpy as np

    known = np.where(there, side, 0.0)
    means = known.sum(axis=1, keepdims=True) / np.maximum(there.sum(axis=1, keepdims=True), 1)
    return np.asarray(np.where(there, known - means, 0.0))


def _slope_of_moments(sums: Floats) -> Floats:
    """Of z in the normal equations of j on z and h; where people gave all the same, of z alone."""
    import numpy as np

    varied = sums[:, 2] > _NO_SPREAD
    return np.where(varied, _slope_without_noise(sums), _ratio(sums[:, 3], sums[:, 0], sums[:, 0] > _NO_SPREAD))


def _slope_without_noise(sums: Floats) -> Floats:
    """The same; undefined where nothing of people's spread is left."""
    zz, zh, hh, zj, hj = sums.T
    left = zz * hh - zh**2
    return _ratio(zj * hh - hj * zh, left, (zz > _NO_SPREAD) & (hh > _NO_SPREAD) & (left > _NO_SPREAD * zz * hh))


def _ratio(above: Floats, below: Floats, defined: Cells) -> Floats:
    import numpy as np

    return np.asarray(np.divide(above, below, out=np.full(below.shape, np.nan), where=defined))
