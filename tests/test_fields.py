"""One table knows what a field is called, which shape it has, and how it is shown."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jurybox.fields import FIELDS, IDENTITY_ALIASES, canonical_name, entries, field_text
from jurybox.types import Review

SPELLINGS = {
    **{field.name: (field.name, *field.aliases) for field in FIELDS.values()},
    **{name: (name, *aliases) for name, aliases in IDENTITY_ALIASES.items()},
}


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize(
    "spell", [str, str.upper, str.title, camel, lambda name: name.replace("_", " "), lambda name: f" {name}\t"]
)
def test_every_spelling_leads_to_its_field(name: str, spell: Any) -> None:
    assert [canonical_name(spell(spelling)) for spelling in SPELLINGS[name]] == [name] * len(SPELLINGS[name])


def test_no_spelling_means_two_fields() -> None:
    spellings = list(chain.from_iterable(SPELLINGS.values()))
    assert len(spellings) == len(set(spellings))


@pytest.mark.parametrize("column", ["", "score", "colour", "reviewsx", "summary 2", "défaut"])
def test_other_names_are_no_fields(column: str) -> None:
    assert canonical_name(column) is None


@given(st.text())
def test_any_text_can_be_asked_for(column: str) -> None:
    assert canonical_name(column) in (None, *SPELLINGS)


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("value", [True, None, object(), b"bytes", float("nan"), float("inf"), "half \ud800"])
def test_no_field_takes_what_is_neither_text_nor_number(name: str, value: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  the caller says which field of which line
        FIELDS[name].normalise(value)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("description", "a {b} <c>\n d", "a {b} <c>\n d"),
        ("description", 12, "12"),
        ("average_rating", "4.50", "4.5"),
        ("average_rating", 4, "4"),
        ("key_features", ["a\nb", "c"], "1. a\nb\n2. c"),
        ("key_features", "only one", "1. only one"),
        (
            "reviews",
            ["x", {"text": "y", "rating": 4}, {"text": "z", "rating": "2.5"}],
            "1. x\n2. (rating 4) y\n3. (rating 2.5) z",
        ),
        ("specifications", {"G": {"W": "1 kg"}, "N": 2}, "1. G / W: 1 kg\n2. N: 2"),
        ("specifications", ["no key"], "1. no key"),
        ("answers", ["a", " ", "b"], "1. a\n2. b"),
    ],
)
def test_a_value_is_shown_as_it_was_given(name: str, value: Any, shown: str) -> None:
    assert field_text(FIELDS[name].normalise(value)) == shown


@pytest.mark.parametrize("name", FIELDS)
def test_what_is_normal_already_stays(name: str) -> None:
    given = {"specifications": {"a": {"b": "c"}}, "average_rating": 3.5}.get(name, "text")
    once = FIELDS[name].normalise(given)
    assert FIELDS[name].normalise(once) == once


def test_entries_are_one_text_each() -> None:
    assert entries("text") == "text"
    assert entries((Review("a", 5), Review("b"))) == ["(rating 5) a", "b"]
