"""What is wrong in a prompt or rubric file, pointed out and left alone.

Each check is one function from the file to `Defect`s; `CHECKS` lists them. Nothing here changes a file or a score.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jurybox.fields import canonical_name
from jurybox.types import Item, Rubric


@dataclass(frozen=True, slots=True)
class Defect:
    """One finding: a kind to filter by, the line it stands on, what it is and what it does to a judge."""

    kind: str
    line: int
    message: str
    excerpt: str


@dataclass(frozen=True, slots=True)
class _File:
    text: str
    lines: Sequence[str]
    rubrics: tuple[Rubric, ...]
    items: Sequence[Item]


# UTF-8 read as one of these is the usual accident; Turkish Windows (1254) differs from Western (1252) in six letters.
_CODE_PAGES = ("cp1252", "cp1254", "latin-1")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]{2,}")
_SENTENCE_END = re.compile(r"[.!?]+(?:\s+|$)")
_EXAMPLE_SCORE = re.compile(r"<score>\s*([1-5])\s*</score>", re.IGNORECASE)
_SCALE_LINE = re.compile(r"^\s*[-*]*\s*<score>\s*[1-5]\s*</score>\s*[-–:]", re.IGNORECASE)
_FORM_SCORE = re.compile(r"Score for [^:\n]+:\**\s*([1-5])\b", re.IGNORECASE)
_MISSING_SPACE = re.compile(r"[a-z],[a-z]|[a-z]\)[a-z]|[a-z]\.[A-Z][a-z]")
_DOUBLED_MARK = re.compile(r"(?<![.])\.\.(?![.])|,,|;;")


def find_defects(text: str, rubrics: tuple[Rubric, ...], items: Iterable[Item] = ()) -> list[Defect]:
    """Every defect of a file, in the order of its lines. `items` are a few of the data it is meant for."""
    file = _File(text, text.splitlines(), rubrics, tuple(items))
    return sorted((defect for check in CHECKS for defect in check(file)), key=lambda defect: (defect.line, defect.kind))


def _mojibake(file: _File) -> Iterator[Defect]:
    found = [(number, run) for number, line in enumerate(file.lines, 1) for run in _NOT_ASCII.findall(line)]
    broken = [(number, run) for number, run in found if _repaired(run) is not None]
    if broken:
        meant = sorted({repaired for _, run in broken if (repaired := _repaired(run))})
        lines = dict.fromkeys(number for number, _ in broken)
        yield Defect(
            "mojibake",
            broken[0][0],
            f"{len(broken)} places on {len(lines)} lines hold text decoded with the wrong encoding "
            f"(meant: {' '.join(meant)}); the judge reads the garbage",
            broken[0][1],
        )


def _repaired(run: str) -> str | None:
    """What a run of characters was before it was decoded wrongly; '' when a byte is lost; None when it looks right."""
    for page in _CODE_PAGES:
        try:
            raw = run.encode(page)
        except UnicodeEncodeError:
            continue
        if raw[0] < 0xC2 or not 0x80 <= raw[1] <= 0xBF:
            continue
        return raw.decode("utf-8", "ignore")
    return None


def _repeated_sentence(file: _File) -> Iterator[Defect]:
    for number, line in enumerate(file.lines, 1):
        sentences = [part.strip() for part in _SENTENCE_END.split(line) if len(part.split()) >= 6]
        for position, sentence in enumerate(sentences):
            if any(later.endswith(sentence) or sentence.endswith(later) for later in sentences[position + 1 :]):
                yield Defect("duplicated step", number, "says the same sentence twice", _short(line))
                break


def _repeated_line(file: _File) -> Iterator[Defect]:
    first: dict[str, int] = {}
    for number, line in enumerate(file.lines, 1):
        words = re.sub(r"^\W*\d*\W*", "", line).strip().lower()
        if len(words.split()) < 8:
            continue
        if words in first:
            yield Defect("duplicated step", number, f"repeats line {first[words]}", _short(line))
        first.setdefault(words, number)


def _example_gives_score(file: _File) -> Iterator[Defect]:
    for number, line in enumerate(file.lines, 1):
        if _SCALE_LINE.match(line):
            continue
        for score in _EXAMPLE_SCORE.findall(line):
            yield Defect(
                "example gives the score away",
                number,
                f"shows the answer format with the score {score}; judges drift towards the number they were shown",
                _short(line[max(0, line.find("<score>") - 40) :]),
            )


def _few_shot_of_one_score(file: _File) -> Iterator[Defect]:
    scores = [(number, m[1]) for number, line in enumerate(file.lines, 1) if (m := _FORM_SCORE.search(line))]
    if scores and len({score for _, score in scores}) == 1:
        yield Defect(
            "example gives the score away",
            scores[0][0],
            f"its worked example gives {scores[0][1]} {len(scores)} times and no other score; judges drift towards it",
            _short(file.lines[scores[0][0] - 1]),
        )


def _typing_error(file: _File) -> Iterator[Defect]:
    for pattern, what in ((_MISSING_SPACE, "a space is missing"), (_DOUBLED_MARK, "a punctuation mark is doubled")):
        for number, line in enumerate(file.lines, 1):
            match = pattern.search(line)
            if match:
                around = line[max(0, match.start() - 20) : match.end() + 20]
                yield Defect("typing error", number, what, _short(around))


def _absent_field(file: _File) -> Iterator[Defect]:
    if not file.items:
        return
    for name in _placeholders(file.rubrics):
        field = canonical_name(name)
        if field in ("summary", "id", "system"):
            continue
        lacking = sum(not _has(item, field, name) for item in file.items)
        if lacking:
            yield Defect(
                "field the data lacks",
                _line_of(file, name),
                f"{lacking} of {len(file.items)} items have no '{field or name}'; the judge is shown 'not available'",
                f"{{{name}}}",
            )


def _has(item: Item, field: str | None, name: str) -> bool:
    return (field is not None and field in item.source) or name in item.metadata


def _unknown_placeholder(file: _File) -> Iterator[Defect]:
    for name in _placeholders(file.rubrics):
        if canonical_name(name) is None:
            yield Defect(
                "unknown placeholder",
                _line_of(file, name),
                "is no field of an item; it must be a column of the data",
                f"{{{name}}}",
            )


def _unfenced(file: _File) -> Iterator[Defect]:
    names = _placeholders(file.rubrics)
    if names:
        yield Defect(
            "judged text is not fenced",
            _line_of(file, names[0]),
            "nothing marks where judged text ends, so a review can pose as an instruction",
            f"{{{names[0]}}}",
        )


def _placeholders(rubrics: tuple[Rubric, ...]) -> tuple[str, ...]:
    templates = {id(rubric.template): rubric.template for rubric in rubrics if rubric.template is not None}
    return tuple(dict.fromkeys(name for template in templates.values() for name in template.placeholders))


def _line_of(file: _File, name: str) -> int:
    return next((number for number, line in enumerate(file.lines, 1) if f"{{{name}}}" in line), 1)


def _short(text: str) -> str:
    text = text.strip()
    return text if len(text) <= 90 else text[:87] + "…"


CHECKS: tuple[Callable[[_File], Iterable[Defect]], ...] = (
    _mojibake,
    _repeated_sentence,
    _repeated_line,
    _example_gives_score,
    _few_shot_of_one_score,
    _typing_error,
    _absent_field,
    _unknown_placeholder,
    _unfenced,
)


def as_dict(defect: Defect) -> Mapping[str, Any]:
    return {"kind": defect.kind, "line": defect.line, "message": defect.message, "excerpt": defect.excerpt}
