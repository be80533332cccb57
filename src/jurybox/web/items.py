"""The list of items: filters that combine, five orders, pages that stay fast however long the run is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jurybox.report.browsing import SORTS, RunIndex, Sort, Wanted
from jurybox.report.paging import Cursor, Slice
from jurybox.store import RunReader
from jurybox.store.browsing import ItemLine, item_lines
from jurybox.types import SCALE, STATUSES
from jurybox.web.site import ROWS, page, rubric_cells, site_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

ORDERS: Mapping[Sort, str] = {
    "order": "As judged",
    "low": "Lowest score first",
    "high": "Highest score first",
    "disputed": "Most disputed first",
    "id": "By id",
}
LONGEST_TEXT = 200


@dataclass(frozen=True, slots=True)
class Row:
    """An item in the list: its score under the filters, and one for each rubric (absent: never judged on it)."""

    line: ItemLine
    score: float | None
    cells: Mapping[str, float | None]


def show(request: Request) -> Response:
    site = site_of(request)
    index, asked = site.watch.index(), query_of(request)
    wanted = wanted_of(asked)
    found = site.watch.find(index, asked["text"]) if asked["text"] else None
    shown = index.page(wanted, found, ROWS, **cursors(request))
    with site.reader() as reader:
        values: dict[str, Any] = {
            "known": site.known(reader),
            "rows": rows_of(reader, index, shown, wanted),
            "several": sum(not judge.startswith("baseline/") for judge in index.judges) > 1,
        }
    return page(request, "list.html.j2", "Items", **values, **listing(index, asked, shown))


def listing(index: RunIndex, asked: Mapping[str, str], shown: Slice) -> dict[str, Any]:
    """What every list has: its filters, what can be chosen in them, and where it goes on."""
    return {
        "asked": asked,
        "filtered": any(value for name, value in asked.items() if name != "sort"),
        "shown": shown,
        "index": index,
        "orders": ORDERS,
        "statuses": STATUSES,
        "steps": SCALE,
    }


def rows_of(reader: RunReader, index: RunIndex, shown: Slice, wanted: Wanted) -> list[Row]:
    scores = index.scores(wanted.rubric, wanted.judge)
    lines = item_lines(reader, [int(index.numbers[place]) for place in shown.places])
    return [
        Row(lines[int(index.numbers[place])], _score(scores[place]), rubric_cells(index, place, wanted.judge))
        for place in shown.places
    ]


def _score(value: float) -> float | None:
    return float(value) if value == value else None


def query_of(request: Request) -> dict[str, str]:
    """The filters in an address; what is not understood is no filter."""
    given = request.query_params
    names = ("system", "rubric", "judge", "status", "low", "high")
    asked = {name: given.get(name, "") for name in names}
    for name in ("low", "high"):
        asked[name] = asked[name] if _number(asked[name]) is not None else ""
    asked["text"] = given.get("text", "").strip()[:LONGEST_TEXT]
    asked["sort"] = given.get("sort", "") if given.get("sort") in SORTS else "order"
    return asked


def wanted_of(asked: Mapping[str, str]) -> Wanted:
    sort = next(known for known in SORTS if known == asked["sort"])
    low, high = _number(asked["low"]), _number(asked["high"])
    return Wanted(asked["system"], asked["rubric"], asked["judge"], asked["status"], low, high, sort)


def cursors(request: Request) -> dict[str, Cursor | None]:
    """Where a page begins or ends; one that is none of ours is the first page."""
    return {name: Cursor.read(request.query_params.get(name, "")) for name in ("after", "before")}


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if SCALE[0] <= number <= SCALE[-1] else None
