"""Correlation coefficients of many rows at once: rows x columns against rows x columns, nan where a cell is missing.

A cell counts where both sides have it. A row in which either side is constant has no coefficient (nan here; estimates
made of them say why). `weights` says how often each column is drawn, so a resample costs no copying: every coefficient
is written with the signs of differences, which stay the same however often a column is drawn.

Sources: Pearson 1895; Spearman 1904 (Pearson's of mid-ranks); Kendall 1945 (tau-b); Stuart 1953 (tau-c).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    # Weights (draws x columns) to the coefficients of tables that it was made for (draws x rows).
    Kernel = Callable[[Floats], Floats]

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
    kernel = _tau_c if coefficient == "kendall_c" else _by_columns
    rows = max(_BLOCK // max(one.shape[1] ** 2, 1), 1)
    starts = range(0, len(one), rows)
    blocks = [kernel(one[at : at + rows], other[at : at + rows], drawn[at : at + rows], coefficient) for at in starts]
    return np.concatenate(blocks) if blocks else np.empty(0)


def redrawn(x: ArrayLike, y: ArrayLike, weights: Floats, coefficient: Coefficient = "spearman") -> Floats:
    """Draws x rows: every row's coefficient when column m is drawn weights[b, m] times."""
    import numpy as np

    one, other = paired(x, y)
    if coefficient == "kendall_c":
        return np.stack([correlate_rows(one, other, coefficient, np.tile(row, (len(one), 1))) for row in weights])
    prepare = {"pearson": _pearson_redrawn, "spearman": _spearman_redrawn, "kendall_b": _kendall_redrawn}[coefficient]
    kernel = prepare(one, other)
    draws = max(_BLOCK // max(one.shape[1] ** 2, 1), 1)
    found = np.empty((len(weights), len(one)))
    for at in range(0, len(weights), draws):
        found[at : at + draws] = kernel(weights[at : at + draws])
    return found


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

    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.asarray(above / np.sqrt(np.multiply(one, other, dtype=np.float64)))
    found[(one <= _NO_SPREAD) | (other <= _NO_SPREAD)] = np.nan
    return np.clip(found, -1.0, 1.0, out=found)


def spread(squares: Floats, total: Floats, n: Floats) -> Floats:
    """Sum of squared deviations from the mean, 0 where the difference is no more than rounding."""
    import numpy as np

    found = np.asarray(squares - total**2 / n)
    found *= found > 1e-12 * squares
    return found


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


def _by_columns(x: Floats, y: Floats, weights: Floats, coefficient: Coefficient) -> Floats:
    """A centred weighted mid-rank is half the sum of signs over the columns drawn; tau-b counts the same signs.

    One column against all at a time, with rows along memory: every step is one long loop.
    """
    import numpy as np

    one, other, drawn = (np.ascontiguousarray(side.T) for side in (x, y, weights))
    if coefficient == "spearman":
        ranks, others = (
            sum(_signs(side, column) * w for column, w in zip(side, drawn, strict=True)) for side in (one, other)
        )
        return ratio(*(_column_dots(drawn * a, b) for a, b in ((ranks, others), (ranks, ranks), (others, others))))
    sums = np.zeros((3, len(x)))
    for at in range(1, len(one)):
        signs_x, signs_y = _signs(one[at:], one[at - 1]), _signs(other[at:], other[at - 1])
        pairs = drawn[at:] * drawn[at - 1]
        sums += [_column_dots(pairs, part) for part in (signs_x * signs_y, abs(signs_x), abs(signs_y))]
    return ratio(*sums)


def _signs(one: Floats, other: Floats) -> Floats:
    """The sign of every difference, 0 where a side is missing: nan is neither above nor below."""
    import numpy as np

    return np.subtract(one > other, one < other, dtype=np.float64)


def _column_dots(one: Floats, other: Floats) -> Floats:
    import numpy as np

    return np.asarray(np.einsum("ij,ij->j", one, other))


def _tau_c(x: Floats, y: Floats, weights: Floats, _: Coefficient) -> Floats:
    import numpy as np

    one, other = signs(x), signs(y)
    balance = (weights[:, :, None] * weights[:, None, :] * one * other).sum(axis=(1, 2))
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


def _pearson_redrawn(x: Floats, y: Floats) -> Kernel:
    import numpy as np

    there = (~np.isnan(x)).astype(np.float64)
    one, other = (np.nan_to_num(side - _row_means(side, there)) for side in (x, y))
    tables = np.stack([there, one, other, one * other, one * one, other * other]).transpose(0, 2, 1)

    def kernel(weights: Floats) -> Floats:
        n, sum_x, sum_y, above, squares, squares_other = weights @ tables
        n = np.maximum(n, 1)
        return ratio(above - sum_x * sum_y / n, spread(squares, sum_x, n), spread(squares_other, sum_y, n))

    return kernel


def _row_means(side: Floats, there: Floats) -> Floats:
    import numpy as np

    return np.asarray(np.nansum(side, axis=1, keepdims=True) / np.maximum(there.sum(axis=1, keepdims=True), 1))


# Counts of columns drawn, and sums of products of up to three of them, are whole numbers of at most columns^3. Up to so
# many columns (2^24) single precision holds them exactly.
_EXACT_COLUMNS = 256


def _exact_kind(x: Floats) -> Any:
    import numpy as np

    return np.float32 if x.shape[1] <= _EXACT_COLUMNS else np.float64


def _kendall_redrawn(x: Floats, y: Floats) -> Kernel:
    """Every pair of columns weighs the product of how often its two were drawn."""
    import numpy as np

    first, second = np.triu_indices(x.shape[1], 1)
    kind = _exact_kind(x)
    one, other = (_signs(side[:, first], side[:, second]).astype(kind) for side in (x, y))
    tables = np.stack([one * other, abs(one), abs(other)]).transpose(0, 2, 1)

    def kernel(weights: Floats) -> Floats:
        drawn = weights.astype(kind)
        return ratio(*((drawn[:, first] * drawn[:, second]) @ tables))

    return kernel


def _spearman_redrawn(x: Floats, y: Floats) -> Kernel:
    """Products of centred ranks, and for their squares the sizes of tied groups: a third of (n^3 - sum of sizes^3).
    Draws lie along the rows of memory, so that every step is one long loop."""
    import numpy as np

    kind = _exact_kind(x)
    known = ~np.isnan(x)
    sides = [[_tied(side[there], kind) for side, there in zip(table, known, strict=True)] for table in (x, y)]

    def kernel(weights: Floats) -> Floats:
        drawings = np.ascontiguousarray(weights.T, dtype=kind)
        every = drawings.sum(axis=0) ** 3
        sums = np.empty((3, len(x), len(weights)), dtype=kind)
        for row, (there, *both) in enumerate(zip(known, *sides, strict=True)):
            whole = there.all()
            drawn = drawings if whole else drawings[there]
            cubes = every if whole else drawn.sum(axis=0) ** 3
            sizes = [groups @ drawn for groups, _ in both]
            ranks, others = (order @ size for (_, order), size in zip(both, sizes, strict=True))
            sums[0, row] = np.einsum("ij,ij,ij->j", drawn, ranks, others)
            for place, size in enumerate(sizes, 1):
                np.subtract(cubes, _column_dots(size * size, size), out=sums[place, row])
        sums[1:] /= 3
        return ratio(*sums).T

    return kernel


def _tied(values: Floats, kind: Any) -> tuple[Floats, Floats]:
    """Groups of equal values x cells: who is in which; cells x groups: 1 above, -1 below."""
    import numpy as np

    distinct = np.array(sorted(set(values.tolist())))  # of so few much faster than np.unique
    return (values == distinct[:, None]).astype(kind), _signs(values[:, None], distinct).astype(kind)


def _dots(one: Floats, other: Floats) -> Floats:
    """Row by row; sums over short rows are slow otherwise."""
    import numpy as np

    return np.asarray(np.einsum("ij,ij->i", one, other))
