"""Do the intervals and tests of `agree` hold what they promise? Simulated studies, some ten minutes of CPU.

    python bench/coverage_agree.py [--studies 1000] [--json FILE]

A study: systems differ in quality, summaries of one system too, people rate on 1-5 with noise, a judge follows quality
with an error of its own for each summary, larger in some sources than in others, and a liking of its own for each
system. Each interval is asked its own question: over sources, systems stay the same from study to study (20 sets of
them, each with its own truth) and sources are new; over systems, sources stay; over both, all are new. The truth is the
mean of such studies of the same size; `large` is the figure of very many sources or systems instead. Printed: how often
each interval holds the truth, and how often those that answer another question do. Then: how often two equally good
judges are told apart, and how often a better one is found. Exits with 1 when one leaves 92-98 % on its own question.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from jurybox.stats.correlation import Coefficient, correlate_rows
from jurybox.stats.figures import OVERS, Draws, Figure, Over
from jurybox.stats.levels import pooled, summary_level, system_level
from jurybox.stats.significance import perm_both, perm_systems

Floats = NDArray[np.float64]
Traits = tuple[Floats, Floats]
Truth = dict[str, float]
RATERS, SETS, RESAMPLES, MANY, LIKING = 3, 20, 400, 1500, 0.5
ROWS = ((10, 6), (20, 13), (50, 13))
LEVELS = {"summary": summary_level, "system": system_level, "pooled": pooled}
COEFFICIENTS: tuple[Coefficient, ...] = ("spearman", "kendall_b", "pearson")
LEAST, MOST = 0.92, 0.98


def sources_of(rng: np.random.Generator, count: int) -> Traits:
    """How easy each is for people's scale, and how far the judge errs on it."""
    return rng.normal(0, 0.5, count), 0.6 * np.exp(0.3 * rng.normal(size=count))


def systems_of(rng: np.random.Generator, count: int, liking: float = LIKING) -> Traits:
    """How good each is, and how much the judge likes it beyond that."""
    return rng.normal(0, 1, count), rng.normal(0, liking, count)


def judged(rng: np.random.Generator, sources: Traits, systems: Traits) -> tuple[Floats, Floats]:
    """A judge's scores, and the mean of people."""
    shape = len(sources[0]), len(systems[0])
    quality = systems[0] + rng.normal(0, 0.7, shape)
    felt = quality[:, :, None] + sources[0][:, None, None] + rng.normal(0, 0.8, (*shape, RATERS))
    people = np.clip(np.round(3 + felt), 1, 5).mean(axis=2)
    return 0.8 * quality + systems[1] + rng.normal(size=shape) * sources[1][:, None], people


def figures(judge: Floats, people: Floats, draws: Draws) -> dict[str, Figure]:
    return {
        f"{level} {coefficient}": figure(judge, people, coefficient, draws)
        for level, figure in LEVELS.items()
        for coefficient in COEFFICIENTS
    }


def large(judge: Floats, people: Floats) -> Truth:
    """The figures of a large table, by scipy; of many short rows by our own, which scipy takes half an hour for."""
    found = {}
    for name in COEFFICIENTS:
        by = {"spearman": stats.spearmanr, "kendall_b": stats.kendalltau, "pearson": stats.pearsonr}[name]
        wide = judge.shape[1] >= MANY
        rows = [by(*pair).statistic for pair in zip(judge, people, strict=True)] if wide else None
        found[f"summary {name}"] = float(np.nanmean(correlate_rows(judge, people, name) if rows is None else rows))
        found[f"system {name}"] = float(by(judge.mean(axis=0), people.mean(axis=0)).statistic)
        found[f"pooled {name}"] = float(by(judge.ravel(), people.ravel()).statistic)
    return found


class Question:
    """Studies in which what is not drawn stays the same."""

    def __init__(self, rng: np.random.Generator, over: Over, sources: int, systems: int) -> None:
        self.rng, self.over, self.size = rng, over, (sources, systems)
        self.sources, self.systems = sources_of(rng, sources), systems_of(rng, systems)

    def study(self, sources: int | None = None, systems: int | None = None) -> tuple[Floats, Floats]:
        drawn = {"sources": self.sources, "systems": self.systems}
        if self.over != "systems":
            drawn["sources"] = sources_of(self.rng, sources or self.size[0])
        if self.over != "sources":
            drawn["systems"] = systems_of(self.rng, systems or self.size[1])
        return judged(self.rng, drawn["sources"], drawn["systems"])

    def truths(self, extra: int) -> tuple[Truth, Truth]:
        few = Draws.of(*self.size, 1)
        found = [{name: one.value for name, one in figures(*self.study(), few).items()} for _ in range(extra)]
        mean = {name: float(np.nanmean([one[name] for one in found])) for name in found[0]}
        return mean, large(*self.study(MANY if self.over == "sources" else 100, MANY))


def holds(figure: Figure, over: Over, truth: float) -> bool | None:
    if over not in figure.resampled:
        return None
    found = figure.estimate(over)
    return found.low is not None and found.high is not None and found.low <= truth <= found.high


def coverage(over: Over, sources: int, systems: int, studies: int) -> dict[str, dict[str, float]]:
    """Figure -> which interval (`large` for its own one and the other truth) -> share of studies."""
    rng = np.random.default_rng((sources, systems, OVERS.index(over)))
    sets = 1 if over == "both" else min(SETS, studies)
    held: dict[str, dict[str, list[bool]]] = {}
    for _ in range(sets):
        question = Question(rng, over, sources, systems)
        mean, limit = question.truths(2000 // sets)
        for _ in range(studies // sets):
            draws = Draws.of(sources, systems, RESAMPLES, int(rng.integers(1 << 30)))
            for name, figure in figures(*question.study(), draws).items():
                answers: dict[str, bool | None] = {other: holds(figure, other, mean[name]) for other in OVERS}
                answers["large"] = holds(figure, over, limit[name])
                for which, answer in answers.items():
                    if answer is not None:
                        held.setdefault(name, {}).setdefault(which, []).append(answer)
    return {name: {which: float(np.mean(given)) for which, given in by.items()} for name, by in held.items()}


def print_coverage(studies: int) -> tuple[list[dict[str, Any]], int]:
    rows, bad = [], 0
    for sources, systems in ROWS:
        for over in OVERS:
            found = coverage(over, sources, systems, studies)
            rows.append({"sources": sources, "systems": systems, "question": over, "held": found})
            print(f"\n{sources} sources x {systems} systems; new in every study: {over}")
            print(f"{'':20}" + "".join(f"{name:>10}" for name in ("own", "large", *(f"({one})" for one in OVERS))))
            for name, by in found.items():
                outside = over in by and not LEAST <= by[over] <= MOST
                bad += outside
                shown = [by.get(over), by.get("large"), *(None if one == over else by.get(one) for one in OVERS)]
                told = "".join(f"{'-':>10}" if share is None else f"{share:10.1%}" for share in shown)
                print(f"{name:20}{told}{'  <- outside' if outside else ''}", flush=True)
    print(f"\n{bad} outside {LEAST:.0%}-{MOST:.0%} on their own question")
    return rows, bad


def told_apart(liking: float, errors: tuple[float, float], studies: int = 200) -> dict[str, float]:
    """How often the first judge is called better: by each test, by the interval, by PERM-BOTH and the interval, by all
    three. `errors` are the two judges' own."""
    rng = np.random.default_rng(1)
    sources, systems = ROWS[1]
    found: dict[str, list[bool]] = {}
    for seed in range(studies):
        quality = rng.normal(0, 1, systems) + rng.normal(0, 0.7, (sources, systems))
        felt = quality[:, :, None] + rng.normal(0, 0.5, (sources, 1, 1)) + rng.normal(0, 0.8, (*quality.shape, RATERS))
        people = np.clip(np.round(3 + felt), 1, 5).mean(axis=2)
        first, second = (
            0.8 * quality + rng.normal(0, liking, systems) + rng.normal(0, error, quality.shape) for error in errors
        )
        tests: dict[str, Callable[..., Any]] = {"PERM-BOTH": perm_both, "PERM-SYSTEMS": perm_systems}
        ahead = {name: test(first, second, people, permutations=300, seed=seed).ahead for name, test in tests.items()}
        draws = Draws.of(sources, systems, 400, seed)
        one, other = (summary_level(judge, people, "spearman", draws) for judge in (first, second))
        ahead["interval"] = (one.minus(other, "difference").estimate().low or 0.0) > 0
        ahead["PERM-BOTH and interval"] = ahead["PERM-BOTH"] and ahead["interval"]
        ahead["all"] = all(ahead.values())
        for name, yes in ahead.items():
            found.setdefault(name, []).append(yes)
    return {name: float(np.mean(given)) for name, given in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print("(a) equally good judges told apart at 5 %, (b) a better one found; 200 studies a row")
    tests = [(liking, (0.6, 0.6)) for liking in (0.0, 0.25, 0.5)] + [(0.25, (0.3, error)) for error in (1.0, 1.5, 2.5)]
    shares = {f"liking {liking}, errors {errors}": told_apart(liking, errors) for liking, errors in tests}
    for name, by in shares.items():
        print(f"{name}: " + ", ".join(f"{which} {share:.1%}" for which, share in by.items()), flush=True)
    rows, bad = print_coverage(options.studies)
    if options.json:
        options.json.write_text(json.dumps({"coverage": rows, "tests": shares}, indent=1), "utf-8")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
