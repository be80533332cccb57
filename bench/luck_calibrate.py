"""How often luck alone has a calibration called better: judges for which doing nothing is the best map.

People say what the judge says, with noise by source and by item. Every `better` here is false; an interval of 95 %
allows one study in forty.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

from jurybox.stats.calibrate import Worth, check_calibration

SHAPES = ((5, 2), (10, 1), (12, 2), (18, 13), (40, 1))


def studies(count: int, sources: int, items: int, rng: np.random.Generator) -> Counter[Worth]:
    found: Counter[Worth] = Counter()
    source = np.repeat(np.arange(sources), items)
    for _ in range(count):
        shared = rng.normal(0, 0.3, sources)
        judge = rng.uniform(2, 4, len(source))
        people = np.clip(judge + shared[source] + rng.normal(0, 0.5, len(source)), 1, 5)
        found[check_calibration(judge, people, list(source), "best", resamples=200).worth] += 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    print(f"{'sources':>8}{'items':>7}{'better':>8}{'unclear':>9}{'no better':>11}   of {options.studies}")
    for sources, items in SHAPES:
        found = studies(options.studies, sources, items, rng)
        print(f"{sources:>8}{items:>7}{found['better']:>8}{found['unclear']:>9}{found['no better']:>11}")


if __name__ == "__main__":
    main()
