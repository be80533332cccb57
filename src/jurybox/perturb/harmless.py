"""Edits that must not move a score: white space, marks, order, and words that say the same.

Each rubric that an edit spares says in its own definition that such a thing does not count; a rubric that might
honestly count it (filler for relevance, wording for fluency) is left out. The words are in `harmless.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from jurybox.language import seems_english, sentences
from jurybox.perturb.change import Edit, Kind, Made, Place
from jurybox.perturb.orders import shuffled

_SUMMARY_ALONE = ("fluency", "coherence", "redundancy")
_READ_REVIEWS = ("aspect_coverage", "faithfulness", "sentiment_consistency", "relevance", "specificity")
_READ_ANSWERS = ("extraneous_information", "contradiction", "perspective_misalignment", "omission")
ALL = (*_READ_REVIEWS, *_READ_ANSWERS, *_SUMMARY_ALONE)

_BULLET = re.compile(r"(?m)^[ \t]*([-*•–])(?=[ \t]+\S)")
_BULLETS = ("-", "*", "•")
_SINGLE_SPACE = re.compile(r"(?<=\S) (?=\S)")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
# A mark after a digit may stand for feet, inches or minutes.
_QUOTE_OR_DASH = re.compile(r"(?<!\d)['‘’]|(?<!\d)[\"“”]|(?<= )[-–—](?= )|(?<=\w)—(?=\w)")
_APOSTROPHE_FIRST = re.compile(r"'(?:tis|twas|em|til|cause|n|\d+s?)\b", re.IGNORECASE)
_CAPITALISED = re.compile(r" [A-Z][a-z]")
_QUOTATION = re.compile(r'"[^"]*"|“[^”]*”')
_CURLY, _STRAIGHT = {"'": "‘’", '"': "“”"}, {"‘": "'", "’": "'", "“": '"', "”": '"'}
_DASHES = {"-": "–", "–": "-", "—": "–"}


def _white_space(place: Place) -> Made:
    gaps = [found.start() for found in _SINGLE_SPACE.finditer(place.text)]
    some = place.rng.sample(gaps, min(len(gaps), 1 + len(gaps) // 10))
    return [Edit(at, at + 1, "  ") for at in some]


def _line_breaks(place: Place) -> Made:
    spans = _whole_sentences(place.text)
    return [Edit(end, start, "\n") for (_, end), (start, _) in pairwise(spans)]


def _trailing_newline(place: Place) -> Made:
    return [Edit(len(place.text), len(place.text), "\n")]


def _quotes_and_dashes(place: Place) -> Made:
    return [Edit(found.start(), found.end(), _twin(place.text, found)) for found in _QUOTE_OR_DASH.finditer(place.text)]


def _twin(text: str, found: re.Match[str]) -> str:
    mark, at = found[0], found.start()
    if mark in _STRAIGHT:
        return _STRAIGHT[mark]
    if mark in _DASHES:
        return _DASHES[mark] if text[at - 1] == " " else f" {_DASHES[mark]} "
    opens = (
        (at == 0 or text[at - 1] in " \t\n([")
        and text[at + 1 : at + 2].strip()
        and not _APOSTROPHE_FIRST.match(text, at)
    )
    return _CURLY[mark][0 if opens else 1]


def _bullet_marks(place: Place) -> Made:
    found = list(_BULLET.finditer(place.text))
    if len(found) < 2:
        return None
    mark = place.rng.choice([mark for mark in _BULLETS if mark != found[0][1]])
    return [Edit(*bullet.span(1), mark) for bullet in found]


def _list(place: Place) -> Made:
    spans = _whole_sentences(place.text)
    if len(spans) < 2 or "\n" in place.text.strip():
        return None
    between = pairwise(spans)
    return [Edit(spans[0][0], spans[0][0], "- "), *(Edit(end, start, "\n- ") for (_, end), (start, _) in between)]


def _synonym(place: Place) -> Made:
    found = list(_synonyms(place.text))
    return [place.rng.choice(found)] if found else None


def _synonyms(text: str) -> Iterator[Edit]:
    """Every place where a word of the table can be exchanged, outside quotations."""
    table = _words()["synonyms"]
    begins = {start for start, _ in sentences(text)}
    quoted = [found.span() for found in _QUOTATION.finditer(text)]
    for found in _any_of("synonyms").finditer(text):
        start, end, new = *found.span(), table[_plain(found[0])]
        # A capital within a sentence, or two in a row: part of a name.
        named = found[0][0].isupper() and (start not in begins or _CAPITALISED.match(text, end) is not None)
        inside = any(left <= start < right for left, right in quoted)
        if not named and not inside and _fits(found[0], new, text[:start], text[end:]):
            yield Edit(start, end, _in_case(new, found[0]))


def _fits(old: str, new: str, before: str, after: str) -> bool:
    """Whether a synonym goes with its neighbours: no negation, no other article, no word of its own family close by."""
    left, right = ([word.lower() for word in _WORD.findall(part)] for part in (before[-40:], after[:40]))
    last, following = left[-1] if left else "", right[0] if right else ""
    unless = _words()["unless"]
    if last in unless["after"] or last.endswith(("n't", "n’t")) or following in unless["before"]:
        return False
    if last in ("a", "an") and (old[0].lower() in "aeiou") != (new[0] in "aeiou"):
        return False
    family = max(_WORD.findall(new), key=len)[:3]
    return not any(word.startswith(family) for word in (*left[-5:], *right[:5]))


def _contractions(place: Place) -> Made:
    text, tables = place.text, _words()
    turned, before_is = set(tables["turned_round"]["before"]), set(tables["contractions_of_is"]["before"])
    questions = [(start, end) for start, end in sentences(text) if "?" in text[start:end]]
    made = []
    for group in ("contractions", "contractions_of_is"):
        for found in _any_of(group).finditer(text):
            following = _WORD.match(text, found.end() + 1)
            word = following[0].lower() if following else ""
            fits = word in before_is if group == "contractions_of_is" else word not in turned
            if fits and not any(start <= found.start() < end for start, end in questions):
                made.append(Edit(found.start(), found.end(), _in_case(tables[group][_plain(found[0])], found[0])))
    return made


def _polite(place: Place) -> Made:
    if not seems_english(place.text):
        return None
    frames = _words()["polite"]
    if place.rng.random() < 0.5:
        return [Edit(0, 0, f"{place.rng.choice(frames['before'])} ")]
    end = len(place.text.rstrip())
    return [Edit(end, end, f" {place.rng.choice(frames['after'])}")] if place.text[:end].endswith((".", "!")) else None


def _padding(place: Place) -> Made:
    """A clause in front of so many sentences as the dose says, none of the clauses twice."""
    table = _words()["padding"]
    plain = set(table["beginnings"])
    starts = []
    for start, end in _whole_sentences(place.text):
        first = _WORD.match(place.text, start)
        is_plain = first is not None and first[0].istitle() and first[0].lower() in plain
        if is_plain and not place.text[start:end].endswith("?"):
            starts.append(start)
    if len(starts) < place.dose:
        return None
    chosen = zip(
        sorted(place.rng.sample(starts, place.dose)), place.rng.sample(table["clauses"], place.dose), strict=True
    )
    return [Edit(at, at + 1, f"{clause[0].upper()}{clause[1:]} {place.text[at].lower()}") for at, clause in chosen]


def _whole_sentences(text: str) -> list[tuple[int, int]]:
    """Sentences that can be told apart with certainty; none at all where quotation marks or brackets reach over two."""
    abbreviations = set(_words()["abbreviations"]["words"])
    found: list[tuple[int, int]] = []
    for start, end in sentences(text):
        if found and "\n" not in text[found[-1][1] : start]:
            last = text[found[-1][0] : found[-1][1]].rstrip(".").rpartition(" ")[2].lower().lstrip("(\"'")
            if last in abbreviations or len(last) == 1 or not (text[start].isupper() or text[start] in "\"“‘'"):
                found[-1] = (found[-1][0], end)
                continue
        found.append((start, end))
    return found if all(_closed(text[start:end]) for start, end in found) else []


def _closed(sentence: str) -> bool:
    return sentence.count('"') % 2 == 0 and all(sentence.count(a) == sentence.count(b) for a, b in ("()", "“”", "[]"))


def _in_case(new: str, old: str) -> str:
    """The new words with the capitals of the old ones."""
    letters = [letter for letter in old if letter.isalpha()]
    if len(letters) > 1 and all(map(str.isupper, letters)):
        return new.upper()
    return new[0].upper() + new[1:] if old[0].isupper() else new


def _plain(word: str) -> str:
    return word.lower().replace("’", "'")


@cache
def _any_of(group: str) -> re.Pattern[str]:
    """Any of a table's keys as whole words, the longest first; not as part of a compound."""
    keys = sorted((key for key in _words()[group] if key != "before"), key=len, reverse=True)
    choice = "|".join(re.escape(key).replace("'", "['’]") for key in keys)
    return re.compile(rf"(?<![\w'’-])(?:{choice})(?![\w'’]|-\w)(?=\s|[^\w\s])", re.IGNORECASE)


@cache
def _words() -> dict[str, Any]:
    return tomllib.loads(files("jurybox.perturb").joinpath("harmless.toml").read_text("utf-8"))


def _without(*names: str) -> tuple[str, ...]:
    return tuple(name for name in ALL if name not in names)


HARMLESS: tuple[Kind, ...] = (
    Kind("white_space", _white_space, "some single spaces become double", spares=ALL),
    Kind("line_breaks", _line_breaks, "every sentence begins a new line", spares=ALL),
    Kind("trailing_newline", _trailing_newline, "a line break at the very end", spares=ALL),
    Kind(
        "quotes_and_dashes",
        _quotes_and_dashes,
        "straight quotes become curly and the reverse, likewise dashes",
        spares=ALL,
    ),
    Kind("bullet_marks", _bullet_marks, "another mark before every entry of a list", spares=ALL),
    Kind("as_list", _list, "every sentence becomes an entry of a list", spares=_without("coherence")),
    Kind("review_order", shuffled("reviews"), "the reviews in another order", spares=_READ_REVIEWS),
    Kind("answer_order", shuffled("answers"), "the answers in another order", spares=_READ_ANSWERS),
    Kind(
        "specification_order", shuffled("specifications"), "the specifications in another order", spares=_READ_REVIEWS
    ),
    Kind("contractions", _contractions, "contractions are written out", spares=ALL),
    Kind("synonym", _synonym, "one word becomes another that says the same", spares=ALL),
    Kind(
        "polite_framing",
        _polite,
        "a polite sentence before or after the summary",
        spares=_without("relevance", "specificity", "coherence", "perspective_misalignment"),
    ),
    Kind(
        "padding",
        _padding,
        "empty clauses before sentences, as many as the dose",
        spares=_without("relevance", "fluency"),
        doses=(1, 2, 3),
    ),
)
