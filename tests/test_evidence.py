"""A judge's quotations are found where they stand, and those that stand nowhere are said to stand nowhere."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jurybox.evidence import find_quotes, locate, rubric_texts
from jurybox.evidence.plain import plain, span
from jurybox.evidence.quotes import MAX_CHARACTERS, MAX_QUOTES
from jurybox.rubrics import load
from jurybox.types import Item, Quote, Review

SOURCE = {
    "product_title": "Halvern Stillwater Kettle",
    "description": "Boils up to 1.7 litres and holds the water at five preset temperatures.",
    "key_features": ("Keep-warm for 30 minutes", "Double-wall body, cool to the touch"),
    "specifications": (("General / Capacity", "1.7 L"), ("Power / Rated power", "2200 W")),
    "reviews": (
        Review("The beep is LOUD, and it cannot\n be  switched off.", 2),
        Review("Battery? There’s none. The “cool” body stays cool – mostly — after 10 boils.", 4),
        Review("Straße und Maß: der Kessel gefällt mir sehr gut.", 5),
        Review("这个水壶烧水很快而且外壳不烫手我非常喜欢它", 5),
        Review("It does not leak at all and the lid has worked for 12 months now.", 5),
        Review("Well... it works, I guess, but it took ages.", 3),
    ),
    "average_rating": 4.1,
}
ITEM = Item("kettle", "s", "Buyers praise the cool body. Some dislike the loud beep at the end.", SOURCE)


def only(quote: str, item: Item = ITEM, **options: tuple[str, ...]) -> Quote:
    (found,) = locate([quote], item, **options)
    return found


def text_of(quote: Quote, item: Item = ITEM) -> str:
    """The passage that the offsets point to, read from the item as anybody would."""
    assert quote.field is not None
    value = item.summary if quote.field == "summary" else item.source[quote.field]
    if quote.index is not None:
        value = value[quote.index]
        value = value.text if isinstance(value, Review) else value
        value = ": ".join(value) if isinstance(value, tuple) else value
    assert isinstance(value, str)
    return value[quote.start : quote.end]


@pytest.mark.parametrize(
    ("reason", "quotes"),
    [
        ('One says "the beep is loud" and leaves.', ["the beep is loud"]),
        ("One says “the beep is loud”.", ["the beep is loud"]),
        ("Einer sagt „der Ton ist laut“, mehr nicht.", ["der Ton ist laut"]),
        ("Il dit « le bip est fort » parce que la bouilloire « bof ».", ["le bip est fort"]),
        ("»der Ton ist laut« steht da", ["der Ton ist laut"]),
        ("「この製品はとても良いと思います」", ["この製品はとても良いと思います"]),
        ("One says ‘I don’t like the beep’.", ["I don’t like the beep"]),
        ("One says 'I don't like the beep', twice.", ["I don't like the beep"]),
        ('It says "the beep is loud" and again "the beep is loud".', ["the beep is loud"]),
        ("As they put it:\n> The beep is loud\n> and long.\n\nSo be it.", ["The beep is loud\nand long."]),
        ('> Review 3: "The beep is loud." (two stars)', ["The beep is loud."]),
        ('A "great … battery life" is claimed.', ["great … battery life"]),
        ('It runs over\n"two lines of\nthe reason" here.', ["two lines of\nthe reason"]),
        ('**"the beep is loud"**', ["the beep is loud"]),
    ],
)
def test_quotations_of_all_usual_kinds_are_found(reason: str, quotes: list[str]) -> None:
    assert find_quotes(reason) == quotes


@pytest.mark.parametrize(
    "reason",
    [
        "",
        "No mark at all in this reason, so nothing is quoted here.",
        'Too short: "loud beep" and “good”.',
        "The users' view isn't the makers' view, and it doesn't matter.",
        "Rock 'n' roll from the '80s, or so the users' reviews say.",
        'A 5" screen and a 7" screen are compared by some.',
        'A mark that is "never closed is no quotation.',
        'It opens "in one paragraph\n\nand closes" in the next one.',
        "The score is <score>4</score>, and 5 > 4 is true for all of them.",
        '" - - - "',
        f'"{"far too long " * (MAX_CHARACTERS // 10)}"',
    ],
)
def test_what_is_no_quotation_is_left_alone(reason: str) -> None:
    assert find_quotes(reason) == []


@pytest.mark.parametrize(
    "unit",
    ['"', "'", " '", "“", "”", "»«", "‘a’b ", ">\n", '"a b c d ', " 'a", "‘", "a’", '"\n', "「", "…", "> “a b c”\n"],
)
def test_a_megabyte_of_marks_is_read_in_linear_time_and_bounded(unit: str) -> None:
    """A pattern that reads back would need 10^12 steps here: the test would not end."""
    assert len(find_quotes(unit * (1_000_000 // len(unit)))) <= MAX_QUOTES


def test_the_number_of_quotes_is_bounded() -> None:
    assert len(find_quotes(" ".join(f'"quote number {number}"' for number in range(MAX_QUOTES + 9)))) == MAX_QUOTES


@pytest.mark.parametrize(
    ("quote", "field", "index", "passage"),
    [
        ("the beep is loud", "reviews", 0, "The beep is LOUD"),
        ("it cannot be switched off", "reviews", 0, "it cannot\n be  switched off"),
        ("There's none.", "reviews", 1, "There’s none."),
        ("the 'cool' body stays cool - mostly", "reviews", 1, "The “cool” body stays cool – mostly"),
        ("the **cool** body", "summary", None, "the cool body"),
        ("strasse und mass: der Kessel", "reviews", 2, "Straße und Maß: der Kessel"),
        ("烧水很快而且外壳不烫手我非常", "reviews", 3, "烧水很快而且外壳不烫手我非常"),
        ("the lid has \u200bworked for", "reviews", 4, "the lid has worked for"),
        ("It does not leak at all.", "reviews", 4, "It does not leak at all"),
        ("Well... it works, I guess", "reviews", 5, "Well... it works, I guess"),
        ("five preset temperatures", "description", None, "five preset temperatures"),
        ("cool to the touch", "key_features", 1, "cool to the touch"),
        ("Rated power: 2200 W", "specifications", 1, "Rated power: 2200 W"),
        ("Some dislike the loud beep", "summary", None, "Some dislike the loud beep"),
    ],
)
def test_an_exact_quote_has_field_entry_and_offsets(quote: str, field: str, index: int | None, passage: str) -> None:
    found = only(quote)
    assert (found.text, found.field, found.index, found.similarity) == (quote, field, index, 100.0)
    assert text_of(found) == passage


@pytest.mark.parametrize(
    ("quote", "passage"),
    [
        ("it does not leak at al and the lid has worked", "It does not leak at all and the lid has worked"),
        ("the lid has worked fine for 12 months now", "the lid has worked for 12 months now"),
        ("holds the watr at five preset temperatures", "holds the water at five preset temperatures"),
    ],
)
def test_a_quote_that_is_nearly_right_is_found_and_says_how_nearly(quote: str, passage: str) -> None:
    found = only(quote)
    assert found.similarity is not None
    assert 90 <= found.similarity < 100
    assert passage in text_of(found) or text_of(found) in passage
    assert len(text_of(found)) >= 0.85 * len(passage)


@pytest.mark.parametrize(
    "quote",
    [
        "the handle melted on the hob",
        "it does leak at all and the lid has worked for 12 months now",
        "it does not leak at all and the lid has worked for 10 months now",
        "the beep is loud and the beep is long and the beep is loud and the beep is long again",
        "这个手机拍照很差而且电池不耐用",
    ],
)
def test_a_quote_that_changes_what_is_said_is_a_false_quote(quote: str) -> None:
    assert only(quote) == Quote(quote, None, None, None, None, None)


def test_a_short_text_inside_a_long_quote_is_not_that_quote() -> None:
    item = Item("1", "s", "S", {"reviews": (Review("The beep is loud."),)})
    assert only("the beep is loud. Everybody in the house wakes up from it at night", item).field is None


def test_the_pieces_around_an_ellipsis_are_located_in_one_entry() -> None:
    found = locate(["does not leak … worked [...] now"], ITEM)
    assert [(quote.field, quote.index, text_of(quote)) for quote in found] == [
        ("reviews", 4, "does not leak"),
        ("reviews", 4, "worked"),
        ("reviews", 4, "now"),
    ]


def test_pieces_from_different_entries_stand_for_themselves_and_single_words_for_nothing() -> None:
    first, second, third = locate(["it does not leak … the beep is loud … ages"], ITEM)
    assert (first.index, second.index) == (4, 0)
    assert third == Quote("ages", None, None, None, None, None)


def test_the_rubrics_own_words_are_neither_evidence_nor_false() -> None:
    (rubric,) = load(["faithfulness"])
    label = rubric.scale[3]
    assert locate([label[:60]], ITEM, rubric_texts(rubric)) == ()
    assert locate([label[:60]], ITEM)[0].field is None


def test_material_that_a_rubric_happens_to_say_too_is_evidence() -> None:
    assert only("the beep is loud", ignore=("They say the beep is loud.",)).field == "reviews"


def test_the_source_comes_before_the_summary() -> None:
    item = Item("1", "s", "The lid sticks after a week.", {"reviews": (Review("Sadly the lid sticks after a week."),)})
    assert only("the lid sticks after a week", item).field == "reviews"


def test_another_source_is_not_taken_for_the_last_one() -> None:
    for number in range(20):
        item = Item("1", "s", "S", {"reviews": (Review(f"word {number} stands here"),)})
        assert only(f"word {number} stands here", item).field == "reviews"
        assert only(f"word {number + 1} stands here", item).field is None


def test_a_separator_inside_a_review_does_not_shift_the_entries() -> None:
    item = Item("1", "s", "S", {"reviews": (Review("one\0two three four"), Review("five six seven"))})
    assert (only("five six seven", item).index, text_of(only("two three four", item), item)) == (1, "two three four")


def test_no_quotes_is_no_work() -> None:
    assert locate([], Item("1", "s", None, None)) == ()  # type: ignore[arg-type]


WORDS = st.text(st.characters(codec="utf-8", exclude_characters='"'), min_size=1, max_size=8)
REVIEW = st.lists(WORDS, min_size=4, max_size=30).map(" ".join)


@given(st.lists(REVIEW, min_size=1, max_size=4), st.data())
@example(["ΑΣ ΒΣ ΓΣ ΔΣ"], None)
@example(["İ ŉ ǰ ß ﬁ x"], None)
def test_any_four_words_of_a_review_are_found_where_they_stand(reviews: list[str], data: st.DataObject | None) -> None:
    item = Item("1", "s", "summary", {"reviews": tuple(Review(review) for review in reviews)})
    review = data.draw(st.sampled_from(reviews)) if data else reviews[0]
    words = review.split()
    begin = data.draw(st.integers(0, max(0, len(words) - 4))) if data else 0
    quote = " ".join(words[begin : begin + 4])
    if not plain(quote):
        return
    found = only(quote, item)
    assert (found.field, found.similarity) == ("reviews", 100.0)
    assert plain(text_of(found, item)) == plain(quote)


@given(st.lists(st.text("abcdefgh", min_size=2, max_size=9), min_size=4, max_size=40), st.data())
def test_four_words_put_in_quotes_come_back_through_the_reason(words: list[str], data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(words) - 4))
    end = data.draw(st.integers(begin + 4, len(words)))
    review = "  ".join(words)
    quoted = " ".join(words[begin:end]).upper()
    item = Item("1", "s", "summary", {"reviews": (Review("Unrelated."), Review(review))})
    (found,) = locate(find_quotes(f'The reviewer says "{quoted}".'), item)
    assert (found.field, found.index, found.similarity) == ("reviews", 1, 100.0)
    assert text_of(found, item).split() == words[begin:end]


@given(st.text())
def test_the_way_back_fits_the_way_there(text: str) -> None:
    made = plain(text)
    for position in range(len(made)):
        start, end = span(text, position, position + 1)
        assert 0 <= start < end <= len(text)
        assert made[position] == " " or made[position] in plain(text[start:end])
