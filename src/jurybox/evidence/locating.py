"""Where a quote stands: exactly if possible, else nearly.

The source's fields come before the summary: where both say the same, the source is the evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from jurybox.evidence.corpus import Corpus, Place, source_corpus
from jurybox.evidence.plain import plain, span
from jurybox.evidence.quotes import BREAKS, long_enough
from jurybox.types import Item, Quote, Rubric

# rapidfuzz's measure, 0-100. Below 90 a quote of ten words may differ in two: that is another sentence.
CUTOFF = 90.0
# How many of the most promising texts are aligned with a quote that stands nowhere exactly, and how they are chosen:
# a passage that is 90 % the same holds most of the quote's stretches of seven characters unchanged.
CANDIDATES, STRETCHES, STRETCH_LENGTH = 16, 8, 7
_PUNCTUATION = " .,;:!?-'()[]"
# A word or two makes another claim of the same length: "12 hours" for "10 hours", "does leak" for "does not leak".
_TELLING = re.compile(r"\d+|\b(?:no|not|never|nor|neither|none|without|hardly|cannot)\b|n't\b")


def locate(quotes: Iterable[str], item: Item, ignore: Sequence[str] = ()) -> tuple[Quote, ...]:
    """Where each quote stands in the item's source or summary.

    A quote that stands only in `ignore` (the rubric's own words, our own tables) is no evidence and no false quote: it
    is left out. A quote with an ellipsis gives one `Quote` for each piece, unless the material has the ellipsis too.
    """
    wanted = list(quotes)
    if not wanted:
        return ()
    corpora = (source_corpus(item.source), Corpus([Place("summary", None, item.summary)]))
    known = [_known(text) for text in ignore]
    return tuple(found for quote in wanted for found in _located(quote, corpora, known))


def rubric_texts(rubric: Rubric) -> tuple[str, ...]:
    """A rubric's own words, to be ignored: judges quote the scale to explain a score."""
    return (rubric.title, rubric.question, rubric.definition, *rubric.scale, *rubric.steps)


def _located(quote: str, corpora: Sequence[Corpus], known: Sequence[str]) -> Iterator[Quote]:
    exact = _exact(quote, corpora)
    if exact is not None:
        yield exact
        return
    pieces = [piece for piece in BREAKS.split(quote) if plain(piece).strip(_PUNCTUATION)]
    together = _together(pieces, corpora)
    if together:
        yield from together
        return
    for piece in pieces:
        if not any(plain(piece).strip(_PUNCTUATION) in text for text in known):
            yield _alone(piece, corpora)


def _alone(piece: str, corpora: Sequence[Corpus]) -> Quote:
    """A piece by itself. One or two words stand in some review or other: apart from the rest they prove nothing."""
    found = (_exact(piece, corpora) or _near(piece, corpora)) if long_enough(piece) else None
    return found or Quote(piece, None, None, None, None, None)


def _quote(text: str, place: Place, start: int, end: int, similarity: float = 100.0) -> Quote:
    first, last = span(place.text, start, end)
    return Quote(text, place.field, place.index, first, last, similarity)


def _exact(quote: str, corpora: Sequence[Corpus]) -> Quote | None:
    """The quote as it is, or without the punctuation that quoting adds at its ends."""
    whole = plain(quote)
    for wanted in dict.fromkeys((whole, whole.strip(_PUNCTUATION))):
        for corpus in corpora if wanted else ():
            found = corpus.find(wanted)
            if found:
                number, start = found
                return _quote(quote, corpus.places[number], start, start + len(wanted))
    return None


def _together(pieces: Sequence[str], corpora: Sequence[Corpus]) -> list[Quote]:
    """The pieces of one quote, if one text has them all in this order."""
    if len(pieces) < 2:
        return []
    wanted = [plain(piece).strip(_PUNCTUATION) for piece in pieces]
    for corpus in corpora:
        for place, text in zip(corpus.places, corpus.plain, strict=True):
            spans = _in_order(wanted, text)
            if spans:
                return [_quote(piece, place, *each) for piece, each in zip(pieces, spans, strict=True)]
    return []


def _in_order(wanted: Sequence[str], text: str) -> list[tuple[int, int]]:
    spans, end = [], 0
    for words in wanted:
        start = text.find(words, end)
        if start < 0:
            return []
        end = start + len(words)
        spans.append((start, end))
    return spans


def _near(quote: str, corpora: Sequence[Corpus]) -> Quote | None:
    """The most similar passage anywhere, if it is similar enough and makes the same claim."""
    wanted = plain(quote).strip(_PUNCTUATION)
    best: tuple[float, Place, int, int] | None = None
    for corpus in corpora:
        for number in corpus.promising(wanted, stretches=STRETCHES, length=STRETCH_LENGTH, limit=CANDIDATES):
            found = _aligned(wanted, corpus.plain[number], best[0] if best else CUTOFF)
            if found and (best is None or found[0] > best[0]):
                best = (found[0], corpus.places[number], found[1], found[2])
    return _quote(quote, best[1], best[2], best[3], round(best[0], 1)) if best else None


def _aligned(wanted: str, text: str, cutoff: float) -> tuple[float, int, int] | None:
    from rapidfuzz import fuzz

    if len(text) < len(wanted):  # the partial ratio would look for the text inside the quote
        similarity = fuzz.ratio(wanted, text, score_cutoff=cutoff)
        return (similarity, 0, len(text)) if similarity and _same_claim(wanted, text) else None
    found = fuzz.partial_ratio_alignment(wanted, text, score_cutoff=cutoff)
    if found is None or found.dest_end <= found.dest_start:
        return None
    start, end = _whole_words(text, found.dest_start, found.dest_end)
    return (found.score, start, end) if _same_claim(wanted, text[start:end]) else None


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """The alignment's window is as long as the quote and may end inside a word."""
    while start > 0 and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum() and text[end - 1].isalnum():
        end += 1
    return start, end


def _same_claim(wanted: str, passage: str) -> bool:
    return sorted(_TELLING.findall(wanted)) == sorted(_TELLING.findall(passage))


@lru_cache(256)
def _known(text: str) -> str:
    return plain(text)
