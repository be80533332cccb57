"""Built-in rubrics are whole and give nothing away; a wrong file gets one clear error that names it."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import product
from pathlib import Path

import pytest

from jurybox.data import Dataset
from jurybox.errors import RubricError
from jurybox.prompts import render, sheets
from jurybox.rubrics import builtin, load, load_file, packs, read_toml
from jurybox.types import ANSWERS, LAYOUTS, SCALE, Answer, Item, Layout, Rubric

# A form has several scores, so an answer of one does not fit it.
FITTING = [pair for pair in product(LAYOUTS, ANSWERS) if pair not in (("form", "tag"), ("form", "digit"))]
FOLDER = Path(str(files("jurybox.rubrics"))) / "builtin"
FILES = sorted(FOLDER.glob("*.toml"))
# DESIGN.md, "Rubrics": the order in which the packs name their rubrics.
PRODUCT = [
    "aspect_coverage",
    "faithfulness",
    "sentiment_consistency",
    "fluency",
    "coherence",
    "relevance",
    "specificity",
]
HEALTH = [
    "extraneous_information",
    "contradiction",
    "perspective_misalignment",
    "redundancy",
    "omission",
    "fluency",
    "coherence",
]
EXAMPLES = {"product-opinion": "products", "health-perspective": "health"}
GOOD = """
name = "tone"
version = 1
question = "Is the tone right?"
definition = "Measures tone."
steps = ["Read.", "Decide."]
target = 5
[scale]
1 = "Awful."
2 = "Poor."
3 = "Fair."
4 = "Good."
5 = "Right."
[inputs]
required = ["summary"]
optional = ["reviews"]
"""


def example_items(pack: str) -> list[Item]:
    return list(Dataset(str(files("jurybox.examples") / f"{EXAMPLES[pack]}.jsonl")))


def prose(rubric: Rubric) -> str:
    return "\n".join((rubric.title, rubric.question, rubric.definition, *rubric.scale, *rubric.steps))


def test_every_builtin_file_is_loaded_under_the_name_of_its_file() -> None:
    assert len(FILES) == 12
    assert {file.stem for file in FILES} == set(builtin())


def test_the_product_pack_has_its_seven_in_order() -> None:
    assert [rubric.name for rubric in packs()["product-opinion"]] == PRODUCT


def test_the_health_pack_has_its_seven_in_order() -> None:
    assert [rubric.name for rubric in packs()["health-perspective"]] == HEALTH


def test_there_is_no_third_pack() -> None:
    assert set(packs()) == set(EXAMPLES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_builtin_rubric_is_whole(file: Path) -> None:
    rubric = read_toml(file.read_text("utf-8"), file.name)
    assert len(rubric.scale) == len(set(rubric.scale)) == len(SCALE)
    assert all(len(label.split()) >= 5 for label in rubric.scale)
    assert rubric.target == 5
    assert len(rubric.steps) >= 3
    assert rubric.question.endswith("?")
    assert rubric.citation
    assert rubric.packs
    assert "summary" in rubric.required
    assert re.fullmatch(rf"{file.stem}@1:[0-9a-f]{{6}}", rubric.label)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_builtin_prose_holds_braces_a_tag_or_a_score(file: Path) -> None:
    """Nothing to fill, nothing to imitate: no example gives a score away."""
    text = prose(read_toml(file.read_text("utf-8"), file.name))
    assert not re.search(r"[{}<>]", text)
    assert not re.search(r"\bscores?\b\W{0,3}(of |is |as )?\W{0,3}[1-5]\b", text, re.IGNORECASE)
    assert not re.search(r"[1-5]\s*(/|out of)\s*5", text)


@pytest.mark.parametrize("name", ["fluency", "coherence", "redundancy"])
def test_rubrics_of_language_read_the_summary_alone(name: str) -> None:
    (sheet,) = sheets(load([name]))
    assert builtin()[name].inputs == ("summary",)
    assert sheet.fields == ()


@pytest.mark.parametrize("name", ["fluency", "coherence"])
def test_no_source_text_reaches_a_rubric_of_the_summary_alone(name: str) -> None:
    item = Item("1", "s", "A fine kettle.", {"reviews": ("It leaks-XYZZY.",), "description": "XYZZY"})
    (sheet,) = sheets(load([name]))
    prompt = render(sheet, item)
    assert "XYZZY" not in prompt.user
    assert "A fine kettle." in prompt.user


@pytest.mark.parametrize("pack", list(EXAMPLES))
@pytest.mark.parametrize(("layout", "answer"), FITTING)
def test_every_rubric_renders_every_example_in_every_layout(pack: str, layout: Layout, answer: Answer) -> None:
    items = example_items(pack)
    assert len(items) >= 15
    asked: list[str] = []
    for sheet in sheets(packs()[pack], layout, answer):
        asked += [rubric.name for rubric in sheet.rubrics]
        for item in items:
            prompt = render(sheet, item)
            assert prompt.user.count(item.summary) >= 1
            for rubric in sheet.rubrics:
                assert rubric.definition in prompt.user
                assert all(label in prompt.user for label in rubric.scale)
                shown = answer != "digit"  # steps are for working through in writing
                assert all((step in prompt.user) == shown for step in rubric.steps)
    assert sorted(asked) == sorted(rubric.name for rubric in packs()[pack])


def test_the_example_data_has_what_its_pack_requires() -> None:
    for pack, file in EXAMPLES.items():
        census = Dataset(str(files("jurybox.examples") / f"{file}.jsonl")).check(packs()[pack])
        assert census.items == len(example_items(pack))


WRONG: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "unknown key": ("steps =", "stesp =", ("unknown key 'stesp'", "Did you mean 'steps'?", "key 'steps' is missing")),
    "unknown key of inputs": ("optional =", "optoinal =", ("inputs: unknown key 'optoinal'", "'optional'?")),
    "missing key": ('question = "Is the tone right?"', "", ("key 'question' is missing",)),
    "empty text": ("Is the tone right?", "  ", ("key 'question'", "at least 1 character")),
    "missing label": ('3 = "Fair."', "", ("scale has no label for 3", "every step 1-5")),
    "label off the scale": ('5 = "Right."', '6 = "Right."', ("scale.6", "'1', '2', '3', '4' or '5'")),
    "wrong type of steps": ('["Read.", "Decide."]', '"Read."', ("key 'steps'", "valid list")),
    "no steps": ('["Read.", "Decide."]', "[]", ("key 'steps'", "at least 1 item")),
    "version as text": ("version = 1", 'version = "1"', ("key 'version'", "valid integer")),
    "version as truth": ("version = 1", "version = true", ("key 'version'", "valid integer")),
    "version zero": ("version = 1", "version = 0", ("key 'version'", "greater than or equal to 1")),
    "wrong pack": ("target = 5", "pack = 3\ntarget = 5", ("key 'pack'", "valid list")),
    "target in the middle": ("target = 5", "target = 3", ("key 'target'", "1 or 5")),
    "unknown layout": ("target = 5", 'layout = "clasic"\ntarget = 5', ("key 'layout'", "'classic'")),
    "wrong field": ('"reviews"', '"reveiws"', ("unknown field 'reveiws'", "Did you mean 'reviews'?", "average_rating")),
    "no summary": ('required = ["summary"]', 'required = ["reviews"]', ("'summary' must be among the required",)),
    "odd name": ('"tone"', '"To ne"', ("key 'name'",)),
    "not TOML": ("[scale]", "[scale", ("is not TOML", "line")),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_toml_file_is_one_error_with_file_and_nearest_name(case: str, tmp_path: Path) -> None:
    old, new, said = WRONG[case]
    assert GOOD.count(old) == 1
    file = tmp_path / "mine.toml"
    file.write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(RubricError) as error:
        load([str(file)])
    message = str(error.value)
    assert message.startswith(f"{file}: ")
    assert "\n" not in message
    for part in said:
        assert part in message


def test_a_file_that_is_not_utf8_says_so(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(GOOD.replace("Awful", "Schlimm für").encode("latin-1"))
    with pytest.raises(RubricError, match=r"mine\.toml: is not UTF-8 \(byte \d+\)"):
        load([str(file)])


def test_a_missing_file_and_a_directory_say_so(tmp_path: Path) -> None:
    with pytest.raises(RubricError, match=r"gone\.toml: cannot be read: No such file"):
        load([str(tmp_path / "gone.toml")])
    with pytest.raises(RubricError, match="cannot be read: Is a directory"):
        load([str(tmp_path)])


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "with a byte order mark"])
def test_a_users_own_toml_is_loaded_by_path(mark: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(mark + GOOD, encoding="utf-8")
    (rubric,) = load([str(file)])
    assert rubric.name == "tone"
    assert rubric.title == "Tone"
    assert rubric.scale == ("Awful.", "Poor.", "Fair.", "Good.", "Right.")
    assert rubric.inputs == ("summary", "reviews")


def test_one_pack_may_be_written_without_brackets() -> None:
    assert read_toml(GOOD.replace("target", 'pack = "mine"\ntarget'), "x").packs == ("mine",)


def test_a_change_of_a_word_changes_the_label() -> None:
    assert read_toml(GOOD, "x").label != read_toml(GOOD.replace("Fair", "Middling"), "x").label


def test_name_equals_path_renames_and_keeps_the_content(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(GOOD, encoding="utf-8")
    (renamed,) = load([f"voice={file}"])
    (plain,) = load_file(file)
    assert renamed.name == "voice"
    assert (renamed.digest, renamed.scale) == (plain.digest, plain.scale)


def test_two_different_rubrics_of_one_name_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(GOOD.replace('"tone"', '"fluency"'), encoding="utf-8")
    with pytest.raises(RubricError, match=r"two different rubrics are named 'fluency'.*--rubrics NAME="):
        load(["fluency", str(file)])
    assert [rubric.name for rubric in load(["fluency", f"fluency_of_mine={file}"])] == ["fluency", "fluency_of_mine"]


def test_a_rubric_asked_for_twice_is_loaded_once_in_the_order_asked() -> None:
    names = [rubric.name for rubric in load(["coherence", "fluency", "coherence", "product-opinion"])]
    assert names == ["coherence", "fluency", *(name for name in PRODUCT if name not in ("coherence", "fluency"))]


def test_an_unknown_rubric_gets_the_nearest_name() -> None:
    with pytest.raises(RubricError, match=r"unknown rubric 'fluensy'\. Did you mean 'fluency'\? Available: .*omission"):
        load(["fluensy"])


def test_an_unknown_pack_gets_the_nearest_name() -> None:
    with pytest.raises(RubricError, match="Did you mean 'product-opinion'"):
        load(["product-opinions"])


def test_no_rubric_at_all_is_an_error() -> None:
    with pytest.raises(RubricError, match="no rubric was named"):
        load([])
