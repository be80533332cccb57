"""Placeholders are filled once and in one pass; what is filled in is never looked at again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jurybox.fields import FIELDS, canonical_name, entries, field_text
from jurybox.templates import Style, Template, style_of
from jurybox.types import Review

NAMES = st.sampled_from(["summary", "Input spans", "Product_Opinion_Summary", "a-b", "_x9"])
LITERALS = st.text().filter(lambda text: "{" not in text and "}" not in text)


def written(name: str, style: Style) -> str:
    return f"{{{name}}}" if style == "{}" else f"{{{{{name}}}}}"


@given(
    style=st.sampled_from(["{}", "{{}}"]),
    parts=st.lists(st.tuples(LITERALS, NAMES), min_size=1, max_size=6),
    end=LITERALS,
    values=st.dictionaries(NAMES, st.text() | st.sampled_from(["{summary}", "{{a-b}}", "{0}", "\\1", "\\g<0>"])),
)
def test_filling_is_joining(style: Style, parts: list[tuple[str, str]], end: str, values: dict[str, str]) -> None:
    """The literals between placeholders and the values in their places, character for character."""
    text = "".join(literal + written(name, style) for literal, name in parts) + end
    expected = "".join(literal + values.get(name, "-") for literal, name in parts) + end
    template = Template(text, style=style)
    assert template.fill(lambda name: values.get(name, "-")) == expected
    assert template.placeholders == tuple(dict.fromkeys(name for _, name in parts))
    assert style_of(text) == style


@pytest.mark.parametrize(
    "text",
    [
        '{"score": 4}',
        "{}",
        "{ }",
        "{0}",
        "{1a}",
        "{a:b}",
        "{a.b}",
        "{a[0]}",
        "{a!r}",
        "{ a}",
        "%(a)s",
        "${",
        "{a",
        "a}",
        "{a}}",
        "{{a}",
    ],
)
def test_other_braces_are_no_placeholders(text: str) -> None:
    """Not even `str.format`'s ways to reach into an object."""
    template = Template(text)
    assert template.placeholders == ()
    assert template.fill(lambda name: "filled") == text


def test_double_braces_stay_when_the_file_writes_single_ones() -> None:
    text = "{{reviews}} {summary}"
    assert style_of(text) == "{}"
    assert Template(text).fill(str.upper) == "{{reviews}} SUMMARY"


def test_an_include_is_filled_from_the_file_and_not_asked_of_the_item() -> None:
    template = Template("{system_message}|{summary}", includes={"system_message": "Obey {summary}"})
    assert template.placeholders == ("summary",)
    assert template.fill(lambda name: f"<{name}>") == "Obey {summary}|<summary>"


@pytest.mark.parametrize(
    ("spelling", "field"),
    [
        ("averageRating", "average_rating"),
        ("Average rating", "average_rating"),
        ("AVERAGE_RATING", "average_rating"),
        ("average-rating", "average_rating"),
        ("product_opinion_summary", "summary"),
        ("Product_Opinion_Summary", "summary"),
        ("Given Summary", "summary"),
        ("Input spans", "input_spans"),
        ("Perspective_Def", "perspective_definition"),
        ("Question", "question"),
        (" Answers ", "answers"),
        ("ratings", None),
        ("", None),
    ],
)
def test_spellings_people_have(spelling: str, field: str | None) -> None:
    assert canonical_name(spelling) == field


def test_no_spelling_means_two_fields() -> None:
    spellings = [spelling for field in FIELDS.values() for spelling in (field.name, *field.aliases)]
    assert len(spellings) == len(set(spellings))
    assert all(canonical_name(alias) == field.name for field in FIELDS.values() for alias in field.aliases)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("as it is\n ", "as it is\n "),
        (4.0, "4"),
        (4.1, "4.1"),
        (4.123456789, "4.123456789"),
        (1234567, "1234567"),
        (True, "True"),
        (("a", "b"), "1. a\n2. b"),
        ((Review("good", 4.0), Review("bad", 1.5), Review("so")), "1. (rating 4) good\n2. (rating 1.5) bad\n3. so"),
        ((("Weight", "1 kg"), ("", "blue")), "1. Weight: 1 kg\n2. blue"),
        ({"size": "XL", "n": 3}, "1. size: XL\n2. n: 3"),
    ],
)
def test_a_field_is_shown_in_full(value: object, shown: str) -> None:
    """Numbers keep every digit, mappings their values."""
    assert field_text(value) == shown


def test_specifications_in_every_accepted_shape_are_the_same() -> None:
    normalise = FIELDS["specifications"].normalise
    wanted = (("General / Weight", "1 kg"), ("General / Colour", "red"))
    assert normalise({"General": {"Weight": "1 kg", "Colour": "red"}}) == wanted
    nested = [{"key": "General", "values": [{"key": "Weight", "value": "1 kg"}, {"key": "Colour", "value": ["red"]}]}]
    assert normalise(nested) == wanted
    assert entries(wanted) == ["General / Weight: 1 kg", "General / Colour: red"]
