"""A real HTTP server for tests that speaks chat completions, knows the right score, and fails as it is told to.

It runs in a thread with an event loop of its own. What it answers is decided by `plan`, a function of the request;
None means the right answer. Every request that arrived is kept.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import struct
import threading
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from types import TracebackType
from typing import Any

from aiohttp import web

_MARK = re.compile(r"\[\[item (\d+)\]\]")
_TITLE = re.compile(r"^Metric\n\n(.+?): ", re.MULTILINE)


def mark(number: int) -> str:
    """What a summary must contain for the server to know which one it is."""
    return f"[[item {number}]]"


def right_score(number: int, title: str) -> int:
    """The score of summary `number` on the rubric of that title: anything, but always the same."""
    return 1 + zlib.crc32(f"{number} {title}".encode()) % 5


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived; `nth` says how often this very body has come, from 1."""

    path: str
    headers: Mapping[str, str]
    raw: bytes
    nth: int

    @property
    def digest(self) -> str:
        return sha256(self.raw).hexdigest()

    @property
    def body(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.raw)
        return parsed

    @property
    def user(self) -> str:
        return str(self.body["messages"][-1]["content"])

    @property
    def item(self) -> int:
        found = _MARK.search(self.user)
        assert found is not None, "a test's summary carries its mark"
        return int(found[1])

    @property
    def titles(self) -> list[str]:
        return _TITLE.findall(self.user)


Answer = Callable[[web.Request, Request], Awaitable[web.StreamResponse]]
Plan = Callable[[Request], Answer | None]


def completion(content: Any = None, *, finish: str = "stop", model: str = "judge-1", **message: Any) -> Answer:
    """A chat completion with this content."""

    async def answer(_: web.Request, request: Request) -> web.StreamResponse:
        return web.json_response(_completion(content, finish, model, message))

    return answer


def _completion(content: Any, finish: str, model: str, message: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": model,
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 40}},
    }


def chat(*contents: Any, logprobs: Any = None, finish: str = "stop", more: Any = None, **headers: str) -> Answer:
    """A chat completion with one choice for each content; `more` is added to the body, headers have _ for -."""

    async def answer(_: web.Request, request: Request) -> web.StreamResponse:
        whole = _completion(None, finish, "judge-1", {})
        whole["choices"] = [
            {"index": place, "message": {"role": "assistant", "content": content}, "finish_reason": finish}
            | ({} if logprobs is None else {"logprobs": logprobs})
            for place, content in enumerate(contents)
        ]
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.json_response({**whole, **(more or {})}, headers=given)

    return answer


def lacking(parameter: str, refusal: Mapping[str, Any], status: int = 400) -> Plan:
    """A server that refuses every request which has this parameter, with this error, and judges rightly otherwise."""
    refuse = body(json.dumps({"error": refusal}), status=status)
    return lambda request: refuse if parameter in request.body else None


def body(text: str | bytes, *, status: int = 200, kind: str = "application/json", **headers: str) -> Answer:
    """Any body at all; header names are given with _ for -."""
    raw = text.encode() if isinstance(text, str) else text

    async def answer(_: web.Request, request: Request) -> web.StreamResponse:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(body=raw, status=status, headers={"Content-Type": kind, **given})

    return answer


def error(status: int, message: str = "something is wrong", code: str | None = None, **headers: str) -> Answer:
    """An error as OpenAI words it."""
    return body(json.dumps({"error": {"message": message, "type": "error", "code": code}}), status=status, **headers)


def echo_key(status: int = 401) -> Answer:
    """An error that repeats the key that it was sent."""

    async def answer(http: web.Request, request: Request) -> web.StreamResponse:
        key = request.headers.get("Authorization", "").removeprefix("Bearer ")
        return await error(status, f"Incorrect API key provided: {key}.", "invalid_api_key")(http, request)

    return answer


async def reset(http: web.Request, request: Request) -> web.StreamResponse:
    """The connection is reset before a byte of the answer."""
    assert http.transport is not None, "the request came over a connection"
    connection = http.transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    http.transport.abort()
    return web.Response()


async def half_a_body(http: web.Request, request: Request) -> web.StreamResponse:
    """The head promises more than comes."""
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "1000"})
    await response.prepare(http)
    await response.write(b'{"id": "chatcmpl-1", "choices": [')
    assert http.transport is not None, "the request came over a connection"
    http.transport.close()
    return response


def slow(seconds: float, then: Answer | None = None) -> Answer:
    """The answer comes late."""

    async def answer(http: web.Request, request: Request) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await (then or right)(http, request)

    return answer


async def right(http: web.Request, request: Request) -> web.StreamResponse:
    """The answer a perfect judge gives, in the form that was asked for."""
    scores = {title: right_score(request.item, title) for title in request.titles}
    if "response_format" in request.body:
        schema = request.body["response_format"]["json_schema"]["schema"]
        verdicts = [{"reasoning": "Counted.", "score": score} for score in scores.values()]
        several = "score" not in schema["properties"]
        content = json.dumps(dict(zip(schema["properties"], verdicts, strict=True)) if several else verdicts[0])
    elif "Score for " in request.user:
        content = "\n".join(f"Reasoning for {name}: counted.\nScore for {name}: {n}" for name, n in scores.items())
    else:
        content = f"Reason: every statement was counted.\nScore- <score>{next(iter(scores.values()))}</score>"
    return web.json_response(_completion(content, "stop", "judge-1", {}))


class JudgeServer:
    """`with JudgeServer() as server:` … `server.base_url`; `latency` in seconds holds for every answer."""

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self.latency = 0.0
        self.requests: list[Request] = []
        self.seen: Counter[str] = Counter()
        self.in_flight = self.most_in_flight = 0
        self._arrived = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._started = threading.Event()
        self._port = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def always(self, answer: Answer) -> None:
        self.plan = lambda request: answer

    def first(self, *answers: Answer) -> None:
        """These answers to the first times that a body comes, the right one from then on."""
        self.plan = lambda request: answers[request.nth - 1] if request.nth <= len(answers) else None

    def wait_for(self, requests: int, seconds: float = 30.0) -> None:
        """Return when so many requests have arrived in all."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: len(self.requests) >= requests, seconds), (
                f"{len(self.requests)} of {requests} requests came within {seconds:g} s"
            )

    def __enter__(self) -> JudgeServer:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _serve(self) -> None:
        self._loop.run_until_complete(self._main())
        self._loop.close()

    async def _main(self) -> None:
        self._stop = asyncio.Event()
        application = web.Application(client_max_size=2**28)
        application.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self._port = runner.addresses[0][1]
        self._started.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _handle(self, http: web.Request) -> web.StreamResponse:
        raw = await http.read()
        digest = sha256(raw).hexdigest()
        with self._arrived:
            self.seen[digest] += 1
            request = Request(http.path_qs, dict(http.headers), raw, self.seen[digest])
            self.requests.append(request)
            self._arrived.notify_all()
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            if self.latency:
                await asyncio.sleep(self.latency)
            return await ((self.plan and self.plan(request)) or right)(http, request)
        finally:
            self.in_flight -= 1
