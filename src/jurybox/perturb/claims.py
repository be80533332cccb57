"""Statements that the source does not make: invented, true but beside the point, against an answer, or of everyone."""

from __future__ import annotations

import re

from jurybox.language import words
from jurybox.perturb.change import Edit, Place
from jurybox.perturb.negation import opposite
from jurybox.perturb.texts import (
    all_stems,
    is_health,
    like,
    put_in,
    sentences_of,
    source_text,
    source_texts,
    stems,
    taken,
)
from jurybox.perturb.vocabulary import invented, known, pairs, sayings

_MOST = 3  # as many additions as the largest dose


def invent(place: Place) -> list[Edit] | None:
    """A specific claim that the source never makes."""
    sort = str(place.item.source.get("perspective", "")).upper() if is_health(place.item) else "PRODUCT"
    said = f" {' '.join(words(f'{source_text(place.item)} {place.text}'))} "
    claims = [text for text, absent in invented(sort) if not any(f" {word} " in said for word in absent)]
    place.rng.shuffle(claims)
    return put_in(place, claims[:_MOST])


def off_topic(place: Place) -> list[Edit] | None:
    """A true sentence that has nothing to do with the matter."""
    said = stems(f"{source_text(place.item)}\n{place.text}")
    facts = [text for text in sayings("off_topic") if not stems(text) & said]
    place.rng.shuffle(facts)
    return put_in(place, facts[:_MOST], last=False)


def contradict(place: Place) -> list[Edit] | None:
    """The opposite of something that an answer says, as one more sentence."""
    spans = _turned(source_texts(place.item, "input_spans"))
    pool = [text for text in spans or _turned(source_texts(place.item, "answers")) if text not in place.text]
    place.rng.shuffle(pool)
    return put_in(place, pool[:_MOST])


def _turned(texts: list[str]) -> list[str]:
    found = [
        opposite(sentence.text) for text in texts for sentence in sentences_of(text) if _stands_alone(sentence.text)
    ]
    return list(dict.fromkeys(text for text in found if text is not None))


def _stands_alone(sentence: str) -> bool:
    """Whether the sentence is understood without its neighbours and is about nobody in particular."""
    first = re.match(r"[A-Z][a-z]+(?:['’]t)?\b", sentence)
    if first is None or not sentence.endswith(".") or not 4 <= len(sentence.split()) <= 24:
        return False
    if re.search(r"\b(?:I|I['’]\w+|my|me|mine|we|our|he|she)\b", sentence):
        return False
    hanging = {
        "And",
        "But",
        "So",
        "Also",
        "It",
        "They",
        "That",
        "This",
        "These",
        "Those",
        "Mine",
        "If",
        "Probably",
        "Still",
    }
    return first[0] not in hanging and re.search(r"\b(?:them|it|this|instead|as well)\b", sentence) is None


def over_generalise(place: Place) -> list[Edit] | None:
    """What some say becomes what all say, what is often so is always so."""
    edits: list[Edit] = []
    spans = sentences_of(place.text)
    for number, sentence in enumerate(spans):
        following = spans[number + 1].text if number + 1 < len(spans) else ""
        # "Everyone did this. Another did that." contradicts itself.
        if re.match(r"(?:Another|Others?|A third|A second|The others?)\b", following):
            continue
        if re.search(
            r"\b(?:others?|another|not all|everyone|everybody|all|always|every)\b", sentence.text, re.IGNORECASE
        ):
            continue
        edit = _of_all(sentence.text) or _always(sentence.text)
        if edit is not None:
            edits.append(Edit(edit.start + sentence.start, edit.end + sentence.start, edit.text))
    return taken(place, edits)


_SOME = re.compile(
    r"\b(some|several|many|most|a few|two|three|four|five|six|seven|the majority of) (?:of the )?([a-z]+)\b",
    re.I,
)
_ONE = re.compile(r"\b(one) ([a-z]+)(?![\w'’])", re.IGNORECASE)


# Behind these the sentence speaks of others, or makes an exception: it would contradict itself.
_EXCEPTION = re.compile(
    r"\b(?:but|while|whereas|although|though|yet) (?:one|an?|some|two|three|most|not)\b|\bsome\b|; a third\b"
)


def _of_all(sentence: str) -> Edit | None:
    for match in _SOME.finditer(sentence):
        follows = match[2].lower()
        if _EXCEPTION.search(sentence, match.end(1)):
            continue
        if follows in known("people") or (follows in known("reporting") and match[1].lower() != "most"):
            return Edit(match.start(1), match.end(1), like(match[1], "all"))
    for match in _ONE.finditer(sentence):
        contrasted = re.search(r"\b(?:but|while|whereas|although|though|yet) $", sentence[: match.start()])
        if match[2].lower() in known("person") and not contrasted and not _EXCEPTION.search(sentence, match.end()):
            return Edit(match.start(1), match.end(1), like(match[1], "every"))
    someone = re.search(r"\b(someone|somebody)\b(?!['’]| who| with)", sentence, re.IGNORECASE)
    return None if someone is None else Edit(someone.start(), someone.end(), like(someone[0], "everyone"))


def _always(sentence: str) -> Edit | None:
    for match in re.finditer(r"\b[a-z]+\b", sentence):
        new = pairs("frequencies").get(match[0])
        if new is not None and not all_stems(sentence) & {"not", "never"}:
            return Edit(match.start(), match.end(), new)
    return None
