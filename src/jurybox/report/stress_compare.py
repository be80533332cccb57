"""Two judges under stress side by side, from the documents that `stress --json` printed for each.

The documents hold figures and no scores, so differences are between figures: their intervals take the two as
independent, which is too wide where both judges went through the same exam.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jurybox.errors import SetupError
from jurybox.report.table import tables
from jurybox.stats.stress import difference
from jurybox.types import Estimate

FIGURES = ("detection", "discrimination", "false_alarms", "attacks", "dose_response", "spilled")


@dataclass(frozen=True, slots=True)
class StressComparison:
    """Rubric -> figure -> the second judge less the first. `unlike` says how the two exams differ."""

    judges: tuple[str, str]
    first: Mapping[str, Mapping[str, Estimate]]
    second: Mapping[str, Mapping[str, Estimate]]
    differences: Mapping[str, Mapping[str, Estimate]]
    only_second_notices: Mapping[str, tuple[str, ...]]
    only_first_notices: Mapping[str, tuple[str, ...]]
    unlike: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        return {
            "judges": list(self.judges),
            "unlike": list(self.unlike),
            "rubrics": {
                rubric: {
                    figure: {
                        "first": self.first[rubric][figure].as_dict(),
                        "second": self.second[rubric][figure].as_dict(),
                        "difference": found.as_dict(),
                    }
                    for figure, found in figures.items()
                }
                | {
                    "only_first_notices": list(self.only_first_notices[rubric]),
                    "only_second_notices": list(self.only_second_notices[rubric]),
                }
                for rubric, figures in self.differences.items()
            },
        }


def compare_stress(first: Any, second: Any, names: tuple[str, str]) -> StressComparison:
    """The second document less the first; `names` are what messages call them."""
    one, two = _checked(first, names[0]), _checked(second, names[1])
    rubrics = [rubric for rubric in one["rubrics"] if rubric in two["rubrics"]]
    if not rubrics:
        raise SetupError(f"{names[0]} and {names[1]} have no rubric in common; there is nothing to compare")
    firsts, seconds = ({rubric: _figures(side["rubrics"][rubric]) for rubric in rubrics} for side in (one, two))
    noticed = [{rubric: _notices(side["rubrics"][rubric]) for rubric in rubrics} for side in (one, two)]
    return StressComparison(
        judges=(one["judge"], two["judge"]),
        first=firsts,
        second=seconds,
        differences={rubric: _differences(firsts[rubric], seconds[rubric]) for rubric in rubrics},
        only_first_notices={rubric: _without(noticed[0][rubric], noticed[1][rubric]) for rubric in rubrics},
        only_second_notices={rubric: _without(noticed[1][rubric], noticed[0][rubric]) for rubric in rubrics},
        unlike=tuple(_unlike(one, two, rubrics)),
    )


def _differences(first: Mapping[str, Estimate], second: Mapping[str, Estimate]) -> dict[str, Estimate]:
    both = [figure for figure in FIGURES if figure in first and figure in second]
    return {figure: difference(second[figure], first[figure], "second less first") for figure in both}


def _notices(rubric: Mapping[str, Any]) -> list[str]:
    return list(rubric.get("grade", {}).get("notices", []))


def _without(names: list[str], others: list[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in others)


def _checked(document: Any, name: str) -> Mapping[str, Any]:
    rubrics = document.get("rubrics") if isinstance(document, Mapping) else None
    if not isinstance(rubrics, Mapping) or not all(
        isinstance(found, Mapping) and isinstance(found.get("detection"), Mapping) for found in rubrics.values()
    ):
        raise SetupError(f"{name}: is not what `jurybox stress --json` prints; --compare takes two such files")
    return {"judge": name, **document}


def _figures(rubric: Mapping[str, Any]) -> dict[str, Estimate]:
    return {figure: Estimate(**rubric[figure]) for figure in FIGURES if figure in rubric}


def _unlike(first: Mapping[str, Any], second: Mapping[str, Any], rubrics: list[str]) -> list[str]:
    """Where the two were not put through the same."""
    exams = [document.get("exam", {}) for document in (first, second)]
    told = []
    if exams[0].get("digest") != exams[1].get("digest"):
        told.append("the trials differ: other data, summaries, kinds, seed or version")
    for rubric in rubrics:
        labels = [str(document["rubrics"][rubric].get("signature")).split("|")[1:2] for document in (first, second)]
        if labels[0] != labels[1]:
            told.append(f"the rubric {rubric} differs")
    return told


def stress_comparison_text(found: StressComparison, width: int = 80) -> str:
    """Both judges and their difference, figure by figure."""
    one, two = found.judges
    parts = [textwrap.fill(f"First: {one}\nSecond: {two}", width, replace_whitespace=False)]
    if found.unlike:
        parts.append(textwrap.fill(f"Not like for like: {'; '.join(found.unlike)}.", width))
    rubrics = list(found.differences)
    for figure in FIGURES:
        columns = {
            "first": {rubric: found.first[rubric][figure] for rubric in rubrics if figure in found.first[rubric]},
            "second": {rubric: found.second[rubric][figure] for rubric in rubrics if figure in found.second[rubric]},
            "second less first": {
                rubric: found.differences[rubric][figure] for rubric in rubrics if figure in found.differences[rubric]
            },
        }
        if all(columns.values()):
            parts += [figure, *(table.rstrip("\n") for table in tables(rubrics, columns, width))]
    told = []
    for rubric in rubrics:
        for which, kinds in (("first", found.only_first_notices), ("second", found.only_second_notices)):
            if kinds[rubric]:
                line = f"{rubric}: only the {which} notices {', '.join(kinds[rubric])}"
                told.append(textwrap.fill(line, width, subsequent_indent="  "))
    parts += ["\n".join(told)] if told else []
    return "\n\n".join(parts)
