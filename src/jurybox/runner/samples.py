"""`--samples auto`: whether an item has been asked often enough."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jurybox.runner.job import Until
from jurybox.types import Status


def enough(samples: Sequence[Sequence[tuple[Status, float | None]]], rule: Until) -> bool:
    """Whether the mean of every rubric asked is known well enough. `samples` has one row a sample, one end a rubric.

    Unscored samples say nothing about the spread, so they do not count towards the least number; the most number ends
    it all the same.
    """
    if not samples:
        return False
    return all(_known(scores, rule) for scores in zip(*samples, strict=True))


def _known(ends: Sequence[tuple[Status, float | None]], rule: Until) -> bool:
    scores = [score for _, score in ends if score is not None]
    if len(scores) < rule.least:
        return False
    mean = math.fsum(scores) / len(scores)
    variance = math.fsum((score - mean) ** 2 for score in scores) / (len(scores) - 1)
    return math.sqrt(variance / len(scores)) <= rule.target
