"""What ended unscored, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jurybox.store.browsing import lost_lines
from jurybox.types import STATUSES
from jurybox.web.items import cursors, listing, query_of, wanted_of
from jurybox.web.site import ROWS, page, site_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


def show(request: Request) -> Response:
    site = site_of(request)
    index, asked = site.watch.index(), query_of(request)
    shown = index.lost_page(wanted_of(asked), ROWS, **cursors(request))
    cells = [
        (int(index.numbers[index.cell_item[place]]), index.series[int(index.cell_series[place])].number)
        for place in shown.places
    ]
    counts: dict[tuple[str, str], int] = {}
    for (_, judge), found in index.statuses().items():
        for status, count in found.items():
            if status != "scored":
                counts[judge, status] = counts.get((judge, status), 0) + count
    with site.reader() as reader:
        values: dict[str, Any] = {"lost": lost_lines(reader, cells), "known": site.known(reader)}
    lost = [status for status in STATUSES if status != "scored"]
    told: dict[str, Any] = {**listing(index, asked, shown), "statuses": lost}
    return page(request, "failures.html.j2", "Failures", counts=counts, **values, **told)
