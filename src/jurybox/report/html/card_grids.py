"""Tables of a judge card: kinds of change x rubrics, each cell a figure, coloured by how right the judge is. No HTML.

They are made of a document of `stress --json`, so a judge that was tested elsewhere has the same card.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jurybox.report.bias import Bias
from jurybox.report.html.figures import step_of
from jurybox.report.html.heat import Column
from jurybox.types import SCALE, Estimate

Document = Mapping[str, Any]
Rightness = Callable[[float], float]
# What a kind of damage must do to a rubric: the mark in its cell, and the words that are read aloud.
CLAIMS = {"hurts": ("▼", "must fall"), "spares": ("=", "must stay"), "open": ("", "")}
PLACES = {"first": "First", "middle": "Middle", "last": "Last", "first_to_last": "From first to last"}


@dataclass(frozen=True, slots=True)
class GridCell:
    """A figure (None where there is none), its class of colour, and a mark with its words."""

    estimate: Estimate | None
    step: str = ""
    mark: str = ""
    told: str = ""


@dataclass(frozen=True, slots=True)
class GridRow:
    """A kind of change, or whatever the rows of a table are; `note` stands small below its name."""

    title: str
    cells: tuple[GridCell, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows x columns. `first` is what the rows are; without rows, `nothing` says why there are none."""

    first: str
    heads: tuple[str, ...]
    rows: tuple[GridRow, ...]
    nothing: str = ""


def rubric_title(rubric: str) -> str:
    return rubric.replace("_", " ").capitalize()


def rubric_columns(rubrics: Iterable[str]) -> dict[str, Column]:
    return {rubric: Column(rubric, rubric_title(rubric), "") for rubric in rubrics}


def estimate_of(found: Mapping[str, Any] | None) -> Estimate | None:
    return None if found is None else Estimate(**found)


def cell(found: Estimate | None, right: Rightness | None = None, claim: str = "open") -> GridCell:
    """`right` says of a value how right it is, from 0 to 1; without it the cell has no colour."""
    step = ""
    if found is not None and right is not None and found.value is not None:
        step = step_of(SCALE[0] + (SCALE[-1] - SCALE[0]) * min(max(right(found.value), 0), 1))
    return GridCell(found, step, *CLAIMS[claim])


def high(value: float) -> float:
    """The more the better."""
    return value


def low(value: float) -> float:
    """The less the better."""
    return 1 - value


RIGHT: Mapping[str, Rightness | None] = {"hurts": high, "spares": low, "open": None}


def damage_grid(judge: Document, kinds: Sequence[str]) -> Grid:
    """How often the score falls after each kind of damage, rubric by rubric."""
    matrix = judge["selectivity"]
    rows = [(kind, [_damage_cell(matrix.get(kind, {}).get(rubric)) for rubric in judge["rubrics"]]) for kind in kinds]
    return _grid("Damage", judge, rows, "No damage was made.")


def _damage_cell(found: Mapping[str, Any] | None) -> GridCell:
    if found is None:
        return cell(None)
    return cell(estimate_of(found["rate"]), RIGHT[found["claim"]], found["claim"])


def harmless_grid(judge: Document, kinds: Sequence[str]) -> Grid:
    """How often a harmless edit moves the score."""
    rubrics = [found.get("harmless", {}) for found in judge["rubrics"].values()]
    rows = [(kind, [cell(estimate_of(edits.get(kind, {}).get("moved")), low) for edits in rubrics]) for kind in kinds]
    return _grid("Harmless edit", judge, rows, "No harmless edit is held to leave these rubrics alone.")


def attack_grid(judge: Document, figure: str, names: Sequence[str], first: str) -> Grid:
    """How often an attack works: `figure` is attack_families or attack_places."""
    rubrics = [found.get(figure, {}) for found in judge["rubrics"].values()]
    rows = [(name, [cell(estimate_of(attacks.get(name)), low) for attacks in rubrics]) for name in names]
    return _grid(first, judge, rows, "No attacks were made: nothing is known of what fools this judge.")


def place_grid(judge: Document) -> Grid:
    """By how many points the score falls when one review is moved to a place."""
    rubrics = [found.get("position", {}) for found in judge["rubrics"].values()]
    there = [place for place in PLACES if any(place in moves for moves in rubrics)]
    rows = [(place, [cell(estimate_of(moves.get(place))) for moves in rubrics]) for place in there]
    return _grid("The review stands", judge, rows, "No review was moved: no rubric asked here reads several reviews.")


def _grid(first: str, judge: Document, rows: Iterable[tuple[str, Sequence[GridCell]]], nothing: str) -> Grid:
    """Rows that have a figure anywhere; a kind that this judge was never asked about keeps its empty row."""
    heads = tuple(map(rubric_title, judge["rubrics"]))
    made = tuple(GridRow(PLACES.get(name, name.replace("_", " ")), tuple(cells)) for name, cells in rows)
    return Grid(first, heads, made, nothing)


def repeat_grid(bias: Bias) -> Grid:
    """Does it say the same again? Where no rubric has a figure, one sentence says why."""
    if all(found.single.value is None for found in bias.stability.values()):
        whys = dict.fromkeys(found.single.method.removeprefix("undefined: ") for found in bias.stability.values())
        return Grid("Rubric", (), (), f"Unknown: {'; '.join(whys)}.")
    rows = tuple(
        GridRow(rubric_title(rubric), (cell(found.single, high), cell(found.mean, high)))
        for rubric, found in bias.stability.items()
    )
    return Grid("Rubric", ("One sample: ICC(1,1)", "Mean of an item's samples: ICC(1,k)"), rows)


def bias_grid(bias: Bias) -> Grid:
    """In which direction it errs, beside people."""
    heads = ("Leniency, points", "Twice the words, points", "Top step more often, share")
    rows = tuple(
        GridRow(
            rubric_title(rubric),
            (cell(found.leniency), cell(found.verbosity_corrected), cell(found.top_share.difference)),
        )
        for rubric, found in bias.rubrics.items()
    )
    return Grid("Rubric", heads, rows)


def kinds_of(judges: Iterable[Document], figure: str) -> list[str]:
    """Every kind that any of the judges was tested with, so that cards side by side have the same rows."""
    found = dict[str, None]()
    for judge in judges:
        if figure == "selectivity":
            found |= dict.fromkeys(judge["selectivity"])
        else:
            found |= {name: None for rubric in judge["rubrics"].values() for name in rubric.get(figure, {})}
    return list(found)
