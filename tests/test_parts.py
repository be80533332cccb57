"""Result folders without a cluster: what is written is read back whole, once, and by every reader of a run file."""

from __future__ import annotations

import re
import signal
import threading
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jurybox.api.looking import export, path_of, show
from jurybox.errors import StoreError
from jurybox.rubrics import builtin
from jurybox.store import Entry, RunReader, Series
from jurybox.store.parts import (
    JUDGMENTS,
    Manifest,
    PartStore,
    complete_items,
    index,
    item_fingerprint,
    open_folder,
    pack,
    part_name,
    read_columns,
    run_file_of,
    written_by_us,
)
from jurybox.types import Attempt, Item, Quote, Reply, Review, Sampling, Verdict
from jurybox.web import serving

ITEM = Item(
    "p1", "base", "Fine.", {"reviews": (Review("Boils fast.", 4.0),)}, {"fluency": {"1": 4.0}}, {"colour": "red"}
)


def series(rubric: str = "fluency", **changes: Any) -> Series:
    return replace(Series(builtin()[rubric], "openai/m", "classic", 1, 2, "0.1.0"), **changes)


def entry(number: int = 1, item: Item = ITEM, score: float | None = 4.0, **changes: Any) -> Entry:
    """A call with one failed try before its answer."""
    reply = Reply("Score- <score>4</score>", model="m-1", tokens_in=10, tokens_out=3, seconds=0.5, scale={4: 0.9})
    failed = Attempt(None, "answered 500")
    whole = Entry(
        item=item,
        sample=1,
        key=bytes([number]) * 32,
        prompt_digest=bytes([number + 100]) * 32,
        attempts=(failed,) if score is None else (failed, Attempt(reply)),
        decisive=0 if score is None else 1,
        verdicts={1: Verdict("failed", reason="500") if score is None else Verdict("scored", score, "Since it boils.")},
        cost=None if score is None else 0.25,
        quotes={} if score is None else {"fluency": [Quote("boils", "reviews", 0, 0, 5, 100.0)]},
        at=float(number),
    )
    return replace(whole, **changes)


@pytest.fixture
def store(tmp_path: Path) -> PartStore:
    made = PartStore(open_folder(tmp_path / "out.run"))
    assert made.open_series(series()) == 1
    made.manifest.begin()
    return made


def write(store: PartStore, number: int, entries: Sequence[Entry], start: int = 1, worker: str = "w1") -> str:
    name = part_name(start, worker, number)
    store.write(name, entries)
    return name


def query(store: PartStore, words: str) -> list[Any]:
    with RunReader(run_file_of(store.folder.address)) as reader:
        return reader._rows(words).fetchall()


def test_a_judgment_comes_back_whole(store: PartStore) -> None:
    write(store, 1, [entry()])
    path = run_file_of(store.folder.address)
    with RunReader(path) as reader:
        (judgment,) = reader.judgments()
        assert judgment.verdict == Verdict("scored", 4.0, "Since it boils.")
        assert judgment.reply == entry().attempts[1].reply
        assert judgment.quotes == (Quote("boils", "reviews", 0, 0, 5, 100.0),)
        assert judgment.cost == 0.25
        assert list(reader.ratings()) == [("p1", "base", "fluency", "1", 4.0)]
        assert reader.item("p1", "base") == {
            "summary": "Fine.",
            "source": {"reviews": [{"text": "Boils fast.", "rating": 4.0}]},
            "metadata": {"colour": "red"},
        }
        assert [error for _, error, _ in reader.attempts()] == ["answered 500"]
    assert query(store, "SELECT at FROM calls") == [(1.0,)]


def test_what_was_answered_twice_counts_once_and_the_first_answer_counts(store: PartStore) -> None:
    write(store, 1, [entry(score=4.0)], worker="w1")
    write(store, 1, [entry(score=2.0, at=9.0)], worker="w2")
    assert query(store, "SELECT score, COUNT(*) FROM judgments") == [(4.0, 1)]
    assert query(store, "SELECT COUNT(*) FROM attempts") == [(1,)]


def test_an_answer_replaces_a_failure_and_never_the_other_way(store: PartStore) -> None:
    write(store, 1, [entry(score=None)])
    assert query(store, "SELECT status FROM judgments") == [("failed",)]
    write(store, 1, [entry(at=5.0)], start=2)
    write(store, 2, [entry(score=None, at=6.0)], start=2)
    assert query(store, "SELECT status, error FROM judgments JOIN calls USING (call)") == [("scored", None)]


def test_one_answer_serves_a_second_item_with_the_same_prompt(store: PartStore) -> None:
    other = replace(ITEM, system="twin")
    write(store, 1, [entry(), entry(item=other, attempts=(), decisive=0)])
    assert query(store, "SELECT system, score FROM judgments JOIN items USING (item) ORDER BY 1") == [
        ("base", 4.0),
        ("twin", 4.0),
    ]
    assert query(store, "SELECT COUNT(*) FROM calls") == [(1,)]


def test_a_judgment_may_stand_in_a_part_before_its_call(store: PartStore) -> None:
    write(store, 1, [entry(item=replace(ITEM, system="twin"), attempts=(), decisive=0)], worker="w1")
    write(store, 1, [entry()], worker="w2")
    assert query(store, "SELECT COUNT(*) FROM judgments") == [(2,)], "at the first look"


def test_packing_changes_nothing_that_a_reader_sees(store: PartStore) -> None:
    items = [replace(ITEM, id=f"p{number}") for number in range(6)]
    names = [write(store, number, [entry(number + 1, item)]) for number, item in enumerate(items)]
    before = query(store, "SELECT id, score FROM judgments JOIN items USING (item) ORDER BY 1")
    pack(store.folder, names[:4], part_name(1, "w1-packed", 0))
    assert len(store.folder.names(JUDGMENTS)) == 3
    assert query(store, "SELECT id, score FROM judgments JOIN items USING (item) ORDER BY 1") == before
    assert query(store, "SELECT COUNT(*) FROM attempts") == [(6,)]
    Path(store.folder.address, "run.db").unlink()
    assert query(store, "SELECT id, score FROM judgments JOIN items USING (item) ORDER BY 1") == before


def test_the_index_knows_ends_keys_money_and_what_is_complete(store: PartStore) -> None:
    assert store.open_series(series("coherence")) == 2
    done, half, lost = (replace(ITEM, id=name) for name in ("done", "half", "lost"))
    second = {2: Verdict("unparsed")}
    write(store, 1, [entry(1, done), entry(2, done, verdicts=second, quotes={}), entry(3, half)])
    write(store, 2, [entry(4, lost, score=None), entry(5, lost, verdicts=second, quotes={})])
    columns = read_columns(store.folder, store.folder.names(JUDGMENTS))
    known = PartStore(store.folder, stored=index(columns))
    assert known.judged(1, done, 1) == ("scored", 4.0)
    assert known.judged(2, done, 1) == ("unparsed", None)
    assert known.judged(2, half, 1) is None
    assert known.judged(1, lost, 1) is None, "what failed is asked again"
    assert known.find_reply(bytes([3]) * 32) == entry().attempts[1].reply
    assert known.find_reply(bytes([4]) * 32) is None
    assert known.spent() == 1.0
    complete = complete_items(columns, {1, 2}, 1, 2)
    assert [complete.find(item_fingerprint(item)) is not None for item in (done, half, lost)] == [True, False, False]
    known.refuse_changed(done)
    with pytest.raises(StoreError, match="another text"):
        known.refuse_changed(replace(done, summary="Other."))


def test_what_others_wrote_since_is_found_again(store: PartStore) -> None:
    late = PartStore(store.folder)
    write(store, 1, [entry()], worker="lost")
    assert late.judged(1, ITEM, 1) is None
    late.look_again()
    assert late.judged(1, ITEM, 1) == ("scored", 4.0)


def test_a_folder_keeps_one_configuration(store: PartStore) -> None:
    again = Manifest(store.folder)
    assert again.open(series(expected=9)) == 1
    with pytest.raises(StoreError, match=r"temperature 0\.0, and now it is 1\.0"):
        again.open(series(sampling=Sampling(1.0)))


def test_every_reader_takes_a_folder(store: PartStore, tmp_path: Path) -> None:
    write(store, 1, [entry()])
    folder = store.folder.address
    assert show(folder).main.systems["base"]["fluency"].value == 4.0
    assert export(folder, tmp_path / "rows.jsonl") == 1
    assert path_of(folder) == tmp_path / "out.run" / "run.db"


def test_a_folder_behind_an_address_is_the_same_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    store = PartStore(open_folder(f"file://{tmp_path}/out.run"))
    store.open_series(series())
    store.manifest.begin()
    write(store, 1, [entry()])
    assert show(f"file://{tmp_path}/out.run").main.systems["base"]["fluency"].value == 4.0
    assert show(tmp_path / "out.run").main.systems["base"]["fluency"].value == 4.0
    assert not list((tmp_path / "out.run").rglob(".*")), "no temporary file is left"


def test_a_second_driver_is_refused(store: PartStore) -> None:
    with written_by_us(store.folder), pytest.raises(StoreError, match="another jurybox"), written_by_us(store.folder):
        pass
    with written_by_us(store.folder):
        pass


def test_a_reply_is_found_after_its_part_was_packed(store: PartStore) -> None:
    names = [write(store, number, [entry(number)]) for number in (1, 2)]
    known = PartStore(store.folder, stored=index(read_columns(store.folder, names)))
    pack(store.folder, names, part_name(1, "packed", 1))
    assert known.is_answered(bytes([2]) * 32)
    assert known.find_reply(bytes([2]) * 32) == entry().attempts[1].reply
    assert known.find_reply(bytes([9]) * 32) is None


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("[]")
    with pytest.raises(StoreError, match="no result folder"):
        Manifest(open_folder(tmp_path))


def test_a_folder_of_results_is_served_and_followed(store: PartStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "LOOK_AGAIN", 0.05)
    write(store, 1, [entry()])
    seen: dict[str, int] = {}

    def look(found: serving.Serving) -> None:
        threading.Thread(target=watch, args=(found.url,), daemon=True).start()

    def watch(url: str) -> None:
        write(store, 2, [entry(2, replace(ITEM, id="p2"))])
        until = time.monotonic() + 30
        while "p2" not in seen and time.monotonic() < until:
            with urllib.request.urlopen(f"{url}items") as response:
                seen.update(dict.fromkeys(re.findall(r"\bp[12]\b", response.read().decode()), 1))
        signal.raise_signal(signal.SIGINT)

    serving.serve(store.folder.address, port=0, ready=look)
    assert seen.keys() == {"p1", "p2"}
