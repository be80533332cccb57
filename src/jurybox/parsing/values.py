"""Reading what stands where a score belongs: `4`, `4/5`, `**4**`, `four`; and `4.5`, `8/10`, `80%`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from jurybox.types import SCALE, Verdict

LOW, HIGH = SCALE[0], SCALE[-1]


@dataclass(frozen=True, slots=True)
class Value:
    """A number given as a score. `score` is None when it is not a step of the scale; nothing is rounded.

    `comment` is what follows it in the same place ("4 - one unsupported claim").
    """

    score: int | None
    shown: str
    comment: str = ""
    spelled: bool = False

    def verdict(self, reason: str) -> Verdict:
        if self.score is not None:
            return Verdict("scored", float(self.score), reason)
        what = f"the answer gives {self.shown}, which is not a step of the scale {LOW}-{HIGH}"
        return Verdict("off_scale", reason=what)


PLAIN = {str(step): Value(step, str(step)) for step in SCALE}
WORDS = {
    word: number
    for number, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
}

# Digits are bounded: int() refuses thousands of them, and no score has more than a few.
_DIGITS = r"[+−-]?\d{1,18}(?:[.,]\d{1,18})?(?!\d)"
_NUMBER = rf"(?:{_DIGITS}|(?:{'|'.join(WORDS)})\b)"
# A word of a comment ("2 claims are invented"), as against one that belongs to a value ("5 stars").
_WORD = r"(?!(?:stars?|points?|out|of|or|if|when|maybe|perhaps)\b)[A-Za-z]"
# "4 - 5" is a range, "4 - 2 claims are invented" a value and its comment.
VALUE = re.compile(
    rf"(?P<number>{_NUMBER})"
    rf"(?:\s{{0,3}}(?:(?:[-–—~]\s{{0,3}}(?={_DIGITS}(?!\s{_WORD}))|to\s{{1,3}})(?P<upper>{_NUMBER})"
    rf"|(?:\(?out\s{{1,3}}of|/|of\b)\s{{0,3}}(?P<whole>{_NUMBER})\)?))?"
    r"\s?(?P<percent>%|percent\b)?(?:\s?(?:stars?|points?)\b)?",
    re.IGNORECASE,
)
# What may follow a value without changing it: nothing, a full stop, or a comment that is set off from it.
COMMENT = re.compile(
    rf"\s{{0,3}}(?:[.,;!]?\s*$|(?=\()|[-–—:;,.|]\s+(?=\D)|[-–—:]\s+(?=\d{{1,3}}\s{_WORD})|[-–—](?=[A-Za-z])"
    r"|(?=(?:because|since)\b))",
    re.IGNORECASE,
)
# "4, maybe 5" is two scores, not a score and a comment.
HEDGE = re.compile(
    r"\W{0,3}(?:or|maybe|perhaps|possibly|and|to)\b[^.\n]{0,20}?(?:\d|\b(?:one|two|three|four|five)\b)",
    re.IGNORECASE,
)
COMPLETE_TAG = re.compile(r"<\s{0,9}score\s{0,9}>([^<]{0,80})<\s{0,9}/\s{0,9}score\s{0,9}>", re.IGNORECASE)

# Markup around and inside a value is dropped; full-width punctuation becomes plain (int() reads the digits).
_MARKUP = str.maketrans("．／％－＋−（）：", "./%-+-():", "*_[]`{}\\")
_EDGES = " \t\r\n\"'“”‘’()"


def read_value(text: str) -> Value | None:
    """The number that `text` gives as a score, or None if it does not plainly give one."""
    plain = PLAIN.get(text)
    return plain if plain is not None else _read_decorated(text)


def _read_decorated(text: str) -> Value | None:
    tagged = COMPLETE_TAG.match(text[:160].strip())
    if tagged:
        text = tagged[1] + text.strip()[tagged.end() :]
    text = text.translate(_MARKUP).lstrip(_EDGES).rstrip()
    found = VALUE.match(text)
    if found is None:
        return None
    rest = text[found.end() :].lstrip("\"'”’)")
    comment = COMMENT.match(rest)
    if comment is None or HEDGE.match(rest, comment.end()):
        return None
    return _value(found, rest[comment.end() :].strip())


def _value(found: re.Match[str], comment: str) -> Value | None:
    number, shown = _number(found["number"]), found[0].strip()
    if found["upper"]:
        # "1-5" is the scale itself, left over from a template; any other range is between steps.
        whole_scale = (number, _number(found["upper"])) == (LOW, HIGH)
        return None if whole_scale else Value(None, shown, comment)
    other_scale = bool(found["percent"]) or (found["whole"] and _number(found["whole"]) != HIGH)
    score = int(number) if not other_scale and number in SCALE else None
    return Value(score, shown, comment, spelled=not any(character.isdigit() for character in shown))


def _number(text: str) -> float:
    word = WORDS.get(text.lower())
    return float(word) if word is not None else float(text.replace(",", "."))


def read_number(number: object) -> Value | None:
    """A JSON value as a score: a number or a string that holds one; true, false and null are none."""
    if isinstance(number, bool):
        return None
    if isinstance(number, int | float):
        shown = f"{number:g}" if abs(number) < 1e9 else "a huge number"
        return Value(int(number) if number in SCALE else None, shown)
    return read_value(number.strip()) if isinstance(number, str) else None


def echoes_of_scale(values: Sequence[Value | None]) -> set[int]:
    """Places where all five steps stand in order, up or down: the scale repeated, not a verdict.

    Any other order is not taken for the scale: five aspects rated before a last score may well differ.
    """
    echoes: set[int] = set()
    scores = [value.score if value else None for value in values]
    for start in range(len(scores) - len(SCALE) + 1):
        window = tuple(scores[start : start + len(SCALE)])
        if window == SCALE or window == SCALE[::-1]:
            echoes.update(range(start, start + len(SCALE)))
    return echoes
