"""`anthropic/MODEL` sends what the Messages API wants, marks what can be cached, and turns every answer into ours."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from batch_server import BatchServer, message, refusal
from conftest import WriteItems, assert_right
from jurybox import evaluate
from jurybox.errors import JudgeFailure, JudgeRejection, JudgeSpecError
from jurybox.judges import Judge, Settings, make_judge
from jurybox.parsing import read
from jurybox.rubrics import builtin
from jurybox.types import Item, Prompt, Question, Reply, Sampling

RUBRICS = (builtin()["fluency"],)
SCHEMA = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}


@pytest.fixture
def claude() -> Iterator[BatchServer]:
    with BatchServer() as running:
        yield running


def question(prompt: Prompt | None = None, **sampling: Any) -> Question:
    shown = prompt or Prompt("Rate this summary. [[item 1]]", "You judge summaries.")
    return Question(Item("p1", "base", "A summary.", {}), RUBRICS, shown, "tag", Sampling(**sampling))


def ask(server: BatchServer, *questions: Question, **settings: Any) -> tuple[Judge, list[Reply]]:
    judge = make_judge("anthropic/claude-x", Settings(base_url=server.base_url, **settings))

    async def asked() -> list[Reply]:
        try:
            return [await judge.ask(one) for one in questions]
        finally:
            await judge.close()

    return judge, asyncio.run(asked())


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


# What is sent


def test_a_request_is_what_the_api_wants(claude: BatchServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-1")
    claude.scripted = [message(text("4"))]
    ask(claude, question(temperature=0.2, max_tokens=300))
    assert claude.live == [
        {
            "model": "claude-x",
            "max_tokens": 300,
            "temperature": 0.2,
            "system": [text("You judge summaries.")],
            "messages": [{"role": "user", "content": [text("Rate this summary. [[item 1]]")]}],
        }
    ]
    assert claude.headers[0]["x-api-key"] == "sk-ant-1"
    assert claude.headers[0]["anthropic-version"] == "2023-06-01"


def test_what_calls_share_is_a_block_of_its_own_with_a_cache_mark(claude: BatchServer) -> None:
    user = "The material, one and the same. [[item 1]]\n\nThe rubric."
    claude.scripted = [message(text("4"))]
    ask(claude, question(Prompt(user, shared=user.index("\n\n"))))
    first, second = claude.live[0]["messages"][0]["content"]
    assert first["text"] + second["text"] == user
    assert first["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in second
    assert "system" not in claude.live[0]


def test_the_prefix_is_the_same_for_every_rubric_of_an_item(
    claude: BatchServer, write_items: WriteItems, tmp_path: Path
) -> None:
    out = tmp_path / "run.db"
    evaluate(
        write_items(3),
        rubrics="fluency,coherence,relevance",
        judge="anthropic/claude-x",
        layout="shared",
        base_url=claude.base_url,
        out=out,
        concurrency=1,
    )
    assert len(assert_right(out)) == 9
    marked = [body["messages"][0]["content"][0] for body in claude.live]
    assert all("cache_control" in block for block in marked)
    assert len({block["text"] for block in marked}) == 3


def test_without_a_limit_there_is_room_for_thinking_and_every_rubric(claude: BatchServer) -> None:
    claude.scripted = [message(text("4"))]
    ask(claude, question())
    assert claude.live[0]["max_tokens"] == 16_000


def test_json_is_asked_for_by_schema(claude: BatchServer) -> None:
    claude.scripted = [message(text('{"score": 4}'))]
    ask(claude, question(Prompt("Rate. [[item 1]]", schema=SCHEMA)))
    assert claude.live[0]["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}


# What the model does not take


@pytest.mark.parametrize(
    ("said", "lacking", "parameter"),
    [
        ("`temperature` is deprecated for this model.", "temperature", "temperature"),
        ("`temperature` may only be set to 1 when thinking is enabled.", "temperature", "temperature"),
        ("output_config: Extra inputs are not permitted", "json_schema", "output_config"),
        ("'claude-x' does not support structured outputs.", "json_schema", "output_config"),
    ],
)
def test_what_a_model_refuses_is_left_out_and_remembered(
    claude: BatchServer, said: str, lacking: str, parameter: str
) -> None:
    claude.scripted = [refusal(400, said), message(text("4")), message(text("4"))]
    asked = question(Prompt("Rate. [[item 1]]", schema=SCHEMA))
    judge, replies = ask(claude, asked, asked)
    assert [parameter in body for body in claude.live] == [True, False, False]
    assert judge.lacks == {lacking: said}
    assert len(replies) == 2


def test_a_temperature_off_its_range_is_no_lack(claude: BatchServer) -> None:
    claude.scripted = [refusal(400, "temperature: Input should be less than or equal to 1")]
    with pytest.raises(JudgeRejection, match="less than or equal to 1"):
        ask(claude, question(temperature=1.5))


def test_our_own_limit_gives_way_to_the_models(claude: BatchServer) -> None:
    said = "max_tokens: 16000 > 8192, which is the maximum allowed number of output tokens for claude-x"
    claude.scripted = [refusal(400, said), message(text("4")), message(text("4"))]
    judge, _ = ask(claude, question(), question())
    assert [body["max_tokens"] for body in claude.live] == [16_000, 8192, 8192]
    assert judge.lacks == {}


def test_a_limit_that_was_asked_for_does_not_give_way(claude: BatchServer) -> None:
    claude.scripted = [refusal(400, "max_tokens: 9000 > 8192, which is the maximum allowed number of output tokens")]
    with pytest.raises(JudgeRejection, match="9000 > 8192"):
        ask(claude, question(max_tokens=9000))


def test_digits_are_refused_before_anything_is_asked(
    claude: BatchServer, write_items: WriteItems, tmp_path: Path
) -> None:
    with pytest.raises(JudgeSpecError, match="cannot answer by digit"):
        evaluate(
            write_items(1), rubrics="fluency", judge="anthropic/claude-x", answer="digit", base_url=claude.base_url
        )
    assert claude.live == []


# What comes back


def test_a_reply_has_text_thinking_and_tokens(claude: BatchServer) -> None:
    usage = {
        "input_tokens": 7,
        "cache_creation_input_tokens": 40,
        "cache_read_input_tokens": 300,
        "output_tokens": 20,
    }
    thinking = {"type": "thinking", "thinking": "It reads well.", "signature": "x"}
    claude.scripted = [message(thinking, text("Score- "), text("<score>4</score>"), usage=usage)]
    _, (reply,) = ask(claude, question())
    assert reply.text == "Score- <score>4</score>"
    assert reply.reasoning == "It reads well."
    assert (reply.tokens_in, reply.tokens_cached, reply.tokens_out) == (347, 300, 20)
    assert (reply.model, reply.finish, reply.refusal) == ("claude-x", "end_turn", "")
    assert reply.seconds > 0


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"stop_reason": "max_tokens"}, "truncated"),
        ({"stop_reason": "model_context_window_exceeded"}, "truncated"),
        ({"stop_reason": "refusal"}, "refused"),
        ({"stop_reason": "end_turn"}, "unparsed"),
    ],
)
def test_why_it_stopped_becomes_a_status(claude: BatchServer, more: dict[str, Any], status: str) -> None:
    claude.scripted = [message(text("Well, this summary"), **more)]
    _, (reply,) = ask(claude, question())
    assert read(reply, RUBRICS, "tag")["fluency"].status == status


def test_a_refusal_is_kept_in_the_servers_words(claude: BatchServer) -> None:
    details = {"type": "refusal", "category": "bio", "explanation": "This is about dangerous things."}
    claude.scripted = [message(stop_reason="refusal", stop_details=details)]
    _, (reply,) = ask(claude, question())
    assert read(reply, RUBRICS, "tag")["fluency"].reason == "This is about dangerous things."


def test_writing_to_the_cache_costs_a_quarter_more(claude: BatchServer) -> None:
    usage = {"input_tokens": 60, "cache_creation_input_tokens": 40, "output_tokens": 20}
    claude.scripted = [message(text("4"), usage=usage)]
    judge, (reply,) = ask(claude, question(), price=(100.0, 1000.0))
    assert judge.cost(reply) == pytest.approx((60 * 100 + 40 * 125 + 20 * 1000) / 1e6)


# What goes wrong


@pytest.mark.parametrize(
    "answer",
    [
        web.json_response({"type": "error", "error": {"type": "api_error", "message": "Internal"}}),
        web.json_response({"type": "message", "usage": {}}),
        web.json_response({"content": "4"}),
        web.json_response([1, 2]),
        web.Response(text="<html>bad gateway</html>", content_type="text/html"),
    ],
    ids=["error object", "no content", "content is text", "a list", "html"],
)
def test_a_200_that_is_no_message_is_a_failure(claude: BatchServer, answer: web.Response) -> None:
    claude.scripted = [answer]
    with pytest.raises(JudgeFailure, match="is not a message") as caught:
        ask(claude, question())
    assert caught.value.retry


@pytest.mark.parametrize(("status", "kind"), [(429, "rate_limit_error"), (529, "overloaded_error"), (500, "api_error")])
def test_busy_servers_are_asked_again_later(claude: BatchServer, status: int, kind: str) -> None:
    claude.scripted = [refusal(status, "Overloaded", kind, retry_after="7")]
    with pytest.raises(JudgeFailure, match="Overloaded") as caught:
        ask(claude, question())
    assert caught.value.retry
    assert caught.value.after == 7
    assert caught.value.throttled == (status != 500)


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_names_its_variable_and_not_itself(
    claude: BatchServer, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    claude.scripted = [refusal(status, "invalid x-api-key: sk-ant-secret", "authentication_error")]
    with pytest.raises(JudgeRejection, match="ANTHROPIC_API_KEY") as caught:
        ask(claude, question())
    assert "sk-ant-secret" not in str(caught.value)


def test_an_unknown_model_stops_the_run(claude: BatchServer) -> None:
    claude.scripted = [refusal(404, "model: claude-x", "not_found_error")]
    with pytest.raises(JudgeRejection, match="404: model: claude-x"):
        ask(claude, question())


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (400, "input length and `max_tokens` exceed context limit: 199000 + 16000 > 200000"),
        (413, "Request exceeds the maximum size"),
    ],
)
def test_a_prompt_that_is_too_long_is_this_calls_failure_alone(claude: BatchServer, status: int, said: str) -> None:
    claude.scripted = [refusal(status, said)]
    with pytest.raises(JudgeFailure) as caught:
        ask(claude, question())
    assert caught.value.too_long
    assert not caught.value.retry


def test_the_limit_that_a_refusal_states_is_remembered(claude: BatchServer) -> None:
    claude.scripted = [refusal(400, "prompt is too long: 210000 tokens > 200000 maximum")]
    judge = make_judge("anthropic/claude-x", Settings(base_url=claude.base_url))

    async def asked() -> None:
        with pytest.raises(JudgeFailure):
            await judge.ask(question())
        await judge.close()

    asyncio.run(asked())
    assert judge.context == 200_000


# Limits, keys, addresses


@pytest.mark.parametrize("limit", ["requests", "tokens", "input-tokens", "output-tokens"])
def test_a_limit_that_is_used_up_is_rested_for(claude: BatchServer, limit: str) -> None:
    reset = (datetime.now(UTC) + timedelta(seconds=50)).isoformat()
    headers = {f"anthropic-ratelimit-{limit}-remaining": "0", f"anthropic-ratelimit-{limit}-reset": reset}
    claude.scripted = [message(text("4"), headers=headers)]
    judge, _ = ask(claude, question())
    assert 0 < judge.rest_until - time.monotonic() <= 50


@pytest.mark.parametrize(
    ("remaining", "reset"),
    [("3", "2099-01-01T00:00:00Z"), ("0", "2099-01-01T00:00:00Z"), ("0", "2001-01-01T00:00:00Z"), ("0", "soon")],
    ids=["something is left", "far away", "over", "no time"],
)
def test_nothing_is_rested_for_without_need(claude: BatchServer, remaining: str, reset: str) -> None:
    headers = {"anthropic-ratelimit-tokens-remaining": remaining, "anthropic-ratelimit-tokens-reset": reset}
    claude.scripted = [message(text("4"), headers=headers)]
    judge, _ = ask(claude, question())
    assert judge.rest_until == 0


def test_the_vendors_own_server_needs_a_key() -> None:
    with pytest.raises(JudgeSpecError, match="ANTHROPIC_API_KEY is not set"):
        make_judge("anthropic/claude-x", Settings())


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/"])
def test_the_address_may_end_as_people_write_it(
    claude: BatchServer, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", claude.base_url.removesuffix("/v1") + ending)
    claude.scripted = [message(text("4"))]
    judge = make_judge("anthropic/claude-x", Settings())

    async def asked() -> Reply:
        try:
            return await judge.ask(question())
        finally:
            await judge.close()

    assert asyncio.run(asked()).text == "4"


def test_an_address_from_a_file_gets_no_key_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text("ANTHROPIC_BASE_URL=https://elsewhere.example\n")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-1")
    with pytest.raises(JudgeSpecError, match="is not sent there"):
        make_judge("anthropic/claude-x", Settings())
