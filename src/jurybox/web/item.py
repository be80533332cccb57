"""One item: source and summary side by side, every judge's score and reason, samples, and each call word for word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from jurybox.report.asked import prompt_of
from jurybox.report.html.heat import Column
from jurybox.report.html.items import ItemView, item_view, stored_item
from jurybox.report.html.passages import Piece, reason_pieces
from jurybox.store import RunReader, ratings_of, rubric_bodies
from jurybox.store.browsing import Call, calls_of, item_key, same_source, series_rows
from jurybox.types import Judgment, Prompt
from jurybox.web.site import NotThere, number_in, page, site_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


@dataclass(frozen=True, slots=True)
class CallView:
    """A call to read: the prompt as sent, or why it is not there, the reply, the tries before it."""

    call: Call
    prompt: Prompt | None
    no_prompt: str
    when: str


@dataclass(frozen=True, slots=True)
class Sample:
    """One of several samples on one rubric by one judge."""

    number: int
    rubric: str
    judge: str
    score: float | None
    status: str
    reason: tuple[Piece, ...]


def show(request: Request) -> Response:
    site, number = site_of(request), number_in(request, "number")
    with site.reader() as reader:
        key = item_key(reader, number)
        if key is None:
            raise NotThere(f"The run has no item number {number}.")
        known, judges = site.known(reader), list(dict.fromkeys(judge for _, judge in reader.signatures()))
        values: dict[str, Any] = {
            "view": whole_view(reader, key, known, judges),
            "samples": _samples(reader, key, known),
            "calls": _calls(reader, number, key),
            "others": {system: other for system, other in same_source(reader, key[0]).items() if other != number},
            "people": ratings_of(reader, *key),
            "metadata": reader.item(*key)["metadata"],
            "known": known,
            "number": number,
        }
    index = site.watch.index()
    place = index.place(number)
    around = [] if place is None else [place - 1, place + 1]
    near = [int(index.numbers[at]) if 0 <= at < len(index.numbers) else None for at in around] or [None, None]
    return page(request, "item.html.j2", f"{key[0]} by {key[1]}", previous=near[0], following=near[1], **values)


def whole_view(reader: RunReader, key: tuple[str, str], known: Mapping[str, Column], judges: list[str]) -> ItemView:
    """With all of its source: a page of its own has room."""
    return item_view(reader, *key, known, judges, room=None)


def _samples(reader: RunReader, key: tuple[str, str], known: Mapping[str, Column]) -> list[Sample]:
    """Every sample, where a judge was asked more than once."""
    found = list(reader.judgments(key))
    several = {(one.rubric, one.judge) for one in found if one.sample > 1}
    return [_sample(one, known) for one in found if (one.rubric, one.judge) in several]


def _sample(one: Judgment, known: Mapping[str, Column]) -> Sample:
    title = known[one.rubric].title if one.rubric in known else one.rubric
    reason = reason_pieces(one.verdict.reason, one.quotes)
    return Sample(one.sample, title, one.judge, one.verdict.score, one.verdict.status, reason)


def _calls(reader: RunReader, number: int, key: tuple[str, str]) -> list[CallView]:
    item, series, bodies = stored_item(reader, *key), series_rows(reader), rubric_bodies(reader)
    found = []
    for call in calls_of(reader, number):
        prompt = prompt_of(call, item, series, bodies)
        when = datetime.fromtimestamp(call.at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        asked, why = (prompt, "") if isinstance(prompt, Prompt) else (None, prompt)
        found.append(CallView(call, asked, why, when))
    return found
