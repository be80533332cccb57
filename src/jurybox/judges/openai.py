"""`openai/MODEL`: any server that speaks OpenAI's chat completions (vLLM, llama.cpp, Ollama, LM Studio, hosted).

One request a call over one aiohttp session; what a server refuses is left out and asked again at once (`abilities`).
Every foreign exception and every odd answer becomes a `JudgeFailure` or a `JudgeRejection` here; the key is taken from
the environment or `.env` and never leaves this module in a message.
"""

from __future__ import annotations

import asyncio
import base64
import difflib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import SplitResult, unquote

import orjson

from jurybox.errors import JudgeFailure, JudgeRejection, JudgeSpecError, JuryboxError
from jurybox.judges.abilities import Abilities, is_too_long, stated_context
from jurybox.judges.base import Judge, Settings
from jurybox.judges.completions import UNREADABLE, add_usage, read_completion, refuse_doubled, shows_probabilities
from jurybox.judges.environment import refuse_stray_key, setting
from jurybox.judges.http import Answer, Server, checked_address, checked_key, count, rest_after, server_error
from jurybox.judges.openai_batches import OpenAIBatches
from jurybox.judges.prices import Price, context_of, price_of
from jurybox.types import ANSWERS, Question, Reply

DEFAULT_BASE_URL = "https://api.openai.com/v1"
OWN_HOST = "api.openai.com"
KEY, ADDRESS = "OPENAI_API_KEY", "OPENAI_BASE_URL"
PATH = "/chat/completions"

# Room for one digit and the marks that some models put around it.
TOKENS_OF_A_DIGIT = 5
MOST_NAMES = 10
SECONDS_FOR_MODELS = 5.0
# A feature is refused with one of these; a prompt that is too long also with the others.
FEATURE_STATUSES = frozenset({400, 403, 422, 501})
LENGTH_STATUSES = frozenset({400, 413, 422, 500})
THROTTLED_CODES = frozenset({"429", "rate_limit_exceeded", "rate_limit_error", "too_many_requests"})
# Where servers say in their list of models how many tokens one holds: vLLM, llama.cpp, and what gateways call it.
CONTEXT_FIELDS = ("max_model_len", "n_ctx", "context_length", "context_window", "max_context_length", "n_ctx_train")


def make(spec: str, model: str, settings: Settings) -> Judge:
    base_url = settings.base_url or setting(ADDRESS) or DEFAULT_BASE_URL
    parts = checked_address(base_url, "http://127.0.0.1:8000/v1")
    host = parts.hostname or ""
    if not settings.base_url and parts.username is None:
        refuse_stray_key(ADDRESS, KEY, host, OWN_HOST)
    key = checked_key(KEY)
    if not key and base_url == DEFAULT_BASE_URL:
        raise JudgeSpecError(
            f"--judge {spec}: OPENAI_API_KEY is not set; set it, or name your own server with --base-url"
        )
    headers, secrets = authorization(parts, key)
    if host == OWN_HOST:
        named = {
            "OpenAI-Organization": checked_key("OPENAI_ORGANIZATION"),
            "OpenAI-Project": checked_key("OPENAI_PROJECT"),
        }
        headers |= {name: value for name, value in named.items() if value}
    server = Server(parts, headers, secrets)
    return OpenAIJudge(
        spec, model, server, given_price(settings) or price_of("openai", host, model), context_of(host, model)
    )


class OpenAIJudge(Judge):
    answers = frozenset(ANSWERS)
    gives_several = True
    cached = True

    def __init__(
        self, spec: str, model: str, server: Server, price: Price | None = None, context: int | None = None
    ) -> None:
        self.spec, self.model = spec, model
        self.address = server.address
        self.context = context
        self.prices = "" if price is None else price.origin
        self.batches = OpenAIBatches(server, self.request, self.reply)
        self._server, self._price = server, price
        self._known = Abilities()
        self._thinks = False
        self._offered: list[Mapping[str, Any]] | None = None
        self._asking = asyncio.Lock()

    async def ask(self, question: Question) -> Reply:
        return (await self._ask(question, 1))[0]

    async def ask_several(self, question: Question, count: int) -> Sequence[Reply]:
        """Up to `count` answers out of one request. Its usage is for all of them: the first carries what went in and
        the seconds, what came out is split by the length of the texts, so that the sums are exact. Samples with seeds
        are asked one by one, because each has a seed of its own."""
        one_by_one = question.sampling.seed is not None or "n" in self._known.lacks
        most = 1 if one_by_one else self._known.most_choices or count
        return await self._ask(question, min(count, most))

    def cost(self, reply: Reply) -> float | None:
        return None if self._price is None else self._price.of(reply)

    async def learn_context(self) -> int | None:
        """How many tokens the model holds, asking the server if nobody has said yet; None if it does not tell."""
        if self.context is None:
            models = await self._models()
            ours = [model for model in models if model.get("id") == self.model] or (models if len(models) == 1 else [])
            for model in ours:
                told = {**(model.get("meta") or {}), **model}
                self.context = next((size for name in CONTEXT_FIELDS if (size := count(told.get(name)))), None)
        return self.context

    async def close(self) -> None:
        await self._server.close()

    def request(self, question: Question) -> dict[str, Any]:
        """What is sent for a question."""
        return self._request(question, 1, self._known)

    def reply(self, body: bytes, seconds: float, question: Question | None = None) -> Reply:
        """What a chat completion says."""
        return self._replies(body, seconds, question)[0]

    async def _ask(self, question: Question, wanted: int) -> list[Reply]:
        known = self._known
        wasted: Reply | None = None
        while True:
            request = self._request(question, wanted, known)
            try:
                body = orjson.dumps(request)
            except TypeError as exc:
                raise JudgeFailure(f"the prompt cannot be sent as JSON: {exc}", retry=False) from exc
            answer = await self._server.post(PATH, body)
            if rest := rest_after(answer.headers):
                self.rest_until = max(self.rest_until, time.monotonic() + rest)
            if answer.status != 200:
                outcome = await self._refused(answer, request, known)
                if isinstance(outcome, Reply):
                    return [outcome]
                known = outcome
                continue
            replies = self._replies(answer.body, answer.seconds, question)
            if known is not self._known or len(replies) < wanted:
                self._learn(known, len(replies), wanted)
            if wasted is None and self._was_cut_thinking(question, replies[0]):
                wasted = replies[0]
                continue
            return replies if wasted is None else [add_usage(wasted, replies[0]), *replies[1:]]

    def _request(self, question: Question, wanted: int, known: Abilities) -> dict[str, Any]:
        prompt, sampling = question.prompt, question.sampling
        messages = [{"role": "user", "content": prompt.user}]
        if prompt.system:
            messages.insert(0, {"role": "system", "content": prompt.system})
        request: dict[str, Any] = {"model": self.model, "messages": messages}
        lacks = known.lacks
        if "temperature" not in lacks:
            request["temperature"] = sampling.temperature
        most_tokens = sampling.max_tokens
        if question.answer == "digit":
            request |= {"logprobs": True, "top_logprobs": known.looked_at}
            # A model that takes no temperature thinks first, and its thinking counts.
            if most_tokens is None and prompt.alone and not self._thinks and "temperature" not in lacks:
                most_tokens = TOKENS_OF_A_DIGIT
        if most_tokens is not None:
            request[known.limit_name] = most_tokens
        if sampling.seed is not None and "seed" not in lacks:
            request["seed"] = sampling.seed + question.sample - 1
        if prompt.schema is not None and "json_schema" not in lacks:
            schema = {"name": "verdict", "strict": True, "schema": prompt.schema}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        if wanted > 1 and "n" not in lacks:
            request["n"] = min(wanted, known.most_choices or wanted)
        return request

    def _learn(self, known: Abilities, came: int, wanted: int) -> None:
        """Keep what a refusal taught once asking without it has worked, and that fewer answers came than were asked."""
        if came < wanted and "n" not in known.lacks and known.most_choices is None:
            few = f"{self.address} sent {came} of {wanted} answers"
            known = known.without("n", few) if came == 1 else replace(known, most_choices=came)
        self._known = self._known.and_(known)
        self.lacks = self._known.lacks

    async def _refused(self, answer: Answer, request: Mapping[str, Any], known: Abilities) -> Abilities | Reply:
        """What a refusal teaches about the server, or the reply that it is; raises what it means otherwise."""
        error = server_error(answer.body)
        said, codes = self._server.shown(error.message), (error.code, error.kind)
        if "content_filter" in codes:
            return Reply("", refusal=said, finish="content_filter", model=self.model, seconds=answer.seconds)
        if answer.status in LENGTH_STATUSES and is_too_long(error):
            self.context = stated_context(error) or self.context
            raise JudgeFailure(f"{self.address} answered {answer.status}: {said}", retry=False, too_long=True)
        if answer.status in FEATURE_STATUSES and (changed := known.after(error, request, said)) is not None:
            if "logprobs" in changed.lacks:
                raise self._without_probabilities(said)
            return changed
        hint = f" (the key is read from {KEY})" if answer.status in (401, 403) else ""
        if answer.status == 404 or "model_not_found" in codes:
            hint = await self._unknown_model()
        raise self._server.refusal(answer, error.message, hint, retry=False if "insufficient_quota" in codes else None)

    def _without_probabilities(self, said: str) -> JudgeRejection:
        self.lacks = {**self.lacks, "logprobs": said}
        return JudgeRejection(
            f"{self.address}: {self.model} gives no log-probabilities, and nothing can replace them ({said}); use "
            "--answer tag"
        )

    async def _unknown_model(self) -> str:
        """Advice for a model that is not there: what is."""
        names = [str(model["id"]) for model in await self._models() if model.get("id")]
        nearest = difflib.get_close_matches(self.model, names, n=MOST_NAMES, cutoff=0.0)
        return f" (it has: {', '.join(nearest)})" if nearest else ""

    async def _models(self) -> list[Mapping[str, Any]]:
        """What the server lists, or nothing: this is help, never a failure."""
        async with self._asking:  # of many calls that want to know, one asks
            if self._offered is None:
                self._offered = await self._listed()
        return self._offered

    async def _listed(self) -> list[Mapping[str, Any]]:
        try:
            async with asyncio.timeout(SECONDS_FOR_MODELS):
                answer = await self._server.send("GET", self._server.url("/models"))
            listed = orjson.loads(answer.body)["data"] if answer.status == 200 else []
            return [model for model in listed if isinstance(model, dict)]
        except (JuryboxError, TimeoutError, *UNREADABLE):
            return []

    def _was_cut_thinking(self, question: Question, reply: Reply) -> bool:
        """Whether the few tokens of a bare digit went into thinking: from now on there is no limit."""
        if self._thinks or question.answer != "digit" or reply.finish != "length" or question.sampling.max_tokens:
            return False
        self._thinks = bool(reply.reasoning) or not reply.text.strip() or reply.text.lstrip()[:1] in "<["
        return self._thinks

    def _replies(self, body: bytes, seconds: float, question: Question | None) -> list[Reply]:
        by_digit = question is not None and question.answer == "digit"
        try:
            answer = orjson.loads(body)
            refuse_doubled(body, answer)
            alone = by_digit and question is not None and question.prompt.alone
            replies = read_completion(answer, self.model, seconds, alone=alone)
            silent = by_digit and not shows_probabilities(answer)
        except UNREADABLE as exc:
            raise self._no_completion(body) from exc
        if silent:
            raise self._without_probabilities("its answer came without them")
        return replies

    def _no_completion(self, body: bytes) -> JudgeFailure:
        """What a body means that is no chat completion, although its status says that it is one."""
        error = server_error(body)
        message = f"{self.address}: its answer is not a chat completion: {self._server.shown(error.message)}"
        if is_too_long(error) and error.fields:
            self.context = stated_context(error) or self.context
            return JudgeFailure(message, retry=False, too_long=True)
        return JudgeFailure(message, retry=True, throttled=not THROTTLED_CODES.isdisjoint((error.code, error.kind)))


def given_price(settings: Settings) -> Price | None:
    """The price that a person gave; cached tokens cost as much as others, because nobody said otherwise."""
    if settings.price is None:
        return None
    return Price(settings.price[0], settings.price[0], settings.price[1], origin="--price")


def authorization(base: SplitResult, key: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """The header to send and the secrets in it. A name and password in the address were given for this very server,
    so they come before the key that happens to be in the environment."""
    if base.username is None:
        return ({"Authorization": f"Bearer {key}"}, (key,)) if key else ({}, ())
    name, password = unquote(base.username), unquote(base.password or "")
    encoded = base64.b64encode(f"{name}:{password}".encode()).decode()
    secrets = tuple(secret for secret in (encoded, password, base.password) if secret)
    return {"Authorization": f"Basic {encoded}"}, secrets
