"""Which items to label next, how many, and whether those that are labelled look like a random sample.

The variance of PPI++ as labels grow is that of Angelopoulos, Duchi & Zrnic (arXiv 2311.01453, 2023) with the best
lambda put in.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jurybox.stats.bootstrap import SEED, numbered
from jurybox.stats.means import CONFIDENCE, t_quantile
from jurybox.stats.ppi import Powered, Spread
from jurybox.types import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

# A warning for every twentieth honest sample would soon be read by nobody.
ALARM = 0.99


@dataclass(frozen=True, slots=True)
class Needed:
    """Labels that bring an interval to a share of its width. `labels` is None where all items of the run would not do:
    then `beyond` says how many labelled items more there would have to be. `expected` is the half width to hope for
    after `labels`, or after labelling everything."""

    labels: int | None
    available: int
    half_width: float
    expected: float
    beyond: int = 0

    def as_dict(self) -> dict[str, Any]:
        return {
            "labels": self.labels,
            "available": self.available,
            "half_width": self.half_width,
            "expected_half_width": self.expected,
            "beyond": self.beyond,
        }


def labels_needed(found: Powered, available: int, share: float = 0.5) -> Needed | None:
    """How many more labels bring the interval of `found` to a share of its width; None where it has no interval.

    With n of T items labelled and lambda at its best, the variance is s^2 ((1 - r^2) / n + r^2 / T): the judge pays for
    all but what it does not explain. Degrees of freedom grow with n too. r is taken as it is now. Where all labels are
    the same, the exact interval narrows with the share of items that could still differ (`bounded_mean`).
    """
    estimate = found.ppi
    if found.spread is None or estimate.low is None or estimate.high is None:
        return None
    now, n = (estimate.high - estimate.low) / 2, estimate.n
    total = n + available
    start = _predicted(found.spread, n, total)
    spread = found.spread
    labels = bisect_left(range(n, total + 1), True, key=lambda size: _predicted(spread, size, total) <= share * start)
    expected = now * _predicted(spread, min(n + labels, total), total) / start
    if labels <= available:
        return Needed(labels, available, now, expected)
    beyond = 1
    while _predicted(spread, total + beyond, total + beyond) > share * start:
        beyond += 1
    return Needed(None, available, now, expected, beyond)


def expected_half_width(found: Powered, available: int, labels: int) -> float | None:
    """The half width to hope for after so many labels more."""
    estimate = found.ppi
    if found.spread is None or estimate.low is None or estimate.high is None:
        return None
    total = estimate.n + available
    change = _predicted(found.spread, estimate.n + labels, total) / _predicted(found.spread, estimate.n, total)
    return (estimate.high - estimate.low) / 2 * change


def _predicted(spread: Spread, n: int, total: int) -> float:
    """What a half width is proportional to."""
    if spread.variance < 1e-12:
        return 1 - float(((1 - CONFIDENCE) / 2) ** (1 / n))
    variance = spread.variance * ((1 - spread.explained) / n + spread.explained / total)
    spent = 2 if spread.explained else 1
    return t_quantile(max(n - spent, 1), (1 + CONFIDENCE) / 2) * math.sqrt(variance)


def random_order(sources: Iterable[str], seed: int = SEED) -> list[str]:
    """The sources in an order that depends on nothing but their names and the seed.

    Any beginning of it is a simple random sample, which is what PPI++ asks of labels.
    """
    import numpy as np

    names = sorted(set(sources))
    return [names[number] for number in np.random.default_rng(seed).permutation(len(names))]


@dataclass(frozen=True, slots=True)
class Shift:
    """How far the judge scores labelled items above the others of the same system; `unlike` when that is no luck."""

    difference: Estimate
    unlike: bool

    def as_dict(self) -> dict[str, Any]:
        return {"difference": self.difference.as_dict(), "unlike": self.unlike}


def labelled_shift(
    judge: ArrayLike, labelled: Sequence[bool], systems: Sequence[Hashable], groups: Sequence[Hashable]
) -> Shift:
    """Do labelled items look like the rest to the judge? The difference within systems, and whether it is no luck.

    A regression of the judge's scores on being labelled with a constant for each system, and Liang & Zeger's (1986)
    variance by source, with t. `unlike` is two-sided at 1 %. Random labelling gives 0 whatever the judge is worth; 0
    does not prove random labelling.
    """
    import numpy as np

    scores = np.asarray(judge, dtype=np.float64)
    kept = ~np.isnan(scores)
    f, z = scores[kept], np.asarray(labelled, dtype=np.float64)[kept]
    n, lost = len(f), int((~kept).sum())
    system_of, _ = numbered([system for system, has in zip(systems, kept, strict=True) if has])
    source_of, sources = numbered([group for group, has in zip(groups, kept, strict=True) if has])
    ours = len(np.unique(source_of[z > 0]))
    theirs = len(np.unique(source_of[z == 0]))
    f, z = _within(f, system_of), _within(z, system_of)
    weight = float(z @ z)
    if min(ours, theirs) < 2 or weight < 1e-9:
        why = "undefined: fewer than 2 labelled or 2 unlabelled sources to compare within a system"
        return Shift(Estimate(None, None, None, n, lost, why), False)
    difference = float(z @ f) / weight
    parts = np.bincount(source_of, z * (f - difference * z), minlength=sources) / weight
    error = math.sqrt(float(parts @ parts) * sources / (sources - 1))
    degrees = min(ours, theirs) - 1
    half_width = t_quantile(degrees, (1 + CONFIDENCE) / 2) * error
    method = "judge's mean on labelled less unlabelled items, within systems; 95 % t interval over sources"
    return Shift(
        Estimate(difference, difference - half_width, difference + half_width, n, lost, method),
        abs(difference) > t_quantile(degrees, (1 + ALARM) / 2) * error + 1e-9,
    )


def _within(values: NDArray[np.float64], system_of: NDArray[np.intp]) -> NDArray[np.float64]:
    """Values less their system's mean."""
    import numpy as np

    means = np.bincount(system_of, values) / np.bincount(system_of)
    return np.asarray(values - means[system_of])
