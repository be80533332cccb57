"""Wrong input, through the real command line: one message that names the place, status 2, no call, nothing left."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jurybox.data.records import MAX_LINE_BYTES

GOOD = '{"id": "g", "summary": "Fine.", "reviews": ["ok"], "perspective": "CAUSE", "answers": ["a"]}\n'


def parquet(records: list[dict[str, Any]]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(records), file)
    return file.getvalue()


@dataclass(frozen=True)
class Bad:
    """A file that must be refused: its place as the message names it, and a word of what is wrong."""

    name: str
    content: bytes | str
    where: str
    what: str
    rubrics: str = "fluency"
    options: tuple[str, ...] = field(default=())


def line(record: dict[str, Any]) -> str:
    return json.dumps({"id": "x", "summary": "s", **record}) + "\n"


def wrong_field(name: str, value: Any, allowed: str) -> Bad:
    return Bad("f.jsonl", GOOD + line({name: value}), f"line 2, field '{name}'", allowed)


CASES = {
    "broken JSON": Bad("d.jsonl", GOOD + '{"id": "b", "summary": \n', "line 2", "is not JSON"),
    "cut-off JSON": Bad("d.jsonl", GOOD + GOOD[:30], "line 2", "is not JSON"),
    "JSON list": Bad("d.jsonl", GOOD + "[1, 2]\n", "line 2", "holds a list"),
    "JSON number": Bad("d.jsonl", "5\n", "line 1", "holds a number"),
    "JSON text": Bad("d.jsonl", '"x"\n', "line 1", "holds a text"),
    "JSON null": Bad("d.jsonl", "null\n", "line 1", "holds null"),
    "JSON true": Bad("d.jsonl", "true\n", "line 1", "holds true or false"),
    "indented object": Bad("d.json", json.dumps({"id": 1}, indent=2), "line 1", "one indented JSON document"),
    "indented list": Bad("d.json", json.dumps([{"id": 1}], indent=2), "line 1", "one indented JSON document"),
    "title is a list": wrong_field("product_title", ["x"], "should be text, but is ['x']"),
    "description is a number of bits": wrong_field("description", True, "should be text, but is True"),
    "features are a mapping": wrong_field("key_features", {"a": 1}, "should be a list of texts"),
    "a feature is a list": wrong_field("key_features", [["x"]], "should be a list of texts"),
    "specifications are a number": wrong_field("specifications", 5, "should be a mapping, or a list of"),
    "specifications go too deep": Bad(
        "f.jsonl",
        GOOD + line({"specifications": 0}).replace("0", '{"a": ' * 1000 + "1" + "}" * 1000),
        "line 2, field 'specifications'",
        "should be a mapping, or a list of",
    ),
    "reviews are a number": wrong_field("reviews", 5, "should be a list of texts or of {text, rating}, but is 5"),
    "a review lacks its text": wrong_field("reviews", [{"rating": 5}], "should be a list of texts or of"),
    "a review's rating is a word": wrong_field("reviews", [{"text": "t", "rating": "five"}], "should be a list of"),
    "average rating is a word": wrong_field("average_rating", "high", "should be a number, but is 'high'"),
    "average rating is no number": wrong_field("average_rating", "nan", "should be a number, but is 'nan'"),
    "UGC summary is a list": wrong_field("product_ugc_summary", [], "should be text"),
    "question is a mapping": wrong_field("question", {"q": 1}, "should be text"),
    "perspective is a list": wrong_field("perspective", ["CAUSE"], "should be text"),
    "definition is a list": wrong_field("perspective_definition", ["d"], "should be text"),
    "spans are a number": wrong_field("input_spans", 3, "should be a list of texts"),
    "answers are true": wrong_field("answers", True, "should be a list of texts"),
    "id is a list": wrong_field("id", ["1"], "should be text or a whole number"),
    "id is empty": wrong_field("id", "", "should be text or a whole number"),
    "id is true": wrong_field("id", True, "should be text or a whole number"),
    "system is a number": wrong_field("system", 3, "should be text, but is 3"),
    "system is blank": wrong_field("system", " ", "is blank"),
    "summary is a list": wrong_field("summary", ["s"], "should be text, but is ['s']"),
    "summary is empty": wrong_field("summary", "", "is missing or empty"),
    "summary is blank": wrong_field("summary", " \n", "is blank"),
    "summary is null": wrong_field("summary", None, "is missing or empty"),
    "human is a list": wrong_field("human", [4], "should be {rubric: [scores]}"),
    "human is a word": wrong_field("human", {"fluency": ["good"]}, "should be numbers, not 'good'"),
    "summary absent": Bad("d.jsonl", GOOD + '{"id": "b"}\n', "line 2, field 'summary'", "is missing"),
    "summary under a name that says nothing": Bad(
        "d.csv",
        "id,blurb,reviews\na,Good.,Fine\n",
        "line 2, field 'summary'",
        "If one of 'blurb' is meant, say --map summary=COLUMN",
    ),
    "summaries are a list": Bad("d.jsonl", '{"summaries": ["s"]}\n', "line 1, field 'summaries'", "{system: summary,"),
    "summaries are empty": Bad("d.jsonl", '{"summaries": {}}\n', "line 1, field 'summaries'", "{system: summary,"),
    "one of the summaries is blank": Bad("d.jsonl", '{"summaries": {"a": " "}}\n', "field 'summaries.a'", "is blank"),
    "summary and summaries": Bad(
        "d.jsonl", line({"summaries": {"a": "s"}}), "line 1, field 'summaries'", "holds both 'summary' and 'summaries'"
    ),
    "human does not say whose": Bad(
        "d.jsonl", '{"summaries": {"a": "s"}, "human": {"fluency": 4}}\n', "line 1, field 'human'", "names 'fluency'"
    ),
    "reviews absent": Bad(
        "d.jsonl",
        GOOD + line({}),
        "line 2, field 'reviews'",
        "the rubric 'sentiment_consistency' requires it",
        rubrics="fluency,sentiment_consistency",
    ),
    "reviews empty": Bad(
        "d.jsonl", line({"reviews": [" "]}), "line 1, field 'reviews'", "requires it", rubrics="sentiment_consistency"
    ),
    "perspective absent": Bad(
        "d.jsonl",
        GOOD + line({"answers": ["a"]}),
        "line 2, field 'perspective'",
        "the rubric 'perspective_misalignment' requires it",
        rubrics="health-perspective",
    ),
    "all material absent": Bad(
        "d.jsonl", line({}), "line 1, field 'reviews'", "at least one is needed", rubrics="faithfulness"
    ),
    "duplicate key": Bad(
        "d.jsonl",
        GOOD + line({}) + "\n" + GOOD,
        "line 4, field 'id'",
        "id 'g', system 'default' is there already on line 1",
    ),
    "duplicate key in summaries": Bad(
        "d.jsonl",
        '{"id": 1, "system": "a", "summary": "s"}\n{"id": "1", "summaries": {"b": "s", "a": "s"}}\n',
        "line 2, field 'id'",
        "id '1', system 'a' is there already on line 1",
    ),
    "duplicate row of CSV": Bad("d.csv", "id,summary\n1,s\n2,s\n1,s\n", "line 4, field 'id'", "already on line 2"),
    "two columns, one meaning": Bad(
        "d.jsonl", line({"avgRating": 4, "meanRating": 4}), "line 1", "'avgRating' and 'meanRating' both mean"
    ),
    "map to nothing": Bad("d.jsonl", GOOD, "d.jsonl", "has no column 'body'", options=("--map", "description=body")),
    "empty file": Bad("d.jsonl", "", "d.jsonl", "is empty"),
    "only a BOM": Bad("d.jsonl", b"\xef\xbb\xbf", "d.jsonl", "is empty"),
    "only blank lines": Bad("d.jsonl", "\n  \n\r\n", "d.jsonl", "is empty"),
    "empty CSV": Bad("d.csv", "", "d.csv", "is empty"),
    "CSV with a header alone": Bad("d.csv", "id,summary\n", "d.csv", "is empty"),
    "Parquet without rows": Bad("d.parquet", parquet([]), "d.parquet", "is empty"),
    "Latin-1": Bad(
        "d.jsonl", (GOOD + line({"summary": "naïve"})).encode().replace(b"\\u00ef", b"\xef"), "line 2", "UTF-8"
    ),
    "UTF-16": Bad("d.jsonl", GOOD.encode("utf-16"), "line 1", "is not UTF-8 text but UTF-16"),
    "UTF-16 big-endian": Bad("d.csv", b"\xfe\xff" + GOOD.encode("utf-16-be"), "line 1", "but UTF-16"),
    "UTF-16 without mark": Bad("d.jsonl", GOOD.encode("utf-16-le"), "line 1", "is not JSON"),
    "gzip": Bad("d.jsonl", gzip.compress(GOOD.encode()), "line 1", "but gzip"),
    "Excel": Bad("d.csv", b"PK\x03\x04rest", "line 1", "but a zip or Excel file"),
    "unknown ending": Bad("d.xlsx", GOOD, "d.xlsx", "unknown kind of file '.xlsx'; known endings: .jsonl"),
    "no ending": Bad("data", GOOD, "data", "unknown kind of file ''"),
    "50 MB line": Bad(
        "d.jsonl", GOOD + line({"description": "x" * 50_000_000}), "line 2", f"longer than {MAX_LINE_BYTES >> 20} MB"
    ),
    "50 MB cell": Bad("d.csv", "id,summary\n1," + "x" * 50_000_000 + "\n", "line 2", "is not CSV"),
    "CSV with too many cells": Bad(
        "d.csv", "id,summary\n1,s\n2,s,t\n", "line 3", "has 3 cells where the header names 2 columns"
    ),
    "CSV with too few cells": Bad("d.csv", "id,summary\n1\n", "line 2", "has 1 cells"),
    "CSV header twice": Bad("d.csv", "id,summary,id\n1,s,2\n", "line 1", "names the column 'id' twice"),
    "CSV with an open quote": Bad("d.csv", 'id,summary\n1,s\n2,"s\n', "line 3", "is not CSV"),
    "CSV in Latin-1": Bad("d.csv", b"id,summary\n1,s\n2,na\xefve\n3,s\n", "line 3", "is not UTF-8 (byte 0xef"),
    "CSV in Latin-1 far below": Bad(
        "d.csv",
        b"id,summary\n" + b"".join(b"%d,s\n" % number for number in range(9000)) + b"x,\xff\n",
        "line 9002",
        "is not UTF-8 (byte 0xff at position 3)",
    ),
    "wrong type in CSV": Bad(
        "d.csv", "id,summary,average_rating\n1,s,high\n", "line 2, field 'average_rating'", "should be a number"
    ),
    "broken Parquet": Bad("d.parquet", b"PAR1 no more", "d.parquet", "is not Parquet"),
    "truncated Parquet": Bad("d.parquet", parquet([{"id": "1", "summary": "s"}])[:-20], "d.parquet", "is not Parquet"),
    "wrong type in Parquet": Bad(
        "d.parquet",
        parquet([{"id": "1", "summary": "s", "reviews": 1}]),
        "line 1, field 'reviews'",
        "should be a list of texts",
    ),
}


class Listener:
    """A server that counts who connects; nobody may."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.connections = 0
        threading.Thread(target=self._count, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}/v1"

    def _count(self) -> None:
        while True:
            try:
                self.socket.accept()[0].close()
            except OSError:
                return
            self.connections += 1


@pytest.fixture
def listener() -> Iterator[Listener]:
    listening = Listener()
    yield listening
    listening.socket.shutdown(socket.SHUT_RDWR)
    listening.socket.close()


def files(folder: Path) -> list[str]:
    """What stands in a folder, without the side files that SQLite makes and drops as it likes."""
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(("-wal", "-shm")))


def refused(folder: Path, arguments: list[str], stdin: bytes = b"") -> str:
    """The message with which jurybox refuses; everything around it is checked here."""
    before = files(folder)
    done = subprocess.run(
        [sys.executable, "-m", "jurybox", "run", *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        check=False,
        env={**os.environ, "OPENAI_API_KEY": "test", "NO_COLOR": "1"},
    )
    message = done.stderr.decode()
    assert "Traceback" not in message
    assert done.returncode == 2, message
    assert done.stdout == b""
    assert re.fullmatch(r"jurybox: [^\n]+\n", message), f"not exactly one message:\n{message}"
    assert files(folder) == before, "a run file was left behind"
    return message


# A judge that would answer at once, and one that would be paid.
JURY = ["--judge", "baseline/length", "--judge", "openai/x"]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_wrong_input_is_one_message_before_any_call(case: Bad, tmp_path: Path, listener: Listener) -> None:
    content = case.content.encode() if isinstance(case.content, str) else case.content
    (tmp_path / case.name).write_bytes(content)
    options = ["--rubrics", case.rubrics, *JURY, "--base-url", listener.url, *case.options]
    message = refused(tmp_path, [case.name, *options])
    assert message.startswith(f"jurybox: {case.name}")
    assert case.where in message
    assert case.what in message
    assert len(message) < 400
    assert listener.connections == 0


BASELINE = ["--rubrics", "fluency", "--judge", "baseline/length"]


def test_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    assert "folder.jsonl: is a directory" in refused(tmp_path, ["folder.jsonl", *BASELINE])


def test_an_absent_file_is_refused(tmp_path: Path) -> None:
    message = refused(tmp_path, ["absent.jsonl", *BASELINE])
    assert message == "jurybox: absent.jsonl: cannot be read: No such file or directory\n"
    assert refused(tmp_path, ["absent", *BASELINE]) == "jurybox: absent: there is no such file or folder\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text(GOOD)
    (tmp_path / "d.jsonl").chmod(0)
    assert "d.jsonl: cannot be read: Permission denied" in refused(tmp_path, ["d.jsonl", *BASELINE])


def test_a_pipe_that_cannot_be_read_twice_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert "pipe.jsonl: cannot be read twice" in refused(tmp_path, ["pipe.jsonl", *BASELINE])


@pytest.mark.parametrize(
    ("given", "place"),
    [
        (GOOD + "nope\n", "standard input, line 2: is not JSON"),
        ("", "standard input: is empty"),
        (GOOD + GOOD, "standard input, line 2, field 'id': item id 'g', system 'default' is there already on line 1"),
    ],
)
def test_wrong_standard_input_is_refused(given: str, place: str, tmp_path: Path) -> None:
    assert place in refused(tmp_path, ["-", *BASELINE], given.encode())


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("id,system,rubric,rater,score\ng,default,fluency,ann,good\n", "human.csv, line 2, field 'score'"),
        ("id,system,rubric,rater,score\n", "human.csv: is empty"),
    ],
)
def test_wrong_ratings_are_refused(text: str, place: str, tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text(GOOD)
    (tmp_path / "human.csv").write_text(text)
    assert place in refused(tmp_path, ["d.jsonl", *BASELINE, "--human", "human.csv"])


def test_wrong_input_leaves_an_earlier_run_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text(GOOD)
    command = [sys.executable, "-m", "jurybox", "run", "d.jsonl", *BASELINE, "--out", "kept.db"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    show = [sys.executable, "-m", "jurybox", "show", "kept.db", "--json"]
    before = subprocess.run(show, cwd=tmp_path, check=True, capture_output=True).stdout
    (tmp_path / "d.jsonl").write_text(GOOD + "nope\n")
    refused(tmp_path, ["d.jsonl", *BASELINE, "--out", "kept.db"])
    assert subprocess.run(show, cwd=tmp_path, check=True, capture_output=True).stdout == before
