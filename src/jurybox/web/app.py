"""The app: every address, what answers it, and what people read when something is not there or does not work."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jurybox.errors import JuryboxError, StoreError
from jurybox.web import annotate, failures, item, items, judge, overview, versus
from jurybox.web.gate import Gate
from jurybox.web.rendering import error_html, static_files
from jurybox.web.security import Guard
from jurybox.web.site import NotThere, Site

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

READ = {
    "/": overview.show,
    "/items": items.show,
    "/items/{number}": item.show,
    "/versus": versus.show,
    "/versus/{first}/{second}": versus.side_by_side,
    "/failures": failures.show,
    "/judge": judge.show,
    "/annotate": annotate.show,
    "/live/pace": overview.live_pace,
    "/live/overview": overview.live,
    "/live/items": items.live,
    "/live/judge": judge.live,
    "/live/raters": annotate.live,
}
WRITE = {"/annotate": annotate.act}


def make_app(run: str | Path, guard: Guard) -> Gate:
    """An ASGI app about one run file, behind its guard."""
    return gated(Site.of(Path(run), guard))


def gated(site: Site) -> Gate:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.routing import Route

    routes = [Route(path, timed(page), methods=["GET"]) for path, page in READ.items()]
    routes += [Route(path, timed(action), methods=["POST"]) for path, action in WRITE.items()]
    routes += [Route("/static/{name}", static), Route("/favicon.ico", icon)]
    # Two routes of one path: a method that neither has is refused by the last.
    handlers: dict[Any, Any] = {
        HTTPException: _no_page,
        NotThere: _not_there,
        JuryboxError: _ours,
        Exception: _unforeseen,
    }
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.state.site = site
    return Gate(app, site.guard)


def timed(page: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """Says in `Server-Timing`, which browsers' tools show, what a page cost: milliseconds of CPU, and by the clock.
    What is computed beside it in other threads is not in the first."""

    @wraps(page)
    def answered(request: Request) -> Response:
        cpu, clock = time.thread_time(), time.perf_counter()
        response = page(request)
        spent = (time.thread_time() - cpu) * 1000, (time.perf_counter() - clock) * 1000
        response.headers["server-timing"] = f"cpu;dur={spent[0]:.1f}, clock;dur={spent[1]:.1f}"
        return response

    return answered


def static(request: Request) -> Response:
    """A file of the package, by its name among those that pages load."""
    from starlette.exceptions import HTTPException
    from starlette.responses import Response

    found = static_files().get(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    content, kind = found
    return Response(content, media_type=kind, headers={"cache-control": "private, max-age=31536000, immutable"})


def icon(request: Request) -> Response:
    from starlette.responses import Response

    content, kind = static_files()["icon.svg"]
    return Response(content, media_type=kind)


def _answer(status: int, title: str, what: str) -> Response:
    from starlette.responses import HTMLResponse

    return HTMLResponse(error_html(status, title, what), status)


def _no_page(request: Request, exc: Any) -> Response:
    if exc.status_code == 405:
        return _answer(405, "Not possible here", "This address cannot be asked in this way.")
    return _answer(exc.status_code, "There is no such page", "The address leads nowhere in this run.")


def _not_there(request: Request, exc: Exception) -> Response:
    return _answer(404, "Not in this run", str(exc))


def _ours(request: Request, exc: Exception) -> Response:
    gone = not request.app.state.site.path.exists()
    if gone:
        return _answer(503, "The run file is gone", f"{exc}.")
    asked_wrongly = request.method == "POST" or not isinstance(exc, StoreError)
    return _answer(400 if asked_wrongly else 503, "That did not work", f"{exc}.")


def _unforeseen(request: Request, exc: Exception) -> Response:
    return _answer(
        500, "This should not have happened", "The server's terminal says what went wrong; the run is unharmed."
    )
