"""Do the intervals of the bias section of `agree` hold the truth? Simulated studies, some 80 s of CPU.

    python bench/coverage_bias.py [--studies 1000] [--json FILE]

A study: summaries differ in quality, better ones are longer, three raters see quality with noise on the scale 1-5. The
judge sees it too, with an error of its own, an impression that all its rubrics share, 0.15 points for every doubling of
length, and its own mood in every source. The truth of a figure is its value in a study of 20,000 sources; but that of
both figures about length is 0.15. Printed: how often each interval holds it, a figure without an interval counting as a
miss; for entropy and ICC in the row of 20 sources x 5 systems also how often percentiles of a bootstrap over sources do
(a fifth of the studies). Then shares alone, rare to common: a quarter of what decides whether a score is at the top
step is its source's, and people give it half as often. Exits with 1 when one of ours leaves 92-98 %; what is known to
leave it (`verbosity`, by the noise of raters) is printed and does not count.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jurybox.stats import (
    halo,
    leniency,
    score_entropy,
    self_preference,
    self_preference_given_human,
    stability,
    top_share,
    verbosity,
    verbosity_without_noise,
)
from jurybox.types import Estimate

Floats = NDArray[np.float64]
DOUBLING, RUBRICS, RATERS, SAMPLES = 0.15, 3, 3, 5
LEAST, MOST, TRUTH_SOURCES = 0.92, 0.98, 20_000
ROWS = ((10, 5, 0.7), (20, 5, 0.7), (20, 13, 0.7), (50, 6, 0.7), (20, 13, 0.3))
BOOTSTRAPPED, RESAMPLES = ROWS[1], 200
SHARES, SHARE_ROWS, TIED = (0.05, 0.1, 0.3, 0.5, 0.9), ((10, 5), (10, 13), (20, 5), (20, 13), (50, 5), (50, 13)), 0.25


class Study:
    """Tables of sources x systems; everything a source has can be drawn again."""

    def __init__(self, rng: np.random.Generator, sources: int, systems: int, noise: float) -> None:
        shape = (sources, systems)
        quality = rng.normal(0, 0.7, shape) + rng.normal(0, 0.4, (sources, 1))
        doublings = 0.6 * quality + rng.normal(0, 0.5, shape)
        liking = DOUBLING + rng.normal(0, 0.05, (sources, 1))
        impression = rng.normal(0, 0.3, shape) + rng.normal(0, 0.3, (sources, 1)) + liking * doublings
        self.words = np.exp2(6 + doublings)
        self.ratings = [quality[:, :, None] + 3 + rng.normal(0, noise, (*shape, RATERS)) for _ in range(RUBRICS)]
        self.scores = [3.3 + quality + impression + rng.normal(0, 0.3, shape) for _ in range(RUBRICS)]
        self.samples = self.scores[0][:, :, None] + rng.normal(0, 0.5, (*shape, SAMPLES))

    def drawn(self, rows: NDArray[np.intp]) -> Study:
        found = object.__new__(Study)
        found.words, found.samples = self.words[rows], self.samples[rows]
        found.ratings, found.scores = [one[rows] for one in self.ratings], [one[rows] for one in self.scores]
        return found


def clustering(study: Study) -> dict[str, Estimate]:
    """People give whole steps, and the judge keeps to the scale."""
    shown, steps = np.clip(study.scores[0], 1, 5), np.clip(np.round(study.ratings[0]), 1, 5)
    top, entropy = top_share(shown, steps), score_entropy(shown, steps)
    return {
        "top judge": top.judge,
        "top people": top.human,
        "top difference": top.difference,
        "entropy judge": entropy.judge,
        "entropy people": entropy.human,
        "entropy difference": entropy.difference,
    }


def repeats(study: Study) -> dict[str, Estimate]:
    sources, systems, samples = study.samples.shape
    found = stability(study.samples.reshape(-1, samples), np.repeat(np.arange(sources), systems).tolist())
    return {"ICC(1,1)": found.single, "ICC(1,k)": found.mean}


def points(study: Study) -> dict[str, Estimate]:
    """Of what people felt rather than of whole steps, so that the truth is known."""
    scores, ratings, words = study.scores[0], study.ratings[0], study.words
    people = ratings.mean(axis=2)
    own = [number % 2 == 0 for number in range(scores.shape[1])]
    return {
        "leniency": leniency(scores, people),
        "verbosity": verbosity(scores, people, words),
        "verbosity_without_noise": verbosity_without_noise(scores, ratings, words),
        "self-preference": self_preference(scores, people, own),
        "self-preference given human": self_preference_given_human(scores, people, own),
    }


def figures(study: Study) -> dict[str, Estimate]:
    rubrics = halo(study.scores, [one.mean(axis=2) for one in study.ratings])
    sides = {"halo judge": rubrics.judge, "halo people": rubrics.human, "halo difference": rubrics.difference}
    return points(study) | clustering(study) | sides | repeats(study)


def holds(found: Estimate, truth: float) -> bool:
    return found.low is not None and found.high is not None and found.low <= truth <= found.high


def bootstrapped(study: Study, rng: np.random.Generator, truth: Mapping[str, float]) -> dict[str, bool]:
    """Whether percentiles of sources drawn anew hold the truth."""
    sources = len(study.words)
    drawn = [study.drawn(rng.integers(0, sources, sources)) for _ in range(RESAMPLES)]
    values = {
        "entropy judge": [clustering(one)["entropy judge"].value for one in drawn],
        "ICC(1,1)": [repeats(one)["ICC(1,1)"].value for one in drawn],
    }
    found = {}
    for name, given in values.items():
        low, high = np.quantile([value for value in given if value is not None], [0.025, 0.975])
        found[name] = bool(low <= truth[name] <= high)
    return found


def row(sources: int, systems: int, noise: float, studies: int) -> dict[str, Any]:
    rng = np.random.default_rng((sources, systems, int(100 * noise)))
    large = figures(Study(rng, TRUTH_SOURCES, systems, noise))
    truth = {name: float(found.value or 0.0) for name, found in large.items()}
    truth |= {"verbosity": DOUBLING, "verbosity_without_noise": DOUBLING}
    kept = [Study(rng, sources, systems, noise) for _ in range(studies)]
    held = [{name: holds(found, truth[name]) for name, found in figures(one).items()} for one in kept]
    some = kept[: studies // 5] if (sources, systems, noise) == BOOTSTRAPPED else []
    again = [bootstrapped(one, rng, truth) for one in some]
    return {
        "sources": sources,
        "systems": systems,
        "noise": noise,
        "truth": truth,
        "verbosity of this judge": large["verbosity"].value,
        "held": {name: float(np.mean([one[name] for one in held])) for name in truth},
        "bootstrap": {name: float(np.mean([one[name] for one in again])) for name in again[0]} if again else {},
    }


def tops(rng: np.random.Generator, sources: int, systems: int, share: float) -> tuple[Floats, Floats]:
    """Scores and ratings of 3 and 5; the judge gives 5 with this share, a rater with half of it."""
    shape = (sources, systems)
    quality = rng.normal(0, np.sqrt(TIED), (sources, 1)) + rng.normal(0, np.sqrt(0.6 * (1 - TIED)), shape)
    noise = np.sqrt(0.4 * (1 - TIED))
    judge, people = quality + rng.normal(0, noise, shape), quality[:, :, None] + rng.normal(0, noise, (*shape, RATERS))
    cuts = [NormalDist().inv_cdf(1 - part) for part in (share, share / 2)]
    return np.where(judge > cuts[0], 5.0, 3.0), np.where(people > cuts[1], 5.0, 3.0)


def print_shares(studies: int) -> tuple[list[dict[str, Any]], int]:
    rows, bad = [], 0
    print(f"\nshares of top scores: judge, people (half as large), difference; held in {studies} studies")
    for sources, systems in SHARE_ROWS:
        for share in SHARES:
            rng = np.random.default_rng((sources, systems, int(100 * share)))
            found = [top_share(*tops(rng, sources, systems, share)) for _ in range(studies)]
            held = [
                float(np.mean([holds(getattr(one, side), truth) for one in found]))
                for side, truth in (("judge", share), ("human", share / 2), ("difference", share / 2))
            ]
            outside = sum(not LEAST <= one <= MOST for one in held)
            bad += outside
            rows.append({"sources": sources, "systems": systems, "share": share, "held": held})
            told = "".join(f"{one:8.1%}" for one in held)
            print(
                f"  {sources:3} x {systems:2}, share {share:4.0%}:{told}{'  <- outside' if outside else ''}", flush=True
            )
    return rows, bad


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows, bad = [], 0
    for sources, systems, noise in ROWS:
        found = row(sources, systems, noise, options.studies)
        rows.append(found)
        print(f"\n{sources} sources x {systems} systems, raters' noise {noise:g}")
        for name, share in found["held"].items():
            outside = not LEAST <= share <= MOST and name != "verbosity"
            bad += outside
            also = f"  bootstrap {found['bootstrap'][name]:6.1%}" if name in found["bootstrap"] else ""
            wrong = f"  estimates {found['verbosity of this judge']:.2f}" if name == "verbosity" else ""
            print(f"  {name:28} truth {found['truth'][name]:5.2f}  held {share:6.1%}{also}{wrong}", end="")
            print("  <- outside" if outside else "", flush=True)
    shares, more = print_shares(options.studies)
    bad += more
    print(f"\n{bad} outside {LEAST:.0%}-{MOST:.0%}")
    if options.json:
        options.json.write_text(json.dumps({"figures": rows, "shares": shares}, indent=1), "utf-8")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
