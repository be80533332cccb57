"""A simple random sample of the entries that is the same for every system judged on one source."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from jurybox.material.room import LONG_FIELDS, Count, DoesNotFit, estimate_tokens, overflow
from jurybox.material.shown import WHOLE, Part, Shown
from jurybox.types import Item

# The normal quantile of a two-sided 95 % interval.
_Z = 1.96


def sample(
    item: Item, fields: Sequence[str], room: int, seed: int, count: Count = estimate_tokens
) -> tuple[Item, Shown]:
    """The item with as many entries of its long fields as fit, chosen at random, in their original order.

    `room` is the tokens for all `fields` together; the fields that are no list of voices are shown whole. The choice
    depends on seed, item id and field alone, and a smaller room gets a part of what a larger one gets.
    """
    too_much = overflow(item, fields, room, count)
    if too_much is None:
        return item, WHOLE
    chosen: dict[str, Any] = {}
    parts: dict[str, Part] = {}
    for field, allowed in too_much.shares().items():
        costs = too_much.costs[field]
        if sum(costs) > allowed:
            indices = _drawn(costs, allowed, f"{seed}\0{item.id}\0{field}", field)
            chosen[field] = tuple(item.source[field][index] for index in indices)
            parts[field] = Part("sample", indices, len(costs), sampling_error(len(indices), len(costs)), seed)
    note = " ".join(_note(field, part) for field, part in parts.items())
    return replace(item, source={**item.source, **chosen}), Shown("sample", parts, note)


def sampling_error(shown: int, of: int) -> float:
    """Half the width of the 95 % interval of a share of one half, for `shown` drawn from `of` without replacement.

    The normal approximation with finite population correction (Cochran 1977, Sampling Techniques, 3rd ed., ch. 3).
    """
    if shown >= of:
        return 0.0
    return _Z * math.sqrt(0.25 / shown * (of - shown) / (of - 1))


def _drawn(costs: Sequence[int], room: int, seed: str, field: str) -> tuple[int, ...]:
    """Entries in random order until one does not fit.

    Going on to shorter ones would fill the room better, and would prefer short reviews to long ones.
    """
    import random

    rng = random.Random(seed)  # noqa: S311 (nothing secret)
    # Of `random`, Python promises only that `random()` gives the same numbers in every version.
    keys = [rng.random() for _ in costs]
    order = sorted(range(len(costs)), key=keys.__getitem__)
    fitting = sum(total <= room for total in accumulate(costs[index] for index in order))
    if not fitting:
        raise DoesNotFit(f"the first entry drawn from {field}", costs[order[0]], room)
    return tuple(sorted(order[:fitting]))


def _note(field: str, part: Part) -> str:
    assert part.error is not None, "a sample has an error"
    many = LONG_FIELDS[field][1]
    return (
        f"Of {part.of:,} {many} you see a random sample of {len(part.shown):,}; the others are not shown. "
        f"A share counted among those you see can differ from the share among all by about "
        f"{100 * part.error:.0f} percentage points."
    )
