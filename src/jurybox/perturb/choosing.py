"""Which summaries of the data are good enough to be damaged: what is bad already shows nothing when it gets worse."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from statistics import fmean, median

from jurybox.types import SCALE, Item

# Systems by whose name a summary is taken to be good.
REFERENCES = frozenset({"reference", "references", "gold", "human"})


def choose(items: Sequence[Item], count: int, seed: int, targets: Mapping[str, int]) -> tuple[list[Item], str]:
    """Up to `count` good summaries in the order of the data, and in words which were taken to be good.

    Spread over sources: a second summary of one is taken only when every source has given one. Where people rated,
    the best of each source comes first. `targets` are the rubrics asked, each with its best score.
    """
    good, words = _good(items, targets)
    rng = random.Random(f"{seed}/choice")  # noqa: S311 - a draw, not a secret
    sources: dict[str, list[Item]] = {}
    for item in rng.sample(good, len(good)):
        sources.setdefault(item.id, []).append(item)
    for members in sources.values():
        members.sort(key=lambda item: -(_rating(item, targets) or 0.0))
    taken = [item for turn in range(len(good)) for members in sources.values() for item in members[turn : turn + 1]]
    chosen = {item.key for item in taken[:count]}
    return [item for item in good if item.key in chosen], words


def _good(items: Sequence[Item], targets: Mapping[str, int]) -> tuple[Sequence[Item], str]:
    references = [item for item in items if item.system.lower() in REFERENCES]
    if len({item.id for item in references}) > 1:
        return references, "summaries by a system that is called a reference"
    ratings = [(item, rating) for item in items if (rating := _rating(item, targets)) is not None]
    if ratings:
        bar = median(rating for _, rating in ratings)
        better = [item for item, rating in ratings if rating >= bar]
        if len({item.id for item in better}) > 1:
            return better, f"the better half by people's ratings (mean {bar:.2f} or more)"
    return items, "any summaries: nothing says which are good (no ratings, no system called reference)"


def _rating(item: Item, targets: Mapping[str, int]) -> float | None:
    """The mean of people's ratings on the rubrics asked, or on any where those have none; more is better."""
    rated = {rubric: fmean(given.values()) for rubric, given in item.human.items() if given}
    asked = {rubric: score for rubric, score in rated.items() if rubric in targets} or rated
    if not asked:
        return None
    ends = SCALE[0] + SCALE[-1]
    return fmean(score if targets.get(name, SCALE[-1]) == SCALE[-1] else ends - score for name, score in asked.items())
