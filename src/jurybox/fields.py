"""The fields an item can have: their names, the spellings people already use, and their shapes.

One table, `FIELDS`. A value from outside is brought into the field's shape here (`normalise`) and shown
to a judge or filled into a prompt file from here (`field_text`); nothing else knows what a field looks like.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from jurybox.types import Review

Specification = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the source material."""

    name: str
    title: str
    normalise: Callable[[Any], Any]
    allowed: str
    aliases: tuple[str, ...] = ()


def _text(value: Any) -> str:
    if not isinstance(value, str):
        _number(value)
    text = str(value)
    text.encode()  # half a surrogate pair is no text: it can be neither sent nor stored
    return text


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list | tuple):
        raise ValueError
    return tuple(text for entry in value if (text := _text(entry)).strip())


def _review(value: Any) -> Review:
    if isinstance(value, Review):
        return value
    if isinstance(value, Mapping):
        rating = value.get("rating")
        return Review(_text(value["text"]), None if rating is None else _number(rating))
    return Review(_text(value))


def _reviews(value: Any) -> tuple[Review, ...]:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list | tuple):
        raise ValueError
    return tuple(review for entry in value if (review := _review(entry)).text.strip())


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError
    number = float(value)
    if not math.isfinite(number):  # how data frames write a cell that is not there
        raise ValueError
    return number


def _specifications(value: Any) -> tuple[Specification, ...]:
    """Flatten a mapping, or groups of {key, values}, to pairs; a group's name becomes a prefix."""
    if isinstance(value, str):
        return (("", _text(value)),)
    if isinstance(value, Mapping):
        pairs: list[Specification] = []
        for key, inner in value.items():
            if inner is None:  # Parquet gives every row the keys of all rows
                continue
            if isinstance(inner, Mapping | list | tuple):
                pairs += [
                    (_text(f"{key} / {name}" if name else str(key)), text) for name, text in _specifications(inner)
                ]
            else:
                pairs.append((_text(str(key)), _text(inner)))
        return tuple(pairs)
    if isinstance(value, list | tuple):
        return tuple(pair for entry in value for pair in _specification_entry(entry))
    raise ValueError


def _specification_entry(entry: Any) -> tuple[Specification, ...]:
    if not isinstance(entry, Mapping):
        if isinstance(entry, list | tuple) and len(entry) == 2:
            return ((_text(entry[0]), _text(entry[1])),)
        return (("", _text(entry)),)
    if "key" in entry and entry.get("values") is not None:
        return _specifications({entry["key"]: entry["values"]})
    if "key" in entry and ("value" in entry or "values" in entry):
        value = entry.get("value")
        if value is None:
            return ()
        if isinstance(value, list | tuple):
            value = ", ".join(_text(part) for part in value)
        return ((_text(entry["key"]), _text(value)),)
    return _specifications(entry)


_TEXT_ALLOWED = "text"
_TEXTS_ALLOWED = "a list of texts"

FIELDS: Mapping[str, Field] = {
    field.name: field
    for field in (
        Field("product_title", "Product title", _text, _TEXT_ALLOWED, ("title", "product_name")),
        Field("description", "Description", _text, _TEXT_ALLOWED, ("product_description",)),
        Field("key_features", "Key features", _texts, _TEXTS_ALLOWED, ("features", "product_features")),
        Field(
            "specifications",
            "Specifications",
            _specifications,
            "a mapping, or a list of {key, values: [{key, value}]}",
            ("specs", "product_specifications"),
        ),
        Field(
            "reviews",
            "Reviews",
            _reviews,
            "a list of texts or of {text, rating}",
            ("product_reviews", "customer_reviews", "user_reviews"),
        ),
        Field("average_rating", "Average rating", _number, "a number", ("avg_rating", "mean_rating")),
        Field("product_ugc_summary", "Summary of user content", _text, _TEXT_ALLOWED, ("ugc_summary",)),
        Field("question", "Question", _text, _TEXT_ALLOWED),
        Field("perspective", "Perspective", _text, _TEXT_ALLOWED),
        Field(
            "perspective_definition",
            "Definition of the perspective",
            _text,
            _TEXT_ALLOWED,
            ("perspective_def",),
        ),
        Field("input_spans", "Spans of the answers", _texts, _TEXTS_ALLOWED, ("spans",)),
        Field("answers", "Answers", _texts, _TEXTS_ALLOWED),
    )
}

# Columns that are not source material: which item this is, and what is judged.
IDENTITY_ALIASES: Mapping[str, tuple[str, ...]] = {
    "id": ("item_id", "product_id", "question_id"),
    "system": ("system_id", "system_name", "model_name"),
    "summary": (
        "product_opinion_summary",
        "opinion_summary",
        "given_summary",
        "generated_summary",
        "summary_to_evaluate",
    ),
    "summaries": (),
    "human": ("human_ratings",),
}

_CANONICAL: Mapping[str, str] = {
    spelling: name
    for name, aliases in (
        *IDENTITY_ALIASES.items(),
        *((field.name, field.aliases) for field in FIELDS.values()),
    )
    for spelling in (name, *aliases)
}

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATORS = re.compile(r"[\s\-_]+")


@lru_cache(4096)
def canonical_name(column: str) -> str | None:
    """The field that a column or placeholder of this spelling stands for, or None.

    `averageRating`, `Average rating` and `average_rating` are one name.
    """
    return _CANONICAL.get(_SEPARATORS.sub("_", _CAMEL.sub("_", column.strip())).lower())


def entries(value: Any) -> list[str] | str:
    """A normalised field value as the texts to show: one text, or one text an entry of a list."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return _number_text(value)
    if isinstance(value, Mapping):
        return [f"{key}: {inner}" for key, inner in value.items()]
    if not isinstance(value, list | tuple):
        return str(value)
    return [_entry_text(entry) for entry in value]


def characters(source: Mapping[str, Any]) -> int:
    """About how many characters a source has when it is shown."""
    return sum(_characters(value) for value in source.values())


def _characters(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Review):
        return len(value.text)
    if isinstance(value, Mapping):
        return sum(map(_characters, value.values()))
    return sum(map(_characters, value)) if isinstance(value, tuple | list) else 8


def _number_text(value: float) -> str:
    """A number in full: `:g` would show 1234567 as 1.23457e+06. Whole numbers lose their `.0`."""
    return str(int(value)) if not isinstance(value, bool) and float(value).is_integer() else str(value)


def _entry_text(entry: Any) -> str:
    if isinstance(entry, Review):
        return entry.text if entry.rating is None else f"(rating {_number_text(entry.rating)}) {entry.text}"
    if isinstance(entry, tuple):
        return f"{entry[0]}: {entry[1]}" if entry[0] else str(entry[1])
    return str(entry)


def field_text(value: Any) -> str:
    """A field as one text: lists are numbered, one entry a line; the entries themselves are left as they are."""
    shown = entries(value)
    if isinstance(shown, str):
        return shown
    return "\n".join(f"{number}. {entry}" for number, entry in enumerate(shown, 1))
