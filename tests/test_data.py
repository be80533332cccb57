"""A data file becomes the same items whatever its format, and nothing in it is lost or guessed."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jurybox.data import Dataset, read_ratings
from jurybox.errors import DataError, SetupError
from jurybox.rubrics import load
from jurybox.types import Item, Review

RECORDS: list[dict[str, Any]] = [
    {
        "id": "p1",
        "system": "a",
        "summary": "Good, says everyone.\nEven “twice”.",
        "product_title": "Kettle, 1.7 L",
        "key_features": ["fast", "quiet"],
        "specifications": {"Weight": "1 kg"},
        "reviews": [{"text": "Fine.", "rating": 4}, {"text": 'It\'s "ok"', "rating": None}],
        "average_rating": 4.5,
        "human": {"fluency": [4, 5]},
        "colour": "blue",
    },
    {
        "id": "p1",
        "system": "b",
        "summary": "Bad.",
        "product_title": "Kettle, 1.7 L",
        "key_features": ["fast", "quiet"],
        "specifications": {"Power": "2 kW"},
        "reviews": [{"text": "Fine.", "rating": 4}],
        "average_rating": 4.0,
        "human": {"fluency": [1, 2]},
        "colour": "red",
    },
]
EXPECTED = [
    Item(
        "p1",
        "a",
        "Good, says everyone.\nEven “twice”.",
        {
            "product_title": "Kettle, 1.7 L",
            "key_features": ("fast", "quiet"),
            "specifications": (("Weight", "1 kg"),),
            "reviews": (Review("Fine.", 4.0), Review('It\'s "ok"')),
            "average_rating": 4.5,
        },
        {"fluency": {"1": 4.0, "2": 5.0}},
        {"colour": "blue"},
    ),
    Item(
        "p1",
        "b",
        "Bad.",
        {
            "product_title": "Kettle, 1.7 L",
            "key_features": ("fast", "quiet"),
            "specifications": (("Power", "2 kW"),),
            "reviews": (Review("Fine.", 4.0),),
            "average_rating": 4.0,
        },
        {"fluency": {"1": 1.0, "2": 2.0}},
        {"colour": "red"},
    ),
]


def json_lines(records: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def csv_text(records: list[dict[str, Any]], delimiter: str, notation: Any) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(records[0]), delimiter=delimiter)
    writer.writeheader()
    for record in records:
        writer.writerow(
            {column: notation(value) if isinstance(value, list | dict) else value for column, value in record.items()}
        )
    return file.getvalue().encode()


def parquet(records: list[dict[str, Any]]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(records), file)
    return file.getvalue()


FILES = {
    "items.jsonl": json_lines(RECORDS),
    "items.ndjson": json_lines(RECORDS),
    "items.JSON": json_lines(RECORDS),
    "bom.jsonl": b"\xef\xbb\xbf" + json_lines(RECORDS),
    "crlf.jsonl": json_lines(RECORDS).replace(b"\n", b"\r\n"),
    "blank_lines.jsonl": b"\n  \n" + json_lines(RECORDS).replace(b"\n", b"\n\n"),
    "no_last_newline.jsonl": json_lines(RECORDS).rstrip(b"\n"),
    "json_cells.csv": csv_text(RECORDS, ",", json.dumps),
    "python_cells.csv": csv_text(RECORDS, ",", repr),
    "bom.csv": b"\xef\xbb\xbf" + csv_text(RECORDS, ",", json.dumps),
    "lf.csv": csv_text(RECORDS, ",", json.dumps).replace(b"\r\n", b"\n"),
    "items.tsv": csv_text(RECORDS, "\t", json.dumps),
    "items.parquet": parquet(RECORDS),
}


def one(record: Mapping[str, Any], **options: Any) -> Item:
    (item,) = Dataset([record], **options)
    return item


def source(**fields: Any) -> Mapping[str, Any]:
    return one({"summary": "s", **fields}).source


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_items(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    assert list(Dataset(tmp_path / name)) == EXPECTED


def test_python_records_and_items_are_data_too() -> None:
    assert list(Dataset(RECORDS)) == EXPECTED
    assert list(Dataset(EXPECTED)) == EXPECTED


@pytest.mark.parametrize("head", [b"", b"\xef\xbb\xbf"], ids=["plain", "bom"])
def test_standard_input_gives_the_same_items(head: bytes, tmp_path: Path) -> None:
    """Through the real command line, and with no warning under -W error."""
    out = tmp_path / "run.db"
    command = [sys.executable, "-W", "error", "-m", "jurybox", "run", "-", "--rubrics", "fluency"]
    done = subprocess.run(
        [*command, "--judge", "baseline/length", "--out", out, "--json"],
        input=head + json_lines(RECORDS),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"Warning" not in done.stderr
    (tmp_path / "same.jsonl").write_bytes(json_lines(RECORDS))
    filed = subprocess.run(
        [*command[:-3], tmp_path / "same.jsonl", *command[-2:], "--judge", "baseline/length", "--out", out, "--json"],
        capture_output=True,
        check=False,
    )
    # The run file refuses an item that changed, so going on with the file proves that the items are the same.
    assert filed.returncode == 0, filed.stderr
    assert json.loads(filed.stdout)["systems"] == json.loads(done.stdout)["systems"]


@pytest.mark.parametrize(
    ("column", "field", "value"),
    [
        ("averageRating", "average_rating", 3.5),
        ("AverageRating", "average_rating", 3.5),
        ("Average rating", "average_rating", 3.5),
        ("avg-rating", "average_rating", 3.5),
        ("Input spans", "input_spans", ("x",)),
        ("spans", "input_spans", ("x",)),
        ("Perspective_Def", "perspective_definition", "x"),
        ("Perspective", "perspective", "x"),
        ("Title", "product_title", "x"),
        ("product_name", "product_title", "x"),
        ("productDescription", "description", "x"),
        ("features", "key_features", ("x",)),
        ("specs", "specifications", (("", "x"),)),
        ("customer reviews", "reviews", (Review("x"),)),
        ("ugcSummary", "product_ugc_summary", "x"),
        (" question ", "question", "x"),
        ("Answers", "answers", ("x",)),
    ],
)
def test_spellings_people_already_have_are_understood(column: str, field: str, value: Any) -> None:
    given = value if isinstance(value, float) else "x"
    assert one({"summary": "s", column: given}).source == {field: value}


@pytest.mark.parametrize(
    "column", ["product_opinion_summary", "Product_Opinion_Summary", "Given Summary", "generatedSummary", "SUMMARY"]
)
def test_a_summary_by_any_of_its_names(column: str) -> None:
    assert one({column: "said"}).summary == "said"


def test_identity_by_any_of_its_names() -> None:
    item = one({"product_id": 7, "modelName": "m", "summary": "s"})
    assert item.key == ("7", "m")
    assert item.metadata == {}


def test_an_item_without_id_and_system_gets_its_line_and_the_default_system() -> None:
    assert [item.key for item in Dataset([{"summary": "s"}, {"summary": "t"}])] == [("1", "default"), ("2", "default")]


def test_map_reads_a_field_from_any_column() -> None:
    record = {"txt": "mapped", "summary": "not this", "stars": "4"}
    item = one(record, columns={"summary": "txt", "average_rating": "stars"})
    assert (item.summary, item.source) == ("mapped", {"average_rating": 4.0})
    assert item.metadata == {"summary": "not this"}


def test_a_mapped_column_loses_its_usual_meaning() -> None:
    assert one({"description": "d"}, columns={"summary": "description"}).source == {}


def test_map_to_a_column_that_is_never_seen_is_an_error() -> None:
    data = Dataset([{"summary": "s"}], columns={"reviews": "comments"})
    with pytest.raises(DataError, match=r"records: has no column 'comments' \(named by --map reviews=comments\)"):
        data.check(load(["fluency"]))


def test_a_missing_field_that_was_mapped_names_the_map() -> None:
    with pytest.raises(DataError, match=r"line 1, field 'summary': is missing or empty \(--map summary=txt\)"):
        one({"summary": "s"}, columns={"summary": "txt"})


def test_map_of_an_unknown_field_names_the_nearest() -> None:
    with pytest.raises(SetupError, match=r"--map: unknown field 'reviws'\. Did you mean 'reviews'\?"):
        Dataset([], columns={"reviws": "x"})


def test_two_columns_that_mean_one_field_are_an_error() -> None:
    with pytest.raises(DataError, match="line 1: columns 'averageRating' and 'avg_rating' both mean 'average_rating'"):
        one({"summary": "s", "averageRating": 4, "avg_rating": 5})


@pytest.mark.parametrize("columns", [("average_rating", "averageRating"), ("averageRating", "average_rating")])
def test_the_canonical_name_wins_over_a_spelling_which_is_kept(columns: tuple[str, str]) -> None:
    values = {"average_rating": 3, "averageRating": 4}
    item = one({"summary": "s", **{column: values[column] for column in columns}})
    assert item.source == {"average_rating": 3.0}
    assert item.metadata == {"averageRating": 4}


def test_null_is_absent() -> None:
    item = one({"id": None, "system": None, "summary": "s", "reviews": None, "human": None, "averageRating": None})
    assert item == Item("1", "default", "s", {})
    assert source(averageRating=4, avg_rating=None) == {"average_rating": 4.0}
    assert source(avg_rating=None, average_rating=4) == {"average_rating": 4.0}


@pytest.mark.parametrize("value", ["", "  ", "\n"])
def test_blank_material_is_absent(value: str) -> None:
    assert source(perspective=value, key_features=[value], reviews=[{"text": value, "rating": 3}]) == {}


def test_one_source_with_many_summaries_is_one_item_a_system() -> None:
    record = {
        "id": "q1",
        "question": "Why?",
        "summaries": {"base": "b", "revised": "r", "absent": None},
        "human": {"base": {"fluency": [1, 2]}, "revised": {"fluency": {"ann": 5}}, "absent": None},
    }
    base, revised = Dataset([record])
    assert (base.key, base.summary, base.human) == (("q1", "base"), "b", {"fluency": {"1": 1.0, "2": 2.0}})
    assert (revised.key, revised.summary, revised.human) == (("q1", "revised"), "r", {"fluency": {"ann": 5.0}})
    assert base.source == revised.source == {"question": "Why?"}


@pytest.mark.parametrize(
    ("human", "complaint"),
    [
        ({"fluency": [4, 5]}, "names 'fluency', which has no summary here"),
        ({"other": {"fluency": [4]}}, "names 'other', which has no summary here"),
        ([4, 5], r"should be \{system: \{rubric: \[scores\]\}\} beside 'summaries', but is \[4, 5\]"),
    ],
)
def test_ratings_beside_many_summaries_must_say_whose_they_are(human: Any, complaint: str) -> None:
    with pytest.raises(DataError, match=f"line 1, field 'human': {complaint}"):
        list(Dataset([{"summaries": {"base": "b"}, "human": human}]))


@pytest.mark.parametrize(
    ("given", "pairs"),
    [
        ({"Weight": "100 g", "Ports": 2}, (("Weight", "100 g"), ("Ports", "2"))),
        (
            [{"key": "General", "values": [{"key": "Weight", "value": "1 kg"}, {"key": "Sizes", "value": ["S", "M"]}]}],
            (("General / Weight", "1 kg"), ("General / Sizes", "S, M")),
        ),
        ({"General": {"Body": {"Weight": "1 kg"}}}, (("General / Body / Weight", "1 kg"),)),
        ({"Colours": ["red", "blue"]}, (("Colours", "red"), ("Colours", "blue"))),
        ([["Weight", "1 kg"], "waterproof"], (("Weight", "1 kg"), ("", "waterproof"))),
        ([{"key": "Weight", "value": "1 kg"}], (("Weight", "1 kg"),)),
        ([{"Weight": "1 kg"}], (("Weight", "1 kg"),)),
        ("one text", (("", "one text"),)),
        ({"Weight": "1 kg", "Power": None}, (("Weight", "1 kg"),)),
        ([{"key": "Weight", "value": "1 kg", "values": None}, {"key": "Size", "value": None}], (("Weight", "1 kg"),)),
    ],
)
def test_specifications_flatten_to_pairs(given: Any, pairs: tuple[tuple[str, str], ...]) -> None:
    assert source(specifications=given) == {"specifications": pairs}


@pytest.mark.parametrize(
    ("cell", "reviews"),
    [
        ('["one", "two"]', (Review("one"), Review("two"))),
        ("['one', 'it\\'s two']", (Review("one"), Review("it's two"))),
        ("[{'text': 'one', 'rating': 4}, {'text': 'two', 'rating': None}]", (Review("one", 4.0), Review("two"))),
        ('[{"text": "one", "rating": 4.5}]', (Review("one", 4.5),)),
        ("('not', 'a list')", (Review("('not', 'a list')"),)),
        ("[4in screen] is small", (Review("[4in screen] is small"),)),
        ("[__import__('os').getpid()]", (Review("[__import__('os').getpid()]"),)),
        (r"['\ud800']", (Review(r"['\ud800']"),)),
        ("plain, with comma", (Review("plain, with comma"),)),
    ],
)
def test_a_csv_cell_holds_reviews_in_json_in_python_notation_or_as_text(
    cell: str, reviews: tuple[Review, ...], tmp_path: Path
) -> None:
    path = tmp_path / "cells.csv"
    path.write_bytes(csv_text([{"id": "1", "summary": "s", "reviews": cell}], ",", str))
    (item,) = Dataset(path)
    assert item.source == {"reviews": reviews}


def test_a_mapping_in_a_csv_cell_has_text_keys_as_in_json(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text('id,summary,notes\n1,s,"{1: (2, 3)}"\n')
    (item,) = Dataset(tmp_path / "d.csv")
    assert item.metadata == {"notes": {"1": [2, 3]}}


def test_csv_cells_are_text_unless_they_say_otherwise(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("id,summary,code,empty\n007,s,0x10,\n")
    (item,) = Dataset(tmp_path / "d.csv")
    assert (item.id, item.metadata) == ("007", {"code": "0x10"})


def test_csv_whose_first_column_is_named_pk_is_no_zip_file(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("PK,summary\n1,s\n")
    (item,) = Dataset(tmp_path / "d.csv")
    assert item.metadata == {"PK": "1"}


def test_csv_items_carry_the_line_they_begin_on(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text('id,summary\n1,"two\nlines"\n\n2,s\n')
    assert [(line, item.id) for line, item in Dataset(tmp_path / "d.csv").located()] == [(2, "1"), (5, "2")]


def test_unknown_columns_are_kept_as_they_are() -> None:
    extra = {"defects": [{"kind": "x"}], "split": "test", "weight": 0.5, "none": None}
    assert one({"summary": "s", **extra}).metadata == extra


@pytest.mark.parametrize(
    ("human", "ratings"),
    [
        ({"fluency": [4, 5, 4]}, {"fluency": {"1": 4.0, "2": 5.0, "3": 4.0}}),
        ({"fluency": [4, None, 4]}, {"fluency": {"1": 4.0, "3": 4.0}}),
        ({"fluency": {"ann": 4, "bob": 3.5}}, {"fluency": {"ann": 4.0, "bob": 3.5}}),
        ({"fluency": 4, "coherence": "5"}, {"fluency": {"1": 4.0}, "coherence": {"1": 5.0}}),
        ({"fluency": None}, {}),
    ],
)
def test_ratings_inside_an_item(human: Any, ratings: Any) -> None:
    assert one({"summary": "s", "human": human}).human == ratings


@pytest.mark.parametrize("human", [[4], "4", {"fluency": ["good"]}, {"fluency": [True]}, {"fluency": "nan"}])
def test_ratings_that_are_no_numbers_are_an_error(human: Any) -> None:
    with pytest.raises(DataError, match=r"line 1, field 'human': .*should be"):
        one({"summary": "s", "human": human})


LONG = "id,system,rubric,rater,score\np1,a,fluency,ann,4\np1,a,fluency,bob,5\np1,b,fluency,ann,2\nzz,a,fluency,ann,1\n"


def test_a_long_file_of_ratings_joins_those_inside(tmp_path: Path) -> None:
    path = tmp_path / "human.csv"
    path.write_text(LONG)
    data = Dataset(RECORDS, ratings=read_ratings(path))
    assert [item.human["fluency"] for item in data] == [
        {"1": 4.0, "2": 5.0, "ann": 4.0, "bob": 5.0},
        {"1": 1.0, "2": 2.0, "ann": 2.0},
    ]
    census = data.check(load(["fluency"]))
    assert (census.items, census.systems, census.rated, census.unmatched_ratings) == (2, ("a", "b"), 2, 1)


def test_a_long_file_without_rater_has_one_rater(tmp_path: Path) -> None:
    path = tmp_path / "human.jsonl"
    path.write_text('{"id": 1, "system": "a", "rubric": "fluency", "score": 4, "rater": null}\n')
    assert read_ratings(path) == {("1", "a"): {"fluency": {"1": 4.0}}}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("id,system,rubric,score\n1,a,fluency,4\n1,a,fluency,5\n", "line 3, field 'rater': rater '1' has rated"),
        (LONG + "p1,a,fluency,ann,4\n", "line 6, field 'rater': rater 'ann' has rated this item on 'fluency' twice"),
        (LONG.replace("ann,4", "ann,good"), "line 2, field 'score': .*should be numbers, not 'good'"),
        (LONG.replace("ann,4", "ann,nan"), "line 2, field 'score': .*should be numbers, not 'nan'"),
        ("id,system,rubric,rater,score\n", "is empty; a ratings file has at least one rating"),
        ("id,rubric,score\n1,fluency,4\n", "line 2, field 'system': is missing"),
        ("id,system,rubric,score\n,a,fluency,4\n", "line 2, field 'id': is missing"),
    ],
)
def test_a_long_file_with_a_defect_is_refused(text: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "human.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=f"human.csv(: |, ){complaint}"):
        read_ratings(path)


def test_null_in_a_long_file_is_absent(tmp_path: Path) -> None:
    path = tmp_path / "human.jsonl"
    path.write_text('{"id": null, "system": "a", "rubric": "fluency", "score": 4}\n')
    with pytest.raises(DataError, match="line 1, field 'id': is missing"):
        read_ratings(path)


@pytest.mark.parametrize(("limit", "keys"), [(1, [("1", "a")]), (3, [("1", "a"), ("1", "b"), ("2", "a")]), (9, None)])
def test_limit_counts_items_not_lines(limit: int, keys: Any) -> None:
    records = [{"id": 1, "summaries": {"a": "x", "b": "y"}}, {"id": 2, "summaries": {"a": "x", "b": "y"}}]
    found = [item.key for item in Dataset(records, limit=limit)]
    assert found == (keys or [("1", "a"), ("1", "b"), ("2", "a"), ("2", "b")])


def test_what_lies_behind_the_limit_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"summary": "s"}\nnot JSON\n')
    assert Dataset(tmp_path / "d.jsonl", limit=1).check(load(["fluency"])).items == 1


def test_a_dataset_can_be_walked_again_and_by_two_at_once(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_bytes(json_lines(RECORDS))
    for data in (Dataset(tmp_path / "d.jsonl"), Dataset(iter(RECORDS))):
        assert list(data) == list(data) == EXPECTED
        assert [(a.id, b.id) for a, b in zip(data, data, strict=True)] == [("p1", "p1"), ("p1", "p1")]


def test_standard_input_can_be_walked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json_lines(RECORDS))))
    data = Dataset("-")
    assert list(data) == list(data) == EXPECTED
    assert data.name == "standard input"


def test_check_shows_every_item_once(tmp_path: Path) -> None:
    seen: list[Item] = []
    Dataset(RECORDS).check(load(["product-opinion"]), seen.append)
    assert seen == EXPECTED


# The kernel's own mark of this program's peak. ru_maxrss will not do: it starts from what the parent held at the fork.
PEAK = """
import re, sys
from pathlib import Path
from jurybox.data import Dataset
from jurybox.rubrics import load
census = Dataset(Path(sys.argv[1])).check(load(["product-opinion"]))
print(census.items, re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""


def peak_kilobytes(path: Path, items: int) -> int:
    review = "Works as it should, most of the time. " * 10
    with path.open("w") as file:
        for number in range(items):
            record = {"id": f"item-{number}", "system": "s", "summary": "Fine.", "reviews": [review]}
            file.write(json.dumps(record) + "\n")
    done = subprocess.run([sys.executable, "-c", PEAK, path], capture_output=True, text=True, check=True)
    count, peak = map(int, done.stdout.split())
    assert count == items
    return peak


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak from Linux's /proc")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """200,000 items (90 MB) are checked with less than 60 MB more than 2,000 need."""
    small, large = peak_kilobytes(tmp_path / "s.jsonl", 2_000), peak_kilobytes(tmp_path / "l.jsonl", 200_000)
    assert (tmp_path / "l.jsonl").stat().st_size > 80e6
    assert large - small < 60 * 1024
