"""`anthropic/MODEL`: Anthropic's Messages API, with cache marks on what calls about an item share, and its batches.

One request a call. What a model does not take (a temperature, a JSON schema, so many tokens of answer) is found out by
its refusal, remembered in `lacks` and left out from then on. Log-probabilities do not exist here, so neither does
`--answer digit`.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from jurybox.errors import JudgeFailure, JudgeSpecError
from jurybox.judges.anthropic_batches import AnthropicBatches
from jurybox.judges.base import Judge, Settings
from jurybox.judges.environment import refuse_stray_key, setting
from jurybox.judges.http import LONGEST_REST, Answer, Server, checked_address, checked_key, count, server_message
from jurybox.judges.prices import Price, context_of, price_of
from jurybox.types import Question, Reply

OWN_HOST = "api.anthropic.com"
DEFAULT_BASE_URL = f"https://{OWN_HOST}"
PATH = "/v1/messages"
VERSION = "2023-06-01"
KEY, ADDRESS = "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"

# The API wants a limit. Newer models think before they answer, and their thinking counts: it gets most of the room.
TOKENS_TO_THINK = 15_000
TOKENS_A_RUBRIC = 1_000
# Writing to the cache for five minutes costs a quarter more than plain input (platform.claude.com, pricing).
CACHE_WRITE = 1.25

_LIMITS = ("requests", "tokens", "input-tokens", "output-tokens")
_TOO_LONG = re.compile(r"prompt is too long|exceed context limit|input is too long", re.IGNORECASE)
_MAXIMUM = re.compile(r"tokens > (\d+) maximum")
_NO_TEMPERATURE = re.compile(r"temperature.*(deprecated|not supported|unsupported|only be set|not allowed)", re.DOTALL)
_NO_SCHEMA = re.compile(r"output_config|output_format|json_schema|structured output", re.IGNORECASE)
_FEWER_TOKENS = re.compile(r"max_tokens: \d+ > (\d+)")


def make(spec: str, model: str, settings: Settings) -> Judge:
    base_url = settings.base_url or setting(ADDRESS) or DEFAULT_BASE_URL
    # Some servers give their address with the version, as OpenAI's do.
    parts = checked_address(base_url.rstrip("/").removesuffix("/v1"), DEFAULT_BASE_URL)
    host = parts.hostname or ""
    if not settings.base_url:
        refuse_stray_key(ADDRESS, KEY, host, OWN_HOST)
    key = checked_key(KEY)
    if not key and base_url == DEFAULT_BASE_URL:
        raise JudgeSpecError(f"--judge {spec}: {KEY} is not set; set it, or name another server with --base-url")
    if settings.price is not None:
        tokens_in, tokens_out = settings.price
        price: Price | None = Price(tokens_in, tokens_in, tokens_out, CACHE_WRITE * tokens_in, origin="--price")
    else:
        price = price_of("anthropic", host, model)
    headers = {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})
    server = Server(parts, headers, (key,) if key else ())
    return AnthropicJudge(spec, model, server, price, context_of(host, model))


@dataclass(frozen=True, slots=True)
class MessageReply(Reply):
    """A reply that also knows how many of its tokens were written to the cache: they cost more. The store does not
    keep them; the cost is reckoned when the reply comes."""

    tokens_written: int = 0


class AnthropicJudge(Judge):
    cached = True

    def __init__(
        self, spec: str, model: str, server: Server, price: Price | None = None, context: int | None = None
    ) -> None:
        self.spec, self.model = spec, model
        self.address = server.address
        self.context = context
        self.prices = "" if price is None else price.origin
        self.lacks: dict[str, str] = {}
        self.batches = AnthropicBatches(server, self.request, self.reply, self.failure)
        self._server, self._price = server, price
        self._most_tokens: int | None = None

    async def ask(self, question: Question) -> Reply:
        while True:
            request = self.request(question)
            try:
                body = orjson.dumps(request)
            except TypeError as exc:
                raise JudgeFailure(f"the prompt cannot be sent as JSON: {exc}", retry=False) from exc
            answer = await self._server.post(PATH, body)
            self._note_limits(answer)
            if answer.status == 200:
                return self.reply(answer.body, answer.seconds)
            said, kind = server_message(answer.body)
            if answer.status == 400 and self._learn(said, request, question):
                continue  # a request that was refused for what it asks is no try
            raise self.failure(said, kind, answer)

    def cost(self, reply: Reply) -> float | None:
        if self._price is None:
            return None
        return self._price.of(reply, reply.tokens_written if isinstance(reply, MessageReply) else 0)

    async def close(self) -> None:
        await self._server.close()

    def request(self, question: Question) -> dict[str, Any]:
        """The body of a request, with what the model turned out not to take left out."""
        prompt, sampling = question.prompt, question.sampling
        request: dict[str, Any] = {
            "model": self.model,
            "max_tokens": sampling.max_tokens or self._room(question),
            "messages": [{"role": "user", "content": _blocks(prompt.user, prompt.shared)}],
        }
        if prompt.system:
            request["system"] = _blocks(prompt.system)
        if question.sampling.seed is not None:
            self.lacks.setdefault("seed", "the Messages API takes none")
        if "temperature" not in self.lacks:
            request["temperature"] = sampling.temperature
        if prompt.schema is not None and "json_schema" not in self.lacks:
            request["output_config"] = {"format": {"type": "json_schema", "schema": prompt.schema}}
        return request

    def reply(self, body: bytes, seconds: float) -> Reply:
        try:
            answer = orjson.loads(body)
            blocks, usage = answer["content"], answer.get("usage") or {}
            text = "".join(str(block["text"]) for block in blocks if block["type"] == "text")
            reasoning = "\n".join(str(block["thinking"]) for block in blocks if block["type"] == "thinking")
            written = count(usage.get("cache_creation_input_tokens")) or 0
            read = count(usage.get("cache_read_input_tokens"))
            plain = count(usage.get("input_tokens"))
            return MessageReply(
                text=text,
                reasoning=reasoning,
                refusal=_refusal(answer, text),
                finish=_finish(answer),
                model=str(answer.get("model") or self.model),
                tokens_in=None if plain is None else plain + written + (read or 0),
                tokens_out=count(usage.get("output_tokens")),
                tokens_cached=read,
                seconds=seconds,
                tokens_written=written,
            )
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as exc:
            said, _ = server_message(body)
            raise JudgeFailure(
                f"{self.address}: its answer is not a message: {self._server.shown(said)}", retry=True
            ) from exc

    def failure(self, said: str, kind: str, answer: Answer) -> Exception:
        """What an answer other than a message means."""
        if answer.status == 413 or (answer.status == 400 and _TOO_LONG.search(said)):
            stated = _MAXIMUM.search(said)
            self.context = int(stated[1]) if stated else self.context
            message = f"{self.address} answered {answer.status}: {self._server.shown(said)}"
            return JudgeFailure(message, retry=False, too_long=True)
        hint = f" (the key is read from {KEY})" if answer.status in (401, 403) else ""
        return self._server.refusal(answer, said, hint)

    def _learn(self, said: str, request: dict[str, Any], question: Question) -> bool:
        """Whether the server refused something that can be left out; it is, from now on."""
        if "temperature" in request and _NO_TEMPERATURE.search(said):
            self.lacks.setdefault("temperature", self._server.shown(said))
            return True
        if "output_config" in request and _NO_SCHEMA.search(said):
            self.lacks.setdefault("json_schema", self._server.shown(said))
            return True
        fewer = _FEWER_TOKENS.search(said)
        if fewer is None or question.sampling.max_tokens is not None or request["max_tokens"] <= int(fewer[1]):
            return False
        self._most_tokens = int(fewer[1])  # our own number, so nothing that was asked for is lacking
        return True

    def _room(self, question: Question) -> int:
        wanted = TOKENS_TO_THINK + TOKENS_A_RUBRIC * len(question.rubrics)
        return wanted if self._most_tokens is None else min(wanted, self._most_tokens)

    def _note_limits(self, answer: Answer) -> None:
        """Rest until there is something left again."""
        for limit in _LIMITS:
            if answer.headers.get(f"anthropic-ratelimit-{limit}-remaining") != "0":
                continue
            try:
                reset = datetime.fromisoformat(answer.headers.get(f"anthropic-ratelimit-{limit}-reset", ""))
                seconds = reset.timestamp() - time.time()
            except (ValueError, OverflowError):
                continue
            if 0 < seconds <= LONGEST_REST:
                self.rest_until = max(self.rest_until, time.monotonic() + seconds)


def _blocks(text: str, shared: int = 0) -> list[dict[str, Any]]:
    """A text as blocks whose concatenation is the text, with a cache mark behind what is shared."""
    if not 0 < shared < len(text):
        return [{"type": "text", "text": text}]
    marked = {"type": "text", "text": text[:shared], "cache_control": {"type": "ephemeral"}}
    return [marked, {"type": "text", "text": text[shared:]}]


def _refusal(answer: dict[str, Any], text: str) -> str:
    if answer.get("stop_reason") != "refusal":
        return ""
    details = answer.get("stop_details") or {}
    return str(details.get("explanation") or text or "the model refused to answer")


def _finish(answer: dict[str, Any]) -> str:
    """Why it stopped, in the API's word; a full context window is a cut like any other."""
    word = str(answer.get("stop_reason") or "stop")
    return "max_tokens" if word == "model_context_window_exceeded" else word
