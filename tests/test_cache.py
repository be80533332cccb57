"""Replies across runs: paid once, whatever file they are asked for; never another server's, never an unread one."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from pathlib import Path

import pytest

from conftest import Command, Evaluate, WriteItems, assert_right
from jurybox.errors import StoreError
from jurybox.store import ReplyCache, RunReader
from jurybox.types import Reply
from server import JudgeServer, completion

REPLY = Reply("Score- <score>4</score>", "thought", tokens_in=3, tokens_out=2, scale={4: 0.9}, seconds=0.5)


def test_a_second_run_over_the_same_questions_pays_nothing(
    evaluate: Evaluate, tmp_path: Path, write_items: WriteItems
) -> None:
    data = write_items(3)
    evaluate(data, rubrics="fluency,coherence")
    second = evaluate(data, rubrics="fluency,coherence", out=tmp_path / "second.db")
    assert len(evaluate.server.requests) == 6
    assert second.tally is not None
    assert (second.tally.reused, second.tally.calls, second.tally.cost) == (6, 0, 0.0)
    assert len(assert_right(second.path)) == 6
    with RunReader(second.path) as reader:
        spent = reader.spent()
        assert all(judgment.reply and judgment.reply.text for judgment in reader.judgments()), "replies are kept whole"
    assert (spent["calls"], spent["tokens_in"], spent["reused"]) == (0, 0, 6)


def test_only_what_was_never_asked_is_paid(evaluate: Evaluate, tmp_path: Path, write_items: WriteItems) -> None:
    evaluate(write_items(2))
    evaluate(write_items(5), out=tmp_path / "more.db")
    assert len(evaluate.server.requests) == 5
    evaluate(write_items(5), out=tmp_path / "warmer.db", temperature=0.5)
    assert len(evaluate.server.requests) == 10, "another temperature is another question"


def test_no_cache_asks_anew_and_keeps_nothing(evaluate: Evaluate, tmp_path: Path, write_items: WriteItems) -> None:
    data = write_items(2)
    evaluate(data, cache=False)
    evaluate(data, out=tmp_path / "second.db")
    evaluate(data, out=tmp_path / "third.db", cache=False)
    assert len(evaluate.server.requests) == 6


def test_another_server_is_another_judge(evaluate: Evaluate, tmp_path: Path, write_items: WriteItems) -> None:
    data = write_items(2)
    evaluate(data)
    with JudgeServer() as other:
        evaluate(data, out=tmp_path / "second.db", base_url=other.base_url)
        assert len(other.requests) == 2


def test_an_answer_that_could_not_be_read_is_not_handed_on(
    evaluate: Evaluate, tmp_path: Path, write_items: WriteItems
) -> None:
    data = write_items(1)
    evaluate.server.always(completion("I cannot say."))
    evaluate(data, reasks=0)
    evaluate.server.plan = None
    second = evaluate(data, out=tmp_path / "second.db")
    assert len(evaluate.server.requests) == 2
    assert_right(second.path)


def test_the_command_line_names_the_file_and_says_what_came_from_it(
    jurybox: Command, server: JudgeServer, write_items: WriteItems, tmp_path: Path
) -> None:
    words = ("run", write_items(2), "--rubrics", "fluency", "--judge", "openai/m", "--base-url", server.base_url)
    mine = tmp_path / "mine.db"
    assert jurybox(*words, "--cache", mine, "--out", "a.db").returncode == 0
    done = jurybox(*words, "--cache", mine, "--out", "b.db")
    assert "2 from the cache" in done.stderr
    assert jurybox("plan", *words[1:], "--cache", mine, "--out", "c.db").stdout.count("in the cache") == 1
    assert jurybox(*words, "--no-cache", "--out", "d.db").returncode == 0
    assert len(server.requests) == 4
    both = jurybox(*words, "--cache", mine, "--no-cache")
    assert (both.returncode, "exclude each other" in both.stderr) == (2, True)


def test_it_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "replies.db"
    ReplyCache(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_reply_comes_back_as_it_was_given(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path / "replies.db")
    cache.keep(b"k" * 32, "http://here", REPLY)
    cache.close()
    again = ReplyCache(tmp_path / "replies.db")
    assert again.find(b"k" * 32, "http://here") == REPLY
    assert again.find(b"k" * 32, "http://there") is None
    assert again.find(b"x" * 32, "http://here") is None
    again.close()


def test_two_processes_may_share_it(tmp_path: Path) -> None:
    caches = [ReplyCache(tmp_path / "replies.db") for _ in range(4)]

    def fill(cache: ReplyCache, start: int) -> None:
        for number in range(start, start + 600):
            cache.keep(number.to_bytes(32), "", REPLY)
        cache.close()

    threads = [threading.Thread(target=fill, args=(cache, 300 * n)) for n, cache in enumerate(caches)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = ReplyCache(tmp_path / "replies.db")
    assert all(whole.find(number.to_bytes(32), "") == REPLY for number in range(1500))
    whole.close()


def test_a_foreign_file_is_refused_where_it_was_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "bank.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE accounts (n)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"bank\.db: cannot be used: it is another SQLite file"):
        ReplyCache(path)
    assert path.read_bytes() == before


def test_a_cache_that_nobody_named_may_be_broken(
    evaluate: Evaluate, write_items: WriteItems, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken.db"
    broken.write_bytes(os.urandom(4096))
    monkeypatch.setenv("JURYBOX_REPLIES", str(broken))
    assert_right(evaluate(write_items(2)).path)
