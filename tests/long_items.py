"""Items with more material than fits, and what it takes."""

from __future__ import annotations

from jurybox.fields import entries
from jurybox.material import estimate_tokens
from jurybox.rubrics import load
from jurybox.types import Item, Review, Rubric

FILLER = "We keep it in the kitchen next to the window since spring. My sister visited and the weather was grey. "
FIELDS = ("description", "reviews")


def reviews_of(texts: list[str], rating: float | None = None) -> tuple[Review, ...]:
    return tuple(Review(text, rating) for text in texts)


def many(count: int = 300, **source: object) -> Item:
    texts = [f"Number {number} says: " + "word " * (number % 23) for number in range(count)]
    return Item("p", "s", "A summary.", {"reviews": reviews_of(texts, 4), **source})


def tokens(item: Item, fields: tuple[str, ...] = FIELDS) -> int:
    """What the fields take as the prompt shows them, counted anew."""
    total = 0
    for field in fields:
        shown = entries(item.source.get(field, ()))
        texts = [shown] if isinstance(shown, str) else shown
        total += sum(estimate_tokens(f"{number}. {text}") for number, text in enumerate(texts, 1))
    return total


def rubric(name: str) -> Rubric:
    return load([name])[0]
