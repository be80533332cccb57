"""The words around a rubric: they name no score, they fit one metric or several, and they say which end is best."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from jurybox.prompts import render, sheets, wording
from jurybox.rubrics import builtin, load
from jurybox.types import ANSWERS, Answer, Item

PROSE = {name: value for name, value in vars(wording).items() if isinstance(value, str) and not name.startswith("__")}
ITEM = Item("1", "s", "S", {"answers": ("A",), "perspective": "CAUSE"})


@pytest.mark.parametrize("name", PROSE)
def test_no_sentence_of_ours_names_a_score(name: str) -> None:
    """The only digits are the two ends of the scale."""
    without_range = PROSE[name].replace("from 1 to 5", "")
    assert not re.search(r"\d", without_range)


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("names", [["fluency"], ["fluency", "coherence"]])
def test_n_stands_where_the_number_goes(answer: Answer, names: list[str]) -> None:
    shown = wording.answer_format(load(names), answer)
    assert not re.search(r"score\W{0,8}[0-9]", shown, re.IGNORECASE)
    places = {"tag": 1, "digit": -1}  # the whole of a digit answer is the number, so no place for it is shown
    assert len(re.findall(r"\bN\b", shown)) == 1 + places.get(answer, len(names))


@pytest.mark.parametrize("answer", [answer for answer in ANSWERS if answer != "digit"])
def test_reasoning_is_asked_for_before_the_score(answer: Answer) -> None:
    shown = wording.answer_format(load(["fluency"]), answer).lower()
    assert 0 <= shown.rindex("reasoning") < shown.rindex("score")


def test_a_digit_is_asked_for_alone() -> None:
    shown = wording.answer_format(load(["fluency"]), "digit")
    assert "the number alone" in shown
    assert "no reasoning" in shown


def test_one_metric_is_judged_alone_and_several_each_by_itself() -> None:
    single, several = wording.criteria(load(["fluency"])), wording.criteria(load(["fluency", "coherence"]))
    assert "the metric Fluency alone" in single
    assert "each metric by itself" in several
    assert wording.CHOICE in single
    assert wording.CHOICE in several


def test_several_metrics_are_listed_as_a_phrase() -> None:
    names = ["fluency", "coherence", "relevance"]
    assert wording.what(load(names[:1])) == "the metric Fluency"
    assert wording.what(load(names[:2])) == "each of these metrics: Fluency and Coherence"
    assert wording.what(load(names)) == "each of these metrics: Fluency, Coherence and Relevance"


@pytest.mark.parametrize("target", [1, 5])
def test_the_scale_says_which_end_is_best(target: int) -> None:
    """'Redundancy' sounds like less is better; the direction stands beside every scale."""
    (sheet,) = sheets([replace(builtin()["redundancy"], target=target)])
    assert f"\n\nScale of Redundancy ({target} is best)\n\n1 - " in render(sheet, ITEM).user


def test_braces_in_a_title_are_left_alone() -> None:
    (sheet,) = sheets([replace(builtin()["fluency"], title="{what} {mark} {0}")])
    assert "on the metric {what} {mark} {0}." in render(sheet, ITEM).user
