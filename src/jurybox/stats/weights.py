"""Weights of a jury, learned from human labels: non-negative, summing to one, least squares, per rubric.

Judges and people are compared after the mean of each is taken away, so that a lenient judge is not punished for being
lenient, only for moving differently. The weights are then applied to the scores as they are: a weighted mean of scores
on the scale stays on the scale, and keeps the judges' leniency. A judge that hardly varies can earn weight too, by
calming the others: that is what least squares asks for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from jurybox.stats.bootstrap import RESAMPLES, SEED, complete, draws, estimate, numbered
from jurybox.types import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

# Every subset of the judges is tried, so there may not be many of them.
MOST_JUDGES = 8


@dataclass(frozen=True, slots=True)
class LearnedWeights:
    """Weights in the order of the judges, what they were learned from, and how they do on sources they never saw."""

    weights: tuple[float, ...]
    n: int
    n_unscored: int
    sources: int
    learned: Mapping[str, Estimate]
    plain: Mapping[str, Estimate]
    gain: Estimate

    def as_dict(self) -> dict[str, Any]:
        return {
            "n": self.n,
            "n_unscored": self.n_unscored,
            "sources": self.sources,
            "held_out": {
                "learned": {name: found.as_dict() for name, found in self.learned.items()},
                "mean": {name: found.as_dict() for name, found in self.plain.items()},
                "gain": self.gain.as_dict(),
            },
        }


def learn_weights(
    scores: ArrayLike,
    human: ArrayLike,
    groups: Sequence[Hashable],
    *,
    seed: int = SEED,
    resamples: int = RESAMPLES,
) -> LearnedWeights:
    """Weights for a matrix judges x items, from each item's mean human rating; at least two sources.

    An item that a judge has no score for (nan) teaches nothing and is a loss. The check leaves out one source at a
    time, learns from the others, and scores its items: RMSE after the offset between jury and people on the other
    sources is taken away, and Pearson's r. `gain` is how much RMSE falls against the plain mean.
    """
    import numpy as np

    x, y = np.asarray(scores, dtype=np.float64).T, np.asarray(human, dtype=np.float64)
    known = complete(x.T, x.shape[1])
    n, n_unscored = int(known.sum()), int((~known).sum())
    x, y = x[known], y[known]
    source_of, sources = numbered([group for group, kept in zip(groups, known, strict=True) if kept])
    moments = _Moments.of(x, y, source_of, sources)
    others = moments.without_each()
    weights = simplex_weights(*moments.together().centred())[0]
    learned = _Check.of(simplex_weights(*others.centred()), others, x, y, source_of)
    plain = _Check.of(np.full(others.x.shape, 1 / x.shape[1]), others, x, y, source_of)
    times = np.array(list(draws(sources, resamples, seed)))

    def told(what: str, found: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Estimate:
        value = float(found(np.ones((1, sources)))[0])
        if math.isnan(value):
            return Estimate(None, None, None, n, n_unscored, "undefined: no variation", seed)
        return estimate(value, found(times), n, n_unscored, f"{what} on sources left out one by one", sources, seed)

    return LearnedWeights(
        tuple(map(float, weights)),
        n,
        n_unscored,
        sources,
        {"rmse": told("RMSE", learned.rmse), "pearson": told("Pearson's r", learned.pearson)},
        {"rmse": told("RMSE", plain.rmse), "pearson": told("Pearson's r", plain.pearson)},
        told("RMSE of equal weights less RMSE of learned ones", lambda drawn: plain.rmse(drawn) - learned.rmse(drawn)),
    )


def simplex_weights(gram: NDArray[np.float64], cross: NDArray[np.float64]) -> NDArray[np.float64]:
    """The w >= 0 with sum 1 that minimise w'Gw - 2c'w, for each problem of a stack (problems x k x k, problems x k).

    Exact: the minimum is the stationary point on one face of the simplex, and every face is tried. A ridge of 1e-10 of
    the scale splits weight evenly between judges that cannot be told apart.
    """
    import numpy as np

    count, k = cross.shape
    scale = np.trace(gram, axis1=1, axis2=2)[:, None] / k
    scale = np.where(scale > 0, scale, 1.0)
    gram = gram / scale[:, :, None] + 1e-10 * np.eye(k)
    cross = cross / scale
    best, least = np.zeros((count, k)), np.full(count, np.inf)
    for size in range(1, k + 1):
        for face in combinations(range(k), size):
            weights = np.zeros((count, k))
            weights[:, face] = _stationary(gram[:, face][:, :, face], cross[:, face])
            costs = np.einsum("pi,pij,pj->p", weights, gram, weights) - 2 * (cross * weights).sum(axis=1)
            better = (weights.min(axis=1) >= -1e-12) & (costs < least)
            best[better], least[better] = weights[better], costs[better]
    best = np.maximum(best, 0.0)
    return np.asarray(best / best.sum(axis=1, keepdims=True))


def _stationary(gram: NDArray[np.float64], cross: NDArray[np.float64]) -> NDArray[np.float64]:
    """Least squares with sum 1 and no bounds: Lagrange's conditions, solved."""
    import numpy as np

    count, k = cross.shape
    system = np.ones((count, k + 1, k + 1))
    system[:, :k, :k] = gram
    system[:, k, k] = 0.0
    right = np.concatenate([cross, np.ones((count, 1))], axis=1)
    return np.linalg.solve(system, right[:, :, None])[:, :k, 0]


def _summed(values: NDArray[np.float64], source_of: NDArray[np.intp], sources: int) -> NDArray[np.float64]:
    """Items' rows added up source by source."""
    import numpy as np

    total = np.zeros((sources, *values.shape[1:]))
    np.add.at(total, source_of, values)
    return total


@dataclass(frozen=True, slots=True)
class _Moments:
    """Sums of 1, x, y, xx', xy, a row for each source or set of sources: all that a fit needs."""

    n: NDArray[np.float64]
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    xx: NDArray[np.float64]
    xy: NDArray[np.float64]

    @classmethod
    def of(cls, x: NDArray[np.float64], y: NDArray[np.float64], source_of: NDArray[np.intp], sources: int) -> _Moments:
        import numpy as np

        products = (np.ones(len(y)), x, y, x[:, :, None] * x[:, None, :], x * y[:, None])
        return cls(*(_summed(product, source_of, sources) for product in products))

    def together(self) -> _Moments:
        return _Moments(*(part.sum(axis=0, keepdims=True) for part in self._parts))

    def without_each(self) -> _Moments:
        return _Moments(*(part.sum(axis=0) - part for part in self._parts))

    @property
    def _parts(self) -> tuple[NDArray[np.float64], ...]:
        return self.n, self.x, self.y, self.xx, self.xy

    def centred(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Gram matrix of the judges and their products with people, means taken away."""
        x = self.x / self.n[:, None]
        return self.xx - self.x[:, :, None] * x[:, None, :], self.xy - self.y[:, None] * x

    def offset(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """How far people's mean lies above the jury's."""
        import numpy as np

        return np.asarray((self.y - (weights * self.x).sum(axis=1)) / self.n)


@dataclass(frozen=True, slots=True)
class _Check:
    """Held-out scores against people, as sums over sources: n, error^2, p, h, pp, hh, ph."""

    sums: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        weights: NDArray[np.float64],
        others: _Moments,
        x: NDArray[np.float64],
        y: NDArray[np.float64],
        source_of: NDArray[np.intp],
    ) -> _Check:
        """`weights` and `others` have a row for each source, of all but that one."""
        import numpy as np

        raw = (weights[source_of] * x).sum(axis=1)
        error = raw + others.offset(weights)[source_of] - y
        p, h = raw - raw.mean(), y - y.mean()
        columns = np.stack([np.ones(len(y)), error**2, p, h, p * p, h * h, p * h], axis=1)
        return cls(_summed(columns, source_of, len(weights)))

    def rmse(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        import numpy as np

        return np.asarray(np.sqrt((times @ self.sums[:, 1]) / (times @ self.sums[:, 0])))

    def pearson(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        import numpy as np

        n, _, p, h, pp, hh, ph = (times @ self.sums).T
        spread = np.maximum(pp - p * p / n, 0.0) * np.maximum(hh - h * h / n, 0.0)
        nowhere = np.full(len(n), np.nan)
        return np.asarray(np.divide(ph - p * h / n, np.sqrt(spread), out=nowhere, where=spread > 1e-18))
