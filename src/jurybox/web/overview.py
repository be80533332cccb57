"""The first page: what the run is, how far it is, systems x rubrics by every judge; each cell leads to its items."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jurybox.errors import JuryboxError
from jurybox.report.browse_tables import judge_tables
from jurybox.report.browsing import RunIndex
from jurybox.report.duels import holds_duels, summarise_duels
from jurybox.report.html.figures import SHARES
from jurybox.report.html.heat import HeatMap, heat_map, kind_of
from jurybox.report.judge import JudgeSummary
from jurybox.report.jury import JurySummary, convene
from jurybox.store import RunReader
from jurybox.types import Signature
from jurybox.web.site import Site, fragment, is_live, page, site_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


@dataclass(frozen=True, slots=True)
class Overview:
    """The tables, the run's own first. `jury` says why that of a jury is not there, or old."""

    index: RunIndex
    maps: tuple[HeatMap, ...]
    jury: str


def show(request: Request) -> Response:
    values, coming = _values(site_of(request))
    return page(request, "overview.html.j2", "Overview", follow=coming, **values)


def prepare(site: Site) -> None:
    """What the first visitor would otherwise wait for; an error of ours is left to the page that has it."""
    with suppress(JuryboxError):
        _values(site)


def live(request: Request) -> Response:
    """What of the page moves while a run goes on."""
    site = site_of(request)
    values, coming = _values(site)
    pace = site.watch.pace(values["index"])
    return fragment(request, "overview_live.html.j2", coming or is_live(pace), pace=pace, **values)


def live_pace(request: Request) -> Response:
    """How far the run is, for the head of every page."""
    pace = site_of(request).watch.pace()
    return fragment(request, "pace.html.j2", is_live(pace), pace=pace)


def _values(site: Site) -> tuple[dict[str, Any], bool]:
    """What the template is given, and whether a figure is still being computed."""
    index = site.watch.index()
    with site.reader() as reader:
        if index.series and holds_duels(reader):
            found, fresh = site.workshop.get("duels", index.newest, summarise_duels)
            told = {"overview": None, "index": index, "duels": found, "axis": SHARES}
            if isinstance(found, JuryboxError):
                told |= {"duels": None, "problem": str(found)}
            return told, not fresh
        overview, coming = _overview(site, reader, index)
    return {"overview": overview, "index": index, "duels": None}, coming


def _tables(site: Site, index: RunIndex, signatures: Mapping[tuple[str, str], Signature]) -> tuple[JudgeSummary, ...]:
    """Every judge's table, made once for an index."""
    kept = site.tables.get("judges")
    if kept is None or kept[0] is not index:
        kept = site.tables["judges"] = (index, judge_tables(index, signatures))
    found: tuple[JudgeSummary, ...] = kept[1]
    return found


def _overview(site: Site, reader: RunReader, index: RunIndex) -> tuple[Overview, bool]:
    signatures, known = reader.signatures(), site.known(reader)
    judges = _tables(site, index, signatures)
    maps = [heat_map(judge, known) for judge in sorted(judges, key=lambda one: kind_of(one) == "baseline")]
    if sum(kind_of(one) == "judge" for one in judges) < 2:
        return Overview(index, tuple(maps), ""), False
    # The same as `show` has: an item counts for a jury where every judge of the panel scored it, which the arrays of
    # the index would tell too, but the agreement between judges is resampled and takes its time.
    found, fresh = site.workshop.get("jury", index.newest, lambda other: convene(other, judges, index))
    if isinstance(found, JurySummary):
        maps.insert(0, heat_map(found, known))
    word = "" if fresh else "being computed" if found is None else "being computed anew"
    if isinstance(found, JuryboxError):
        word = str(found)
    return Overview(index, tuple(maps), word), not fresh
