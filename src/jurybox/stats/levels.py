"""Scores against people at three levels.

`summary_level`: a coefficient within each source, averaged over sources. `system_level`: one coefficient of the
systems' means. `pooled`: one of all items, whatever their source. All take scores[source, system], nan where missing,
and give a `Figure` with its resamples.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jurybox.stats.correlation import NAMES, Coefficient, correlate_rows, midranks, paired, ratio, redrawn, spread
from jurybox.stats.figures import CORRELATION_ENDS, OVERS, Draws, Figure, Over

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    # The value, its resamples, and what it is without each of the systems.
    _Pooled = tuple[float, dict[Over, Floats], Floats | None]

# Pooled tau compares every item with every other: 400 million pairs are some ten seconds.
MOST_POOLED = 20_000
_EXACT_ITEMS = 4096


def summary_level(
    scores: ArrayLike, human: ArrayLike, coefficient: Coefficient, draws: Draws, *, constant_as_zero: bool = False
) -> Figure:
    """The coefficient within each source, averaged. A source where either side is constant is left out (and counted),
    or counted as 0. n counts sources."""
    import numpy as np

    rows = correlate_rows(scores, human, coefficient)
    few = np.isnan(correlate_rows(*_ramps(scores, human)))
    drawn = None if coefficient == "kendall_c" else redrawn(scores, human, draws.systems_and_left_out, coefficient)
    if constant_as_zero:
        rows = np.where(np.isnan(rows) & ~few, 0.0, rows)
        drawn = None if drawn is None else np.where(np.isnan(drawn) & ~few, 0.0, drawn)
    what = f"mean over sources of {NAMES[coefficient]}" + (", constant sources as 0" if constant_as_zero else "")
    why = _why_none(scores, human, bool(few.all()))
    return replace(averaged(rows, drawn, draws, what), why=why, ends=CORRELATION_ENDS, fisher=OVERS)


def _why_none(scores: ArrayLike, human: ArrayLike, few: bool) -> str:
    """Why no source has a coefficient, told once for all of them."""
    import numpy as np

    if few:
        return "no source has two summaries to compare"
    one, other = (np.diff(np.sort(side, axis=1), axis=1) for side in paired(scores, human))
    if not (np.nan_to_num(other) > 0).any():
        return "people gave all summaries of a source the same, in every source"
    if not (np.nan_to_num(one) > 0).any():
        return "the judge gave all summaries of a source the same, in every source"
    return "in every source, the judge or people gave all summaries the same"


def averaged(rows: Floats, drawn: Floats | None, draws: Draws, what: str) -> Figure:
    """The mean over sources of one value a source; `drawn` has them again for `draws.systems_and_left_out`."""
    import numpy as np

    n = int((~np.isnan(rows)).sum())
    every = np.ones((1, len(rows)))
    value, over_sources = _means_known(rows[None, :], every, draws.sources)
    resampled: dict[Over, Floats] = {"sources": over_sources}
    left_out = None
    if drawn is not None:
        resamples = len(draws.systems)
        resampled["systems"], resampled["both"] = _means_known(drawn[:resamples], every, draws.sources)
        (left_out,) = _means_known(drawn[resamples:], every)
    return Figure(float(value[0]), resampled, n, len(rows) - n, what, draws, sources=n, left_out=left_out)


def _means_known(rows: Floats, *weightings: Floats) -> list[Floats]:
    """Weighted means of each row's numbers, once for every weighting; nan where it has none."""
    import numpy as np

    missing = np.isnan(rows)
    filled = np.where(missing, 0.0, rows) if missing.any() else rows
    found = []
    for weights in weightings:
        total, count = _sums(weights, filled), weights.sum(axis=1) - _weight_of_gaps(weights, missing)
        found.append(np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0))
    return found


def _weight_of_gaps(weights: Floats, missing: NDArray[np.bool_]) -> Floats:
    """Row by row, the weight of what is missing. Of many rows few have any, and only these are summed."""
    import numpy as np

    if len(missing) == 1:
        return _sums(weights, missing.astype(np.float64))
    lost, rows = np.zeros(len(missing)), np.flatnonzero(missing.any(axis=1))
    lost[rows] = _sums(weights if len(weights) == 1 else weights[rows], missing[rows].astype(np.float64))
    return lost


def _sums(weights: Floats, rows: Floats) -> Floats:
    """Row by row sum of weights x rows, either of which may be one row for all; without a table of the products."""
    import numpy as np

    if len(rows) == 1:
        return np.asarray(weights @ rows[0])
    return np.asarray(rows @ weights[0] if len(weights) == 1 else np.einsum("ij,ij->i", weights, rows))


def _ramps(scores: ArrayLike, human: ArrayLike) -> tuple[Floats, Floats]:
    """Rising numbers where both sides have a score: their correlation exists wherever there are two to compare."""
    import numpy as np

    one, _ = paired(scores, human)
    ramp = np.where(np.isnan(one), np.nan, np.arange(one.shape[1], dtype=np.float64))
    return ramp, ramp


def system_level(scores: ArrayLike, human: ArrayLike, coefficient: Coefficient, draws: Draws) -> Figure:
    """One coefficient of the systems' means, each over the sources where both sides have a score. n counts systems."""
    import numpy as np

    one, other = paired(scores, human)
    every = np.ones((1, len(one)))
    value = correlate_rows(_means(one, every), _means(other, every), coefficient)[0]
    drawn = _means(one, draws.sources), _means(other, draws.sources)
    resamples = len(draws.systems)
    systems = redrawn(_means(one, every), _means(other, every), draws.systems_and_left_out, coefficient)[:, 0]
    resampled: dict[Over, Floats] = {
        "sources": correlate_rows(*drawn, coefficient),
        "systems": systems[:resamples],
        "both": correlate_rows(*drawn, coefficient, draws.systems),
    }
    n = int((~np.isnan(one)).any(axis=0).sum())
    why = "a correlation needs two systems" if n < 2 else "all systems have the same mean"
    what = f"{NAMES[coefficient]} of systems' means"
    return Figure(
        float(value),
        resampled,
        n,
        one.shape[1] - n,
        what,
        draws,
        why,
        ends=CORRELATION_ENDS,
        # Fisher's scale is for new cases, which systems are here; other sources only change the noise of their means.
        # For rank correlations of few systems, often near 1, it is too wide, and leaving one out often changes nothing.
        fisher=("systems", "both") if coefficient == "pearson" else (),
        left_out=systems[resamples:] if coefficient == "pearson" else None,
    )


def _means(side: Floats, weights: Floats) -> Floats:
    """Draws x systems: each system's mean over the sources drawn; nan where it has none of them."""
    import numpy as np

    total, known = weights @ np.nan_to_num(side), ~np.isnan(side)
    # Where nothing is missing, every column has the same count.
    count = weights @ (known if not known.all() else known[:, :1]).astype(np.float64)
    count = np.broadcast_to(count, total.shape)
    return np.asarray(np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0))


def pooled(scores: ArrayLike, human: ArrayLike, coefficient: Coefficient, draws: Draws) -> Figure:
    """One coefficient of all items. n counts items.

    Resamples of Spearman's keep the ranks of the whole. Kendall's are drawn over sources alone: pairs of items by pairs
    of sources are summed once, and drawing both would need every pair of items again for each resample.
    """
    import numpy as np

    one, other = paired(scores, human)
    there = ~np.isnan(one)
    n = int(there.sum())
    what = f"{NAMES[coefficient]} of all items"
    if coefficient.startswith("kendall") and n > MOST_POOLED:
        nothing: dict[Over, Floats] = {"sources": np.full(len(draws.sources), np.nan)}
        return Figure(
            math.nan, nothing, n, one.size - n, what, draws, f"not computed for more than {MOST_POOLED} items"
        )
    if coefficient == "spearman" and n:
        for side in (one, other):
            side[there] = midranks(side[there])
    kernel = _pooled_moments if coefficient in ("spearman", "pearson") else _pooled_pairs
    value, resampled, left_out = kernel(one, other, coefficient, draws)
    if coefficient == "kendall_c" and n:
        classes = min(len(np.unique(side[there])) for side in (one, other))
        value, resampled = (
            (value * classes / (classes - 1) if classes > 1 else math.nan),
            {over: found * classes / max(classes - 1, 1) for over, found in resampled.items()},
        )
    why = "a correlation needs two items" if n < 2 else "one side has the same score for every item"
    counts = n, one.size - n
    return Figure(value, resampled, *counts, what, draws, why, ends=CORRELATION_ENDS, fisher=OVERS, left_out=left_out)


def _pooled_moments(x: Floats, y: Floats, _: Coefficient, draws: Draws) -> _Pooled:
    import numpy as np

    there = (~np.isnan(x)).astype(np.float64)
    n = max(there.sum(), 1)
    one, other = (np.nan_to_num(side - np.nansum(side) / n) for side in (x, y))
    tables = (there, one, other, one * one, other * other, one * other)

    def pearson(sums: Iterable[Floats]) -> Floats:
        count, sum_x, sum_y, xx, yy, xy = sums
        count = np.maximum(count, 1)
        return ratio(xy - sum_x * sum_y / count, spread(xx, sum_x, count), spread(yy, sum_y, count))

    resamples = len(draws.systems)
    systems = pearson(draws.systems_and_left_out @ table.sum(axis=0) for table in tables)
    resampled: dict[Over, Floats] = {
        "sources": pearson(draws.sources @ table.sum(axis=1) for table in tables),
        "systems": systems[:resamples],
        "both": pearson(_sums(draws.systems, draws.sources @ table) for table in tables),
    }
    return float(pearson(table.sum(keepdims=True)[0] for table in tables)[0]), resampled, systems[resamples:]


def _pooled_pairs(x: Floats, y: Floats, coefficient: Coefficient, draws: Draws) -> _Pooled:
    """Kendall's balance of pairs, summed by pairs of sources: concordant less discordant, and untied on either side."""
    import numpy as np

    size = len(x)
    balance, untied, untied_other = (np.zeros((size, size)) for _ in range(3))
    for row in range(size):
        one, other = (
            np.nan_to_num(np.sign(side[row][:, None] - side.reshape(1, -1))).reshape(x.shape[1], *x.shape)
            for side in (x, y)
        )
        for table, part in ((balance, one * other), (untied, abs(one)), (untied_other, abs(other))):
            table[row] = part.sum(axis=(0, 2))
    items = (~np.isnan(x)).sum(axis=1).astype(np.float64)
    # Whole numbers, none above the square of all items: up to 4,096 (the square is 2^24) single precision is exact.
    kind: Any = np.float32 if x.size <= _EXACT_ITEMS else np.float64

    def tau(weights: Floats) -> Floats:
        drawn = weights.astype(kind)
        tables = (table.astype(kind) for table in (balance, untied, untied_other))
        above, one, other = (_sums(drawn, drawn @ table).astype(np.float64) for table in tables)
        if coefficient == "kendall_b":
            return ratio(above, one, other)
        count = np.maximum(weights @ items, 1)
        return np.where((one > 0) & (other > 0), above / count**2, np.nan)

    return float(tau(np.ones((1, size)))[0]), {"sources": tau(draws.sources)}, None
