"""A harmless edit changes what it says and nothing that a rubric could count."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from jurybox.data import Dataset
from jurybox.language import sentences, tone, word_list, words
from jurybox.perturb import Change, Kind, apply
from jurybox.perturb.harmless import ALL, HARMLESS
from jurybox.perturb.orders import POSITIONS, moved_review, placed_review
from jurybox.rubrics import builtin
from jurybox.types import Item, Review

ROOT = Path(__file__).parent.parent
SAMPLES = Path(__file__).parent / "perturb_samples"
DEVELOPMENT = ROOT.parent / "shared" / "data" / "summeval_op_dev.jsonl"
KINDS = {kind.name: kind for kind in HARMLESS}
EACH = pytest.mark.parametrize("kind", HARMLESS, ids=list(KINDS))
FIELDS = {"review_order": "reviews", "answer_order": "answers", "specification_order": "specifications"}
# Neither a word nor a letter of a word is touched.
SAME_WORDS = {"white_space", "line_breaks", "trailing_newline", "quotes_and_dashes", "bullet_marks", "as_list"}
# The shipped summaries have no contractions and no lists; the samples do.
NOT_IN_EXAMPLES = {"contractions", "bullet_marks"}


@cache
def examples() -> tuple[Item, ...]:
    folder = files("jurybox.examples")
    return tuple(item for name in ("products", "health") for item in Dataset(str(folder / f"{name}.jsonl")))


@cache
def development() -> tuple[Item, ...]:
    return tuple(Dataset(str(DEVELOPMENT))) if DEVELOPMENT.exists() else ()


def samples(kind: Kind) -> list[dict[str, Any]]:
    lines = (SAMPLES / f"harmless_{kind.name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def item_of(sample: dict[str, Any]) -> Item:
    if "field" not in sample:
        return Item(sample["id"], sample["system"], sample["before"], {})
    return Item(sample["id"], sample["system"], "S", {sample["field"]: entries_of(sample, "before")})


def entries_of(sample: dict[str, Any], which: str) -> tuple[Any, ...]:
    if sample["field"] == "reviews":
        return tuple(Review(text, rating) for text, rating in sample[which])
    return tuple(tuple(entry) if isinstance(entry, list) else entry for entry in sample[which])


def changes(kind: Kind) -> list[tuple[Item, Change]]:
    """Every change of a kind to samples, shipped examples and, where they are here, the development data."""
    pool = [*(item_of(sample) for sample in samples(kind)), *examples(), *development()]
    made = [(item, apply(kind, item, dose=dose, seed=seed)) for item in pool for dose in kind.doses for seed in (0, 1)]
    return [(item, change) for item, change in made if change is not None]


def content(text: str) -> Counter[str]:
    return Counter(words(text.replace("’", "'").replace("‘", "'")))


def test_there_are_the_ten_that_were_asked_for_and_names_are_unique() -> None:
    assert len(KINDS) == len(HARMLESS) >= 10


@EACH
def test_a_harmless_edit_hurts_nothing_and_spares_rubrics_that_exist(kind: Kind) -> None:
    assert kind.hurts == ()
    assert kind.spares
    assert set(kind.spares) <= set(builtin())
    assert set(builtin()) == set(ALL)


@pytest.mark.parametrize("name", FIELDS)
def test_an_order_spares_exactly_the_rubrics_that_read_it(name: str) -> None:
    """A rubric that is not shown the field could not move: counting it would flatter the judge."""
    reading = {rubric.name for rubric in builtin().values() if FIELDS[name] in rubric.inputs}
    assert set(KINDS[name].spares) == reading


def test_what_a_rubric_may_honestly_count_is_not_claimed() -> None:
    """Relevance counts filler, specificity bare phrases, fluency wording: their own definitions say so."""
    assert "empty filler" in builtin()["relevance"].definition
    assert "natural wording" in builtin()["fluency"].definition
    for name in ("polite_framing", "padding"):
        assert "relevance" not in KINDS[name].spares
    assert "specificity" not in KINDS["polite_framing"].spares
    assert "fluency" not in KINDS["padding"].spares


@EACH
def test_samples_that_were_read_by_a_person_come_out_to_the_byte(kind: Kind) -> None:
    found = samples(kind)
    assert sum(sample["after"] is not None for sample in found) >= 10
    for sample in found:
        change = apply(kind, item_of(sample), dose=sample["dose"], seed=sample["seed"])
        if sample["after"] is None:
            assert change is None, sample["before"]
        elif "field" in sample:
            assert change is not None
            assert change.item.source[sample["field"]] == entries_of(sample, "after")
        else:
            assert change is not None
            assert change.item.summary == sample["after"]


@EACH
def test_it_can_be_done_to_shipped_examples(kind: Kind) -> None:
    done = sum(apply(kind, item) is not None for item in examples())
    assert (done == 0) == (kind.name in NOT_IN_EXAMPLES)


@pytest.mark.skipif(not DEVELOPMENT.exists(), reason="development data is not here")
@EACH
def test_it_can_be_done_to_most_of_what_has_a_place_for_it(kind: Kind) -> None:
    done = sum(apply(kind, item) is not None for item in development()) / len(development())
    least = {"bullet_marks": 0, "answer_order": 0, "specification_order": 0, "contractions": 0.15}
    least |= {"quotes_and_dashes": 0.4, "synonym": 0.7, "padding": 0.6}
    assert done >= least.get(kind.name, 0.85)


@EACH
def test_the_same_seed_makes_the_same_change(kind: Kind) -> None:
    for item in examples():
        for dose in kind.doses:
            assert apply(kind, item, dose=dose, seed=3) == apply(kind, item, dose=dose, seed=3)


@EACH
def test_only_what_is_named_changes(kind: Kind) -> None:
    for item, change in changes(kind):
        if change.fields:
            assert change.fields == (FIELDS[kind.name],)
            assert change.edits == ()
            rest = {name: value for name, value in item.source.items() if name not in change.fields}
            assert {name: change.item.source[name] for name in rest} == rest
            assert replace(change.item, source=item.source) == item
        else:
            assert change.edits
            assert change.item.summary != item.summary
            assert replace(change.item, summary=item.summary) == item


@pytest.mark.parametrize("name", sorted(SAME_WORDS))
def test_marks_and_white_space_leave_every_word(name: str) -> None:
    for item, change in changes(KINDS[name]):
        assert content(change.item.summary) == content(item.summary)
        letters, before = (re.sub(r"\W", "", text) for text in (change.item.summary, item.summary))
        assert letters == before


@pytest.mark.parametrize("name", FIELDS)
def test_another_order_has_the_same_entries(name: str) -> None:
    for item, change in changes(KINDS[name]):
        field = FIELDS[name]
        assert Counter(change.item.source[field]) == Counter(item.source[field])
        assert change.item.source[field] != item.source[field]


@pytest.mark.parametrize("name", ["synonym", "contractions", "polite_framing", "padding"])
def test_words_keep_tone_numbers_and_everything_else(name: str) -> None:
    """What is taken out and put in holds no word of feeling and no digit; what stands between stays."""
    feelings = word_list("positive") | word_list("negative")
    for item, change in changes(KINDS[name]):
        for edit in change.edits:
            gone, come = set(words(item.summary[edit.start : edit.end])), set(words(edit.text))
            assert not (come - gone) & (feelings - {"faulty", "defective"})
            assert not re.search(r"\d", edit.text)
        assert tone(words(change.item.summary)) == tone(words(item.summary))


def test_one_synonym_is_one_word() -> None:
    assert all(len(change.edits) == 1 for _, change in changes(KINDS["synonym"]))


def test_the_dose_of_padding_is_how_many_sentences_are_padded() -> None:
    for item, change in changes(KINDS["padding"]):
        assert len(change.edits) == change.dose
        assert len(sentences(change.item.summary)) == len(sentences(item.summary))


def test_a_contraction_that_could_mean_two_things_stays() -> None:
    """It's been, they'd, owner's, and questions."""
    kept = "It's been used. They'd go. The owner's lid fits. Isn't the strap short? Don't you agree?"
    assert apply(KINDS["contractions"], Item("1", "s", kept, {})) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("quotes_and_dashes", "A plain well-made text."),
        ("as_list", "One sentence alone."),
        ("line_breaks", "One sentence alone."),
        ("padding", "Stretch your calves. Loosen the sheets."),
        ("synonym", "The lid sticks."),
        ("white_space", "Good."),
        ("polite_framing", "Der Deckel klemmt und das Kabel ist kurz."),
        ("bullet_marks", "- one entry is no list"),
    ],
)
def test_a_text_without_a_place_is_left_alone(name: str, text: str) -> None:
    assert apply(KINDS[name], Item("1", "s", text, {})) is None


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize(
    "entries", [None, (), ("one",), ("same", "same"), ("a", "As said above, b"), ("a", "I disagree with b")]
)
def test_entries_that_cannot_change_places_are_left_alone(name: str, entries: tuple[str, ...] | None) -> None:
    source = {} if entries is None else {FIELDS[name]: entries}
    assert apply(KINDS[name], Item("1", "s", "S", source)) is None


def reviewed(count: int) -> Item:
    return Item("1", "s", "S", {"reviews": tuple(Review(f"Review {number}", 3.0) for number in range(count))})


@pytest.mark.parametrize("count", [3, 4, 8])
def test_a_review_is_moved_and_the_others_keep_their_order(count: int) -> None:
    item = reviewed(count)
    for index in range(count):
        moved = item.source["reviews"][index]
        others = [review for review in item.source["reviews"] if review != moved]
        places = []
        for to in POSITIONS:
            change = moved_review(item, index, to)
            assert change is not None
            after = change.item.source["reviews"]
            places.append(after.index(moved))
            assert [review for review in after if review != moved] == others
            assert (change.fields == ()) == (after == item.source["reviews"])
        assert places == [0, (count - 1) // 2, count - 1]


def test_all_three_places_are_of_one_review_that_the_seed_chooses() -> None:
    item = reviewed(9)
    found = [placed_review(item, seed=seed) for seed in range(20)]
    chosen = set()
    for three in found:
        assert three is not None
        assert list(three) == list(POSITIONS)
        first = three["first"].item.source["reviews"][0]
        assert three["middle"].item.source["reviews"][4] == first == three["last"].item.source["reviews"][-1]
        chosen.add(first)
    assert len(chosen) > 4
    assert placed_review(item, seed=1) == found[1]


def test_two_reviews_have_no_middle_and_a_review_that_is_not_there_is_said() -> None:
    assert placed_review(reviewed(2)) is None
    assert moved_review(Item("1", "s", "S", {}), 0, "first") is None
    with pytest.raises(ValueError, match="no review 5: the item has 3"):
        moved_review(reviewed(3), 5, "last")


def test_the_page_lists_every_kind_with_what_it_spares() -> None:
    page = (ROOT / "docs" / "perturb.md").read_text("utf-8")
    listed = re.findall(
        r"(?m)^\| `(\w+)` \| (.+?) \| (.+?) \|$", page.partition("## Harmless edits")[2].partition("\n## ")[0]
    )
    assert listed == [(kind.name, kind.about, spared(kind)) for kind in HARMLESS]


def spared(kind: Kind) -> str:
    left_out = [name for name in ALL if name not in kind.spares]
    if not left_out:
        return "all"
    if len(left_out) > len(kind.spares):
        return ", ".join(kind.spares)
    return f"all but {', '.join(left_out)}"
