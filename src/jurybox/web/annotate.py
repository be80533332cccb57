"""Rating in the browser: blind, one rubric at a time, each action on the disk before the page moves on.

Every action is a form, so it works without scripts; a script sends the same form and keeps it until it was answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jurybox.data.rating import LONGEST_COMMENT, LONGEST_RATER, checked_rater
from jurybox.errors import JuryboxError, SetupError
from jurybox.report.annotating import Order, Turn, rated_rubrics, rater_agreement
from jurybox.report.duels import holds_duels
from jurybox.store import AnnotationLog, Progress, current_ratings, progress
from jurybox.store.browsing import rated_state
from jurybox.types import SCALE, Rubric
from jurybox.web.queues import Desk
from jurybox.web.site import NotThere, Site, fragment, page, site_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

ORDER_WORDS: Mapping[Order, str] = {
    "shuffled": "Shuffled, each their own",
    "together": "Shuffled, the same for all",
    "advice": "What `estimate` wants next",
}


def show(request: Request) -> Response:
    site, desk = site_of(request), Desk.of(request.query_params)
    index = site.watch.index()
    with site.reader() as reader:
        if not index.series or holds_duels(reader):
            why = (
                "Duels compare two summaries; people rate one at a time, which is another run." if index.series else ""
            )
            return page(request, "annotate_none.html.j2", "Annotate", why=why)
        rubrics = rated_rubrics(reader)
        told: dict[str, Any] = {"rubrics": rubrics, "people": progress(reader), "orders": ORDER_WORDS, "desk": desk}
        told["longest"] = LONGEST_RATER
        if not desk.rater:
            return page(request, "annotate_start.html.j2", "Annotate", problem="", **told)
        try:
            checked_rater(desk.rater)
        except ValueError as exc:
            return page(request, "annotate_start.html.j2", "Annotate", 400, problem=str(exc), **told)
        turn = site.queues.turn(reader, desk, index.newest.item)
        mine = next((one for one in told["people"] if one.rater == desk.rater), Progress(desk.rater, 0, 0, 0, ""))
    total = len(index.numbers) * (1 if desk.rubric else len(rubrics))
    values = {**told, "turn": turn, "mine": mine, "total": total, "current": _current(turn, rubrics), "steps": SCALE}
    return page(request, "annotate.html.j2", "Annotate", longest_comment=LONGEST_COMMENT, **values)


def act(request: Request) -> Response:
    """Record what a rater did, then show what is next. A form that comes a second time changes nothing."""
    from starlette.responses import RedirectResponse

    site, form = site_of(request), request.state.form
    desk = Desk.of(form)
    with AnnotationLog(site.path) as log:
        what = form.get("act", "")
        if what == "undo":
            log.undo(desk.rater)
        else:
            _record(site, log, desk, form)
    return RedirectResponse(desk.address, 303)


def live(request: Request) -> Response:
    """How far raters are and how far they agree, beside the work."""
    site = site_of(request)
    with site.reader() as reader:
        state, people = rated_state(reader), progress(reader)
        titles = {one.name: one.title for one in rated_rubrics(reader)}
    found, fresh = site.workshop.get("raters", state, rater_agreement, wait=0.3)
    if isinstance(found, JuryboxError):
        found = None
    return fragment(request, "agreement.html.j2", True, people=people, agreement=found, fresh=fresh, titles=titles)


def _current(turn: Turn | None, rubrics: tuple[Rubric, ...]) -> Rubric | None:
    return None if turn is None else next(one for one in rubrics if one.name == turn.rubrics[0])


def _record(site: Site, log: AnnotationLog, desk: Desk, form: Mapping[str, str]) -> None:
    act, on, comment = form.get("act", ""), form.get("on", ""), form.get("comment", "").replace("\r\n", "\n")
    with site.reader() as reader:
        key = site.queues.key(reader, form.get("item", ""), site.watch.index().newest.item)
        if key is None:
            raise NotThere("The run has no such item to rate; nothing was recorded.")
        if act == "skip":
            log.skip(key, on, desk.rater, comment)
            return
        if act not in map(str, SCALE):
            raise SetupError(f"the score should be one of {', '.join(map(str, SCALE))}; nothing was recorded")
        if form.get("again") and any(
            (one.key, one.rubric, one.score, one.comment) == (key, on, float(act), comment.strip())
            for one in current_ratings(reader, desk.rater)
        ):
            return  # it had arrived; only the answer was lost
    log.record(key, on, desk.rater, float(act), comment)
