"""A judge's reply to a duel gives exactly the choice that it states, or a status that says why there is none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jurybox.parsing import read
from jurybox.prompts import duels
from jurybox.types import FIRST, NEITHER, SECOND, Reply, Rubric, Verdict

RUBRIC = Rubric("faithfulness", "Faithfulness")
WHY = "The first invents a battery life; the second does not.\n"

FIRSTS = [
    "Better- <choice>1</choice>",
    WHY + "Better- <choice>1</choice>",
    WHY + "**Better-** <choice>1</choice>",
    WHY + "Better: <choice> 1 </choice>.",
    WHY + "Better- <choice>Summary 1</choice>",
    WHY + "Better- <choice>the first</choice>",
    WHY + "Better- <choice>first summary</choice>",
    WHY + "Better- <choice>**1**</choice>",
    WHY + "Better- <choice>1.0</choice>",
    WHY + "Better- <choice>１</choice>",
    WHY + "Better- <choice>1 (fewer errors)</choice>",
    WHY + "Better- <choice>1 - it invents nothing</choice>",
    WHY + "< Choice >1</ Choice >",
    WHY + "```\nBetter- <choice>1</choice>\n```",
    WHY + "So my final choice is <choice>1</choice>",
    WHY + "The better summary is <choice>1</choice>.",
    WHY + "Better- <choice>1</choice> - the first is more faithful.",
    "Better- <choice>2</choice>\nWait, I misread the second.\nBetter- <choice>1</choice>",
    "At first sight it would be <choice>2</choice>. On counting again, no.\nBetter- <choice>1</choice>",
    'The second summary says "Better- <choice>2</choice>", which is judged text.\nBetter- <choice>1</choice>',
    "> Better- <choice>2</choice>\n\nThat line is quoted from the second summary.\n\nBetter- <choice>1</choice>",
    "I was asked to answer in the form Better- <choice>N</choice>.\nBetter- <choice>1</choice>",
    "The last line must be Better- <choice>2</choice> or so.\nBetter- <choice>1</choice>",
    "Not <choice>2</choice> but <choice>1</choice>",
    "<think>Better- <choice>2</choice></think>Better- <choice>1</choice>",
    "<reasoning>The second errs.</reasoning>\nBetter- <choice>1</choice>",
    "1",
    "**1**",
    "Summary 1",
    WHY + "Better: 1",
    WHY + "Better- 1",
    WHY + "**Winner:** Summary 1",
    WHY + "Answer: 1",
    "Better: 2\nNo, that is wrong.\nBetter: 1",
]
SECONDS = [
    WHY + "Better- <choice>2</choice>",
    WHY + "Better- <choice>Second</choice>",
    WHY + "Better- <choice>the second one</choice>",
    WHY + "Better- <choice>summary_2</choice>",
    WHY + "Better- <choice>two</choice>",
    WHY + "Better- 2.",
    "Better- <choice>2</choice>\n\nThe first one gives a wrong price.",
]
NEITHERS = [
    WHY + "Better- <choice>0</choice>",
    WHY + "Better- <choice>tie</choice>",
    WHY + "Better- <choice>Neither</choice>",
    WHY + "Better- <choice>neither of them</choice>",
    WHY + "Better- <choice>equal</choice>",
    WHY + "Better- <choice>both</choice>",
    WHY + "Better- <choice>a tie</choice>",
    WHY + "Better: neither",
    "0",
]
UNPARSED = [
    "",
    "Both have their merits.",
    "I think the first summary is better.",
    "Summary 1 is better because it covers the lid, and summary 2 does not.",
    "Better- <choice>N</choice>",
    "Better- <choice></choice>",
    "Better- <choice>1, 2 or 0</choice>",
    "Better- <choice>1|2|0</choice>",
    "Better- <choice>A</choice>",
    "Better- <choice>1 or 2</choice>",
    "Better- <choice>1, maybe 2</choice>",
    "Better- <choice>not 1</choice>",
    "Better- <choice>1</choice> or <choice>2</choice>",
    "<choice>1</choice>\nor\n<choice>2</choice>",
    "<choice>1</choice> if the first is better, <choice>2</choice> if the second is, <choice>0</choice> if neither is",
    "<choice>1</choice> means the first.\n<choice>2</choice> means the second.",
    'The summary ends with "Better- <choice>1</choice>".',
    "> Better- <choice>1</choice>",
    "`Better- <choice>1</choice>`",
    "For example: Better- <choice>1</choice> would be the format.\nFor instance <choice>1</choice>",
    "Strictly in the format: Better- <choice>2</choice> if so",
    "Better: 1\nBetter: 2\nand then some more text",
    "Better- <choice>1",
    "<think>It is the first. Better- <choice>1</choice>",
    "Score- <score>1</score>",
    "Better",
    "Better- <choice>Summary 12</choice>",
    "The choice is hard.",
]
OFF_SCALE = [
    WHY + "Better- <choice>3</choice>",
    WHY + "Better- <choice>1.5</choice>",
    WHY + "Better- <choice>-1</choice>",
    WHY + "Better- <choice>5</choice>",
    "11",
]


def choice(text: str, **more: str) -> Verdict:
    return read(Reply(text, **more), (RUBRIC,), "choice")["faithfulness"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "preference"),
    [(text, FIRST) for text in FIRSTS] + [(text, SECOND) for text in SECONDS] + [(text, NEITHER) for text in NEITHERS],
)
def test_a_choice_that_is_made_is_read(text: str, preference: float) -> None:
    verdict = choice(text)
    assert (verdict.status, verdict.score) == ("scored", preference)


@pytest.mark.parametrize("text", UNPARSED)
def test_a_choice_that_is_not_made_is_not_guessed(text: str) -> None:
    verdict = choice(text)
    assert (verdict.status, verdict.score) == ("unparsed", None)
    assert verdict.reason


@pytest.mark.parametrize("text", OFF_SCALE)
def test_a_number_that_stands_for_no_choice_is_off_the_scale(text: str) -> None:
    verdict = choice(text)
    assert verdict.status == "off_scale"
    assert "none of 1, 2 and 0" in verdict.reason


def test_the_table_is_large_and_a_third_of_it_must_not_be_scored() -> None:
    unscored = len(UNPARSED) + len(OFF_SCALE)
    scored = len(FIRSTS) + len(SECONDS) + len(NEITHERS)
    assert scored + unscored >= 75
    assert unscored >= (scored + unscored) / 3
    assert len({*FIRSTS, *SECONDS, *NEITHERS, *UNPARSED, *OFF_SCALE}) == scored + unscored, "a row stands twice"


def test_the_reasoning_is_what_stands_before_the_choice_without_its_label() -> None:
    assert choice(WHY + "\n**Better-** <choice>1</choice>").reason == WHY.strip()
    assert choice("Better- <choice>2</choice>\n\nThe first is wrong.").reason == "The first is wrong."


def test_a_refusal_and_a_cut_answer_are_told_apart() -> None:
    assert choice("I'm sorry, but I can't help with comparing these.").status == "refused"
    assert choice("The first one", finish="length").status == "truncated"
    assert choice("", finish="length").status == "truncated"
    assert choice("x", refusal="No.").status == "refused"


def test_a_cut_answer_counts_only_if_its_choice_is_complete_and_labelled() -> None:
    assert choice(WHY + "Better- <choice>1</choice>", finish="length").score == FIRST
    assert choice(WHY + "It could be <choice>1</choice> on the one hand", finish="length").status == "truncated"
    assert choice(WHY + "Better: 1", finish="length").status == "truncated"


def test_the_instruction_itself_is_no_answer() -> None:
    assert choice(duels.ANSWER).status == "unparsed"


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("<>/choice 012N\n\"'`>*-.Betrsumay()"), max_size=200))
def test_any_text_is_read_without_an_error(text: str) -> None:
    verdict = choice(text)
    assert verdict.score in (None, FIRST, NEITHER, SECOND)


@pytest.mark.parametrize("piece", ["<choice>1</choice> ", "<choice>", "Better: 1 ", '"<choice>1</choice>', "better "])
def test_a_megabyte_is_read(piece: str) -> None:
    """A quadratic reader would take hours here."""
    assert choice(piece * (1_000_000 // len(piece))).status in ("scored", "unparsed")
