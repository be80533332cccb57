"""The OpenAI judge sends what was asked for, reads what came, and turns every fault into the right kind of error."""

from __future__ import annotations

import asyncio
import base64
import email.utils
import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

import server as answers
from jurybox.errors import JudgeFailure, JudgeRejection, JudgeSpecError
from jurybox.judges import Settings, make_judge
from jurybox.judges.http import retry_after
from jurybox.judges.openai import OpenAIJudge
from jurybox.parsing import read
from jurybox.types import Item, Prompt, Question, Reply, Rubric, Sampling
from server import Answer, JudgeServer, mark, right_score

KEY = "sk-very-secret-0123456789"
RUBRIC = Rubric(name="fluency", title="Fluency")


def question(
    user: str = f"Metric\n\nFluency: Is it fluent?\n{mark(1)}",
    *,
    system: str = "You judge.",
    schema: dict[str, Any] | None = None,
    sampling: Sampling | None = None,
    sample: int = 1,
) -> Question:
    item = Item("p1", "base", "A summary.", {})
    prompt = Prompt(user, system, schema=schema)
    return Question(item, (RUBRIC,), prompt, "tag", sampling or Sampling(), sample)


def ask(base_url: str, asked: Question | None = None) -> Reply:
    """Ask once, for real."""

    async def once() -> Reply:
        judge = make_judge("openai/judge-1", Settings(base_url=base_url))
        try:
            return await judge.ask(asked or question())
        finally:
            await judge.close()

    return asyncio.run(once())


def status_of(reply: Reply) -> str:
    return read(reply, (RUBRIC,), "tag")["fluency"].status


# The request that reaches the server


def test_model_messages_and_temperature_reach_the_server(server: JudgeServer) -> None:
    ask(server.base_url, question(sampling=Sampling(temperature=0.25)))
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["Content-Type"] == "application/json"
    assert request.body == {
        "model": "judge-1",
        "messages": [
            {"role": "system", "content": "You judge."},
            {"role": "user", "content": f"Metric\n\nFluency: Is it fluent?\n{mark(1)}"},
        ],
        "temperature": 0.25,
    }


def test_without_a_system_message_only_the_user_speaks(server: JudgeServer) -> None:
    ask(server.base_url, question(system=""))
    assert [message["role"] for message in server.requests[0].body["messages"]] == ["user"]


def test_max_tokens_is_sent_and_each_sample_has_a_seed_of_its_own(server: JudgeServer) -> None:
    for sample in (1, 2):
        ask(server.base_url, question(sampling=Sampling(max_tokens=64, seed=7), sample=sample))
    assert [request.body["max_tokens"] for request in server.requests] == [64, 64]
    assert [request.body["seed"] for request in server.requests] == [7, 8]


def test_a_schema_asks_for_strict_json(server: JudgeServer) -> None:
    schema = {"type": "object", "properties": {"reasoning": {}, "score": {}}}
    ask(server.base_url, question(schema=schema))
    assert server.requests[0].body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "verdict", "strict": True, "schema": schema},
    }


def test_text_arrives_as_it_was_sent(server: JudgeServer) -> None:
    text = f'Metric\n\nFluency: "quoted" \\ é 漢 🫖 \u2028 \x00 {{braces}} </s> {mark(1)}'
    ask(server.base_url, question(text))
    assert server.requests[0].user == text


def test_the_authorization_header_is_there_only_when_a_key_is(
    server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", f"  {KEY}\n")
    ask(server.base_url)
    assert [request.headers.get("Authorization") for request in server.requests] == [None, f"Bearer {KEY}"]


def test_credentials_in_the_address_are_sent_instead_of_the_key(
    server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both at once was a crash; those of the address were given for this very server."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    ask(server.base_url.replace("http://", "http://ann:s%40fe@"))
    (request,) = server.requests
    assert request.headers["Authorization"] == "Basic " + base64.b64encode(b"ann:s@fe").decode()


@pytest.mark.parametrize("ending", ["", "/", "//"])
def test_a_trailing_slash_of_the_address_does_not_matter(server: JudgeServer, ending: str) -> None:
    ask(server.base_url + ending)
    assert server.requests[0].path == "/v1/chat/completions"


def test_a_query_of_the_address_stays_behind_the_path(server: JudgeServer) -> None:
    ask(server.base_url + "?api-version=1")
    assert server.requests[0].path == "/v1/chat/completions?api-version=1"


def test_the_address_can_come_from_the_environment(server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)

    async def once() -> None:
        judge = make_judge("openai/judge-1", Settings())
        await judge.ask(question())
        await judge.close()

    asyncio.run(once())
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1:8000/v1",
        "ftp://ann:s3cret@host/v1",
        "ann:s3cret@host/v1",
        "http://",
        "http://ann:s3cret@host:99999/v1",
        "http://ann:s3cret@host:port/v1",
        "http://ann:s3cret@[::1/v1",
    ],
)
def test_an_address_that_is_none_is_refused_without_its_password(address: str) -> None:
    with pytest.raises(JudgeSpecError, match=r"--base-url .*should be an address such as") as caught:
        make_judge("openai/judge-1", Settings(base_url=address))
    assert "s3cret" not in str(caught.value)


def test_the_hosted_address_needs_a_key() -> None:
    with pytest.raises(JudgeSpecError, match="OPENAI_API_KEY is not set"):
        make_judge("openai/gpt-4o", Settings())


def test_a_key_with_a_line_break_is_refused_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\nX-Other: 1")
    with pytest.raises(JudgeSpecError, match="OPENAI_API_KEY") as caught:
        make_judge("openai/judge-1", Settings(base_url="http://127.0.0.1:9/v1"))
    assert KEY not in str(caught.value)


# What is read


def test_a_good_answer_is_read_whole(server: JudgeServer) -> None:
    reply = ask(server.base_url)
    assert read(reply, (RUBRIC,), "tag")["fluency"].score == right_score(1, "Fluency")
    assert (reply.model, reply.finish) == ("judge-1", "stop")
    assert (reply.tokens_in, reply.tokens_out, reply.tokens_cached) == (100, 20, 40)
    assert reply.seconds > 0


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thinking_in_a_field_of_its_own_is_kept_apart(server: JudgeServer, field: str) -> None:
    server.always(answers.completion("Score- <score>2</score>", **{field: "I lean to <score>5</score>."}))
    reply = ask(server.base_url)
    assert reply.text == "Score- <score>2</score>"
    assert reply.reasoning == "I lean to <score>5</score>."
    assert read(reply, (RUBRIC,), "tag")["fluency"].score == 2


def test_content_in_parts_is_joined(server: JudgeServer) -> None:
    parts = [{"type": "text", "text": "Fine. Score- "}, {"type": "text", "text": "<score>4</score>"}]
    server.always(answers.completion(parts))
    assert ask(server.base_url).text == "Fine. Score- <score>4</score>"


def test_no_content_with_a_refusal_is_refused(server: JudgeServer) -> None:
    server.always(answers.completion(None, refusal="I cannot judge this."))
    reply = ask(server.base_url)
    assert reply.refusal == "I cannot judge this."
    assert status_of(reply) == "refused"


def test_no_content_at_all_is_unparsed(server: JudgeServer) -> None:
    server.always(answers.completion(None))
    assert status_of(ask(server.base_url)) == "unparsed"


def test_an_answer_cut_off_by_its_length_is_truncated(server: JudgeServer) -> None:
    server.always(answers.completion("The summary begins well, and", finish="length"))
    assert status_of(ask(server.base_url)) == "truncated"


def test_an_answer_stopped_by_the_content_filter_is_refused(server: JudgeServer) -> None:
    server.always(answers.completion("The summary", finish="content_filter"))
    assert status_of(ask(server.base_url)) == "refused"


def test_a_prompt_stopped_by_the_content_filter_is_refused(
    server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Azure says 400 for it; the item is the reason, so the run goes on. A key in its words is not kept."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.always(answers.error(400, f"The prompt for {KEY} was filtered.", "content_filter"))
    reply = ask(server.base_url)
    assert status_of(reply) == "refused"
    assert reply.refusal == "The prompt for *** was filtered."


def test_a_compressed_answer_is_read(server: JudgeServer) -> None:
    raw = json.dumps({"choices": [{"message": {"content": "<score>3</score>"}}]}).encode()
    server.always(answers.body(gzip.compress(raw), Content_Encoding="gzip"))
    assert ask(server.base_url).text == "<score>3</score>"


@pytest.mark.parametrize("count", [2**64 - 1, -1, 12.5, "12", True, None])
def test_a_token_count_that_is_none_is_unknown(server: JudgeServer, count: Any) -> None:
    """One above 2**63 could not even be stored."""
    message = {"choices": [{"message": {"content": "<score>3</score>"}}], "usage": {"prompt_tokens": count}}
    server.always(answers.body(json.dumps(message)))
    assert ask(server.base_url).tokens_in is None


# Faults


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_a_passing_fault_may_be_tried_again_and_keeps_the_servers_words(server: JudgeServer, status: int) -> None:
    server.always(answers.error(status, "come back later"))
    with pytest.raises(JudgeFailure, match=f"answered {status}: come back later") as caught:
        ask(server.base_url)
    assert caught.value.retry
    assert caught.value.after is None


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 413, 422])
def test_a_lasting_fault_rejects_every_call_with_the_servers_words(server: JudgeServer, status: int) -> None:
    server.always(answers.error(status, "the model `judge-1` does not exist"))
    with pytest.raises(JudgeRejection, match=f"answered {status}: the model `judge-1` does not exist"):
        ask(server.base_url)


def test_a_spent_quota_rejects_every_call(server: JudgeServer) -> None:
    """OpenAI says 429 for it, but waiting does not help."""
    server.always(answers.error(429, "You exceeded your current quota", "insufficient_quota"))
    with pytest.raises(JudgeRejection, match="exceeded your current quota"):
        ask(server.base_url)


def test_a_redirect_is_not_followed_with_the_key(server: JudgeServer) -> None:
    server.always(answers.body("", status=307, Location="http://127.0.0.1:9/elsewhere"))
    with pytest.raises(JudgeRejection, match="answered 307"):
        ask(server.base_url)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        pytest.param(answers.reset, "", id="reset"),
        pytest.param(answers.half_a_body, "", id="half a body"),
        pytest.param(answers.body("<html>Proxy says hello</html>", kind="text/html"), "Proxy says hello", id="html"),
        pytest.param(answers.body('{"choices": [{"mess'), "not a chat completion", id="malformed"),
        pytest.param(answers.body(""), "an empty answer", id="empty body"),
        pytest.param(answers.body("[]"), "not a chat completion", id="a list"),
        pytest.param(answers.body("null"), "not a chat completion", id="null"),
        pytest.param(answers.body('{"choices": []}'), "not a chat completion", id="no choices"),
        pytest.param(answers.body('{"choices": [{}]}'), "not a chat completion", id="no message"),
        pytest.param(answers.completion(17), "not a chat completion", id="content is a number"),
        pytest.param(answers.completion(["text"]), "not a chat completion", id="parts are texts"),
        pytest.param(answers.error(200, "the engine is loading"), "the engine is loading", id="error with 200"),
        pytest.param(answers.body('{"error": "overloaded"}', status=503), "503: overloaded", id="bare error"),
        pytest.param(answers.body("x" * 10**6, status=500), "answered 500: xxx", id="endless words"),
        pytest.param(answers.body("no gzip", Content_Encoding="gzip"), "", id="not compressed"),
        pytest.param(answers.body(b"\xff\xfe\x00", kind="application/json"), "not a chat completion", id="bytes"),
    ],
)
def test_a_broken_answer_may_be_tried_again(server: JudgeServer, broken: Answer, said: str) -> None:
    server.always(broken)
    with pytest.raises(JudgeFailure) as caught:
        ask(server.base_url)
    assert caught.value.retry
    assert said in str(caught.value)
    assert server.base_url in str(caught.value)
    assert len(str(caught.value)) < 700


def test_nobody_listening_is_said_plainly() -> None:
    with pytest.raises(JudgeFailure, match=r"no connection \(.*refused") as caught:
        ask("http://127.0.0.1:9/v1")
    assert caught.value.retry


def test_a_host_that_no_name_can_be_rejects_every_call() -> None:
    with pytest.raises(JudgeRejection, match="is not an address that can be asked"):
        ask("http://judge..example/v1")


def test_a_prompt_that_is_no_text_fails_alone() -> None:
    with pytest.raises(JudgeFailure, match="cannot be sent") as caught:
        ask("http://127.0.0.1:9/v1", question("half a surrogate \ud800"))
    assert not caught.value.retry


def subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    yield kind
    for below in kind.__subclasses__():
        yield from subclasses(below)


def made(kind: type[Any]) -> Exception:
    """An exception of a class whose constructors differ."""
    url = URL("http://127.0.0.1/v1")
    key = ConnectionKey("127.0.0.1", 80, False, True, None, None, None)
    info = aiohttp.RequestInfo(url, "POST", CIMultiDictProxy(CIMultiDict()), url)
    arguments: list[tuple[Any, ...]] = [
        (info, ()),
        (key, OSError(111, "Connection refused")),
        (key, ValueError("bad certificate")),
        ("/tmp/socket", key, OSError(111, "Connection refused")),
        (b"expected", b"got", "127.0.0.1", 80),
        (url,),
        (),
    ]
    for given in arguments:
        try:
            exc = kind(*given)
            str(exc)
        except (TypeError, AttributeError):
            continue
        assert isinstance(exc, Exception)
        return exc
    raise AssertionError(f"no way to make {kind.__name__}")


@pytest.mark.parametrize("kind", list(dict.fromkeys(subclasses(aiohttp.ClientError))), ids=lambda kind: kind.__name__)
def test_every_exception_of_aiohttp_is_translated(kind: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """None of them reaches the runner as it is, and the cause is kept."""
    broken = made(kind)

    def request(*_: object, **__: object) -> None:
        raise broken

    monkeypatch.setattr(aiohttp.ClientSession, "request", request)
    with pytest.raises((JudgeFailure, JudgeRejection)) as caught:
        ask("http://127.0.0.1:9/v1")
    assert caught.value.__cause__ is broken


# Keys


def test_a_key_that_the_server_repeats_is_hidden(server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.always(answers.echo_key())
    with pytest.raises(JudgeRejection, match=r"Incorrect API key provided: \*\*\*") as caught:
        ask(server.base_url)
    assert KEY not in str(caught.value)


def test_no_part_of_a_key_is_left_where_long_words_are_cut(
    server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.always(answers.error(500, "x" * 490 + KEY))
    with pytest.raises(JudgeFailure) as caught:
        ask(server.base_url)
    assert "sk-very" not in str(caught.value)


def test_a_judge_does_not_show_its_key() -> None:
    judge = make_judge("openai/judge-1", Settings(base_url="http://ann:s3cret@127.0.0.1:9/v1"))
    assert isinstance(judge, OpenAIJudge)
    assert judge.address == "http://127.0.0.1:9/v1"
    assert "s3cret" not in repr(judge)


# Retry-After


def test_retry_after_is_read_as_seconds_and_as_a_date(server: JudgeServer) -> None:
    in_an_hour = email.utils.formatdate(time.time() + 3600, usegmt=True)
    for value, least, most in (("7", 7, 7), ("0.5", 0.5, 0.5), (in_an_hour, 3500, 3600)):
        server.always(answers.error(429, "slow down", Retry_After=value))
        with pytest.raises(JudgeFailure) as caught:
            ask(server.base_url)
        assert caught.value.after is not None
        assert least <= caught.value.after <= most


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("-3", 0.0), ("nan", 0.0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0), ("soon", None), ("", None)],
)
def test_an_odd_retry_after_does_no_harm(value: str, seconds: float | None) -> None:
    assert retry_after({"Retry-After": value}) == seconds


def test_prices_given_by_hand_are_used(server: JudgeServer, tmp_path: Path) -> None:
    judge = make_judge("openai/judge-1", Settings(base_url=server.base_url, price=(1.0, 10.0)))
    assert judge.cost(Reply("", tokens_in=1_000_000, tokens_out=100_000)) == pytest.approx(2.0)
    unpriced = make_judge("openai/judge-1", Settings(base_url=server.base_url))
    assert unpriced.cost(Reply("", tokens_in=1, tokens_out=1)) is None
