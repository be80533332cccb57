"""The store keeps one configuration a file, pays for nothing twice, and touches no file that is not its own."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import server as answers
from conftest import Evaluate, WriteItems, assert_right, item
from jurybox.errors import StoreError
from jurybox.rubrics import builtin
from jurybox.store import RunFile, RunReader
from jurybox.store.connection import FORMAT, open_to_write
from server import JudgeServer


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# The file


@pytest.mark.usefixtures("open_umask")
def test_the_run_file_and_all_beside_it_are_for_their_owner_alone(evaluate: Evaluate, tmp_path: Path) -> None:
    modes: dict[str, int] = {}

    def look(request: answers.Request) -> None:
        modes.update({path.name: mode(path) for path in tmp_path.glob("run.db*")})

    evaluate.server.plan = look
    evaluate([item(0)])
    assert modes == dict.fromkeys(("run.db", "run.db-wal", "run.db-shm", "run.db-lock"), 0o600)
    assert mode(evaluate.out) == 0o600
    assert not (tmp_path / "run.db-lock").exists()


def test_a_run_file_has_wal_full_synchronisation_and_pages_of_16_kib(tmp_path: Path) -> None:
    connection = open_to_write(tmp_path / "run.db")
    found = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "journal_mode")}
    full = connection.execute("PRAGMA synchronous").fetchone()[0]
    connection.close()
    assert found == {"page_size": 16384, "journal_mode": "wal"}
    assert full == 2


def text_file(path: Path) -> None:
    path.write_text("id,summary\n1,dear diary\n")


def foreign_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE photos (name); INSERT INTO photos VALUES ('cat');")
    connection.close()


def foreign_database_in_wal(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.executescript("PRAGMA journal_mode = WAL; CREATE TABLE photos (name);")
    connection.close()


def newer_run_file(path: Path) -> None:
    connection = open_to_write(path)
    connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
    connection.close()


def broken_database(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (text_file, "is not a run file"),
        (foreign_database, "is an SQLite file, but not of jurybox"),
        (foreign_database_in_wal, "is an SQLite file, but not of jurybox"),
        (newer_run_file, f"has run format {FORMAT + 1}; this jurybox reads format {FORMAT}"),
        (broken_database, "is not a run file"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_file_that_is_no_run_file_is_refused_untouched(
    evaluate: Evaluate, make: Callable[[Path], None], said: str
) -> None:
    make(evaluate.out)
    before = evaluate.out.read_bytes()
    with pytest.raises(StoreError, match=said):
        evaluate([item(0)])
    with pytest.raises(StoreError, match=said):
        RunReader(evaluate.out)
    assert evaluate.out.read_bytes() == before
    assert not evaluate.server.requests
    assert not evaluate.out.with_name("run.db-lock").exists()


def test_a_directory_is_refused(evaluate: Evaluate, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="is a directory"):
        evaluate([item(0)], out=tmp_path / "folder")
    assert not list((tmp_path / "folder").iterdir())


def test_a_missing_run_file_is_said_with_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"there is no such run file; `jurybox run DATA --out .*none\.db` makes one"):
        RunReader(tmp_path / "none.db")


def test_an_empty_file_becomes_a_run_file(evaluate: Evaluate) -> None:
    evaluate.out.touch()
    evaluate([item(0)])
    assert len(assert_right(evaluate.out)) == 1


def test_a_run_that_died_while_its_file_was_made_can_begin_again(evaluate: Evaluate) -> None:
    """SIGKILL between the file's first page and its schema leaves an SQLite file without a single table."""
    connection = sqlite3.connect(evaluate.out)
    connection.executescript("PRAGMA page_size = 16384; PRAGMA journal_mode = WAL;")
    connection.close()
    evaluate([item(0)])
    assert len(assert_right(evaluate.out)) == 1


def test_a_second_writer_is_refused_while_the_first_holds_the_file(evaluate: Evaluate) -> None:
    first = RunFile(evaluate.out)
    with pytest.raises(StoreError, match="another jurybox is writing to it"):
        evaluate([item(0)])
    assert not evaluate.server.requests
    first.close()
    evaluate([item(0)])
    assert len(assert_right(evaluate.out)) == 1


def test_closing_twice_does_no_harm(tmp_path: Path) -> None:
    first = RunFile(tmp_path / "run.db")
    first.close()
    second = RunFile(tmp_path / "run.db")
    first.close()
    assert (tmp_path / "run.db-lock").exists()
    second.close()


def test_wrong_input_leaves_no_file_behind(evaluate: Evaluate, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="is empty"):
        evaluate([])
    assert list(tmp_path.iterdir()) == []


# Nothing is paid twice


def test_a_second_start_asks_nothing(evaluate: Evaluate, write_items: WriteItems) -> None:
    data = write_items(10)
    evaluate(data)
    again = evaluate(data)
    assert len(evaluate.server.requests) == 10
    assert again.tally is not None
    assert (again.tally.done, again.tally.kept, again.tally.calls) == (10, 10, 0)


def test_two_items_with_the_same_prompt_cost_one_request(evaluate: Evaluate) -> None:
    """Fluency reads the summary alone; both items get the verdict."""
    evaluate.server.latency = 0.05
    evaluate([item(0), item(0, system="copy")])
    assert len(evaluate.server.requests) == 1
    assert len(assert_right(evaluate.out)) == 2
    assert evaluate.rows("SELECT COUNT(*) FROM calls") == [(1,)]


@pytest.mark.parametrize(
    ("more", "requests"),
    [
        pytest.param({"data": 8}, 5, id="items"),
        pytest.param({"rubrics": "fluency,coherence"}, 3, id="rubrics"),
        pytest.param({"samples": 3, "temperature": 0.0}, 6, id="samples"),
        pytest.param({"judge": ["openai/judge-1", "openai/judge-2"]}, 3, id="judges"),
        pytest.param({"limit": 2}, 0, id="fewer items"),
    ],
)
def test_extending_a_run_asks_only_what_is_new(
    evaluate: Evaluate, write_items: WriteItems, more: dict[str, Any], requests: int
) -> None:
    evaluate(write_items(3))
    evaluate(write_items(more.pop("data", 3)), **more)
    assert len(evaluate.server.requests) == 3 + requests
    assert max(evaluate.server.seen.values()) == 1 or "samples" in more
    assert len(assert_right(evaluate.out)) == 3 + requests


def other_fluency() -> dict[str, Any]:
    return {"rubrics": [replace(builtin()["fluency"], definition="Something else.", digest="0" * 64)]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param(other_fluency(), "with rubric fluency@1:.* and now it is fluency@1:000000", id="rubric"),
        pytest.param({"layout": "shared"}, "with layout classic, and now it is shared", id="layout"),
        pytest.param({"answer": "json"}, "with layout classic, and now it is classic/json", id="answer"),
        pytest.param({"temperature": 0.5}, "with temperature 0.0, and now it is 0.5", id="temperature"),
        pytest.param(
            {"data": [item(0, summary="Another text. [[item 0]]")]}, "item id 'p0', system 'base'", id="summary"
        ),
        pytest.param({"data": [item(0, reviews=["Another review."])]}, "item id 'p0', system 'base'", id="source"),
    ],
)
def test_a_changed_configuration_is_refused_before_any_call(
    evaluate: Evaluate, change: dict[str, Any], said: str
) -> None:
    evaluate([item(0)])
    before = evaluate.rows("SELECT * FROM series")
    with pytest.raises(StoreError, match=said) as caught:
        evaluate(change.pop("data", [item(0), item(1)]), **change)
    assert "give another --out" in str(caught.value)
    assert len(evaluate.server.requests) == 1
    assert evaluate.rows("SELECT * FROM series") == before
    assert len(assert_right(evaluate.out)) == 1


@pytest.mark.parametrize("change", [{"max_tokens": 500}, {"seed": 7}], ids=["max_tokens", "seed"])
def test_a_changed_parameter_is_refused_before_any_call(evaluate: Evaluate, change: dict[str, Any]) -> None:
    """Both are part of a call's key: its old verdict is not what these settings would have given."""
    evaluate([item(0)])
    with pytest.raises(StoreError, match="give another --out"):
        evaluate([item(0)], **change)


def test_a_failed_judgment_is_asked_again_on_the_next_start_and_its_error_is_kept(evaluate: Evaluate) -> None:
    evaluate.server.always(answers.error(503, "the engine is loading"))
    first = evaluate([item(0)], retries=0)
    assert [judgment.verdict.status for judgment in first.judgments()] == ["failed"]
    evaluate.server.plan = None
    evaluate([item(0)], retries=0)
    assert len(assert_right(evaluate.out)) == 1
    ((error, text),) = evaluate.rows("SELECT error, text FROM attempts")
    assert "503: the engine is loading" in error
    assert text is None


def test_a_failed_call_of_two_items_keeps_its_error_too(evaluate: Evaluate) -> None:
    """The second item with the same prompt asks again within the same start."""
    evaluate.server.first(answers.error(503, "the engine is loading"))
    evaluate([item(0), item(0, system="copy")], retries=0, concurrency=1)
    assert len(evaluate.server.requests) == 2
    assert len(evaluate.rows("SELECT * FROM attempts WHERE error LIKE '%the engine is loading%'")) == 1
    evaluate([item(0), item(0, system="copy")], retries=0, concurrency=1)
    assert len(evaluate.server.requests) == 2
    assert len(assert_right(evaluate.out)) == 2


def test_every_attempt_is_kept_whole(evaluate: Evaluate) -> None:
    evaluate.server.first(answers.error(500, "broken"), answers.completion("Nice kettle.", model="judge-0"))
    evaluate([item(0)])
    assert len(assert_right(evaluate.out)) == 1
    assert evaluate.rows("SELECT attempts, error FROM calls") == [(3, None)]
    first, second = evaluate.rows("SELECT attempt, error, text, model, tokens_in FROM attempts ORDER BY attempt")
    assert first[0] == 1
    assert "500: broken" in first[1]
    assert first[2:] == (None, None, None)
    assert second == (2, None, "Nice kettle.", "judge-0", 100)


def test_a_call_that_failed_for_good_keeps_every_attempt(evaluate: Evaluate) -> None:
    evaluate.server.plan = lambda request: answers.error(500, f"broken {request.nth}")
    evaluate([item(0)], retries=2)
    ((attempts, last),) = evaluate.rows("SELECT attempts, error FROM calls")
    assert attempts == 3
    assert "broken 3" in last
    kept = evaluate.rows("SELECT attempt, error FROM attempts ORDER BY attempt")
    assert [(number, error[-8:]) for number, error in kept] == [(1, "broken 1"), (2, "broken 2")]


def test_an_unread_answer_is_not_asked_again_on_the_next_start(evaluate: Evaluate) -> None:
    evaluate.server.always(answers.completion("Nice kettle."))
    evaluate([item(0)], reasks=1)
    evaluate([item(0)], reasks=1)
    assert len(evaluate.server.requests) == 2


# What is kept


def test_a_source_is_stored_once_for_all_its_summaries(evaluate: Evaluate) -> None:
    record = item(0)
    del record["summary"], record["system"]
    evaluate([{**record, "summaries": {name: f"By {name}. [[item 0]]" for name in ("a", "b", "c")}}])
    assert evaluate.rows("SELECT COUNT(*) FROM items") == [(3,)]
    assert evaluate.rows("SELECT COUNT(*) FROM sources") == [(1,)]


def test_an_item_is_stored_as_it_was_judged(evaluate: Evaluate) -> None:
    evaluate([item(0, defects=["none"], note="keep me")])
    with RunReader(evaluate.out) as reader:
        stored = reader.item("p0", "base")
    assert stored["summary"] == item(0)["summary"]
    assert [review["text"] for review in stored["source"]["reviews"]] == ["Boils fast.", "The lid sticks."]
    assert stored["metadata"] == {"defects": ["none"], "note": "keep me"}


def test_ratings_inside_the_items_and_from_a_file_are_stored(evaluate: Evaluate, tmp_path: Path) -> None:
    (tmp_path / "human.csv").write_text("id,system,rubric,rater,score\np1,base,fluency,ann,2\n")
    evaluate([item(0, human={"fluency": [4, 5]}), item(1)], human=tmp_path / "human.csv")
    with RunReader(evaluate.out) as reader:
        assert sorted(reader.ratings()) == [
            ("p0", "base", "fluency", "1", 4.0),
            ("p0", "base", "fluency", "2", 5.0),
            ("p1", "base", "fluency", "ann", 2.0),
        ]


def test_the_rubric_itself_is_in_the_file(evaluate: Evaluate) -> None:
    evaluate([item(0)])
    ((body,),) = evaluate.rows("SELECT body FROM series")
    assert json.loads(body)["definition"] == builtin()["fluency"].definition


def test_a_run_can_be_read_while_it_is_written(evaluate: Evaluate, write_items: WriteItems) -> None:
    counts: list[int] = []

    def look(request: answers.Request) -> None:
        with RunReader(evaluate.out) as reader:
            counts.append(len(list(reader.judgments())))

    evaluate.server.plan = look
    evaluate(write_items(5), concurrency=1)
    assert counts == [0, 1, 2, 3, 4]


def test_a_server_that_counts_its_tokens_wildly_is_still_kept(server: JudgeServer, evaluate: Evaluate) -> None:
    wild = {"choices": [{"message": {"content": "<score>3</score>"}}], "usage": {"prompt_tokens": 2**64 - 1}}
    server.always(answers.body(json.dumps(wild)))
    run = evaluate([item(0)])
    assert [judgment.verdict.score for judgment in run.judgments()] == [3]
