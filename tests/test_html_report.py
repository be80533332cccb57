"""The page of a run is one file that says what the run says, cannot be made to run anything, and reads well."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jurybox as package
from conftest import Command, Evaluate, WriteItems
from duelling import RECORDS, honest, judge_by
from jurybox.api import judging, looking, reporting
from jurybox.errors import SetupError, StoreError
from jurybox.report.html import report_html
from jurybox.report.html.failures import failed
from jurybox.report.html.figures import bars, chance_text, number_text, step_of
from jurybox.report.html.page import gather
from jurybox.report.html.passages import pieces, reason_pieces
from jurybox.report.html.rendering import text_of
from jurybox.rubrics import builtin
from jurybox.stats.letters import letter_groups
from jurybox.store import RunReader
from jurybox.types import Quote
from pages import HOSTILE, Element, parsed, record, scoring
from server import Answer, JudgeServer, Request, completion, error

A, B = "openai/a", "openai/b"
FIVE: list[int | None] = [1, 2, 3, 4, 5]


def page_of(run: Path | looking.Run, **options: Any) -> Element:
    with RunReader(run.path if isinstance(run, looking.Run) else run) as reader:
        return parsed(report_html(reader, **options))


@pytest.fixture
def simple(evaluate: Evaluate, write_items: WriteItems) -> looking.Run:
    """Two systems, five sources, one judge; the second system has an answer that cannot be read."""
    evaluate.server.plan = scoring({"a": [*FIVE, 5, 5, 4, 4, None]})
    records = [record(n, "base") for n in range(5)]
    records += [{**record(n + 5, "revised"), "id": f"p{n}"} for n in range(5)]
    return evaluate(write_items(records), rubrics="fluency", judge=A, reasks=0)


@pytest.fixture
def jury(evaluate: Evaluate, write_items: WriteItems) -> looking.Run:
    """One system under two judges, with human ratings of some items."""
    evaluate.server.plan = scoring({"a": [1, 2, 3, 4, 5], "b": [1, 5, 3, 3, 5]})
    records = [record(n, "base", human={"fluency": {"ann": 5 - n, "bob": 5}}) for n in range(4)] + [record(4, "base")]
    return evaluate(write_items(records), rubrics="fluency", judge=[A, B])


def test_the_page_has_every_part_in_order(simple: looking.Run) -> None:
    page = page_of(simple)
    heads = [one.text for one in page.one("main").all("h2")]
    assert heads == [
        "Scores",
        "Distributions",
        "Ranking",
        "Can it be believed?",
        "Items to read",
        "Failures",
        "Signatures",
    ]
    assert page.one("h1").text == "run.db"
    assert page.one("html").attributes["lang"] == "en"


def test_whoever_cannot_see_the_page_can_read_it(jury: looking.Run) -> None:
    """Landmarks, headings without a gap, tables with captions and scopes, charts with words, links that lead on."""
    page = page_of(jury)
    for landmark in ("header", "nav", "main", "footer"):
        assert page.all(landmark)
    levels = [int(one.tag[1]) for one in page.all() if re.fullmatch("h[1-6]", one.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for table in page.all("table"):
        assert table.one("caption").text.strip()
        assert all(head.attributes.get("scope") in ("row", "col") for head in table.all("th"))
    for chart in page.all("svg"):
        assert chart.attributes.get("aria-hidden") == "true" or chart.attributes["aria-label"]
    ids = [one.attributes["id"] for one in page.all() if "id" in one.attributes]
    assert len(set(ids)) == len(ids)
    for link in page.all("a"):
        assert link.attributes["href"].removeprefix("#") in ids
    for region in page.all(css="scroller"):
        assert region.attributes["tabindex"] == "0"
        assert region.attributes["aria-label"]


def test_every_figure_carries_its_n_and_what_was_lost(simple: looking.Run) -> None:
    found = page_of(simple).all(css="estimate")
    assert len(found) >= 4
    for one in found:
        assert re.search(r"n\s[\d,]+", one.text), one.text
        assert re.search(r"\d (unscored|left out)", one.text), one.text
    heat = page_of(simple).one("table", "heatmap").all("tr")
    assert "n\N{NO-BREAK SPACE}5, 0 unscored" in heat[1].text
    assert "n\N{NO-BREAK SPACE}4 −1 unscored" in heat[2].text


def test_a_cell_says_what_show_says(simple: looking.Run) -> None:
    estimate = simple.show().main.systems["base"]["fluency"]
    cell = page_of(simple).one("table", "heatmap").all("td")[0]
    assert cell.one(css="value").text == f"{estimate.value:.2f}"
    assert cell.one(css="range").text == f"{estimate.low:.2f}–{estimate.high:.2f}"
    assert estimate.method in cell.one(css="estimate").attributes["title"]


def test_distributions_count_every_scored_item(simple: looking.Run) -> None:
    first, second = page_of(simple).all("svg", "bars")
    assert first.attributes["aria-label"] == "1: 1, 2: 1, 3: 1, 4: 1, 5: 1"
    assert second.attributes["aria-label"] == "1: 0, 2: 0, 3: 0, 4: 2, 5: 2"
    assert len(second.all("rect")) == 2


def test_what_a_reason_quotes_is_marked_in_the_source_and_a_false_quote_is_flagged(simple: looking.Run) -> None:
    item = page_of(simple).all("details", "item")[0]
    assert {one.text for one in item.one("section", "source").all("mark")} == {"boils very fast in the morning"}
    reason = item.one(css="reason")
    assert reason.one("mark").text == "boils very fast in the morning"
    assert re.fullmatch(r"the kettle \d is made of gold", reason.one(css="absent").text)
    assert reason.one(css="flag").text == "not in the material"


def test_items_are_the_best_the_worst_and_the_most_disputed(jury: looking.Run) -> None:
    with RunReader(jury.path) as reader:
        groups = {group.name: [one.item.id for one in group.picked] for group in gather(reader, items=2).groups}
    assert groups == {
        "best": ["p4", "p1"],  # 5 and (2 + 5) / 2; p3 has the same, and was judged later
        "worst": ["p0", "p2"],
        "disputed-people": ["p0", "p1"],  # 1 against 5; then 3.5 against 4.5, as p2 and p3 are nearer
        "disputed-judges": ["p1", "p3"],
    }


def test_disputes_between_samples_are_found(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate.server.plan = lambda request: scoring({"a": [3, 1 + 4 * (request.nth % 2)]})(request)
    run = evaluate(write_items([record(0, "s"), record(1, "s")]), judge=A, samples=4, temperature=1.0)
    with RunReader(run.path) as reader:
        groups = {group.name: group for group in gather(reader).groups}
    (disputed,) = groups["disputed-samples"].picked
    assert disputed.item.id == "p1"
    assert set(disputed.item.opinions[0].scores) == {1.0, 5.0}
    assert disputed.rubric == "fluency"


def test_nothing_is_disputed_where_nobody_can_differ(simple: looking.Run) -> None:
    assert "This one has none." in page_of(simple).by_id("items").text


def test_every_failure_is_listed_with_its_reason(simple: looking.Run) -> None:
    (row,) = page_of(simple).one("table", "failures").one("tbody").all("tr")
    words = [cell.text for cell in row.children if isinstance(cell, Element)]
    assert words[:5] == ["p4", "revised", A, "refused", "fluency"]
    assert "I would rather not say." in words[5]


def test_failures_that_ended_alike_are_one_row_and_those_without_room_are_named(
    evaluate: Evaluate, write_items: WriteItems
) -> None:
    evaluate.server.always(error(400, "no such thing <here>"))
    with pytest.raises(package.JudgeRejection):
        evaluate(write_items(2), rubrics="fluency,coherence", judge=A)
    evaluate.server.plan = scoring({"a": [None] * 4})
    run = evaluate(write_items(4), rubrics="fluency,coherence", judge=A, reasks=0)
    with RunReader(run.path) as reader:
        whole, part = failed(reader), failed(reader, most=3)
    assert [(one.id, one.rubrics, one.count) for one in whole.rows] == [
        (f"p{n}", ("fluency", "coherence"), 2) for n in range(4)
    ]
    assert (whole.total, whole.more, len(part.rows), part.more) == (8, 0, 3, 1)
    (named,) = part.named
    assert (named.judge, named.status, named.rubrics, named.count) == (A, "refused", ("fluency", "coherence"), 2)
    assert [id_ for id_, _ in named.items] == ["p3"]


def test_a_run_of_nothing_but_failures_has_a_page(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate.server.plan = scoring({"a": [None] * 3})
    records = [record(n, system) for n, system in enumerate("xyx")]
    page = page_of(evaluate(write_items(records), judge=A, reasks=0))
    assert "none" in page.one("table", "heatmap").text
    assert "nan" not in page.text.lower().replace("finance", "")
    assert "Nothing was scored" in page.by_id("distributions").text
    assert "No item has a score on every rubric." in page.by_id("items").text
    assert len(page.one("table", "failures").one("tbody").all("tr")) == 3


def test_one_system_alone_has_a_page(evaluate: Evaluate, write_items: WriteItems) -> None:
    page = page_of(evaluate(write_items(3)))
    assert "nothing to compare it with" in page.by_id("ranking").text
    assert "Group" not in page.one("table", "ranking").text


def test_without_people_the_page_says_what_that_means(simple: looking.Run) -> None:
    page = page_of(simple)
    assert "no human ratings" in page.one("aside").text
    assert "no human ratings" in page.by_id("trust").text
    assert not page.all("table", "charts")


def test_with_people_trivial_judges_stand_beside_the_judge(jury: looking.Run) -> None:
    trust = page_of(jury).by_id("trust")
    heads = [one.text for one in trust.all("table", "charts")[0].all("th") if one.attributes["scope"] == "col"]
    assert [re.sub(r"[−\d.]", "", head) for head in heads] == [
        "Rubric",
        "Judge",
        "People among themselves",
        "Word count",
        "System identity",
        "ROUGE-",
    ]
    assert "Krippendorff's alpha" in trust.text


def test_a_jury_shows_its_members_too(jury: looking.Run) -> None:
    page = page_of(jury)
    assert page.one("main").all("caption")[0].text == "Jury jury(mean: openai/a + openai/b)"
    assert [one.one("summary").text for one in page.by_id("scores").all("details")] == [f"Judge {A}", f"Judge {B}"]
    opinions = page.all("details", "item")[0].all("div", "opinion")
    assert [one.one(css="judge").text for one in opinions] == [A, B]


def test_ratings_of_other_rubrics_are_told_and_do_not_stop_the_page(
    evaluate: Evaluate, write_items: WriteItems
) -> None:
    records = [record(n, "s", human={"coherence": {"ann": 3}}) for n in range(3)]
    assert "of other rubrics" in page_of(evaluate(write_items(records))).by_id("trust").text


def test_duels_have_a_page_of_their_own(server: JudgeServer, tmp_path: Path) -> None:
    judge_by(server, honest)
    out = tmp_path / "duel.db"
    package.duel(RECORDS, ("a", "b"), rubrics="fluency", judge="openai/judge-1", base_url=server.base_url, out=out)
    page = page_of(out)
    assert "no scores on the scale" in page.one("header", "masthead").text
    cells = [one.text for one in page.one("table", "figures").all("td")]
    assert cells[0] == "b"
    assert "0.30" in cells[1]
    assert cells[2:] == ["2", "2", "6", "0"]


def hostile_records() -> list[dict[str, Any]]:
    first = record(0, HOSTILE, id=HOSTILE, product_title=HOSTILE, human={"fluency": {HOSTILE: 5}})
    first["summary"] += HOSTILE
    first["reviews"] = [HOSTILE, {"text": f"boils very fast in the morning {HOSTILE}", "rating": 3}]
    first["specifications"] = {HOSTILE: HOSTILE}
    return [first, record(1, "other", human={"fluency": {"ann": 2}}), record(2, HOSTILE, id="p1")]


@pytest.fixture
def hostile(evaluate: Evaluate, write_items: WriteItems) -> looking.Run:
    """Every text that comes from outside attacks: data, reasons, errors, a rubric's own words."""
    mine = replace(builtin()["coherence"], name="mine", title=HOSTILE, question=HOSTILE, definition=HOSTILE)

    def plan(request: Request) -> Answer:
        if request.item == 1:
            return error(400, HOSTILE, code="context_length_exceeded")
        return completion(f'It says "boils very fast in the morning" and "{HOSTILE}". {HOSTILE}\n<score>2</score>')

    evaluate.server.plan = plan
    return evaluate(write_items(hostile_records()), rubrics=["fluency", mine], judge=A, reasks=0)


def test_no_text_from_outside_becomes_markup(hostile: looking.Run) -> None:
    with RunReader(hostile.path) as reader:
        html = report_html(reader)
    page = parsed(html)
    assert "<script>window.hacked" not in html
    (script,), (style,) = page.all("script"), page.all("style")
    assert script.text == text_of("page.js")
    assert style.text == "\n".join((text_of("components.css"), text_of("page.css"), text_of("card.css")))
    assert not page.all("img")
    assert not page.all("link")
    names = {name for one in page.all() for name in one.attributes}
    assert not [name for name in names if name.startswith("on") or name == "style"]
    assert not [one for one in page.all() if "49" in one.attributes.get("class", "")], "nothing was computed"
    for place in ("scores", "distributions", "ranking", "items", "failures"):
        assert HOSTILE in page.by_id(place).text, f"{place} shows the text as it is"
    item = page.all("details", "item")[0]
    for part in ("source", "given-summary"):
        assert HOSTILE in item.one("section", part).text


def test_the_policy_allows_exactly_what_the_page_carries(simple: looking.Run) -> None:
    """Recomputed here from the bytes between the tags, as a browser does."""
    page = page_of(simple)
    (policy,) = [one for one in page.all("meta") if one.attributes.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.attributes["content"].split(";"))
    assert rules["default-src"] == "'none'"
    for tag in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(page.one(tag).text.encode()).digest()).decode()
        assert rules[f"{tag}-src"] == f"'sha256-{digest}'"
    assert "unsafe" not in policy.attributes["content"]


def test_the_page_refers_to_nothing_outside_itself(jury: looking.Run) -> None:
    page = page_of(jury)
    for one in page.all():
        for name in ("src", "href", "action", "data", "poster", "srcset", "xlink:href"):
            assert one.attributes.get(name, "#").startswith("#")
    assert not re.search(r"url\(|@import|https?:", page.one("style").text + page.one("script").text)


def test_the_same_run_gives_the_same_bytes(jury: looking.Run, jurybox: Command, tmp_path: Path) -> None:
    """In other processes too, whose dictionaries and sets are in another order."""
    pages = []
    for seed in ("1", "2"):
        out = tmp_path / f"{seed}.html"
        done = jurybox("report", jury.path, "--out", out, env={"PYTHONHASHSEED": seed})
        assert done.returncode == 0, done.stderr
        pages.append(out.read_bytes())
    assert pages[0] == pages[1]


def test_a_thousand_items_make_a_small_page(tmp_path: Path) -> None:
    """With the longest list of failures there can be: one judge cannot judge anything."""
    review = "It works as described, and the battery lasts for two days of normal use. " * 6
    records = [
        {"id": f"p{n // 4}", "system": f"s{n % 4}", "summary": "word " * (n % 90 + 5), "reviews": [review] * 8}
        for n in range(1000)
    ]
    judges = ["baseline/length", "baseline/system"]
    run = judging.evaluate(records, rubrics="fluency,coherence", judge=judges, out=tmp_path / "big.db")
    out = package.report(run, tmp_path / "big.html")
    assert out.stat().st_size < 1_000_000, "and 3 MB are allowed"
    page = parsed(out.read_text("utf-8"))
    assert len(page.one("table", "failures").one("tbody").all("tr")) == 1000
    assert "2,000 unsupported" in page.by_id("failures").text


def test_every_failure_of_a_thousand_items_is_found_on_a_small_page(
    evaluate: Evaluate, write_items: WriteItems
) -> None:
    """Each with words of its own, and far more than a table has room for."""
    evaluate.server.plan = lambda request: completion(f"Reply {request.item} says <nothing> & more. " * 30)
    records = [record(n, f"system {n % 2}") for n in range(1000)]
    run = evaluate(write_items(records), rubrics="fluency,coherence,relevance", judge=A, reasks=0)
    with RunReader(run.path) as reader:
        html = report_html(reader)
        part = failed(reader, room=20_000)
    assert len(html.encode()) < 3_000_000
    assert part.more > 900
    shown = {(one.id, one.system) for one in part.rows}
    shown |= {(id_, system) for group in part.named for id_, systems in group.items for system in systems}
    assert shown == {(one["id"], one["system"]) for one in records}
    told, named = sum(one.count for one in part.rows), sum(group.count for group in part.named)
    assert told + named == part.total == 3000


def test_judgments_are_never_all_read(jury: looking.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page about a million judgments reads those of the few items that it shows."""
    whole = RunReader.judgments

    def only_of_an_item(self: RunReader, of: tuple[str, str] | None = None) -> Any:
        assert of is not None
        return whole(self, of)

    monkeypatch.setattr(RunReader, "judgments", only_of_an_item)
    page_of(jury)


def test_long_material_is_shortened_around_what_is_quoted(evaluate: Evaluate, write_items: WriteItems) -> None:
    many = [f"Filler review {n}. " * 20 for n in range(400)]
    many[399] = f"{'Before. ' * 300}It boils very fast in the morning.{' After.' * 300}"
    evaluate.server.plan = scoring({"a": [4]})
    run = evaluate(write_items([record(0, "s", reviews=many)]), judge=A)
    source = page_of(run).all("section", "source")[0]
    assert len(source.text) < 20_000
    assert source.one("mark").text == "boils very fast in the morning"
    assert re.search(r"\d+ more entries are not shown here", source.text)
    assert "characters left out" in source.text


SHARE = {"value": 0.9, "low": 0.8, "high": 0.95, "n": 40, "n_unscored": 1, "method": "share", "seed": None}
STRESS = {
    "judge": "openai/a",
    "signature": "jurybox|…",
    "rubrics": {
        "fluency": {
            **dict.fromkeys(("detection", "false_alarms", "attacks"), SHARE),
            "damage": {"swap_words": {"rate": {**SHARE, "value": 0.25}, "mean_drop": SHARE}},
        }
    },
}


def test_stress_is_shown_when_it_is_given(simple: looking.Run, tmp_path: Path) -> None:
    told = tmp_path / "stress.json"
    told.write_text(json.dumps(STRESS))
    page = parsed(package.report(simple, tmp_path / "x.html", stress=told).read_text("utf-8"))
    trust = page.by_id("trust")
    assert "Under stress" in trust.text
    shown = [one.one(css="value").text for one in trust.all(css="estimate")]
    assert shown == ["0.90", "0.90", "0.90", "0.25"]
    assert "swap words" in trust.text
    assert "Not a judge of this run" not in trust.text
    assert "jurybox stress DATA" in page_of(simple).by_id("trust").text, "without it, the page says how to make it"
    other = page_of(simple, stress={**STRESS, "judge": "openai/other"})
    assert "Not a judge of this run: openai/other" in other.text


@pytest.mark.parametrize("text", ["[]", "{", '{"rubrics": {}}', '{"rubrics": {"fluency": {"detection": {}}}}'])
def test_a_wrong_stress_file_is_one_clear_error(simple: looking.Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(SetupError, match="--stress"):
        package.report(simple, tmp_path / "x.html", stress=tmp_path / "s.json")


def test_the_command_writes_beside_the_run_and_says_where(simple: looking.Run, jurybox: Command) -> None:
    done = jurybox("report", simple.path, "--json")
    page = simple.path.with_suffix(".html")
    assert json.loads(done.stdout) == {
        "run": str(simple.path),
        "out": str(page),
        "bytes": page.stat().st_size,
    }
    done = jurybox("report", simple.path, "--out", "other.html", "--items", "0")
    assert done.stdout.startswith("Report written to other.html (")
    assert "Items to read" in (simple.path.parent / "other.html").read_text("utf-8")


def test_wrong_use_is_one_message(simple: looking.Run, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="is the run itself"):
        reporting.report(simple, simple.path)
    with pytest.raises(SetupError, match="cannot be written: Is a directory"):
        reporting.report(simple, tmp_path)
    with pytest.raises(SetupError, match="--items: -1"):
        reporting.report(simple, items=-1)
    with pytest.raises(StoreError, match="there is no such"):
        reporting.report(tmp_path / "absent.db")


def test_the_demo_writes_a_report(jurybox: Command, tmp_path: Path) -> None:
    done = jurybox("demo", "--judge", "baseline/length", "--out", "d.run.db")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "The report, for a browser: d.run.html"
    assert "misplaced" in parsed((tmp_path / "d.run.html").read_text("utf-8")).by_id("ranking").text


def test_results_show_themselves_in_a_notebook(jury: looking.Run) -> None:
    """Each is a table inside one element, and text from outside is text."""
    estimate = jury.show().main.systems["base"]["fluency"]
    results: list[Any] = [jury, jury.show(), jury.show().main, jury.show().judges[0], estimate]
    results += [package.agree(jury, resamples=20), package.estimate(jury)]
    for result in results:
        (shown,) = [one for one in parsed(result._repr_html_()).children if isinstance(one, Element)]
        assert {"jb", "notebook"} <= shown.classes
        assert shown.all(css="estimate")
    assert "3.40" in parsed(jury._repr_html_() or "").text


def test_a_comparison_and_duels_show_themselves_too(simple: looking.Run, server: JudgeServer, tmp_path: Path) -> None:
    shown = parsed(package.compare(simple, "base", "revised")._repr_html_())
    assert "no difference shown" in shown.text
    judge_by(server, honest)
    out = tmp_path / "duel.db"
    found = package.duel(
        RECORDS, ("a", "b"), rubrics="fluency", judge="openai/judge-1", base_url=server.base_url, out=out
    )
    assert "0.30" in parsed(found._repr_html_()).text
    assert "0.30" in parsed(looking.Run(out)._repr_html_() or "").text


def test_a_run_without_a_file_is_only_named(tmp_path: Path) -> None:
    assert looking.Run(tmp_path / "none.db")._repr_html_() is None


NAMES = "abcdefg"
PAIRS = st.sets(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).filter(lambda pair: pair[0] < pair[1]))


@given(PAIRS)
def test_two_share_a_letter_exactly_when_they_are_not_told_apart(told_apart: set[tuple[str, str]]) -> None:
    """The defining property of a compact letter display (Piepho 2004)."""
    letters = letter_groups(NAMES, told_apart)
    for one in NAMES:
        for other in NAMES:
            if one < other:
                assert bool(set(letters[one]) & set(letters[other])) == ((one, other) not in told_apart)
    assert letters["a"][0] == "a"


def test_letters_of_a_chain() -> None:
    """Neighbours are alike, ends are not: the usual staircase."""
    assert letter_groups("wxyz", [("w", "y"), ("w", "z"), ("x", "z")]) == {
        "w": ("a",),
        "x": ("a", "b"),
        "y": ("b", "c"),
        "z": ("c",),
    }


def test_rankings_put_the_highest_mean_first_and_name_the_test(evaluate: Evaluate, write_items: WriteItems) -> None:
    """Twelve sources on which one system is always better: told apart from the worst, in bold alone."""
    scores: list[int | None] = [5, 4, 5, 4, 5, 5, 4, 5, 5, 4, 5, 5, 1, 2, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1]
    evaluate.server.plan = scoring({"a": scores})
    records = [{**record(n, "low" if n >= 12 else "high"), "id": f"p{n % 12}"} for n in reversed(range(24))]
    section = page_of(evaluate(write_items(records), judge=A)).by_id("ranking")
    rows = section.one("tbody").all("tr")
    assert [row.one("th").text for row in rows] == ["high", "low"]
    assert [row.one("td", "letters").children[0] for row in rows] == ["a", "b"]
    assert [("best" in row.classes) for row in rows] == [True, False]
    assert "corrected by Holm over 1 test (5 %)" in section.text


def test_too_few_sources_are_told_instead_of_letters_that_mean_nothing(simple: looking.Run) -> None:
    """Five sources have 2^5 sign flips: no p below 2/32, whatever the difference."""
    section = page_of(simple).by_id("ranking")
    assert "4 sources cannot tell any two apart" in section.text
    assert not section.all("tr", "best")


@given(st.text(), st.lists(st.tuples(st.integers(-3, 30), st.integers(-3, 30))))
def test_marking_loses_no_character(text: str, spans: list[tuple[int, int]]) -> None:
    found = pieces(text, spans)
    assert "".join(piece.text for piece in found) == text
    inside = {at for start, end in spans if 0 <= start < end <= len(text) for at in range(start, end)}
    assert sum(len(piece.text) for piece in found if piece.kind == "quoted") == len(inside)


@given(st.text(alphabet="ab ", max_size=40), st.lists(st.text(alphabet="ab ", min_size=1, max_size=4), max_size=5))
def test_a_reason_keeps_its_words(reason: str, quoted: list[str]) -> None:
    quotes = [Quote(text, None, None, None, None, None) for text in quoted]
    assert "".join(piece.text for piece in reason_pieces(reason, quotes)) == reason


def test_numbers_are_written_without_lies() -> None:
    assert [number_text(value) for value in (None, -0.001, -1.5, 3)] == ["none", "0.00", "−1.50", "3.00"]
    assert [chance_text(p) for p in (None, 0.00004, 0.012, 1.0)] == ["none", "4e-05", "0.01", "1.00"]
    assert [step_of(value) for value in (None, 1, 1.2, 5, 7)] == ["hx", "h0", "h1", "h16", "h16"]


def test_a_bar_that_counts_something_can_be_seen() -> None:
    drawn = bars((1, 0, 0, 0, 1000))
    assert drawn[0].height >= 1
    assert drawn[1].height == 0
    assert drawn[4].height == 30


def _luminance(colour: str) -> float:
    """WCAG 2.2, relative luminance."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_have_contrast_and_one_direction_of_lightness(scheme: int) -> None:
    """Text on every colour reaches AA (4.5), and a step up is always darker, or always brighter: readable in grey."""
    tokens = dict(re.findall(r"--([\w-]+): light-dark\(([^)]+)\)", text_of("components.css")))
    colour = {name: pair.split(", ")[scheme] for name, pair in tokens.items()}
    heat = [colour[f"h{step}"] for step in range(17)]
    for step, background in enumerate(heat):
        assert _contrast(background, colour[f"t{step}"]) >= 4.5, f"h{step}"
    lights = [_luminance(one) for one in heat]
    assert lights == sorted(lights, reverse=scheme == 0)
    for name in ("ink", "quiet", "accent", "lost"):
        for ground in ("paper", "raised"):
            assert _contrast(colour[name], colour[ground]) >= 4.5, (name, ground)
    assert _contrast(colour["mark"], colour["mark-ink"]) >= 4.5
