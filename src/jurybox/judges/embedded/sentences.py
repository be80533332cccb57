"""Sentences and words of a text, with their offsets.

Owns the splitting that all evidence rests on: pure functions, English-minded, made
for reviews (no capital after a full stop, runs of `!!!`, line breaks, bullets).
Refuses nothing: an empty text has no sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

_END = re.compile(r"(?:[.!?…]+[\"'”’)\]]*(?=\s|$)|\n+)")
_ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|vs|etc|e\.g|i\.e|approx|no|inc|ltd|co|oz|lb|ft|in)|\b[A-Za-z])\.$",
    re.IGNORECASE,
)
_TITLE = re.compile(r"\b(?:mr|mrs|ms|dr|prof|st)\.$", re.IGNORECASE)
_ALWAYS_END = re.compile(r"\b(?:etc|I|a)\.$")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’]*|\d+(?:[.,:/]\d+)*%?")
_MOST_WORDS = 60  # a longer run without a full stop is cut at commas, then anywhere


@dataclass(frozen=True)
class Span:
    """A piece of a text: `text == whole[start:end]`."""

    start: int
    end: int
    text: str


def sentences(text: str) -> list[Span]:
    """The sentences of a text, trimmed, in order, with offsets into it."""
    spans: list[Span] = []
    start = 0
    for match in _END.finditer(text):
        piece = text[start : match.end()]
        if "\n" not in match.group() and _is_abbreviation(piece, text[match.end() :]):
            continue
        spans.extend(_trimmed(text, start, match.end()))
        start = match.end()
    spans.extend(_trimmed(text, start, len(text)))
    return spans


def words(text: str) -> list[str]:
    """Lower-case words and numbers, in order."""
    return [match.group().lower().replace("’", "'") for match in _WORD.finditer(text)]


def _is_abbreviation(piece: str, rest: str) -> bool:
    if not piece.endswith(".") or not _ABBREVIATION.search(piece) or _ALWAYS_END.search(piece):
        return False
    following = rest.lstrip()
    goes_on = bool(following) and not following[0].isupper()
    return goes_on or bool(_TITLE.search(piece))


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    """A sentence without the space and list marks around it; a run-on in pieces, so that no passage is too long to be
    compared with a sentence."""
    while True:
        while start < end and (text[start].isspace() or text[start] in "-*•·"):
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        found = list(islice(_WORD.finditer(text, start, end), _MOST_WORDS + 1))
        if not found:
            return
        if len(found) <= _MOST_WORDS:
            yield Span(start, end, text[start:end])
            return
        middle, last = found[_MOST_WORDS // 2].start(), found[_MOST_WORDS].start()
        comma = text.find(", ", middle, last)
        cut = comma + 1 if comma >= 0 else last
        kept = text[start:cut].rstrip()
        yield Span(start, start + len(kept), kept)
        start = cut
