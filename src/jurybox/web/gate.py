"""The guard's rules at the door of the app: nothing reaches a page that they do not let through.

It stands outside everything else, so that error pages carry the same headers as all others.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from jurybox.web.rendering import error_html, login_html
from jurybox.web.security import HEADERS, LARGEST_BODY, SAFE_METHODS, Guard, read_cookies, read_form

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# A wrong token costs its sender so many seconds.
WRONG_TOKEN = 1.0
PUBLIC = ("/static/", "/favicon.ico")


class Refused(Exception):
    """A request that goes no further, with what its sender is told."""

    def __init__(self, status: int, title: str, what: str) -> None:
        super().__init__(what)
        self.status, self.title, self.what = status, title, what


class Gate:
    """ASGI around ASGI."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app, self._guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":
            return None  # no websockets here; the server closes them
        visit = _Visit(scope, receive, send, self._guard)
        try:
            if await visit.admitted():
                await self._app(scope, visit.receive, visit.send)
        except Refused as exc:
            await visit.answer(exc.status, error_html(exc.status, exc.title, str(exc)))
        return None


class _Visit:
    """One request on its way in, and its answer on the way out."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, guard: Guard) -> None:
        self.scope, self._receive, self._send, self.guard = scope, receive, send, guard
        self.headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        self.cookies = read_cookies(self.headers.get("cookie", ""))
        self.session = self.cookies.get(guard.session_cookie, "")
        self._cookies_out: list[str] = []
        self.state: MutableMapping[str, Any] = scope.setdefault("state", {})

    async def admitted(self) -> bool:
        """Whether the app may see it; where not, it has been answered."""
        guard = self.guard
        if not guard.knows_host(self.headers.get("host", "")):
            raise Refused(421, "Not this server", "The address in your browser is not one that this server answers to.")
        if not self.session:
            self.session = secrets.token_urlsafe(24)
            self._keep(guard.session_cookie, self.session)
        self.state["csrf"] = guard.csrf(self.session)
        self.state["form"] = {}
        if self.scope["path"].startswith(PUBLIC) and self.scope["method"] in SAFE_METHODS:
            return True
        if self.scope["method"] not in SAFE_METHODS:
            await self._check_write()
        if guard.is_inside(self.cookies):
            return await self._drop_token()
        return await self._at_the_door()

    async def _check_write(self) -> None:
        if self.scope["method"] != "POST":
            raise Refused(405, "Not possible here", "Pages are read with GET and forms sent with POST.")
        if not self.guard.knows_origin(self.headers):
            raise Refused(403, "Not from this page", "Forms are taken from this server's own pages alone.")
        if self.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
            raise Refused(415, "Not a form", "This server takes forms alone.")
        try:
            self.state["form"] = form = read_form(await self._body())
        except ValueError as exc:
            raise Refused(400, "Not a form", "The form could not be read.") from exc
        if not self.guard.csrf_holds(self.session, form.get("csrf", "")):
            raise Refused(
                403, "This page is from before", "The server was started again. Go back, load the page anew, try again."
            )

    async def _body(self) -> bytes:
        body, more = bytearray(), True
        while more:
            message = await self._receive()
            if message["type"] != "http.request":
                raise Refused(400, "Interrupted", "The form did not arrive in full.")
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > LARGEST_BODY:
                raise Refused(413, "Too long", f"A form may have {LARGEST_BODY // 1024} KB.")
        return bytes(body)

    async def _drop_token(self) -> bool:
        """A token in an address that is not needed any more is taken out of it."""
        query = self._query()
        if self.guard.token is None or "token" not in dict(query):
            return True
        await self._go_on(query)
        return False

    async def _at_the_door(self) -> bool:
        """The token comes once, from a form or an address; from then on a cookie stands for it."""
        query = self._query()
        given = dict(query).get("token") or self.state["form"].get("token")
        if given is None:
            await self.answer(401, login_html(self.state["csrf"]))
        elif self.guard.opens(given):
            self._keep(self.guard.door_cookie, self.guard.door_key)
            await self._go_on(query)
        else:
            await asyncio.sleep(WRONG_TOKEN)
            await self.answer(401, login_html(self.state["csrf"], wrong=True))
        return False

    def _query(self) -> list[tuple[str, str]]:
        return parse_qsl(self.scope["query_string"].decode("latin-1"), keep_blank_values=True)

    async def _go_on(self, query: list[tuple[str, str]]) -> None:
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        path = self.scope["raw_path"].decode("latin-1") if self.scope.get("raw_path") else "/"
        # A path of two slashes would be another host's address.
        where = "/" + path.partition("?")[0].lstrip("/\\") + (f"?{rest}" if rest else "")
        where = "/" if where == "/login" else where
        await self._raw(303, b"", [(b"location", where.encode("latin-1"))])

    async def answer(self, status: int, html: str) -> None:
        body = b"" if self.scope["method"] == "HEAD" else html.encode()
        await self._raw(status, body, [(b"content-type", b"text/html; charset=utf-8")])

    async def _raw(self, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
        length = (b"content-length", str(len(body)).encode())
        await self.send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
        await self.send({"type": "http.response.body", "body": body})

    def _keep(self, name: str, value: str) -> None:
        self._cookies_out.append(f"{name}={value}; Path=/; HttpOnly; SameSite=Strict")

    async def receive(self) -> Message:
        if self.scope["method"] in SAFE_METHODS:
            return await self._receive()
        return {"type": "http.request", "body": b"", "more_body": False}  # it was read at the door

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message.get("headers", ())}
            more = [
                (name.lower().encode(), value.encode())
                for name, value in HEADERS.items()
                if name.lower().encode() not in given
            ]
            cookies = [(b"set-cookie", cookie.encode()) for cookie in self._cookies_out]
            message = {**message, "headers": [*message.get("headers", ()), *more, *cookies]}
        await self._send(message)
