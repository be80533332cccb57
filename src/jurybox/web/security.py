"""Who may talk to the server, and what a page may do: Host, Origin, token, CSRF, headers. One guard before every page.

Loopback keeps other machines out, not other pages in the same browser: a hostile page can make it send requests here
(hence Origin and CSRF), or point its own name at this address (hence Host).
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from jurybox.errors import SetupError

SAFE_METHODS = ("GET", "HEAD")
LEAST_TOKEN = 12
# A rating and its comment are far below this.
LARGEST_BODY = 64 * 1024
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")

# No inline script or style, nothing from elsewhere, in nobody's frame. A page's address goes to nobody else. To
# ourselves it must: under `no-referrer` browsers send forms with the Origin `null`, which could not be checked.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def refuse_open_door(host: str, token: str | None) -> None:
    """Whoever can reach the address can read the run: beyond this machine that takes a token."""
    if token is None and not is_loopback(host):
        raise SetupError(
            f"--host {host}: other machines could read the run and rate in it; give --token SECRET (or "
            "JURYBOX_TOKEN in the environment), or leave out --host for this machine alone"
        )
    if token is not None and len(token) < LEAST_TOKEN:
        raise SetupError(f"--token: has {len(token)} characters; at least {LEAST_TOKEN} are needed to be hard to guess")


@dataclass(frozen=True)
class Guard:
    """The rules of one server start. Its secret lives as long as the process, so cookies of an earlier one are void."""

    host: str
    port: int
    token: str | None = None
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    @property
    def session_cookie(self) -> str:
        """Browsers share cookies between the ports of a host; each server has names of its own."""
        return f"jurybox_session_{self.port}"

    @property
    def door_cookie(self) -> str:
        return f"jurybox_door_{self.port}"

    def knows_host(self, name: str) -> bool:
        """Whether a Host header names this server. An address cannot be pointed elsewhere, as a name can."""
        asked, _, port = name.rpartition(":") if not name.endswith("]") else (name, "", "")
        if not asked or not port:
            asked, port = name, "80"
        if port != str(self.port):
            return False
        if is_loopback(self.host):
            return asked.lower() in LOOPBACK_NAMES or asked.strip("[]") == self.host
        return asked.lower() in (self.host.lower(), socket.gethostname().lower(), *LOOPBACK_NAMES) or _is_address(asked)

    def knows_origin(self, headers: Mapping[str, str]) -> bool:
        """Whether a write comes from one of our own pages. A browser always says where from."""
        if headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return False
        own = f"http://{headers.get('host', '')}"
        origin = headers.get("origin")
        if origin is not None:
            return origin == own
        return headers.get("referer", "").startswith(f"{own}/")

    def csrf(self, session: str) -> str:
        """The word that forms of a session carry: another site cannot read it, and it is nothing without the cookie."""
        return self._seal("csrf", session)

    def csrf_holds(self, session: str, word: str) -> bool:
        return bool(session) and hmac.compare_digest(self.csrf(session).encode(), word.encode())

    @property
    def door_key(self) -> str:
        """What the browser keeps instead of the token."""
        return self._seal("door", self.token or "")

    def opens(self, token: str) -> bool:
        return self.token is not None and hmac.compare_digest(self.token.encode(), token.encode())

    def is_inside(self, cookies: Mapping[str, str]) -> bool:
        given = cookies.get(self.door_cookie, "")
        return self.token is None or hmac.compare_digest(self.door_key.encode(), given.encode())

    def _seal(self, kind: str, value: str) -> str:
        return hmac.new(self.secret, f"{kind}\0{value}".encode(), hashlib.sha256).hexdigest()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def read_cookies(header: str) -> dict[str, str]:
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(header).items()}
    except CookieError:
        return {}


def read_form(body: bytes) -> dict[str, str]:
    """A form as browsers send it; the first value of each name."""
    fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=50)
    return {name: values[0] for name, values in fields.items()}
