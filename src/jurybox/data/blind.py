"""An item as a rater sees it: the summary and its material, under a key that does not say whose summary it is.

The key hides the system from a glance, it is no secret: whoever has the run can make it again, which is how ratings
find their way back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jurybox.fields import FIELDS, entries
from jurybox.types import Review

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Passage:
    """One field of the material, by the title people read; a list field has several entries."""

    title: str
    entries: tuple[str, ...]
    numbered: bool

    @property
    def text(self) -> str:
        if not self.numbered:
            return self.entries[0]
        return "\n".join(f"{number}. {entry}" for number, entry in enumerate(self.entries, 1))


@dataclass(frozen=True, slots=True)
class BlindItem:
    """Nothing here names the system, the source's id (people write systems into ids), a rating or a judge's score."""

    key: str
    summary: str
    material: tuple[Passage, ...]

    @property
    def material_text(self) -> str:
        return "\n\n".join(f"{passage.title}\n{passage.text}" for passage in self.material)


def blind_key(key: Key) -> str:
    """Sixteen hexadecimal digits, the same wherever the item is."""
    told = "\0".join(("jurybox blind item", *key)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(told).hexdigest()[:16]


def blind_item(key: Key, summary: str, source: Mapping[str, Any]) -> BlindItem:
    """`source` is the material as the store gives it back: plain JSON."""
    return BlindItem(blind_key(key), summary, tuple(_passages(source)))


def _passages(source: Mapping[str, Any]) -> Iterable[Passage]:
    for name, described in FIELDS.items():
        if name in source:
            shown = entries(_restored(source[name]))
            numbered = not isinstance(shown, str)
            yield Passage(described.title, tuple(shown) if not isinstance(shown, str) else (shown,), numbered)


def _restored(value: Any) -> Any:
    """JSON has no reviews and no pairs: a mapping with a text is a review again, a list of two a pair."""
    if not isinstance(value, list):
        return value
    return [_entry(entry) for entry in value]


def _entry(entry: Any) -> Any:
    if isinstance(entry, Mapping) and "text" in entry:
        return Review(str(entry["text"]), entry.get("rating"))
    return tuple(entry) if isinstance(entry, list) and len(entry) == 2 else entry
