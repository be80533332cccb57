"""Answers that fill a form: `Reasoning for X: …`, `Score for X: 4`, sections, lists and tables.

Each line is looked at once. A line counts when it begins with a rubric's title (or name), or with `Score:` /
`Reasoning:` under such a title; a digit elsewhere never counts. The last score given for a rubric wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from jurybox.parsing.quoting import Quotes, Span, is_within
from jurybox.parsing.reasons import DIVIDER, tidy
from jurybox.parsing.values import Value, read_value
from jurybox.types import Rubric, Verdict

_SCORE = "score|rating|grade"
_REASON = "reasoning|reasons?|explanation|justification|rationale|analysis|assessment|comments?"
_KIND = rf"(?:numeric[ ])?(?:{_SCORE}|{_REASON})"
_MARKUP = r"[ \t*_`\"]{0,8}"
_SCALE_NOTE = r"(?:[(\[]\s?1[^)\]\n]{1,8}5\s?[)\]])?"

# What stands between a label and its value.
SEPARATOR = re.compile(rf"{_MARKUP}(?:[:：=|–—-]|(?:is|are)\b){_MARKUP}")
# The form's own blanks: `[Your score here]`, `[1-5]`, `___`.
BLANK = re.compile(
    r"[\s*_.…|]*(?:[\[(<{]?(?:your|insert|enter|numeric)\b.*|[\[(<{]?1\s?[-–—]\s?5[\])>}]?.*)?", re.IGNORECASE
)
HEADING = re.compile(r"^(?:#{1,6}[^\n]*|-{3,}[ \t]*)$", re.MULTILINE)
NEXT_LINE = re.compile(r"\s{0,40}\n\s{0,40}(?P<value>[^\n]{1,60}?)[ \t]*(?=\n|\Z)")
_EDGES = " \t\r\n*_#`|"
_LEADING = " \t\r\n|-•"

UNREADABLE = Verdict("unparsed", reason="the answer gives no number for this rubric")
MISSING = Verdict("unparsed", reason="no score for this rubric in the answer")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the form: a score, a reasoning or a bare title (`kind`), for the rubric at `rubric`."""

    kind: str
    rubric: int
    start: int
    body: int
    end: int
    value: Value | None = None


def read_form(text: str, rubrics: Sequence[Rubric], cut: bool) -> dict[str, Verdict]:
    """The last score given for each rubric, with its own reasoning; a rubric without one is unparsed."""
    entries = list(_entries(text, rubrics))
    scores = {entry.rubric: entry for entry in entries if entry.kind == "score"}
    if cut and len(scores) < len(rubrics):
        # "4" at the very end of a cut-off text may be the beginning of "4.5" or "4/10".
        scores = {place: entry for place, entry in scores.items() if entry.end < len(text)}
    reasons = _reasons(text, entries)
    return {rubric.name: _verdict(scores.get(place), reasons.get(place, "")) for place, rubric in enumerate(rubrics)}


def _verdict(entry: Entry | None, reason: str) -> Verdict:
    if entry is None:
        return MISSING
    return UNREADABLE if entry.value is None else entry.value.verdict(reason or entry.value.comment)


def _entries(text: str, rubrics: Sequence[Rubric]) -> Iterator[Entry]:
    places = _places(tuple((rubric.name, rubric.title) for rubric in rubrics))
    quotes, examples = Quotes(text), _example_spans(text)
    current = 0 if len(rubrics) == 1 else None
    for line in _line_pattern(tuple(places)).finditer(text):
        if quotes.cover(line.start("label")) or is_within(examples, line.start()):
            continue
        if line["title"]:
            place = places[normalise(line["title"])]
        elif current is None or (line["total"] and len(rubrics) > 1):
            continue  # "Overall score: 4" at the end of a form belongs to no rubric
        else:
            place = current
        entry = _entry(text, line, place)
        if entry is not None:
            current = place
            yield entry


def _entry(text: str, line: re.Match[str], place: int) -> Entry | None:
    """What one line says, or None if it is running text that happens to begin with a title."""
    rest = line["rest"]
    separator = SEPARATOR.match(rest)
    if separator is None and rest.strip(_EDGES):
        return None
    body = line.start("rest") + (separator.end() if separator else 0)
    kind = (line["kind"] or line["kind_after"] or line["kind_alone"] or "").lower()
    if line["table"] and line["title"]:
        return _table_row(text, line, place, body)
    if not kind:
        return _titled(text, line, place, body)
    if kind.split()[-1] not in _SCORE.split("|"):
        return Entry("reasoning", place, line.start(), body, line.end())
    return _scored(text, line, place, body)


def _scored(text: str, line: re.Match[str], place: int, body: int) -> Entry | None:
    written = text[body : line.end()]
    if written.strip(_EDGES):
        value = read_value(written[:400])
        blank = value is None and BLANK.fullmatch(written[:400])
        return None if blank else Entry("score", place, line.start(), body, line.end(), value)
    return _on_next_line(text, line, place)


def _on_next_line(text: str, line: re.Match[str], place: int) -> Entry | None:
    following = NEXT_LINE.match(text, line.end())
    value = read_value(following["value"]) if following else None
    if following is None or value is None:
        return None
    return Entry("score", place, line.start(), following.start("value"), following.end(), value)


def _titled(text: str, line: re.Match[str], place: int, body: int) -> Entry:
    """`Fluency: 4`, `### Fluency`, or `Fluency: the summary reads well …`."""
    written = text[body : line.end()]
    if not written.strip(_EDGES):
        below = _on_next_line(text, line, place)
        return below or Entry("title", place, line.start(), body, line.end())
    value = read_value(written[:400])
    # "Contradiction: One, the summary claims …" counts contradictions; it does not rate them.
    if value is None or (value.spelled and value.comment):
        return Entry("reasoning", place, line.start(), body, line.end())
    return Entry("score", place, line.start(), body, line.end(), value)


def _table_row(text: str, line: re.Match[str], place: int, body: int) -> Entry | None:
    """`| Fluency | 4 | reads well |`: one cell holds the value; the wordiest other is the comment."""
    cells = [cell.strip() for cell in text[body : line.end()].split("|")[:20]]
    values = {value.shown: value for cell in cells if (value := read_value(cell[:60])) and not value.comment}
    if not values:
        return None
    words = max((cell for cell in cells if not read_value(cell[:60])), key=len, default="")
    only = next(iter(values.values()))
    value = Value(only.score, only.shown, words) if len(values) == 1 else None
    return Entry("score", place, line.start(), body, line.end(), value)


def _reasons(text: str, entries: list[Entry]) -> dict[int, str]:
    """The reasoning written for each rubric: labelled or under its title, up to the form's next line."""
    labelled: dict[int, str] = {}
    titled: dict[int, str] = {}
    below: dict[int, str] = {}
    for place, entry in enumerate(entries):
        until = entries[place + 1].start if place + 1 < len(entries) else len(text)
        start = entry.end if entry.kind == "score" else entry.body
        written = tidy(DIVIDER.sub("\n", text[start:until]).strip(_LEADING))
        target = {"reasoning": labelled, "title": titled}.get(entry.kind, below)
        if written:
            target[entry.rubric] = written
    # Text below a score counts only if the line itself has no comment and no reasoning stood before.
    commented = {entry.rubric for entry in entries if entry.value is not None and entry.value.comment}
    return {place: words for place, words in below.items() if place not in commented} | titled | labelled


def _example_spans(text: str) -> list[Span]:
    """Sections headed as an example: a form in there is the prompt's, or invented, not the judge's answer."""
    if "xample" not in text and "XAMPLE" not in text:
        return []
    headings = list(HEADING.finditer(text))
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    return [
        (heading.start(), end) for heading, end in zip(headings, ends, strict=False) if "example" in heading[0].lower()
    ]


def normalise(title: str) -> str:
    """A title as it is compared: case, underscores, hyphens and blanks make no difference."""
    return re.sub(r"[\s_-]+", " ", title).strip().casefold()


@lru_cache(maxsize=256)
def _places(names: tuple[tuple[str, str], ...]) -> dict[str, int]:
    """Each spelling of a rubric's name -> its place. A title wins over another rubric's name."""
    spellings = {normalise(name): place for place, (name, _) in enumerate(names)}
    spellings |= {normalise(title): place for place, (_, title) in enumerate(names)}
    spellings.pop("", None)
    return spellings


@lru_cache(maxsize=256)
def _line_pattern(spellings: tuple[str, ...]) -> re.Pattern[str]:
    """A line of the form about one of these rubrics. Bounded repeats only: one line costs bounded steps."""
    longest_first = sorted(spellings, key=len, reverse=True)
    spelled = [r"[\s_-]{1,3}".join(map(re.escape, title.split())) for title in longest_first]
    titles = "|".join(spelled) or r"(?!)"
    return re.compile(
        rf"^(?P<lead>[ \t*_#•+-]{{0,12}}(?P<table>\|)?{_MARKUP}(?:\d{{1,2}}[.)]{_MARKUP})?)"
        rf"(?P<label>(?P<total>(?:(?:final|overall|total|the|my)[ ]){{1,2}})?"
        rf"(?:(?:(?P<kind>{_KIND})[ ](?:for|of|on)[ ]{_MARKUP}(?:the[ ])?)?(?P<title>{titles})(?!\w)"
        rf"{_MARKUP}{_SCALE_NOTE}{_MARKUP}"
        rf"(?:(?:[(:–—-][ *_]{{0,4}})?(?P<kind_after>{_KIND})(?=[ \t*_]{{0,6}}[:：=–—-]))?"
        rf"|(?P<kind_alone>{_KIND}){_MARKUP}{_SCALE_NOTE}(?=[ \t*_]{{0,6}}(?:[:：=–—-]|$))))"
        r"(?P<rest>[^\n]*)$",
        re.IGNORECASE | re.MULTILINE,
    )
