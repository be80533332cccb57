"""The table of a judge: systems x rubrics, each cell an estimate and a distribution. A view, no HTML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jurybox.report.html.figures import Bar, bars
from jurybox.report.judge import JudgeSummary
from jurybox.report.jury import BASELINE, JurySummary
from jurybox.types import Estimate


@dataclass(frozen=True, slots=True)
class Column:
    """A rubric: its name, its title as people write it, what it asks."""

    name: str
    title: str
    question: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A system on a rubric; None where it was never judged on it."""

    estimate: Estimate | None
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A system, a cell for each column."""

    system: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """One judge's table with its signatures and its losses (rubric, status, count)."""

    judge: str
    kind: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    signatures: tuple[str, ...]
    losses: tuple[tuple[str, str, int], ...]
    remarks: tuple[str, ...]

    @property
    def has_bars(self) -> bool:
        return any(cell.bars for row in self.rows for cell in row.cells)


def columns(bodies: Mapping[str, Mapping[str, Any]]) -> dict[str, Column]:
    """A column for each rubric of a run, from the rubrics' own words (`store.rubric_bodies`)."""
    return {
        name: Column(name, body.get("title") or name.replace("_", " "), body.get("question") or "")
        for name, body in bodies.items()
    }


def heat_map(judge: JudgeSummary, known: Mapping[str, Column]) -> HeatMap:
    """A judge's or a jury's table."""
    rubrics = list(judge.signatures)
    rows = tuple(
        Row(
            system,
            tuple(Cell(estimates.get(rubric), _bars(judge, system, rubric)) for rubric in rubrics),
        )
        for system, estimates in judge.systems.items()
    )
    return HeatMap(
        judge.judge,
        kind_of(judge),
        tuple(known.get(rubric, Column(rubric, rubric, "")) for rubric in rubrics),
        rows,
        tuple(str(signature) for signature in judge.signatures.values()),
        tuple(
            (rubric, status, count)
            for rubric, counts in judge.statuses.items()
            for status, count in counts.items()
            if status != "scored"
        ),
        tuple(_remarks(judge)),
    )


def kind_of(judge: JudgeSummary) -> str:
    if isinstance(judge, JurySummary):
        return "jury"
    return "baseline" if judge.judge.startswith(BASELINE) else "judge"


def _bars(judge: JudgeSummary, system: str, rubric: str) -> tuple[Bar, ...]:
    counts = judge.distributions.get(system, {}).get(rubric)
    return () if counts is None else bars(counts)


def _remarks(judge: JudgeSummary) -> list[str]:
    """What to know of a judge beside its scores."""
    told = [f"Its server has no {feature}: {said}" for feature, said in judge.lacks.items()]
    if judge.quotes is not None:
        lost = f"{judge.quotes.absent:,} of {judge.quotes.quotes:,} quotes in its reasons are not in the material."
        told.append(
            lost if judge.quotes.absent else f"All {judge.quotes.quotes:,} quotes in its reasons are in the material."
        )
    return told
