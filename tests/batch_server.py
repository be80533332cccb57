"""A real HTTP server for tests that also has both vendors' batch APIs, and Anthropic's messages.

What a single question is answered is decided as in `server.py`: by `plan`, a function of the request, or rightly. How
batches fare is told by the fields of `BatchServer`. `answered` counts, by name, how often a question was answered: each
of those is paid.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Literal, Self, cast

from aiohttp import web

from server import JudgeServer, Request, right

Vendor = Literal["openai", "anthropic"]
Fate = Literal["expired", "missing"]
Json = dict[str, Any]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Wrong(Exception):
    """A request that the vendor would refuse with this status and these words."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status


@dataclass
class Row:
    """One question of a batch, and what became of it."""

    name: str
    body: Json
    fate: Fate | None = None
    status: int = 0
    answer: Json = field(default_factory=dict)


@dataclass
class Batch:
    id: str
    vendor: Vendor
    rows: list[Row]
    label: str = ""
    made: float = field(default_factory=time.time)
    looks: int = 0
    errors: list[Json] = field(default_factory=list)
    is_over: bool = False
    cancelled: bool = False


class BatchServer(JudgeServer):
    """`looks` is how often a batch is seen at work before it is over; None holds it there. `fate` decides what becomes
    of a question, by its row and how often it came. `waiting_limit` is how many questions may wait in all. `scripted`
    answers go to the next live messages."""

    def __init__(self) -> None:
        super().__init__()
        self.key = ""
        self.looks: int | None = 1
        self.fate: Callable[[Row, int], Fate | None] = lambda row, nth: None
        self.waiting_limit: int | None = None
        self.refuses: Json = {}
        self.invalid = ""
        self.page = 100
        self.hang_after_making = False
        self.hang_after_lines: int | None = None
        self.break_after_making = 0
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, Batch] = {}
        self.answered: Counter[str] = Counter()
        self.came: Counter[str] = Counter()
        self.lines_sent = 0
        self.live: list[Json] = []
        self.headers: list[dict[str, str]] = []
        self.scripted: list[web.Response] = []
        self._prefixes: set[str] = set()

    def made(self, vendor: Vendor | None = None) -> list[Batch]:
        return [batch for batch in self.batches.values() if vendor in (None, batch.vendor)]

    async def _handle(self, http: web.Request) -> web.StreamResponse:
        self._check_key(http)
        path = http.path.removeprefix("/v1")
        raw = b"" if path == "/files" else await http.read()
        for shape, method, handler in _ROUTES:
            found = re.fullmatch(shape, path)
            if found and method == http.method:
                try:
                    response: web.StreamResponse = await handler(self, http, raw, *found.groups())
                except Wrong as exc:
                    raise _error(exc.status, str(exc)) from exc
                return response
        return await super()._handle(http)

    def _check_key(self, http: web.Request) -> None:
        given = http.headers.get("x-api-key") or http.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.key and given != self.key:
            raise _error(401, "invalid key")

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    # What both have

    def _make(self, vendor: Vendor, rows: list[Row], label: str = "") -> Batch:
        number = len(self.batches) + 1
        batch = Batch(f"{'batch' if vendor == 'openai' else 'msgbatch'}_{number:03}", vendor, rows, label)
        waiting = sum(len(other.rows) for other in self.batches.values() if not other.is_over)
        if self.waiting_limit is not None and waiting + len(rows) > self.waiting_limit:
            said = f"Enqueued token limit reached. Limit: {self.waiting_limit}. Please try again later."
            batch.errors = [{"code": "token_limit_exceeded", "message": said, "line": None, "param": None}]
            batch.is_over = True
        self.batches[batch.id] = batch
        return batch

    async def _made(self, http: web.Request, body: Json) -> web.StreamResponse:
        """The answer to making a batch, if it comes."""
        if self.hang_after_making:
            await asyncio.sleep(60)
        if self.break_after_making:
            self.break_after_making -= 1
            assert http.transport is not None, "the request came over a connection"
            http.transport.abort()
        return web.json_response(body)

    async def _looked_at(self, batch: Batch) -> None:
        batch.looks += 1
        if not batch.is_over and self.looks is not None and batch.looks > self.looks:
            await self._work(batch)

    async def _work(self, batch: Batch) -> None:
        """Answer every question of a batch."""
        for row in batch.rows:
            self.came[row.name] += 1
            row.fate = self.fate(row, self.came[row.name])
            if row.fate is None and not batch.cancelled:
                row.status, row.answer = await self._answer(batch.vendor, row.body, self.came[row.name])
                self.answered[row.name] += row.status == 200
        batch.is_over = True

    async def _answer(self, vendor: Vendor, body: Json, nth: int) -> tuple[int, Json]:
        chat = body if vendor == "openai" else _as_chat(body)
        if self.refuses.keys() & body.keys():
            return 400, _wrong(self.refuses[min(self.refuses.keys() & body.keys())])
        request = Request("/v1/chat/completions", {}, json.dumps(chat).encode(), nth)
        answer = (self.plan and self.plan(request)) or right
        response = cast(web.Response, await answer(cast(Any, None), request))
        assert isinstance(response.body, bytes), "a whole answer"
        said: Json = json.loads(response.body)
        if vendor == "anthropic" and response.status == 200:
            said = self._message(body, said)
        return response.status, said

    def _message(self, body: Json, chat: Json) -> Json:
        """A chat completion in Anthropic's words, with its cache."""
        choice = chat["choices"][0]
        marked = [block["text"] for block in body["messages"][0]["content"] if "cache_control" in block]
        seen = bool(marked) and marked[0] in self._prefixes
        self._prefixes.update(marked)
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [{"type": "text", "text": choice["message"]["content"]}],
            "stop_reason": "end_turn",
            "usage": {
                "input_tokens": 60 if marked else 100,
                "cache_creation_input_tokens": 40 if marked and not seen else 0,
                "cache_read_input_tokens": 40 if seen else 0,
                "output_tokens": 20,
            },
        }

    async def _stream(self, http: web.Request, lines: Iterable[Json]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/x-jsonl"})
        await response.prepare(http)
        for number, line in enumerate(lines):
            if self.hang_after_lines == number:
                await asyncio.sleep(60)
            await response.write(json.dumps(line).encode() + b"\n")
            self.lines_sent += 1
        return response

    def _listed(self, http: web.Request, vendor: Vendor, after: str) -> tuple[list[Batch], bool]:
        known = list(reversed(self.made(vendor)))
        start = next((n + 1 for n, batch in enumerate(known) if batch.id == http.query.get(after)), 0)
        size = min(int(http.query.get("limit", "20")), self.page)
        return known[start : start + size], start + size < len(known)

    def _find(self, name: str) -> Batch:
        if name not in self.batches:
            raise Wrong(404, f"No batch found with id '{name}'.")
        return self.batches[name]

    # OpenAI's

    async def _upload(self, http: web.Request, raw: bytes) -> web.StreamResponse:
        form = await http.post()
        file = form.get("file")
        if form.get("purpose") != "batch" or not isinstance(file, web.FileField) or not file.filename.endswith("jsonl"):
            raise Wrong(400, "a file of purpose batch should be a .jsonl")
        name = f"file-{len(self.files) + 1}"
        self.files[name] = file.file.read()
        return web.json_response({"id": name, "object": "file", "purpose": "batch", "bytes": len(self.files[name])})

    async def _openai_make(self, http: web.Request, raw: bytes) -> web.StreamResponse:
        wanted = json.loads(raw)
        if wanted["completion_window"] != "24h" or wanted["endpoint"] != "/v1/chat/completions":
            raise Wrong(400, "Invalid completion_window or endpoint")
        lines = [json.loads(line) for line in self.files[wanted["input_file_id"]].splitlines()]
        batch = self._make("openai", [Row(line["custom_id"], line["body"]) for line in lines], _label(wanted))
        if self.invalid:
            batch.errors.append({"code": "invalid_request", "message": self.invalid, "line": None})
        for number, line in enumerate(lines, 1):
            if line["method"] != "POST" or line["url"] != wanted["endpoint"]:
                batch.errors.append({"code": "invalid_url", "message": "wrong url", "line": number})
        if len({row.name for row in batch.rows}) < len(lines):
            batch.errors.append({"code": "duplicate_custom_id", "message": "custom_id is used twice", "line": None})
        if len({row.body["model"] for row in batch.rows}) != 1:
            batch.errors.append({"code": "mismatched_model", "message": "one model a file", "line": None})
        batch.is_over = batch.is_over or bool(batch.errors)
        return await self._made(http, self._openai_batch(batch))

    async def _openai_list(self, http: web.Request, raw: bytes) -> web.StreamResponse:
        found, more = self._listed(http, "openai", "after")
        data = [self._openai_batch(batch) for batch in found]
        last = data[-1]["id"] if data else None
        return web.json_response({"object": "list", "data": data, "has_more": more, "last_id": last})

    async def _openai_get(self, http: web.Request, raw: bytes, name: str) -> web.StreamResponse:
        await self._looked_at(self._find(name))
        return web.json_response(self._openai_batch(self._find(name)))

    async def _openai_file(self, http: web.Request, raw: bytes, kind: str, name: str) -> web.StreamResponse:
        good = kind == "output"
        rows = [row for row in self._find(name).rows if (row.status == 200) == good and row.fate != "missing"]
        return await self._stream(http, (_openai_line(row) for row in rows if row.status or row.fate))

    def _openai_batch(self, batch: Batch) -> Json:
        good = sum(row.status == 200 for row in batch.rows)
        bad = len(batch.rows) - good
        over = batch.is_over and not batch.errors
        status = "failed" if batch.errors else ("validating", "in_progress")[min(batch.looks, 1)]
        if over:
            expired = any(row.fate == "expired" for row in batch.rows)
            status = "cancelled" if batch.cancelled else "expired" if expired else "completed"
        return {
            "id": batch.id,
            "object": "batch",
            "status": status,
            "errors": {"object": "list", "data": batch.errors} if batch.errors else None,
            "created_at": int(batch.made),
            "output_file_id": f"output-{batch.id}" if over and good else None,
            "error_file_id": f"error-{batch.id}" if over and bad else None,
            "request_counts": {"total": len(batch.rows), "completed": good, "failed": bad if over else 0},
            "metadata": {"jurybox": batch.label} if batch.label else None,
        }

    # Anthropic's

    async def _message_live(self, http: web.Request, raw: bytes) -> web.StreamResponse:
        body = json.loads(raw)
        _check_message(http, body)
        self.live.append(body)
        self.seen[sha256(raw).hexdigest()] += 1
        self.headers.append(dict(http.headers))
        if self.scripted:
            return self.scripted.pop(0)
        status, said = await self._answer("anthropic", body, self.seen[sha256(raw).hexdigest()])
        return web.json_response(said, status=status)

    async def _anthropic_make(self, http: web.Request, raw: bytes) -> web.StreamResponse:
        rows = [Row(request["custom_id"], request["params"]) for request in json.loads(raw)["requests"]]
        if not all(_NAME.fullmatch(row.name) for row in rows) or len({row.name for row in rows}) < len(rows):
            raise Wrong(400, "requests: custom_id should be unique and of 64 characters at most")
        for row in rows:
            _check_message(http, row.body)
        batch = self._make("anthropic", rows)
        return await self._made(http, self._anthropic_batch(batch))

    async def _anthropic_list(self, http: web.Request, raw: bytes) -> web.StreamResponse:
        found, more = self._listed(http, "anthropic", "after_id")
        data = [self._anthropic_batch(batch) for batch in found]
        last = data[-1]["id"] if data else None
        return web.json_response({"data": data, "has_more": more, "last_id": last})

    async def _anthropic_get(self, http: web.Request, raw: bytes, name: str) -> web.StreamResponse:
        await self._looked_at(self._find(name))
        return web.json_response(self._anthropic_batch(self._find(name)))

    async def _anthropic_results(self, http: web.Request, raw: bytes, name: str) -> web.StreamResponse:
        batch = self._find(name)
        if not batch.is_over:
            raise Wrong(400, "the batch has not ended")
        rows = [row for row in batch.rows if row.fate != "missing"]
        return await self._stream(http, ({"custom_id": row.name, "result": _anthropic_result(row)} for row in rows))

    def _anthropic_batch(self, batch: Batch) -> Json:
        ends = Counter(_anthropic_result(row)["type"] if batch.is_over else "processing" for row in batch.rows)
        kinds = ("processing", "succeeded", "errored", "canceled", "expired")
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": "ended" if batch.is_over else "in_progress",
            "request_counts": {kind: ends[kind] for kind in kinds},
            "created_at": datetime.fromtimestamp(batch.made, UTC).isoformat(),
            "archived_at": None,
            "results_url": f"http://elsewhere.invalid/{batch.id}/results" if batch.is_over else None,
        }


def _label(wanted: Json) -> str:
    return str((wanted.get("metadata") or {}).get("jurybox", ""))


def _openai_line(row: Row) -> Json:
    if row.fate == "expired":
        error = {"code": "batch_expired", "message": "This request could not be executed before the completion window."}
        return {"id": "batch_req_1", "custom_id": row.name, "response": None, "error": error}
    response = {"status_code": row.status, "request_id": "r", "body": row.answer}
    return {"id": "batch_req_1", "custom_id": row.name, "response": response, "error": None}


def _anthropic_result(row: Row) -> Json:
    if row.fate == "expired":
        return {"type": "expired"}
    if row.status == 200 or row.fate == "missing":
        return {"type": "succeeded", "message": row.answer}
    if not row.status:
        return {"type": "canceled"}
    kind = "api_error" if row.status >= 500 else "invalid_request_error"
    error = {"type": kind, "message": row.answer["error"]["message"]}
    return {"type": "errored", "error": {"type": "error", "error": error}}


def _as_chat(body: Json) -> Json:
    """A message's request in the words of chat completions."""
    chat: Json = {"messages": [{"role": "user", "content": "".join(b["text"] for b in body["messages"][0]["content"])}]}
    if "output_config" in body:
        chat["response_format"] = {"json_schema": {"schema": body["output_config"]["format"]["schema"]}}
    return chat


def _check_message(http: web.Request, body: Json) -> None:
    if http.headers.get("anthropic-version") != "2023-06-01":
        raise Wrong(400, "anthropic-version: header is required")
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        raise Wrong(400, "max_tokens: Field required")
    blocks = [*body["messages"][0]["content"], *body.get("system", [])]
    if not all(block["type"] == "text" and block["text"].strip() for block in blocks):
        raise Wrong(400, "messages: text content blocks must be non-empty")


def message(*blocks: Json, status: int = 200, headers: Mapping[str, str] | None = None, **more: Any) -> web.Response:
    """One of Anthropic's answers to a live message."""
    usage = {"input_tokens": 100, "output_tokens": 20}
    body = {
        "type": "message",
        "model": "claude-x",
        "content": blocks,
        "stop_reason": "end_turn",
        "usage": usage,
        **more,
    }
    return web.json_response(body, status=status, headers=headers)


def refusal(status: int, said: str, kind: str = "invalid_request_error", **headers: str) -> web.Response:
    """One of Anthropic's errors; header names are given with _ for -."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return web.json_response(_wrong(said, kind), status=status, headers=given)


def _wrong(said: str, kind: str = "invalid_request_error") -> Json:
    return {"type": "error", "error": {"type": kind, "message": said}}


def _error(status: int, said: str) -> web.HTTPException:
    kinds = {401: "authentication_error", 404: "not_found_error"}
    body = json.dumps(_wrong(said, kinds.get(status, "invalid_request_error")))
    known = {401: web.HTTPUnauthorized, 404: web.HTTPNotFound}
    return known.get(status, web.HTTPBadRequest)(text=body, content_type="application/json")


Handler = Callable[..., Any]
_ROUTES: list[tuple[str, str, Handler]] = [
    ("/files", "POST", BatchServer._upload),
    ("/batches", "POST", BatchServer._openai_make),
    ("/batches", "GET", BatchServer._openai_list),
    ("/batches/([^/]+)", "GET", BatchServer._openai_get),
    ("/files/(output|error)-([^/]+)/content", "GET", BatchServer._openai_file),
    ("/messages", "POST", BatchServer._message_live),
    ("/messages/batches", "POST", BatchServer._anthropic_make),
    ("/messages/batches", "GET", BatchServer._anthropic_list),
    ("/messages/batches/([^/]+)", "GET", BatchServer._anthropic_get),
    ("/messages/batches/([^/]+)/results", "GET", BatchServer._anthropic_results),
]
