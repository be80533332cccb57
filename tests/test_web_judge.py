"""The page about a run's judges: what a test under stress found, or which commands make one."""
# ruff: noqa: F811 (fixtures come from `kettles` by name)

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

import jurybox
from cards import LENGTH, ROUGE, crash_tested, rated_run
from jurybox.errors import SetupError
from jurybox.report.html.under_stress import under_stress
from jurybox.web.site import read_stress
from kettles import made  # noqa: F401
from pages import HOSTILE, Element
from serving import Served


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> jurybox.Stress:
    found: jurybox.Stress = crash_tested(tmp_path_factory.mktemp("tested"), [ROUGE, LENGTH])
    return found


def judge_page(served: Served) -> Element:
    """When nothing is being computed any more."""
    until = time.monotonic() + 60
    while "eing computed" in served.get("/judge").text:
        assert time.monotonic() < until
        time.sleep(0.1)
    return served.get("/judge").page


def test_figures_under_stress_stand_beside_agreement(tested: jurybox.Stress, made: Path) -> None:
    document = json.loads(json.dumps(tested.as_dict()).replace(ROUGE, "openai/a"))
    with Served(made, stress=under_stress(document, {})) as served:
        page = judge_page(served)
    assert "Tested: openai/a, baseline/length." in page.text
    assert "Not a judge of this run" not in page.text
    captions = [one.text for one in page.all("caption")]
    assert "Judge, people and trivial judges" in captions, "agreement is there"
    for caption in ("Grades and figures", "Damage noticed by openai/a", "Harmless edits that move openai/a"):
        assert caption in captions
    assert "Attacks on openai/a, by family" in captions
    told = document["judges"]["openai/a"]["rubrics"]["faithfulness"]
    (glance,) = [one for one in page.all("table") if "glance" in one.classes]
    shown = [one.text for one in glance.all("span", "value")]
    for figure in ("detection", "false_alarms", "attacks"):
        assert f"{told[figure]['value']:.2f}" in shown, figure
    assert told["grade"]["word"] in page.text


def test_what_was_judged_and_what_was_written_say_the_same(tested: jurybox.Stress, tmp_path: Path) -> None:
    written = tmp_path / "stress.json"
    written.write_text(json.dumps(tested.as_dict()), "utf-8")
    found, kept = read_stress(written), read_stress(Path(tested.path))
    assert found == read_stress(tested)
    assert found.cards is not None
    assert kept.cards is not None
    assert kept.cards.overview == found.cards.overview
    assert [card.damage for card in kept.cards.cards] == [card.damage for card in found.cards.cards]


def test_a_judge_that_the_run_lacks_is_said_to_be_another(tested: jurybox.Stress, tmp_path: Path) -> None:
    run = rated_run(tmp_path)
    assert run.path is not None
    with Served(run.path, stress=read_stress(tested)) as served:
        assert "Not a judge of this run: baseline/length." in served.get("/judge").page.text


def test_without_a_test_the_page_names_the_commands(tmp_path: Path) -> None:
    run = rated_run(tmp_path)
    assert run.path is not None
    with Served(run.path) as served:
        page = judge_page(served)
    (commands,) = page.all("pre")
    assert "jurybox stress DATA --rubrics faithfulness,fluency,aspect_coverage --judge baseline/rouge" in commands.text
    assert "jurybox serve rated.run.db --stress stress.json" in commands.text


def test_hostile_words_of_a_document_are_shown_as_they_are(tested: jurybox.Stress, tmp_path: Path) -> None:
    document = tested.as_dict()
    document["judges"][HOSTILE] = document["judges"].pop(LENGTH)
    document["judges"][HOSTILE]["rubrics"]["fluency"]["grade"]["sentence"] = HOSTILE
    run = rated_run(tmp_path)
    assert run.path is not None
    with Served(run.path, stress=under_stress(document, {})) as served:
        html = served.get("/judge").text
        assert "<script>window" not in html
        assert HOSTILE in served.get("/judge").page.text


@pytest.mark.parametrize("text", ["[]", "{", '{"rubrics": {}}', '{"rubrics": {"fluency": {"detection": {}}}}'])
def test_a_wrong_file_is_one_clear_error_before_anything_listens(tmp_path: Path, text: str) -> None:
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(SetupError, match="--stress"):
        read_stress(tmp_path / "s.json")


def test_an_ordinary_run_is_no_test_of_a_judge(tmp_path: Path) -> None:
    run = rated_run(tmp_path)
    assert run.path is not None
    with pytest.raises(SetupError, match=r"--stress .*holds no exam"):
        read_stress(run.path)
