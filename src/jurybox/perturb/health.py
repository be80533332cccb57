"""Damage to summaries of health answers: told from another perspective, or without its warning."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise

from jurybox.perturb.change import Edit, Place
from jurybox.perturb.texts import (
    is_health,
    left_out,
    lowered,
    narrowed,
    sentences_of,
    source_text,
    source_texts,
    stems,
    taken,
)
from jurybox.perturb.vocabulary import known, listed, pairs


def shift_perspective(place: Place) -> list[Edit] | None:
    """Experience told as advice or as fact, advice told as experience, facts asked: it does something else now."""
    perspective = str(place.item.source.get("perspective", "")).upper()
    if perspective not in _RETOLD:
        return None
    context = f"{place.text}\n{source_text(place.item)}"
    spare = _answers_from_elsewhere(place, perspective)
    edits = []
    for sentence in sentences_of(place.text):
        if not sentence.ended or not _speaks_from(perspective, sentence.text):
            continue
        new = _RETOLD[perspective](sentence.text, context) or _nearest(sentence.text, spare)
        if new is not None:
            edits.append(narrowed(sentence, new))
            spare = [text for text in spare if text != new]
    return taken(place, edits)


def _speaks_from(perspective: str, sentence: str) -> bool:
    """Whether the sentence looks like one of this perspective: what has left it already cannot be made to leave it."""
    order = sentence.split(maxsplit=1)[0].lower().strip(",") in known("imperatives") | {"don't", "don’t"}
    somebody = re.search(
        r"\b(?:one|another|someone|somebody|third|fourth|person|sister|brother|mother)\b", sentence, re.IGNORECASE
    )
    asks = re.search(r"\b(?:asks?|asked|whether|enquires?|wants? to know|wonders?)\b|\?", sentence)
    if perspective == "SUGGESTION":
        return (
            order or re.search(r"\b(?:should|advise[sd]?|suggest(?:s|ed)?|recommend(?:s|ed)?)\b", sentence) is not None
        )
    if perspective == "QUESTION":
        return asks is not None
    return not order and not asks and (somebody is not None) == (perspective == "EXPERIENCE")


def _as_advice_or_fact(sentence: str, context: str) -> str | None:
    return _as_advice(sentence) or _as_fact(sentence)


def _as_advice(sentence: str) -> str | None:
    """ "One person took it at supper." becomes "Take it at supper."."""
    tellers = "|".join(sorted((re.escape(text) for text in listed("teller")), key=len, reverse=True))
    verbs = "|".join(re.escape(text) for text in pairs("did"))
    match = re.match(rf"(?:{tellers}) ({verbs}) (.+)$", sentence, re.IGNORECASE)
    if match is None or any(
        word in known("telling") | set(pairs("did")) for word in re.findall(r"[a-z]+", match[2].lower())
    ):
        return None
    order = pairs("did")[match[1].lower()]
    rest = re.sub(r"\b(?:their|her|his|my)\b", "your", match[2])
    return (
        f"{order.capitalize()} {rest}" if not re.search(r"\b(?:them|him|me|they|he|she|who|but|by)\b", rest) else None
    )


def _as_fact(sentence: str) -> str | None:
    """ "One person found that heat makes it worse." becomes "Heat makes it worse."."""
    tellers = "|".join(sorted((re.escape(text) for text in listed("teller")), key=len, reverse=True))
    match = re.match(
        rf"(?:{tellers}) (?:found|says|reports|noticed|learned|saw|thinks|discovered) that (.+)$",
        sentence,
        re.IGNORECASE,
    )
    if match is not None:
        told = re.search(r"\b(?:was|were|had|did|[a-z]+ed|went|came|got|he|she|they|his|her|their)\b", match[1])
        return None if told else match[1][0].upper() + match[1][1:]
    match = re.match(rf"(?:{tellers}) (?:got|had|developed) ([a-z ]+?) from ([a-z ]+)\.$", sentence, re.IGNORECASE)
    return f"{match[2].capitalize()} causes {match[1]}." if match is not None else None


def _as_experience(sentence: str, context: str) -> str | None:
    """ "Take it with food." becomes "One person decided to take it with food."."""
    match = re.match(r"(Do not |Don['’]t )?([A-Za-z]+)\b(.*)$", sentence)
    if (
        match is None
        or match[2].lower() not in known("imperatives") | {"push"}
        or re.search(r"\b(?:you|one|another|answers?|if|is|are|do|too)\b|[:;]", match[3])
    ):
        return None
    rest = re.sub(r"\byour\b", "their", match[3])
    return f"One person decided {'not ' if match[1] else ''}to {match[2].lower()}{rest}"


def _as_question(sentence: str, context: str) -> str | None:
    """ "Tea reduces absorption." becomes "One person asks whether tea reduces absorption."."""
    if re.search(
        r"[:;?(]|\b(?:whether|answers?|other|another|also|though|although|because|so|but|which|yet)\b",
        sentence,
        re.IGNORECASE,
    ):
        return None
    first = sentence.split(maxsplit=1)[0].lower()
    rest = lowered(sentence, context.lower()) if first not in known("imperatives") else None
    return f"One person asks whether {rest.replace(', and ', ', and whether ')}" if rest else None


def _as_answer(sentence: str, context: str) -> str | None:
    """ "They ask whether the spray helps." becomes "The spray helps."."""
    match = re.match(
        r"(?:[A-Z][a-z]+|One person|Another person) (?:also )?"
        r"(?:asks?|enquires?|wants? to know|wonders?) (?:whether|if) (.+)$",
        sentence,
    )
    if match is None or re.search(r"\b(?:whether|if|any|or|which|how|what|about)\b", match[1]):
        return None
    return match[1][0].upper() + match[1][1:]


_RETOLD: Mapping[str, Callable[[str, str], str | None]] = {
    "EXPERIENCE": _as_advice_or_fact,
    "SUGGESTION": _as_experience,
    "INFORMATION": _as_question,
    "CAUSE": _as_question,
    "QUESTION": _as_answer,
}
# What can stand in for a sentence of a perspective and clearly does something else.
_ELSEWHERE = {
    "EXPERIENCE": {"SUGGESTION", "INFORMATION"},
    "SUGGESTION": {"INFORMATION", "CAUSE"},
    "INFORMATION": {"SUGGESTION"},
    "CAUSE": {"SUGGESTION"},
    "QUESTION": {"SUGGESTION", "INFORMATION"},
}


def _answers_from_elsewhere(place: Place, perspective: str) -> list[str]:
    """Sentences of the answers that can stand alone and speak from another perspective."""
    spans = " ".join(source_texts(place.item, "input_spans"))
    return [
        sentence.text
        for answer in source_texts(place.item, "answers")
        for sentence in sentences_of(answer)
        if sentence.text.rstrip(".") not in spans and _perspective_of(sentence.text) in _ELSEWHERE[perspective]
    ]


def _perspective_of(sentence: str) -> str | None:
    """What a sentence does, from its form; None where that is not plain or it leans on its neighbours."""
    words = sentence.split()
    leaning = {
        "and",
        "but",
        "so",
        "it",
        "they",
        "that",
        "this",
        "mine",
        "if",
        "probably",
        "do",
        "is",
        "are",
        "disagree",
        "mostly",
        "worth",
        "then",
    }
    if not sentence.endswith(".") or not 4 <= len(words) <= 30 or words[0].lower().strip(",") in leaning:
        return None
    if re.search(r"\b(?:I|I['’]\w+|my|me|mine|we|our|us|else|he|she|here|instead|it)\b", sentence):
        return None
    if words[0].lower() in known("imperatives") or words[0] in {"Don't", "Don’t"}:
        return "SUGGESTION"
    if re.search(r"\b(?:you|your|should|ask|save)\b", sentence, re.IGNORECASE):
        return None
    return "CAUSE" if re.search(r"\b(?:because|causes?|due to|so that)\b", sentence) else "INFORMATION"


def _nearest(sentence: str, spare: list[str]) -> str | None:
    """The spare sentence that speaks most about the same things, if any does."""
    shared = [(len(stems(sentence) & stems(text)), text) for text in spare]
    best = max(shared, key=lambda pair: pair[0], default=(0, ""))
    return best[1] if best[0] else None


def omit_warning(place: Place) -> list[Edit] | None:
    """A warning, a contraindication or the advice to see somebody is left out."""
    if not is_health(place.item):
        return None
    points = stems(" ".join(source_texts(place.item, "input_spans") or source_texts(place.item, "answers")))
    spans = sentences_of(place.text)
    found: list[list[Edit]] = []
    for number, sentence in enumerate(spans):
        cut = _closing_clause(sentence.text)
        if cut is not None and _warns(cut[1], points):
            found.append([Edit(edit.start + sentence.start, edit.end + sentence.start, edit.text) for edit in cut[0]])
        elif len(spans) > 1 and _warns(sentence.text, points) and not re.search(r"[,;:]", sentence.text):
            found.append(left_out(place.text, {number}))
    chosen = taken(place, found)
    if chosen is None:
        return None
    edits = sorted((edit for edits in chosen for edit in edits), key=lambda edit: edit.start)
    apart = all(first.end <= second.start for first, second in pairwise(edits))
    return edits if apart else None


def _warns(text: str, points: set[str]) -> bool:
    """Whether the text warns of something that the source has, too."""
    words = set(re.findall(r"[a-z]+", text.lower()))
    return bool(words & known("warnings")) and len(stems(text) & points) >= 2


def _closing_clause(sentence: str) -> tuple[list[Edit], str] | None:
    """How the clause behind the last ", and" or ", but" goes, and the clause; a list before it keeps its "and"."""
    joints = list(re.finditer(r", (?:and|but|though|although) |; ", sentence))
    if not joints or not sentence.endswith("."):
        return None
    match = joints[-1]
    clause = sentence[match.end() :]
    edits = [Edit(match.start(), len(sentence) - 1, "")]
    comma = sentence.rfind(", ", 0, match.start())
    if (
        comma > 0
        and match[0] == ", and "
        and not re.search(r"\b(?:and|or|then|but)\b", sentence[comma : match.start()])
    ):
        edits.insert(0, Edit(comma + 2, comma + 2, "and "))
    return edits, clause
