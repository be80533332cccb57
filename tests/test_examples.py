"""The shipped examples are what they claim: honest classes of quality, with every planted defect on record."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from jurybox.data import Dataset
from jurybox.rubrics import packs

FOLDER = Path(str(files("jurybox.examples")))
FILES = {"products.jsonl": "product-opinion", "health.jsonl": "health-perspective"}
SYSTEMS = {
    "products.jsonl": ["careful", "lead", "altered", "misplaced"],
    "health.jsonl": ["careful", "altered", "misplaced"],
}
KINDS = {
    ("products.jsonl", "lead"): {"omitted"},
    ("products.jsonl", "altered"): {"over_generalised", "wrong_number", "invented", "flipped_sentiment"},
    ("products.jsonl", "misplaced"): {"other_product"},
    ("health.jsonl", "altered"): {"contradiction", "wrong_number", "extraneous", "redundant"},
    ("health.jsonl", "misplaced"): {"wrong_perspective", "extraneous"},
}


def records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


RECORDS = [pytest.param(name, record, id=record["id"]) for name in FILES for record in records(name)]
PRODUCTS = [param for param in RECORDS if param.values[0] == "products.jsonl"]
HEALTH = [param for param in RECORDS if param.values[0] == "health.jsonl"]


@pytest.mark.parametrize(("name", "least"), [("products.jsonl", 6), ("health.jsonl", 5)])
def test_there_are_enough_examples(name: str, least: int) -> None:
    found = records(name)
    assert len(found) >= least
    assert len({record["id"] for record in found}) == len(found)


@pytest.mark.parametrize(("name", "record"), RECORDS)
def test_every_system_has_one_summary_of_its_own(name: str, record: dict[str, Any]) -> None:
    assert list(record["summaries"]) == SYSTEMS[name]
    assert len(set(record["summaries"].values())) == len(SYSTEMS[name])


@pytest.mark.parametrize(("name", "record"), RECORDS)
def test_defects_are_on_record_and_stand_in_the_summary(name: str, record: dict[str, Any]) -> None:
    defects = record["defects"]
    assert list(defects) == SYSTEMS[name]
    assert defects["careful"] == []
    for system in SYSTEMS[name][1:]:
        assert defects[system]
        for defect in defects[system]:
            assert set(defect) == {"kind", "text", "truth"}
            assert defect["truth"]
            assert defect["kind"] in KINDS[name, system]
            assert defect["text"] in record["summaries"][system]
            assert bool(defect["text"]) == (defect["kind"] != "omitted")
            assert not defect["text"] or defect["text"] not in record["summaries"]["careful"]


@pytest.mark.parametrize(("_name", "record"), PRODUCTS)
def test_a_product_has_every_kind_of_source(_name: str, record: dict[str, Any]) -> None:
    for field in ("product_title", "description", "key_features", "specifications"):
        assert record[field]
    ratings = [review["rating"] for review in record["reviews"]]
    assert 8 <= len(ratings) <= 12
    assert min(ratings) <= 2, "opinions are mixed"
    assert max(ratings) == 5
    assert record["average_rating"] == pytest.approx(sum(ratings) / len(ratings), abs=0.05)
    assert all(review["text"].strip() for review in record["reviews"])


@pytest.mark.parametrize(("_name", "record"), HEALTH)
def test_spans_are_words_of_the_answers(_name: str, record: dict[str, Any]) -> None:
    assert 3 <= len(record["answers"]) <= 5
    assert record["question"]
    assert record["input_spans"]
    for span in record["input_spans"]:
        assert any(span in answer for answer in record["answers"]), span


def test_each_perspective_is_asked_for_once() -> None:
    found = sorted(record["perspective"] for record in records("health.jsonl"))
    assert found == ["CAUSE", "EXPERIENCE", "INFORMATION", "QUESTION", "SUGGESTION"]


@pytest.mark.parametrize("name", FILES)
def test_examples_can_be_judged_by_every_rubric_of_their_pack(name: str) -> None:
    for rubric in packs()[FILES[name]]:
        census = Dataset(FOLDER / name).check([rubric])
        assert census.systems == tuple(SYSTEMS[name])
        assert census.items == len(records(name)) * len(SYSTEMS[name])


@pytest.mark.parametrize("name", FILES)
def test_every_field_of_an_example_is_known(name: str) -> None:
    """A misspelt column would silently become metadata."""
    assert {key for item in Dataset(FOLDER / name) for key in item.metadata} == {"defects"}
