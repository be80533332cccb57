"""`compare`: two systems on the same sources, judged by a real server, from the run file to the words."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jurybox as package
from conftest import Command, Evaluate, WriteItems, item
from jurybox.api.comparing import compare
from jurybox.errors import SetupError, StoreError
from jurybox.report.compare import Comparison, PairComparison
from jurybox.report.compare_text import comparison_text
from jurybox.report.jury import JuryCombine
from jurybox.stats import holm, paired_difference, sign_flip_test
from server import Answer, Plan, Request, completion

# Scores by system and source; None cannot be read, a source beyond the end has no summary by that system.
Table = Mapping[str, Sequence[int | None]]
BASE, REVISED = [2, 3, 1, 3, 2, 4, 2, 3, 2, 1], [4, 4, 3, 4, 4, 5, 4, 4, 3, 3]


def scoring(table: Table) -> Plan:
    """A server that gives system number k's summary of source i the score of the table; its mark is 100 k + i."""

    def plan(request: Request) -> Answer:
        system, source = divmod(request.item, 100)
        score = list(table.values())[system][source]
        return completion("I cannot say." if score is None else f"<score>{score}</score>")

    return plan


def judged(evaluate: Evaluate, write_items: WriteItems, table: Table, **more: Any) -> Path:
    evaluate.server.plan = scoring(table)
    records = [
        item(100 * number + source, id=f"p{source}", system=system)
        for number, (system, scores) in enumerate(table.items())
        for source in range(len(scores))
    ]
    evaluate(write_items(records), reasks=0, **more)
    return evaluate.out


def only(found: Comparison, rubric: str = "fluency") -> PairComparison:
    (pair,) = found.rubrics[rubric].pairs
    return pair


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.strip().startswith("jurybox|")]


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def test_two_systems_are_compared_source_by_source(evaluate: Evaluate, write_items: WriteItems) -> None:
    run = judged(evaluate, write_items, {"base": BASE, "revised": REVISED})
    pair = only(compare(run, "revised", "base"))
    assert pair.difference == paired_difference(REVISED, BASE)
    assert pair.difference.value == pytest.approx(1.5)
    assert pair.p == sign_flip_test(REVISED, BASE)
    assert pair.p.value == 2 / 2**10
    assert pair.means == (3.8, 2.3)
    assert pair.superiority.value == 1.0
    assert pair.conclusion == "first is higher"
    assert [pair.low, pair.high] == pytest.approx([1.5, 1.5])
    assert (pair.holds, pair.missing) == (True, 0)
    told = words(comparison_text(compare(run, "revised", "base")))
    assert "revised scores higher than base on fluency by 1.50 (" in told
    assert "p = 0.002." in told


def test_turning_the_pair_round_turns_the_words_round(evaluate: Evaluate, write_items: WriteItems) -> None:
    run = judged(evaluate, write_items, {"base": BASE, "revised": REVISED})
    found = compare(run, "base", "revised")
    assert only(found).conclusion == "second is higher"
    assert only(found).difference.value == pytest.approx(-1.5)
    ahead = only(compare(run, "revised", "base")).difference
    size = f"1.50 ({ahead.low:.2f} to {ahead.high:.2f})"
    assert f"base scores lower than revised on fluency by {size}" in words(comparison_text(found))


def test_sources_are_matched_by_id_whatever_their_order(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate.server.plan = scoring({"a": [1, 2, 5], "b": [2, 3, 5]})
    records = [item(source, id=f"p{source}", system="a") for source in (0, 1, 2)]
    records += [item(100 + source, id=f"p{source}", system="b") for source in (2, 0, 1)]
    evaluate(write_items(records))
    assert only(compare(evaluate.out, "a", "b")).difference.value == pytest.approx(-2 / 3)


def test_holm_is_over_every_rubric_and_pair_that_is_shown(evaluate: Evaluate, write_items: WriteItems) -> None:
    table = {"a": [1, 2, 3, 2, 1, 2, 3, 1], "b": [2, 3, 4, 2, 2, 4, 3, 2], "c": [5, 5, 4, 4, 5, 5, 4, 5]}
    run = judged(evaluate, write_items, table, rubrics=["fluency", "coherence"])
    found = compare(run)
    assert found.tests == 6
    assert [(pair.first, pair.second) for pair in found.rubrics["fluency"].pairs] == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    ]
    pairs = [pair for rubric in found.rubrics.values() for pair in rubric.pairs]
    assert [pair.p_holm for pair in pairs] == holm([pair.p.value for pair in pairs])
    alone = only(compare(run, "a", "b", rubrics="fluency"))
    assert alone.p_holm == alone.p.value
    assert "coherence" in found.signature
    assert "coherence" not in compare(run, "a", "b", rubrics="fluency").signature
    assert (alone.p_holm or 1) < (pairs[0].p_holm or 0)
    assert (alone.detectable or 9) < (pairs[0].detectable or 0), "what can be shown is for the corrected level"


def test_sources_too_few_for_the_correction_are_told_what_to_do(evaluate: Evaluate, write_items: WriteItems) -> None:
    """Seven sources reach p = 2 / 2^7 at best, and six tests ask for 0.05 / 6."""
    table = {"a": [1, 2, 1, 2, 1, 2, 1], "b": [4, 3, 4, 3, 4, 4, 4], "c": [5, 5, 5, 5, 5, 5, 5]}
    found = compare(judged(evaluate, write_items, table, rubrics=["fluency", "coherence"]))
    assert all(pair.detectable is None for pair in found.rubrics["fluency"].pairs)
    told = words(comparison_text(found))
    assert "Too few sources for so many tests: the smallest p that 7 can give is 0.016, and the correction" in told
    assert "It takes 8 sources or more" in told


def test_unscored_sources_are_counted_and_bounded(evaluate: Evaluate, write_items: WriteItems) -> None:
    """Six wins by 2, six by 1, and one source that base has no score for: 4 - 5 or 4 - 1 on it."""
    table: Table = {"base": [2] * 6 + [3] * 6 + [None], "revised": [4] * 6 + [4] * 6 + [4]}
    pair = only(compare(judged(evaluate, write_items, table), "revised", "base"))
    assert (pair.difference.n, pair.difference.n_unscored) == (12, 1)
    assert pair.difference.value == pytest.approx(1.5)
    assert [pair.low, pair.high] == pytest.approx([(18 + 4 - 5) / 13, (18 + 4 - 1) / 13])
    assert pair.holds is True
    told = words(comparison_text(compare(evaluate.out, "revised", "base")))
    assert "Unscored on one side or both: 1 source. Were they all 1 or 5, the difference would lie from +1.31" in told
    assert "the conclusion stands" in told


def test_a_conclusion_that_unscored_sources_could_change_says_so(evaluate: Evaluate, write_items: WriteItems) -> None:
    table = {"base": [3, 3, 3, 3, 3, 2, None, None, None], "revised": [4, 4, 4, 4, 4, 5, 1, 2, None]}
    run = judged(evaluate, write_items, table)
    pair = only(compare(run, "revised", "base"))
    assert pair.p.value == 2 / 2**6
    assert pair.conclusion == "first is higher"
    assert pair.holds is False
    assert "the conclusion could change, at one end a difference would no longer be shown." in words(
        comparison_text(compare(run, "revised", "base"))
    )
    turned = only(compare(run, "base", "revised"))
    assert [turned.low, turned.high] == pytest.approx([-(pair.high or 0), -(pair.low or 0)])


def test_no_difference_that_the_unscored_could_make_is_not_said_to_hold(
    evaluate: Evaluate, write_items: WriteItems
) -> None:
    table: Table = {"a": [3, 2, 4, 3, 4, 3, *[None] * 10], "b": [3, 3, 3, 3, 4, 3, *[1] * 10]}
    pair = only(compare(judged(evaluate, write_items, table), "a", "b"))
    assert pair.conclusion == "no difference shown"
    assert pair.holds is False
    assert "at one end a difference would be shown." in words(comparison_text(compare(evaluate.out, "a", "b")))


def test_a_source_that_only_one_system_has_is_counted_apart(evaluate: Evaluate, write_items: WriteItems) -> None:
    run = judged(evaluate, write_items, {"a": [3, 4, 5, 2], "b": [2, 4]})
    pair = only(compare(run, "a", "b"))
    assert (pair.difference.n, pair.difference.n_unscored, pair.missing) == (2, 0, 2)
    assert "only one of the two was judged there: 2 sources" in words(comparison_text(compare(run, "a", "b")))


def test_too_few_sources_are_undefined_and_not_among_the_tests(evaluate: Evaluate, write_items: WriteItems) -> None:
    run = judged(evaluate, write_items, {"a": [3, None, 4], "b": [2, 3, None]})
    found = compare(run, "a", "b")
    pair = only(found)
    assert found.tests == 0
    assert (pair.difference.value, pair.p.value, pair.p_holm, pair.d_z, pair.detectable) == (None,) * 5
    assert pair.conclusion == "undefined"
    assert pair.difference.method == "undefined: only one source has a score of both"
    told = words(comparison_text(found))
    assert "Nothing can be said of a and b on fluency: only one source has a score of both." in told
    assert "Unscored on one side or both: 2 sources." in told
    json.dumps(found.as_dict(), allow_nan=False)


def test_systems_that_score_alike_everywhere_are_told_without_nan(evaluate: Evaluate, write_items: WriteItems) -> None:
    run = judged(evaluate, write_items, {"a": [3, 4, 5, 2] * 3, "b": [3, 4, 5, 2] * 3})
    found = compare(run, "a", "b", difference=0.5)
    pair = only(found)
    assert (pair.difference.value, pair.p.value, pair.d_z, pair.n_needed) == (0.0, 1.0, None, None)
    assert pair.difference.low is not None
    assert pair.difference.low < 0
    told = words(comparison_text(found))
    assert "No difference between a and b is shown on fluency, p = 1.00; the differences have no spread" in told
    assert "nan" not in told.lower()
    json.dumps(found.as_dict(), allow_nan=False)


def test_a_named_difference_is_planned_for_instead_of_the_one_seen(evaluate: Evaluate, write_items: WriteItems) -> None:
    run = judged(evaluate, write_items, {"base": BASE, "revised": REVISED})
    seen, named = only(compare(run, "base", "revised")), only(compare(run, "base", "revised", difference=0.2))
    assert [seen.aim, named.aim] == pytest.approx([1.5, 0.2])
    assert (named.n_needed or 0) > 50 > (seen.n_needed or 99)
    told = words(comparison_text(compare(run, "base", "revised", difference=0.2)))
    assert f"To show 0.20 takes {named.n_needed} sources." in told


@pytest.mark.parametrize("difference", [0.0, -1.0, 4.5])
def test_a_difference_off_the_scale_is_refused(evaluate: Evaluate, write_items: WriteItems, difference: float) -> None:
    run = judged(evaluate, write_items, {"a": [3, 4], "b": [2, 3]})
    with pytest.raises(SetupError, match=r"--difference .*: should be above 0 and at most 4"):
        compare(run, "a", "b", difference=difference)


def test_the_jury_is_compared_by_its_combined_scores(evaluate: Evaluate, write_items: WriteItems) -> None:
    """Where one judge has no score the jury has none; `judge` asks for one judge alone."""
    given: Mapping[str, Table] = {
        "x": {"a": [1, 2, 3, 3], "b": [2, 2, 4, 5]},
        "y": {"a": [3, 4, 5, 5], "b": [5, 5, 5, None]},
    }
    plans = {model: scoring(table) for model, table in given.items()}
    evaluate.server.plan = lambda request: plans[request.body["model"]](request)
    records = [item(100 * k + n, id=f"p{n}", system="ab"[k]) for k in (0, 1) for n in range(4)]
    evaluate(write_items(records), judge=["openai/x", "openai/y", "baseline/length"], reasks=0)
    jury = compare(evaluate.out, "a", "b")
    assert jury.judge == "jury(mean: openai/x + openai/y)"
    assert only(jury).difference == paired_difference([2, 3, 4, np.nan], [3.5, 3.5, 4.5, np.nan])
    alone = compare(evaluate.out, "a", "b", judge="openai/x")
    assert only(alone).difference == paired_difference([1, 2, 3, 3], [2, 2, 4, 5])
    assert "|openai/x|" in alone.signature
    assert "|jury(mean: openai/x + openai/y)|" in str(jury.rubrics["fluency"].signature)
    shown = package.show(evaluate.out).main.systems["a"]["fluency"]
    assert shown.value == pytest.approx(np.mean([2, 3, 4, 4]))


def test_samples_are_combined_as_asked(evaluate: Evaluate, write_items: WriteItems) -> None:
    asked: Counter[int] = Counter()

    def plan(request: Request) -> Answer:
        asked[request.item] += 1
        return completion(f"<score>{2 if request.item >= 100 else (1, 2, 5)[asked[request.item] - 1]}</score>")

    evaluate.server.plan = plan
    records = [item(100 * k + n, id=f"p{n}", system="ab"[k]) for k in (0, 1) for n in range(2)]
    evaluate(write_items(records), samples=3, temperature=0.0, cache=False)
    assert only(compare(evaluate.out, "a", "b")).difference.value == pytest.approx(8 / 3 - 2)
    middle = compare(evaluate.out, "a", "b", combine="median")
    assert only(middle).difference.value == pytest.approx(0)
    assert "|median|" in middle.signature


def test_names_that_are_not_there_are_refused_with_the_nearest(evaluate: Evaluate, write_items: WriteItems) -> None:
    run = judged(evaluate, write_items, {"base": [3, 4], "revised": [2, 3]})
    with pytest.raises(SetupError, match=r"unknown system 'revized'\. Did you mean 'revised'\? Available: base, rev"):
        compare(run, "base", "revized")
    with pytest.raises(SetupError, match=r"unknown rubric 'fluensy'\. Did you mean 'fluency'"):
        compare(run, "base", "revised", rubrics=["fluensy"])
    with pytest.raises(SetupError, match=r"unknown judge 'openai/judge-2'\. Did you mean 'openai/judge-1'"):
        compare(run, "base", "revised", judge="openai/judge-2")
    with pytest.raises(SetupError, match="a system is named twice: base, base"):
        compare(run, "base", "base")
    with pytest.raises(SetupError, match="takes two systems; only base is named"):
        compare(run, "base")
    with pytest.raises(SetupError, match="combine"):
        compare(run, "base", "revised", combine="max")  # type: ignore[arg-type]


def test_a_run_of_one_system_has_nothing_to_compare(evaluate: Evaluate, write_items: WriteItems) -> None:
    run = judged(evaluate, write_items, {"base": [3, 4]})
    with pytest.raises(SetupError, match=r"run\.db: it has base alone"):
        compare(run)


def test_a_file_of_duels_is_refused(evaluate: Evaluate, write_items: WriteItems, tmp_path: Path) -> None:
    evaluate.server.always(completion("<choice>1</choice>"))
    record = {**item(1), "summaries": {"a": "One. [[item 1]]", "b": "Two. [[item 1]]"}}
    del record["system"], record["summary"]
    out = tmp_path / "d.db"
    package.duel(
        write_items([record]),
        ["a", "b"],
        rubrics="fluency",
        judge="openai/judge-1",
        base_url=evaluate.server.base_url,
        out=out,
    )
    with pytest.raises(StoreError, match=r"d\.db: holds duels"):
        compare(out, "a", "b")


def test_an_unfinished_run_says_so(evaluate: Evaluate, write_items: WriteItems) -> None:
    run = judged(evaluate, write_items, {"base": BASE, "revised": REVISED})
    connection = sqlite3.connect(run)
    connection.execute("DELETE FROM judgments WHERE item = (SELECT MAX(item) FROM items)")
    connection.commit()
    connection.close()
    found = compare(run, "base", "revised")
    assert (found.unfinished, only(found).missing, only(found).difference.n) == (1, 1, 9)
    assert "Unfinished: 1 judgment" in comparison_text(found)


@pytest.mark.parametrize(
    "name", ["s{}", "gpt-4o-mini-{}", "meta-llama/Llama-3.1-405B-Instruct-with-a-prompt-of-ours-{}"]
)
@pytest.mark.parametrize("count", [2, 4])
def test_the_text_fits_80_columns_and_names_every_pair(
    evaluate: Evaluate, write_items: WriteItems, name: str, count: int
) -> None:
    rng = np.random.default_rng(count)
    table: dict[str, list[int | None]] = {
        name.format(k): [*(int(score) for score in rng.integers(1, 6, 20)), None] for k in range(count)
    }
    run = judged(evaluate, write_items, table, rubrics=["fluency", "sentiment_consistency"])
    found = compare(run)
    text = comparison_text(found)
    assert max(map(len, lines(text))) <= 80
    for pair in found.rubrics["fluency"].pairs:
        joined = f"{pair.first} - {pair.second}" if count > 2 else f"{pair.first} and {pair.second}"
        assert joined.replace(" ", "") in re.sub(r"\s", "", text)
    assert len(re.findall(r"\b20 -1\b", text)) == (12 if count == 4 else 0)


def test_the_command_prints_words_or_one_document(
    evaluate: Evaluate, write_items: WriteItems, jurybox: Command
) -> None:
    run = judged(evaluate, write_items, {"base": BASE, "revised": REVISED, "third": BASE})
    text = jurybox("compare", run, "revised", "base")
    assert (text.returncode, text.stderr) == (0, "")
    assert "revised scores higher than base on fluency by 1.50" in text.stdout
    done = jurybox("compare", run, "--all", "--json", "--difference", "0.3")
    document = json.loads(done.stdout)
    assert (document["tests"], document["correction"], document["judge"]) == (3, "holm", "openai/judge-1")
    assert document["signature"].startswith("jurybox|fluency@1:")
    pairs = document["rubrics"]["fluency"]["pairs"]
    assert [(pair["first"], pair["second"]) for pair in pairs] == [
        ("base", "revised"),
        ("base", "third"),
        ("revised", "third"),
    ]
    assert pairs[0]["difference"]["value"] == pytest.approx(-1.5)
    assert {"value", "low", "high", "n", "n_unscored", "method", "seed"} == set(pairs[0]["difference"])
    assert {"p", "p_holm", "effect", "bounds", "detectable", "n_needed"} <= set(pairs[0])
    assert pairs[0]["n_needed_for"] == 0.3
    assert set(pairs[0]["bounds"]) == {"low", "high", "conclusion_holds"}


@pytest.mark.parametrize("more", [[], ["base", "revised", "--all"]])
def test_the_command_wants_systems_or_all_of_them(
    evaluate: Evaluate, write_items: WriteItems, jurybox: Command, more: list[str]
) -> None:
    run = judged(evaluate, write_items, {"base": [3, 4], "revised": [2, 3]})
    done = jurybox("compare", run, *more)
    assert done.returncode == 2
    assert "name two systems or more, or say --all" in done.stderr


@pytest.mark.parametrize("jury", ["mean", "median", "learned"])
def test_means_are_those_of_the_jury_that_show_prints(
    evaluate: Evaluate, write_items: WriteItems, jury: JuryCombine
) -> None:
    rng = np.random.default_rng(7)
    given = {model: {s: rng.integers(1, 6, 12).tolist() for s in "ab"} for model in "xyz"}
    plans = {model: scoring(table) for model, table in given.items()}
    evaluate.server.plan = lambda request: plans[request.body["model"]](request)
    records = [
        item(100 * k + n, id=f"p{n}", system="ab"[k], human={"fluency": [int(rng.integers(1, 6))]})
        for k in (0, 1)
        for n in range(12)
    ]
    evaluate(write_items(records), judge=["openai/x", "openai/y", "openai/z"])
    shown = package.show(evaluate.out, jury=jury).main
    found = compare(evaluate.out, "a", "b", jury=jury)
    assert found.judge == shown.judge
    assert list(only(found).means) == pytest.approx([shown.systems[system]["fluency"].value for system in "ab"])
    assert only(found).difference.n == 12


def test_a_run_without_judgments_has_nothing_to_compare(evaluate: Evaluate, write_items: WriteItems) -> None:
    run = judged(evaluate, write_items, {"base": [3], "revised": [4]})
    connection = sqlite3.connect(run)
    connection.execute("DELETE FROM judgments")
    connection.commit()
    connection.close()
    with pytest.raises(SetupError, match="nothing has been judged yet"):
        compare(run)
