"""Checks on single statements that need no model: numbers, names, negation.

Owns exact comparison with the source: a number or a name that the source does not have, a
sentence that denies what its best passage says (or the reverse). Pure text functions.
Refuses to call anything false: it says `absent` or `negation differs`, and where.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from jurybox.judges.embedded.sentences import Span, words

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][A-Za-z0-9'’-]+")
_NEGATION = re.compile(r"\b(?:not|no|never|without|neither|nor|cannot|hardly|barely|n't)\b|n['’]t\b", re.IGNORECASE)
_SPELLED = {
    "one": "1",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
    "eleven": "11",
    "twelve": "12",
    "twenty": "20",
    "thirty": "30",
    "fifty": "50",
    "hundred": "100",
    "half": "0.5",
    "once": "1",
    "twice": "2",
}
_NEAR_ENOUGH = 0.75  # similarity above which a differing negation means something


@dataclass(frozen=True)
class Flag:
    """One doubt: its kind, the place in the summary, and the words."""

    kind: str
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Vocabulary:
    """The words and numbers of a source, found once for all its summaries."""

    words: frozenset[str]
    numbers: frozenset[str]


def vocabulary(source_text: str) -> Vocabulary:
    said = frozenset(words(source_text))
    numbers = {_plain(number) for number in _NUMBER.findall(source_text)}
    return Vocabulary(said, frozenset(numbers | {_SPELLED[word] for word in said if word in _SPELLED}))


def absent(summary: str, source: Vocabulary) -> list[Flag]:
    """Numbers and names of the summary that the source does not contain."""
    flags = [
        Flag("number absent", m.start(), m.end(), m.group())
        for m in _NUMBER.finditer(summary)
        if _plain(m.group()) not in source.numbers
    ]
    for match in _NAME.finditer(summary):
        parts = words(match.group())
        if parts and not any(_known(part, source.words) for part in parts):
            flags.append(Flag("name absent", match.start(), match.end(), match.group()))
    return flags


def negations(spans: Sequence[Span], passages: Sequence[str], scores: Sequence[float]) -> list[Flag]:
    """Sentences whose best passage is near but differs in negation."""
    return [
        Flag("negation differs", span.start, span.end, span.text)
        for span, passage, score in zip(spans, passages, scores, strict=True)
        if score >= _NEAR_ENOUGH and bool(_NEGATION.search(span.text)) != bool(_NEGATION.search(passage))
    ]


def _plain(number: str) -> str:
    return re.sub(r",(?=\d{3}\b)", "", number).rstrip("0").rstrip(".") if "." in number else number.replace(",", "")


def _known(word: str, known: frozenset[str]) -> bool:
    stem = word.removesuffix("'s").removesuffix("s")
    return word in known or stem in known or stem + "s" in known
