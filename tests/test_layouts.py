"""What a prompt shows, in which order, and what the prompts about one item have in common."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise, product

import pytest

from jurybox.data import Dataset
from jurybox.errors import SetupError
from jurybox.fields import FIELDS
from jurybox.parsing import read
from jurybox.prompts import Sheet, render, sheets
from jurybox.rubrics import builtin, load, packs
from jurybox.types import ANSWERS, LAYOUTS, SCALE, Answer, Item, Layout, Reply, Review, Rubric

# A form has several scores, so an answer of one does not fit it.
FITTING = [pair for pair in product(LAYOUTS, ANSWERS) if pair not in (("form", "tag"), ("form", "digit"))]
ITEM = Item(
    "p1",
    "sys",
    "Users like the kettle.",
    {"product_title": "Kettle", "reviews": (Review("It boils fast.", 5.0), Review("It leaks.")), "average_rating": 3.5},
)
PACKS = {"product-opinion": "products", "health-perspective": "health"}


def examples(pack: str) -> list[Item]:
    return list(Dataset(str(files("jurybox.examples") / f"{PACKS[pack]}.jsonl")))


def one(name: str, layout: Layout | None = None, answer: Answer | None = None) -> Sheet:
    (sheet,) = sheets(load([name]), layout, answer)
    return sheet


def headings(text: str) -> list[str]:
    """Lines that stand alone between blank ones, or at the start, outside the fences."""
    outside = re.sub(r"<(\w+)-([0-9a-f]+)>\n.*?\n</\1-\2>", "", text, flags=re.DOTALL)
    return re.findall(r"(?:\A|\n\n)([A-Z][^\n.:]*)(?=\n\n)", outside)


def test_classic_has_the_order_of_the_seeds() -> None:
    text = render(one("faithfulness"), ITEM).user
    assert headings(text) == [
        "Task",
        "Criteria",
        "Scale of Faithfulness (5 is best)",
        "Metric",
        "Material",
        "Steps",
        "Answer",
    ]


def test_a_rubric_of_the_summary_alone_has_no_material() -> None:
    text = render(one("fluency"), ITEM).user
    assert headings(text) == [
        "Task",
        "Criteria",
        "Scale of Fluency (5 is best)",
        "Metric",
        "Summary",
        "Steps",
        "Answer",
    ]
    assert "material" not in text.lower()


def test_shared_has_the_material_before_the_rubric() -> None:
    prompt = render(one("faithfulness", "shared"), ITEM)
    assert headings(prompt.user) == [
        "Task",
        "Criteria",
        "Answer",
        "Material",
        "Scale of Faithfulness (5 is best)",
        "Metric",
        "Steps",
        "Answer",
    ]
    assert "aithful" not in prompt.user[: prompt.shared]
    assert prompt.user[: prompt.shared].endswith(">")


def test_form_has_every_rubric_in_one_call_between_task_and_answer() -> None:
    (sheet,) = sheets(packs()["product-opinion"], "form")
    text = render(sheet, ITEM).user
    titles = [rubric.title for rubric in packs()["product-opinion"]]
    assert headings(text) == [
        "Task",
        "Criteria",
        *(heading for title in titles for heading in (f"Scale of {title} (5 is best)", "Metric")),
        "Material",
        *(f"Steps for {title}" for title in titles),
        "Answer",
    ]
    assert re.findall(r"^Reasoning for (.+): …$", text, re.MULTILINE) == titles
    assert re.findall(r"^Score for (.+): N$", text, re.MULTILINE) == titles


def test_the_four_health_rubrics_share_one_form_and_the_others_stand_beside() -> None:
    made = sheets(packs()["health-perspective"])
    assert [(sheet.label, [rubric.name for rubric in sheet.rubrics]) for sheet in made] == [
        ("form", ["extraneous_information", "contradiction", "perspective_misalignment", "redundancy"]),
        ("classic", ["omission"]),
        ("classic", ["fluency"]),
        ("classic", ["coherence"]),
    ]


@pytest.mark.parametrize("pack", PACKS)
@pytest.mark.parametrize("answer", ANSWERS)
def test_shared_prompts_of_one_item_are_identical_up_to_the_rubric(pack: str, answer: Answer) -> None:
    made = sheets(packs()[pack], "shared", answer)
    assert len(made) == 7
    for item in examples(pack):
        prompts = [render(sheet, item) for sheet in made]
        (prefix,) = {prompt.user[: prompt.shared] for prompt in prompts}
        assert item.summary in prefix
        assert len({prompt.system for prompt in prompts}) == 1
        assert len({prompt.user[prompt.shared :] for prompt in prompts}) == len(made)


@pytest.mark.parametrize("pack", PACKS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_summaries_of_one_source_share_the_prefix_up_to_the_summary(pack: str, layout: Layout) -> None:
    by_source: dict[str, list[Item]] = {}
    for item in examples(pack):
        by_source.setdefault(item.id, []).append(item)
    for sheet, siblings in product(sheets(packs()[pack], layout), by_source.values()):
        assert len(siblings) >= 3
        if not sheet.fields:
            continue
        prefixes = {user[: user.rindex(f"\n{item.summary}\n</summary")] for item, user in rendered(sheet, siblings)}
        assert len(prefixes) == 1


def rendered(sheet: Sheet, items: list[Item]) -> list[tuple[Item, str]]:
    return [(item, render(sheet, item).user) for item in items]


def test_nothing_is_shared_in_the_other_layouts() -> None:
    assert render(one("faithfulness"), ITEM).shared == 0
    assert render(one("faithfulness", "form"), ITEM).shared == 0


@pytest.mark.parametrize("layout", ["shared", "form"])
def test_beside_material_a_rubric_of_the_summary_alone_says_so(layout: Layout) -> None:
    """Fluency must not be judged by the reviews that a shared prefix brings along."""
    for sheet in sheets(load(["faithfulness", "fluency"]), layout):
        count = render(sheet, ITEM).user.count("read the summary alone")
        assert count == any(rubric.name == "fluency" for rubric in sheet.rubrics)


def test_only_fields_of_the_rubric_are_shown() -> None:
    item = replace(
        ITEM, source={**ITEM.source, "question": "XYZZY?", "answers": ("XYZZY",)}, metadata={"note": "XYZZY"}
    )
    for layout in LAYOUTS:
        assert "XYZZY" not in render(one("faithfulness", layout), item).user


def test_material_stands_in_reading_order_and_absence_is_said() -> None:
    text = render(one("faithfulness"), ITEM).user
    shown = re.findall(r"^(?:<(\w+)-[0-9a-f]+>|(\w+): not available)$", text, re.MULTILINE)
    assert [fence or absent for fence, absent in shown] == [
        *(name for name in FIELDS if name in builtin()["faithfulness"].inputs),
        "summary",
    ]
    assert [absent for _, absent in shown if absent] == [
        "description",
        "key_features",
        "specifications",
        "product_ugc_summary",
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("names", [["faithfulness"], ["faithfulness", "fluency"]])
def test_a_json_answer_has_a_strict_schema_with_reasoning_first(layout: Layout, names: list[str]) -> None:
    for sheet in sheets(load(names), layout, "json"):
        schema = render(sheet, ITEM).schema
        assert schema is not None
        parts = [schema] if len(sheet.rubrics) == 1 else [schema["properties"][rubric.name] for rubric in sheet.rubrics]
        for part in (schema, *parts):
            assert part["type"] == "object"
            assert part["required"] == list(part["properties"])
            assert part["additionalProperties"] is False
        for part in parts:
            assert list(part["properties"]) == ["reasoning", "score"]
            assert part["properties"]["score"] == {"type": "integer", "enum": list(SCALE)}
        json.dumps(schema)


@pytest.mark.parametrize("names", [["faithfulness"], ["faithfulness", "fluency"]])
def test_the_json_form_in_the_prompt_has_the_shape_of_the_schema(names: list[str]) -> None:
    (sheet,) = sheets(load(names), "form", "json")
    prompt = render(sheet, ITEM)
    shown = json.loads(prompt.user.rsplit("\n", 1)[1].replace("N", "3"))
    assert prompt.schema is not None
    assert list(shown) == prompt.schema["required"]
    verdicts = read(Reply(json.dumps(shown)), sheet.rubrics, "json")
    assert {name: verdict.score for name, verdict in verdicts.items()} == dict.fromkeys(names, 3)


@pytest.mark.parametrize("answer", ["tag", "form"])
def test_other_answers_have_no_schema(answer: Answer) -> None:
    assert render(one("faithfulness", "classic", answer), ITEM).schema is None


@pytest.mark.parametrize("names", [["faithfulness"], ["faithfulness", "fluency"]])
def test_a_form_filled_in_as_shown_is_read(names: list[str]) -> None:
    """What the prompt asks for and what is read are one format."""
    (sheet,) = sheets(load(names), "form")
    form = render(sheet, ITEM).user.split("\n\nAnswer\n\n")[1].split("\n\n", 1)[1]
    verdicts = read(Reply(form.replace("…", "Because.").replace(": N", ": 4")), sheet.rubrics, sheet.answer)
    assert {name: (verdict.score, verdict.reason) for name, verdict in verdicts.items()} == dict.fromkeys(
        names, (4, "Because.")
    )


def test_a_tag_filled_in_as_shown_is_read() -> None:
    sheet = one("faithfulness")
    last = render(sheet, ITEM).user.rsplit("\n", 1)[1]
    (verdict,) = read(Reply("All is supported.\n" + last.replace("N", "5")), sheet.rubrics, "tag").values()
    assert verdict.score == 5


@pytest.mark.parametrize(("layout", "answer"), FITTING)
def test_the_prompt_itself_echoed_is_no_verdict(layout: Layout, answer: Answer) -> None:
    """No example in a prompt is a score."""
    (sheet,) = sheets(load(["faithfulness"]), layout, answer)
    verdicts = read(Reply(render(sheet, ITEM).user), sheet.rubrics, sheet.answer)
    assert [verdict.score for verdict in verdicts.values()] == [None]


@pytest.mark.parametrize("answer", ["tag", "digit"])
def test_one_score_a_call_does_not_fit_a_form(answer: Answer) -> None:
    with pytest.raises(SetupError, match=rf"--answer {answer} .* does not fit --layout form; use form or json"):
        sheets(load(["faithfulness"]), "form", answer)
    with pytest.raises(SetupError, match=f"--answer {answer}"):
        sheets(load(["health-perspective"]), None, answer)


@pytest.mark.parametrize(
    ("layout", "answer", "label"),
    [
        (None, None, "classic"),
        ("classic", "tag", "classic"),
        ("classic", "form", "classic/form"),
        ("classic", "json", "classic/json"),
        ("shared", None, "shared"),
        ("shared", "json", "shared/json"),
        ("form", None, "form"),
        ("form", "form", "form"),
        ("form", "json", "form/json"),
    ],
)
def test_the_label_names_the_answer_where_it_is_not_the_layouts_own(
    layout: Layout | None, answer: Answer | None, label: str
) -> None:
    assert one("faithfulness", layout, answer).label == label


def test_every_layout_and_answer_has_its_own_label() -> None:
    made = [one("faithfulness", layout, answer).label for layout, answer in FITTING]
    assert len(set(made)) == len(made) == 10


def test_the_digest_changes_with_everything_that_is_shown() -> None:
    faithful = builtin()["faithfulness"]
    changed_rubrics: list[Rubric] = [
        replace(faithful, definition=faithful.definition + " "),
        replace(faithful, question="?"),
        replace(faithful, scale=(*faithful.scale[:4], "Other.")),
        replace(faithful, steps=faithful.steps[1:]),
        replace(faithful, title="Truth"),
        replace(faithful, target=1),
    ]
    changed_items = [
        replace(ITEM, summary=ITEM.summary + " "),
        replace(ITEM, source={**ITEM.source, "average_rating": 3.6}),
        replace(ITEM, source={**ITEM.source, "description": "not available"}),
        replace(ITEM, source={**ITEM.source, "reviews": (Review("It boils fast.", 5.0),)}),
    ]
    prompts = [render(sheets([rubric])[0], ITEM) for rubric in (faithful, *changed_rubrics)]
    prompts += [render(one("faithfulness"), item) for item in changed_items]
    prompts += [render(one("faithfulness", "shared"), ITEM), render(one("faithfulness", "classic", "form"), ITEM)]
    json_prompt = render(one("faithfulness", "classic", "json"), ITEM)
    prompts += [json_prompt, replace(json_prompt, schema={"type": "object"}), replace(json_prompt, schema=None)]
    prompts += [replace(prompts[0], system="Be kind.")]
    digests = [prompt.digest for prompt in prompts]
    assert len(set(digests)) == len(digests)


def test_the_digest_does_not_change_with_what_is_not_shown() -> None:
    sheet = one("faithfulness")
    other = replace(ITEM, id="p2", system="other", human={"faithfulness": {"a": 4.0}}, metadata={"x": 1})
    assert render(sheet, other).digest == render(sheet, ITEM).digest


def test_moving_text_between_the_messages_changes_the_digest() -> None:
    base = render(one("fluency"), ITEM)
    moved = replace(base, system=base.system + base.user[:1], user=base.user[1:])
    assert moved.digest != base.digest


def test_sections_are_parted_by_one_blank_line() -> None:
    for layout, pack in product(LAYOUTS, PACKS):
        for sheet in sheets(packs()[pack], layout):
            text = render(sheet, examples(pack)[0]).user
            assert "\n\n\n" not in text
            assert text == text.strip()
            assert all(a != b for a, b in pairwise(line for line in text.splitlines() if line))
