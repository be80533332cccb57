"""OpenAI's batches: a file of requests goes up, a batch is made of it, files of answers and of errors come down.

Every batch carries its label as metadata, so one that was sent just before a kill is found again for certain.
"""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import aiohttp
import orjson

from jurybox.errors import JudgeFailure
from jurybox.judges.abilities import is_too_long
from jurybox.judges.batches import Batches, BatchState
from jurybox.judges.http import RETRIED_STATUSES, Answer, Server, server_error, server_message
from jurybox.types import Question, Reply

ENDPOINT = "/v1/chat/completions"
LABEL = "jurybox"
# Clocks differ: a batch may seem to be older than our intent to send it.
CLOCKS_DIFFER = 300.0
_WORKING = frozenset({"validating", "in_progress", "finalizing", "cancelling"})
# The one reason to refuse a batch that passes: too many tokens are waiting for this model already.
_CROWDED = "token_limit_exceeded"

MakeRequest = Callable[[Question], dict[str, Any]]
ReadReply = Callable[[bytes, float], Reply]


class OpenAIBatches(Batches):
    """The batches of one judge: its server, how it words a question, and how it reads a chat completion."""

    def __init__(self, server: Server, make_request: MakeRequest, read_reply: ReadReply) -> None:
        self._server = server
        self._make_request, self._read_reply = make_request, read_reply

    def size(self, name: str, question: Question) -> int:
        return len(self._line(name, question))

    async def submit(self, asked: Mapping[str, Question], label: str) -> str:
        lines = io.BytesIO()
        for name, question in asked.items():
            lines.write(self._line(name, question))
        lines.seek(0)
        form = aiohttp.FormData()
        form.add_field("purpose", "batch")
        form.add_field("file", lines, filename=f"{label}.jsonl", content_type="application/jsonl")
        file = self._parsed(await self._server.send("POST", self._server.url("/files"), data=form))
        wanted = {
            "input_file_id": file["id"],
            "endpoint": ENDPOINT,
            "completion_window": "24h",
            "metadata": {LABEL: label},
        }
        return str(self._parsed(await self._server.post("/batches", orjson.dumps(wanted)))["id"])

    async def find(self, label: str, names: AbstractSet[str], since: float, known: AbstractSet[str]) -> str | None:
        page: dict[str, Any] = {"has_more": True}
        while page.get("has_more"):
            after = {"after": page["last_id"]} if "last_id" in page else {}
            options = {"params": {"limit": "100", **after}}
            page = self._parsed(await self._server.send("GET", self._server.url("/batches"), **options))
            for batch in page["data"]:
                if (batch.get("metadata") or {}).get(LABEL) == label:
                    return str(batch["id"])
                if (batch.get("created_at") or 0) < since - CLOCKS_DIFFER:  # latest first
                    return None
        return None

    async def state(self, batch: str) -> BatchState:
        answer = await self._server.send("GET", self._server.url(f"/batches/{batch}"))
        if answer.status == 404:
            return BatchState("lost", said=self._server.shown(server_message(answer.body)[0]))
        found = self._parsed(answer)
        counts = found.get("request_counts") or {}
        done = int(counts.get("completed") or 0) + int(counts.get("failed") or 0)
        total, status = int(counts.get("total") or 0), found.get("status")
        if status in _WORKING:
            return BatchState("working", done, total)
        if status == "failed":
            said, crowded = self._why_failed(found)
            return BatchState("refused", done, total, said, crowded)
        if not any(_files(found)):
            return BatchState("cancelled" if status == "cancelled" else "lost", done, total, f"it {status}")
        return BatchState("cancelled" if status == "cancelled" else "over", done, total, f"it {status}")

    async def results(self, batch: str) -> AsyncIterator[tuple[str, Reply | JudgeFailure]]:
        found = self._parsed(await self._server.send("GET", self._server.url(f"/batches/{batch}")))
        for file in _files(found):
            if not file:
                continue
            async for line in self._server.lines(self._server.url(f"/files/{file}/content")):
                if not line.strip():
                    continue
                try:
                    row = orjson.loads(line)
                    name = str(row["custom_id"])
                    code = (row.get("error") or {}).get("code")
                except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as exc:
                    raise JudgeFailure(f"{self._server.address}: file {file} has a broken line", retry=True) from exc
                if code != "batch_cancelled":
                    yield name, self._result(row)

    async def cancel(self, batch: str) -> None:
        self._parsed(await self._server.send("POST", self._server.url(f"/batches/{batch}/cancel")))

    def _line(self, name: str, question: Question) -> bytes:
        request = {"custom_id": name, "method": "POST", "url": ENDPOINT, "body": self._make_request(question)}
        try:
            return orjson.dumps(request) + b"\n"
        except TypeError as exc:
            raise JudgeFailure(f"the prompt cannot be sent as JSON: {exc}", retry=False) from exc

    def _result(self, row: Mapping[str, Any]) -> Reply | JudgeFailure:
        response = row.get("response") or {}
        body = orjson.dumps(response.get("body"))
        status = response.get("status_code")
        try:
            if status == 200:
                return self._read_reply(body, 0.0)
        except JudgeFailure as failure:
            return failure
        if status is None:
            error = server_error(orjson.dumps({"error": row.get("error") or {"message": "nothing came back"}}))
            return JudgeFailure(self._server.shown(error.message), retry=True)
        error = server_error(body)
        said = self._server.shown(error.message)
        if "content_filter" in (error.code, error.kind):
            return Reply("", refusal=said, finish="content_filter")
        retry = status in RETRIED_STATUSES or status >= 500
        message = f"{self._server.address} answered {status}: {said}"
        return JudgeFailure(message, retry=retry, too_long=not retry and is_too_long(error))

    def _why_failed(self, batch: Mapping[str, Any]) -> tuple[str, bool]:
        errors = (batch.get("errors") or {}).get("data") or []
        said = "; ".join(str(error.get("message")) for error in errors[:3]) or "it failed and does not say why"
        return self._server.shown(said), any(error.get("code") == _CROWDED for error in errors)

    def _parsed(self, answer: Answer) -> dict[str, Any]:
        said, code = server_message(answer.body)
        if answer.status != 200:
            hint = " (the key is read from OPENAI_API_KEY)" if answer.status in (401, 403) else ""
            if answer.status in (404, 405):
                hint = " (does this server have a batch API?)"
            raise self._server.refusal(answer, said, hint, retry=False if code == "insufficient_quota" else None)
        try:
            found = orjson.loads(answer.body)
            if "id" in found or "data" in found:
                return dict(found)
        except (orjson.JSONDecodeError, TypeError):
            pass
        raise JudgeFailure(f"{self._server.address}: its answer is no batch: {self._server.shown(said)}", retry=True)


def _files(batch: Mapping[str, Any]) -> tuple[str | None, str | None]:
    return batch.get("output_file_id"), batch.get("error_file_id")
