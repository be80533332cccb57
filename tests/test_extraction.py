"""Of material too long to show, a rubric gets what it needs: passages, exact counts, or nothing."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jurybox.language import sentences
from jurybox.material import (
    DoesNotFit,
    Part,
    extract,
    need_of,
)
from jurybox.prompts import render, sheets
from jurybox.rubrics import builtin, load
from jurybox.types import Item, Review, Rubric
from long_items import FIELDS, FILLER, many, reviews_of, rubric, tokens


def test_every_built_in_rubric_has_its_need() -> None:
    assert {each.name: need_of(each) for each in builtin().values()} == {
        "aspect_coverage": "counts",
        "sentiment_consistency": "counts",
        "relevance": "counts",
        "specificity": "counts",
        "omission": "counts",
        "faithfulness": "passages",
        "extraneous_information": "passages",
        "contradiction": "passages",
        "perspective_misalignment": "passages",
        "fluency": "nothing",
        "coherence": "nothing",
        "redundancy": "nothing",
    }


def test_an_unknown_rubric_checks_statements() -> None:
    assert need_of(Rubric("politeness", "Politeness", required=("summary", "reviews"))) == "passages"


def test_a_rubric_of_the_summary_alone_is_shown_no_long_material() -> None:
    shortened, shown = extract(many(), [rubric("fluency")], FIELDS, 100)
    assert "reviews" not in shortened.source
    assert shown.parts["reviews"] == Part("nothing", (), 300)
    assert "300 reviews are not shown" in shown.note


FACTS = {
    17: "The hinge of the lid snapped after nine weeks.",
    404: "Descaling with vinegar took only ten minutes.",
    1203: "Its cord measures barely seventy centimetres.",
    1650: "Customer support replaced my unit within four days.",
    1999: "The thermometer reads two degrees too high.",
}
SUMMARY = (
    "One lid hinge snapped after weeks. Descaling it with vinegar is a matter of minutes. The cord is barely seventy "
    "centimetres long. Support replaced a unit in days. A thermometer read degrees too high."
)


def product(count: int = 2000) -> Item:
    rng = random.Random(5)
    filler = "boils fast and looks nice on any shelf while kids enjoy tea with biscuits every evening after school"
    texts = []
    for number in range(count):
        before, after = (" ".join(rng.choices(filler.split(), k=25)).capitalize() + "." for _ in range(2))
        texts.append(f"{before} {FACTS.get(number, 'It is what it is.')} {after}")
    return Item("p", "s", SUMMARY, {"reviews": tuple(Review(text, 1 + n % 5) for n, text in enumerate(texts))})


def test_the_sentence_that_supports_each_statement_is_found_among_two_thousand_reviews() -> None:
    item = product()
    shortened, shown = extract(item, [rubric("faithfulness")], FIELDS, 1200)
    assert tokens(shortened) <= 1200
    assert shown.parts["reviews"].way == "passages"
    assert set(FACTS) <= set(shown.parts["reviews"].shown)
    for number, fact in FACTS.items():
        (passage,) = [each for each in shortened.source["reviews"] if each.text.startswith(f"review {number + 1}: ")]
        assert fact in passage.text
        assert passage.rating == item.source["reviews"][number].rating


def test_passages_are_whole_sentences_with_a_neighbour_in_their_order() -> None:
    item = product()
    shortened, shown = extract(item, [rubric("faithfulness")], FIELDS, 1200)
    numbers = []
    for review in shortened.source["reviews"]:
        label, number, text = re.fullmatch(r"(review) (\d+): (.*)", review.text, re.DOTALL).groups()  # type: ignore[union-attr]
        original = item.source["reviews"][int(number) - 1].text
        ends = {end for _, end in sentences(original)}
        for run in text.split(" … "):
            assert run in original
            assert original.index(run) + len(run) in ends
        numbers.append(int(number) - 1)
        assert label == "review"
    assert tuple(numbers) == shown.parts["reviews"].shown == tuple(sorted(numbers))
    (lid,) = [review.text for review in shortened.source["reviews"] if review.text.startswith("review 18: ")]
    assert len(sentences(lid)) >= 2


def test_each_statement_gets_its_share() -> None:
    """A statement that fits a thousand reviews does not crowd out one that fits a single review."""
    texts = ["The battery is great and the battery lasts. " + FILLER] * 1000 + ["The strap chafes my wrist. " + FILLER]
    item = Item("p", "s", "The battery is great and lasts. The strap chafes.", {"reviews": reviews_of(texts)})
    shortened, _ = extract(item, [rubric("faithfulness")], FIELDS, 400)
    assert any("strap chafes" in review.text for review in shortened.source["reviews"])
    assert any("battery" in review.text for review in shortened.source["reviews"])


def test_a_rare_word_weighs_more_than_common_ones() -> None:
    texts = ["The battery is great value today. " + FILLER] * 300 + ["It chafes though, sadly for me. " + FILLER]
    item = Item("p", "s", "A great battery of great value that chafes.", {"reviews": reviews_of(texts)})
    shortened, _ = extract(item, [rubric("faithfulness")], FIELDS, 80)
    assert [review.text[:20] for review in shortened.source["reviews"]] == ["review 301: It chafe"]


def test_the_white_space_between_sentences_takes_room_too() -> None:
    texts = ["The lid broke." + "\n" * 4000 + "The lid broke again.", "My lid fell off. It was new.", FILLER]
    item = Item("p", "s", "The lid broke.", {"reviews": reviews_of(texts)})
    shortened, shown = extract(item, [rubric("faithfulness")], FIELDS, 200)
    assert shown.parts["reviews"].shown == (1,)
    assert sum(len(review.text) for review in shortened.source["reviews"]) < 800


def test_a_room_without_a_passage_for_each_statement_is_too_small() -> None:
    with pytest.raises(DoesNotFit, match="one passage for each statement"):
        extract(product(), [rubric("faithfulness")], FIELDS, 100)


def test_a_summary_that_shares_no_word_with_the_reviews_is_said_to_share_none() -> None:
    item = replace(many(), summary="Zzz qqq.")
    shortened, shown = extract(item, [rubric("faithfulness")], FIELDS, 100)
    assert shortened.source["reviews"] == (Review("None of the 300 reviews has a word in common with the summary."),)
    assert shown.parts["reviews"].shown == ()


def test_answers_and_spans_are_extracted_as_texts() -> None:
    answers = (*(FILLER * 3 for _ in range(30)), "Stretch the calf before bed. " + FILLER)
    item = Item("q", "s", "Stretching the calf helps.", {"answers": answers, "question": "What helps?"})
    shortened, shown = extract(item, [rubric("contradiction")], ("question", "answers"), 200)
    assert any(text.startswith("answer 31: Stretch the calf before bed.") for text in shortened.source["answers"])
    assert shown.parts["answers"].of == 31


def test_scripts_without_spaces_are_searched_too() -> None:
    texts = ["这个水壶外观漂亮放在厨房里很好看。" * 3] * 200 + ["电池续航时间只有两个小时。"]
    item = Item("p", "s", "电池续航只有两小时。", {"reviews": reviews_of(texts)})
    shortened, _ = extract(item, [rubric("faithfulness")], FIELDS, 150)
    assert any("电池续航时间只有两个小时" in review.text for review in shortened.source["reviews"])


def opinions() -> Item:
    """1,300 of 2,000 speak of the battery life: 900 with five stars, 400 with one. Ten speak of the strap."""
    texts = (
        [("The battery life is great. " + FILLER, 5)] * 900
        + [("The battery life is terrible, a terrible battery life. " + FILLER, 1)] * 400
        + [("The strap broke. " + FILLER, 2)] * 10
        + [(FILLER, None)] * 690
    )
    random.Random(2).shuffle(texts)
    summary = "The battery life is terrible. The strap is fine."
    return Item("p", "s", summary, {"reviews": tuple(Review(text, rating) for text, rating in texts)})


def row(item: Item, name: str) -> str:
    (found,) = [review.text for review in item.source["reviews"] if review.text.startswith(f"{name}: ")]
    return str(found)


def test_counts_are_exact_over_all_entries() -> None:
    shortened, shown = extract(opinions(), [rubric("sentiment_consistency")], FIELDS, 1500)
    heading = shortened.source["reviews"][0].text
    assert heading.startswith("Counted over all 2,000 reviews: 900 positive, 410 negative.")
    assert "Stars: 5: 900, 4: 0, 3: 0, 2: 10, 1: 400; without stars: 690; mean 3.76." in heading
    battery = row(shortened, "battery life")
    assert "in 1,300 of 2,000 reviews; of these 900 positive and 400 negative as a whole, 900 and 400 in" in battery
    assert battery.endswith(": The battery life is great.")
    assert "in 10 of 2,000 reviews; of these 0 positive and 10 negative" in row(shortened, "strap")
    assert tokens(shortened) <= 1500
    assert shown.parts["reviews"].way == "counts"
    assert shown.parts["reviews"].of == 2000
    assert "a table of what all of them speak of" in shown.note


def test_passages_would_have_turned_the_majority_round() -> None:
    """Why sentiment is counted: the passages nearest to a wrong summary agree with it."""
    shortened, _ = extract(opinions(), [rubric("faithfulness")], FIELDS, 1500)
    stars = Counter(review.rating for review in shortened.source["reviews"] if "battery" in review.text)
    assert stars[1] > stars[5]


def test_an_aspect_counts_once_an_entry_in_any_spelling() -> None:
    texts = (
        ["Lids, lids, lids, lids, lids and more lids! The lid. " + FILLER] * 3
        + ["One lid. " + FILLER] * 9
        + [FILLER * 2] * 20
    )
    item = Item("p", "s", "S", {"reviews": reviews_of(texts)})
    shortened, _ = extract(item, [rubric("aspect_coverage")], FIELDS, 400)
    assert "in 12 of 32 reviews" in row(shortened, "lid")


def test_an_example_is_of_the_majoritys_feeling() -> None:
    texts = [("The lid has a hinge.", 5)] * 6 + [("The lid has two.", 1)] * 4 + [("The lid is on top of it.", 3)] * 20
    item = Item("p", "s", "S", {"reviews": tuple(Review(f"{text} {FILLER}", rating) for text, rating in texts)})
    shortened, _ = extract(item, [rubric("sentiment_consistency")], FIELDS, 400)
    assert row(shortened, "lid").endswith("review 4: The lid has a hinge.")


def test_the_table_does_not_depend_on_the_summary() -> None:
    item = opinions()
    tables = {
        extract(replace(item, summary=text), [rubric("relevance")], FIELDS, 900)[0].source["reviews"]
        for text in ("A.", "B.")
    }
    assert len(tables) == 1


def test_a_table_ends_where_the_room_ends_with_the_rarest_left_out() -> None:
    item = product()
    large = extract(item, [rubric("relevance")], FIELDS, 1500)[0].source["reviews"]
    small = extract(item, [rubric("relevance")], FIELDS, 300)[0].source["reviews"]
    assert small == large[: len(small)]
    assert 1 < len(small) < len(large)
    counted = [
        int(match[1].replace(",", "")) for text in large[1:] if (match := re.search(r": in ([\d,]+) of", text.text))
    ]
    assert counted == sorted(counted, reverse=True)
    with pytest.raises(DoesNotFit, match="a table of the reviews"):
        extract(item, [rubric("relevance")], FIELDS, 10)


def test_a_form_that_needs_both_gets_both() -> None:
    shortened, shown = extract(product(), [rubric("faithfulness"), rubric("aspect_coverage")], FIELDS, 800)
    texts = [review.text for review in shortened.source["reviews"]]
    assert texts[0].startswith("Counted over all 2,000 reviews")
    assert any(text.startswith("review 18: ") for text in texts)
    assert tokens(shortened) <= 800
    assert shown.parts["reviews"].way == "passages and counts"
    assert "After the table" in shown.note


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.text(max_size=400), st.sampled_from((None, 1, 2.5, 5))), min_size=1, max_size=12),
    st.text(max_size=200),
    st.integers(0, 400),
    st.sampled_from((["faithfulness"], ["aspect_coverage"], ["faithfulness", "omission"], ["fluency"])),
)
def test_whatever_the_texts_are_the_extract_keeps_to_its_room(
    values: list[tuple[str, float | None]], summary: str, room: int, names: list[str]
) -> None:
    item = Item("p", "s", summary, {"reviews": tuple(Review(*value) for value in values)})
    try:
        shortened, shown = extract(item, load(names), FIELDS, room)
    except DoesNotFit as error:
        assert error.needed > error.room <= room  # noqa: PT017 (either outcome is right; which one depends on the texts)
        return
    assert shown.policy == "whole" or tokens(shortened) <= max(room, 20)


@pytest.mark.parametrize("name", ["faithfulness", "aspect_coverage"])
def test_an_extract_is_rendered_like_any_item(name: str) -> None:
    (sheet,) = sheets([rubric(name)])
    item = product(300)
    shortened, _ = extract(item, [rubric(name)], sheet.fields, 1000)
    prompt = render(sheet, shortened)
    assert shortened.source["reviews"][0].text.splitlines()[0] in prompt.user
    assert len(prompt.user) < len(render(sheet, item).user) / 3
