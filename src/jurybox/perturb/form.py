"""Damage to the form alone: order, grammar, an end in the middle."""

from __future__ import annotations

import re

from jurybox.perturb.change import Edit, Place
from jurybox.perturb.texts import Sentence, hangs, sentences_of
from jurybox.perturb.vocabulary import known

# So many errors a dose: three minor ones are what the fluency rubric calls more than good.
_ERRORS = 3
_AGREEMENT = {
    "is": "are",
    "are": "is",
    "was": "were",
    "were": "was",
    "has": "have",
    "have": "has",
    "does": "do",
    "do": "does",
}


def shuffle(place: Place) -> list[Edit] | None:
    """The sentences in another order, with one in front that hangs on what was said before it."""
    spans = sentences_of(place.text)
    hanging = [sentence for sentence in spans[1:] if sentence.ended and hangs(sentence.text)]
    if len(spans) < 3 or not hanging or not spans[-1].ended:
        return None
    first = place.rng.choice(hanging)
    rest = [sentence for sentence in spans if sentence is not first]
    # Turned round rather than shuffled: no two sentences that stood together in order still do.
    order = [first, *reversed(rest)]
    return [Edit(old.start, old.end, new.text) for old, new in zip(spans, order, strict=True) if old.text != new.text]


def break_grammar(place: Place) -> list[Edit] | None:
    """Verbs that do not agree, articles gone, words doubled or misspelt."""
    errors = _errors(place.text)
    place.rng.shuffle(errors)
    wanted = _ERRORS * place.dose
    return errors[:wanted] if len(errors) >= wanted else None


def _errors(text: str) -> list[Edit]:
    edits = []
    for match in re.finditer(r"(?<![\w'’-])[a-z]+(?![\w'’-])", text):
        word = match[0]
        if word in _AGREEMENT:
            edits.append(Edit(match.start(), match.end(), _AGREEMENT[word]))
        elif word in {"the", "a", "an"} and text[match.end() : match.end() + 1] == " ":
            edits.append(Edit(match.start(), match.end() + 1, ""))
        elif word in {"of", "to", "with", "and"}:
            edits.append(Edit(match.end(), match.end(), f" {word}"))
        elif len(word) >= 7 and word[3] != word[4]:
            edits.append(Edit(match.start() + 3, match.start() + 5, word[4] + word[3]))
    return edits


def truncate(place: Place) -> list[Edit] | None:
    """The text breaks off in the middle of its last sentence; a larger dose breaks off a sentence earlier."""
    spans = sentences_of(place.text)
    cuts = [cut for sentence in reversed(spans) if (cut := _cut(sentence)) is not None]
    return [Edit(cuts[place.dose - 1], len(place.text), "")] if len(cuts) >= place.dose else None


def _cut(sentence: Sentence) -> int | None:
    """Behind a word that no sentence ends with, as near to the middle as there is one."""
    words = list(re.finditer(r"[^\W_]+(?:['’][^\W_]+)?", sentence.text))
    middle = len(words) // 2
    ends = [number for number, word in enumerate(words[:-2]) if number >= 2 and word[0].lower() in known("unfinished")]
    return sentence.start + words[min(ends, key=lambda number: abs(number - middle))].end() if ends else None
