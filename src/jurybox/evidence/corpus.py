"""The texts a judge was shown, made ready to be searched as one.

All texts are joined, because one search through a megabyte takes a tenth of two thousand searches through its parts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

from jurybox.evidence.plain import SEPARATOR, fold
from jurybox.fields import entries
from jurybox.types import Review


@dataclass(frozen=True, slots=True)
class Place:
    """One text: a field, or an entry of a list field."""

    field: str
    index: int | None
    text: str


class Corpus:
    """Some places, and their plain texts as one."""

    def __init__(self, places: Sequence[Place]) -> None:
        self.places = places
        raw = SEPARATOR.join(place.text.replace(SEPARATOR, " ") for place in places)
        self.plain = [text.strip() for text in fold(raw).split(SEPARATOR)]
        self._joined = SEPARATOR.join(self.plain)
        self._starts = [0, *accumulate(len(text) + 1 for text in self.plain)]

    def find(self, wanted: str) -> tuple[int, int] | None:
        """The number of the first place that contains the words, and where in its plain text they begin."""
        at = self._joined.find(wanted)
        if at < 0:
            return None
        number = bisect_right(self._starts, at) - 1
        return number, at - self._starts[number]

    def promising(self, wanted: str, *, stretches: int, length: int, limit: int) -> list[int]:
        """Numbers of the places that hold most of some short stretches of the words, most first."""
        step = max(length, len(wanted) // stretches)
        found: Counter[int] = Counter()
        for begin in range(0, len(wanted) - length + 1, step):
            found.update(self._holding(wanted[begin : begin + length]))
        return [number for number, _ in sorted(found.items(), key=lambda each: (-each[1], each[0]))[:limit]]

    def _holding(self, stretch: str) -> Iterable[int]:
        at = self._joined.find(stretch)
        while at >= 0:
            number = bisect_right(self._starts, at) - 1
            yield number
            at = self._joined.find(stretch, self._starts[number + 1])


def source_corpus(source: Mapping[str, Any]) -> Corpus:
    return _source_corpus(_Same(source))


class _Same:
    """A source as a cache key: the same object, not an equal one. It keeps the object alive, so no id comes back."""

    __slots__ = ("source",)

    def __init__(self, source: Mapping[str, Any]) -> None:
        self.source = source

    def __hash__(self) -> int:
        return id(self.source)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.source is other.source


@lru_cache(8)
def _source_corpus(key: _Same) -> Corpus:
    """Kept for a few sources, since all rubrics and systems of one are judged in a row."""
    return Corpus([Place(field, index, text) for field, value in key.source.items() for index, text in _texts(value)])


def _texts(value: Any) -> Iterable[tuple[int | None, str]]:
    if isinstance(value, list | tuple) and all(isinstance(entry, Review) for entry in value):
        return enumerate(review.text for review in value)  # without the stars that we write before it
    shown = entries(value)
    return [(None, shown)] if isinstance(shown, str) else enumerate(shown)
