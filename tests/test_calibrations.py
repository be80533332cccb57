"""`jurybox calibrate`: maps to people's scores, kept in the run under a name and applied only where they are named."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats as scipy_stats

import jurybox
from conftest import Command, Evaluate, WriteItems, item
from jurybox.errors import SetupError, StoreError
from jurybox.report.calibrate import Fit
from jurybox.report.calibrate_text import fit_text, kept_text
from jurybox.report.export import CALIBRATED, COLUMNS
from jurybox.report.table import summary_text
from jurybox.store import CalibrationBook, RunFile, RunReader, named_calibrations
from jurybox.store.connection import FORMAT
from server import Answer, Request, completion, right_score

SOURCES = 12
SYSTEMS = ("base", "new")
JUDGE = "openai/judge-1"
SHARED = Path(__file__).parent.parent.parent / "shared" / "data" / "summeval_op_dev.jsonl"


def number_of(source: int, system: str) -> int:
    return source + SOURCES * SYSTEMS.index(system)


def people(score: float, source: int) -> float:
    """People are milder than the judge, and a little odd."""
    return min(5.0, 2 + 0.6 * score + 0.2 * (source % 3))


def records() -> list[dict[str, Any]]:
    """Two systems on twelve sources, rated on fluency alone."""
    found = []
    for source in range(SOURCES):
        for system in SYSTEMS:
            number = number_of(source, system)
            rating = people(right_score(number, "Fluency"), source)
            human = {"fluency": [rating, rating - 0.2]}
            found.append({**item(number), "id": f"s{source:02}", "system": system, "human": human})
    return found


def scores(rubric: str = "Fluency") -> dict[tuple[str, str], float]:
    return {
        (f"s{source:02}", system): float(right_score(number_of(source, system), rubric))
        for source in range(SOURCES)
        for system in SYSTEMS
    }


def labels() -> dict[tuple[str, str], float]:
    return {key: people(score, int(key[0][1:])) - 0.1 for key, score in scores().items()}


@pytest.fixture
def run(evaluate: Evaluate, write_items: WriteItems) -> Path:
    evaluate(write_items(records()), rubrics="fluency,coherence")
    return evaluate.out


def kept(run: Path, name: str = "people", **more: Any) -> Fit:
    return jurybox.calibrate(run, name=name, **more)


def tables_of(run: Path) -> set[str]:
    connection = sqlite3.connect(run)
    try:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    finally:
        connection.close()


# Fitting


def test_the_map_is_scipys_line_on_the_runs_own_ratings(run: Path) -> None:
    fit = kept(run, kind="linear")
    one = fit.rubrics["fluency"]
    judge, human = np.array(list(scores().values())), np.array(list(labels().values()))
    line = scipy_stats.linregress(judge, human)
    at = np.linspace(1, 5, 17)
    assert one.map(at) == pytest.approx(np.clip(line.intercept + line.slope * at, 1, 5))
    assert (one.map.n, one.sources, one.judge, one.human) == (2 * SOURCES, SOURCES, JUDGE, "the run")
    assert one.check.before.value == pytest.approx(np.sqrt(((judge - human) ** 2).mean()))
    assert one.check.worth == "better"
    assert fit.skipped == {"coherence": "nobody rated it"}


def test_a_file_of_ratings_takes_the_place_of_the_runs_own(run: Path, tmp_path: Path) -> None:
    rows = [(id_, system, "coherence", "x", 3) for id_, system in scores()] + [("far", "base", "coherence", "x", 3)]
    path = tmp_path / "ratings.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("id", "system", "rubric", "rater", "score"), *rows])
    fit = kept(run, human=path)
    assert list(fit.rubrics) == ["coherence"]
    assert (fit.human, fit.foreign) == (str(path), 1)
    assert list(fit.rubrics["coherence"].map([1, 5])) == [3, 3]


def test_best_keeps_a_kind_and_says_what_was_asked(run: Path) -> None:
    told = kept(run).as_dict()["rubrics"]["fluency"]
    assert told["asked"] == "best"
    assert told["kind"] in ("linear", "isotonic", "ordinal")
    assert "kind chosen in each" in told["after"]["method"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "a|b"}, "--name: 'a|b' cannot stand in a signature"),
        ({"name": ""}, "--name: '' cannot stand in a signature"),
        ({"kind": "cubic"}, "cubic"),
        ({"rubrics": "fluensy"}, "--rubrics: unknown rubric 'fluensy'. Did you mean 'fluency'?"),
        ({"rubrics": "coherence"}, "nothing to calibrate openai/judge-1 on .* coherence: nobody rated it"),
        ({"judge": "openai/judge-2"}, "--judge: unknown judge 'openai/judge-2'"),
    ],
)
def test_wrong_use_is_refused_and_nothing_is_kept(run: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(SetupError, match=message.replace("|", r"\|").replace("?", r"\?")):
        jurybox.calibrate(run, **{"name": "people", **options})
    assert "calibrations" not in tables_of(run)


def test_too_few_ratings_and_ratings_of_other_items_are_named(run: Path, tmp_path: Path) -> None:
    few, others = tmp_path / "few.csv", tmp_path / "others.csv"
    few.write_text("id,system,rubric,score\n" + "".join(f"s{n:02},base,fluency,3\n" for n in range(4)))
    others.write_text("id,system,rubric,score\nq1,base,fluency,3\n")
    with pytest.raises(SetupError, match="4 rated and scored items of 4 sources are too few"):
        kept(run, human=few)
    with pytest.raises(SetupError, match=r"none of 1 rated items is in the run .*id 'q1'"):
        kept(run, human=others)


def test_duels_are_refused(evaluate: Evaluate, write_items: WriteItems) -> None:
    evaluate.server.plan = lambda _: completion("I cannot say.")
    data = write_items(records()[:2])
    jurybox.duel(data, SYSTEMS, rubrics="fluency", judge=JUDGE, base_url=evaluate.server.base_url, out=evaluate.out)
    with pytest.raises(StoreError, match="holds duels"):
        kept(evaluate.out)


# Keeping


def test_what_is_kept_comes_back_whole(run: Path) -> None:
    fit = kept(run)
    assert fit.kept == {"fluency": "new"}
    (found,) = jurybox.calibrations(run).found
    assert found == fit.rubrics["fluency"]
    assert found.at.startswith("20")
    assert found.version == jurybox.__version__
    told = jurybox.calibrations(run).as_dict()["calibrations"]["people"][JUDGE]["fluency"]
    assert told["digest"] == found.digest
    assert list(found.map([2.5])) == pytest.approx(np.interp([2.5], told["map"]["judge"], told["map"]["human"]))


def test_a_file_without_the_table_is_read_and_gets_it_when_written(run: Path) -> None:
    assert "calibrations" not in tables_of(run)
    assert jurybox.calibrations(run).found == ()
    with pytest.raises(SetupError, match="holds no calibration; `jurybox calibrate"):
        jurybox.show(run, calibration="people")
    assert "calibrations" not in tables_of(run), "looking writes nothing"
    kept(run)
    assert "calibrations" in tables_of(run)
    connection = sqlite3.connect(run)
    assert connection.execute("PRAGMA user_version").fetchone() == (FORMAT,)
    connection.close()
    assert not run.with_name(run.name + "-lock").exists()


def test_the_same_again_changes_nothing_and_another_needs_replace(run: Path) -> None:
    first = kept(run, kind="linear").rubrics["fluency"]
    again = kept(run, kind="linear")
    assert (again.kept, again.rubrics["fluency"].at) == ({"fluency": "the same"}, first.at)
    with pytest.raises(StoreError, match=r"'people' already holds another calibration of fluency .* or --replace"):
        kept(run, kind="ordinal")
    assert jurybox.calibrations(run).found == (first,)
    assert kept(run, kind="ordinal", replace=True).kept == {"fluency": "replaced"}
    (now,) = jurybox.calibrations(run).found
    assert now.map.kind == "ordinal"
    kept(run, "other", kind="linear")
    assert [one.name for one in jurybox.calibrations(run).found] == ["other", "people"]


def test_all_are_kept_or_none(run: Path) -> None:
    one = kept(run, kind="linear").rubrics["fluency"]
    new, other = replace(one, rubric="coherence"), replace(one, map=replace(one.map, n=3))
    with CalibrationBook(run) as book, pytest.raises(StoreError, match="already holds another"):
        book.keep([new, other])
    assert jurybox.calibrations(run).found == (one,)


def test_a_digest_is_of_the_map_and_not_of_its_name_or_the_last_bit(run: Path) -> None:
    one = kept(run, kind="linear").rubrics["fluency"]
    nudged = replace(one.map, human=tuple(float(np.nextafter(level, 9)) for level in one.map.human))
    assert replace(one, name="x", at="", human="elsewhere.csv", map=nudged).digest == one.digest
    moved = replace(one.map, human=tuple(level + 1e-6 for level in one.map.human))
    changed = [replace(one, map=moved), replace(one, judge="x"), replace(one, rubric="x"), replace(one, sources=3)]
    assert len({one.digest, *(other.digest for other in changed)}) == 5


def test_a_run_that_is_still_written_to_is_refused(run: Path) -> None:
    writer = RunFile(run)
    try:
        with pytest.raises(StoreError, match="another jurybox is writing to it; calibrate when it has finished"):
            kept(run)
    finally:
        writer.close()
    assert "calibrations" not in tables_of(run)
    with CalibrationBook(run), pytest.raises(StoreError, match="another jurybox is writing to it; wait for it"):
        RunFile(run)


def test_what_is_no_run_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no such run file"):
        kept(tmp_path / "none.db")
    other = tmp_path / "photos.db"
    other.write_text("dear diary")
    with pytest.raises(StoreError, match="is not a run file"):
        kept(other)
    assert [path.name for path in tmp_path.iterdir()] == ["photos.db"]


def test_the_run_goes_on_after_a_calibration(run: Path, evaluate: Evaluate, write_items: WriteItems) -> None:
    one = kept(run).rubrics["fluency"]
    evaluate(write_items(records()), rubrics="fluency,coherence", samples=2, temperature=0.0)
    assert jurybox.calibrations(run).found == (one,)
    shown = jurybox.show(run, calibration="people")
    assert shown.main.moved == ("fluency",)
    assert "has gone on under other settings since the fit: fluency" in summary_text(shown)


# Applying


def outside(run: Path) -> list[Any]:
    """Everything that other commands say of a run."""
    rows = list(jurybox.Run(run).judgments())
    compared, agreed = jurybox.compare(run, *SYSTEMS).as_dict(), jurybox.agree(run).as_dict()
    return [jurybox.show(run).as_dict(), rows, compared, agreed, jurybox.estimate(run).as_dict()]


def test_nothing_is_applied_unless_it_is_named(run: Path) -> None:
    before = outside(run)
    kept(run)
    assert outside(run) == before
    assert "cal" not in jurybox.show(run).main.signature.split("|")[6]


def test_show_maps_each_item_and_signs_it(run: Path) -> None:
    one = kept(run, kind="isotonic").rubrics["fluency"]
    raw, shown = jurybox.show(run), jurybox.show(run, calibration="people")
    for system in SYSTEMS:
        mine = [float(one.map(score)) for (_, by), score in scores().items() if by == system]
        found = shown.main.systems[system]["fluency"]
        assert found.value == pytest.approx(np.mean(mine))
        low, high = scipy_stats.t.interval(0.95, len(mine) - 1, np.mean(mine), scipy_stats.sem(mine))
        assert (found.low, found.high) == pytest.approx((max(low, 1), min(high, 5)))
        assert found.method.endswith("calibrated by people, its map taken as known")
        nearest = tuple(sum(int(score + 0.5) == step for score in mine) for step in range(1, 6))
        assert shown.main.distributions[system]["fluency"] == nearest
        assert shown.main.systems[system]["coherence"] == raw.main.systems[system]["coherence"]
    assert str(shown.main.signatures["fluency"]).split("|")[6] == f"mean+cal:people:{one.digest[:6]}"
    assert shown.main.signatures["coherence"] == raw.main.signatures["coherence"]
    assert shown.main.signature.split("|")[6] == f"mean+cal:people:{one.digest[:6]},mean"
    assert shown.main.uncalibrated == ("coherence",)


def test_show_says_what_is_calibrated_what_is_raw_and_what_flatters(run: Path) -> None:
    kept(run)
    text = summary_text(jurybox.show(run, calibration="people"))
    assert "calibrated by people" in text.partition("\n\n")[0]
    assert "NOT calibrated, raw scores, because 'people' has no map of coherence" in text
    assert "coherence (raw)" in text
    assert "24 of 24" in text
    assert "calibrated scores look better than they are" in " ".join(text.split())
    assert all(len(line) <= 80 for line in text.splitlines() if "jurybox|" not in line)
    assert "calibrated" not in summary_text(jurybox.show(run))


def test_json_has_what_was_applied(run: Path, jurybox: Command) -> None:
    done = jurybox("calibrate", run, "--name", "people", "--kind", "linear", "--json")
    assert done.returncode == 0, done.stderr
    fit = json.loads(done.stdout)
    assert set(fit) == {"run", "name", "judge", "human", "rubrics", "skipped", "foreign"}
    assert set(fit["rubrics"]["fluency"]["after"]) == {"value", "low", "high", "n", "n_unscored", "method", "seed"}
    shown = json.loads(jurybox("show", run, "--calibration", "people", "--json").stdout)
    assert shown["calibration"]["rubrics"]["fluency"]["digest"] == fit["rubrics"]["fluency"]["digest"]
    assert shown["calibration"]["uncalibrated"] == ["coherence"]
    assert "look better than they are" in shown["calibration"]["caveat"]
    assert f"+cal:people:{fit['rubrics']['fluency']['digest'][:6]}|" in shown["systems"]["new"]["fluency"]["signature"]
    listed = json.loads(jurybox("calibrate", run, "--list", "--json").stdout)
    assert list(listed["calibrations"]["people"][JUDGE]) == ["fluency"]


def test_gates_use_what_is_shown(run: Path, jurybox: Command) -> None:
    assert jurybox("calibrate", run, "--name", "people").returncode == 0
    gate = ("--fail-under", "fluency=3.5")
    assert jurybox("show", run, *gate).returncode == 1, "the judge is harsh"
    assert jurybox("show", run, "--calibration", "people", *gate).returncode == 0
    assert jurybox("show", run, "--calibration", "people", "--fail-under", "fluency=4.5").returncode == 1


def test_other_names_and_other_ways_to_combine_are_refused(run: Path) -> None:
    kept(run)
    with pytest.raises(SetupError, match=r"unknown calibration 'peeple'. Did you mean 'people'\?"):
        jurybox.show(run, calibration="peeple")
    with pytest.raises(SetupError, match="it cannot serve --combine median"):
        jurybox.show(run, calibration="people", combine="median")


# Exporting


@pytest.fixture
def sampled(evaluate: Evaluate, write_items: WriteItems) -> Path:
    """Two samples an item: the right score and one above it; the second of item 0 cannot be read."""

    asked: Counter[int] = Counter()

    def answer(request: Request) -> Answer:
        right = right_score(request.item, "Fluency")
        asked[request.item] += 1
        if asked[request.item] == 1:
            return completion(f"<score>{right}</score>")
        return completion("I cannot say." if request.item == 0 else f"<score>{min(right + 1, 5)}</score>")

    evaluate.server.plan = answer
    evaluate(write_items(records()), samples=2, reasks=0, concurrency=1, temperature=0.0)
    return evaluate.out


def read(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        table: list[dict[str, Any]] = pq.read_table(path).to_pylist()
        return table
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: value or None for name, value in row.items()} for row in csv.DictReader(file)]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_an_export_has_the_items_calibrated_score_beside_the_raw_one(
    sampled: Path, tmp_path: Path, ending: str
) -> None:
    one = kept(sampled, kind="linear").rubrics["fluency"]
    raw, to = tmp_path / f"raw.{ending}", tmp_path / f"calibrated.{ending}"
    jurybox.export(sampled, raw)
    assert jurybox.export(sampled, to, calibration="people") == 4 * SOURCES
    rows = read(to)
    assert list(rows[0]) == [*COLUMNS, *CALIBRATED]
    assert [{name: row[name] for name in COLUMNS} for row in rows] == read(raw)
    by_item: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row["score"] is not None:
            by_item.setdefault((row["id"], row["system"]), []).append(float(row["score"]))
    for row in rows:
        if row["score"] is None:
            assert (row["calibrated_score"], row["calibrated_signature"]) == (None, None)
            continue
        mean = np.mean(by_item[row["id"], row["system"]])
        assert float(row["calibrated_score"]) == pytest.approx(float(one.map(mean)))
        assert f"|mean+{one.mark}|" in row["calibrated_signature"]
    assert sum(row["score"] is None for row in rows) == 1


def test_means_of_the_export_are_those_of_show(sampled: Path) -> None:
    kept(sampled)
    frame = jurybox.Run(sampled).to_pandas(calibration="people")
    by_item = frame.groupby(["system", "id"])["calibrated_score"].mean()
    shown = jurybox.show(sampled, calibration="people").main.systems
    for system in SYSTEMS:
        assert shown[system]["fluency"].value == pytest.approx(by_item[system].mean())


def test_the_export_says_what_has_no_calibrated_score(run: Path, jurybox: Command) -> None:
    jurybox("calibrate", run, "--name", "people")
    done = jurybox("export", run, "--to", "x.csv", "--calibration", "people")
    assert done.returncode == 0, done.stderr
    assert "NOT calibrated, calibrated_score is empty: openai/judge-1: coherence" in done.stdout
    told = json.loads(jurybox("export", run, "--to", "x.csv", "--calibration", "people", "--json").stdout)
    assert (told["calibration"], told["uncalibrated"]) == ("people", {JUDGE: ["coherence"]})
    assert jurybox("export", run, "--to", "y.csv", "--calibration", "x").returncode == 2


# Several judges


@pytest.fixture
def jury(evaluate: Evaluate, write_items: WriteItems) -> Path:
    """Two judges, one of them a step above the other where there is one."""

    def answer(request: Request) -> Answer:
        right = right_score(request.item, "Fluency")
        return completion(f"<score>{min(5, right + 1) if request.body['model'] == 'b' else right}</score>")

    evaluate.server.plan = answer
    evaluate(write_items(records()), judge=["openai/a", "openai/b"])
    return evaluate.out


def test_a_jury_is_calibrated_as_one_and_its_members_stay_raw(jury: Path, tmp_path: Path) -> None:
    one = kept(jury, kind="isotonic").rubrics["fluency"]
    assert one.judge == "jury(mean: openai/a + openai/b)"
    shown = jurybox.show(jury, calibration="people")
    panel = {key: (score + min(5, score + 1)) / 2 for key, score in scores().items()}
    mine = [float(one.map(score)) for (_, by), score in panel.items() if by == "new"]
    assert shown.main.systems["new"]["fluency"].value == pytest.approx(np.mean(mine))
    assert f"|mean+{one.mark}|" in shown.main.signature
    assert f"|mean+{one.mark}|" in shown.as_dict()["systems"]["new"]["fluency"]["signature"]
    raw = {judge.judge: judge.systems for judge in jurybox.show(jury).judges}
    assert {judge.judge: judge.systems for judge in shown.judges} == raw
    text = summary_text(shown)
    assert text.count("NOT calibrated, raw scores, because 'people' has no map of this judge") == 2
    with pytest.raises(SetupError, match="an export has a row for each judge, and none for a jury"):
        jurybox.export(jury, tmp_path / "x.csv", calibration="people")
    with pytest.raises(SetupError, match=r"is of jury\(mean: .*; shown here are .*jury\(median: "):
        jurybox.show(jury, calibration="people", jury="median")


def test_a_name_holds_maps_of_several_judges(jury: Path) -> None:
    for judge in ("openai/a", "openai/b", "jury"):
        kept(jury, judge=judge)
    with RunReader(jury) as reader:
        found = [one.judge for one in named_calibrations(reader, "people")]
    assert found == ["jury(mean: openai/a + openai/b)", "openai/a", "openai/b"]
    shown = jurybox.show(jury, calibration="people")
    assert all(judge.maps and not judge.uncalibrated for judge in (shown.main, *shown.judges))


# Words


def lines_of(text: str) -> Sequence[str]:
    return [line for line in text.splitlines() if "jurybox|" not in line]


def test_a_fit_is_told_in_80_columns_with_its_worth(run: Path, jurybox: Command) -> None:
    done = jurybox("calibrate", run, "--name", "people", env={"COLUMNS": "80"})
    assert done.returncode == 0, done.stderr
    assert "Lowers the error: fluency" in done.stdout
    assert "No map: coherence (nobody rated it)" in done.stdout
    assert "Nothing is calibrated until you ask" in done.stdout
    listed = jurybox("calibrate", run, "--list", env={"COLUMNS": "80"}).stdout
    assert "Calibration people" in listed
    assert "cal:people:" in listed
    # A path cannot be broken, and pytest's are as long as they are.
    told = (done.stdout + listed).replace(str(run), "run.db")
    assert all(len(line) <= 80 for line in lines_of(told))
    assert jurybox("calibrate", run).returncode == 2
    assert jurybox("calibrate", run, "--list", "--name", "x").returncode == 2


def test_a_map_that_makes_it_worse_is_called_so(evaluate: Evaluate, write_items: WriteItems) -> None:
    """People say what the judge says: no map can be nearer to them."""
    rated = [{**one, "human": {"fluency": [scores()[one["id"], one["system"]]]}} for one in records()]
    evaluate(write_items(rated))
    fit = kept(evaluate.out, kind="ordinal")
    assert fit.rubrics["fluency"].check.worth == "no better"
    text = fit_text(fit)
    assert "MAKES IT WORSE or no better; do not use it for: fluency" in text
    assert "Not worth applying" in text
    assert "do not use it" in summary_text(jurybox.show(evaluate.out, calibration="people"))


def test_a_run_without_any_says_so(run: Path) -> None:
    assert "holds no calibration" in " ".join(kept_text(jurybox.calibrations(run)).split())


@pytest.mark.skipif(not SHARED.exists(), reason="the shared data are not here")
def test_on_real_ratings_the_check_is_that_of_estimate(tmp_path: Path) -> None:
    out = tmp_path / "run.db"
    jurybox.evaluate(SHARED, rubrics="product-opinion", judge="baseline/length", out=out, cache=False)
    checks = {rubric: told.calibration["isotonic"] for rubric, told in jurybox.estimate(out).rubrics.items()}
    fit = kept(out, kind="isotonic")
    assert {rubric: one.check for rubric, one in fit.rubrics.items()} == checks
    assert len(checks) == 7
