"""Other content than the source asks for: aspects left out, another's summary, repeats, praise that says nothing."""

from __future__ import annotations

import re
from collections import Counter

from jurybox.language import seems_english
from jurybox.perturb.change import Edit, Place
from jurybox.perturb.texts import (
    Sentence,
    hangs,
    is_health,
    left_out,
    like,
    lowered,
    replaced,
    sentences_of,
    source_text,
    source_texts,
    stems,
    taken,
)  # fmt: skip
from jurybox.perturb.vocabulary import listed, pairs, sayings
from jurybox.types import Item

_ADDED = ("Also, ", "In addition, ", "Moreover, ")
_TELLING = 3  # so many particular things must a sentence share with the source, or it is generic itself
_REWORDED = 2  # as many words at least must differ, or it is the same sentence with a slip


def drop_aspects(place: Place) -> list[Edit] | None:
    """The sentences about the most discussed things of the source that the summary speaks of."""
    spans = sentences_of(place.text)
    spoken = [stems(sentence.text) for sentence in spans]
    dropped: set[int] = set()
    done = 0
    for aspect in _discussed(place.item):
        about = {number for number, found in enumerate(spoken) if aspect in found}
        # An aspect that half of the summary is about is the product itself.
        if not about - dropped or len(about) * 2 > len(spans) or len(dropped | about) == len(spans):
            continue
        dropped |= about
        done += 1
        if done == place.dose:
            return left_out(place.text, dropped)
    return None


def _discussed(item: Item) -> list[str]:
    """Things that several texts of the source speak of, those that most of them speak of first."""
    texts = source_texts(item, "reviews") or source_texts(item, "input_spans") or source_texts(item, "answers")
    counts = Counter(aspect for text in texts for aspect in stems(text))
    named = stems(" ".join((*source_texts(item, "product_title", "question"), *listed("no_aspect"))))
    important = [aspect for aspect, count in counts.items() if count >= max(2, len(texts) / 4)]
    return sorted((aspect for aspect in important if aspect not in named), key=lambda aspect: (-counts[aspect], aspect))


def other_summary(place: Place) -> list[Edit] | None:
    """The whole text becomes the summary of another source, by the same system where there is one."""
    others = list(place.others)
    place.rng.shuffle(others)
    others.sort(key=lambda other: other.system != place.item.system)
    found = next((other for other in others if _is_foreign(place.item, other)), None)
    return [Edit(0, len(place.text), found.summary)] if found is not None and place.text.strip() else None


def _is_foreign(item: Item, other: Item) -> bool:
    """Whether the other summary is about the other source, and not by chance or mistake about this one."""
    if other.id == item.id or not other.summary.strip() or is_health(item) != is_health(other):
        return False
    spoken = stems(other.summary)
    here, there = len(spoken & stems(source_text(item))), len(spoken & stems(source_text(other)))
    return here * 2 < there


def repeat(place: Place) -> list[Edit] | None:
    """A sentence said again at the end, word for word."""
    return _said_again(place, [(sentence, sentence.text) for sentence in sentences_of(place.text) if sentence.ended])


def repeat_reworded(place: Place) -> list[Edit] | None:
    """A sentence said again at the end in other words, as if it were new."""
    again = []
    for sentence in sentences_of(place.text):
        words = _reworded(sentence.text, place.text + source_text(place.item))
        if sentence.ended and words is not None:
            again.append((sentence, place.rng.choice(_ADDED) + words))
    return _said_again(place, again)


def _said_again(place: Place, again: list[tuple[Sentence, str]]) -> list[Edit] | None:
    chosen = taken(place, again)
    ends = [sentence.end for sentence in sentences_of(place.text) if sentence.ended]
    return None if chosen is None else [Edit(ends[-1], ends[-1], f" {text}") for _, text in chosen]


def _reworded(sentence: str, context: str) -> str | None:
    edits = replaced(sentence, pairs("synonyms").get)
    new = sentence
    for edit in reversed(edits):
        new = new[: edit.start] + edit.text + new[edit.end :]
    # A linking word at the start would follow on from nothing at the end of the text.
    if len(edits) < _REWORDED or hangs(sentence) or re.match(r"(?:Overall|In|On|And|For|Nonetheless)\b", sentence):
        return None
    return lowered(new, context.lower() if new[0] != sentence[0] else context)


def generic(place: Place) -> list[Edit] | None:
    """Sentences that tell something give way to praise that would fit any product."""
    if is_health(place.item) or not seems_english(place.text):
        return None
    said = stems(source_text(place.item)) - stems(" ".join(listed("bare_aspects")))
    telling = [
        sentence
        for sentence in sentences_of(place.text)
        if sentence.ended and len(stems(sentence.text) & said) >= _TELLING
    ]
    chosen = taken(place, telling)
    praise = list(sayings("generic"))
    place.rng.shuffle(praise)
    if chosen is None:
        return None
    return [
        Edit(sentence.start, sentence.end, like(sentence.text, text))
        for sentence, text in zip(chosen, praise, strict=False)
    ]
