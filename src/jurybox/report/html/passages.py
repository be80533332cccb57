"""A text in pieces: what is quoted, what is not, and where something was left out to keep a page short."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from jurybox.types import Quote

Kind = Literal["plain", "quoted", "absent", "gap"]
Span = tuple[int, int]
# What stays around a quotation where the rest of its text is left out.
AROUND = 240


@dataclass(frozen=True, slots=True)
class Piece:
    """Some characters: plain, quoted (located in the material), absent (quoted and not there), or a gap.

    A gap's text says how much is left out."""

    kind: Kind
    text: str


def pieces(text: str, quoted: Iterable[Span], room: int | None = None) -> tuple[Piece, ...]:
    """A text with its quoted spans marked; longer than `room`, its beginning and what stands around the quotations."""
    marks = _joined((start, end) for start, end in quoted if 0 <= start < end <= len(text))
    kept = [(0, len(text))]
    if room is not None and len(text) > room + AROUND:
        kept = _joined([(0, room), *((start - AROUND, end + AROUND) for start, end in marks)])
        kept = [(max(start, 0), min(end, len(text))) for start, end in kept]
    found: list[Piece] = []
    at = 0
    for start, end in kept:
        found += _gap(start - at)
        found += _marked(text, start, end, marks)
        at = end
    return (*found, *_gap(len(text) - at))


def reason_pieces(reason: str, quotes: Sequence[Quote]) -> tuple[Piece, ...]:
    """A reason with the passages that it quotes: marked where the material has them, flagged where it has not."""
    spans: list[tuple[int, int, Kind]] = []
    for quote in quotes:
        start = reason.find(quote.text)
        if start >= 0:
            spans.append((start, start + len(quote.text), "absent" if quote.field is None else "quoted"))
    found: list[Piece] = []
    at = 0
    for start, end, kind in sorted(spans):
        if start >= at:
            found += _plain(reason[at:start])
            found.append(Piece(kind, reason[start:end]))
            at = end
    return (*found, *_plain(reason[at:]))


def _marked(text: str, begin: int, end: int, marks: Sequence[Span]) -> list[Piece]:
    found: list[Piece] = []
    at = begin
    for start, stop in marks:
        if begin <= start and stop <= end:
            found += _plain(text[at:start])
            found.append(Piece("quoted", text[start:stop]))
            at = stop
    return [*found, *_plain(text[at:end])]


def _plain(text: str) -> list[Piece]:
    return [Piece("plain", text)] if text else []


def _gap(characters: int) -> list[Piece]:
    return [Piece("gap", f"{characters:,} characters left out")] if characters > 0 else []


def _joined(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, overlapping ones as one."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
