"""Ratings come in from long tables, Label Studio and Argilla, go out to them, and come back the same.

The foreign files here have the shape that label-studio-sdk 2.1.2 (its converter) and argilla 2.8.0 wrote or read when
this was made; neither is a dependency.
"""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import jurybox as front
from conftest import Command, Evaluate
from conftest import item as an_item
from jurybox.data.blind import blind_key
from jurybox.errors import DataError, SetupError
from jurybox.store import AnnotationLog, RunReader, current_ratings, skips

SYSTEMS = ("base", "secret-model-x")
RUBRICS = ("fluency", "coherence")
FIRST, SECOND = ("p0", "base"), ("p0", "secret-model-x")
FORMATS = {"csv": "ratings.csv", "label-studio": "ratings.json", "argilla": "ratings"}


@pytest.fixture
def run(evaluate: Evaluate) -> Path:
    records = [an_item(number, system=system) for number in range(3) for system in SYSTEMS]
    evaluate(records, rubrics=",".join(RUBRICS))
    return evaluate.out


def now(run: Path) -> list[tuple[Any, ...]]:
    with RunReader(run) as reader:
        return [(r.id, r.system, r.rubric, r.rater, r.score, r.comment) for r in current_ratings(reader)]


def write(path: Path, document: Any) -> Path:
    path.write_text(document if isinstance(document, str) else json.dumps(document), "utf-8")
    return path


def rate(run: Path) -> None:
    with AnnotationLog(run) as log:
        log.record(FIRST, "fluency", "ann@example.org", 4, 'fine, "quoted"\nand two lines; [sic]')
        log.record(FIRST, "coherence", "ann@example.org", 2)
        log.record(SECOND, "fluency", "ann@example.org", 5, "[1]")
        log.record(FIRST, "fluency", "Zoë", 1)


@pytest.mark.parametrize("kind", FORMATS)
def test_ratings_come_back_as_they_went(run: Path, evaluate: Evaluate, tmp_path: Path, kind: str) -> None:
    rate(run)
    before = now(run)
    to = tmp_path / FORMATS[kind]
    out = front.export_ratings(run, to)
    assert (out.format, out.items, out.ratings, out.raters) == (kind, 2, 4, 2)
    assert front.import_ratings(run, to).taken.there == 4, "nothing is taken twice"
    other = tmp_path / "other.db"
    evaluate([an_item(n, system=s) for n in range(3) for s in SYSTEMS], rubrics=",".join(RUBRICS), out=other)
    found = front.import_ratings(other, to)
    assert (found.format, found.taken.new, found.raters) == (kind, 4, ("Zoë", "ann@example.org"))
    assert now(other) == before


def test_a_long_file_keeps_comment_and_time(run: Path, tmp_path: Path) -> None:
    rate(run)
    front.export_ratings(run, tmp_path / "r.csv")
    with (tmp_path / "r.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["id", "system", "rubric", "rater", "score", "comment", "at"]
    assert rows[0]["score"] == "2"
    assert rows[0]["at"].endswith("+00:00")
    assert front.agree(run, human=tmp_path / "r.csv").rubrics, "`--human` reads it as it is"


@pytest.mark.parametrize("kind", ["label-studio", "argilla"])
def test_tasks_are_blind_and_shuffled(run: Path, tmp_path: Path, kind: Any) -> None:
    rate(run)
    found = front.export_ratings(run, tmp_path / "tasks", kind=kind, tasks=True)
    text = "".join(Path(file).read_text("utf-8") for file in found.files)
    assert found.items == 6
    for hidden in ("secret-model-x", "base", "ann@example.org", "judge-1", '"p0"'):
        assert hidden not in text
    in_order = [blind_key((f"p{number}", system)) for number in range(3) for system in SYSTEMS]
    keys = keys_of(tmp_path / "tasks")
    assert sorted(keys) == sorted(in_order)
    assert keys != in_order
    front.export_ratings(run, tmp_path / "again", kind=kind, tasks=True, seed=9)
    assert sorted(keys_of(tmp_path / "again")) == sorted(keys)
    assert keys_of(tmp_path / "again") != keys, "another seed, another order"


def keys_of(tasks: Path) -> list[str]:
    document = json.loads((tasks / "records.json" if tasks.is_dir() else tasks).read_text("utf-8"))
    return [record["data"]["item"] if "data" in record else record["id"] for record in document]


def test_the_labelling_interface_has_a_control_for_each_rubric(run: Path, tmp_path: Path) -> None:
    front.export_ratings(run, tmp_path / "tasks.json", tasks=True, rubrics="fluency")
    root = ET.parse(tmp_path / "tasks.xml").getroot()
    (rating,) = root.iter("Rating")
    assert rating.attrib == {"name": "fluency", "toName": "the-summary", "maxRating": "5"}
    texts = {text.attrib["name"]: text.attrib["value"] for text in root.iter("Text")}
    assert texts == {"the-summary": "$summary", "the-material": "$material"}
    data = json.loads((tmp_path / "tasks.json").read_text())[0]["data"]
    assert data.keys() == {"item", "rubrics", "summary", "material"}
    assert "2. (rating 3) The lid sticks." in data["material"]
    steps = [header.attrib["value"][:3] for header in root.iter("Header") if header.attrib.get("size") == "6"]
    assert steps == ["1 -", "2 -", "3 -", "4 -", "5 -"]


def test_argillas_settings_ask_on_the_scale(run: Path, tmp_path: Path) -> None:
    front.export_ratings(run, tmp_path / "set", tasks=True)
    told = json.loads((tmp_path / "set/.argilla/settings.json").read_text())
    ratings = [question for question in told["questions"] if question["settings"]["type"] == "rating"]
    assert [question["name"] for question in ratings] == list(RUBRICS)
    assert ratings[0]["settings"]["options"] == [{"value": step} for step in (1, 2, 3, 4, 5)]
    assert not (tmp_path / "set/raters.json").exists()


def region(name: str, kind: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"id": "x1", "from_name": name, "to_name": "the-summary", "type": kind, "origin": "manual", "value": value}


def task(*annotations: dict[str, Any], key: tuple[str, str] = FIRST) -> dict[str, Any]:
    return {
        "id": 7,
        "data": {"item": blind_key(key), "summary": "…"},
        "annotations": list(annotations),
        "predictions": [],
    }


def annotation(rater: Any, *result: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": 31,
        "completed_by": rater,
        "result": list(result),
        "was_cancelled": False,
        "ground_truth": False,
        **more,
    }


def test_label_studios_export_is_understood(run: Path, tmp_path: Path) -> None:
    stars = region("fluency", "rating", {"rating": 4})
    choice = region("coherence", "choices", {"choices": ["2 - Poor: mixed up"]})
    comment = region("fluency_comment", "textarea", {"text": ["good", "indeed"]})
    notes = region("notes", "textarea", {"text": ["about something else"]})
    at = {"created_at": "2026-03-09T22:16:08.728353Z", "updated_at": "2026-03-09T22:20:00Z"}
    document = [
        task(annotation(10, stars, comment, choice, notes, **at), annotation({"email": "bob@example.org"}, stars)),
        task(annotation(10) | {"was_cancelled": True}, key=SECOND) | {"drafts": [{"id": 1, "result": [stars]}]},
    ]
    found = front.import_ratings(run, write(tmp_path / "ls.json", document), raters={"10": "ann"})
    told = found.as_dict()
    assert {name: count for name, count in told.items() if isinstance(count, int) and count} == {
        "taken": 5,
        "new": 3,
        "skipped": 2,
        "drafts": 1,
        "others": 1,
    }
    assert (told["format"], told["raters"]) == ("label-studio", ["ann", "bob@example.org"])
    assert now(run) == [
        (*FIRST, "coherence", "ann", 2, ""),
        (*FIRST, "fluency", "ann", 4, "good\nindeed"),
        (*FIRST, "fluency", "bob@example.org", 4, ""),
    ]
    with RunReader(run) as reader:
        assert {(skip.key, skip.rubric) for skip in skips(reader, "ann")} == {(SECOND, rubric) for rubric in RUBRICS}
        assert next(r.at for r in current_ratings(reader, "ann")) == "2026-03-09T22:20:00.000+00:00"


def test_json_min_is_understood(run: Path, tmp_path: Path) -> None:
    """As the converter of label-studio-sdk 2.1.2 writes it: stars in a list, one text bare, `id` the task's."""
    row = {"item": blind_key(FIRST), "summary": "…", "id": 1, "annotator": 3, "annotation_id": 9, "lead_time": 4.2}
    row |= {
        "fluency": [{"rating": 5}],
        "coherence": "3",
        "fluency_comment": "well",
        "created_at": "2026-03-09T22:16:08Z",
    }
    found = front.import_ratings(run, write(tmp_path / "min.json", [row]))
    assert (found.format, found.taken.new) == ("label-studio", 2)
    assert now(run) == [(*FIRST, "coherence", "3", 3, ""), (*FIRST, "fluency", "3", 5, "well")]


USERS = ("8d36699e-9d28-5a93-ba9b-0c94c6ed3a1d", "f7c88af0-7531-53c4-a487-18f3fc2e672a")
ANSWERS = {"fluency": 4, "fluency_comment": "well"}


def nested(**more: Any) -> dict[str, Any]:
    responses = {name: [{"value": value, "user_id": USERS[0], **more}] for name, value in ANSWERS.items()}
    return {"id": blind_key(FIRST), "fields": {}, "metadata": {}, "suggestions": {}, "responses": responses}


def flat(status: str) -> dict[str, Any]:
    record: dict[str, Any] = {"id": blind_key(FIRST), "status": "completed", "coherence.responses": None}
    for name, value in ANSWERS.items():
        record |= {f"{name}.responses": [value], f"{name}.responses.users": [USERS[0]]}
        record |= {f"{name}.responses.status": [status]}
    return record


def of_the_api(status: str) -> dict[str, Any]:
    values = {name: {"value": value} for name, value in ANSWERS.items()}
    responses = [{"values": values, "status": status, "user_id": USERS[0]}]
    return {"id": "b9c0", "external_id": blind_key(FIRST), "fields": {}, "responses": responses}


@pytest.mark.parametrize(
    "record", [nested(), nested(status="submitted"), flat("submitted"), of_the_api("submitted")], ids=range(4)
)
def test_argillas_records_are_understood_in_all_their_shapes(run: Path, tmp_path: Path, record: dict[str, Any]) -> None:
    found = front.import_ratings(run, write(tmp_path / "a.json", [record]))
    assert found.format == "argilla"
    assert now(run) == [(*FIRST, "fluency", USERS[0], 4, "well")]


@pytest.mark.parametrize("shape", [lambda status: nested(status=status), flat, of_the_api], ids=range(3))
def test_a_discarded_response_is_a_skip_and_a_draft_is_left_out(run: Path, tmp_path: Path, shape: Any) -> None:
    found = front.import_ratings(run, write(tmp_path / "a.json", [shape("discarded")]), raters={USERS[0]: "ann"})
    assert (found.taken.skipped, now(run)) == (1, [])
    with pytest.raises(
        DataError, match=r"holds no finished rating of fluency, coherence \(drafts: 1, other answers: 0\)"
    ):
        front.import_ratings(run, write(tmp_path / "a.json", [shape("draft")]))


def test_argilla_is_given_uuids_and_the_names_behind_them(run: Path, tmp_path: Path) -> None:
    rate(run)
    front.export_ratings(run, tmp_path / "out")
    assert front.import_ratings(run, tmp_path / "out/records.json").taken.there == 4
    with pytest.raises(DataError, match=r"records.json: cannot be read: No such file"):
        front.import_ratings(run, tmp_path / "out/.argilla")
    with pytest.raises(DataError, match="is a directory; csv takes a file"):
        front.import_ratings(run, tmp_path / "out", kind="csv")
    (record, *_) = json.loads((tmp_path / "out/records.json").read_text())
    names = json.loads((tmp_path / "out/raters.json").read_text())
    assert {names[str(UUID(given["user_id"]))] for given in record["responses"]["fluency"]} == {
        "ann@example.org",
        "Zoë",
    }
    with AnnotationLog(run) as log:
        log.record(FIRST, "fluency", "ann@example.org", 3.5)
    with pytest.raises(SetupError, match="whole numbers"):
        front.export_ratings(run, tmp_path / "out")


LONG = "id,system,rubric,rater,score\n"


@pytest.mark.parametrize(
    ("name", "document", "said"),
    [
        ("r.csv", LONG + "p0,base,fluency,ann,4\np0,base,fluency,bob,7\n", "line 3: score 7 is off the scale 1-5"),
        ("r.csv", LONG + "p0,base,fluency,ann,4\np9,base,fluency,ann,4\n", "line 3: id 'p9', system 'base' is not in"),
        ("r.csv", LONG + "p0,base,fluency,ann,4\np0,base,fluensy,ann,4\n", "line 3: unknown rubric 'fluensy'. Did you"),
        ("r.csv", LONG + "p0,base,fluency,ann,4\np0,base,fluency,ann,5\n", "line 3: rater 'ann' has rated id 'p0'"),
        ("r.csv", LONG + "p0,base,fluency,ann,4\np0,base,fluency,bob,\n", "line 3: has no 'score'"),
        ("r.csv", LONG + "p0,base,fluency,ann,4\np0,base,fluency,bob,good\n", "line 3: the score should be a number"),
        ("r.csv", LONG[:-1] + ",at\np0,base,fluency,ann,4,yesterday\n", "line 2: the time should be like"),
        ("r.csv", LONG, "holds no finished rating"),
        ("r.json", [{"data": {}, "annotations": []}], "task 1: its data has no 'item'"),
        (
            "r.json",
            [task(annotation(1, region("fluency", "rating", {"rating": 9})))],
            "task 7, annotation 31, 'fluency'",
        ),
        ("r.json", [task(annotation(1, region("fluensy", "rating", {"rating": 3})))], "Did you mean 'fluency'?"),
        ("r.json", [task(annotation(None, region("fluency", "rating", {"rating": 3})))], "the rater has no name"),
        ("r.json", [task(annotation(1, region("fluency", "choices", {"choices": ["good"]})))], "but is 'good'"),
        ("r.json", [task({"result": "x"})], "is no annotation with a list 'result'"),
        ("r.json", [nested() | {"id": "0123"}], "record 1, 'fluency': item '0123' is not in the run"),
        ("r.json", [nested(status="odd")], "its status should be submitted, discarded or draft"),
        ("r.json", [{"id": "x", "responses": {"fluency": ["x"]}}], "not of the shape that was expected"),
        ("r.json", [{"a": 1}], "holds neither Label Studio's annotations nor Argilla's responses"),
        ("r.json", '[{"a": 1},\n]', "line 1: is not JSON: trailing comma"),
        ("r.json", [], "at least one"),
        ("r.xlsx", "x", "unknown kind of file '.xlsx'"),
    ],
)
def test_a_bad_file_is_refused_whole_with_one_message(
    run: Path, tmp_path: Path, name: str, document: Any, said: str
) -> None:
    with pytest.raises(DataError) as caught:
        front.import_ratings(run, write(tmp_path / name, document))
    assert said in str(caught.value)
    assert name in str(caught.value)
    assert now(run) == []


def test_many_problems_are_counted_and_the_first_told(run: Path, tmp_path: Path) -> None:
    rows = "".join(f"p0,base,fluency,r{number},9\n" for number in range(8))
    with pytest.raises(DataError, match=r"line 2: .*line 3: .*line 4: .*; and 5 more$"):
        front.import_ratings(run, write(tmp_path / "r.csv", LONG + rows))


def test_only_the_rubrics_that_were_asked_for(run: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "r.csv", LONG + "p0,base,fluency,ann,4\np0,base,relevance,ann,4\n")
    with pytest.raises(DataError, match="unknown rubric 'relevance'"):
        front.import_ratings(run, path)
    found = front.import_ratings(run, path, rubrics="fluency")
    assert (found.taken.new, found.others) == (1, 1)
    with pytest.raises(SetupError, match="unknown rubric 'relevance'"):
        front.import_ratings(run, path, rubrics="relevance")


def test_of_two_annotations_by_one_rater_the_later_counts(run: Path, tmp_path: Path) -> None:
    def scored(score: int, hour: int) -> dict[str, Any]:
        return annotation(1, region("fluency", "rating", {"rating": score}), updated_at=f"2026-01-01T0{hour}:00:00Z")

    front.import_ratings(run, write(tmp_path / "r.json", [task(scored(2, 3), scored(5, 1))]))
    assert now(run) == [(*FIRST, "fluency", "1", 2, "")]


def test_tasks_of_ones_own_are_found_by_id_and_system(run: Path, tmp_path: Path) -> None:
    stars = annotation(1, region("fluency", "rating", {"rating": 2}))
    own = {"id": 4, "data": {"id": "p1", "system": "base"}, "annotations": [stars]}
    front.import_ratings(run, write(tmp_path / "r.json", [own]))
    mine = nested() | {"id": "whatever", "metadata": {"id": "p2", "system": "base"}}
    front.import_ratings(run, write(tmp_path / "a.json", [mine]))
    assert [(id_, score) for id_, _, _, _, score, _ in now(run)] == [("p1", 2), ("p2", 4)]


def test_the_command_says_what_it_did(run: Path, tmp_path: Path, jurybox: Command) -> None:
    write(tmp_path / "r.csv", LONG + "p0,base,fluency,ann,4\np1,base,fluency,ann,3\n")
    first = jurybox("ratings", "import", run, "r.csv")
    assert first.returncode == 0, first.stderr
    assert "2 ratings taken from r.csv (csv)" in first.stdout
    assert "Taken: 2 new." in first.stdout
    again = jurybox("ratings", "import", run, "r.csv", "--rater", "ann=bob", "--json")
    assert json.loads(again.stdout)["raters"] == ["bob"]
    out = jurybox("ratings", "export", run, "--to", "ls.json")
    assert out.stdout == "4 ratings of 2 items by 2 raters, for label-studio:\n  ls.json\n  ls.xml\n"
    bad = jurybox("ratings", "import", run, "none.csv")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == "jurybox: none.csv: cannot be read: No such file or directory\n"
    for words, said in (
        (("--to", "x.pdf"), "unknown ending '.pdf'"),
        (("--to", "x.csv", "--tasks"), "csv holds ratings and no tasks"),
        (("--to", "no/such/x.csv"), "cannot be written: No such file"),
        (("--to", "x.csv", "--rubrics", "coherence"), "nobody rated coherence"),
    ):
        refused = jurybox("ratings", "export", run, *words)
        assert refused.returncode == 2
        assert said in refused.stderr


def test_agree_says_the_same_of_ratings_taken_in_as_of_their_file(run: Path, tmp_path: Path) -> None:
    keys = [(f"p{number}", system) for number in range(3) for system in SYSTEMS]
    rows = "".join(
        f"{id_},{system},fluency,{rater},{1 + (place * 3 + len(rater)) % 5}\n"
        for place, (id_, system) in enumerate(keys)
        for rater in ("ann", "robert")
    )
    path = write(tmp_path / "r.csv", LONG + rows)
    beside = front.agree(run, human=path, resamples=50).as_dict()
    front.import_ratings(run, path)
    inside = front.agree(run, resamples=50).as_dict()
    assert inside["rubrics"]["fluency"]["pooled"]["spearman"]["n"] == 6
    assert inside["rubrics"] == beside["rubrics"]
