"""Many tests at once: p-values that stay honest however many are looked at."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """p-values adjusted so that any false finding among all tests is as rare as one test alone would make it.

    Holm 1979, "A simple sequentially rejective multiple test procedure", as adjusted p-values: the k-th smallest of m
    times (m - k + 1), never below the one before it, at most 1. It needs no independence, and rubrics are not
    independent. A test that was not possible (None) is not among the m.
    """
    tested = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    least = 0.0
    for rank, (p, place) in enumerate(tested):
        least = max(least, min(p * (len(tested) - rank), 1.0))
        adjusted[place] = least
    return adjusted
