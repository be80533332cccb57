"""What a change to an item is: which places of its summary or which fields of its source, and nothing else.

A kind of change is one function that looks at a `Place` and says what it would put there, and one line in a table
(`Kind`). It never builds the new text itself: `apply` does, from the edits, so what no edit names stays as it was to
the byte. A function that finds no honest place returns None, and nothing is changed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jurybox.types import Item


@dataclass(frozen=True, slots=True)
class Edit:
    """In the summary, the characters from `start` to `end` become `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Place:
    """What a kind of change is given: an item, how much is asked, chance, and the other items of the data."""

    item: Item
    dose: int
    rng: random.Random
    others: Sequence[Item] = ()

    @property
    def text(self) -> str:
        return self.item.summary


# Edits of the summary, or new values of source fields, or nothing.
Made = Sequence[Edit] | Mapping[str, Any] | None
Maker = Callable[[Place], Made]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of change: how it is made, in words what it does, which rubrics it must hurt and must leave alone.

    A rubric in neither list may move or not: nothing is claimed. `doses` are how many times over it can be done.
    """

    name: str
    make: Maker
    about: str
    hurts: tuple[str, ...] = ()
    spares: tuple[str, ...] = ()
    doses: tuple[int, ...] = (1,)


@dataclass(frozen=True, slots=True)
class Change:
    """A changed item and exactly what was changed: edits of the summary, and names of source fields."""

    kind: str
    dose: int
    item: Item
    edits: tuple[Edit, ...] = ()
    fields: tuple[str, ...] = ()


def apply(kind: Kind, item: Item, *, dose: int = 1, seed: int = 0, others: Sequence[Item] = ()) -> Change | None:
    """The item changed, the same for the same seed; None where its text gives no honest place for it."""
    if dose not in kind.doses:
        raise ValueError(f"{kind.name} has doses {', '.join(map(str, kind.doses))}, and no {dose}")
    rng = random.Random(f"{seed}/{kind.name}/{item.id}/{item.system}")  # noqa: S311 - a draw, not a secret
    made = kind.make(Place(item, dose, rng, others))
    if not made:
        return None
    if isinstance(made, Mapping):
        changed = {name: value for name, value in made.items() if item.source.get(name) != value}
        if not changed:
            return None
        return Change(kind.name, dose, replace(item, source={**item.source, **changed}), (), tuple(changed))
    edits = tuple(sorted(made, key=lambda edit: (edit.start, edit.end)))
    summary = edited(item.summary, edits)
    if summary == item.summary or not summary.strip():
        return None
    return Change(kind.name, dose, replace(item, summary=summary), edits)


def edited(text: str, edits: Sequence[Edit]) -> str:
    """The text with every edit made; edits stand in order and do not overlap."""
    parts: list[str] = []
    at = 0
    for edit in edits:
        if edit.start < at or edit.end < edit.start or edit.end > len(text):
            raise ValueError(f"edits overlap or leave the text: {edit}")
        parts += (text[at : edit.start], edit.text)
        at = edit.end
    return "".join((*parts, text[at:]))
