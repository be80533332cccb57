"""HTTP as judges need it: one aiohttp session a server, foreign exceptions turned into ours, no secret in a message.

It knows nothing of any vendor's API; `openai.py` and `anthropic.py` speak through it.
"""

from __future__ import annotations

import asyncio
import email.utils
import os
import re
import time
from collections.abc import AsyncGenerator, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit, urlunsplit

import aiohttp
import orjson
from multidict import istr

from jurybox.errors import JudgeFailure, JudgeRejection, JudgeSpecError, JuryboxError
from jurybox.judges.environment import setting

RETRIED_STATUSES = frozenset({408, 409, 425, 429, 529})
THROTTLED_STATUSES = frozenset({429, 529})
_MESSAGE_CHARACTERS = 500
_FOREIGN = (aiohttp.ClientError, asyncio.IncompleteReadError, OSError, UnicodeError)
# What is left of a limit, and when it is filled up again, for requests and for tokens. Their case is settled once.
_LEFT = tuple(
    (istr(f"X-RateLimit-Remaining-{what}"), istr(f"X-RateLimit-Reset-{what}")) for what in ("Requests", "Tokens")
)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
# A limit that is filled up tomorrow is no pause; the refusals that come will say so.
LONGEST_REST = 120.0


class Answer(NamedTuple):
    """What came back: status, headers, the whole body, and how long it took."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    seconds: float


class Server:
    """One server. Opens its session at the first request and tries each request once. `unreachable` is advice for when
    nobody listens there."""

    def __init__(
        self, base: SplitResult, headers: Mapping[str, str], secrets: tuple[str, ...] = (), *, unreachable: str = ""
    ) -> None:
        host = base.netloc.rpartition("@")[2]
        self.address = urlunsplit((base.scheme, host, base.path, "", ""))
        self._base, self._host = base, host
        self._headers = dict(headers)
        self._secrets = secrets
        self._unreachable = unreachable
        self._session: aiohttp.ClientSession | None = None
        self._urls: dict[str, str] = {}

    def url(self, path: str) -> str:
        """The address of a path below the base, with the base's own query."""
        known = self._urls.get(path)
        if known is None:
            whole = self._base.path.rstrip("/") + path
            known = self._urls[path] = urlunsplit((self._base.scheme, self._host, whole, self._base.query, ""))
        return known

    def post(self, path: str, body: bytes) -> Coroutine[Any, Any, Answer]:
        # A payload brings its own content type; headers of one request would all be merged anew, at 10 µs.
        payload = aiohttp.BytesPayload(body, content_type="application/json")
        return self.send("POST", self.url(path), data=payload)

    async def send(self, method: str, url: str, **options: Any) -> Answer:
        """One request; `options` are aiohttp's. Redirects are not followed: a key goes to one server only."""
        if self._session is None:
            self._session = self._open()
        started = time.perf_counter()
        try:
            async with self._session.request(method, url, allow_redirects=False, **options) as response:
                body = await response.read()
                return Answer(response.status, response.headers, body, time.perf_counter() - started)
        except _FOREIGN as exc:
            raise self._translated(exc) from exc

    async def lines(self, url: str) -> AsyncGenerator[bytes, None]:
        """The lines of a large answer as they come, so that it is never held whole."""
        if self._session is None:
            self._session = self._open()
        try:
            async with self._session.get(url, allow_redirects=False) as response:
                if response.status != 200:
                    answer = Answer(response.status, response.headers, await response.read(), 0.0)
                    raise self.refusal(answer, server_message(answer.body)[0])
                rest = b""
                async for chunk in response.content.iter_any():
                    *whole, rest = (rest + chunk).split(b"\n") if b"\n" in chunk else (rest + chunk,)
                    for line in whole:
                        yield line
                if rest.strip():
                    yield rest
        except _FOREIGN as exc:
            raise self._translated(exc) from exc

    def _translated(self, exc: Exception) -> JuryboxError:
        """Foreign exceptions end here."""
        if isinstance(exc, aiohttp.ClientConnectorCertificateError):
            return JudgeRejection(f"{self.address}: its certificate is not valid: {self.shown(str(exc))}")
        if isinstance(exc, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError | UnicodeError):
            return JudgeRejection(f"{self.address}: is not an address that can be asked")
        advice = self._unreachable if isinstance(exc, aiohttp.ClientConnectorError) else ""
        return JudgeFailure(f"{self.address}: {self.shown(_what_broke(exc))}{advice}", retry=True)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def shown(self, text: str) -> str:
        """A server's words, without the secrets we sent it, and not endless."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text[:_MESSAGE_CHARACTERS]

    def refusal(self, answer: Answer, said: str, hint: str = "", *, retry: bool | None = None) -> Exception:
        """What an answer other than 200 means: try again later, or give up the run."""
        message = f"{self.address} answered {answer.status}: {self.shown(said)}"
        retried = answer.status in RETRIED_STATUSES or answer.status >= 500
        if retried if retry is None else retry:
            throttled = answer.status in THROTTLED_STATUSES
            return JudgeFailure(message, retry=True, after=retry_after(answer.headers), throttled=throttled)
        return JudgeRejection(message + hint)

    def _open(self) -> aiohttp.ClientSession:
        # The runner bounds what is in flight and how long it may take; a second bound here would only hide there.
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=20),
            headers=self._headers,
            trust_env=_has_proxy(),
        )


def checked_address(base_url: str, example: str, name: str = "--base-url") -> SplitResult:
    """A base URL in its parts; raises `JudgeSpecError` for what is no address. `name` is where it was given."""
    try:
        parts = urlsplit(base_url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts
    except ValueError:  # a port that is no number, half a bracket
        pass
    shown = base_url.partition("?")[0].rpartition("@")[2]  # never a password
    raise JudgeSpecError(f"{name} {shown}: should be an address such as {example}")


def checked_key(name: str) -> str:
    """A key from the environment or from `.env`, or an empty text."""
    key = setting(name).strip()
    if not key.isprintable():
        raise JudgeSpecError(f"{name} holds a line break or another character that no key has")
    return key


def retry_after(headers: Mapping[str, str]) -> float | None:
    """How many seconds the server asks us to wait: a number, or a date (RFC 9110, 10.2.3)."""
    value = headers.get("Retry-After")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def rest_after(headers: Mapping[str, str]) -> float:
    """Seconds until a limit of which nothing is left is filled up again; 0 where something is, or nobody says."""
    rest = 0.0
    for left, reset in _LEFT:
        if headers.get(left) in ("0", "0.0"):
            rest = max(rest, _duration(headers.get(reset, "")))
    return min(rest, LONGEST_REST)


def _duration(text: str) -> float:
    """`1s`, `6m0s`, `120ms`, `1h2m3s`, or plain seconds; 0 for anything else."""
    text = text.strip()
    parts = _DURATION.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        return sum(float(number) * _UNITS[unit] for number, unit in parts)
    return float(text) if re.fullmatch(r"\d{1,9}(?:\.\d+)?", text) else 0.0


@dataclass(frozen=True, slots=True)
class ServerError:
    """What a server says went wrong, as far as its body tells: `param` is the part of the request that it means,
    `fields` everything else that it says about it."""

    message: str
    code: str = ""
    kind: str = ""
    param: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)


def server_error(body: bytes) -> ServerError:
    """OpenAI's `{"error": {…}}`, the same without its wrapping, a bare text, FastAPI's `detail`; or the whole."""
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        parsed = None
    error = parsed.get("error") or parsed if isinstance(parsed, dict) else None
    if isinstance(error, str):
        return ServerError(error)
    if isinstance(error, dict):
        if error.get("message"):
            code, kind, param = (str(error.get(name) or "") for name in ("code", "type", "param"))
            return ServerError(str(error["message"]), code, kind, param, error)
        if error.get("detail"):
            return _detailed(error["detail"])
    return ServerError(body.decode("utf-8", "replace").strip() or "an empty answer")


def _detailed(detail: Any) -> ServerError:
    first = detail[0] if isinstance(detail, list) else detail
    if not isinstance(first, dict):
        return ServerError(str(first))
    place = first.get("loc")
    param = ".".join(map(str, place)) if isinstance(place, list) else ""
    return ServerError(f"{param}: {first.get('msg') or first.get('message') or 'is not right'}", param=param)


def server_message(body: bytes) -> tuple[str, str]:
    """The server's own words and its error code or type, as far as the body has them."""
    error = server_error(body)
    return error.message, error.code or error.kind


def count(value: Any) -> int | None:
    """A count as servers give it; None for what is none, or is too large for the store."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def _what_broke(exc: BaseException) -> str:
    if isinstance(exc, aiohttp.ClientConnectorError):
        number = exc.os_error.errno  # asyncio's own words for it name the call, not what went wrong
        return f"no connection ({os.strerror(number) if number and number > 0 else exc.os_error.strerror or exc})"
    if isinstance(exc, aiohttp.ServerDisconnectedError | ConnectionResetError):
        return "the connection was closed before an answer came"
    first_line = str(exc).partition("\n")[0]  # aiohttp quotes the bytes it could not read below it
    return f"{type(exc).__name__}: {first_line}" if first_line else type(exc).__name__


def _has_proxy() -> bool:
    return any(os.environ.get(name) for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"))
