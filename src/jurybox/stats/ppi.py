"""Means from few human and many judge scores: prediction-powered inference (PPI++), clustered by source.

Angelopoulos, Duchi & Zrnic, "PPI++: Efficient Prediction-Powered Inference" (arXiv 2311.01453, 2023), mean estimation
with power tuning. The labelled items must be a random sample of all; nothing here can see that they are not, only
`labelled_shift` can make it doubtful. What we do beyond the paper, and why, is in docs/design/ppi.md.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

from jurybox.stats.bootstrap import numbered
from jurybox.stats.clusters import NO_ENDS, Ends, clustered_mean, cut
from jurybox.stats.means import CONFIDENCE, t_quantile
from jurybox.types import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

Quantile = Literal["t", "normal"]
# Below this, squares of scores are rounding errors.
_NOTHING = 1e-12
# With fewer labelled sources, tuning brings coverage down to 92.0 %, the least that is promised (docs/design/ppi.md).
LEAST_TUNED = 8
_FEW = f"lambda 0: fewer than {LEAST_TUNED} labelled sources to tune it on"
_ALONE = "lambda 0: the judge's scores do not narrow it"


@dataclass(frozen=True, slots=True)
class Powered:
    """The mean of people's scores estimated with the judge's help, beside what either says alone.

    `judge` is the mean of the judge's own scores: its interval holds no error of the judge. `weight` is lambda, how
    far the judge is followed: 0 is people alone. `effective_n` is how many labels people alone would need for the
    same variance. `n_judged` items have a judge's score.
    """

    ppi: Estimate
    human: Estimate
    judge: Estimate
    weight: float
    effective_n: float | None
    n_judged: int
    spread: Spread | None


@dataclass(frozen=True, slots=True)
class Spread:
    """Variance of people's scores a label, and the share of it that the judge explains; for plans."""

    variance: float
    explained: float


@dataclass(frozen=True, slots=True)
class _Terms:
    """Each source's part in the error of the mean of labels, and in the error of the judge's correction.

    The estimate is mean(Y) - weight * (mean of the judge on labelled items - mean on the others), so its error is the
    sum over sources of `label - weight * correction`. For one item a source that is the paper's estimator; a source
    with several keeps them together, whether labelled or not.
    """

    label: NDArray[np.float64]
    correction: NDArray[np.float64]
    labelled: NDArray[np.bool_]
    gap: float
    pooled: float

    def tuned(self, least: int) -> float:
        """The lambda of least variance, cut to [0, 1] (PPI++, power tuning, as `ppi_py` computes it).

        It is 0 with fewer labelled sources than `least`. The judge's variance is pooled over all items; with several
        items a source it is multiplied by the design effect of the correction (Kish 1965), else 1.
        """
        import numpy as np

        if self.pooled < _NOTHING or int(self.labelled.sum()) < least:
            return 0.0
        return float(np.clip(self.label @ self.correction / self.pooled, 0.0, 1.0))

    def without_error(self, weight: float) -> bool:
        """Whether the judge, so weighted, is exactly right on every labelled source: too good to be measured."""
        errors = (self.label - weight * self.correction)[self.labelled]
        return float(errors @ errors) < _NOTHING


def ppi_mean(
    human: ArrayLike,
    judge: ArrayLike,
    unlabelled: ArrayLike,
    groups: Sequence[Hashable] | None = None,
    unlabelled_groups: Sequence[Hashable] | None = None,
    *,
    weight: float | None = None,
    quantile: Quantile = "t",
    ends: Ends = NO_ENDS,
) -> Estimate:
    """The mean of people's scores over all items; see `ppi_means` for the arguments."""
    return ppi_means(
        human, judge, unlabelled, groups, unlabelled_groups, weight=weight, quantile=quantile, ends=ends
    ).ppi


def ppi_means(
    human: ArrayLike,
    judge: ArrayLike,
    unlabelled: ArrayLike,
    groups: Sequence[Hashable] | None = None,
    unlabelled_groups: Sequence[Hashable] | None = None,
    *,
    weight: float | None = None,
    quantile: Quantile = "t",
    ends: Ends = NO_ENDS,
) -> Powered:
    """People's mean from labelled items (`human`, and `judge` on the same items) and the judge on `unlabelled` ones.

    nan is a score the judge does not have; a label beside it still counts. `groups` are the sources of the items;
    without them each item is its own. `weight` fixes lambda. With few labels `t` is right: a residual variance that
    was tuned on n sources has n - 2 degrees of freedom and a leverage (as for a control variate, Lavenberg & Welch
    1981), joined with the other items' by Satterthwaite. Where that is no narrower than people alone, or the judge is
    exactly right on every labelled item (its error cannot be measured), or there are fewer than `LEAST_TUNED` labelled
    sources, people alone are taken. `normal` is the paper's own interval, for large n, without those steps.
    """
    import numpy as np

    y, f, u = (np.asarray(values, dtype=np.float64) for values in (human, judge, unlabelled))
    sources = range(len(y)) if groups is None else groups
    others = range(len(y), len(y) + len(u)) if unlabelled_groups is None else unlabelled_groups
    _refuse_misfits(y, f, u, sources, others)
    source_of, count = numbered([*sources, *others])
    scored = np.concatenate([f, u])
    kept = ~np.isnan(scored)
    alone = clustered_mean(scored[kept], source_of[kept], int((~kept).sum()), ends, "mean of the judge's scores")
    people = clustered_mean(y, source_of[: len(y)], 0, ends, "mean of people's scores")
    lost = int((~kept).sum())
    if people.low is None:
        undefined = Estimate(None, None, None, len(y), lost, "undefined: fewer than 2 labelled sources")
        return Powered(undefined, people, alone, 0.0, None, int(kept.sum()), None)
    terms = _terms(y, f, u, source_of, count)
    found = _best(terms, people, lost, weight, quantile, ends)
    return Powered(
        found.estimate,
        people,
        alone,
        found.weight,
        len(y) * found.gain,
        int(kept.sum()),
        _spread(terms, len(y), found.weight),
    )


def _refuse_misfits(
    y: NDArray[np.float64],
    f: NDArray[np.float64],
    u: NDArray[np.float64],
    sources: Sequence[Hashable],
    others: Sequence[Hashable],
) -> None:
    import numpy as np

    if len(y) != len(f) or len(y) != len(sources):
        raise ValueError(f"{len(y)} labels need as many judge's scores and sources, not {len(f)} and {len(sources)}")
    if len(u) != len(others):
        raise ValueError(f"{len(u)} unlabelled items need as many sources, not {len(others)}")
    if not np.isfinite(y).all() or np.isinf(f).any() or np.isinf(u).any():
        raise ValueError("labels are finite numbers, and judge's scores are finite numbers or nan")


def _terms(
    y: NDArray[np.float64], f: NDArray[np.float64], u: NDArray[np.float64], source_of: NDArray[np.intp], count: int
) -> _Terms:
    import numpy as np

    n = len(y)
    here, there = ~np.isnan(f), ~np.isnan(u)
    label = np.bincount(source_of[:n], (y - y.mean()) / n, minlength=count).astype(np.float64)
    labelled = np.bincount(source_of[:n], minlength=count) > 0
    if here.sum() < 2 or there.sum() < 2:
        return _Terms(label, np.zeros(count), labelled, 0.0, 0.0)
    each = np.zeros(n + len(u))
    each[:n][here] = (f[here] - f[here].mean()) / here.sum()
    each[n:][there] = -(u[there] - u[there].mean()) / there.sum()
    correction = np.bincount(source_of, each, minlength=count).astype(np.float64)
    squares = float(each @ each)
    effect = float(correction @ correction) / squares if squares > 0 else 1.0
    variance = float(np.concatenate([f[here], u[there]]).var(ddof=1))
    pooled = variance * (1 / int(here.sum()) + 1 / int(there.sum())) * effect
    return _Terms(label, correction, labelled, float(f[here].mean() - u[there].mean()), pooled)


@dataclass(frozen=True, slots=True)
class _Found:
    estimate: Estimate
    weight: float
    gain: float


def _best(terms: _Terms, people: Estimate, lost: int, weight: float | None, quantile: Quantile, ends: Ends) -> _Found:
    """PPI++ with the tuned or given weight; people alone where a tuned one would not be narrower."""
    tuned = terms.tuned(1 if quantile == "normal" else LEAST_TUNED) if weight is None else weight
    assert people.value is not None
    value = people.value - tuned * terms.gap
    plain, degrees_alone = _variance(terms, 0.0, 0, quantile)
    variance, degrees = _variance(terms, tuned, int(weight is None), quantile)
    half_width = _quantile(degrees, quantile) * math.sqrt(variance)
    how = "normal interval over sources" if quantile == "normal" else f"t interval, {degrees} degrees of freedom"
    method = f"PPI++ mean, lambda {tuned:.2f}; 95 % {how}"
    found = cut(value, half_width, people.n, lost, method, ends)
    unhelped = _quantile(degrees_alone, quantile) * math.sqrt(plain)
    wider = half_width >= unhelped or _width(found) > _width(people)
    if quantile == "t" and (tuned == 0.0 or terms.without_error(tuned) or (weight is None and wider)):
        few = weight is None and terms.labelled.sum() < LEAST_TUNED
        method = f"{people.method}; {_FEW if few else _ALONE}"
        return _Found(Estimate(people.value, people.low, people.high, people.n, lost, method), 0.0, 1.0)
    return _Found(found, tuned, plain / variance if variance > 0 else 1.0)


def _width(estimate: Estimate) -> float:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.high - estimate.low


def _quantile(degrees: int, quantile: Quantile) -> float:
    probability = (1 + CONFIDENCE) / 2
    return NormalDist().inv_cdf(probability) if quantile == "normal" else t_quantile(max(degrees, 1), probability)


def _variance(terms: _Terms, weight: float, spent: int, quantile: Quantile) -> tuple[float, int]:
    """Variance and degrees of freedom. `normal` divides by n as the paper does, `t` by what is left of it."""
    squares = (terms.label - weight * terms.correction) ** 2
    if quantile == "normal":
        return float(squares.sum()), 0
    with_labels, without = int(terms.labelled.sum()), int((~terms.labelled).sum())
    left = with_labels - 1 - (spent if weight else 0)
    ours = float(squares[terms.labelled].sum()) * with_labels / left
    if spent and 0 < weight < 1:
        # Lambda is off by luck too, which moves the mean the more the labelled items differ from the rest.
        leverage = float((terms.correction[terms.labelled] ** 2).sum()) / with_labels
        ours *= 1 + leverage * (terms.gap / terms.pooled) ** 2
    theirs = float(squares[~terms.labelled].sum()) * without / max(without - 1, 1)
    total = ours + theirs
    if total < _NOTHING:
        return total, left
    # Satterthwaite (1946), rounded down.
    return total, int(total**2 / (ours**2 / left + theirs**2 / max(without - 1, 1)) + 1e-9)


def _spread(terms: _Terms, n: int, weight: float) -> Spread:
    """What a plan needs: adjusted r^2 (Ezekiel 1930) of people on the judge, 0 where the judge does not help."""
    variance, _ = _variance(terms, 0.0, 0, "t")
    a, b = (part[terms.labelled] for part in (terms.label, terms.correction))
    a, b = a - a.mean(), b - b.mean()
    both = float((a @ a) * (b @ b))
    if weight == 0 or both == 0 or len(a) < 3:
        return Spread(variance * n, 0.0)
    unexplained = (1 - float(a @ b) ** 2 / both) * (len(a) - 1) / (len(a) - 2)
    return Spread(variance * n, min(max(1 - unexplained, 0.0), 1.0))
