"""What all pages share: the run that is served, what is known of it, and how a page becomes a response."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jurybox.api.carding import Tested
from jurybox.api.reporting import stress_told
from jurybox.report.browsing import RunIndex
from jurybox.report.html.heat import Column, columns
from jurybox.report.html.under_stress import UnderStress, under_stress
from jurybox.store import RunReader, rubric_bodies
from jurybox.web.addresses import link
from jurybox.web.queues import Queues
from jurybox.web.rendering import render
from jurybox.web.searching import Searches
from jurybox.web.security import Guard
from jurybox.web.watching import Pace, Watch
from jurybox.web.workshop import Workshop

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

PAGES = {
    "/": "Overview",
    "/items": "Items",
    "/versus": "Compare",
    "/failures": "Failures",
    "/judge": "Judge",
    "/annotate": "Annotate",
}
# Rows of a page of a list.
ROWS = 50


class NotThere(Exception):
    """Something that an address names is not in the run."""


@dataclass(frozen=True)
class Site:
    """One server: a run file and the rules of the door."""

    path: Path
    guard: Guard
    watch: Watch
    workshop: Workshop
    searches: Searches
    stress: UnderStress | None = None
    queues: Queues = field(default_factory=Queues)
    tables: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path, guard: Guard, stress: UnderStress | None = None) -> Site:
        watch = Watch(path)
        return cls(path, guard, watch, Workshop(watch), Searches(watch), stress)

    def reader(self) -> RunReader:
        return self.watch.reader()

    def known(self, reader: RunReader) -> dict[str, Column]:
        return columns(rubric_bodies(reader))


def read_stress(stress: Tested) -> UnderStress:
    """What the page about the judges shows of a test of them; read once, when the server starts."""
    return under_stress(stress_told(stress), {})


def site_of(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


def page(request: Request, template: str, title: str, status: int = 200, **values: Any) -> Response:
    """A whole page. It follows the run when that is under way, or when `follow` says that something is coming."""
    from starlette.responses import HTMLResponse

    site = site_of(request)
    pace = site.watch.pace(values.get("index"))
    told = {
        "title": title,
        "run": site.path.name,
        "pages": PAGES,
        "here": "/" + request.url.path.strip("/").partition("/")[0],
        "pace": pace,
        "failures": site.watch.index().unscored,
        "csrf": request.state.csrf,
        "follow": values.pop("follow", False) or is_live(pace),
        "link": link,
    }
    return HTMLResponse(render(template, **told, **values), status)


def fragment(request: Request, template: str, live: bool, **values: Any) -> Response:
    """A part of a page that scripts ask for again; `x-live` says whether it is worth asking once more."""
    from starlette.responses import HTMLResponse

    html = render(template, csrf=request.state.csrf, link=link, **values)
    return HTMLResponse(html, headers={"x-live": "1" if live else "0"})


def is_live(pace: Pace) -> bool:
    return pace.state in ("running", "empty")


def number_in(request: Request, name: str) -> int:
    """A number out of the address."""
    try:
        number = int(request.path_params[name])
    except ValueError:
        number = -1
    if not 0 <= number < 1 << 62:
        raise NotThere("This address names no item of the run.")
    return number


def rubric_cells(index: RunIndex, place: int, judge: str = "") -> dict[str, float | None]:
    """Rubric -> an item's mean over real judges, or by one; None where nothing was scored, absent if never judged."""
    wanted = set(index.series_of(judge=judge))
    scores: dict[str, list[float]] = {}
    for cell in index.cells_of(place):
        if int(index.cell_series[cell]) in wanted:
            score = float(index.cell_score[cell])
            scores.setdefault(index.series[int(index.cell_series[cell])].rubric, []).extend(
                [score] if score == score else []
            )
    return {rubric: sum(found) / len(found) if found else None for rubric, found in scores.items()}
