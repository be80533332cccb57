"""From a judge's scores to people's: a map learned on labelled items, and what it is worth on sources it never saw.

Three maps, none of which turns the judge's order around; `best` is whichever errs least on other sources, and its worth
is told with the choice made anew in each fold. Pure functions; nothing here is stored or applied on its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from jurybox.stats.bootstrap import RESAMPLES, SEED, draws, estimate, numbered
from jurybox.types import SCALE, Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

CalibrationKind = Literal["linear", "isotonic", "ordinal"]
CALIBRATION_KINDS: tuple[CalibrationKind, ...] = get_args(CalibrationKind)
CalibrationChoice = Literal["linear", "isotonic", "ordinal", "best"]
CALIBRATION_CHOICES: tuple[CalibrationChoice, ...] = get_args(CalibrationChoice)
# What a calibration is worth: it lowers the error, it may be luck, it does not, or nobody can tell.
Worth = Literal["better", "unclear", "no better", "unknown"]
FOLDS = 10
_NOTHING = 1e-9


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
    """RMSE against people before and after calibration, on sources that it had not seen, and how much it falls.

    `constant` is the RMSE of people's mean given to every item, `lead` how far the calibrated scores are below that: a
    map of a useless judge ends at the mean, and lowers the error without saying anything of an item.
    """

    kind: CalibrationChoice
    folds: int
    before: Estimate
    after: Estimate
    gain: Estimate
    constant: Estimate
    lead: Estimate

    @property
    def worth(self) -> Worth:
        """Whether the error falls: surely (by its interval), perhaps, or not."""
        return _worth(self.gain)

    @property
    def beats_constant(self) -> bool:
        """Whether calibrated scores are shown to say more of an item than people's mean does."""
        return _worth(self.lead) == "better"

    def as_dict(self) -> dict[str, Any]:
        figures = {name: getattr(self, name).as_dict() for name in _FIGURES}
        return {"kind": self.kind, "folds": self.folds, **figures, "worth": self.worth}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> CalibrationCheck:
        return cls(told["kind"], told["folds"], *(Estimate(**told[name]) for name in _FIGURES))


_FIGURES = ("before", "after", "gain", "constant", "lead")


def _worth(gain: Estimate) -> Worth:
    if gain.value is None:
        return "unknown"
    if gain.value <= _NOTHING:
        return "no better"
    return "better" if gain.low is not None and gain.low > 0 else "unclear"


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


def choose_calibration(
    judge: ArrayLike, human: ArrayLike, groups: Sequence[Hashable], *, folds: int = FOLDS, seed: int = SEED
) -> CalibrationKind:
    """The kind that errs least on sources it was not learned on; of equals the simplest, and so with one source."""
    x, y, source_of, sources, _ = _labelled(judge, human, groups)
    return _choose(x, y, source_of, min(folds, sources), seed)


def _choose(x: Floats, y: Floats, source_of: NDArray[np.intp], folds: int, seed: int) -> CalibrationKind:
    import numpy as np

    source_of = np.unique(source_of, return_inverse=True)[1]
    folds = min(folds, int(source_of.max(initial=-1)) + 1)
    if folds < 2:
        return CALIBRATION_KINDS[0]
    fold_of = _folds(source_of, folds, seed)

    def error(kind: CalibrationKind) -> float:
        mapped = _held_out(x, fold_of, lambda part: calibrate(x[part], y[part], kind))
        return float(((mapped - y) ** 2).sum())

    errors = {kind: error(kind) for kind in CALIBRATION_KINDS}
    return next(kind for kind, found in errors.items() if found <= min(errors.values()) + _NOTHING)


def check_calibration(
    judge: ArrayLike,
    human: ArrayLike,
    groups: Sequence[Hashable],
    kind: CalibrationChoice = "linear",
    *,
    folds: int = FOLDS,
    seed: int = SEED,
    resamples: int = RESAMPLES,
) -> CalibrationCheck:
    """What a calibration is worth: each source is scored by a map learned on the other folds' sources.

    `folds` parts of the sources at random, one source each where there are no more. For `best` the kind is chosen
    within the other folds too (nested cross-validation: Stone 1974), so that the choice pays its own price. Intervals
    are a bootstrap over sources with the maps as they are.
    """
    import numpy as np

    x, y, source_of, sources, lost = _labelled(judge, human, groups)
    folds = min(folds, sources)
    if folds < 2:
        nothing = Estimate(None, None, None, len(x), lost, "undefined: fewer than 2 labelled sources", seed)
        return CalibrationCheck(kind, folds, *(nothing for _ in _FIGURES))
    fold_of = _folds(source_of, folds, seed)

    def fitted(part: NDArray[np.bool_]) -> Calibration:
        chosen = _choose(x[part], y[part], source_of[part], folds, seed) if kind == "best" else kind
        return calibrate(x[part], y[part], chosen)

    mapped = _held_out(x, fold_of, fitted)
    mean = _held_out(x, fold_of, lambda part: lambda scores: np.full(len(scores), y[part].mean()))
    sizes = np.bincount(source_of).astype(np.float64)
    times = np.array(list(draws(sources, resamples, seed)))

    def rmse(scores: Floats) -> Callable[[Floats], Floats]:
        squares = np.bincount(source_of, (scores - y) ** 2)
        return lambda drawn: np.asarray(np.sqrt((drawn @ squares) / (drawn @ sizes)))

    def told(what: str, found: Callable[[Floats], Floats]) -> Estimate:
        value = float(found(np.ones((1, sources)))[0])
        assert math.isfinite(value)
        return estimate(value, found(times), len(x), lost, what, sources, seed)

    raw, calibrated, constant = rmse(x), rmse(mapped), rmse(mean)
    how = f"{folds} folds by source" + (", kind chosen in each" if kind == "best" else "")
    return CalibrationCheck(
        kind,
        folds,
        told("RMSE of the judge's scores", raw),
        told(f"RMSE after {kind} calibration, {how}", calibrated),
        told("RMSE before less RMSE after", lambda drawn: raw(drawn) - calibrated(drawn)),
        told(f"RMSE of people's mean for every item, {folds} folds by source", constant),
        told("RMSE of people's mean less RMSE after", lambda drawn: constant(drawn) - calibrated(drawn)),
    )


def _labelled(
    judge: ArrayLike, human: ArrayLike, groups: Sequence[Hashable]
) -> tuple[Floats, Floats, NDArray[np.intp], int, int]:
    """Scores and labels of the items that have both, their sources as numbers, how many those are, and the losses."""
    import numpy as np

    x, y = np.asarray(judge, dtype=np.float64), np.asarray(human, dtype=np.float64)
    known = ~np.isnan(x)
    source_of, sources = numbered([group for group, has in zip(groups, known, strict=True) if has])
    return x[known], y[known], source_of, sources, int((~known).sum())


def _folds(source_of: NDArray[np.intp], folds: int, seed: int) -> NDArray[np.intp]:
    """Each item's fold: whole sources, at random."""
    import numpy as np

    order = np.random.default_rng(seed).permutation(int(source_of.max()) + 1)
    return np.asarray((order % folds)[source_of])


def _held_out(
    x: Floats, fold_of: NDArray[np.intp], fit: Callable[[NDArray[np.bool_]], Callable[[Floats], Floats]]
) -> Floats:
    """Each item's score by a map that was fitted on the items of the other folds."""
    import numpy as np

    found = np.empty(len(x))
    for fold in np.unique(fold_of):
        here = fold_of == fold
        found[here] = fit(~here)(x[here])
    return found
