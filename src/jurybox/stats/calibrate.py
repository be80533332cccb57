"""From a judge's scores to people's: a map learned on labelled items, and what it is worth on sources it never saw.

Three maps, none of which turns the judge's order around. Pure functions; nothing here is stored or applied on its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from jurybox.stats.bootstrap import RESAMPLES, SEED, draws, estimate, numbered
from jurybox.types import SCALE, Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

CalibrationKind = Literal["linear", "isotonic", "ordinal"]
CALIBRATION_KINDS: tuple[CalibrationKind, ...] = get_args(CalibrationKind)
FOLDS = 10


@dataclass(frozen=True, slots=True)
class Calibration:
    """A map through knots: straight between them, flat beyond the outermost; to the nearest step if `ordinal`."""

    kind: CalibrationKind
    judge: tuple[float, ...]
    human: tuple[float, ...]
    n: int

    def __call__(self, scores: ArrayLike) -> NDArray[np.float64]:
        """People's scores to expect for the judge's; nan stays nan."""
        import numpy as np

        found = np.interp(np.asarray(scores, dtype=np.float64), self.judge, self.human)
        return np.asarray(_nearest_step(found) if self.kind == "ordinal" else found)


@dataclass(frozen=True, slots=True)
class CalibrationCheck:
    """RMSE against people before and after calibration, on sources that it had not seen, and how much it falls."""

    kind: CalibrationKind
    folds: int
    before: Estimate
    after: Estimate
    gain: Estimate

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "folds": self.folds,
            "before": self.before.as_dict(),
            "after": self.after.as_dict(),
            "gain": self.gain.as_dict(),
        }


def calibrate(judge: ArrayLike, human: ArrayLike, kind: CalibrationKind = "linear") -> Calibration:
    """The map of that kind with the least squared error on labelled items; an item without a judge's score (nan) is
    left out.

    `linear`: least squares, slope not below zero, cut at the ends of the scale. `isotonic`: any map that never falls
    (Barlow et al. 1972). `ordinal`: thresholds on the judge's scores, each step of the scale between two of them; the
    best such map is the isotonic one taken to its nearest step (Goldstein & Kruskal 1976).
    """
    import numpy as np

    x, y = np.asarray(judge, dtype=np.float64), np.asarray(human, dtype=np.float64)
    if x.shape != y.shape:
        raise ValueError(f"{len(y)} labels need as many judge's scores, not {len(x)}")
    if kind not in CALIBRATION_KINDS:
        raise ValueError(f"a calibration is one of {', '.join(CALIBRATION_KINDS)}, not {kind!r}")
    known = ~np.isnan(x)
    x, y = x[known], y[known]
    if not len(x):
        raise ValueError("no labelled item has a judge's score: nothing to calibrate on")
    knots, levels = _line(x, y) if kind == "linear" else _steps(x, y)
    return Calibration(kind, tuple(map(float, knots)), tuple(map(float, levels)), len(x))


def _line(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The line as knots: the ends of the scale, and where it passes the ends of people's scores."""
    import numpy as np

    centred = x - x.mean()
    spread = float(centred @ centred)
    slope = max(float(centred @ y) / spread, 0.0) if spread > 1e-12 else 0.0
    ends = np.array([SCALE[0], SCALE[-1]], dtype=np.float64)
    knots = np.array([*ends, *(x.mean() + (ends - y.mean()) / slope)]) if slope > 1e-9 else ends
    knots = np.sort(np.clip(knots, *ends))
    return knots, np.clip(y.mean() + slope * (knots - x.mean()), *ends)


def _steps(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    import numpy as np

    knots, where, counts = np.unique(x, return_inverse=True, return_counts=True)
    return knots, pool_adjacent_violators(np.bincount(where, y) / counts, counts)


def pool_adjacent_violators(values: ArrayLike, weights: ArrayLike) -> NDArray[np.float64]:
    """The never-falling sequence nearest to the values in weighted squares (Barlow et al. 1972, section 1.2)."""
    import numpy as np

    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(np.asarray(values, dtype=float), np.asarray(weights, dtype=float), strict=True):
        mean, total, size = float(value), float(weight), 1
        while blocks and blocks[-1][0] >= mean:
            before, heavy, length = blocks.pop()
            mean, total, size = (before * heavy + mean * total) / (heavy + total), heavy + total, size + length
        blocks.append((mean, total, size))
    return np.repeat([mean for mean, _, _ in blocks], [size for _, _, size in blocks])


def _nearest_step(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """To the nearest step of the scale, up from the middle between two."""
    import numpy as np

    return np.asarray(np.clip(np.floor(values + 0.5), SCALE[0], SCALE[-1]))


def check_calibration(
    judge: ArrayLike,
    human: ArrayLike,
    groups: Sequence[Hashable],
    kind: CalibrationKind = "linear",
    *,
    folds: int = FOLDS,
    seed: int = SEED,
    resamples: int = RESAMPLES,
) -> CalibrationCheck:
    """What a calibration is worth: each source is scored by a map learned on the other folds' sources.

    `folds` parts of the sources at random, one source each where there are no more. Intervals are a bootstrap over
    sources with the maps as they are.
    """
    import numpy as np

    x, y = np.asarray(judge, dtype=np.float64), np.asarray(human, dtype=np.float64)
    known = ~np.isnan(x)
    n, lost = int(known.sum()), int((~known).sum())
    x, y = x[known], y[known]
    source_of, sources = numbered([group for group, has in zip(groups, known, strict=True) if has])
    folds = min(folds, sources)
    if folds < 2:
        nothing = Estimate(None, None, None, n, lost, "undefined: fewer than 2 labelled sources", seed)
        return CalibrationCheck(kind, folds, nothing, nothing, nothing)
    fold_of = (np.random.default_rng(seed).permutation(sources) % folds)[source_of]
    held_out = np.empty(n)
    for fold in range(folds):
        here = fold_of == fold
        held_out[here] = calibrate(x[~here], y[~here], kind)(x[here])
    sizes, before, after = (np.bincount(source_of, part) for part in (np.ones(n), (x - y) ** 2, (held_out - y) ** 2))
    times = np.array(list(draws(sources, resamples, seed)))

    def told(what: str, found: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Estimate:
        value = float(found(np.ones((1, sources)))[0])
        assert math.isfinite(value)
        return estimate(value, found(times), n, lost, what, sources, seed)

    def rmse(squares: NDArray[Any]) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        return lambda drawn: np.asarray(np.sqrt((drawn @ squares) / (drawn @ sizes)))

    raw, calibrated = rmse(before), rmse(after)
    return CalibrationCheck(
        kind,
        folds,
        told("RMSE of the judge's scores", raw),
        told(f"RMSE after {kind} calibration, {folds} folds by source", calibrated),
        told("RMSE before less RMSE after", lambda drawn: raw(drawn) - calibrated(drawn)),
    )
