"""The exam: which summaries are chosen, what is made of them, and that nothing else is."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files

import pytest

from jurybox.api.stressing import prepare_stress
from jurybox.data import Dataset
from jurybox.fields import characters
from jurybox.perturb.change import Edit, Kind, Made, Place
from jurybox.perturb.choosing import choose
from jurybox.perturb.exam import NOTE, Arsenal, Exam, exam_of, is_trial, make_exam
from jurybox.types import Item

PRODUCTS = [json.loads(line) for line in files("jurybox.examples").joinpath("products.jsonl").read_text().splitlines()]
ITEMS = list(Dataset(PRODUCTS))


def exam(rubrics: str = "product-opinion", **options: object) -> Exam:
    return prepare_stress(PRODUCTS, rubrics, **{"systems": ["careful"], "items": 6, **options}).exam  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def made() -> Exam:
    return exam()


def item(number: int, system: str = "base", **more: object) -> Item:
    return replace(Item(f"p{number}", system, f"Text {number} by {system}.", {"reviews": ("Good.",)}), **more)  # type: ignore[arg-type]


def test_no_two_trials_share_a_key_and_none_has_that_of_an_item(made: Exam) -> None:
    keys = [trial.item.key for trial in made.trials]
    assert len(set(keys)) == len(keys)
    assert not set(keys) & {item.key for item in ITEMS}
    assert all(is_trial(system) for _, system in keys)


def test_systems_that_look_like_trials_do_not_collide() -> None:
    """The last joint in a trial's system is always ours."""
    tricky = [item(1, "a"), item(1, "a + original"), item(2, "a"), item(2, "a + original + original")]
    keys = [trial.item.key for trial in make_exam(tricky, tricky, Arsenal({"fluency": 5}, ())).trials]
    assert len(set(keys)) == len(keys) == 4
    assert not set(keys) & {("p1", "a"), ("p2", "a")}


def test_the_same_seed_makes_the_same_exam(made: Exam) -> None:
    assert exam().trials == made.trials
    assert exam().digest == made.digest
    assert exam(seed=1).digest != made.digest


def test_an_exam_can_be_read_back_from_its_items(made: Exam) -> None:
    read = exam_of(trial.item for trial in made.trials)
    assert read.trials == made.trials
    assert (read.seed, read.targets, read.digest) == (made.seed, made.targets, made.digest)


def test_a_trial_keeps_what_the_data_brought_but_no_ratings() -> None:
    rated = item(1, human={"fluency": {"anna": 5.0}}, metadata={"shop": "north"})
    (original,) = make_exam([rated], [rated], Arsenal({"fluency": 5}, ())).trials
    assert original.item.metadata["shop"] == "north"
    assert original.item.metadata[NOTE]["role"] == "original"
    assert (original.item.human, original.item.summary) == ({}, rated.summary)


def test_damage_changes_the_summary_and_moves_change_the_reviews(made: Exam) -> None:
    originals = {trial.base: trial.item for trial in made.trials if trial.role == "original"}
    for trial in made.trials:
        base = originals[trial.base]
        if trial.role == "damage":
            assert trial.item.summary != base.summary
            assert trial.item.source == base.source
        elif trial.role == "position":
            assert trial.item.summary == base.summary
            assert sorted(map(repr, trial.item.source["reviews"])) == sorted(map(repr, base.source["reviews"]))
    places = [trial.place for trial in made.trials if trial.role == "position"]
    assert {place: places.count(place) for place in places} == {"first": 6, "middle": 6, "last": 6}


def test_a_dose_that_adds_nothing_is_left_out_and_counted() -> None:
    def stubborn(place: Place) -> Made:
        return [Edit(0, 0, "x" * min(place.dose, 2))]

    def never(place: Place) -> Made:
        return None

    kinds = (Kind("stubborn", stubborn, "", doses=(1, 2, 3)), Kind("never", never, "", doses=(1, 2)))
    two = [item(1), item(2)]
    found = make_exam(two, two, Arsenal({"fluency": 5}, kinds))
    assert [trial.dose for trial in found.trials if trial.kind == "stubborn"] == [1, 2, 1, 2]
    assert found.refused == {"stubborn": 2, "never": 4}


def test_every_attack_has_a_control_of_its_length_in_its_place(made: Exam) -> None:
    attacks = [trial for trial in made.trials if trial.role == "attack"]
    controls = [trial for trial in made.trials if trial.role == "control"]
    assert len(attacks) == len(controls) == 6 * 13
    for attack, control in zip(attacks, controls, strict=True):
        assert (attack.base, attack.kind, attack.place, attack.wanted) == (
            control.base,
            control.kind,
            control.place,
            control.wanted,
        )
        assert characters(attack.item.source) == characters(control.item.source)
        if attack.place == "summary":
            assert len(attack.item.summary) == len(control.item.summary)
            assert attack.item.source == control.item.source
        else:
            assert attack.item.summary == control.item.summary


def test_all_attacks_and_places_have_their_turn(made: Exam) -> None:
    attacks = [trial for trial in made.trials if trial.role == "attack"]
    places = [trial.place for trial in attacks]
    assert set(places) == {"review", "summary", "title"}
    assert min(places.count(place) for place in set(places)) > len(places) / 5
    by_family = {trial.family: {other.kind for other in attacks if other.family == trial.family} for trial in attacks}
    assert len(by_family) == 13
    assert all(len(kinds) >= 3 for kinds in by_family.values())


def test_what_is_attacked_is_bad_already_and_the_same_whatever_is_asked(made: Exam) -> None:
    def victims(one: Exam) -> set[str]:
        return {trial.item.summary for trial in one.trials if trial.role == "attack" and trial.place == "review"}

    originals = {trial.item.summary for trial in made.trials if trial.role == "original"}
    assert not victims(made) & originals
    assert victims(exam("faithfulness", kinds="swap_number")) == victims(made)


def test_each_best_score_is_wanted() -> None:
    from jurybox.rubrics import builtin

    both = [builtin()["faithfulness"], replace(builtin()["fluency"], target=1)]
    found = prepare_stress(PRODUCTS, both, items=2, systems=["careful"]).exam
    wanted = [trial.wanted for trial in found.trials if trial.role == "attack"]
    assert {score: wanted.count(score) for score in set(wanted)} == {1: 26, 5: 26}


def test_kinds_that_say_nothing_of_the_rubrics_asked_are_not_made() -> None:
    kinds = {trial.kind for trial in exam("specificity").trials if trial.role == "damage"}
    assert "generic" in kinds
    assert "repeat" not in kinds
    assert {trial.kind for trial in exam(kinds="repeat, generic").trials if trial.role == "damage"} == {
        "repeat",
        "generic",
    }
    assert not [trial for trial in exam(attacks=False).trials if trial.role in ("attack", "control")]


def test_good_is_what_people_rated_in_the_better_half_and_the_best_of_a_source_comes_first() -> None:
    rated = [
        item(number, system, human={"fluency": {"anna": score}})
        for number in range(4)
        for system, score in (("poor", 1.0), ("fair", 3.0), ("fine", 5.0))
    ]
    chosen, words = choose(rated, 4, 0, {"fluency": 5})
    assert {one.system for one in chosen} == {"fine"}
    assert {one.id for one in chosen} == {"p0", "p1", "p2", "p3"}
    assert words == "the better half by people's ratings (mean 3.00 or more)"
    more, _ = choose(rated, 6, 0, {"fluency": 5})
    assert sorted(one.system for one in more) == ["fair", "fair", "fine", "fine", "fine", "fine"]
    turned, _ = choose(rated, 4, 0, {"fluency": 1})
    assert {one.system for one in turned} == {"poor"}


def test_a_reference_is_good_and_otherwise_anything_is() -> None:
    items = [item(number, system) for number in range(3) for system in ("Reference", "other")]
    chosen, words = choose(items, 20, 0, {"fluency": 5})
    assert {one.system for one in chosen} == {"Reference"}
    assert "called a reference" in words
    others = [one for one in items if one.system == "other"]
    chosen, words = choose(others, 2, 0, {"fluency": 5})
    assert len({one.id for one in chosen}) == 2
    assert "nothing says which are good" in words
    assert [one.id for one in chosen] == sorted(one.id for one in chosen), "in the order of the data"


def test_the_seed_decides_which_sources_are_taken() -> None:
    items = [item(number) for number in range(50)]
    takings = {tuple(one.id for one in choose(items, 5, seed, {})[0]) for seed in range(6)}
    assert len(takings) == 6
