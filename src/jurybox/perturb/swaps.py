"""Facts replaced by others of their sort: a name, a number, a unit, a dose. The new one is not in the source."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jurybox.language import stem, words
from jurybox.perturb.change import Edit, Place
from jurybox.perturb.numbers import numbers_in, other_number
from jurybox.perturb.texts import all_stems, sentences_of, source_text, source_texts, starts_with_vowel, taken
from jurybox.perturb.vocabulary import groups, known, listed, pairs

_NUMBER = r"(?:\d+(?:[.,]\d+)?|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|forty|fifty)"

# A span of time in the singular stands behind "a" or a hyphen: "within a week", "a nine-hour flight".
_SPANS = frozenset(("second", "minute", "hour", "day", "week", "month", "year"))


def swap_entity(place: Place) -> list[Edit] | None:
    """A brand, a material, a colour, a person or another thing becomes another of its sort, wherever it is named."""
    found = [edits for edits in (*_things(place), *_brands(place)) if edits]
    chosen = taken(place, found)
    return None if chosen is None else [edit for edits in chosen for edit in edits]


def _things(place: Place) -> Iterator[list[Edit]]:
    backed = all_stems(source_text(place.item))
    written = backed | all_stems(place.text)
    spoken = set(words(place.text))
    used: set[str] = set()
    for group in groups("sorts"):
        for old in group:
            if old not in spoken or old in used or stem(old) not in backed:
                continue
            fresh = [new for new in group if stem(new) not in written and new not in used]
            if not fresh:
                continue
            new = place.rng.choice(fresh)
            used |= {old, new}
            yield _everywhere(place.text, old, new)


def _brands(place: Place) -> Iterator[list[Edit]]:
    starts = {sentence.start for sentence in sentences_of(place.text)}
    title = " ".join(source_texts(place.item, "product_title")).split()[:1]
    # A capital inside a sentence that follows no other capital may be a brand; "Lake District" keeps its second word.
    names = list(re.finditer(r"\b[A-Z][a-z]{3,}\b", place.text))
    inside = [
        match[0] for match in names if match.start() not in starts and not _after_capital(place.text, match.start())
    ]
    for old in dict.fromkeys((*(match[0] for match in names if match[0] in title), *inside)):
        if old.lower() in known("no_brand") or not _is_name(place, old):
            continue
        yield _everywhere(place.text, old, place.rng.choice(listed("brands")))


def _after_capital(text: str, at: int) -> bool:
    return re.search(r"\b[A-Z]\w* $", text[:at]) is not None and re.search(r"\bThe $", text[:at]) is None


def _is_name(place: Place, word: str) -> bool:
    source = source_text(place.item)
    titled = word in " ".join(source_texts(place.item, "product_title")).split()[:1]
    often = sum(_word(word).search(text) is not None for text in source_texts(place.item)) >= 2
    lower = word.lower()
    common = re.search(rf"\b{lower}\b", source) or stem(lower) in {
        stem(old) for group in groups("sorts") for old in group
    }
    return (titled or often) and not common


def _everywhere(text: str, old: str, new: str) -> list[Edit]:
    """Every place where the word stands, or none if an article before one of them would be wrong."""
    # "green tea" and "cold white" are names of other things than a colour.
    places = [
        match for match in _word(old).finditer(text) if not re.match(r" (?:tea|light|taste)\b", text[match.end() :])
    ]
    places = [
        match
        for match in places
        if not re.search(r"\b(?:cold|warm|sky|apple|green|stainless) $", text[: match.start()])
    ]
    for match in places:
        if re.search(r"\ban?\s+$", text[: match.start()], re.IGNORECASE) and starts_with_vowel(
            old
        ) != starts_with_vowel(new):
            return []
    return [Edit(match.start(), match.end(), new) for match in places]


def _word(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")


def swap_number(place: Place) -> list[Edit] | None:
    """A number becomes another one, plausible and nowhere in the source."""
    return taken(place, _numbers(place))


def _numbers(place: Place) -> list[Edit]:
    avoid = source_text(place.item) + "\n" + place.text
    edits = []
    for match in numbers_in(place.text):
        new = other_number(match, avoid, place.rng)
        if new is not None:
            edits.append(Edit(match.start(), match.end(), new))
            avoid += "\n" + new
    return edits


def swap_unit(place: Place) -> list[Edit] | None:
    """A unit becomes another of the same measure: minutes become hours."""
    return taken(place, _units(place))


def _units(place: Place) -> list[Edit]:
    source = source_text(place.item).lower()
    edits: dict[int, Edit] = {}
    for group in groups("units"):
        for old in group:
            for match in re.finditer(_counted(old), place.text):
                fresh = [new for new in _beside(group, old) if f"{match['count']}{new}".lower() not in source]
                fresh = (
                    [new for new in fresh if starts_with_vowel(new) == starts_with_vowel(old)]
                    if "a" in match["count"].split()
                    else fresh
                )
                if match.start("unit") not in edits and fresh and old.rstrip("s") in source:
                    start, end = match.span("unit")
                    edits[start] = Edit(start, end, place.rng.choice(fresh))
    return [edits[start] for start in sorted(edits)]


def _beside(group: tuple[str, ...], unit: str) -> list[str]:
    """The next smaller and the next larger unit: seven weeks may become seven days or months, never seven seconds."""
    at = group.index(unit)
    return [*group[max(0, at - 1) : at], *group[at + 1 : at + 2]]


def _counted(unit: str) -> str:
    """The unit where it is certain that it is one: behind a number, behind "a", or an adverb of how often."""
    if unit.endswith("ly"):
        return rf"(?P<count>)\b(?P<unit>{unit})\b"
    if unit in _SPANS:
        count = rf"(?:within|inside|about|after|nearly|over) an? |(?:\b{_NUMBER})-"
        return rf"\b(?P<count>{count})(?P<unit>{unit})\b(?![ -]old)"
    return rf"(?<![\w.])(?P<count>{_NUMBER} ?(?:more )?)(?P<unit>{unit})\b(?![ -]old)"


def swap_dose(place: Place) -> list[Edit] | None:
    """How much or how often something is taken or done becomes another figure: "every other day", "two tablets"."""
    source = source_text(place.item).lower()
    edits: list[Edit] = []
    for old, new in pairs("doses").items():
        for match in re.finditer(rf"(?<![\w-]){re.escape(old)}(?![\w-])", place.text, re.IGNORECASE):
            if new not in source and not any(edit.start < match.end() and match.start() < edit.end for edit in edits):
                edits.append(
                    Edit(match.start(), match.end(), new[0].upper() + new[1:] if match[0][0].isupper() else new)
                )
    edits += [
        edit
        for edit in _milligrams(place)
        if not any(edit.start < other.end and other.start < edit.end for other in edits)
    ]
    return taken(place, sorted(edits, key=lambda edit: edit.start))


def _milligrams(place: Place) -> list[Edit]:
    avoid = source_text(place.item) + "\n" + place.text
    edits = []
    for match in numbers_in(place.text):
        follows = re.match(
            r" ?(?:mg|mcg|µg|ml|IU|tablets|capsules|drops|puffs|sprays|teaspoons|pills)\b", place.text[match.end() :]
        )
        new = other_number(match, avoid, place.rng) if follows else None
        if new is not None:
            edits.append(Edit(match.start(), match.end(), new))
    return edits
