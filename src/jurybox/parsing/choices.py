"""Answers of a duel, `reasoning, then Better- <choice>1</choice>`: the last choice that the judge itself gave.

Choices repeated from elsewhere (the format instruction, a quoted summary) are not answers. A model that forgot the tag
is read only where a line such as `Better: 2` ends the answer or is the only one. Nothing is guessed from prose.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from jurybox.parsing.quoting import Quotes
from jurybox.parsing.surroundings import EDGES, NEAR, in_one_statement, line_before, reason_around, stands_alone
from jurybox.types import FIRST, NEITHER, SECOND, Rubric, Verdict

TAG = re.compile(r"<\s{0,9}choice\s{0,9}>([^<]{0,80})<\s{0,9}/\s{0,9}choice\s{0,9}>", re.IGNORECASE)
# Tags of the format, not of an answer: `<choice></choice>`, `<choice>N</choice>`, `<choice>1, 2 or 0</choice>`.
PLACEHOLDER = re.compile(
    r"[\s.…_?\[\]{}()]*(?:(?:your |the |a )?(?:choice|answer|number)(?: here)?|[xn]"
    r"|(?:[012]|tie|neither)(?:\s{0,2}(?:,|/|\||or)\s{0,2}(?:or\s)?(?:[012]|tie|neither)){1,2})?[\s.…_?\[\]{}()]*",
    re.IGNORECASE,
)
# What stands where the choice belongs, once markup is gone.
_OF_TWO = r"(?:the\s)?(?:summary\s{0,2}[#_]?\s?)?(?:no\.?\s?)?"
MEANINGS = (
    (FIRST, re.compile(rf"{_OF_TWO}(?:1|one|first)(?:\s(?:summary|one))?", re.IGNORECASE)),
    (SECOND, re.compile(rf"{_OF_TWO}(?:2|two|second)(?:\s(?:summary|one))?", re.IGNORECASE)),
    (
        NEITHER,
        re.compile(
            r"0|zero|(?:a\s)?(?:tie|tied|draw)|neither(?:\s(?:of (?:them|the two)|summary|one))?|none|equal(?:ly good)?"
            r"|both(?:\s(?:are )?equal(?:ly good)?)?|no difference",
            re.IGNORECASE,
        ),
    ),
)
NUMBER = re.compile(r"[+−-]?\d{1,18}(?:[.,]\d{1,18})?")
# `1 (more faithful)`, `2 - it invents nothing`, `0. Both err twice.`: a choice and its comment.
COMMENT = re.compile(
    r"\s{0,3}(?:[.,;!]?$|\([^()]{0,70}\)\.?$|[-–—:;,.]\s(?!\s{0,3}(?:or|maybe|perhaps|and)\b)\D{1,70}$)"
)
_MARKUP = str.maketrans("（）：", "():", "*_[]`{}\\")
_EDGES = " \t\r\n\"'“”‘’"

# `Better- `, `**My choice:** `, `The better summary is `: what leads up to a choice.
_LABEL = (
    r"(?:(?:so|thus|therefore|hence|overall|my|the|final)[ ,*_]{1,3}){0,3}"
    r"(?:better(?:[ ]summary|[ ]one)?|choice|winner|verdict|answer|preference|preferred[ ]summary)\b"
)
OWN_LABEL = re.compile(rf"[\s*_#]{{0,9}}{_LABEL}[\s*_]{{0,4}}(?:[:：=–—-]|is\b)?[\s*_]{{0,4}}", re.IGNORECASE)
LABEL = re.compile(rf"\b{_LABEL}(?:\W|\b(?:is|be|would)\b){{0,10}}$", re.IGNORECASE)
# Only words without content may stand between such a marker and the tag.
_FILLER = (
    r"(?:[^\w\n]|\b(?:better|choice|answer|final|the|an?|of|in|is|as|be|like|following|format|form|tags?|single|strictly"
    r"|given|this|line|last|only|prints?|outputs?|give|with|to|choose|me|us|you)\b)*$"
)
NOT_GIVEN = re.compile(
    r"(?:\be\.?g\b|\bfor instance\b|\bexample\b|\bformat(?:ted)?\b|\bin (?:exactly )?(?:the|this) form\b|\bsuch as\b"
    r"|\bmust be\b|\bstrictly\b|\bnot\b|\bnever\b|\brather than\b|\binstead of\b"
    r"|\b(?:says?|said|states?|reads?|writes?|wrote|claims?|contains?|includes?|demands?|asks?|tells?)\b)" + _FILLER,
    re.IGNORECASE,
)
# `<choice>1</choice> if the first is better`, `<choice>1</choice> - the first …`: what a choice stands for.
DESCRIPTION = re.compile(r"[ \t*_]{0,4}(?:[-–—:：=]|means\b|if\b|when\b|for\b)[ \t*_]{0,4}\w", re.IGNORECASE)
CONDITION = re.compile(r"[ \t*_]{0,4}(?:means|if|when)\b", re.IGNORECASE)
# A lone "or" joins two tags even across lines.
JOINED = re.compile(r"[\s*_]*(?:or|and|/)[\s*_]*", re.IGNORECASE)
# A choice without a tag: `Better: 2`, `**Winner**- Summary 1`.
LINE = re.compile(
    rf"^[ \t*_#•+-]{{0,12}}{_LABEL}[*_ \t]{{0,6}}(?:[:：=–—-]|is\b)[*_ \t]{{0,6}}(?P<value>[^\n]{{0,200}})",
    re.IGNORECASE | re.MULTILINE,
)
TRAILING_LABEL = re.compile(rf"(?:^|(?<=[\s*_#>])){_LABEL}(?:[\s*_:：=–—-]|is\b){{0,12}}$", re.IGNORECASE)

NO_CHOICE = Verdict("unparsed", reason="no choice in the answer")
ONLY_REPEATED = Verdict("unparsed", reason="the answer only quotes or repeats choices, it makes none")
AMBIGUOUS = Verdict("unparsed", reason="the answer ends in two different choices")
NOT_A_CHOICE = Verdict("unparsed", reason="the choice tag names neither summary")


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen; `preference` is None for a number that stands for no choice."""

    preference: float | None
    shown: str

    def verdict(self, reason: str) -> Verdict:
        if self.preference is not None:
            return Verdict("scored", self.preference, reason)
        return Verdict("off_scale", reason=f"the answer gives {self.shown}, which is none of 1, 2 and 0")


def read_choice(text: str, rubrics: Sequence[Rubric], cut: bool) -> dict[str, Verdict]:
    """The one choice for the one rubric of a duel."""
    verdict = _read(text, cut)
    return {rubric.name: verdict for rubric in rubrics}


def read_meaning(text: str) -> Choice | None:
    """Which summary `text` names, or None if it does not plainly name one."""
    plain = text.translate(_MARKUP).strip(_EDGES)
    for preference, words in MEANINGS:
        found = words.match(plain)
        if found and COMMENT.match(plain, found.end()):
            return Choice(preference, found[0])
    number = NUMBER.match(plain)
    if number and COMMENT.match(plain, number.end()):
        return _by_number(number[0])
    return None


def _by_number(shown: str) -> Choice:
    """`1.0` is 1, `１` too; 3, -1 and 1.5 are no choice."""
    known = {0.0: NEITHER, 1.0: FIRST, 2.0: SECOND}
    return Choice(known.get(float(shown.replace("−", "-").replace(",", "."))), shown)


def _read(text: str, cut: bool) -> Verdict:
    tags = [tag for tag in TAG.finditer(text) if not PLACEHOLDER.fullmatch(tag[1])]
    quotes = Quotes(text)
    for index in range(len(tags) - 1, -1, -1):
        if _is_given(text, tags[index], quotes, cut):
            return _verdict(text, tags, index, quotes)
    unread = ONLY_REPEATED if tags else NO_CHOICE
    return unread if cut or tags else _read_untagged(text, quotes) or unread


def _is_given(text: str, tag: re.Match[str], quotes: Quotes, cut: bool) -> bool:
    """Whether the judge makes this choice, as far as the tag's own line tells."""
    before = line_before(text, tag.start())
    if quotes.cover(tag.start()) or CONDITION.match(text, tag.end()):
        return False
    if OWN_LABEL.fullmatch(before):
        return True
    if NOT_GIVEN.search(before):
        return False
    if LABEL.search(before):
        return True
    return not DESCRIPTION.match(text, tag.end()) and (not cut or stands_alone(text, tag))


def _verdict(text: str, tags: list[re.Match[str]], index: int, quotes: Quotes) -> Verdict:
    tag = tags[index]
    choice = read_meaning(tag[1])
    if choice is None:
        return NOT_A_CHOICE
    if index and _disagree(text, tags[index - 1], tag, choice, quotes):
        return AMBIGUOUS
    return choice.verdict(reason_around(text, tag.start(), tag.end(), TRAILING_LABEL))


def _disagree(text: str, first: re.Match[str], last: re.Match[str], choice: Choice, quotes: Quotes) -> bool:
    """`<choice>1</choice> or <choice>2</choice>`: two choices in one statement, neither ruled out."""
    if not in_one_statement(text, first, last, JOINED):
        return False
    other = read_meaning(first[1])
    if other is None or other.preference == choice.preference:
        return False
    return not quotes.cover(first.start()) and NOT_GIVEN.search(line_before(text, first.start())) is None


def _read_untagged(text: str, quotes: Quotes) -> Verdict | None:
    """A whole answer that is a choice, or a line that makes one and ends the answer or is the only one."""
    whole = read_meaning(text.strip(EDGES)) if len(text) < NEAR else None
    if whole is not None:
        return whole.verdict("")
    lines = [(line, choice) for line in LINE.finditer(text) if (choice := _on_line(line, quotes))]
    if not lines:
        return None
    line, choice = lines[-1]
    if len(lines) > 1 and text[line.end() :].strip(EDGES):
        return None
    return choice.verdict(reason_around(text, line.start(), line.end(), TRAILING_LABEL))


def _on_line(line: re.Match[str], quotes: Quotes) -> Choice | None:
    return None if quotes.cover(line.start("value")) else read_meaning(line["value"])
