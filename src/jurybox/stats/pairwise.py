"""Pairwise accuracy with ties: in how many pairs of summaries of one source does the judge say what people say?

A pair is right when both call the same one better, or both call it a tie; so a judge that never ties is wrong on every
human tie, and one that always ties on everything else (Deutsch, Foster & Freitag 2023, "Ties Matter", acc_eq). Scores
with decimals never tie by themselves. The judge's differences up to epsilon count as ties, and epsilon is the one that
gives the highest accuracy (their tie calibration). Tuned on the same data that is a flattered figure; `held_out` tunes
epsilon on the other sources, in ten folds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from jurybox.stats.correlation import paired
from jurybox.stats.figures import Draws, Figure
from jurybox.stats.levels import averaged
from jurybox.types import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

FOLDS = 10
# Differences are compared to this many decimals, as scores are.
_DECIMALS = 9


@dataclass(frozen=True, slots=True)
class PairwiseAccuracy:
    """acc_eq averaged over sources: with the judge's exact ties, with the best epsilon, and with epsilon from other
    sources. `epsilon` is None where there are no pairs."""

    exact: Estimate
    tuned: Estimate
    held_out: Estimate
    epsilon: float | None
    human_ties: float | None

    def as_dict(self) -> dict[str, Any]:
        return {
            "exact": self.exact.as_dict(),
            "tuned": self.tuned.as_dict(),
            "held_out": self.held_out.as_dict(),
            "epsilon": self.epsilon,
            "human_ties": self.human_ties,
        }


def pairwise_accuracy(scores: ArrayLike, human: ArrayLike, draws: Draws) -> PairwiseAccuracy:
    """acc_eq of scores[source, system] against people's; intervals over sources, with epsilon taken as known."""
    import numpy as np

    pairs = _Pairs.of(scores, human)
    if not len(pairs.source):
        nothing = Estimate(None, None, None, 0, pairs.sources, "undefined: no source has two summaries to compare")
        return PairwiseAccuracy(nothing, nothing, nothing, None, None)
    every = np.ones(pairs.sources, dtype=bool)
    epsilon = pairs.best_epsilon(every)
    held_out = np.full(pairs.sources, np.nan)
    folds = np.arange(pairs.sources) % min(FOLDS, pairs.sources)
    for fold in range(folds.max() + 1 if pairs.sources > 1 else 0):
        there = folds == fold
        held_out[there] = pairs.accuracy(pairs.best_epsilon(~there))[there]
    return PairwiseAccuracy(
        _figure(pairs.accuracy(0.0), draws, "exact ties").estimate(),
        _figure(pairs.accuracy(epsilon), draws, f"ties up to {epsilon:.4g}, tuned on the same data").estimate(),
        _figure(held_out, draws, "ties up to an epsilon from other sources").estimate(),
        epsilon,
        float((pairs.human == 0).mean()),
    )


def _figure(rows: Floats, draws: Draws, how: str) -> Figure:
    figure = averaged(rows, None, draws, f"pairwise accuracy with ties (acc_eq), {how}")
    return replace(figure, why="no source has two summaries to compare", ends=(0.0, 1.0))


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Every pair of summaries of one source: its source, the judge's difference, the sign of people's."""

    source: NDArray[np.intp]
    judge: Floats
    human: Floats
    sources: int

    @classmethod
    def of(cls, scores: ArrayLike, human: ArrayLike) -> _Pairs:
        import numpy as np

        one, other = paired(scores, human)
        first, second = np.triu_indices(one.shape[1], 1)
        judge, people = ((side[:, first] - side[:, second]).round(_DECIMALS) for side in (one, other))
        there = ~np.isnan(judge)
        source = np.broadcast_to(np.arange(len(one))[:, None], there.shape)
        return cls(source[there], judge[there], np.sign(people[there]), len(one))

    @property
    def _weights(self) -> Floats:
        """Sources count alike, however many pairs they have."""
        import numpy as np

        return np.asarray(1 / np.bincount(self.source, minlength=self.sources)[self.source])

    def accuracy(self, epsilon: float) -> Floats:
        """By source; nan where it has no pair."""
        import numpy as np

        called = np.where(abs(self.judge) <= epsilon, 0.0, np.sign(self.judge))
        right = np.bincount(self.source, weights=(called == self.human), minlength=self.sources)
        count = np.bincount(self.source, minlength=self.sources)
        return np.asarray(np.divide(right, count, out=np.full(self.sources, np.nan), where=count > 0))

    def best_epsilon(self, among: NDArray[np.bool_]) -> float:
        """The smallest epsilon with the highest accuracy over some of the sources, found in one walk.

        When epsilon passes a pair's difference the pair becomes a tie: right where people tie, and no longer right
        where it agreed with them. So the accuracy at every candidate is a running sum over pairs by size.
        """
        import numpy as np

        kept = among[self.source]
        size, sign, human = abs(self.judge[kept]), np.sign(self.judge[kept]), self.human[kept]
        change = self._weights[kept] * (
            np.where(human == 0, 1.0, 0.0) - np.where((sign == human) & (sign != 0), 1.0, 0.0)
        )
        order = np.argsort(size, kind="stable")
        running, size = np.cumsum(np.where(size[order] == 0, 0.0, change[order])), size[order]
        last = np.append(size[1:] != size[:-1], True)  # where all pairs of one size have been passed
        candidates, gains = np.append(0.0, size[last]), np.append(0.0, running[last])
        best = int(np.argmax(np.where(gains > gains.max() - 1e-12, 1, 0)))
        return float(candidates[best]) if len(candidates) and not math.isnan(gains[best]) else 0.0
