"""Sentiment turned round: what pleased displeases. A clause at a time, and only where all its feeling can be turned."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from jurybox.language import word_list
from jurybox.perturb.change import Edit, Place
from jurybox.perturb.texts import is_health, like, sentences_of, taken, with_article
from jurybox.perturb.vocabulary import known, pairs

_BORDER = re.compile(
    r"[;:]\s|,\s(?=(?:but|although|though|while|whereas|yet|and (?:it|they|the|one|some|two|three|several))\b)"
    r"|\s(?=but\b)"
)
_NO_VERB = re.compile(
    r"\b(?:feels?|looks?|would|things?|features|issues|more|seems?|just|such|fit) like\b|\blike (?:a|an|to)\b"
    # "users like the handle", but "parts like the handle"
    r"|\b(?!(?:users|customers|buyers|reviewers|people|owners|they|i|who|also|several|many|most)\b)\w+ like the\b"
    r"|\b(?:complain|rave|grumble)\w*\b(?! about)",
    re.IGNORECASE,
)


def flip_one(place: Place) -> list[Edit] | None:
    """One thing that was praised is faulted, or the other way round."""
    chosen = taken(place, _flips(place, minorities=False))
    return None if chosen is None else [edit for edits in chosen for edit in edits]


def flip_all(place: Place) -> list[Edit] | None:
    """Every feeling that can be turned is turned; refused where most of them cannot."""
    flips = _flips(place, minorities=True)
    coloured = [clause for _, clause in _clauses(place.text) if _coloured().search(clause) or _feeling(clause)]
    if len(flips) < 2 or 2 * len(flips) <= len(coloured):
        return None
    return [edit for edits in flips for edit in edits]


def _flips(place: Place, *, minorities: bool) -> list[list[Edit]]:
    if is_health(place.item):
        return []
    found = []
    for start, clause in _clauses(place.text):
        edits = _flip(clause)
        if edits and (minorities or not known("minority") & set(clause.lower().split())):
            found.append([Edit(edit.start + start, edit.end + start, edit.text) for edit in edits])
    return found


def _flip(clause: str) -> list[Edit]:
    """The edits that turn the clause, or none where some of its feeling would stay as it was."""
    matches = list(_coloured().finditer(clause))
    polar = [match[0].lower() for match in matches]
    # One clause has one feeling: a clause that both praises and faults has no simple opposite.
    feelings = {words in pairs("pleasing") for words in polar}
    if len(feelings) != 1 or _likens(clause) or _hedged(clause, polar) or _stays(_coloured().sub(" ", clause)):
        return []
    turned = (Edit(match.start(), match.end(), like(match[0], _opposites()[match[0].lower()])) for match in matches)
    return [edit for turn in turned for edit in with_article(clause, turn)]


@cache
def _opposites() -> dict[str, str]:
    return {**pairs("displeasing"), **pairs("pleasing")}


@cache
def _coloured() -> re.Pattern[str]:
    """Words and phrases of feeling that have an opposite, the longer ones first."""
    longest = sorted(_opposites(), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest))})(?![\w-])", re.IGNORECASE)


def _stays(rest: str) -> bool:
    """Whether what is left of a clause still feels something, or turns the feeling by a "not"."""
    kept = set(_opposites().values()) | known("unflippable") | known("negating")
    return "n't" in rest or "n’t" in rest or _feeling(rest) or not kept.isdisjoint(_words(rest))


def _feeling(text: str) -> bool:
    return not (word_list("positive") | word_list("negative")).isdisjoint(_words(text))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*", text.lower())


def _likens(clause: str) -> bool:
    """Whether a verb of feeling may be something else: "features like", "would like", "complain of"."""
    return _NO_VERB.search(clause) is not None


def _hedged(clause: str, polar: list[str]) -> bool:
    """Whether a word before a feeling makes its opposite odd: "a bit easy", "cut it to be uncomfortable"."""
    before = r"\b(?:to be|become|becomes|becoming|for an?|more|less|a bit|a little|slightly|somewhat|as)"
    return any(re.search(rf"{before} {re.escape(word)}\b", clause, re.IGNORECASE) for word in polar)


def _clauses(text: str) -> Iterator[tuple[int, str]]:
    for sentence in sentences_of(text):
        at = 0
        for border in _BORDER.finditer(sentence.text):
            yield sentence.start + at, sentence.text[at : border.start()]
            at = border.end()
        yield sentence.start + at, sentence.text[at:]
