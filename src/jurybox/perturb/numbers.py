"""Numbers in a text that can be exchanged, and for each a believable other one."""

from __future__ import annotations

import random
import re

_WORDS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twelve": 12,
    "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
}  # fmt: skip
_SPELLED = {value: word for word, value in _WORDS.items()}
_NUMBER = re.compile(
    rf"(?<![\w.,/+-])(?:\d{{1,3}}(?:,\d{{3}})+|\d+(?:\.\d+)?|{'|'.join(_WORDS)})(?=$|[^\w/'’]|am\b|pm\b)(?!\.\d|,\d|%?\+)",
    re.IGNORECASE,
)
# Counted within something that a larger number would make impossible, or part of a saying.
_FIXED = re.compile(r" ?(?:out of|and a half|of the|ways|thirds|of \w+ (?:stars|times)|-way|-in-one|in one)\b")
_FACTORS = (0.5, 0.6, 1.4, 1.5, 1.6, 2.0, 2.5)
_STEPS = (-3, -2, 2, 3, 4)


def numbers_in(text: str) -> list[re.Match[str]]:
    """Numbers that count or measure something; not those in names (Drift 2, BD18), years, scores out of ten, or one."""
    return [match for match in _NUMBER.finditer(text) if not _named(text, match) and not _is_fixed(text, match)]


def _named(text: str, match: re.Match[str]) -> bool:
    """Whether a capitalised word stands before the digits, so that they belong to a name: Drift 2."""
    before = re.search(r"(\S+) $", text[: match.start()])
    capital = before is not None and before[1][0].isupper() and before[1].isalnum() and match[0][0].isdigit()
    return (
        capital
        and before is not None
        and before[1].lower() not in {"at", "after", "about", "only", "over", "the", "within"}
    )


def _is_fixed(text: str, match: re.Match[str]) -> bool:
    year = re.fullmatch(r"(?:19|20)\d\d", match[0]) is not None
    after_one = re.search(r"\b(?:out of|one of|and) $", text[: match.start()]) is not None
    single = match[0].lower() in {"0", "1", "100"}
    return year or single or after_one or _FIXED.match(text, match.end()) is not None


def other_number(match: re.Match[str], avoid: str, rng: random.Random) -> str | None:
    """Another number in the same spelling that stands nowhere in `avoid`, neither in digits nor in words."""
    old = match[0]
    text = match.string
    values = _near_words(_WORDS[old.lower()]) if old.lower() in _WORDS else _near_digits(old)
    article = re.search(r"\ban?\s+$", text[: match.start()], re.IGNORECASE)
    if re.match(r"[ -]?(?:stars?\b|am\b|pm\b)", text[match.end() :]):
        values = [
            value
            for value in ("2", "3", "4", "7", "9")
            if value != old and (int(value) < 5 or "star" not in text[match.end() :][:6])
        ]
    free = [new for new in values if not _stands(new, avoid) and not (article and _sounds(new) != _sounds(old))]
    if not free:
        return None
    new = rng.choice(free)
    return new.capitalize() if old[0].isupper() else new


def _near_words(value: int) -> list[str]:
    numbers = sorted(_SPELLED)
    place = numbers.index(value)
    return [_SPELLED[number] for number in numbers[max(0, place - 3) : place + 5] if number != value]


def _near_digits(old: str) -> list[str]:
    value = float(old.replace(",", ""))
    decimals = len(old.partition(".")[2])
    # Small figures are sizes and counts: a step up or down is believable, a multiple is not.
    small = 3 < value <= 12
    near = [value + step for step in _STEPS] if small else [_rounded(value * by, value, decimals) for by in _FACTORS]
    fresh = [new for new in near if new > 1 and abs(new - value) >= 10**-decimals]
    return list(dict.fromkeys(f"{new:,.{decimals}f}" if "," in old else f"{new:.{decimals}f}" for new in fresh))


def _rounded(new: float, like: float, decimals: int) -> float:
    """As round as the number it stands for: 600 becomes 900 and not 937."""
    if decimals:
        return new
    step = 10 if like % 10 == 0 else 5 if like % 5 == 0 else 1
    return round(new / step) * step


def _stands(new: str, avoid: str) -> bool:
    digits = new.lower() if new[0].isdigit() else str(_WORDS[new.lower()])
    word = _SPELLED.get(int(digits), digits) if digits.isdigit() else digits
    return (
        re.search(rf"(?<![\w.,])(?:{re.escape(digits)}|{re.escape(word)})(?![\w]|[.,]\d)", avoid, re.IGNORECASE)
        is not None
    )


def _sounds(number: str) -> bool:
    """Whether the number, read aloud, begins with a vowel: eight, eleven, eighteen, eighty."""
    return number.lower().startswith(("8", "eight")) or number in {"11", "18"}
