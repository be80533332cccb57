"""A sentence that says the opposite of what it said, in grammatical English, or nothing where that is not sure.

Rules for the few shapes that can be turned without parsing: to be, to have with a participle, can and will and should,
plain verbs from a table, orders. Everything around them that could make the result nonsense is a reason to refuse.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from jurybox.perturb.change import Edit, Place
from jurybox.perturb.texts import like, sentences_of, taken
from jurybox.perturb.vocabulary import known

_NEGATION = re.compile(r"\b(?:not|cannot)\b|n['’]t\b", re.IGNORECASE)
_AUXILIARY = re.compile(r"\b(is|are|was|were|can|will|should|has|have|had) (?=([a-z]+(?:-[a-z]+)*)\b)")
_PLAIN = re.compile(r"\b([A-Za-z]+) ([a-z]+)\b")
_HYPOTHETICAL = re.compile(
    r"\b(?:whether|if|unless|until|what|how|who|whom|where|why|than|because|although|though|while|whereas|since|despite|"
    r"as|when|which|once|after|before|fact|mainly|may|might|could|would|there|ask|asks|asked|enquire|wants?|wondered?)\b",
    re.IGNORECASE,
)
_CONTRAST = re.compile(r"\b(?:but|although|though|yet|however|whereas|while|either|both|nor|because)\b", re.IGNORECASE)
# Words that need the negation that would go: "not any", "not at all", "not until".
_NEED_NOT = re.compile(r"\b(?:any|at all|yet|ever|until|either|if|but)\b", re.IGNORECASE)


def negate(place: Place) -> list[Edit] | None:
    """Statements that say the opposite of what they said: "is comfortable" becomes "is not comfortable"."""
    found = [edit for sentence in sentences_of(place.text) if (edit := _turned(sentence.text, sentence.start))]
    return taken(place, found)


def opposite(sentence: str) -> str | None:
    """One sentence turned into its opposite, or None."""
    edit = _turned(sentence, 0)
    return None if edit is None else sentence[: edit.start] + edit.text + sentence[edit.end :]


def _turned(sentence: str, offset: int) -> Edit | None:
    if sentence.endswith("?") or "?" in sentence:
        return None
    negations = len(_NEGATION.findall(sentence))
    rules: tuple[Callable[[str], Edit | None], ...] = (_order_lifted, _not_removed) if negations == 1 else ()
    if not negations and not _says_no(sentence):
        rules = (_order_forbidden, _not_added, _do_not_added)
    for rule in rules:
        edit = rule(sentence)
        if edit is not None:
            return Edit(edit.start + offset, edit.end + offset, edit.text)
    return None


def _says_no(sentence: str) -> bool:
    return any(word in known("negating") for word in re.findall(r"[a-z]+", sentence.lower()))


def _order_lifted(sentence: str) -> Edit | None:
    match = re.match(r"(?:Do not|Don['’]t) ([a-z]+)\b", sentence)
    if match is None or match[1] not in known("imperatives") | {"push", "worry", "ignore"}:
        return None
    return Edit(0, match.start(1) + 1, match[1][0].upper())


def _order_forbidden(sentence: str) -> Edit | None:
    match = re.match(r"([A-Z][a-z]+) (?!of\b|and\b|is\b|are\b)", sentence)
    if match is None or match[1].lower() not in known("imperatives") or match[1] in {"Do", "Avoid", "Stop"}:
        return None
    joined = re.search(r"(?<!,) and ([a-z]+)\b", sentence)
    if (joined and joined[1] in known("imperatives")) or re.search(r"\b(?:caution|carefully|too|instead)\b", sentence):
        return None
    return Edit(0, 1, f"Do not {match[1][0].lower()}")


def _not_removed(sentence: str) -> Edit | None:
    match = re.search(
        r"\b(is|are|was|were|can|will|should|has|have|had)(?:n['’]t| ?not) (?!only\b|just\b|to\b)", sentence
    )
    if match is None or _uncertain(sentence, match.start()):
        return _do_not_removed(sentence)
    return None if _NEED_NOT.search(sentence, match.end()) else Edit(match.end(1), match.end() - 1, "")


def _do_not_removed(sentence: str) -> Edit | None:
    match = re.search(r"\b(do|does)(?:n['’]t| not) ([a-z]+)\b", sentence)
    if match is None or match[2] not in known("plain_verbs") or _uncertain(sentence, match.start()):
        return None
    if _NEED_NOT.search(sentence, match.end()):
        return None
    return Edit(match.start(), match.end(), match[2] if match[1] == "do" else _third_person(match[2]))


def _not_added(sentence: str) -> Edit | None:
    for match in _AUXILIARY.finditer(sentence):
        verb, following = match[1], match[2]
        if (
            following in known("no_not_before")
            or _uncertain(sentence, match.start())
            or _contrasted(sentence, match.end())
        ):
            continue
        if verb in {"has", "have", "had"} and not (following in known("participles") or following.endswith("ed")):
            continue
        if verb == "can":
            return Edit(match.end(1), match.end(1), "not")
        return Edit(match.end(1), match.end(1), " not")
    return None


def _do_not_added(sentence: str) -> Edit | None:
    for match in _PLAIN.finditer(sentence):
        subject, verb = match[1].lower(), match[2]
        base = _base(verb)
        if base is None or _uncertain(sentence, match.start(2)) or _contrasted(sentence, match.end()):
            continue
        if verb != base and (subject in known("third_person") or _noun_before(sentence, match.start(1))):
            return Edit(match.start(2), match.end(2), f"does not {base}")
        if verb == base and subject == "they":
            return Edit(match.start(2), match.end(2), f"do not {base}")
    return None


def _base(verb: str) -> str | None:
    for base in (verb, verb.removesuffix("s"), verb.removesuffix("es")):
        if base in known("plain_verbs"):
            return base
    return None


def _third_person(verb: str) -> str:
    return like(verb, verb + ("es" if verb.endswith(("s", "x", "ch", "sh", "o")) else "s"))


def _noun_before(sentence: str, at: int) -> bool:
    """Whether the word at this place is the noun of "the noun" or "its noun": a subject in the singular."""
    word = re.match(r"[A-Za-z]+", sentence[at:])
    before = re.search(r"\b(?:the|its|this|their)\s+(?:[a-z-]+\s+)?$", sentence[:at], re.IGNORECASE)
    return word is not None and before is not None and not word[0].endswith("s")


def _uncertain(sentence: str, at: int) -> bool:
    """Whether the words before the verb hedge, ask, or speak of a few: then the opposite may be true as well."""
    clause = re.split(r"[,;:(]", sentence[:at])[-1]
    if _HYPOTHETICAL.search(clause) or re.search(r"\b(?:whether|asks?|enquire|want to know)\b", sentence[:at]):
        return True
    return any(word in known("weak") for word in re.findall(r"[a-z]+", clause.lower()))


def _contrasted(sentence: str, at: int) -> bool:
    """Whether a "but" follows ("is not good but narrow" would mean something else), or only a few are spoken of."""
    clause = re.split(r"[,;:(]", sentence[at:])[0].lower()
    return _CONTRAST.search(sentence, at) is not None or bool(known("few") & set(re.findall(r"[a-z]+", clause)))
