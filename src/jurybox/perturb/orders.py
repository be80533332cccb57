"""The same entries in another order: reviews, answers, specifications shuffled, or one review moved to a place.

No entry is changed, added or lost. Entries that speak of each other ("the answer above", "disagree about") stay as they
are: in another order they might be read in another way.
"""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import Any, Literal, get_args

from jurybox.fields import entries
from jurybox.perturb.change import Change, Made, Maker, Place
from jurybox.types import Item

Position = Literal["first", "middle", "last"]
POSITIONS: tuple[Position, ...] = get_args(Position)
_NEIGHBOUR = re.compile(
    r"\b(?:(?:as|said|see|mentioned|posted) (?:above|below)"
    r"|(?:above|below|previous|earlier|last|other) (?:answer|review|comment|post|poster|reviewer)s?"
    r"|(?:dis)?agree (?:with|about))\b",
    re.IGNORECASE,
)


def shuffled(field: str) -> Maker:
    """A maker that gives the entries of a list field another order."""

    def make(place: Place) -> Made:
        found = _movable(place.item, field)
        if found is None:
            return None
        order = list(found)
        while order == list(found):
            place.rng.shuffle(order)
        return {field: tuple(order)}

    return make


def moved_review(item: Item, index: int, to: Position) -> Change | None:
    """The item with its review number `index` in that place and all others in their order.

    A review that stands there already gives a change of nothing, so that all three places can be compared. None for an
    item with fewer than three reviews, or whose reviews speak of each other.
    """
    reviews = _movable(item, "reviews", least=3)
    if reviews is None:
        return None
    if not 0 <= index < len(reviews):
        raise ValueError(f"there is no review {index}: the item has {len(reviews)}, counted from 0")
    others = [*reviews[:index], *reviews[index + 1 :]]
    at = {"first": 0, "middle": len(others) // 2, "last": len(others)}[to]
    order = (*others[:at], reviews[index], *others[at:])
    changed = ("reviews",) if order != reviews else ()
    return Change(f"review_{to}", 1, replace(item, source={**item.source, "reviews": order}), (), changed)


def placed_review(item: Item, *, seed: int = 0) -> dict[Position, Change] | None:
    """One review, chosen by the seed, in the first, the middle and the last place; None as for `moved_review`."""
    reviews = _movable(item, "reviews", least=3)
    if reviews is None:
        return None
    rng = random.Random(f"{seed}/position/{item.id}/{item.system}")  # noqa: S311 - a draw, not a secret
    index = rng.randrange(len(reviews))
    found = {to: moved_review(item, index, to) for to in POSITIONS}
    return {to: change for to, change in found.items() if change is not None}


def _movable(item: Item, field: str, least: int = 2) -> tuple[Any, ...] | None:
    """The entries of a field where another order is another text and means the same."""
    found = tuple(item.source.get(field) or ())
    if len(found) < least or all(entry == found[0] for entry in found):
        return None
    return None if any(_NEIGHBOUR.search(text) for text in entries(found)) else found
