"""What is wrong in a prompt or rubric file, pointed out and left alone.

Each check is one function from the file to `Defect`s; `CHECKS` lists them. Nothing here changes a file or a score.
Longer than its neighbours because it is a list: short checks that share nothing but the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from jurybox.fields import FIELDS, canonical_name
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
_QUOTATION_MARKS = ('"', "'", "“", "„", "«", ">")
_EXAMPLE_SCORE = re.compile(r"<score>\s*([1-5])\s*</score>", re.IGNORECASE)
_SCALE_LINE = re.compile(r"^\s*[-*]*\s*<score>\s*[1-5]\s*</score>\s*[-–:]", re.IGNORECASE)
_FORM_SCORE = re.compile(r"Score for [^:\n]+:\**\s*([1-5])\b", re.IGNORECASE)
_TYPING_ERRORS = (
    (re.compile(r"[a-z],[a-z]|[a-z]\)[a-z]|[a-z]\.[A-Z][a-z]"), "a space is missing"),
    (re.compile(r"[a-z,.;:)] {2,}[a-z(]"), "a space is doubled"),
    (re.compile(r"(?<![.])\.\.(?![.])|,,|;;"), "a punctuation mark is doubled"),
    (re.compile(r"\b(?:e\.g|i\.e)\b(?!\.)"), "a full stop is missing"),
)
# What well-formed text is unlikely to be and wrongly decoded text is: UTF-8 of Latin, Greek and Cyrillic letters
# (2 bytes), anything complete of 3 or 4 bytes, and punctuation or emoji even where a byte was lost on the way.
# So „Spaß“ and CAFÉ» are left in peace.
_UTF8_BYTES = re.compile(
    rb"[\xc2-\xc5\xce-\xd1][\x80-\xbf]|\xe2[\x80-\x9f]|[\xe0-\xef][\x80-\xbf]{2}|\xf0\x9f|[\xf0-\xf4][\x80-\xbf]{3}"
)
_DOUBLE_BRACES = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_ \-]*?)\s*\}\}")
_SINGLE_BRACES = re.compile(r"\{([A-Za-z_][A-Za-z0-9_ \-]*)\}")
_NUMBERED = re.compile(r"^\s*(\d{1,2})[.)]\s+\S")
_BEST_IS_NONE = re.compile(r"^\W*(?:<score>)?5\b.{0,15}?\b(?:no|none|nothing|free|fully|without)\b", re.IGNORECASE)
_FAULT = re.compile(
    r"bias|contradict|error|extraneous|fabricat|hallucinat|harm|inconsisten|irrelevan|misalign|mistake|omission"
    r"|redundan|repetit|toxic|unsupported",
    re.IGNORECASE,
)
_PHRASE_WORDS = 8
_PHRASE_TIMES = 6  # a scale of five parallel steps may well repeat itself five times


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
        if _UTF8_BYTES.match(raw):
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
        if len(words.split()) < 8 or line.lstrip().startswith(_QUOTATION_MARKS):
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
    for pattern, what in _TYPING_ERRORS:
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
    if field == "perspective_definition" and "perspective" in item.source:
        return True  # the perspectives have built-in definitions
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


def _never_filled(file: _File) -> Iterator[Defect]:
    """Braces that look like a placeholder and reach the judge as they are."""
    own_prose = all(rubric.template is None for rubric in file.rubrics)
    single = any(rubric.template is not None and rubric.template.style == "{}" for rubric in file.rubrics)
    pattern = _SINGLE_BRACES if own_prose else _DOUBLE_BRACES if single else None
    for number, line in enumerate(file.lines if pattern is not None else (), 1):
        for match in () if pattern is None else pattern.finditer(line):
            if own_prose or canonical_name(match[1]) is not None:
                why = (
                    "a TOML rubric has none; the layout adds the material" if own_prose else "the others have one brace"
                )
                yield Defect("placeholder that is never filled", number, f"the judge reads the braces: {why}", match[0])


def _field_without_placeholder(file: _File) -> Iterator[Defect]:
    """Only names of two words or more: 'description' and 'question' are everyday words, 'average rating' is not."""
    fields = {canonical_name(name) for name in _placeholders(file.rubrics)}
    for name in FIELDS if fields else ():
        phrase = name.replace("_", " ")
        if " " not in phrase or name in fields:
            continue
        for number, line in enumerate(file.lines, 1):
            if phrase in _plain(line):
                yield Defect(
                    "field without a placeholder",
                    number,
                    f"promises the {phrase}, but no placeholder brings it; the judge is sent looking for it",
                    _short(line),
                )
                break


def _placeholder_not_introduced(file: _File) -> Iterator[Defect]:
    """Where the prose lists what the judge is given, the list should be whole."""
    names = [name for name in _placeholders(file.rubrics) if canonical_name(name) is not None]
    start = min((_line_of(file, name) for name in names), default=1)
    before = _plain("\n".join(file.lines[: start - 1]))
    missing = [name for name in names if not _introduced(name, before)]
    if len(names) - len(missing) < 3:
        return
    for name in missing:
        yield Defect(
            "placeholder not introduced",
            _line_of(file, name),
            "the prose before the material names other inputs, but not this one",
            f"{{{name}}}",
        )


def _introduced(name: str, before: str) -> bool:
    spellings = (canonical_name(name) or name, name)
    return any(all(word in before for word in _plain(spelling).split()) for spelling in spellings)


def _plain(text: str) -> str:
    return text.replace("_", " ").lower()


def _numbering(file: _File) -> Iterator[Defect]:
    last = 0
    for number, line in enumerate(file.lines, 1):
        match = _NUMBERED.match(line)
        if match is None:
            last = 0 if line.lstrip().startswith("#") else last
            continue
        here = int(match[1])
        if last and here not in (1, last + 1):
            yield Defect("numbering", number, f"step {here} follows step {last}", _short(line))
        elif here == 1 and last and _NUMBERED.match(_line_before(file, number)):
            yield Defect("numbering", number, f"the list starts again after step {last}", _short(line))
        last = here


def _line_before(file: _File, number: int) -> str:
    return next((line for line in reversed(file.lines[: number - 1]) if line.strip()), "")


def _named_after_a_fault(file: _File) -> Iterator[Defect]:
    """Our own layouts say which end is best beside every scale; a prompt file may not."""
    if not any(_BEST_IS_NONE.search(line) for line in file.lines):
        return
    for rubric in file.rubrics:
        if rubric.template is not None and _FAULT.search(rubric.title):
            number = next((n for n, line in enumerate(file.lines, 1) if rubric.title in line), 1)
            yield Defect(
                "named after a fault",
                number,
                f"'{rubric.title}' sounds like less is better, yet 5 means none of it; judges mix up the direction",
                _short(file.lines[number - 1]),
            )


def _repeated_phrase(file: _File) -> Iterator[Defect]:
    words = [(word, number) for number, line in enumerate(file.lines, 1) for word in re.findall(r"\w+", line.lower())]
    phrases = [
        tuple(word for word, _ in words[at : at + _PHRASE_WORDS]) for at in range(len(words) - _PHRASE_WORDS + 1)
    ]
    phrase, times = Counter(phrases).most_common(1)[0] if phrases else ((), 0)
    if times >= _PHRASE_TIMES:
        number = words[phrases.index(phrase)][1]
        yield Defect(
            "repeated phrase",
            number,
            f"says the same {_PHRASE_WORDS} words {times} times; what differs between the passages is hard to see",
            " ".join(phrase),
        )


def _byte_order_mark(file: _File) -> Iterator[Defect]:
    if file.text.startswith("\ufeff"):
        yield Defect("byte order mark", 1, "the file begins with an invisible character", _short(file.lines[0][1:]))


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
    _never_filled,
    _field_without_placeholder,
    _placeholder_not_introduced,
    _numbering,
    _named_after_a_fault,
    _repeated_phrase,
    _byte_order_mark,
    _unfenced,
)
