"""Answers that are JSON: the last complete object that gives a score, within whatever prose or fences.

Half an object is never a score, and neither is an object inside a broken one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jurybox.parsing.forms import normalise
from jurybox.parsing.quoting import is_within
from jurybox.parsing.values import read_number
from jurybox.types import Rubric, Verdict


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A key that is given twice with two values gives none."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        fields.update({key: None for key, value in pairs if fields[key] != value})
    return fields


# strict=False: models write raw line breaks inside strings.
DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_fields)
# An object begins with a key or is empty; other braces in prose are not tried.
OBJECT_START = re.compile(r"\{(?=\s{0,99}[\"}])")
# After a broken object, one that begins a line is a new start, not a part of the broken one.
FRESH_START = re.compile(r"^\{(?=\s{0,99}[\"}])", re.MULTILINE)
TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
BLOCKQUOTE = re.compile(r"^[ \t]{0,8}>[^\n]*", re.MULTILINE)
# Every failed try may read far ahead, so their number is bounded; a real answer has none or a few.
MOST_FAILURES = 100

SCORE_KEYS = ("score", "rating", "final score", "overall score")
REASON_KEYS = ("reasoning", "reason", "explanation", "rationale", "justification", "analysis", "comment")
MISSING = object()

NO_OBJECT = Verdict("unparsed", reason="no complete JSON object with a score in the answer")
NO_NUMBER = Verdict("unparsed", reason="the JSON answer's score is not one number")

Fields = Mapping[str, Any]


def read_object(text: str, rubrics: Sequence[Rubric], cut: bool) -> dict[str, Verdict]:
    """Each rubric's verdict from the last complete object that answers it. Whether the text was cut is no
    matter: a complete object is an answer, and anything else is not."""
    verdicts = {rubric.name: NO_OBJECT for rubric in rubrics}
    for fields in _objects(TRAILING_COMMA.sub("", text)):
        for rubric in rubrics:
            found = _answer(fields, rubric, alone=len(rubrics) == 1)
            if found is not None:
                verdicts[rubric.name] = found
    return verdicts


def _objects(text: str) -> Iterator[Fields]:
    """The complete objects in order, outermost only."""
    quotes = [span.span() for span in BLOCKQUOTE.finditer(text)]
    failures = 0
    start = OBJECT_START.search(text)
    while start is not None and failures < MOST_FAILURES:
        try:
            decoded, end = DECODER.raw_decode(text, start.start())
        except RecursionError:
            return
        except ValueError as broken:
            failures += 1
            start = _after_failure(text, start.end(), getattr(broken, "pos", start.end()))
            continue
        if not is_within(quotes, start.start()) and not _is_quoted(text, start.start(), end):
            yield {normalise(key): value for key, value in decoded.items()}
        start = OBJECT_START.search(text, end)


def _after_failure(text: str, begun: int, failed: int) -> re.Match[str] | None:
    """Where to try next: past what belongs to the broken object, or at an object that begins a line."""
    fresh = FRESH_START.search(text, begun, failed)
    return fresh or OBJECT_START.search(text, max(begun, failed))


def _is_quoted(text: str, start: int, end: int) -> bool:
    """Set directly in quotation marks or inline backticks; a code fence of three does not count."""
    mark, closing = text[start - 1 : start], text[end : end + 1]
    if mark == "`":
        return closing == "`" and text[start - 3 : start] != "```"
    return (mark, closing) in {('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’")}


def _answer(fields: Fields, rubric: Rubric, alone: bool) -> Verdict | None:
    """What the object says of this rubric: under its name, or at the top if it is the only one asked."""
    for inner in (fields, *_wrapped(fields)):
        for name in dict.fromkeys((normalise(rubric.name), normalise(rubric.title))):
            own = inner.get(name, inner.get(f"{name} score", MISSING))
            if own is not MISSING:
                return _own(own, inner, name)
    return _scored(fields, _reason(fields)) if alone else None


def _wrapped(fields: Fields) -> list[Fields]:
    """Objects one level down: `{"scores": {"faithfulness": 4}}`."""
    return [
        {normalise(key): value for key, value in inner.items()} for inner in fields.values() if isinstance(inner, dict)
    ]


def _own(own: object, around: Fields, name: str) -> Verdict:
    """`{"faithfulness": {"reasoning": …, "score": 4}}` or `{"faithfulness": 4}`."""
    if isinstance(own, dict):
        fields = {normalise(key): value for key, value in own.items()}
        return _scored(fields, _reason(fields)) or NO_NUMBER
    value = read_number(own)
    return NO_NUMBER if value is None else value.verdict(_reason(around, name) or _reason(around))


def _scored(fields: Fields, reason: str) -> Verdict | None:
    given = next((fields[key] for key in SCORE_KEYS if key in fields), MISSING)
    if given is MISSING:
        return None
    value = read_number(given)
    return NO_NUMBER if value is None else value.verdict(reason)


def _reason(fields: Fields, prefix: str = "") -> str:
    keys = (f"{prefix} {key}".strip() for key in REASON_KEYS)
    return next((text.strip() for key in keys if isinstance(text := fields.get(key), str)), "")
