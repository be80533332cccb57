"""The list of items: filters that combine, a text in them or in reasons, five orders, pages that stay fast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jurybox.report.browsing import SORTS, Found, RunIndex, Sort, Wanted
from jurybox.report.paging import Cursor, Slice
from jurybox.store import RunReader
from jurybox.store.browsing import ItemLine, item_lines
from jurybox.store.finding import reasons_with
from jurybox.types import SCALE, STATUSES
from jurybox.web.addresses import link
from jurybox.web.site import ROWS, Site, fragment, page, rubric_cells, site_of

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


# Where a text is looked for; the first is what is meant when nothing is said.
PLACES = {"": "Texts and reasons", "texts": "Texts", "reasons": "Reasons"}
# Characters of a reason around the text that was found in it.
AROUND = 90


@dataclass(frozen=True, slots=True)
class Said:
    """A reason in which a text was found: what stands before it, the text, what stands after."""

    rubric: str
    judge: str
    before: str
    text: str
    after: str


@dataclass(frozen=True, slots=True)
class Row:
    """An item in the list: its score under the filters, and one for each rubric (absent: never judged on it)."""

    line: ItemLine
    score: float | None
    cells: Mapping[str, float | None]
    said: Said | None


def show(request: Request) -> Response:
    values, looked = _values(request)
    return page(request, "list.html.j2", "Items", follow=looked < 1, **values)


def live(request: Request) -> Response:
    """The list again, while reasons are still being looked through."""
    values, looked = _values(request)
    return fragment(request, "list_live.html.j2", looked < 1, **values)


def _values(request: Request) -> tuple[dict[str, Any], float]:
    """What the template is given, and which share of the reasons was looked through, if they are to be."""
    site = site_of(request)
    index, asked = site.watch.index(), query_of(request)
    wanted = wanted_of(asked)
    found, looked = _found(site, index, asked)
    shown = index.page(wanted, found, ROWS, **cursors(request))
    with site.reader() as reader:
        values: dict[str, Any] = {
            "known": site.known(reader),
            "rows": rows_of(reader, index, shown, wanted, asked["text"] if found and found.cells is not None else ""),
            "several": sum(not judge.startswith("baseline/") for judge in index.judges) > 1,
            "looked": looked,
            "places": PLACES,
            "again": link("/live/items", request.query_params),
        }
    return {**values, **listing(index, asked, shown)}, looked


def _found(site: Site, index: RunIndex, asked: Mapping[str, str]) -> tuple[Found | None, float]:
    text, where = asked["text"], asked["where"]
    if not text:
        return None, 1.0
    items = None if where == "reasons" else site.searches.in_texts(index, text)
    cells, looked = (None, 1.0) if where == "texts" else site.searches.in_reasons(index, text)
    return Found(items, cells), looked


def listing(index: RunIndex, asked: Mapping[str, str], shown: Slice) -> dict[str, Any]:
    """What every list has: its filters, what can be chosen in them, and where it goes on."""
    return {
        "asked": asked,
        "filtered": any(value for name, value in asked.items() if name not in ("sort", "where")),
        "shown": shown,
        "index": index,
        "orders": ORDERS,
        "statuses": STATUSES,
        "steps": SCALE,
    }


def rows_of(reader: RunReader, index: RunIndex, shown: Slice, wanted: Wanted, text: str = "") -> list[Row]:
    """The rows of a page; with `text`, each with the first wanted reason that has it."""
    scores = index.scores(wanted.rubric, wanted.judge)
    numbers = [int(index.numbers[place]) for place in shown.places]
    lines, said = item_lines(reader, numbers), _said(reader, text, numbers, wanted) if text else {}
    return [
        Row(lines[number], _score(scores[place]), rubric_cells(index, place, wanted.judge), said.get(number))
        for place, number in zip(shown.places, numbers, strict=True)
    ]


def _said(reader: RunReader, text: str, numbers: Sequence[int], wanted: Wanted) -> dict[int, Said]:
    found: dict[int, Said] = {}
    for number, rubric, judge, reason in reasons_with(reader, text, numbers):
        if number not in found and wanted.rubric in ("", rubric) and wanted.judge in ("", judge):
            at = max(reason.lower().find(text.lower()), 0)
            end = at + len(text)
            found[number] = Said(rubric, judge, _ending(reason[:at]), reason[at:end], _beginning(reason[end:]))
    return found


def _beginning(text: str) -> str:
    """As many whole words as there is room for."""
    return text if len(text) <= AROUND else text[:AROUND].rsplit(" ", 1)[0] + " …"


def _ending(text: str) -> str:
    return text if len(text) <= AROUND else "… " + text[-AROUND:].split(" ", 1)[-1]


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
    asked["where"] = given.get("where", "") if given.get("where") in PLACES else ""
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
