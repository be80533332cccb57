"""Anthropic's Message Batches: one request holds all questions, the results are lines of JSON.

Its batches carry no label. One that was sent just before a kill is looked for among those made since, by its number of
questions, and by the names in its results once it has ended. While it has not, the number is all there is to go by: a
guess, which the runner checks when the results come.
"""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Callable, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any

import orjson

from jurybox.errors import JudgeFailure
from jurybox.judges.batches import Batches, BatchState
from jurybox.judges.http import Answer, Server, server_message
from jurybox.types import Question, Reply

PATH = "/v1/messages/batches"
# Clocks differ: a batch may seem to be older than our intent to send it.
CLOCKS_DIFFER = 300.0
_JSON = {"Content-Type": "application/json"}
# Errors of a single question that another try may mend, by Anthropic's names.
_PASSING = frozenset({"api_error", "overloaded_error", "rate_limit_error", "timeout_error"})
_ENDS = ("succeeded", "errored", "canceled", "expired")

MakeRequest = Callable[[Question], dict[str, Any]]
ReadReply = Callable[[bytes, float], Reply]
Explain = Callable[[str, str, Answer], Exception]


class AnthropicBatches(Batches):
    """`explain` makes our exception of an answer that is an error: words, kind, answer."""

    def __init__(self, server: Server, make_request: MakeRequest, read_reply: ReadReply, explain: Explain) -> None:
        self._server = server
        self._make_request, self._read_reply, self._explain = make_request, read_reply, explain

    def size(self, name: str, question: Question) -> int:
        return len(self._line(name, question)) + 1

    async def submit(self, asked: Mapping[str, Question], label: str) -> str:
        body = io.BytesIO()
        for number, (name, question) in enumerate(asked.items()):
            body.write(b"," if number else b'{"requests":[')
            body.write(self._line(name, question))
        body.write(b"]}")
        body.seek(0)
        made = self._parsed(await self._server.send("POST", self._server.url(PATH), data=body, headers=_JSON))
        return str(made["id"])

    async def find(self, label: str, names: AbstractSet[str], since: float, known: AbstractSet[str]) -> str | None:
        guess = None
        async for batch in self._made_since(since):
            if batch["id"] in known or sum(_counts(batch).values()) != len(names):
                continue
            if batch.get("processing_status") != "ended":
                guess = guess or str(batch["id"])
            elif await self._first_name(batch) in names:
                return str(batch["id"])
        return guess

    async def state(self, batch: str) -> BatchState:
        answer = await self._server.send("GET", self._server.url(f"{PATH}/{batch}"))
        if answer.status == 404:
            return BatchState("lost", said=self._server.shown(server_message(answer.body)[0]))
        found = self._parsed(answer)
        counts = _counts(found)
        done, total = sum(counts[end] for end in _ENDS), sum(counts.values())
        if found.get("processing_status") != "ended":
            return BatchState("working", done, total)
        if found.get("archived_at") is not None:
            return BatchState("lost", done, total, "its results are no longer kept there")
        if counts["canceled"]:
            return BatchState("cancelled", done, total, f"{counts['canceled']} of {total} questions were cancelled")
        return BatchState("over", done, total)

    async def results(self, batch: str) -> AsyncIterator[tuple[str, Reply | JudgeFailure]]:
        async for line in self._server.lines(self._server.url(f"{PATH}/{batch}/results")):
            if not line.strip():
                continue
            try:
                row = orjson.loads(line)
                name, result = str(row["custom_id"]), row["result"]
                kind = result["type"]
            except (orjson.JSONDecodeError, KeyError, TypeError) as exc:
                raise JudgeFailure(f"{self._server.address}: batch {batch} has a broken line", retry=True) from exc
            if kind != "canceled":
                yield name, self._result(kind, result)

    async def cancel(self, batch: str) -> None:
        self._parsed(await self._server.send("POST", self._server.url(f"{PATH}/{batch}/cancel")))

    def _line(self, name: str, question: Question) -> bytes:
        try:
            return orjson.dumps({"custom_id": name, "params": self._make_request(question)})
        except TypeError as exc:
            raise JudgeFailure(f"the prompt cannot be sent as JSON: {exc}", retry=False) from exc

    def _result(self, kind: str, result: Mapping[str, Any]) -> Reply | JudgeFailure:
        if kind == "expired":
            return JudgeFailure("the batch expired before this question was asked", retry=True)
        try:
            if kind == "succeeded":
                return self._read_reply(orjson.dumps(result["message"]), 0.0)
            error = result["error"].get("error") or result["error"]
            said, name = str(error["message"]), str(error["type"])
        except JudgeFailure as failure:
            return failure
        except (KeyError, TypeError, AttributeError):
            return JudgeFailure(f"the batch says {kind} and nothing else", retry=True)
        message = f"{name}: {self._server.shown(said)}"
        means = self._explain(said, name, Answer(400, {}, b"", 0.0))
        too_long = isinstance(means, JudgeFailure) and means.too_long
        return JudgeFailure(message, retry=name in _PASSING, too_long=too_long)

    async def _made_since(self, since: float) -> AsyncIterator[dict[str, Any]]:
        """The batches made since then, latest first."""
        page: dict[str, Any] = {"has_more": True}
        while page.get("has_more"):
            after = {"after_id": page["last_id"]} if "last_id" in page else {}
            options = {"params": {"limit": "100", **after}}
            page = self._parsed(await self._server.send("GET", self._server.url(PATH), **options))
            for batch in page["data"]:
                if _time(batch) < since - CLOCKS_DIFFER:
                    return
                yield batch

    async def _first_name(self, batch: Mapping[str, Any]) -> str | None:
        """The name of one result, or None when they are no longer kept."""
        if batch.get("results_url") is None:
            return None
        lines = self._server.lines(self._server.url(f"{PATH}/{batch['id']}/results"))
        try:
            async for line in lines:
                return str(orjson.loads(line).get("custom_id"))
        except orjson.JSONDecodeError:
            pass
        finally:
            await lines.aclose()
        return None

    def _parsed(self, answer: Answer) -> dict[str, Any]:
        said, kind = server_message(answer.body)
        if answer.status != 200:
            raise self._explain(said, kind, answer)
        try:
            found = orjson.loads(answer.body)
            if "id" in found or "data" in found:
                return dict(found)
        except (orjson.JSONDecodeError, TypeError):
            pass
        raise JudgeFailure(f"{self._server.address}: its answer is no batch: {self._server.shown(said)}", retry=True)


def _counts(batch: Mapping[str, Any]) -> dict[str, int]:
    counts = batch.get("request_counts") or {}
    return {name: int(counts.get(name) or 0) for name in ("processing", *_ENDS)}


def _time(batch: Mapping[str, Any]) -> float:
    try:
        return datetime.fromisoformat(str(batch["created_at"])).timestamp()
    except (KeyError, ValueError):
        return 0.0
