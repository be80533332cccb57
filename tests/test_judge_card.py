"""The judge card: says what the figures say, says what is missing, and lets nothing from outside run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import jurybox as package
from cards import EXAMPLES, LENGTH, ROUGE, RUBRICS, crash_tested, rated_run, with_hostile_names
from conftest import Command
from jurybox import SetupError, StoreError
from jurybox.report.html.card_grids import cell, high, low
from jurybox.report.html.card_words import cost_facts, headline
from jurybox.types import Estimate
from pages import HOSTILE, Element, parsed

SECTIONS = ("glance", "judge", "people", "damage", "harmless", "attacks", "stability", "cost", "limits", "signatures")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cards")


@pytest.fixture(scope="module")
def rouge(folder: Path) -> Any:
    return crash_tested(folder)


@pytest.fixture(scope="module")
def page(rouge: Any, folder: Path) -> Element:
    return parsed(package.judge_card(rouge, folder / "plain.html").read_text("utf-8"))


@pytest.fixture(scope="module")
def rated(folder: Path) -> package.Run:
    return rated_run(folder)


@pytest.fixture(scope="module")
def agreed(rouge: Any, rated: package.Run, folder: Path) -> Element:
    return parsed(package.judge_card(rouge, folder / "agreed.html", runs=[rated]).read_text("utf-8"))


def test_every_part_of_a_card_is_there_and_can_be_reached(page: Element) -> None:
    for section in SECTIONS:
        assert page.by_id(section).all("h2")
    assert [link.attributes["href"] for link in page.one("nav").all("a")] == [f"#{section}" for section in SECTIONS]
    assert page.one("h1").text == ROUGE


def test_figures_are_those_of_stress_with_n_and_interval(page: Element, rouge: Any) -> None:
    found = rouge.main.rubrics["faithfulness"]
    (row,) = [row for row in page.by_id("glance").all("tr") if row.all("th")[0].text == "Faithfulness"]
    shown = [one.text for one in row.all(css="value")]
    order = ("discrimination", "detection", "false_alarms", "attacks", "spilled", "dose_response")
    assert shown == [f"{getattr(found, name).value:z.2f}".replace("-", "−") for name in order]
    assert f"n\xa0{found.detection.n}" in row.text
    assert row.one("td", "grade").text == found.grade.word
    assert row.all("td")[-1].text == "unknown"
    assert found.grade.sentence in page.by_id("glance").text


def test_the_matrix_is_coloured_by_what_is_right_and_prints_the_share(page: Element, rouge: Any) -> None:
    """A kind that must fall and never does is as wrong as one that must stay and always falls."""
    matrix = rouge.main.rubrics["faithfulness"].matrix
    rows = {row.one("th").text: row for row in page.by_id("damage").one("tbody").all("tr")}
    assert set(rows) == {kind.replace("_", " ") for kind in rouge.main.selectivity()}
    for kind, (claim, effect) in matrix.items():
        first = rows[kind.replace("_", " ")].all("td")[0]
        share = effect.rate.value
        right = {"hurts": share, "spares": 1 - share, "open": None}[claim]
        assert first.one(css="value").text == f"{share:.2f}"
        assert ("hx" if right is None else f"h{round(16 * right)}") in first.classes
        told = {"hurts": "must fall", "spares": "must stay"}.get(claim)
        assert told is None or told in first.text
    assert {claim for claim, _ in matrix.values()} >= {"hurts", "spares"}


def test_colour_is_only_given_to_what_is_known() -> None:
    some = Estimate(0.25, 0.1, 0.4, 20, 0, "share")
    none = Estimate(None, None, None, 0, 3, "undefined: nothing was scored")
    assert [cell(some, high).step, cell(some, low).step, cell(some).step] == ["h4", "h12", ""]
    assert cell(none, high).step == ""
    assert cell(Estimate(-0.4, -1, 0, 9, 0, "less"), high).step == "h0"


def test_what_is_missing_is_said(page: Element, folder: Path, tmp_path: Path) -> None:
    assert "No human ratings given: agreement with people" in page.by_id("people").text
    assert "unknown without a run" in page.by_id("stability").text
    assert "Nothing here says that people would agree" in page.by_id("limits").text
    bare = crash_tested(tmp_path, LENGTH, rubrics="fluency", attacks=False, kinds="break_grammar", items=2)
    shown = parsed(package.judge_card(bare, tmp_path / "bare.html").read_text("utf-8"))
    assert "No attacks were made" in shown.by_id("attacks").text
    assert "Few sources (2)" in shown.by_id("limits").text
    again = parsed(package.judge_card(folder / "baseline-rouge.stress.db", tmp_path / "db.html").read_text("utf-8"))
    assert "is not kept in the run file" in again.by_id("limits").text


def test_people_ceiling_and_trivial_judges_come_from_a_run(agreed: Element, rated: package.Run) -> None:
    found = package.agree(rated, judge=ROUGE)
    people = agreed.by_id("people")
    heads = [head.text for head in people.one("thead").all("th")]
    for head in ("Judge", "People among themselves", "Word count"):
        assert any(told.startswith(head) for told in heads), head
    values = [one.text for one in people.one("tbody").all("tr")[0].all(css="value")]
    first = found.rubrics["faithfulness"]
    assert first.headline.value is not None
    assert first.ceiling.value is not None
    assert values[:2] == [f"{first.headline.value:.2f}", f"{first.ceiling.value:.2f}"]
    stability = agreed.by_id("stability").text
    assert "one sample an item" in stability
    assert "Leniency" in stability
    assert "No human ratings given" not in agreed.text
    (row,) = [row for row in agreed.by_id("glance").all("tr") if row.all("th")[0].text == "Faithfulness"]
    assert row.all(css="value")[-1].text == values[0]


def test_a_run_that_cannot_tell_is_named(rouge: Any, rated: package.Run, tmp_path: Path) -> None:
    other = package.evaluate(
        str(EXAMPLES), rubrics="fluency", judge=[ROUGE, LENGTH], out=tmp_path / "unrated.db", cache=False
    )
    shown = parsed(package.judge_card(rouge, tmp_path / "x.html", runs=[other]).read_text("utf-8"))
    assert "Agreement with people is unknown" in shown.by_id("people").text
    assert "holds no human ratings" in shown.by_id("people").text
    length = crash_tested(tmp_path, LENGTH, rubrics="fluency", items=2)
    shown = parsed(package.judge_card(length, tmp_path / "y.html", runs=[rated]).read_text("utf-8"))
    assert f"holds no judgments by {LENGTH}" in shown.by_id("people").text


def test_the_same_card_from_memory_and_from_json(rouge: Any, tmp_path: Path) -> None:
    (tmp_path / "rouge.json").write_text(json.dumps(rouge.as_dict()), "utf-8")
    pages = [
        package.judge_card(tested, tmp_path / "a.html").read_bytes() for tested in (rouge, tmp_path / "rouge.json")
    ]
    assert pages[0] == pages[1]


def test_judges_stand_side_by_side_with_the_same_rows(rouge: Any, tmp_path: Path) -> None:
    length = crash_tested(tmp_path, LENGTH, rubrics="fluency", attacks=False)
    out = package.judge_card([rouge, length], tmp_path / "two.html")
    page = parsed(out.read_text("utf-8"))
    assert page.one("h1").text == f"{ROUGE} and {LENGTH}"
    first, second = page.by_id("damage").all("table")
    assert [row.one("th").text for row in first.one("tbody").all("tr")] == [
        row.one("th").text for row in second.one("tbody").all("tr")
    ]
    groups = [one.text for one in page.by_id("glance").all("th", "group")]
    assert groups == ["Faithfulness", "Fluency", "Aspect coverage"]
    assert "Not like for like" in page.text, "the second judge was spared the attacks"


def test_the_same_exam_is_like_for_like(tmp_path: Path) -> None:
    both = crash_tested(tmp_path, [LENGTH, ROUGE], rubrics="fluency", items=2)
    shown = parsed(package.judge_card(both, tmp_path / "two.html").read_text("utf-8"))
    assert shown.one("h1").text == f"{LENGTH} and {ROUGE}"
    assert "Not like for like" not in shown.text


def test_nothing_scored_is_shown_as_such(tmp_path: Path) -> None:
    """`baseline/system` has no ratings to go by."""
    nothing = crash_tested(tmp_path, "baseline/system", rubrics="fluency", items=2)
    shown = parsed(package.judge_card(nothing, tmp_path / "x.html").read_text("utf-8"))
    assert "no grade (nothing was scored)" in shown.by_id("glance").text
    assert f"{nothing.unscored} judgments have no score" in shown.by_id("limits").text
    assert not [one for one in shown.by_id("damage").one("tbody").all("td") if one.classes & {"h0", "h16"}]


def test_text_from_outside_is_text_and_nothing_is_loaded(tmp_path: Path) -> None:
    raw = with_hostile_names(tmp_path).read_text("utf-8")
    page = parsed(raw)
    assert HOSTILE in page.text
    assert len(page.all("script")) == 1
    assert page.all("img") == []
    assert page.all("link") == []
    (policy,) = [one for one in page.all("meta") if one.attributes.get("http-equiv") == "Content-Security-Policy"]
    assert policy.attributes["content"].startswith("default-src 'none'")
    for element in page.all():
        assert "style" not in element.attributes
        for name in ("src", "href", "action", "data"):
            assert element.attributes.get(name, "#").startswith("#")


def test_the_headline_counts_when_names_are_too_many() -> None:
    words = {"a_b": "good", "c": "weak, unsteady", "d": "weak", "e": "weak", "f": "weak, open to attack"}
    rubrics = {rubric: {"grade": {"word": word}} for rubric, word in words.items()}
    assert headline({"rubrics": rubrics}) == "Good on a b; weak on 4 of 5 rubrics. Unsteady on c; open to attack on f."


def test_cost_and_speed_are_told_or_said_to_be_unknown() -> None:
    spent = {"calls": 200, "reused": 0, "tokens_in": 100_000, "tokens_out": 400, "seconds_a_call": 0.5, "cost": 0.3}
    told = {fact.label: fact.text for fact in cost_facts({"spent": spent}, {})}
    assert told["Tokens a call"] == "500 in, 2 out"
    assert told["Cost"] == "$0.30, $1.500 for 1,000 calls"
    assert told["Seconds to answer"].startswith("0.50")
    unpriced = {fact.label: fact.text for fact in cost_facts({"spent": {**spent, "cost": None}}, {})}
    assert unpriced["Cost"].startswith("unknown")
    reused = {fact.label: fact.text for fact in cost_facts({"spent": {**spent, "calls": 0, "reused": 200}}, {})}
    assert reused["Cost and speed"] == "unknown: nothing was asked anew"
    assert "unknown" in cost_facts({}, {})[0].text


@pytest.mark.parametrize("text", ["[]", "{", "{}", '{"rubrics": {}}', '{"rubrics": {"fluency": {"detection": {}}}}'])
def test_a_wrong_document_is_one_clear_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(SetupError, match=r"s\.json: is n"):
        package.judge_card(tmp_path / "s.json", tmp_path / "x.html")


def test_a_card_that_cannot_be_written_is_refused_before_anything_is_asked(jurybox: Command, tmp_path: Path) -> None:
    for place, told in (
        (".", "is a folder"),
        ("nowhere/card.html", "there is no folder nowhere"),
        ("x.db", "is an HTML page"),
    ):
        done = jurybox("stress", EXAMPLES, "--rubrics", "fluency", "--judge", LENGTH, "--card", place)
        assert done.returncode == 2
        assert told in done.stderr
        assert "calls to make" not in done.stderr
    with pytest.raises(StoreError, match="there is no such"):
        package.judge_card(tmp_path / "absent.stress.db", tmp_path / "x.html")


WORDS = ("--rubrics", RUBRICS, "--system", "careful", "--items", 2, "--no-attacks", "--kinds", "truncate,invent")


def test_the_command_writes_a_card_and_can_do_so_later(jurybox: Command, tmp_path: Path) -> None:
    done = jurybox("stress", EXAMPLES, *WORDS, "--judge", LENGTH, "--out", "a.db", "--card", "a.html", "--json")
    assert done.returncode == 0, done.stderr
    assert "Judge card, for a browser: a.html" in done.stderr
    (tmp_path / "a.json").write_text(done.stdout, "utf-8")
    assert json.loads(done.stdout)["judge"] == LENGTH
    done = jurybox("stress", "--from", "a.db", "--card", "later.html", "--fail-under", "detection=1")
    assert done.returncode == 1
    assert "calls to make" not in done.stderr
    assert f"Judge {LENGTH}" in done.stdout
    matrices = [parsed((tmp_path / name).read_text("utf-8")).by_id("damage").text for name in ("a.html", "later.html")]
    assert matrices[0] == matrices[1]
    done = jurybox("stress", EXAMPLES, *WORDS, "--judge", ROUGE, "--out", "b.db", "--json")
    (tmp_path / "b.json").write_text(done.stdout, "utf-8")
    done = jurybox("stress", "--compare", "a.json", "b.json", "--card", "both.html")
    assert done.returncode == 0, done.stderr
    assert parsed((tmp_path / "both.html").read_text("utf-8")).one("h1").text == f"{LENGTH} and {ROUGE}"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--agree", "x.db"), "--agree is for the card"),
        (("--from", "x.db", str(EXAMPLES)), "exclude each other"),
        (("--from", "x.db", "--compare", "a", "b"), "exclude each other"),
        (("--from", "absent.db"), "there is no such"),
        ((str(EXAMPLES), "--plan", "--card", "c.html"), "--plan asks nothing"),
        (("--from", "absent.db", "--card", "c.html", "--agree", "gone.db"), "gone.db"),
    ],
)
def test_wrong_use_is_one_message(jurybox: Command, words: tuple[str, ...], told: str) -> None:
    done = jurybox("stress", *words)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
