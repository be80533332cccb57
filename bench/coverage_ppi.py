"""Do the intervals of `jurybox estimate` cover the truth, and what do they gain on people alone? 1,000 studies a row.

    python bench/coverage_ppi.py [--studies 1000] [--json FILE]

A study draws items on the scale 1-5, three raters each, and a judge that follows the truth with correlation r, half a
point too harsh; labels are a random sample. `items a source` above 1 lets the items of a source share a part of their
truth and of the judge's error, and draws labels by item, so that sources are partly labelled. Printed: how often PPI++
and people alone cover the true mean, and the mean width of PPI++ over that of people alone, in the mean and at worst.
Exits with 1 when a coverage leaves 92-98 % or PPI++ is more than 5 % wider.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jurybox.stats import Powered, ppi_means
from jurybox.types import SCALE, Estimate

ENDS = (float(SCALE[0]), float(SCALE[-1]))
COVERED, WIDER = (0.92, 0.98), 1.05
Draw = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of study."""

    labels: int
    others: int
    r: float
    items_a_source: int
    covered: float
    covered_by_people: float
    width: float
    worst_width: float

    @property
    def good(self) -> bool:
        return COVERED[0] <= self.covered <= COVERED[1] and self.worst_width <= WIDER


def drawn(rng: np.random.Generator, items: int, r: float, each: int) -> Draw:
    """People's means, the judge's scores, and sources of items in random order."""
    sources = -(-items // each)
    source_of = np.repeat(np.arange(sources), each)[:items]
    share = 0.0 if each == 1 else 0.5

    def normal() -> NDArray[np.float64]:
        common = rng.normal(size=sources)[source_of]
        return np.asarray(math.sqrt(share) * common + math.sqrt(1 - share) * rng.normal(size=items))

    truth = normal()
    seen = r * truth + math.sqrt(1 - r * r) * normal()
    people = np.clip(np.round(3.6 + 0.9 * truth[:, None] + rng.normal(0, 0.7, (items, 3))), *ENDS).mean(axis=1)
    judge = np.clip(np.round(3.1 + 0.9 * seen), *ENDS)
    order = rng.permutation(items)
    return people[order], judge[order], source_of[order]


def study(rng: np.random.Generator, labels: int, others: int, r: float, each: int) -> Powered:
    people, judge, source_of = drawn(rng, labels + others, r, each)
    groups = [int(source) for source in source_of]
    return ppi_means(people[:labels], judge[:labels], judge[labels:], groups[:labels], groups[labels:], ends=ENDS)


def covers(found: Estimate, truth: float) -> bool:
    return found.low is not None and found.high is not None and found.low <= truth <= found.high


def width(found: Estimate) -> float:
    assert found.low is not None
    assert found.high is not None
    return found.high - found.low


def row(labels: int, others: int, r: float, each: int, studies: int, truth: float) -> Row:
    rng = np.random.default_rng((labels, others, int(100 * r), each))
    found = [study(rng, labels, others, r, each) for _ in range(studies)]
    ratios = [width(one.ppi) / width(one.human) for one in found]
    return Row(
        labels,
        others,
        r,
        each,
        sum(covers(one.ppi, truth) for one in found) / studies,
        sum(covers(one.human, truth) for one in found) / studies,
        sum(width(one.ppi) for one in found) / sum(width(one.human) for one in found),
        max(ratios),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    truth = float(drawn(np.random.default_rng(0), 4_000_000, 0.5, 1)[0].mean())
    rows = []
    print("labels others    r items/source  PPI++ covers  people cover  width  worst")
    for labels, others, r, each in product((5, 8, 12, 20, 50), (50, 300), (0.0, 0.5, 0.8, 0.95), (1, 3)):
        found = row(labels, others, r, each, options.studies, truth)
        rows.append(found)
        print(
            f"{labels:6} {others:6} {r:4.2f} {each:12}  {found.covered:12.1%}  {found.covered_by_people:12.1%}  "
            f"{found.width:5.2f}  {found.worst_width:5.2f}{'' if found.good else '  <- outside'}",
            flush=True,
        )
    bad = sum(not found.good for found in rows)
    covered = [found.covered for found in rows]
    print(f"coverage {min(covered):.1%} to {max(covered):.1%}; {bad} of {len(rows)} rows outside")
    if options.json:
        options.json.write_text(json.dumps([asdict(found) for found in rows], indent=1), "utf-8")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
