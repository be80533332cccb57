"""Text without what quoting changes: case, white space, the shape of quotation marks and dashes, invisible characters.

Two texts are compared in this form, but offsets always refer to the text as it was. The way back (`span`) walks the
text in Python and is taken for hits alone; the way there (`plain`) runs at the speed of C.
"""

from __future__ import annotations

from collections.abc import Mapping

_QUOTATION_MARKS = '"“”„‟«»‹›″‘’‚‛′`´「」『』'
_DASHES = "‐‑‒–—―−"
# Zero-width and direction marks, soft hyphen, variation selector; and the stars that Markdown puts around a word.
_INVISIBLE = "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad\u202a\u202b\u202c\u202d\u202e\ufe0f*"
_SAME: Mapping[str, str] = {
    **dict.fromkeys(_QUOTATION_MARKS, "'"),
    **dict.fromkeys(_DASHES, "-"),
    **dict.fromkeys(_INVISIBLE, ""),
    "…": "...",
}


# Joins texts that are folded as one. Inside a text it counts as white space, so no plain text contains it.
SEPARATOR = "\0"


def plain(text: str) -> str:
    """The form in which texts are compared."""
    return fold(text.replace(SEPARATOR, " "))


def fold(text: str) -> str:
    """`plain` for texts that are joined by the separator."""
    for mark, same in _SAME.items():  # `str.translate` takes eight times as long on text that is not ASCII
        if mark in text:
            text = text.replace(mark, same)
    # `casefold` and not `lower`: it looks at each character by itself, so that `span` can do the same.
    return " ".join(text.casefold().split())


def span(text: str, start: int, end: int) -> tuple[int, int]:
    """Offsets in `text` of what stands at [start, end) in `plain(text)`; the span must not be empty."""
    origins = _origins(text)
    return origins[start], origins[end - 1] + 1


def _origins(text: str) -> list[int]:
    """For each character of `plain(text)` the offset of the character it came from."""
    origins: list[int] = []
    gap: int | None = None
    for offset, character in enumerate(text):
        for folded in _SAME.get(character, character).casefold():
            if folded.isspace() or folded == SEPARATOR:
                gap = offset if gap is None else gap
                continue
            if gap is not None and origins:
                origins.append(gap)
            gap = None
            origins.append(offset)
    return origins
