"""The judge card: one page that says what a judge is, what it notices, what moves and fools it, and what is not known.

Made of documents of `stress --json`, one card for each judge in them; with several, the cards stand side by side.
Agreement with people comes from an ordinary run. What is missing is said in its place, never left out in silence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jurybox import __version__
from jurybox.errors import SetupError
from jurybox.report.agree import Agreement
from jurybox.report.bias_text import conclusion as bias_in_words
from jurybox.report.html.card_grids import (
    Document,
    Grid,
    GridCell,
    GridRow,
    attack_grid,
    bias_grid,
    cell,
    damage_grid,
    estimate_of,
    harmless_grid,
    high,
    kinds_of,
    low,
    place_grid,
    repeat_grid,
    rubric_columns,
    rubric_title,
)
from jurybox.report.html.card_words import Fact, cost_facts, headline, judge_facts, limits
from jurybox.report.html.figures import CORRELATIONS
from jurybox.report.html.people import Figures, agreement_view
from jurybox.report.html.rendering import page_parts, render
from jurybox.report.stress_grade import RULES

STYLE = "card.css"
# What the first table shows of a rubric: the figure in the document, its head, and which end is right.
GLANCE = (
    ("discrimination", "Discrimination", high),
    ("detection", "Detection", high),
    ("false_alarms", "False alarms", low),
    ("attacks", "Attacks that worked", low),
    ("spilled", "Spilled", low),
    ("dose_response", "Dose response", high),
)
NO_RATINGS = (
    "No human ratings given: agreement with people, their ceiling, the trivial baselines and bias are unknown. A run "
    "of this judge on summaries that people rated says them (--agree RUN.db)."
)


@dataclass(frozen=True, slots=True)
class GradeLine:
    """One rubric's grade: a word or two, and the sentence behind them."""

    rubric: str
    word: str
    sentence: str


@dataclass(frozen=True, slots=True)
class People:
    """Judge and people: figures, and what the same run says of bias and of asking again."""

    figures: Figures
    source: str
    repeats: Grid
    bias: Grid
    bias_words: str


@dataclass(frozen=True, slots=True)
class Card:
    """One judge. `people` is a sentence where nothing is known of them."""

    judge: str
    headline: str
    facts: tuple[Fact, ...]
    grades: tuple[GradeLine, ...]
    people: People | str
    damage: Grid
    harmless: Grid
    families: Grid
    places: Grid
    cramped: int
    position: Grid
    cost: tuple[Fact, ...]
    limits: tuple[str, ...]
    signatures: tuple[str, ...]
    exam: Mapping[str, Any]
    missing: int


@dataclass(frozen=True, slots=True)
class Overview:
    """The first table: for each rubric a row a judge."""

    heads: tuple[str, ...]
    groups: tuple[tuple[str, tuple[GridRow, ...]], ...]


@dataclass(frozen=True, slots=True)
class Subject:
    """One judge of one document, checked."""

    judge: str
    found: Document
    document: Document


@dataclass(frozen=True, slots=True)
class Cards:
    """Judges under stress, one or several. `unlike`: they did not sit the same exam."""

    cards: tuple[Card, ...]
    overview: Overview
    unlike: bool
    rules: str = RULES


def card_html(documents: Sequence[tuple[str, Any]], agreements: Mapping[str, Agreement | str]) -> str:
    """The page. `documents` are (what messages call it, the document), `agreements` what is known of each judge and
    people, or why nothing is."""
    found = stress_cards(documents, agreements)
    return render(
        "card.html.j2",
        title=" and ".join(dict.fromkeys(card.judge for card in found.cards)),
        version=__version__,
        found=found,
        correlations=CORRELATIONS,
        **page_parts(STYLE),
    )


def stress_cards(
    documents: Sequence[tuple[str, Any]], agreements: Mapping[str, Agreement | str] | None = None
) -> Cards:
    """What the card shows, for any page. Without `agreements`, the first table says nothing of people."""
    subjects = [subject for name, document in documents for subject in _subjects(name, document)]
    try:
        cards = _cards(subjects, agreements or {})
        overview = _overview(subjects, agreements)
    except (AttributeError, KeyError, TypeError, ValueError) as exc:
        names = ", ".join(dict.fromkeys(name for name, _ in documents))
        raise SetupError(f"{names}: is not what `jurybox stress --json` of this version prints ({exc!r})") from exc
    return Cards(cards, overview, len({card.exam.get("digest") for card in cards}) > 1)


def _subjects(name: str, document: Any) -> list[Subject]:
    rubrics = document.get("rubrics") if isinstance(document, Mapping) else None
    if not isinstance(rubrics, Mapping) or not rubrics:
        raise SetupError(f"{name}: is not what `jurybox stress --json` prints; a card needs such a document")
    judges = document.get("judges") or {document.get("judge", name): document}
    main = document.get("judge")
    ordered = sorted(judges, key=lambda judge: judge != main)  # the judge that the exam is about stands first
    return [Subject(judge, judges[judge], document) for judge in ordered]


def _cards(subjects: Sequence[Subject], agreements: Mapping[str, Agreement | str]) -> tuple[Card, ...]:
    found = [subject.found for subject in subjects]
    figures = ("selectivity", "harmless", "attack_families", "attack_places")
    kinds = {figure: kinds_of(found, figure) for figure in figures}
    return tuple(_card(subject, agreements.get(subject.judge, NO_RATINGS), kinds) for subject in subjects)


def _card(subject: Subject, agreement: Agreement | str, kinds: Mapping[str, Sequence[str]]) -> Card:
    found, document = subject.found, subject.document
    people = agreement if isinstance(agreement, str) else _people(agreement)
    return Card(
        judge=subject.judge,
        headline=headline(found),
        facts=judge_facts(subject.judge, found, document),
        grades=tuple(
            GradeLine(rubric_title(rubric), one["grade"]["word"], one["grade"]["sentence"])
            for rubric, one in found["rubrics"].items()
        ),
        people=people,
        damage=damage_grid(found, kinds["selectivity"]),
        harmless=harmless_grid(found, kinds["harmless"]),
        families=attack_grid(found, "attack_families", kinds["attack_families"], "Family of attacks"),
        places=attack_grid(found, "attack_places", kinds["attack_places"], "The attack stands in"),
        cramped=sum(one["attacks_without_room"] for one in found["rubrics"].values()),
        position=place_grid(found),
        cost=cost_facts(found, document),
        limits=limits(subject.judge, found, document, known_to_people=not isinstance(agreement, str)),
        signatures=tuple(one["signature"] for one in found["rubrics"].values()),
        exam=document["exam"],
        missing=document["missing"],
    )


def _people(found: Agreement) -> People:
    return People(
        agreement_view(found, rubric_columns(found.rubrics)),
        f"{found.path}, ratings from {found.human}",
        repeat_grid(found.bias),
        bias_grid(found.bias),
        bias_in_words(found.bias),
    )


def _overview(subjects: Sequence[Subject], agreements: Mapping[str, Agreement | str] | None) -> Overview:
    rubrics = dict.fromkeys(rubric for subject in subjects for rubric in subject.found["rubrics"])
    groups = []
    for rubric in rubrics:
        asked = [subject for subject in subjects if rubric in subject.found["rubrics"]]
        rows = tuple(
            _glance(
                subject, rubric, len(subjects) > 1, None if agreements is None else agreements.get(subject.judge, "")
            )
            for subject in asked
        )
        groups.append((rubric_title(rubric), rows))
    people = () if agreements is None else ("Follows people (rho)",)
    return Overview((*(head for _, head, _ in GLANCE), *people), tuple(groups))


def _glance(subject: Subject, rubric: str, several: bool, agreement: Agreement | str | None) -> GridRow:
    found = subject.found["rubrics"][rubric]
    cells = [cell(estimate_of(found[figure]), right) for figure, _, right in GLANCE]
    if agreement is not None:
        agreed = None if isinstance(agreement, str) else agreement.rubrics.get(rubric)
        cells.append(GridCell(None, told="unknown") if agreed is None else cell(agreed.headline))
    return GridRow(subject.judge if several else rubric_title(rubric), tuple(cells), found["grade"]["word"])
