"""Damage is what it says it is: it changes what it names and nothing else, it is the same for the same seed, larger
doses contain smaller ones, and ten of each kind were read one by one (`perturb_samples`, written by `collect.py`)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pytest

from jurybox.data import Dataset
from jurybox.errors import SetupError
from jurybox.fields import entries
from jurybox.language import seems_english, sentences
from jurybox.perturb import DAMAGE, Change, Kind, apply, damage
from jurybox.perturb.change import edited
from jurybox.perturb.negation import opposite
from jurybox.rubrics import load
from jurybox.types import Item

HERE = Path(__file__).parent
SAMPLES = HERE / "perturb_samples"
DEV = HERE.parent.parent / "shared" / "data" / "summeval_op_dev.jsonl"
PAGE = HERE.parent / "docs" / "perturb.md"
KINDS = {kind.name: kind for kind in DAMAGE}
HEALTH_ONLY = {"contradict", "shift_perspective", "omit_warning"}
PRODUCT_ONLY = {"flip_one", "flip_all", "generic"}
every_kind = pytest.mark.parametrize("kind", DAMAGE, ids=lambda kind: kind.name)


@cache
def example_items() -> tuple[Item, ...]:
    shipped = [str(files("jurybox.examples") / name) for name in ("products.jsonl", "health.jsonl")]
    return tuple(item for path in (*shipped, str(SAMPLES / "own_items.jsonl")) for item in Dataset(path))


@cache
def dev_items() -> tuple[Item, ...]:
    if not DEV.exists():
        pytest.skip("the development data is not here")
    return tuple(Dataset(DEV))


def changes(kind: Kind, items: Sequence[Item], *, dose: int = 1, seed: int = 0) -> list[tuple[Item, Change]]:
    made = ((item, apply(kind, item, dose=dose, seed=seed, others=items)) for item in items)
    return [(item, change) for item, change in made if change is not None]


@cache
def dev_changes(name: str, dose: int) -> list[tuple[Item, Change]]:
    return changes(KINDS[name], dev_items(), dose=dose)


def source(item: Item) -> str:
    return json.dumps([entries(value) for value in item.source.values()], ensure_ascii=False).lower()


def new_words(change: Change) -> str:
    return " ".join(edit.text for edit in change.edits).lower()


def assert_honest(item: Item, change: Change) -> None:
    """The summary alone changed, it did change, something is left, and only the places that the edits name differ."""
    assert change.item == replace(item, summary=change.item.summary)
    assert change.item.summary != item.summary
    assert change.item.summary.strip()
    assert change.edits
    assert change.fields == ()
    assert edited(item.summary, change.edits) == change.item.summary
    at_old = at_new = 0
    for edit in change.edits:
        kept = item.summary[at_old : edit.start]
        assert change.item.summary[at_new : at_new + len(kept)] == kept
        at_old, at_new = edit.end, at_new + len(kept) + len(edit.text)
        assert item.summary[edit.start : edit.end] != edit.text
    assert change.item.summary[at_new:] == item.summary[at_old:]


@every_kind
def test_only_what_the_edits_name_changes_in_the_examples(kind: Kind) -> None:
    for dose in kind.doses:
        for item, change in changes(kind, example_items(), dose=dose):
            assert_honest(item, change)


@every_kind
def test_only_what_the_edits_name_changes_in_the_development_data(kind: Kind) -> None:
    for dose in kind.doses:
        for item, change in dev_changes(kind.name, dose):
            assert_honest(item, change)


@every_kind
def test_it_applies_where_it_says(kind: Kind) -> None:
    sorts = {"answers" in item.source for item, _ in changes(kind, example_items())}
    assert sorts == {kind.name in HEALTH_ONLY} | {kind.name not in PRODUCT_ONLY}


@pytest.mark.parametrize("kind", [kind for kind in DAMAGE if kind.name not in HEALTH_ONLY], ids=lambda kind: kind.name)
def test_the_page_says_how_much_of_the_development_data_gives_it_a_place(kind: Kind) -> None:
    found = ", ".join(str(len(dev_changes(kind.name, dose))) for dose in kind.doses)
    assert f"| `{kind.name}` | {found} |" in PAGE.read_text("utf-8"), f"of {len(dev_items())} summaries: {found}"


@every_kind
def test_the_same_seed_makes_the_same_change(kind: Kind) -> None:
    items = example_items()
    assert changes(kind, items, seed=3) == changes(kind, items, seed=3)


def test_another_seed_makes_another_change() -> None:
    """Wherever chance has a say; flipping all, breaking off and turning the order round leave it little."""
    fixed = {"flip_all", "truncate", "drop_aspects", "shuffle", "swap_dose", "omit_warning"}
    for kind in DAMAGE:
        first, second = (dict_of(changes(kind, example_items(), seed=seed)) for seed in (0, 1))
        assert kind.name in fixed or first != second, kind.name


def dict_of(found: list[tuple[Item, Change]]) -> dict[tuple[str, str], str]:
    return {item.key: change.item.summary for item, change in found}


@pytest.mark.parametrize("kind", [kind for kind in DAMAGE if len(kind.doses) > 1], ids=lambda kind: kind.name)
def test_a_larger_dose_contains_the_smaller_one(kind: Kind) -> None:
    assert kind.doses == (1, 2, 3)
    nested = 0
    for item in example_items():
        doses = [apply(kind, item, dose=dose, others=example_items()) for dose in kind.doses]
        for smaller, larger in pairwise(doses):
            assert smaller is not None or larger is None, "a larger dose needs the places of the smaller"
            if smaller is not None and larger is not None:
                assert written(smaller) <= written(larger)
                assert deleted(smaller) <= deleted(larger)
                assert len(smaller.edits) < len(larger.edits) or changed(smaller) < changed(larger)
                nested += 1
    assert nested >= 1


def written(change: Change) -> set[tuple[int, str]]:
    return {(edit.start, edit.text) for edit in change.edits if edit.text}


def deleted(change: Change) -> set[int]:
    return {at for edit in change.edits for at in range(edit.start, edit.end)}


def changed(change: Change) -> int:
    return sum(edit.end - edit.start + len(edit.text) for edit in change.edits)


@pytest.mark.parametrize("name", ["invent", "off_topic", "contradict", "generic"])
@pytest.mark.parametrize(
    "summary",
    [
        "Der Wasserkocher ist schnell, aber der Deckel klemmt.",
        "La bouilloire chauffe vite mais le couvercle est dur.",
        "El hervidor es rápido, pero la tapa no cierra con el tiempo.",
        "这个水壶烧水很快。盖子很紧。",
        "Чайник быстро кипятит.",
    ],
)
def test_no_english_sentence_is_put_into_another_language(name: str, summary: str) -> None:
    assert not any(damage(replace(item, summary=summary), name) for item in example_items())


def test_english_is_known_as_such() -> None:
    assert all(seems_english(item.summary) for item in example_items())
    assert seems_english("- Boils fast\n- Café crème, stiff lid")
    assert seems_english("Fits my van: van seats, van floor. Order on example.com, no pros, one con.")


@every_kind
@pytest.mark.parametrize("summary", ["", "   ", "Good.", "Nice", "😀", "这个水壶很好。", "¿Qué?\n\n— …"])
def test_texts_that_give_no_place_are_refused_or_changed_honestly(kind: Kind, summary: str) -> None:
    for item in example_items()[:40:13]:
        bare = replace(item, summary=summary)
        change = apply(kind, bare, others=example_items())
        if change is not None:
            assert_honest(bare, change)
        if not summary.strip():
            assert change is None


@every_kind
def test_unicode_around_the_damage_stays(kind: Kind) -> None:
    for item in example_items():
        dressed = replace(item, summary=f"“Café” naïve 🫖.\n{item.summary} Ça va…")
        change = apply(kind, dressed, others=example_items())
        if change is not None and kind.name not in {"other_summary", "shuffle"}:
            assert_honest(dressed, change)
            assert "é” n" in change.item.summary


def test_an_item_without_a_source_is_no_accident() -> None:
    item = Item("x", "s", "The boots are comfortable. They cost 40 euros. However, the laces are poor.", {})
    for kind in DAMAGE:
        change = apply(kind, item)
        if change is not None:
            assert_honest(item, change)


# What each kind promises beyond the edits.


def test_what_is_invented_stands_nowhere_in_the_source() -> None:
    for item, change in changes(KINDS["invent"], (*example_items(), *optional_dev()), dose=3):
        assert all(edit.text.strip().lower() not in source(item) for edit in change.edits)
        assert all(edit.start == edit.end for edit in change.edits)


def optional_dev() -> tuple[Item, ...]:
    return dev_items() if DEV.exists() else ()


def test_a_swapped_number_stands_nowhere_in_the_source_and_was_a_number() -> None:
    for item, change in changes(KINDS["swap_number"], (*example_items(), *optional_dev())):
        (edit,) = change.edits
        assert re.fullmatch(r"[\d.,]+|[a-z]+", edit.text.lower())
        assert not re.search(rf"(?<![\w.,]){re.escape(edit.text.lower())}(?![\w]|[.,]\d)", source(item))


def test_an_entity_is_swapped_wherever_it_stands() -> None:
    for item, change in changes(KINDS["swap_entity"], (*example_items(), *optional_dev())):
        gone = {item.summary[edit.start : edit.end] for edit in change.edits}
        assert len(gone) == 1
        assert new_words(change).split()[0] not in source(item)


def test_the_other_summary_is_of_another_source_of_the_same_sort() -> None:
    for item, change in changes(KINDS["other_summary"], example_items()):
        owners = [other for other in example_items() if other.summary == change.item.summary]
        assert all(other.id != item.id for other in owners)
        assert {"answers" in other.source for other in owners} == {"answers" in item.source}


def test_a_summary_that_was_of_this_very_source_by_mistake_does_not_serve_as_another() -> None:
    """In the examples, the `misplaced` summary of the fountain speaks about the kettle."""
    items = {item.key: item for item in example_items()}
    mistaken = items["cat-fountain", "misplaced"]
    assert damage(items["kettle", "careful"], "other_summary", others=[mistaken]) is None
    assert damage(items["desk-lamp", "careful"], "other_summary", others=[items["kettle", "careful"]]) is not None


def test_a_repeat_says_a_sentence_again_and_a_reworded_one_does_not_use_its_words() -> None:
    for item, change in changes(KINDS["repeat"], example_items()):
        assert change.edits[0].text.strip() in item.summary
    for item, change in changes(KINDS["repeat_reworded"], example_items()):
        assert change.edits[0].text.split(", ", 1)[1] not in item.summary


def test_a_shuffled_text_has_the_same_sentences_and_no_two_neighbours_in_their_order() -> None:
    for item, change in changes(KINDS["shuffle"], (*example_items(), *optional_dev())):
        before, after = ([text[a:b] for a, b in sentences(text)] for text in (item.summary, change.item.summary))
        assert sorted(before) == sorted(after)
        assert before[0] != after[0]


def test_what_is_dropped_is_no_longer_spoken_of() -> None:
    for item, change in changes(KINDS["drop_aspects"], example_items()):
        assert set(after_sentences(change)) < {item.summary[start:end] for start, end in sentences(item.summary)}


def after_sentences(change: Change) -> list[str]:
    return [change.item.summary[start:end] for start, end in sentences(change.item.summary)]


def test_a_cut_text_breaks_off() -> None:
    for item, change in changes(KINDS["truncate"], example_items()):
        assert item.summary.startswith(change.item.summary)
        assert change.item.summary[-1].isalpha()


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The lid is loose.", "The lid is not loose."),
        ("The lid is not loose.", "The lid is loose."),
        ("It can be washed.", "It cannot be washed."),
        ("It cannot be washed.", "It can be washed."),
        ("It isn't loud.", "It is loud."),
        ("The shell has cracked.", "The shell has not cracked."),
        ("It works on carpet.", "It does not work on carpet."),
        ("It does not work on carpet.", "It works on carpet."),
        ("They fit well.", "They do not fit well."),
        ("They don't fit well.", "They fit well."),
        ("Take it with food.", "Do not take it with food."),
        ("Do not take it with food.", "Take it with food."),
        ("Don’t stop suddenly.", "Stop suddenly."),
        ("The reviews are positive.", "The reviews are not positive."),
        ("The app has a timer.", None),  # to have, alone: "has not a timer" is no longer English
        ("Some users are happy.", None),  # its opposite may be true as well
        ("It is good but narrow.", None),  # "not good but narrow" means something else
        ("Is it loud?", None),
        ("They ask whether it is loud.", None),
        ("It may be loud.", None),
        ("There are two lids.", None),
        ("Nobody was pleased.", None),
        ("It is not only loud.", None),
        ("She has not noticed any change.", None),  # "has noticed any change"
        ("The works are closed.", "The works are not closed."),
        ("", None),
    ],
)
def test_negation_is_english_or_refused(sentence: str, expected: str | None) -> None:
    assert opposite(sentence) == expected


# Names, rubrics, samples, documentation.


def test_an_unknown_kind_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(
        SetupError, match=r"unknown kind of damage 'negat'\. Did you mean 'negate'\? Available: break_g"
    ):
        damage(example_items()[0], "negat")


def test_a_dose_that_a_kind_does_not_have_is_an_error() -> None:
    with pytest.raises(ValueError, match="flip_all has doses 1, and no 2"):
        damage(example_items()[0], "flip_all", dose=2)


def test_there_are_enough_kinds_and_each_explains_itself() -> None:
    assert len(DAMAGE) >= 18
    assert len(KINDS) == len(DAMAGE)
    for kind in DAMAGE:
        assert re.fullmatch(r"[a-z]+(?:_[a-z]+)*", kind.name)
        assert kind.make.__doc__
        assert len(kind.about.split()) >= 5
        assert kind.hurts


def test_the_rubrics_exist_and_none_is_both_hurt_and_spared() -> None:
    known = {rubric.name for rubric in load(["product-opinion", "health-perspective"])}
    for kind in DAMAGE:
        assert {*kind.hurts, *kind.spares} <= known
        assert not set(kind.hurts) & set(kind.spares)
        assert len({*kind.hurts, *kind.spares}) == len(kind.hurts) + len(kind.spares)
    assert {name for kind in DAMAGE for name in kind.hurts} == known, "every rubric can be hurt by some damage"


@every_kind
def test_the_samples_that_were_read_are_still_what_comes_out(kind: Kind) -> None:
    lines = (SAMPLES / f"{kind.name}.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 10
    items = {item.key: item for item in example_items()}
    for sample in map(json.loads, lines):
        item = items[sample["id"], sample["system"]]
        assert item.summary == sample["before"]
        change = damage(item, kind.name, dose=sample["dose"], seed=sample["seed"], others=example_items())
        assert change is not None
        assert change.item.summary == sample["after"]


def table_line(kind: Kind) -> str:
    def names(rubrics: Sequence[str]) -> str:
        return ", ".join(f"`{rubric}`" for rubric in rubrics) or "–"

    doses = f"{kind.doses[0]}–{kind.doses[-1]}" if len(kind.doses) > 1 else "1"
    return f"| `{kind.name}` | {kind.about} | {names(kind.hurts)} | {names(kind.spares)} | {doses} |"


def test_the_page_has_the_table_of_kinds() -> None:
    page = PAGE.read_text("utf-8")
    missing = [line for line in map(table_line, DAMAGE) if line not in page]
    assert missing == [], "docs/perturb.md is stale; its lines should be:\n" + "\n".join(map(table_line, DAMAGE))
