"""What the embedded judge takes for the summary, and how it reads marks."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest

from jurybox.judges.embedded.framing import body, plain, stated

SAID = "The kettle boils in two minutes. Its lid is stiff, and two buyers saw rust."
HARMLESS = tomllib.loads(files("jurybox.perturb").joinpath("harmless.toml").read_text("utf-8"))
POLITE = HARMLESS["polite"]


@pytest.mark.parametrize(
    "frame",
    [
        *POLITE["before"],
        "Here's a summary of the reviews:",
        "Sure! Here is a brief overview of what buyers say:\n",
        "Summary:",
        "**Summary:**\n",
        "## Summary\n",
    ],
)
def test_words_before_a_summary_are_not_the_summary(frame: str) -> None:
    found = body(f"{frame} {SAID}")
    assert found.text == SAID
    assert found.start == len(f"{frame} ")


@pytest.mark.parametrize("frame", [*POLITE["after"], "I hope this helps! Let me know if you need more."])
def test_words_after_a_summary_are_not_the_summary(frame: str) -> None:
    assert body(f"{SAID} {frame}").text.rstrip() == SAID


@pytest.mark.parametrize(
    "text",
    [
        SAID,
        "",
        "The summary of the reviews reveals mixed experiences with the filter.",
        "\n" * 100_000 + "a",  # nor is a hostile text looked at for long
        "In summary, the scanner is a product with mixed reviews.",
        "I will keep them and hope they will be comfortable once they are broken in.",
        "Here is a kettle that boils fast. Buyers thank the maker for its handle.",
        "I hope this helps! Let me know if you need more.",  # a frame around nothing is judged as what it is
        "Here is a summary of a kettle that explodes. It is blue.",
        "Here is a summary of a tent that leaks at the seams, has poles that bend, and a bag that tore: avoid it.",
    ],
)
def test_what_says_something_stays(text: str) -> None:
    assert body(text).text == text


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("It’s “fine” – mostly.", 'It\'s "fine" - mostly.'),
        ("Quick—and quiet.", "Quick - and quiet."),
        ("- Boils fast.\n- Stiff lid\n", "Boils fast. Stiff lid."),
        ("1. Boils fast\n2) Stiff lid!", "Boils fast. Stiff lid!"),
        ("no\u200bthing \u202ehidden\u202c.", "nothing hidden."),
        ("a\n\n  b ", "a b."),
        ("Lasts 3 days (or more.)", "Lasts 3 days (or more.)"),
        ("A -5 °C bag, well-made.", "A -5 °C bag, well-made."),
    ],
)
def test_marks_are_read_plainly(text: str, read: str) -> None:
    assert plain(text) == read


@pytest.mark.parametrize(
    "clause",
    [
        *(clause.capitalize() for clause in HARMLESS["padding"]["clauses"]),
        "It is worth noting that",
        "It should also be mentioned here that",
        "It is important to note that",
    ],
)
def test_a_clause_that_only_announces_is_not_read(clause: str) -> None:
    assert stated(f"{clause} the lid is stiff. {clause} it leaks.") == "The lid is stiff. It leaks."


@pytest.mark.parametrize(
    "text",
    [
        SAID,
        "Some note that the lid is stiff.",
        "One said that it leaks.",
        "It is clear that it leaks.",
        "What is important is that it boils.",
        "It should be noted that.",
        "This is the point at which it is said to leak.",
        "it is " * 50_000 + "a",  # nor is a hostile text looked at for long
    ],
)
def test_a_statement_is_read_as_it_stands(text: str) -> None:
    assert stated(text) == text
