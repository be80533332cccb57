"""`--engine ray` without a cluster: what is refused and how it is said, what is planned, and who may ask what."""

from __future__ import annotations

import asyncio
import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jurybox.api.duels import duel
from jurybox.api.judging import evaluate, plan
from jurybox.api.looking import show
from jurybox.errors import DataError, SetupError, StoreError
from jurybox.report.plans import plan_text
from jurybox.runner.cluster.governor import Governor
from jurybox.runner.cluster.twins import Summaries, is_among
from jurybox.store.parts import open_folder, written_by_us
from jurybox.types import Item

ITEM = Item("p1", "base", "Fine.", {})


def test_without_ray_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setitem(sys.modules, "ray.data", None)
    with pytest.raises(SetupError, match=r"jurybox\[ray\]"):
        evaluate([{"id": 1, "summary": "Fine."}], rubrics="fluency", judge="baseline/length", engine="ray")
    assert list(tmp_path.iterdir()) == [], "nothing was made"


def test_what_a_cluster_does_not_have_is_refused_before_anything_is_read() -> None:
    options: dict[str, Any] = {"rubrics": "fluency", "judge": "baseline/length", "engine": "ray"}
    for wrong, match in (({"cache": "replies.db"}, "--cache"), ({"batch": True}, "--batch"), ({"workers": 0}, "1 or")):
        with pytest.raises(SetupError, match=match):
            evaluate("no such file", **options, **wrong)
        with pytest.raises(SetupError, match=match):
            plan("no such file", **options, **wrong)
    with pytest.raises(SetupError, match="duels run on one machine"):
        duel([{"id": 1, "summaries": {"a": "Fine.", "b": "Good."}}], ["a", "b"], **options)


def test_a_cluster_that_is_not_there_is_said_at_once_and_nothing_is_left(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        options: dict[str, Any] = {"rubrics": "fluency", "judge": "baseline/length", "engine": "ray"}
        with pytest.raises(SetupError, match=f"--ray-address {address}: no Ray there: .*refused"):
            evaluate([{"id": 1, "summary": "Fine."}], out=tmp_path / "out.run", ray_address=address, **options)
    assert list(tmp_path.iterdir()) == []


def test_what_a_driver_of_addresses_raises_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nosuch://b/\*\.jsonl: cannot be read: .*nosuch"):
        plan("nosuch://b/*.jsonl", rubrics="fluency", judge="baseline/length")
    with pytest.raises(DataError, match=r"cannot be read: .*nosuch"):
        plan("nosuch://b/items.jsonl", rubrics="fluency", judge="baseline/length")
    with pytest.raises(StoreError, match=r"nosuch://b/out\.run: cannot be opened"):
        show("nosuch://b/out.run")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be made"), written_by_us(open_folder(tmp_path / "file" / "out.run")):
        pass


def test_summaries_of_several_items_are_found() -> None:
    seen = Summaries()
    assert not is_among(seen.repeated(), ITEM)
    for item in (ITEM, replace(ITEM, summary="Other."), replace(ITEM, id="p2"), replace(ITEM, id="p3")):
        seen.see(item)
    assert len(seen.repeated()) == 1
    assert is_among(seen.repeated(), ITEM)
    assert not is_among(seen.repeated(), replace(ITEM, summary="Other."))


def test_a_worker_may_ask_what_no_other_has_claimed() -> None:
    async def claims() -> list[list[bool]]:
        governor = Governor(None, 0.0, {}, 2, [])
        first = await governor.claim(1, [[b"a", b"b"], [b"c"], [b"a"]])
        second = await governor.claim(2, [[b"d"], [b"e", b"c"], []])
        third = await governor.claim(1, [[b"e"]])  # what was refused as a whole is nobody's
        await governor.next_round([])
        return [first, second, third, await governor.claim(2, [[b"a"]])]

    assert asyncio.run(claims()) == [[True, True, True], [True, False, True], [True], [True]]


def test_a_run_file_or_a_strange_folder_is_no_place_for_results(tmp_path: Path) -> None:
    options: dict[str, Any] = {"rubrics": "fluency", "judge": "baseline/length", "engine": "ray"}
    (tmp_path / "run.db").write_text("")
    with pytest.raises(StoreError, match="writes a folder"):
        evaluate([{"id": 1, "summary": "Fine."}], out=tmp_path / "run.db", **options)
    with pytest.raises(StoreError, match="other things in it"):
        evaluate([{"id": 1, "summary": "Fine."}], out=tmp_path, **options)
    with pytest.raises(SetupError, match="--engine ray"):
        evaluate([{"id": 1, "summary": "Fine."}], rubrics="fluency", judge="baseline/length", workers=3)


def test_a_plan_counts_workers(tmp_path: Path) -> None:
    options: dict[str, Any] = {"rubrics": "fluency", "judge": "openai/m", "base_url": "http://127.0.0.1:1/v1"}
    items = [{"id": number, "summary": f"Fine {number}."} for number in range(640)]
    alone = plan(items, **options).judges["openai/m"]
    many = plan(items, engine="ray", workers=4, **options)
    assert many.judges["openai/m"].calls == alone.calls == 640
    assert many.judges["openai/m"].seconds == alone.seconds / 4
    assert "in each of 4 workers" in plan_text(many)
