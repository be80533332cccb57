"""Judge against people as rows of estimates for a page. Views, no HTML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jurybox.errors import SetupError
from jurybox.report.agree import Agreement, agreement
from jurybox.report.agree_text import WORDS, conclusion, verdict_on
from jurybox.report.html.heat import Column
from jurybox.store import RunReader
from jurybox.types import Estimate

TRIVIAL = ("length", "system", "rouge")


@dataclass(frozen=True, slots=True)
class Line:
    """One rubric: a figure for each column (None where there is none), and a verdict in words."""

    column: Column
    figures: tuple[Estimate | None, ...]
    verdict: str
    good: bool


@dataclass(frozen=True, slots=True)
class Figures:
    """Rubrics x figures. `conclusion` says in words what it comes to, `about` what the figures are, `first` what the
    lines are where they are no rubrics."""

    heads: tuple[str, ...]
    lines: tuple[Line, ...]
    conclusion: str
    about: str
    first: str = "Rubric"


def people_view(reader: RunReader, known: Mapping[str, Column]) -> Figures | str:
    """The run's main judge against the ratings that the run holds, or why there is no such thing."""
    if next(iter(reader.ratings()), None) is None:
        return "The run holds no human ratings. Nothing here says that people would agree with the judge."
    try:
        found = agreement(reader)
    except SetupError as exc:
        return f"Judge and people cannot be compared: {exc}"
    return agreement_view(found, known)


def agreement_view(found: Agreement, known: Mapping[str, Column]) -> Figures:
    """What `agree` found, as its first table has it."""
    lines = tuple(
        Line(
            known.get(rubric, Column(rubric, rubric, "")),
            (one.headline, one.ceiling, *(one.trivial.baselines.get(name) for name in TRIVIAL)),
            verdict_on(one),
            one.beats_baselines,
        )
        for rubric, one in found.rubrics.items()
    )
    method = next(iter(found.rubrics.values())).headline.method
    return Figures(
        ("Judge", "People among themselves", *(WORDS[name].capitalize().replace("Rouge", "ROUGE") for name in TRIVIAL)),
        lines,
        conclusion(found),
        f"Spearman's rho with the mean of the raters ({method}). People among themselves: each rater against the mean "
        "of the others. The trivial judges never read a summary's sense; a judge that follows people no better has not "
        "been shown to judge.",
    )
