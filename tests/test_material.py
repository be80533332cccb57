"""Long material is made to fit by a stated rule, the same for every system, and nothing is cut in silence."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

from jurybox.language import sentences, stem, tone, word_list, words
from jurybox.material import (
    DoesNotFit,
    Shown,
    estimate_tokens,
    extract,
    room_for,
    sample,
    sampling_error,
)
from jurybox.types import Item, Review
from long_items import FIELDS, many, reviews_of, rubric, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("abcd", 1),
        ("abcde", 2),
        ("a" * 400, 100),
        ("水壶很快", 4),
        ("привет мир", 5),
        ("café", 2),
        ("👍👍", 2),
    ],
)
def test_tokens_are_estimated_by_script(text: str, expected: int) -> None:
    assert estimate_tokens(text) == expected


@given(st.text(), st.text())
def test_more_text_is_never_fewer_tokens(first: str, second: str) -> None:
    assert estimate_tokens(first + second) >= max(estimate_tokens(first), estimate_tokens(second))


def test_summaries_of_similar_length_leave_the_same_room() -> None:
    assert room_for(8000, 1000, "short") == room_for(8000, 1000, "word " * 300) == 8000 - 1000 - 512
    assert room_for(8000, 1000, "word " * 500) == 8000 - 1000 - 1024


def test_a_summary_that_is_too_long_does_not_fit() -> None:
    with pytest.raises(DoesNotFit, match="there is room for 2,000") as caught:
        room_for(2000, 1000, "word " * 2000)
    assert (caught.value.needed, caught.value.room) == (1000 + 2560, 2000)


def test_what_fits_is_shown_whole() -> None:
    item = many(5)
    for shortened, shown in (sample(item, FIELDS, 10_000, 1), extract(item, [rubric("faithfulness")], FIELDS, 10_000)):
        assert shortened is item
        assert shown == Shown("whole")
        assert (shown.note, shown.as_dict()["parts"]) == ("", {})


def test_a_sample_is_a_function_of_seed_and_id() -> None:
    item = many()
    first, again = sample(item, FIELDS, 500, 7), sample(item, FIELDS, 500, 7)
    assert first == again
    assert sample(item, FIELDS, 500, 8)[1].parts["reviews"].shown != first[1].parts["reviews"].shown
    assert sample(replace(item, id="q"), FIELDS, 500, 7)[1].parts["reviews"].shown != first[1].parts["reviews"].shown


def test_a_sample_stays_the_same_in_later_versions() -> None:
    """A run that goes on next year must show the judge what it showed before."""
    assert sample(many(40), FIELDS, 120, 1)[1].parts["reviews"].shown == (3, 22, 24, 30, 32, 36)


def test_all_systems_of_a_source_are_judged_on_the_same_sample() -> None:
    item = many()
    other = replace(item, system="t", summary="Quite another and much longer summary. " * 9)
    assert sample(item, FIELDS, 500, 7)[1] == sample(other, FIELDS, 500, 7)[1]


@settings(deadline=None)
@given(st.integers(20, 3000), st.integers(20, 3000), st.integers())
def test_a_smaller_room_shows_a_part_of_what_a_larger_one_shows(one: int, two: int, seed: int) -> None:
    item = many(200, answers=tuple(f"answer {number} " * 9 for number in range(60)))
    fields = ("reviews", "answers")

    def shown(room: int, field: str) -> set[int]:
        try:
            part = sample(item, fields, 40 + room, seed)[1].parts.get(field)
        except DoesNotFit:
            return set()
        return set(range(len(item.source[field])) if part is None else part.shown)

    for field in fields:
        assert shown(min(one, two), field) <= shown(max(one, two), field)


@settings(deadline=None)
@given(st.integers(60, 2500), st.integers())
def test_a_sample_keeps_to_its_room_its_order_and_whole_entries(room: int, seed: int) -> None:
    item = many(description="One sentence of description.")
    shortened, shown = sample(item, FIELDS, room, seed)
    part = shown.parts["reviews"]
    assert tokens(shortened) <= room
    assert shortened.source["reviews"] == tuple(item.source["reviews"][index] for index in part.shown)
    assert list(part.shown) == sorted(set(part.shown))
    assert (part.of, part.seed, shortened.source["description"]) == (300, seed, item.source["description"])
    assert (shortened.summary, shortened.key) == (item.summary, item.key)


def test_every_entry_is_as_likely_as_any_other() -> None:
    item = Item("p", "s", "S", {"reviews": reviews_of(["the same twenty letters"] * 50)})
    drawn = [sample(item, FIELDS, 90, seed)[1].parts["reviews"].shown for seed in range(2000)]
    times = Counter(index for shown in drawn for index in shown)
    expected = sum(map(len, drawn)) / 50
    assert len({len(shown) for shown in drawn}) == 1
    # Chi-square with 49 degrees of freedom: the 99.9 % quantile is 85.4.
    assert sum((times[index] - expected) ** 2 / expected for index in range(50)) < 85.4


@pytest.mark.parametrize(("of", "shown"), [(100, 80), (500, 217), (1000, 278), (2000, 322), (10_000, 370)])
def test_the_sampling_error_is_the_published_one(of: int, shown: int) -> None:
    """Krejcie and Morgan 1970, Determining sample size for research activities, table 1: these sizes give ±5 points."""
    assert sampling_error(shown - 1, of) > 0.05 > sampling_error(shown + 1, of)


def test_the_sampling_error_covers_what_it_says() -> None:
    """Against the exact distribution of a count in a sample without replacement."""
    error = sampling_error(120, 1240)
    exact = hypergeom(1240, 620, 120)
    low, high = math.ceil(120 * (0.5 - error)), math.floor(120 * (0.5 + error))
    assert exact.cdf(high) - exact.cdf(low - 1) == pytest.approx(0.95, abs=0.02)
    assert sampling_error(7, 7) == sampling_error(1, 1) == 0.0


def test_shares_in_samples_stray_as_far_as_the_error_says() -> None:
    item = Item(
        "p", "s", "S", {"reviews": tuple(Review("the same twenty letters", 1 + 4 * (n % 2)) for n in range(400))}
    )
    within = 0
    for seed in range(500):
        shortened, shown = sample(item, FIELDS, 600, seed)
        share = sum(review.rating == 5 for review in shortened.source["reviews"]) / len(shortened.source["reviews"])
        within += abs(share - 0.5) <= (shown.parts["reviews"].error or 0)
    assert 0.92 <= within / 500 <= 0.98


def test_the_judge_is_told_how_much_it_sees() -> None:
    texts = ["the same twenty letters"] * 1240
    _, shown = sample(Item("p", "s", "S", {"reviews": reviews_of(texts)}), FIELDS, 480, 1)
    part = shown.parts["reviews"]
    assert f"Of 1,240 reviews you see a random sample of {len(part.shown)}; the others are not shown." in shown.note
    assert f"about {100 * sampling_error(len(part.shown), 1240):.0f} percentage points" in shown.note
    assert json.loads(json.dumps(shown.as_dict()))["parts"]["reviews"]["of"] == 1240


def test_a_short_list_beside_a_long_one_stays_whole() -> None:
    item = many(300, answers=("one answer", "another answer"))
    shortened, shown = sample(item, ("reviews", "answers"), 400, 1)
    assert set(shown.parts) == {"reviews"}
    assert shortened.source["answers"] == item.source["answers"]
    assert tokens(shortened, ("reviews", "answers")) > 300, "what the short list leaves goes to the long one"


def test_an_entry_that_is_too_long_is_never_cut() -> None:
    item = Item("p", "s", "S", {"reviews": reviews_of(["word " * 5000, "word " * 5000])})
    with pytest.raises(DoesNotFit, match=r"the first entry drawn from reviews needs about 6,25\d tokens") as caught:
        sample(item, FIELDS, 1000, 1)
    assert caught.value.needed > 6000
    assert caught.value.room == 1000


@pytest.mark.parametrize("name", ["faithfulness", "aspect_coverage"])
def test_a_field_that_is_no_list_of_voices_is_never_cut(name: str) -> None:
    item = many(description="word " * 5000, key_features=("feature",))
    fields = ("description", "key_features", "reviews")
    with pytest.raises(DoesNotFit, match=r"never cut \(description, key_features\)"):
        sample(item, fields, 1000, 1)
    with pytest.raises(DoesNotFit, match="never cut"):
        extract(item, [rubric(name)], fields, 1000)


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("A great kettle, I love it.", 1),
        ("It is not great.", -1),
        ("It isn't a very good kettle.", -1),
        ("It doesn’t leak.", 1),
        ("Never a problem.", 1),
        ("Terrible lid and awful smell.", -1),
        ("It boils water.", 0),
        ("Good body, bad lid.", 0),
        ("Not only did it arrive after all these weeks, it is great.", 1),
    ],
)
def test_the_tone_of_a_text_is_the_balance_of_its_words(text: str, sign: int) -> None:
    balance = tone(words(text))
    assert (balance > 0) - (balance < 0) == sign


def test_the_word_lists_are_small_and_do_not_contradict_each_other() -> None:
    positive, negative = word_list("positive"), word_list("negative")
    assert 150 <= len(positive) + len(negative) <= 200
    assert not positive & negative
    assert not (positive | negative) & word_list("stop")


def test_forms_of_a_word_have_one_stem() -> None:
    assert len({stem(word) for word in ("charge", "charges", "charged", "charging")}) == 1
    assert len({stem(word) for word in ("battery", "batteries")}) == 1
    assert len({stem(word) for word in ("lid", "led", "load", "loud", "class")}) == 5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("It has 4.5 stars... really", ["It has 4.5 stars...", "really"]),
        ('He said "good." Then he left.', ['He said "good."', "Then he left."]),
        ("first line\nsecond line", ["first line", "second line"]),
        ("很好。真的！", ["很好。", "真的！"]),
        (" \n ", []),
    ],
)
def test_sentences_are_found(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == expected


@given(st.text(st.sampled_from("ab .!?。\n\"'…")))
def test_sentences_leave_out_nothing_but_white_space(text: str) -> None:
    kept, end_before = "", 0
    for start, end in sentences(text):
        assert start >= end_before
        assert not text[end_before:start].strip()
        kept, end_before = kept + text[start:end], end
    assert not text[end_before:].strip()
