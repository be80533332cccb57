"""A judge placed on people's own scale, and with a rival explanation taken out.

The ceiling is each rater against the mean of the others: no judge can be asked to follow people better than people
follow each other. The judge in place of each rater is measured against the very same means, so the two compare; against
the mean of all raters, a steadier yardstick, a judge may well come out above the ceiling without being better.
human[source, system, rater] has nan where a rater has not rated.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jurybox.stats.correlation import NAMES, Coefficient, correlate_rows, redrawn
from jurybox.stats.figures import CORRELATION_ENDS, OVERS, Draws, Figure, mean_figure
from jurybox.stats.levels import averaged, summary_level

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

ONE_RATER = "one rater alone: there are no others to compare with"


def mean_of_raters(human: ArrayLike, without: int | None = None) -> Floats:
    """Source x system: the mean of those raters who rated; nan where none did. `without` leaves one rater out."""
    import numpy as np

    ratings = np.asarray(human, dtype=np.float64)
    if without is not None:
        ratings = np.delete(ratings, without, axis=2)
    total, count = np.nansum(ratings, axis=2), (~np.isnan(ratings)).sum(axis=2)
    return np.asarray(np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0))


def ceiling(human: ArrayLike, coefficient: Coefficient, draws: Draws) -> Figure:
    """Each rater against the mean of the others at summary level, averaged over raters."""
    import numpy as np

    ratings = np.asarray(human, dtype=np.float64)
    figures = [
        summary_level(ratings[:, :, rater], mean_of_raters(ratings, rater), coefficient, draws)
        for rater in range(ratings.shape[2])
    ]
    return _over_raters(figures, f"each rater against the others' mean, {NAMES[coefficient]}", draws)


def in_place_of_raters(scores: ArrayLike, human: ArrayLike, coefficient: Coefficient, draws: Draws) -> Figure:
    """The judge against the same means as `ceiling`, on the items that the rater left out has rated."""
    import numpy as np

    judged, ratings = np.asarray(scores, dtype=np.float64), np.asarray(human, dtype=np.float64)
    figures = [
        summary_level(
            np.where(np.isnan(ratings[:, :, rater]), np.nan, judged),
            mean_of_raters(ratings, rater),
            coefficient,
            draws,
        )
        for rater in range(ratings.shape[2])
    ]
    return _over_raters(figures, f"the judge in place of each rater, {NAMES[coefficient]}", draws)


def _over_raters(figures: list[Figure], what: str, draws: Draws) -> Figure:
    import numpy as np

    if len(figures) < 2:
        nothing = np.full(len(draws.sources), np.nan)
        return Figure(np.nan, {"sources": nothing}, 0, len(draws.sources[0]), what, draws, ONE_RATER)
    return mean_figure(figures, what)


def partial_summary_level(
    scores: ArrayLike, human: ArrayLike, control: ArrayLike, coefficient: Coefficient, draws: Draws
) -> Figure:
    """`summary_level` with a third variable held still: first-order partial correlation (Yule 1907) in each source.

    Where the control is constant there is nothing to take out, and the plain coefficient stands.
    """
    import numpy as np

    missing = np.isnan(np.asarray(scores, dtype=np.float64)) | np.isnan(np.asarray(human, dtype=np.float64))
    held = np.where(missing, np.nan, np.asarray(control, dtype=np.float64))
    pairs = ((scores, human), (scores, held), (human, held))
    rows = _partial(*(correlate_rows(x, y, coefficient) for x, y in pairs))
    drawn = _partial(*(redrawn(x, y, draws.systems_and_left_out, coefficient) for x, y in pairs))
    figure = averaged(rows, drawn, draws, f"mean over sources of {NAMES[coefficient]}, length held still")
    why = "length explains one side wholly in every source"
    return replace(figure, why=why, ends=CORRELATION_ENDS, fisher=OVERS)


def _partial(xy: Floats, xz: Floats, yz: Floats) -> Floats:
    import numpy as np

    xz, yz = np.where(np.isnan(xz), 0.0, xz), np.where(np.isnan(yz), 0.0, yz)
    left = (1 - xz**2) * (1 - yz**2)
    # A side that the control explains wholly has nothing left to correlate: none, and no rounding taken for a figure.
    found = np.divide(xy - xz * yz, np.sqrt(np.maximum(left, 0)), out=np.full(xy.shape, np.nan), where=left > 1e-9)
    return np.asarray(np.clip(found, -1.0, 1.0))
