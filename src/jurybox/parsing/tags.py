"""Answers of the kind `reasoning, then Score- <score>4</score>`: the last tag that the judge itself gave.

Tags repeated from elsewhere (the scale, the format instruction, a quoted review) are not answers.
A model that forgot the tag is read only where a score line ends the answer or is the only one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from jurybox.parsing.forms import NEXT_LINE, read_form
from jurybox.parsing.quoting import Quotes
from jurybox.parsing.surroundings import EDGES, NEAR, in_one_statement, line_before, reason_around, stands_alone
from jurybox.parsing.values import COMPLETE_TAG, Value, echoes_of_scale, read_value
from jurybox.types import Rubric, Verdict

# Tags of the format, not of an answer: `<score></score>`, `<score>X</score>`, `<score>1-5</score>`.
PLACEHOLDER = re.compile(
    r"[\s.…_?\[\]{}()]*(?:(?:your |the |a )?(?:score|rating|number|integer)(?: here)?|[xn]|1\s?[-–]\s?5)?"
    r"[\s.…_?\[\]{}()]*",
    re.IGNORECASE,
)
# `Score- `, `**Final score:** `, `Score for Fluency: `, `a score of `, directly before a tag.
LABEL = re.compile(
    r"\b(?:score|rating|grade|verdict|answer)\b(?:[^.!?\n<]{0,50}[:=–—-])?(?:\W|\b(?:is|of|as|be|would|a)\b){0,10}$",
    re.IGNORECASE,
)
# The same as the whole beginning of a line: the common case, with nothing before it to be doubted.
OWN_LABEL = re.compile(r"[\s*_#]{0,9}(?:final |overall )?score[\s*_]{0,4}[:=–—-]?[\s*_]{0,4}", re.IGNORECASE)
# Only words without content may stand between such a marker and the tag: in "it omits aspects such as
# battery life. Score- <score>3</score>" the marker belongs to the reasoning.
_FILLER = (
    r"(?:[^\w\n]|\b(?:score|rating|final|the|an?|of|in|is|as|be|like|following|format|form|tags?|single|strictly"
    r"|given|this|written|quite|full|perfect|only|out|prints?|outputs?|give|with|to|assign|judge|me|us|you)\b)*$"
)
# The format instruction repeated ("strictly in the format: Score- <score>5</score>", "e.g Score- …"), a score
# that is ruled out ("rather than <score>5</score>"), and words put into another's mouth.
NOT_GIVEN = re.compile(
    r"(?:\be\.?g\b|\bfor instance\b|\bexample\b|\bformat(?:ted)?\b|\bin the form\b|\bsuch as\b"
    r"|\bmust be\b|\bstrictly\b|\bnot\b|\bnever\b|\brather than\b|\binstead of\b"
    r"|\b(?:says?|said|states?|reads?|writes?|wrote|claims?|contains?|includes?|demands?|asks?|tells?)\b)" + _FILLER,
    re.IGNORECASE,
)
# A source of the material that speaks in the same sentence as an unlabelled tag.
REPORTED = re.compile(
    r"\b(?:review(?:er)?s?|customers?|users?|buyers?)\b[^.!?\n]{0,20}"
    r"(?::|\b(?:says?|said|states?|reads?|writes?|wrote|claims?|contains?|includes?|asks?|tells?)\b)"
    r"[^\n.]{0,90}$",
    re.IGNORECASE,
)
# `<score>1</score> - The metric is not followed at all`: a step of the scale and its description.
DESCRIPTION = re.compile(r"[ \t*_]{0,4}(?:[-–—:：=]|means\b)[ \t*_]{0,4}\w", re.IGNORECASE)
# `<score>4</score>/10`, `<score>4</score>.5`: the value goes on behind the tag.
CONTINUATION = re.compile(r"\s{0,2}(?:/\s{0,2}|out of )\d{1,4}|\.\d{1,4}")
# A lone "or" joins two tags even across lines.
JOINED = re.compile(r"[\s*_]*(?:or|and|to)[\s*_]*", re.IGNORECASE)

# A score line without a tag: `Score: 4`, `**Final Score**- 4/5`, `The overall rating is 4.`
SCORE_LINE = re.compile(
    r"^[ \t*_#•+-]{0,12}(?:\d{1,2}[.)][ \t*_]{0,4})?"
    r"(?:(?:so|thus|therefore|hence|overall|my|the|final|total|numeric|assigned|summary)[ ,*_]{1,3}){0,4}"
    r"(?:score|rating|grade)\b(?:[ ]for[ ][^:\n=]{1,60}?)?[ ]{0,2}(?:\(1[^)\n]{1,8}5\))?[*_ \t]{0,6}"
    r"(?:[:：=–—-]|is\b)[*_ \t]{0,6}(?P<value>[^\n]{0,200})",
    re.IGNORECASE | re.MULTILINE,
)
# The label that leads up to the tag is no part of the reasoning.
TRAILING_LABEL = re.compile(
    r"(?:^|(?<=[\s*_#>]))(?:(?:so|thus|therefore|hence|the|my|final|overall)[ ,*_]{1,3}){0,3}"
    r"(?:score|rating|grade)(?:[ ]for[ ][^:\n=.]{1,60})?(?:[\s*_:：=–—-]|is\b|of\b){0,12}$",
    re.IGNORECASE,
)

NO_SCORE = Verdict("unparsed", reason="no score in the answer")
ONLY_REPEATED = Verdict("unparsed", reason="the answer only quotes or repeats scores, it gives none")
AMBIGUOUS = Verdict("unparsed", reason="the answer ends in two different scores")
NO_NUMBER = Verdict("unparsed", reason="the score tag holds no number")


def read_tag(text: str, rubrics: Sequence[Rubric], cut: bool) -> dict[str, Verdict]:
    """One tag for one rubric; several rubrics in one answer must name theirs, as a form does."""
    if len(rubrics) != 1:
        return read_form(text, rubrics, cut)
    return {rubrics[0].name: _read_one(text, cut)}


def _read_one(text: str, cut: bool) -> Verdict:
    tags = [tag for tag in COMPLETE_TAG.finditer(text) if not PLACEHOLDER.fullmatch(tag[1])]
    own = _without_scale(text, tags)
    quotes = Quotes(text)
    for index in range(len(own) - 1, -1, -1):
        if _is_given(text, own[index], quotes, cut):
            return _verdict(text, own, index, quotes)
    unread = ONLY_REPEATED if tags else NO_SCORE
    return unread if cut else _read_untagged(text) or unread


def _without_scale(text: str, tags: list[re.Match[str]]) -> list[re.Match[str]]:
    if len(tags) < 5:
        return tags
    echoes = echoes_of_scale([read_value(tag[1]) for tag in tags])
    return [tag for index, tag in enumerate(tags) if index not in echoes]


def _is_given(text: str, tag: re.Match[str], quotes: Quotes, cut: bool) -> bool:
    """Whether the judge gives this tag as its verdict, as far as the tag's own line tells."""
    before = line_before(text, tag.start())
    if OWN_LABEL.fullmatch(before):
        return not quotes.cover(tag.start())
    if _is_repeated(tag, before, quotes):
        return False
    if LABEL.search(before):
        return True
    if DESCRIPTION.match(text, tag.end()) or REPORTED.search(before):
        return False
    return not cut or stands_alone(text, tag)


def _is_repeated(tag: re.Match[str], before: str, quotes: Quotes) -> bool:
    return quotes.cover(tag.start()) or NOT_GIVEN.search(before) is not None


def _verdict(text: str, tags: list[re.Match[str]], index: int, quotes: Quotes) -> Verdict:
    tag = tags[index]
    value = _tag_value(text, tag)
    if value is None:
        return NO_NUMBER
    if index and _disagree(text, tags[index - 1], tag, value, quotes):
        return AMBIGUOUS
    return value.verdict(reason_around(text, tag.start(), tag.end(), TRAILING_LABEL))


def _tag_value(text: str, tag: re.Match[str]) -> Value | None:
    more = CONTINUATION.match(text, tag.end())
    return read_value(tag[1].strip() + more[0] if more else tag[1])


def _disagree(text: str, first: re.Match[str], last: re.Match[str], value: Value, quotes: Quotes) -> bool:
    """`<score>4</score> or <score>5</score>`: two scores in one statement, neither ruled out."""
    if not in_one_statement(text, first, last, JOINED):
        return False
    other = read_value(first[1])
    differs = other is not None and (other.score, other.shown) != (value.score, value.shown)
    return differs and not _is_repeated(first, line_before(text, first.start()), quotes)


def _read_untagged(text: str) -> Verdict | None:
    """A whole answer that is a value, or a score line that ends the answer or is the only one."""
    whole = read_value(text.strip(EDGES)) if len(text) < NEAR else None
    if whole is not None and not whole.comment:
        return whole.verdict("")
    lines = _score_lines(text)
    if not lines:
        return None
    start, end, value = lines[-1]
    if len(lines) > 1 and text[end:].strip(EDGES):
        return None
    return value.verdict(reason_around(text, start, end, TRAILING_LABEL) or value.comment)


def _score_lines(text: str) -> list[tuple[int, int, Value]]:
    """Start, end and value of each score line that is neither quoted nor the scale."""
    found = [line for match in SCORE_LINE.finditer(text) if (line := _score_line(text, match))]
    echoes = echoes_of_scale([value for _, _, value in found])
    quotes = Quotes(text)
    return [line for index, line in enumerate(found) if index not in echoes and not quotes.cover(line[1] - 1)]


def _score_line(text: str, line: re.Match[str]) -> tuple[int, int, Value] | None:
    """With the value on the line itself, or on the next line if the label stands alone."""
    end, value = line.end(), read_value(line["value"])
    if not line["value"].strip(EDGES) and (following := NEXT_LINE.match(text, line.end())):
        end, value = following.end(), read_value(following["value"])
    return (line.start(), end, value) if value is not None else None
