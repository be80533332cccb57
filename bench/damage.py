"""Damage to good summaries with a known right order: the undamaged one is better.

Owns the kinds of damage that calibration and bench use; deterministic for a given seed. Pure text.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from jurybox.judges.embedded.sentences import sentences

_PAIRS = """
comfortable/uncomfortable good/bad great/terrible easy/difficult high/low well/poorly positive/negative
satisfied/dissatisfied praised/criticized praise/criticize love/hate loved/hated loves/hates like/dislike
liked/disliked excellent/awful durable/flimsy happy/unhappy perfect/useless perfectly/badly small/large
tight/loose narrow/wide soft/rough nice/ugly beautiful/ugly fast/slow quick/slow light/heavy cheap/expensive
affordable/overpriced strong/weak best/worst better/worse appreciate/resent appreciated/resented enjoy/dislike
sturdy/fragile comfort/discomfort stylish/dated most/few always/never accurate/inaccurate
effective/ineffective pleased/disappointed impressed/disappointed reliable/unreliable long/short
"""
OPPOSITES: dict[str, str] = {}
for _pair in _PAIRS.split():
    _a, _b = _pair.split("/")
    OPPOSITES.setdefault(_a, _b)
    OPPOSITES.setdefault(_b, _a)
GENERIC = (
    "This is a great product. I am very happy with it and would recommend it to anyone. It works well and the "
    "quality is good. I will buy it again. It is worth the price and it arrived on time.",
    "The product has received mostly positive reviews. Customers are satisfied with the quality and the price. "
    "Some customers have mentioned a few minor issues. Overall, it is a good product and worth buying.",
    "I love it! It is exactly what I was looking for. It is very nice and it does what it says. I would highly "
    "recommend it to friends and family. Great value for the money.",
)


def flipped(text: str, rng: random.Random) -> str | None:
    """One sentence says the opposite: its polar words swapped, or its verb negated."""
    spans = sentences(text)
    rng.shuffle(spans)
    for change in (_swap_opposites, _negate):
        for span in spans:
            new = change(span.text)
            if new != span.text:
                return text[: span.start] + new + text[span.end :]
    return None


def invented(text: str, rng: random.Random, other: str) -> str | None:
    """One sentence replaced by a sentence about another product."""
    spans, foreign = sentences(text), sentences(other)
    if len(spans) < 2 or not foreign:
        return None
    span = rng.choice(spans)
    return text[: span.start] + rng.choice(foreign).text + text[span.end :]


def added(text: str, rng: random.Random, other: str) -> str | None:
    """A sentence about another product put in."""
    spans, foreign = sentences(text), sentences(other)
    if not spans or not foreign:
        return None
    end = rng.choice(spans).end
    return f"{text[:end]} {rng.choice(foreign).text}{text[end:]}"


def repeated(text: str) -> str | None:
    """The first half said twice instead of the second half."""
    parts = [span.text for span in sentences(text)]
    if len(parts) < 3:
        return None
    half = parts[: (len(parts) + 1) // 2]
    return " ".join((half + half)[: len(parts)])


def words_swapped(text: str) -> str:
    """Every fourth word changes places with the next."""
    out = []
    for span in sentences(text):
        parts = span.text.split()
        for i in range(0, len(parts) - 2, 4):
            parts[i], parts[i + 1] = parts[i + 1], parts[i]
        out.append(" ".join(parts))
    return " ".join(out)


def words_dropped(text: str, rng: random.Random) -> str:
    """Most function words are missing."""
    return re.sub(
        r"\b(?:the|a|an|of|to|is|are|and|that|it|they) ", lambda m: "" if rng.random() < 0.6 else m.group(), text
    )


def sentences_shuffled(text: str, rng: random.Random) -> str | None:
    """The same sentences in another order."""
    parts = [span.text for span in sentences(text)]
    if len(set(parts)) < 3:
        return None
    moved = list(parts)
    while moved == parts:
        rng.shuffle(moved)
    return " ".join(moved)


def all_damage(text: str, other: str, seed: str) -> dict[str, str]:
    """Every kind that can be done to this text and changes it."""

    def rng(kind: str) -> random.Random:
        return random.Random(f"{seed}/{kind}")

    makers: dict[str, Callable[[], str | None]] = {
        "flipped": lambda: flipped(text, rng("flipped")),
        "invented": lambda: invented(text, rng("invented"), other),
        "added": lambda: added(text, rng("added"), other),
        "repeated": lambda: repeated(text),
        "words swapped": lambda: words_swapped(text),
        "words dropped": lambda: words_dropped(text, rng("dropped")),
        "sentences shuffled": lambda: sentences_shuffled(text, rng("shuffled")),
        "other product": lambda: other,
        "generic": lambda: rng("generic").choice(GENERIC),
    }
    made = {kind: maker() for kind, maker in makers.items()}
    return {kind: new for kind, new in made.items() if new is not None and new.strip() != text.strip()}


def _swap_opposites(text: str) -> str:
    def swap(match: re.Match[str]) -> str:
        word = match.group()
        new = OPPOSITES.get(word.lower(), word)
        return new.capitalize() if word[0].isupper() and new is not word else new

    return re.sub(r"[A-Za-z]+", swap, text)


def _negate(text: str) -> str:
    return re.sub(r"\b(is|are|was|were|can|do|does|have|has|will)\b", r"\1 not", text, count=1)
