"""A duel asks in both orders, keeps every answer, and says who won, how sure that is, and what the order did."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest

import jurybox as package
from duelling import RECORDS, honest, judge_by, qualities, saying, source
from jurybox.data import Dataset, PairedDataset
from jurybox.errors import SetupError, StoreError
from jurybox.judges import Settings, make_judge
from jurybox.prompts import duel_sheets
from jurybox.report.duel_text import duels_text
from jurybox.report.duels import Duels, PairResult
from jurybox.rubrics import builtin
from jurybox.runner.fitting import fit
from jurybox.runner.progress import Silent, Tally
from jurybox.stats import wilson
from jurybox.types import Sampling
from server import Answer, JudgeServer, Request

Duel = Callable[..., Duels]


@pytest.fixture
def duel(server: JudgeServer, tmp_path: Path) -> Callable[..., Duels]:
    def run(records: Any = RECORDS, systems: tuple[str, ...] = ("a", "b"), **options: Any) -> Duels:
        given = {"rubrics": "fluency", "judge": "openai/judge-1", "base_url": server.base_url, **options}
        return package.duel(records, systems, **{"out": tmp_path / "duel.db", **given})

    return run


def only(duels: Duels, rubric: str = "fluency") -> PairResult:
    (pair,) = duels.judges[duels.main][rubric].pairs
    return pair


def counts(pair: PairResult) -> tuple[int, int, int, int, int]:
    return pair.wins, pair.losses, pair.ties, pair.inconsistent, pair.unscored


def test_an_honest_judge_is_counted_source_by_source(server: JudgeServer, duel: Duel) -> None:
    judge_by(server, honest)
    duels = duel()
    pair = only(duels)
    assert (pair.first, pair.second) == ("a", "b")
    assert counts(pair) == (2, 6, 2, 0, 0)
    assert (pair.win_rate.value, pair.win_rate.n) == (0.3, 10)
    bias = duels.judges["openai/judge-1"]["fluency"].position_bias
    assert (bias.value, bias.n) == (0.5, 10)
    assert len(server.requests) == 20, "every pair in both orders"
    assert Counter(qualities(request) for request in server.requests) == {(1, 3): 8, (3, 1): 8, (2, 2): 4}


def test_the_systems_may_be_named_in_any_order(server: JudgeServer, duel: Duel) -> None:
    judge_by(server, honest)
    assert counts(only(duel(systems=("b", "a")))) == (6, 2, 2, 0, 0)


def test_a_judge_that_always_says_first_decides_nothing(server: JudgeServer, duel: Duel) -> None:
    judge_by(server, lambda first, second: 1)
    duels = duel()
    pair = only(duels)
    assert counts(pair) == (0, 0, 10, 10, 0)
    assert pair.win_rate.value == 0.5
    bias = duels.judges["openai/judge-1"]["fluency"].position_bias
    assert bias.value == 1.0
    assert bias.low is not None
    assert 0.5 < bias.low < 1.0, "ten sources do not prove that it is always so"


def test_two_summaries_of_the_same_words_are_asked_about_once(server: JudgeServer, duel: Duel) -> None:
    """Both orders are the same prompt, so the answer cannot but be a tie; whoever says `first` is inconsistent."""
    server.always(saying(1))
    record = {"id": "p1", "summaries": {"a": "The same.", "b": "The same."}}
    assert counts(only(duel([record]))) == (0, 0, 1, 1, 0)
    assert len(server.requests) == 1


def test_a_preference_in_one_order_and_none_in_the_other_is_inconsistent(server: JudgeServer, duel: Duel) -> None:
    judge_by(server, lambda first, second: 2 if first < second else 0)
    assert counts(only(duel())) == (0, 0, 10, 8, 0)


def test_a_pair_with_an_unread_order_is_unscored(server: JudgeServer, duel: Duel) -> None:
    server.plan = lambda request: saying(
        "?" if qualities(request) == (3, 1) and "Text 0 " in request.user else honest(*qualities(request))
    )
    duels = duel(reasks=0)
    assert counts(only(duels)) == (2, 5, 2, 0, 1)
    assert (only(duels).win_rate.n, only(duels).win_rate.n_unscored) == (9, 1)
    assert duels.unscored == 1
    assert "Unscored in one order or both: 1 source." in duels_text(duels)


def test_the_samples_of_an_order_decide_together(server: JudgeServer, duel: Duel) -> None:
    """Of three samples two say the truth, so the truth wins."""
    asked: Counter[str] = Counter()

    def plan(request: Request) -> Answer:
        asked[request.user] += 1
        truth = honest(*qualities(request))
        return saying(truth if asked[request.user] % 3 else 3 - truth)

    server.plan = plan
    duels = duel([source(0, a=1, b=3), source(1, a=3, b=1)], samples=3)
    assert counts(only(duels)) == (1, 1, 0, 0, 0)
    assert duels.judges["openai/judge-1"]["fluency"].position_bias.value == pytest.approx(0.5)


def test_a_second_start_sends_nothing_and_says_the_same(server: JudgeServer, duel: Duel) -> None:
    judge_by(server, honest)
    once = duel()
    sent = len(server.requests)
    assert duel() == once
    assert len(server.requests) == sent


def test_another_system_joins_the_same_file(server: JudgeServer, duel: Duel) -> None:
    judge_by(server, honest)
    records = [source(n, a=1, b=3, c=2) for n in range(4)]
    duel(records)
    assert len(server.requests) == 8
    three = duel(records, ("a", "b", "c"))
    assert len(server.requests) == 24, "only the pairs with c were asked"
    assert [system for system, _ in three.judges["openai/judge-1"]["fluency"].ranking] == ["b", "c", "a"]
    assert counts(only(duel(records))) == (0, 4, 0, 0, 0), "and two are still told of alone"


def test_a_summary_that_changed_is_not_mistaken_for_the_old_one(server: JudgeServer, duel: Duel) -> None:
    judge_by(server, honest)
    duel([source(0, a=1, b=3)])
    with pytest.raises(StoreError, match="was judged with another text"):
        duel([source(0, a=1, b=4)])


def test_missing_summaries_are_reported(server: JudgeServer, duel: Duel) -> None:
    judge_by(server, honest)
    duels = duel([*RECORDS, source(20, a=1), source(21, b=1), source(22, c=5)])
    assert only(duels).missing == 2
    told = " ".join(duels_text(duels).split())
    assert "Not asked, because a summary by one of the two is missing: 2 sources." in told
    assert len(server.requests) == 20


def test_a_stopped_duel_says_what_is_left_and_goes_on(server: JudgeServer, duel: Duel, tmp_path: Path) -> None:
    judge_by(server, honest)

    async def stopped() -> Duels:
        stop = asyncio.Event()

        class Watch(Silent):
            def update(self, tally: Tally) -> None:
                if tally.done >= 5:
                    stop.set()

        options: dict[str, Any] = {"base_url": server.base_url, "concurrency": 1, "out": tmp_path / "duel.db"}
        return await package.aduel(
            RECORDS, ("a", "b"), rubrics="fluency", judge="openai/judge-1", stop=stop, progress=Watch(), **options
        )

    duels = asyncio.run(stopped())
    assert duels.unfinished == 20 - len(server.requests)
    assert duels.unfinished > 0
    assert f"Unfinished: {duels.unfinished} answers" in duels_text(duels)
    assert sum(counts(only(duels))[:3]) == len(server.requests) // 2, "half a pair is no result yet"
    assert counts(only(duel())) == (2, 6, 2, 0, 0)
    assert len(server.requests) == 20


def test_replies_of_a_duel_can_be_replayed(server: JudgeServer, duel: Duel, tmp_path: Path) -> None:
    judge_by(server, honest)
    once = duel()
    sent = len(server.requests)
    again = duel(judge=f"replay/{tmp_path / 'duel.db'}", out=tmp_path / "again.db")
    assert counts(only(again)) == counts(only(once))
    assert len(server.requests) == sent


def test_a_jury_is_told_judge_by_judge(server: JudgeServer, duel: Duel) -> None:
    judge_by(server, honest)
    duels = duel(judge=["baseline/constant", "openai/judge-1"])
    assert duels.main == "openai/judge-1"
    assert list(duels.judges) == ["baseline/constant", "openai/judge-1"]
    (constant,) = duels.judges["baseline/constant"]["fluency"].pairs
    assert counts(constant) == (0, 0, 10, 0, 0)


def test_every_way_to_ask_a_duel_is_a_configuration_of_its_own(server: JudgeServer, duel: Duel) -> None:
    judge_by(server, honest)
    duel(layout="shared")
    with pytest.raises(StoreError, match="with layout duel/shared, and now it is duel/classic"):
        duel(layout="classic")


def test_scores_and_duels_do_not_mix_in_one_file(server: JudgeServer, duel: Duel, tmp_path: Path) -> None:
    judge_by(server, honest)
    duel()
    again: dict[str, Any] = {"rubrics": "coherence", "judge": "openai/judge-1", "base_url": server.base_url}
    with pytest.raises(StoreError, match="holds duels, and now scores are asked for"):
        package.evaluate(RECORDS, out=tmp_path / "duel.db", **again)
    package.evaluate(RECORDS, rubrics="fluency", judge="baseline/length", out=tmp_path / "run.db")
    with pytest.raises(StoreError, match="holds scores, and now duels are asked for"):
        duel(out=tmp_path / "run.db")


def test_duels_are_not_shown_as_scores(server: JudgeServer, duel: Duel, tmp_path: Path) -> None:
    judge_by(server, honest)
    duel()
    with pytest.raises(StoreError, match="holds duels, which are no scores of a system"):
        package.show(tmp_path / "duel.db")


@pytest.mark.parametrize("judge", ["openai/judge-1", "baseline/length"])
def test_the_export_says_that_it_is_a_duel(server: JudgeServer, duel: Duel, tmp_path: Path, judge: str) -> None:
    judge_by(server, honest)
    duel(judge=judge)
    to = tmp_path / "all.jsonl"
    assert package.export(tmp_path / "duel.db", to) == 20
    rows = [json.loads(line) for line in to.read_text("utf-8").splitlines()]
    assert {row["system"] for row in rows} == {"a vs b", "b vs a"}
    assert {row["score"] for row in rows} <= {1.0, 3.0, 5.0}
    assert all("|duel/" in row["signature"] for row in rows)


@pytest.mark.parametrize("option", [{"human": "ratings.csv"}, {"long": "extract"}])
def test_what_is_of_one_summary_alone_is_refused(duel: Duel, option: dict[str, Any]) -> None:
    with pytest.raises(SetupError, match=f"--{next(iter(option))}"):
        duel(**option)


@pytest.mark.parametrize(("wins", "n"), [(0, 1), (0, 12), (3, 9), (12, 12), (31, 48)])
def test_a_win_rate_has_the_interval_that_scipy_gives(wins: int, n: int) -> None:
    theirs = binomtest(wins, n).proportion_ci(method="wilson")
    ours = wilson(wins, n, 2)
    assert (ours.value, ours.n, ours.n_unscored) == (wins / n, n, 2)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_no_duel_has_no_win_rate() -> None:
    assert wilson(0, 0, 3).value is None


def test_both_orders_are_shown_the_same_sample_of_long_material() -> None:
    """One summary is long and one is short; what is left for the reviews must not depend on which comes first."""
    judge = make_judge("openai/judge-1", Settings(base_url="http://127.0.0.1:1/v1"))
    judge.context = 6000
    reviews = [f"Review {n} says this and that. " + "more " * 30 for n in range(300)]
    record = {"id": "p1", "summaries": {"a": "Long. " + "word " * 900, "b": "Short."}, "reviews": reviews}
    pairs = PairedDataset(Dataset([record]), ["a", "b"])
    pairs.check(())
    (sheet,) = duel_sheets((builtin()["faithfulness"],), None, None, otherwise="classic")
    one, other = (fit(judge, sheet, pair, "sample", Sampling()).prompt.user for pair in pairs)
    shown = re.findall(r"Review (\d+) says", one)
    assert shown == re.findall(r"Review (\d+) says", other)
    assert 0 < len(shown) < 300
