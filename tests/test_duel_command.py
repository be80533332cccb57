"""`jurybox duel` on the real command line: its document, its words, its exit statuses."""

from __future__ import annotations

import json

import pytest

from conftest import Command, WriteItems
from duelling import RECORDS, honest, judge_by, source
from server import JudgeServer, completion, echo_key

ESTIMATE = {"value", "low", "high", "n", "n_unscored", "method", "seed"}


def test_the_json_document_has_its_shape(server: JudgeServer, jurybox: Command, write_items: WriteItems) -> None:
    judge_by(server, honest)
    data = write_items([source(n, a=1, b=3, c=2) for n in range(4)])
    words = ("duel", data, "a", "b", "c", "--rubrics", "fluency,coherence", "--judge", "openai/judge-1")
    done = jurybox(*words, "--base-url", server.base_url, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert set(document["rubrics"]) == {"fluency", "coherence"}
    told = document["rubrics"]["fluency"]
    assert told["judge"] == "openai/judge-1"
    assert told["signature"].startswith("jurybox|fluency@1:")
    assert "|duel/classic|openai/judge-1|" in told["signature"]
    assert [(pair["first"], pair["second"], pair["wins"], pair["losses"]) for pair in told["pairs"]] == [
        ("a", "b", 0, 4),
        ("a", "c", 0, 4),
        ("b", "c", 4, 0),
    ]
    assert set(told["pairs"][0]) == {
        *("first", "second", "wins", "losses", "ties", "inconsistent", "unscored", "missing", "win_rate")
    }
    assert set(told["pairs"][0]["win_rate"]) == set(told["position_bias"]) == ESTIMATE
    assert [entry["system"] for entry in told["ranking"]] == ["b", "c", "a"]
    assert set(told["ranking"][0]["strength"]) == ESTIMATE
    assert document["judges"]["openai/judge-1"]["rubrics"] == document["rubrics"]
    assert document["unfinished"] == 0
    assert (data.parent / "data.duel.db").exists(), "named after the data"


def test_the_result_is_told_in_words(server: JudgeServer, jurybox: Command, write_items: WriteItems) -> None:
    judge_by(server, lambda first, second: 1 if (first, second) == (1, 2) else honest(first, second))
    records = [source(n, base=1, revised=3) for n in range(12)] + [source(n, base=1, revised=2) for n in (12, 13)]
    data = write_items([*records, source(14, base=3, revised=1)])
    words = ("duel", data, "revised", "base", "--rubrics", "fluency", "--judge", "openai/judge-1")
    done = jurybox(*words, "--base-url", server.base_url, "--judge", "baseline/constant")
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert "revised beats base on fluency: 12 wins, 1 loss, 2 ties (2 of them inconsistent)." in told
    assert "Win rate of revised 0.87 (0.62-0.96), n=15." in told
    assert "the summary shown first is preferred in 0.57 (0.47-0.66) of answers (0.50 is none)" in told
    assert "revised and base cannot be told apart on fluency: 0 wins, 0 losses, 15 ties." in told
    assert "Position bias: none, because this judge scores each summary by itself." in told
    lines = [line for line in done.stdout.splitlines() if "jurybox|" not in line and "Kept in" not in line]
    assert max(map(len, lines)) <= 80


def test_a_judge_that_computes_needs_no_server(jurybox: Command, write_items: WriteItems) -> None:
    records = [{"id": f"p{n}", "summaries": {"long": "word " * (20 + n), "short": "word"}} for n in range(8)]
    words = ("duel", write_items(records), "short", "long", "--rubrics", "fluency", "--judge", "baseline/length")
    done = jurybox(*words)
    assert done.returncode == 0, done.stderr
    assert "short loses to long on fluency: 0 wins, 8 losses, 0 ties." in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("a", "x"), "unknown system 'x'. Available: a, b"),
        (("a",), "two systems or more"),
        (("a", "b", "--answer", "json"), "--answer json: a duel is answered by a choice"),
        (("a", "b", "--layout", "form"), "--layout form: a duel asks one rubric a call"),
        (("a", "b", "--human", "ratings.csv"), "--human: ratings are of one summary"),
        (("a", "b", "--rubrics", "prompt.md"), "comes from a prompt file"),
    ],
)
def test_wrong_use_is_said_before_anything_is_asked(
    server: JudgeServer, jurybox: Command, write_items: WriteItems, words: tuple[str, ...], message: str
) -> None:
    data = write_items(RECORDS)
    (data.parent / "prompt.md").write_text("Rate {summary}.\nAnswer: <score>1-5</score>", "utf-8")
    given = words if "--rubrics" in words else (*words, "--rubrics", "fluency")
    done = jurybox("duel", data, *given, "--judge", "openai/judge-1", "--base-url", server.base_url)
    assert done.returncode == 2
    assert message in done.stderr
    assert server.requests == []
    assert not (data.parent / "data.duel.db").exists()


def test_strict_wants_every_pair_scored(server: JudgeServer, jurybox: Command, write_items: WriteItems) -> None:
    server.always(completion("Both are fine."))
    words = (
        "duel",
        write_items(RECORDS[:2]),
        "a",
        "b",
        "--rubrics",
        "fluency",
        "--judge",
        "openai/judge-1",
        "--strict",
    )
    done = jurybox(*words, "--base-url", server.base_url, "--reasks", "0")
    assert done.returncode == 3
    assert "--strict: 2 pairs ended unscored" in done.stderr
    assert "a and b: no duel was scored on fluency." in done.stdout


def test_a_refused_key_stops_the_duel(server: JudgeServer, jurybox: Command, write_items: WriteItems) -> None:
    server.always(echo_key())
    words = ("duel", write_items(RECORDS), "a", "b", "--rubrics", "fluency", "--judge", "openai/judge-1")
    done = jurybox(*words, "--base-url", server.base_url)
    assert done.returncode == 2
    assert "What was judged is kept in data.duel.db" in done.stderr
