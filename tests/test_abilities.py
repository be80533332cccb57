"""What a server lacks is found out by trying, remembered, said, and never taken from a refusal about something else."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

import server as answers
from jurybox.errors import JudgeFailure, JudgeRejection
from jurybox.judges import Settings, make_judge
from jurybox.judges.abilities import Abilities, is_too_long, refused_feature, stated_context
from jurybox.judges.http import ServerError, rest_after, server_error
from jurybox.judges.openai import OpenAIJudge
from jurybox.parsing import read
from jurybox.types import Item, Prompt, Question, Reply, Rubric, Sampling
from server import JudgeServer, Request, lacking, mark, right_score

RUBRIC = Rubric(name="fluency", title="Fluency")
SCHEMA = {"type": "object", "properties": {"reasoning": {}, "score": {}}}
QUESTION = Question(
    Item("p1", "base", "A summary.", {}),
    (RUBRIC,),
    Prompt(f"Metric\n\nFluency: Is it fluent?\n{mark(1)}", "You judge."),
    "tag",
)
FULL = replace(
    QUESTION,
    prompt=replace(QUESTION.prompt, schema=SCHEMA),
    answer="json",
    sampling=Sampling(0.5, max_tokens=64, seed=7),
)
DIGIT = replace(QUESTION, answer="digit", prompt=replace(QUESTION.prompt, alone=True))

# Real refusals, as the servers word them.
NO_TEMPERATURE = {
    "message": "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is "
    "supported.",
    "type": "invalid_request_error",
    "param": "temperature",
    "code": "unsupported_value",
}
NO_MAX_TOKENS = {
    "message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
    "instead.",
    "type": "invalid_request_error",
    "param": "max_tokens",
    "code": "unsupported_parameter",
}
NO_SEED = {"message": "seed is not supported by this model", "type": "BadRequestError", "param": None, "code": 400}
NO_SCHEMA = {
    "message": "This response_format type is unavailable now: json_schema is not supported",
    "type": "invalid_request_error",
    "param": None,
    "code": "invalid_request_error",
}
NO_LOGPROBS = {
    "message": "You are not allowed to request logprobs from this model.",
    "type": "invalid_request_error",
    "param": None,
    "code": None,
}
FEW_LOGPROBS = {
    "message": "Invalid 'top_logprobs': integer above maximum value. Expected a value <= 5, but got 20 instead.",
    "type": "invalid_request_error",
    "param": "top_logprobs",
    "code": "integer_above_max_value",
}
NO_N = {
    "message": "Field 'n': Value must be between 1 <= value <= 1, but got 3",
    "type": "invalid_request_error",
    "code": 400,
}
TWO_SLOTS = {**NO_N, "message": "Field 'n': Value must be between 1 <= value <= 2, but got 3"}
TOO_LONG = {
    "message": "request (3032 tokens) exceeds the available context size (512 tokens), try increasing it",
    "type": "exceed_context_size_error",
    "code": 400,
    "n_prompt_tokens": 3032,
    "n_ctx": 512,
}


def asked(
    server: JudgeServer, *questions: Question, count: int | None = None, together: bool = False, model: str = "judge-1"
) -> tuple[OpenAIJudge, list[Any]]:
    """Ask for real, one after the other or all at once; returns the judge and its replies or what it raised."""

    async def once() -> tuple[OpenAIJudge, list[Any]]:
        judge = make_judge(f"openai/{model}", Settings(base_url=server.base_url))
        assert isinstance(judge, OpenAIJudge)
        ask: Callable[[Question], Any] = (lambda q: judge.ask_several(q, count)) if count else judge.ask
        try:
            if together:
                return judge, list(await asyncio.gather(*map(ask, questions), return_exceptions=True))
            return judge, [(await asyncio.gather(ask(question), return_exceptions=True))[0] for question in questions]
        finally:
            await judge.close()

    return asyncio.run(once())


def score(reply: Reply, question: Question = QUESTION) -> float | None:
    return read(reply, (RUBRIC,), question.answer)["fluency"].score


def bodies(server: JudgeServer) -> list[dict[str, Any]]:
    return [request.body for request in server.requests]


# Each ability, both ways


@pytest.mark.parametrize(
    ("feature", "parameter", "refusal", "question"),
    [
        pytest.param("temperature", "temperature", NO_TEMPERATURE, QUESTION, id="temperature"),
        pytest.param("seed", "seed", NO_SEED, FULL, id="seed"),
        pytest.param("json_schema", "response_format", NO_SCHEMA, FULL, id="json schema"),
    ],
)
def test_a_refused_parameter_is_left_out_once_and_for_all(
    server: JudgeServer, feature: str, parameter: str, refusal: Mapping[str, Any], question: Question
) -> None:
    server.plan = lacking(parameter, refusal)
    if parameter == "response_format":
        right = answers.completion(json.dumps({"reasoning": "Counted.", "score": right_score(1, "Fluency")}))
        server.plan = lambda request: lacking(parameter, refusal)(request) or right
    judge, replies = asked(server, question, question)
    assert [score(reply, question) for reply in replies] == [right_score(1, "Fluency")] * 2
    assert [parameter in body for body in bodies(server)] == [True, False, False]
    assert judge.lacks == {feature: refusal["message"]}
    first, second, _ = bodies(server)
    assert first == {**second, parameter: first[parameter]}, "nothing else is changed"


def test_a_server_that_takes_everything_is_sent_everything(server: JudgeServer) -> None:
    judge, (reply,) = asked(server, FULL)
    assert score(reply, FULL) == right_score(1, "Fluency")
    (body,) = bodies(server)
    assert {"temperature", "seed", "max_tokens", "response_format"} <= body.keys()
    assert judge.lacks == {}


def test_a_limit_by_another_name_is_renamed_and_no_lack(server: JudgeServer) -> None:
    server.plan = lacking("max_tokens", NO_MAX_TOKENS)
    judge, _ = asked(server, FULL, FULL)
    assert [body.get("max_completion_tokens") for body in bodies(server)] == [None, 64, 64]
    assert judge.lacks == {}


def test_several_lacks_are_found_out_within_one_call(server: JudgeServer) -> None:
    """As a reasoning model refuses: first the limit, then the temperature."""
    limit, temperature = lacking("max_tokens", NO_MAX_TOKENS), lacking("temperature", NO_TEMPERATURE)
    server.plan = lambda request: limit(request) or temperature(request)
    judge, (reply,) = asked(server, replace(QUESTION, sampling=Sampling(max_tokens=64)))
    assert score(reply) == right_score(1, "Fluency")
    assert len(server.requests) == 3
    assert set(judge.lacks) == {"temperature"}


def test_calls_in_flight_when_the_refusal_comes_simply_ask_again(server: JudgeServer) -> None:
    server.latency = 0.02
    limit, temperature = lacking("max_tokens", NO_MAX_TOKENS), lacking("temperature", NO_TEMPERATURE)
    server.plan = lambda request: limit(request) or temperature(request)
    questions = [
        replace(QUESTION, prompt=replace(QUESTION.prompt, user=QUESTION.prompt.user.replace(mark(1), mark(number))))
        for number in range(40)
    ]
    limited = [replace(question, sampling=Sampling(max_tokens=64)) for question in questions]
    judge, replies = asked(server, *limited, together=True)
    assert [score(reply) for reply in replies] == [right_score(number, "Fluency") for number in range(40)]
    assert len(server.requests) <= 3 * 40
    assert set(judge.lacks) == {"temperature"}


def test_a_server_that_refuses_in_circles_is_not_asked_forever(server: JudgeServer) -> None:
    """It blames the temperature even when there is none."""
    server.always(answers.body(json.dumps({"error": NO_TEMPERATURE}), status=400))
    judge, (raised,) = asked(server, FULL)
    assert isinstance(raised, JudgeRejection)
    assert len(server.requests) == 2
    assert judge.lacks == {}, "what did not help was not learned"


def test_a_temperature_out_of_range_is_for_the_person_who_chose_it(server: JudgeServer) -> None:
    refusal = {"message": "temperature must be between 0 and 1", "param": "temperature", "code": None}
    server.plan = lacking("temperature", refusal)
    judge, (raised,) = asked(server, QUESTION)
    assert isinstance(raised, JudgeRejection)
    assert "must be between 0 and 1" in str(raised)
    assert judge.lacks == {}


@pytest.mark.parametrize("status", [422, 501])
def test_other_statuses_of_a_refusal_are_known(server: JudgeServer, status: int) -> None:
    server.plan = lacking("temperature", NO_TEMPERATURE, status)
    judge, (reply,) = asked(server, QUESTION)
    assert score(reply) == right_score(1, "Fluency")
    assert set(judge.lacks) == {"temperature"}


REQUEST = {"model": "m", "messages": [], "temperature": 0.0, "seed": 1, "n": 3, "response_format": {}, "logprobs": True}


@pytest.mark.parametrize(
    ("body", "feature"),
    [
        # vLLM and FastAPI name the place; some servers only have words.
        ('{"detail": [{"loc": ["body", "temperature"], "msg": "Extra inputs are not permitted"}]}', "temperature"),
        ('{"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}', "seed"),
        ('{"object": "error", "message": "n must be 1 when using greedy sampling, got 3.", "code": 400}', "n"),
        ('{"error": {"message": "Unrecognized request argument supplied: seed"}}', "seed"),
        (
            '{"error": {"message": "Invalid parameter: \'response_format\' of type \'json_schema\' is not supported"}}',
            "json_schema",
        ),
        ('{"error": {"message": "logprobs are not supported", "param": null}}', "logprobs"),
        ('{"error": {"message": "Bad value", "param": "response_format.json_schema.schema"}}', "json_schema"),
        ('{"error": "temperature is deprecated for this model"}', "temperature"),
        # About something else.
        ('{"error": {"message": "Invalid model: seed-1.6 is unknown", "param": "model"}}', None),
        ('{"error": {"message": "The prompt is invalid.", "param": "messages"}}', None),
        ('{"error": {"message": "Invalid JSON body. You sent temperature and seed."}}', None),
        (
            '{"error": {"message": "max_tokens is too large: 9. It supports at most 4", "param": "max_tokens"}}',
            None,
        ),
        ('{"error": {"message": "seed must be less than or equal to 2147483647", "param": "seed"}}', None),
        (
            "{'loc': ('body', 'model'), 'msg': 'Field required', 'input': {'temperature': 0, 'x': 'not supported'}}",
            None,
        ),
        ('{"error": {"message": "context length exceeded: temperature is not supported"}}', None),
        ('{"error": {"message": "Unsupported parameter: top_k", "param": "top_k"}}', None),
        ("<html>400 Bad Request</html>", None),
    ],
)
def test_what_a_refusal_is_about(body: str, feature: str | None) -> None:
    assert refused_feature(server_error(body.encode()), REQUEST) == feature


def test_the_name_of_the_model_is_not_taken_for_a_feature() -> None:
    error = ServerError("model seed-oss is not supported")
    assert refused_feature(error, {**REQUEST, "model": "seed-oss"}) is None
    assert refused_feature(error, REQUEST | {"model": "other"}) == "seed"


def test_what_was_not_sent_cannot_have_been_refused() -> None:
    assert refused_feature(ServerError("seed is not supported"), {"model": "m"}) is None


# Log-probabilities


@pytest.mark.parametrize("status", [400, 403])
def test_nothing_replaces_log_probabilities(server: JudgeServer, status: int) -> None:
    server.plan = lacking("logprobs", NO_LOGPROBS, status)
    judge, (raised,) = asked(server, DIGIT)
    assert isinstance(raised, JudgeRejection)
    assert "not allowed to request logprobs" in str(raised)
    assert "use --answer tag" in str(raised)
    assert set(judge.lacks) == {"logprobs"}


def test_log_probabilities_that_do_not_come_are_said(server: JudgeServer) -> None:
    server.always(answers.chat("4"))
    _, (raised,) = asked(server, DIGIT)
    assert isinstance(raised, JudgeRejection)
    assert "use --answer tag" in str(raised)


def test_a_smaller_number_of_likeliest_tokens_is_taken_and_said(server: JudgeServer) -> None:
    refuse = answers.body(json.dumps({"error": FEW_LOGPROBS}), status=400)
    shown = {
        "content": [
            {
                "token": "4",
                "logprob": -0.1,
                "top_logprobs": [{"token": "4", "logprob": -0.1}, {"token": "3", "logprob": -3}],
            }
        ]
    }
    server.plan = lambda request: refuse if request.body["top_logprobs"] > 5 else answers.chat("4", logprobs=shown)
    judge, replies = asked(server, DIGIT, DIGIT)
    assert all(reply.scale[4] == pytest.approx(0.9048, abs=1e-4) for reply in replies)
    assert [body["top_logprobs"] for body in bodies(server)] == [20, 5, 5]
    assert judge.lacks == {"top_logprobs": FEW_LOGPROBS["message"]}


def test_a_bare_digit_has_little_room_unless_the_model_thinks(server: JudgeServer) -> None:
    """Thinking eats the few tokens; the call is then asked again without a limit, and paid for twice."""
    shown = {"content": [{"token": "4", "logprob": -0.1, "top_logprobs": [{"token": "3", "logprob": -3}]}]}
    cut, whole = answers.chat("", finish="length"), answers.chat("4", logprobs=shown)
    server.plan = lambda request: cut if "max_tokens" in request.body else whole
    _, (first, second) = asked(server, DIGIT, DIGIT)
    assert [body.get("max_tokens") for body in bodies(server)] == [5, None, None]
    assert (first.tokens_in, first.tokens_out, second.tokens_in) == (200, 40, 100)
    assert score(first, DIGIT) == pytest.approx(3.95, abs=0.01)


def test_a_limit_that_was_given_is_kept(server: JudgeServer) -> None:
    server.always(answers.chat("", finish="length"))
    _, (reply,) = asked(server, replace(DIGIT, sampling=Sampling(max_tokens=3)))
    assert [body["max_tokens"] for body in bodies(server)] == [3]
    assert read(reply, (RUBRIC,), "digit")["fluency"].status == "truncated"


# Several answers to one request


def three(request: Request) -> answers.Answer:
    texts = ["Short. <score>4</score>", "A much longer reason than that. <score>3</score>", "<score>5</score>"]
    return answers.chat(*texts[: request.body.get("n", 1)])


def test_several_answers_come_out_of_one_request_and_share_its_usage(server: JudgeServer) -> None:
    server.plan = three
    judge, (replies,) = asked(server, QUESTION, count=3)
    assert [score(reply) for reply in replies] == [4, 3, 5]
    assert [body["n"] for body in bodies(server)] == [3]
    assert [reply.tokens_in for reply in replies] == [100, 0, 0]
    assert [reply.tokens_cached for reply in replies] == [40, 0, 0]
    assert sum(reply.tokens_out for reply in replies) == 20
    assert replies[1].tokens_out > replies[0].tokens_out > 0
    assert replies[0].seconds > 0
    assert [reply.seconds for reply in replies[1:]] == [0, 0]
    assert judge.lacks == {}


def test_one_answer_or_a_seed_is_asked_for_without_n(server: JudgeServer) -> None:
    server.plan = three
    for question, count in ((QUESTION, 1), (replace(QUESTION, sampling=Sampling(seed=3)), 3)):
        _, (replies,) = asked(server, question, count=count)
        assert len(replies) == 1
    assert all("n" not in body for body in bodies(server))


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(lacking("n", NO_N), id="refused"),
        pytest.param(lambda request: answers.chat("<score>4</score>"), id="ignored"),
    ],
)
def test_a_server_without_n_gives_one_and_is_not_asked_for_more(server: JudgeServer, plan: answers.Plan) -> None:
    server.plan = plan
    judge, several = asked(server, QUESTION, QUESTION, count=3)
    assert [len(replies) for replies in several] == [1, 1]
    assert set(judge.lacks) == {"n"}
    assert "n" not in bodies(server)[-1]


def test_a_server_with_few_places_is_asked_for_as_many(server: JudgeServer) -> None:
    """llama.cpp answers as many at once as it has slots."""
    refuse = answers.body(json.dumps({"error": TWO_SLOTS}), status=400)
    server.plan = lambda request: refuse if request.body.get("n", 1) > 2 else three(request)
    judge, several = asked(server, QUESTION, QUESTION, count=3)
    assert [len(replies) for replies in several] == [2, 2]
    assert [body["n"] for body in bodies(server)] == [3, 2, 2]
    assert judge.lacks == {}


# Prompts that are too long, and how much a model holds


@pytest.mark.parametrize(
    ("error", "status", "context"),
    [
        pytest.param(TOO_LONG, 400, 512, id="llama.cpp"),
        pytest.param(TOO_LONG, 500, 512, id="older llama.cpp"),
        pytest.param(
            {
                "message": "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens "
                "(112946 in the messages, 10000 in the completion). Please reduce the length of the messages.",
                "type": "BadRequestError",
                "code": 400,
            },
            400,
            16384,
            id="vLLM",
        ),
        pytest.param(
            {
                "message": "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in "
                "310000 tokens. Please reduce the length of the messages.",
                "code": "context_length_exceeded",
            },
            400,
            272000,
            id="OpenAI",
        ),
        pytest.param({"message": "prompt is too long for the temperature"}, 413, None, id="no figure"),
    ],
)
def test_a_prompt_that_is_too_long_fails_alone_and_tells_the_limit(
    server: JudgeServer, error: Mapping[str, Any], status: int, context: int | None
) -> None:
    server.always(answers.body(json.dumps({"error": error}), status=status))
    judge, (raised,) = asked(server, FULL)
    assert isinstance(raised, JudgeFailure)
    assert (raised.too_long, raised.retry) == (True, False)
    assert error["message"][:40] in str(raised)
    assert judge.context == context
    assert len(server.requests) == 1


def test_a_prompt_that_is_too_long_may_be_said_with_200(server: JudgeServer) -> None:
    server.always(answers.body(json.dumps({"error": TOO_LONG})))
    judge, (raised,) = asked(server, QUESTION)
    assert isinstance(raised, JudgeFailure)
    assert (raised.too_long, raised.retry, judge.context) == (True, False, 512)


def test_an_ordinary_failure_is_not_taken_for_length() -> None:
    for message in ("max_tokens is too large", "the context of this request is unclear", "limit of 500 requests"):
        assert not is_too_long(ServerError(message))
    assert stated_context(ServerError("context window of 8,192 tokens")) == 8192


LLAMA_CPP = {"id": "/models/smol.gguf", "meta": {"n_ctx": 512, "n_ctx_train": 8192}}


@pytest.mark.parametrize(
    ("models", "context"),
    [
        ([{"id": "other", "max_model_len": 1}, {"id": "judge-1", "max_model_len": 32768}], 32768),
        ([LLAMA_CPP], 512),
        ([{"id": "judge-1", "meta": {"n_ctx_train": 8192}}], 8192),
        ([{"id": "judge-1"}], None),
        ([{"id": "a", "max_model_len": 1}, {"id": "b", "max_model_len": 2}], None),
        (["judge-1"], None),
    ],
)
def test_the_context_is_learned_from_the_list_of_models(
    server: JudgeServer, models: Sequence[Any], context: int | None
) -> None:
    server.always(answers.body(json.dumps({"data": models})))
    assert learned(server.base_url) == context
    assert [request.path for request in server.requests] == ["/v1/models"]


def learned(base_url: str) -> int | None:
    async def once() -> int | None:
        judge = make_judge("openai/judge-1", Settings(base_url=base_url))
        assert isinstance(judge, OpenAIJudge)
        try:
            return await judge.learn_context()
        finally:
            await judge.close()

    return asyncio.run(once())


@pytest.mark.parametrize(
    "broken", [answers.reset, answers.error(404), answers.body("<html>"), answers.body('{"data": 3}')]
)
def test_learning_the_context_never_fails(server: JudgeServer, broken: answers.Answer) -> None:
    server.always(broken)
    assert learned(server.base_url) is None


# Unknown models


def test_an_unknown_model_is_met_with_those_there_are(server: JudgeServer) -> None:
    listed = json.dumps({"data": [{"id": f"model-{number}"} for number in range(30)] + [{"id": "judge-10"}]})
    missing = answers.error(404, "The model `judge-1` does not exist", "model_not_found")
    server.plan = lambda request: answers.body(listed) if request.path == "/v1/models" else missing
    _, (raised,) = asked(server, QUESTION)
    assert isinstance(raised, JudgeRejection)
    assert "does not exist (it has: judge-10, " in str(raised)
    assert str(raised).count("model-") == 9


def test_of_many_calls_that_miss_the_model_one_asks_for_the_list(server: JudgeServer) -> None:
    server.always(answers.error(404, "no such model"))
    _, raised = asked(server, *[QUESTION] * 20, together=True)
    assert all(isinstance(one, JudgeRejection) for one in raised)
    assert sum(request.path == "/v1/models" for request in server.requests) == 1


@pytest.mark.parametrize(
    "more", ['"content": "<score>5</score>"', '"role": "assistant", "role": "user", "content": "2"']
)
def test_a_name_that_stands_twice_makes_the_answer_unreadable(server: JudgeServer, more: str) -> None:
    server.always(answers.body('{"choices": [{"message": {"content": "<score>4</score>", ' + more + "}}]}"))
    _, (raised,) = asked(server, QUESTION)
    assert isinstance(raised, JudgeFailure)
    assert raised.retry


def test_more_contents_than_choices_are_fine_where_each_has_its_place(server: JudgeServer) -> None:
    server.always(answers.completion("<score>4</score>", annotations=[{"content": '"content": "choices"'}]))
    _, (reply,) = asked(server, QUESTION)
    assert score(reply) == 4


# Headers and answers that say to go slower


@pytest.mark.parametrize(
    ("headers", "rest"),
    [
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1s"}, 1),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m30s"}, 90),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "120ms"}, 0.12),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "17"}, 17),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1h2m3s"}, 120),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "soon"}, 0),
        ({"x-ratelimit-remaining-requests": "0"}, 0),
        ({"x-ratelimit-remaining-requests": "7", "x-ratelimit-reset-requests": "1s"}, 0),
        ({}, 0),
    ],
)
def test_the_rest_that_headers_ask_for(server: JudgeServer, headers: dict[str, str], rest: float) -> None:
    named = {name.replace("-", "_"): value for name, value in headers.items()}
    server.always(answers.chat("<score>4</score>", **named))
    before = time.monotonic()
    judge, _ = asked(server, QUESTION)
    assert judge.rest_until == 0 if not rest else before + rest <= judge.rest_until <= time.monotonic() + rest


def test_of_two_limits_the_longer_rest_holds() -> None:
    both = {"X-RateLimit-Remaining-Requests": "0", "X-RateLimit-Reset-Requests": "2s"}
    both |= {"X-RateLimit-Remaining-Tokens": "0", "X-RateLimit-Reset-Tokens": "6s"}
    assert rest_after(both) == 6


@pytest.mark.parametrize(
    ("error", "throttled"),
    [
        ({"message": "slow down", "code": 429}, True),
        ({"message": "slow down", "code": "rate_limit_exceeded"}, True),
        ({"message": "slow down", "type": "rate_limit_error"}, True),
        ({"message": "the engine is loading", "code": 503}, False),
    ],
)
def test_an_error_with_200_may_be_a_limit(server: JudgeServer, error: Mapping[str, Any], throttled: bool) -> None:
    server.always(answers.body(json.dumps({"error": error})))
    _, (raised,) = asked(server, QUESTION)
    assert isinstance(raised, JudgeFailure)
    assert (raised.retry, raised.throttled) == (True, throttled)


def test_a_choice_that_failed_behind_a_gateway_may_be_tried_again(server: JudgeServer) -> None:
    server.always(answers.chat("", finish="error"))
    _, (raised,) = asked(server, QUESTION)
    assert isinstance(raised, JudgeFailure)
    assert raised.retry


# Reading what servers add


def test_thinking_in_details_is_kept_apart(server: JudgeServer) -> None:
    details = [
        {"type": "reasoning.text", "text": "Perhaps <score>1</score>."},
        {"type": "reasoning.summary", "summary": "Fine."},
    ]
    server.always(answers.completion("<score>4</score>", reasoning_details=details))
    _, (reply,) = asked(server, QUESTION)
    assert reply.reasoning == "Perhaps <score>1</score>.\nFine."
    assert score(reply) == 4


@pytest.mark.parametrize(
    ("more", "cached"),
    [
        ({"usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}}, 4),
        ({"usage": {"prompt_tokens": 9, "prompt_tokens_details": None}}, None),
        ({"usage": {"prompt_tokens": 9, "prompt_cache_hit_tokens": 5, "prompt_cache_miss_tokens": 4}}, 5),
        ({"usage": {"prompt_tokens": 9}, "timings": {"cache_n": 6, "prompt_n": 3}}, 6),
        ({"usage": {"prompt_tokens": 9}}, None),
        ({"usage": None}, None),
    ],
)
def test_cached_tokens_are_read_in_every_shape(
    server: JudgeServer, more: Mapping[str, Any], cached: int | None
) -> None:
    server.always(answers.chat("<score>4</score>", more=more))
    _, (reply,) = asked(server, QUESTION)
    assert reply.tokens_cached == cached


def test_what_two_calls_learned_is_put_together() -> None:
    one, other = Abilities({"seed": "no"}, looked_at=5), Abilities({"n": "no"}, "max_completion_tokens", most_choices=2)
    assert one.and_(other) == Abilities({"seed": "no", "n": "no"}, "max_completion_tokens", 5, 2)
    assert other.and_(one) == one.and_(other)
