"""Two systems on the same sources: a list by how far they lie apart, and one source with both summaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from jurybox.report.browsing import RunIndex, Wanted
from jurybox.report.paging import Slice, cut
from jurybox.store.browsing import item_key, item_lines, same_source
from jurybox.web.item import whole_view
from jurybox.web.items import cursors
from jurybox.web.site import ROWS, NotThere, Site, number_in, page, rubric_cells, site_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

Order = Literal["first", "second", "apart", "order"]
ORDERS: Mapping[Order, str] = {
    "apart": "Furthest apart first",
    "first": "First is best ahead",
    "second": "Second is best ahead",
    "order": "As judged",
}


@dataclass(frozen=True, slots=True)
class Pair:
    """A source that both systems wrote about. `difference` is first less second, None where one has no score."""

    id: str
    first: int
    second: int
    scores: tuple[float | None, float | None]

    @property
    def difference(self) -> float | None:
        one, other = self.scores
        return None if one is None or other is None else one - other


def show(request: Request) -> Response:
    site = site_of(request)
    index, asked = site.watch.index(), _query(request, site)
    values: dict[str, Any] = {
        "asked": asked,
        "index": index,
        "orders": ORDERS,
        "pairs": [],
        "shown": None,
        "tally": None,
    }
    if asked["a"] in index.systems and asked["b"] in index.systems and asked["a"] != asked["b"]:
        values |= _pairs(site, index, asked, request)
    with site.reader() as reader:
        values["known"] = site.known(reader)
    return page(request, "versus.html.j2", "Compare two systems", **values)


def side_by_side(request: Request) -> Response:
    site = site_of(request)
    numbers = [number_in(request, "first"), number_in(request, "second")]
    index = site.watch.index()
    with site.reader() as reader:
        keys = [item_key(reader, number) for number in numbers]
        if keys[0] is None or keys[1] is None:
            raise NotThere("The run has no such pair of items.")
        if keys[0][0] != keys[1][0]:
            raise NotThere(
                "These two summaries are of different sources; only summaries of one source can be compared."
            )
        known, judges = site.known(reader), list(dict.fromkeys(judge for _, judge in reader.signatures()))
        views = [whole_view(reader, key, known, judges) for key in keys if key is not None]
        others = same_source(reader, keys[0][0])
    places = [index.place(number) for number in numbers]
    cells = [{} if place is None else rubric_cells(index, place) for place in places]
    return page(
        request,
        "side_by_side.html.j2",
        f"{views[0].system} and {views[1].system} on {views[0].id}",
        views=views,
        numbers=numbers,
        cells=cells,
        known=known,
        others=others,
    )


def _query(request: Request, site: Site) -> dict[str, str]:
    given, systems = request.query_params, site.watch.index().systems
    asked = {name: given.get(name, "") for name in ("a", "b", "rubric", "judge")}
    if not asked["a"] and not asked["b"] and len(systems) > 1:
        asked["a"], asked["b"] = systems[0], systems[1]
    asked["sort"] = given.get("sort", "") if given.get("sort") in get_args(Order) else "apart"
    return asked


def _pairs(site: Site, index: RunIndex, asked: Mapping[str, str], request: Request) -> dict[str, Any]:
    import numpy as np

    one, other = (np.flatnonzero(index.select(Wanted(system=asked[name]))) for name in ("a", "b"))
    _, at_one, at_other = np.intersect1d(index.source[one], index.source[other], return_indices=True)
    order = np.argsort(one[at_one])
    first, second = one[at_one][order], other[at_other][order]
    scores = index.scores(asked["rubric"], asked["judge"])
    difference = scores[first] - scores[second]
    by = {"first": -difference, "second": difference, "apart": -np.abs(difference), "order": np.zeros(len(first))}
    values = np.where(np.isnan(difference), np.inf, by[asked["sort"]])
    shown = cut(values, index.numbers[first], np.arange(len(first)), ROWS, **cursors(request))
    tally = {
        "ahead": int((difference > 0).sum()),
        "behind": int((difference < 0).sum()),
        "even": int((difference == 0).sum()),
        "unscored": int(np.isnan(difference).sum()),
    }
    return {"shown": shown, "tally": tally, "pairs": _rows(site, index, first, second, scores, shown)}


def _rows(site: Site, index: RunIndex, first: Any, second: Any, scores: Any, shown: Slice) -> list[Pair]:
    numbers = [(int(index.numbers[first[at]]), int(index.numbers[second[at]])) for at in shown.places]
    with site.reader() as reader:
        lines = item_lines(reader, [number for number, _ in numbers])
    return [
        Pair(lines[one].id, one, other, (_score(scores[first[at]]), _score(scores[second[at]])))
        for at, (one, other) in zip(shown.places, numbers, strict=True)
    ]


def _score(value: float) -> float | None:
    return float(value) if value == value else None
