"""The page of `jurybox report`: everything gathered from a run, and put into one file that needs nothing else.

The same run gives the same bytes: no clock and no chance but seeded ones are in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from jurybox import __version__
from jurybox.errors import StoreError
from jurybox.report.duels import holds_duels, summarise_duels
from jurybox.report.html.card import STYLE as STRESS_STYLE
from jurybox.report.html.failures import Failures, failed
from jurybox.report.html.figures import CORRELATIONS, SCORES, SHARES
from jurybox.report.html.heat import HeatMap, columns, heat_map
from jurybox.report.html.people import Figures, people_view
from jurybox.report.html.picks import Group, picked_groups
from jurybox.report.html.ranking import Rankings, rankings
from jurybox.report.html.rendering import page_parts, render
from jurybox.report.html.under_stress import UnderStress, under_stress
from jurybox.report.jury import JurySummary
from jurybox.report.summary import Summary, summarise
from jurybox.store import Extent, RunReader, extent, rubric_bodies

# Items shown of each kind: best, worst, most disputed.
ITEMS = 3


@dataclass(frozen=True, slots=True)
class Report:
    """All that the page shows."""

    name: str
    summary: Summary
    extent: Extent
    when: str
    main: HeatMap
    others: tuple[HeatMap, ...]
    rankings: Rankings
    people: Figures | str
    stress: UnderStress | None
    groups: tuple[Group, ...]
    failures: Failures

    @property
    def jury(self) -> JurySummary | None:
        return self.summary.jury


def report_html(reader: RunReader, *, items: int = ITEMS, stress: Mapping[str, Any] | None = None) -> str:
    """The whole page. `items` is how many are shown of each kind, `stress` a document of `jurybox stress --json`."""
    if not reader.signatures():
        raise StoreError(f"{reader.path}: holds no judgments yet; there is nothing to report")
    if holds_duels(reader):
        return _page("duels.html.j2", reader, duels=summarise_duels(reader), axis=SHARES)
    report = gather(reader, items=items, stress=stress)
    return _page("report.html.j2", reader, report=report, axis=SCORES, correlations=CORRELATIONS, shares=SHARES)


def _page(template: str, reader: RunReader, **values: Any) -> str:
    return render(template, title=reader.path.name, version=__version__, **page_parts(STRESS_STYLE), **values)


def gather(reader: RunReader, *, items: int = ITEMS, stress: Mapping[str, Any] | None = None) -> Report:
    """What the page of a run shows, as plain data."""
    summary, known, size = summarise(reader), columns(rubric_bodies(reader)), extent(reader)
    main = summary.main
    return Report(
        reader.path.name,
        summary,
        size,
        _when(size),
        heat_map(main, known),
        tuple(heat_map(judge, known) for judge in summary.judges if judge is not main),
        rankings(reader, main, known),
        people_view(reader, known),
        None if stress is None else under_stress(stress, known),
        picked_groups(reader, main, known, items),
        failed(reader),
    )


def _when(size: Extent) -> str:
    """First and last answer, to the minute; one of them where they are the same."""
    told = [datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M") for at in (size.began, size.ended) if at]
    return " to ".join(dict.fromkeys(told)) + " UTC" if told else "no answer yet"
