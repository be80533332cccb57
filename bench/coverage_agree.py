"""Do the intervals and tests of `agree` hold what they promise? Simulated studies, about a minute.

A study: systems differ in quality, summaries of one system too, people rate on 1-5 with noise, a judge follows quality
with an error of its own for each summary and a liking of its own for each system. Printed: how often each interval
holds the truth (the mean of many such studies), how often two equally good judges are told apart, and how often a
better one is found.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jurybox.stats.figures import OVERS, Draws
from jurybox.stats.levels import summary_level
from jurybox.stats.significance import perm_both

SOURCES, SYSTEMS, RATERS = 20, 13, 3


def study(rng: np.random.Generator, liking: float, errors: tuple[float, float]) -> tuple[Any, Any, Any]:
    """Two judges and the mean of people; `errors` are the judges' own for each summary."""
    quality = rng.normal(0, 1, SYSTEMS) + rng.normal(0, 0.7, (SOURCES, SYSTEMS))
    felt = quality[:, :, None] + rng.normal(0, 0.5, (SOURCES, 1, 1)) + rng.normal(0, 0.8, (SOURCES, SYSTEMS, RATERS))
    people = np.clip(np.round(3 + felt), 1, 5).mean(axis=2)
    first, second = (
        0.8 * quality + rng.normal(0, liking, SYSTEMS) + rng.normal(0, error, (SOURCES, SYSTEMS)) for error in errors
    )
    return first, second, people


def coverage(studies: int = 1000) -> None:
    rng = np.random.default_rng(0)
    few = Draws.of(SOURCES, SYSTEMS, 1)
    values = []
    for _ in range(studies):
        judge, _, people = study(rng, 0.5, (0.6, 0.6))
        values.append(summary_level(judge, people, "spearman", few).value)
    truth, held = float(np.mean(values)), dict.fromkeys(OVERS, 0)
    for seed in range(studies):
        judge, _, people = study(rng, 0.5, (0.6, 0.6))
        figure = summary_level(judge, people, "spearman", Draws.of(SOURCES, SYSTEMS, 400, seed))
        for over in OVERS:
            found = figure.estimate(over)
            assert found.low is not None
            assert found.high is not None
            held[over] += found.low <= truth <= found.high
    print(f"summary-level rho {truth:.3f}; 95 % intervals that hold it:", {k: n / studies for k, n in held.items()})


def told_apart(liking: float, errors: tuple[float, float], studies: int = 200) -> None:
    rng, tested, both = np.random.default_rng(1), 0, 0
    for seed in range(studies):
        first, second, people = study(rng, liking, errors)
        ahead = perm_both(first, second, people, permutations=300, seed=seed).ahead
        draws = Draws.of(SOURCES, SYSTEMS, 400, seed)
        figures = [summary_level(judge, people, "spearman", draws) for judge in (first, second)]
        low = figures[0].minus(figures[1], "difference").estimate().low
        tested += ahead
        both += ahead and low is not None and low > 0
    print(f"liking {liking}, errors {errors}: PERM-BOTH {tested / studies:.3f}, and the interval {both / studies:.3f}")


if __name__ == "__main__":
    coverage()
    for liking in (0.0, 0.25, 0.5):
        told_apart(liking, (0.6, 0.6))
    for error in (1.0, 1.5, 2.5):
        told_apart(0.25, (0.3, error))
