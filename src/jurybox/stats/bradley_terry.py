"""Bradley-Terry strengths: one number a system, from who won against whom.

P(i beats j) = 1 / (1 + exp(s_j - s_i)) (Bradley & Terry 1952). Ties are half a win for each, which Davidson's model of
1970 would treat with a parameter more. Strengths are logarithms with mean 0: a lead of 0.69 is odds of two to one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jurybox.stats.means import CONFIDENCE
from jurybox.types import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Half a win each way, added to every pair that met. The likelihood of a system that never lost grows without end; with
# this its strength is finite, and at 50 meetings a pair it moves an ordinary strength by about a fiftieth towards 0.
PRIOR = 0.5
RESAMPLES = 1000
SEED = 0
_STEPS = 50
# Ford (1957): a strength is finite only if, however the systems are split in two, each side won against the other.
ONE_SIDED = (
    "no interval: some systems never lost to some others, so the distance between them is what the half win allows"
)
# Meeting of one source: (winner, loser, share of the win); a tie is given as (i, j, 0.5) alone.
Result = tuple[int, int, float]


def log_strengths(wins: NDArray[np.float64], prior: float = PRIOR) -> NDArray[np.float64]:
    """Log-strengths with mean 0 of one win matrix, or of a stack of them (..., k, k).

    `wins[i, j]` is how often i beat j. Newton's method on the concave log-likelihood; the step along the direction that
    the likelihood does not know (adding the same to all) is held at 0. Every system must be connected to every other by
    meetings, and without a prior none may be unbeaten.
    """
    import numpy as np

    wins = np.asarray(wins, dtype=np.float64)
    wins = wins + prior * ((wins + wins.swapaxes(-1, -2)) > 0)
    games = wins + wins.swapaxes(-1, -2)
    strengths = np.zeros(wins.shape[:-1])
    size = wins.shape[-1]
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(strengths[..., None, :] - strengths[..., :, None]))
        slope = (wins - games * chance).sum(-1)
        weight = games * chance * (1 - chance)
        curvature = np.eye(size) * weight.sum(-1)[..., None] - weight + 1 / size
        step = np.linalg.solve(curvature, slope[..., None])[..., 0]
        # Far from the top a full step may overshoot; near it none is this long.
        strengths = strengths + np.clip(step, -1, 1)
        if np.abs(step).max(initial=0) < 1e-10:
            break
    centred: NDArray[np.float64] = strengths - strengths.mean(-1, keepdims=True)
    return centred


def ranking(
    systems: Sequence[str],
    results: Sequence[Sequence[Result]],
    unscored: Mapping[str, int],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[tuple[str, Estimate]]:
    """Systems from the strongest down, each log-strength with an interval.

    `results` has one entry a source: its meetings. A source is drawn with all its meetings, because its summaries
    share what makes it easy or hard.
    """
    import numpy as np

    met = [source for source in results if source]
    matrices = _matrices(len(systems), met)
    total = matrices.sum(0)
    if not met or not _reached(total + total.T).all():
        why = "undefined: no chain of meetings connects all systems"
        return [(system, Estimate(None, None, None, len(met), unscored.get(system, 0), why)) for system in systems]
    ends: Any = np.full((2, len(systems)), None)
    if len(met) == 1:
        how = "no interval from one source"
    elif not (_reached(total) & _reached(total.T)).all():
        how = ONE_SIDED
    else:
        ends = _interval(matrices, total, resamples, seed)
        how = f"95 % percentile bootstrap over {len(met)} sources, {resamples} resamples"
    method = f"Bradley-Terry log strength, mean 0, half a win added each way; {how}"
    values = log_strengths(total).tolist()
    low, high = ends.tolist()
    estimates = [
        (system, Estimate(values[i], low[i], high[i], len(met), unscored.get(system, 0), method, seed))
        for i, system in enumerate(systems)
    ]
    return sorted(estimates, key=lambda entry: -(entry[1].value or 0.0))


def _matrices(size: int, met: Sequence[Sequence[Result]]) -> NDArray[np.float64]:
    """One win matrix a source."""
    import numpy as np

    matrices = np.zeros((len(met), size, size))
    for number, source in enumerate(met):
        for i, j, share in source:
            matrices[number, i, j] += share
            matrices[number, j, i] += 1 - share
    return matrices


def _interval(
    matrices: NDArray[np.float64], total: NDArray[np.float64], resamples: int, seed: int
) -> NDArray[np.float64]:
    import numpy as np

    sources, size, _ = matrices.shape
    # Sources with the same outcome are one kind: drawing kinds by their frequency is drawing sources.
    kinds, counts = np.unique(matrices.reshape(sources, -1), axis=0, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(sources, counts / sources, size=resamples)
    # A pair that met in the data may not meet in a draw; so little of a tie leaves it connected, by the half win alone.
    faint = 1e-6 * (total + total.T > 0)
    resampled = log_strengths((drawn @ kinds).reshape(resamples, size, size) + faint)
    tail = (1 - CONFIDENCE) / 2
    ends: NDArray[np.float64] = np.quantile(resampled, [tail, 1 - tail], axis=0)
    return ends


def _reached(beaten: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which systems a chain of wins leads to from the first."""
    import numpy as np

    reached: NDArray[np.bool_] = np.arange(len(beaten)) == 0
    for _ in beaten:
        reached |= (beaten[reached] > 0).any(0)
    return reached
