"""Correlation coefficients of many rows at once: rows x columns against rows x columns, nan where a cell is missing.

A cell counts where both sides have it. A row in which either side is constant has no coefficient (nan here; estimates
made of them say why). `weights` says how often each column is drawn, so a resample costs no copying: every coefficient
is written with the signs of differences, which stay the same however often a column is drawn.

Sources: Pearson 1895; Spearman 1904 (Pearson's of mid-ranks); Kendall 1945 (tau-b); Stuart 1953 (tau-c).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

Coefficient = Literal["spearman", "kendall_b", "kendall_c", "pearson"]
COEFFICIENTS: tuple[Coefficient, ...] = get_args(Coefficient)
NAMES: dict[Coefficient, str] = {
    "spearman": "Spearman's rho",
    "kendall_b": "Kendall's tau-b",
    "kendall_c": "Stuart's tau-c",
    "pearson": "Pearson's r",
}

# Scores are compared to this many decimals: the mean of 3, 3 and 4 is one value, however it was summed.
_DECIMALS = 9
# Numbers in an array of pairs: rows are worked on in blocks of this size, which fit a processor's cache.
_BLOCK = 1 << 18
# Squares of deviations of numbers with so many decimals are larger than this, or are rounding.
_NO_SPREAD = 1e-20


def paired(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """Both as rows x columns, nan where either has none."""
    import numpy as np

    one, other = (np.atleast_2d(np.asarray(side, dtype=np.float64)).round(_DECIMALS) for side in (x, y))
    missing = np.isnan(one) | np.isnan(other)
    return np.where(missing, np.nan, one), np.where(missing, np.nan, other)


def correlate_rows(
    x: ArrayLike, y: ArrayLike, coefficient: Coefficient = "spearman", weights: Floats | None = None
) -> Floats:
    """One coefficient a row; nan where a side is constant or has fewer than two cells. `weights` is as large as x."""
    import numpy as np

    one, other = paired(x, y)
    drawn = (~np.isnan(one)).astype(np.float64)
    if weights is not None:
        drawn *= weights
    if coefficient == "pearson":
        return _pearson(one, other, drawn)
    if coefficient == "spearman" and weights is None:
        return _weighted_ratio(_centred_ranks(one), _centred_ranks(other), drawn)
    rows = max(_BLOCK // max(one.shape[1] ** 2, 1), 1)
    starts = range(0, len(one), rows)
    blocks = [
        _by_signs(one[at : at + rows], other[at : at + rows], drawn[at : at + rows], coefficient) for at in starts
    ]
    return np.concatenate(blocks) if blocks else np.empty(0)


def redrawn(x: ArrayLike, y: ArrayLike, weights: Floats, coefficient: Coefficient = "spearman") -> Floats:
    """Draws x rows: every row's coefficient when column m is drawn weights[b, m] times."""
    import numpy as np

    one, other = paired(x, y)
    if coefficient == "pearson":
        return _redrawn_pearson(one, other, weights)
    if coefficient == "kendall_c":
        return np.stack([correlate_rows(one, other, coefficient, np.tile(row, (len(one), 1))) for row in weights])
    kernel = _redrawn_spearman if coefficient == "spearman" else _redrawn_kendall
    draws = max(_BLOCK // max(one.shape[1] ** 2, 1), 1)
    blocks = [kernel(one, other, weights[at : at + draws]) for at in range(0, len(weights), draws)]
    return np.concatenate(blocks) if blocks else np.empty((0, len(one)))


def midranks(values: Floats) -> Floats:
    """Ranks from 1, ties in the middle, of a vector without gaps."""
    import numpy as np

    _, which, counts = np.unique(values.round(_DECIMALS), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[which.reshape(-1)])


def signs(x: Floats) -> Floats:
    """Rows x columns x columns: the sign of every difference, 0 where a cell is missing."""
    import numpy as np

    one, other = x[:, :, None], x[:, None, :]
    return np.subtract(one > other, one < other, dtype=np.float64)  # nan is neither above nor below


def ratio(above: Floats, one: Floats, other: Floats) -> Floats:
    """above / sqrt(one * other), nan without spread; rounding does not lead it past 1."""
    import numpy as np

    nowhere = np.full(np.shape(above), np.nan)
    defined = (one > _NO_SPREAD) & (other > _NO_SPREAD)
    found = np.divide(above, np.sqrt(np.maximum(one, 0) * np.maximum(other, 0)), out=nowhere, where=defined)
    return np.asarray(np.clip(found, -1.0, 1.0))


def spread(squares: Floats, total: Floats, n: Floats) -> Floats:
    """Sum of squared deviations from the mean, 0 where the difference is no more than rounding."""
    import numpy as np

    found = squares - total**2 / n
    return np.where(found > 1e-12 * squares, found, 0.0)


def _pearson(x: Floats, y: Floats, weights: Floats) -> Floats:
    import numpy as np

    n = np.maximum(weights.sum(axis=1, keepdims=True), 1)
    one, other = np.nan_to_num(x), np.nan_to_num(y)
    one = one - (weights * one).sum(axis=1, keepdims=True) / n
    other = other - (weights * other).sum(axis=1, keepdims=True) / n
    return _weighted_ratio(one, other, weights)


def _weighted_ratio(one: Floats, other: Floats, weights: Floats) -> Floats:
    """Of deviations from the mean."""
    products = ((one, other), (one, one), (other, other))
    above, squares, squares_other = (_dots(weights * a, b) for a, b in products)
    return ratio(above, squares, squares_other)


def _centred_ranks(x: Floats) -> Floats:
    """How many of its row each cell is above, less how many it is below: twice the mid-rank, centred."""
    import numpy as np

    columns = np.ascontiguousarray(x.T)
    ranks = np.zeros(columns.shape, dtype=np.int32)
    for column in columns:
        ranks += columns > column
        ranks -= columns < column
    return ranks.T.astype(np.float64)


def _by_signs(x: Floats, y: Floats, weights: Floats, coefficient: Coefficient) -> Floats:
    """A centred weighted mid-rank is half the sum of signs over the columns drawn; tau counts the same signs."""
    import numpy as np

    one, other = signs(x), signs(y)
    if coefficient == "spearman":
        ranks, others = (np.matmul(side, weights[:, :, None])[:, :, 0] for side in (one, other))
        return _weighted_ratio(ranks, others, weights)
    pairs = weights[:, :, None] * weights[:, None, :]
    balance = (pairs * one * other).sum(axis=(1, 2))
    if coefficient == "kendall_b":
        return ratio(balance, (pairs * abs(one)).sum(axis=(1, 2)), (pairs * abs(other)).sum(axis=(1, 2)))
    classes = np.minimum(_classes(one, weights), _classes(other, weights))
    n = weights.sum(axis=1)
    nowhere = np.full(len(n), np.nan)
    return np.asarray(np.divide(classes * balance, n**2 * (classes - 1), out=nowhere, where=classes > 1))


def _classes(side: Floats, weights: Floats) -> Floats:
    """How many distinct values were drawn: each counts once for all of its bearers together."""
    import numpy as np

    there = (weights > 0).astype(np.float64)
    bearers = ((side == 0) * there[:, None, :]).sum(axis=2)
    shares = np.divide(there, bearers, out=np.zeros_like(there), where=there > 0)
    return np.asarray(shares.sum(axis=1).round())


def _redrawn_pearson(x: Floats, y: Floats, weights: Floats) -> Floats:
    import numpy as np

    there = (~np.isnan(x)).astype(np.float64)
    one, other = (np.nan_to_num(side - _row_means(side, there)) for side in (x, y))
    n = np.maximum(weights @ there.T, 1)
    sum_x, sum_y = weights @ one.T, weights @ other.T
    above = weights @ (one * other).T - sum_x * sum_y / n
    return ratio(above, spread(weights @ (one * one).T, sum_x, n), spread(weights @ (other * other).T, sum_y, n))


def _row_means(side: Floats, there: Floats) -> Floats:
    import numpy as np

    return np.asarray(np.nansum(side, axis=1, keepdims=True) / np.maximum(there.sum(axis=1, keepdims=True), 1))


def _redrawn_kendall(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Every pair of columns weighs the product of how often its two were drawn."""
    import numpy as np

    first, second = np.triu_indices(x.shape[1], 1)
    one, other = (
        np.subtract(side[:, first] > side[:, second], side[:, first] < side[:, second], dtype=np.float64)
        for side in (x, y)
    )
    pairs = weights[:, first] * weights[:, second]
    return ratio(pairs @ (one * other).T, pairs @ abs(one).T, pairs @ abs(other).T)


# The cube of it is what single precision counts exactly: 2^24.
_EXACT_COLUMNS = 256


def _redrawn_spearman(x: Floats, y: Floats, weights: Floats) -> Floats:
    import numpy as np

    # Sums of whole numbers, none above columns^3: single precision holds them exactly. Draws lie along the rows of
    # memory, so that every step is one long loop.
    kind = np.float32 if x.shape[1] <= _EXACT_COLUMNS else np.float64
    sums = np.empty((3, len(x), len(weights)))
    there, drawings = (~np.isnan(x)).astype(kind), np.ascontiguousarray(weights.T.astype(kind))
    for row, (one, other) in enumerate(zip(signs(x).astype(kind), signs(y).astype(kind), strict=True)):
        drawn = drawings * there[row][:, None]
        ranks, others = one @ drawn, other @ drawn
        weighted = drawn * ranks
        for place, pair in enumerate(((weighted, others), (weighted, ranks), (drawn * others, others))):
            sums[place, row] = np.einsum("ij,ij->j", *pair)
    return np.ascontiguousarray(ratio(*sums).T)


def _dots(one: Floats, other: Floats) -> Floats:
    """Row by row; sums over short rows are slow otherwise."""
    import numpy as np

    return np.asarray(np.einsum("ij,ij->i", one, other))
