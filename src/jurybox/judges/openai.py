"""`openai/MODEL`: any server that speaks OpenAI's chat completions (vLLM, llama.cpp, Ollama, LM Studio, hosted).

One request a call over one aiohttp session. Every foreign exception and every odd answer becomes a `JudgeFailure` or a
`JudgeRejection` here; the key is taken from the environment and never leaves this module in a message.
"""

from __future__ import annotations

import asyncio
import base64
import email.utils
import os
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

import aiohttp
import orjson

from jurybox.errors import JudgeFailure, JudgeRejection, JudgeSpecError
from jurybox.judges.base import Judge, Settings
from jurybox.judges.prices import Price, price_of
from jurybox.types import Question, Reply

DEFAULT_BASE_URL = "https://api.openai.com/v1"
RETRIED_STATUSES = frozenset({408, 409, 425, 429})
_MESSAGE_CHARACTERS = 500


def make(spec: str, model: str, settings: Settings) -> Judge:
    base_url = settings.base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL
    key = os.environ.get("OPENAI_API_KEY", "").strip()
    parts = _checked_address(base_url)
    if not key.isprintable():
        raise JudgeSpecError("OPENAI_API_KEY holds a line break or another character that no key has")
    if not key and base_url == DEFAULT_BASE_URL:
        raise JudgeSpecError(
            f"--judge {spec}: OPENAI_API_KEY is not set; set it, or name your own server with --base-url"
        )
    if settings.price is not None:
        price: Price | None = Price(settings.price[0], settings.price[0], settings.price[1])
    else:
        price = price_of("openai", parts.hostname or "", model)
    return OpenAIJudge(spec, model, parts, key, price)


def _checked_address(base_url: str) -> SplitResult:
    try:
        parts = urlsplit(base_url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts
    except ValueError:  # a port that is no number, half a bracket
        pass
    shown = base_url.partition("?")[0].rpartition("@")[2]  # never a password
    raise JudgeSpecError(f"--base-url {shown}: should be an address such as http://127.0.0.1:8000/v1")


class OpenAIJudge(Judge):
    def __init__(self, spec: str, model: str, base: SplitResult, key: str, price: Price | None) -> None:
        self.spec, self.model = spec, model
        host = base.netloc.rpartition("@")[2]
        self.address = urlunsplit((base.scheme, host, base.path, "", ""))
        path = base.path.rstrip("/") + "/chat/completions"
        self._url = urlunsplit((base.scheme, host, path, base.query, ""))
        self._authorization, self._secrets = _authorization(base, key)
        self._price = price
        self._session: aiohttp.ClientSession | None = None

    async def ask(self, question: Question) -> Reply:
        started = time.perf_counter()
        try:
            body = orjson.dumps(self._request(question))
        except TypeError as exc:
            raise JudgeFailure(f"the prompt cannot be sent as JSON: {exc}", retry=False) from exc
        status, headers, answer = await self._post(body)
        seconds = time.perf_counter() - started
        if status == 200:
            return self._reply(answer, seconds)
        said, code = _server_message(answer)
        if code == "content_filter":
            return Reply("", refusal=self._shown(said), finish=code, model=self.model, seconds=seconds)
        raise self._http_error(status, code, f"{self.address} answered {status}: {self._shown(said)}", headers)

    def cost(self, reply: Reply) -> float | None:
        return None if self._price is None else self._price.of(reply)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _request(self, question: Question) -> dict[str, Any]:
        prompt, sampling = question.prompt, question.sampling
        messages = [{"role": "user", "content": prompt.user}]
        if prompt.system:
            messages.insert(0, {"role": "system", "content": prompt.system})
        request: dict[str, Any] = {"model": self.model, "messages": messages, "temperature": sampling.temperature}
        if sampling.max_tokens is not None:
            request["max_tokens"] = sampling.max_tokens
        if sampling.seed is not None:
            request["seed"] = sampling.seed + question.sample - 1
        if prompt.schema is not None:
            schema = {"name": "verdict", "strict": True, "schema": prompt.schema}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        return request

    async def _post(self, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        if self._session is None:
            self._session = self._open()
        try:
            async with self._session.post(self._url, data=body, allow_redirects=False) as response:
                return response.status, response.headers, await response.read()
        except aiohttp.ClientConnectorCertificateError as exc:
            raise JudgeRejection(f"{self.address}: its certificate is not valid: {self._shown(str(exc))}") from exc
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError, UnicodeError) as exc:
            raise JudgeRejection(f"{self.address}: is not an address that can be asked") from exc
        except (aiohttp.ClientError, asyncio.IncompleteReadError, OSError) as exc:
            raise JudgeFailure(f"{self.address}: {self._shown(_what_broke(exc))}", retry=True) from exc

    def _open(self) -> aiohttp.ClientSession:
        headers = {"Content-Type": "application/json"}
        if self._authorization:
            headers["Authorization"] = self._authorization
        # The runner bounds what is in flight and how long it may take; a second bound here would only hide there.
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=20),
            headers=headers,
            trust_env=_has_proxy(),
        )

    def _http_error(self, status: int, code: str, message: str, headers: Mapping[str, str]) -> Exception:
        retried = status in RETRIED_STATUSES or status >= 500
        if retried and code != "insufficient_quota":
            return JudgeFailure(message, retry=True, after=retry_after(headers))
        if status in (401, 403):
            message += " (the key is read from OPENAI_API_KEY)"
        return JudgeRejection(message)

    def _reply(self, body: bytes, seconds: float) -> Reply:
        try:
            answer = orjson.loads(body)
            choice = answer["choices"][0]
            message = choice["message"]
            usage = answer.get("usage") or {}
            return Reply(
                text=_content(message.get("content")),
                reasoning=str(message.get("reasoning_content") or message.get("reasoning") or ""),
                refusal=str(message.get("refusal") or ""),
                finish=str(choice.get("finish_reason") or "stop"),
                model=str(answer.get("model") or self.model),
                tokens_in=_count(usage.get("prompt_tokens")),
                tokens_out=_count(usage.get("completion_tokens")),
                tokens_cached=_count((usage.get("prompt_tokens_details") or {}).get("cached_tokens")),
                seconds=seconds,
            )
        except (orjson.JSONDecodeError, KeyError, IndexError, TypeError, AttributeError) as exc:
            said, _ = _server_message(body)
            raise JudgeFailure(
                f"{self.address}: its answer is not a chat completion: {self._shown(said)}", retry=True
            ) from exc

    def _shown(self, text: str) -> str:
        """A server's words, without the secrets we sent it, and not endless."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text[:_MESSAGE_CHARACTERS]


def _authorization(base: SplitResult, key: str) -> tuple[str, tuple[str, ...]]:
    """The header to send and the secrets in it. A name and password in the address were given for this very server,
    so they come before the key that happens to be in the environment."""
    if base.username is None:
        return (f"Bearer {key}", (key,)) if key else ("", ())
    name, password = unquote(base.username), unquote(base.password or "")
    encoded = base64.b64encode(f"{name}:{password}".encode()).decode()
    return f"Basic {encoded}", tuple(secret for secret in (encoded, password, base.password) if secret)


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


def _server_message(body: bytes) -> tuple[str, str]:
    """The server's own words and its error code, as far as the body has them."""
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        parsed = None
    error = parsed.get("error") or parsed if isinstance(parsed, dict) else None
    if isinstance(error, str):
        return error, ""
    if isinstance(error, dict) and error.get("message"):
        return str(error["message"]), str(error.get("code") or "")
    return body.decode("utf-8", "replace").strip() or "an empty answer", ""


def _content(content: Any) -> str:
    """A message's text; some servers send it in parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text") or "") for part in content)


def _count(value: Any) -> int | None:
    """A count as servers give it; None for what is none, or is too large for the store."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def _what_broke(exc: BaseException) -> str:
    if isinstance(exc, aiohttp.ClientConnectorError):
        number = exc.os_error.errno  # asyncio's own words for it name the call, not what went wrong
        return f"no connection ({os.strerror(number) if number and number > 0 else exc.os_error.strerror or exc})"
    if isinstance(exc, aiohttp.ServerDisconnectedError | ConnectionResetError):
        return "the connection was closed before an answer came"
    return f"{type(exc).__name__}: {exc}" if str(exc) else type(exc).__name__


def _has_proxy() -> bool:
    return any(os.environ.get(name) for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"))
