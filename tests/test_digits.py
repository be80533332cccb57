"""Scores by probability: where the score stands among the tokens, which rivals count, and what is no score at all."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import server as answers
from conftest import Evaluate, WriteItems
from jurybox.errors import SetupError, WeightsError
from jurybox.judges import Settings, make_judge
from jurybox.judges.cores import default_threads
from jurybox.judges.openai import OpenAIJudge
from jurybox.judges.tokens import score_distribution, score_span
from jurybox.parsing import read
from jurybox.prompts import render, sheets
from jurybox.rubrics import builtin
from jurybox.runner.job import call_key
from jurybox.templates import Template
from jurybox.types import SCALE, Item, Prompt, Question, Reply, Rubric, Sampling, Verdict
from jurybox.weights import get
from server import JudgeServer

FLUENCY = builtin()["fluency"]
ITEM = Item("p1", "base", "The kettle boils fast.", {"reviews": ["Boils fast.", "The lid sticks."]})


def token(text: str, probability: float = 0.9, *, spelled: bool = True, **rivals: float) -> dict[str, Any]:
    """A token as OpenAI shows it. Rivals are named by their text; those with marks come through `rivals_of`."""
    return rivals_of(text, {text: probability, **rivals}, spelled=spelled)


def rivals_of(text: str, probabilities: Mapping[str, float], *, spelled: bool = True) -> dict[str, Any]:
    def one(said: str, probability: float) -> dict[str, Any]:
        shown: dict[str, Any] = {"token": said, "logprob": math.log(probability)}
        return {**shown, "bytes": list(said.encode())} if spelled else shown

    top = [one(said, probability) for said, probability in probabilities.items()]
    return {**one(text, probabilities.get(text, 0.001)), "top_logprobs": top}


def plain(*texts: str) -> list[dict[str, Any]]:
    return [token(text, 0.99) for text in texts]


FOUR = {"4": 0.6, "3": 0.3, "5": 0.05, "four": 0.05}


def shape(head: str = "", tail: str = "") -> dict[str, float]:
    return {f"{head}{digit}{tail}": probability for digit, probability in FOUR.items()}


def scale(**found: float) -> dict[int, float]:
    return {step: found.get(f"s{step}", 0.0) for step in SCALE}


EXPECTED = scale(s4=0.6, s3=0.3, s5=0.05)


DIGIT = rivals_of("4", FOUR)
END = plain("</score>")


@pytest.mark.parametrize(
    "tokens",
    [
        # OpenAI (o200k) and vLLM split a tag so; the digit has a token to itself.
        pytest.param(
            [*plain("Fine", ".\n", "Score", "-", " <", "score", ">"), DIGIT, *plain("</", "score", ">")], id="own"
        ),
        pytest.param(
            [*plain("Score", "- <", "score>"), rivals_of(" 4", shape(" ")), *plain(" </score>")], id="its blank"
        ),
        pytest.param([*plain("Score- <score"), rivals_of(">4", shape(">")), *END], id="the tag before"),
        pytest.param(
            [*plain("Score- <score>"), rivals_of("4</", shape("", "</")), *plain("score>")], id="the tag behind"
        ),
        pytest.param([rivals_of("<score>4</score>", shape("<score>", "</score>"))], id="all in one"),
        # Labels and bare digits.
        pytest.param([*plain("Good", ".\n\n", "Score", ":"), rivals_of(" 4", shape(" "))], id="label"),
        pytest.param(
            [*plain("Fine.\n**Final score (1-5):**"), rivals_of(" 4", shape(" ")), *plain("/", "5", ".")], id="/5"
        ),
        pytest.param([DIGIT], id="alone"),
        pytest.param([*plain("**"), DIGIT, *plain("**")], id="alone and bold"),
        pytest.param([rivals_of(" 4", shape(" ")), *plain("\n")], id="alone with blanks"),
        # Thinking is shown with the rest by vLLM, and set apart in the text.
        pytest.param(
            [*plain("<think>", "<score>2</score>", "</think>", "\n\n", "<score>"), DIGIT, *END], id="thinking"
        ),
        pytest.param([*plain("2", "</think>", "\n\n"), DIGIT], id="thinking that the template opened"),
        # An earlier tag is not the last.
        pytest.param([*plain("<score>", "5", "</score>", " no: ", "<score>"), DIGIT, *END], id="the last tag"),
        pytest.param(
            [*plain("<score>"), DIGIT, *END, *plain("\n", "as in <score>N</score>")], id="a blank form behind"
        ),
        pytest.param([*plain("caf\u00e9 ☕ <score>"), DIGIT, *END], id="more bytes than characters"),
    ],
)
def test_the_distribution_is_taken_where_the_score_stands(tokens: Sequence[Mapping[str, Any]]) -> None:
    text = "".join(token["token"] for token in tokens)
    assert score_distribution(tokens, text) == pytest.approx(EXPECTED)
    assert score_distribution(tokens, text.strip()) == pytest.approx(EXPECTED), "servers cut blanks off"
    bare = [{name: value for name, value in one.items() if name != "bytes"} for one in tokens]
    assert score_distribution(bare, text) == pytest.approx(EXPECTED), "not all servers spell the bytes"


def test_special_tokens_and_thinking_around_the_text_do_not_shift_it() -> None:
    """llama.cpp and vLLM show the tokens of thinking that the text does not have, and those that end a turn."""
    tokens = [*plain("<think>", "perhaps ", "4", "</think>", "\n\n"), rivals_of("4", FOUR), *plain("<|im_end|>")]
    assert score_distribution(tokens, "4") == pytest.approx(EXPECTED)


def test_variants_of_a_step_are_summed() -> None:
    tokens = [
        rivals_of("4", {"4": 0.4, " 4": 0.2, "４": 0.1, "4</": 0.05, "4\n": 0.05, "45": 0.1, "4.": 0.02, "four": 0.08})
    ]
    assert score_distribution(tokens, "4") == pytest.approx(scale(s4=0.8))


def test_only_rivals_of_the_same_shape_count() -> None:
    """A bare "3" in the place of ">4" would stand inside the tag's name."""
    tokens = [
        *plain("<score"),
        rivals_of(">4", {">4": 0.5, ">3": 0.2, "> 5": 0.1, "3": 0.1, ">": 0.1}),
        *plain("</score>"),
    ]
    assert score_distribution(tokens, "<score>4</score>") == pytest.approx(scale(s4=0.5, s3=0.2, s5=0.1))


def test_the_token_that_came_counts_even_if_it_was_unlikely() -> None:
    tokens = [rivals_of("2", {"4": 0.6, "3": 0.3})]
    assert score_distribution(tokens, "2") == pytest.approx(scale(s4=0.6, s3=0.3, s2=0.001))


def test_a_full_width_digit_over_byte_tokens() -> None:
    """EF BC 94 is ４: only the last byte says which digit it is."""

    def byte(value: int, **rivals: float) -> dict[str, Any]:
        top = [
            {"token": f"\\x{other}", "bytes": [int(other, 16)], "logprob": math.log(p)} for other, p in rivals.items()
        ]
        return {"token": f"\\x{value:02x}", "bytes": [value], "logprob": -0.1, "top_logprobs": top}

    tokens = [
        *plain("<score>"),
        byte(0xEF),
        byte(0xBC),
        byte(0x94, **{"94": 0.7, "93": 0.2, "95": 0.1}),
        *plain("</score>"),
    ]
    assert score_distribution(tokens, "<score>４</score>") == pytest.approx(scale(s4=0.7, s3=0.2, s5=0.1))


def test_a_character_that_the_server_misspells_does_not_hide_the_score() -> None:
    """vLLM shows the halves of a split character as �; the last line is found all the same."""
    tokens = [*plain("caf", "�", "�", " ok.\n", "Score- <score>"), rivals_of("4", FOUR), *plain("</score>")]
    assert score_distribution(tokens, "café ok.\nScore- <score>4</score>") == pytest.approx(EXPECTED)


@pytest.mark.parametrize("blank", ["▁", "Ġ"])
def test_blanks_as_a_vocabulary_spells_them(blank: str) -> None:
    tokens = [*[token(f"{blank}Score:", spelled=False)], rivals_of(f"{blank}4", shape(blank), spelled=False)]
    assert score_distribution(tokens, "Score: 4") == pytest.approx(EXPECTED)


@pytest.mark.parametrize(
    "text",
    [
        "<score>4.5</score>",
        "<score>45</score>",
        "<score>-4</score>",
        "<score>6</score>",
        "<score>4 or 5</score>",
        "<score>four</score>",
        "<score>4</score",
        "<score>4",
        "4.5",
        "-4",
        "14",
        "I give it 4",
        "Score: 4 because it is fine",
        "Score: 4\nIt could be better.",
        "4 of 7 statements are supported",
        "<think>4",
        "<think><score>4</score></think>",
        "<think>4</think>",
        "",
        "   ",
    ],
)
def test_where_no_plain_score_stands_there_is_none(text: str) -> None:
    tokens = [rivals_of(character, {character: 0.9, "3": 0.1}) for character in text]
    assert score_span(text) is None
    assert score_distribution(tokens, text) is None


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("<score>4</score><reasoning>5</reasoning>", (7, 8)),
        ("a\nScore: 4/5", (9, 10)),
        ("Overall rating is 3.", (18, 19)),
        ("[THINK]1[/THINK]2", (16, 17)),
    ],
)
def test_where_the_score_stands(text: str, span: tuple[int, int]) -> None:
    assert score_span(text) == span


def test_tokens_that_are_not_the_text_give_nothing() -> None:
    assert score_distribution(plain("token_id:19"), "4") is None
    assert score_distribution([], "4") is None


def test_one_token_without_rivals_is_no_distribution() -> None:
    assert score_distribution([{"token": "4", "logprob": -0.1, "top_logprobs": []}], "4") is None


def test_odd_log_probabilities_do_no_harm() -> None:
    shown: list[dict[str, Any]] = [
        {"token": "4", "logprob": 3.0},
        {"token": "3", "logprob": -9999.0},
        {"token": "2", "logprob": None},
    ]
    assert score_distribution([{**shown[0], "top_logprobs": shown}], "4") == scale(s4=1.0)


def test_where_a_digit_alone_was_asked_for_the_first_token_counts() -> None:
    tokens = [rivals_of("The", {"The": 0.4, "4": 0.35, "3": 0.2}), *plain(" summary")]
    assert score_distribution(tokens, "The summary") is None
    assert score_distribution(tokens, "The summary", alone=True) == pytest.approx(scale(s4=0.35, s3=0.2))
    thought = [*plain("<think>", "4")]
    assert score_distribution(thought, "Hm", alone=True) is None, "a token of thinking that is kept apart"


@given(st.text(max_size=60), st.lists(st.integers(1, 4), max_size=30), st.integers(1, 5))
def test_however_a_text_is_split_the_digit_of_its_tag_is_found(before: str, cuts: list[int], step: int) -> None:
    text = f"{before}\nScore- <score>{step}</score>"
    place = score_span(text)
    pieces, start = [], 0
    for length in (*cuts, len(text)):
        pieces.append(text[start : start + length])
        start += length
    tokens = [rivals_of(piece, {piece: 0.8, "…": 0.2}) for piece in pieces if piece]
    if place is None:  # it ends in thinking
        assert score_distribution(tokens, text) is None
        return
    found = score_distribution(tokens, text)
    assert found is not None
    assert found[step] == pytest.approx(0.8)


# From a reply to a verdict


def verdict(text: str, found: Mapping[int, float] | None, finish: str = "stop") -> Verdict:
    return read(Reply(text, finish=finish, scale=found), (FLUENCY,), "digit")["fluency"]


def test_the_reason_is_what_was_written_and_then_the_probabilities() -> None:
    read_as = verdict("Two slips, both minor.\nScore- <score>4</score>", scale(s4=0.6, s3=0.3, s5=0.05))
    assert read_as.score == pytest.approx((4 * 0.6 + 3 * 0.3 + 5 * 0.05) / 0.95)
    assert read_as.reason.startswith("Two slips, both minor.\n\nprobabilities 1: 0.000")
    assert read_as.reason.endswith("on the scale: 0.950")
    assert verdict("4", scale(s4=0.9)).reason.startswith("probabilities 1:")


@pytest.mark.parametrize(
    ("text", "found", "finish", "status", "said"),
    [
        ("Fine. <score>4</score>", scale(s4=0.3), "stop", "unparsed", "only 0.300 of the probability"),
        ("Fine. <score>4</score>", None, "stop", "unparsed", "gives 4, but the probabilities"),
        ("Fine. <score>4.5</score>", None, "stop", "off_scale", "4.5"),
        ("<score>4</score>/10", scale(s4=0.9), "stop", "off_scale", "4/10"),
        ("<score>4</score> or <score>5</score>", scale(s5=0.9), "stop", "unparsed", "two different scores"),
        ('He wrote: "<score>5</score>"', scale(s5=0.9), "stop", "unparsed", "only quotes or repeats"),
        (
            "Score- <score>3</score>\nThe text says <score>5</score>",
            scale(s5=0.9),
            "stop",
            "unparsed",
            "repeats scores",
        ),
        ("The summary is", None, "length", "truncated", "cut off"),
        ("I'm sorry, but I can't help with that.", None, "stop", "refused", "sorry"),
        ("", None, "stop", "unparsed", "no probabilities"),
    ],
)
def test_what_the_text_does_not_plainly_give_is_not_scored(
    text: str, found: Mapping[int, float] | None, finish: str, status: str, said: str
) -> None:
    read_as = verdict(text, found, finish)
    assert (read_as.status, read_as.score) == (status, None)
    assert said in read_as.reason


# Prompts


def test_a_reasoned_digit_is_asked_for_as_a_tag_is() -> None:
    (tag,) = sheets((FLUENCY,))
    (bare,) = sheets((FLUENCY,), answer="digit")
    (reasoned,) = sheets((FLUENCY,), answer="digit", reasoned=True)
    assert [sheet.label for sheet in (tag, bare, reasoned)] == ["classic", "classic/digit", "classic/digit+reasons"]
    shown = [render(sheet, ITEM) for sheet in (tag, bare, reasoned)]
    assert (shown[2].user, shown[2].digest) == (shown[0].user, shown[0].digest)
    assert [prompt.alone for prompt in shown] == [False, True, False]
    judge = make_judge("openai/judge-1", Settings(base_url="http://127.0.0.1:9/v1"))
    asked = Question(ITEM, (FLUENCY,), shown[0], "tag")
    keys = [call_key(judge, question, shown[0].digest) for question in (asked, replace(asked, answer="digit"))]
    assert keys[0] != keys[1], "the same words, but not the same answer"


def test_reasons_are_asked_for_with_a_digit_only() -> None:
    with pytest.raises(SetupError, match="--reasons goes with --answer digit"):
        sheets((FLUENCY,), reasoned=True)


def test_a_prompt_file_of_one_score_is_sent_byte_for_byte() -> None:
    template = Template("Judge {summary}. Reason, then <score>N</score>.")
    one = Rubric(name="mine", title="Mine", template=template, answer="tag", digest="1")
    (sheet,) = sheets((one,), answer="digit")
    assert (sheet.answer, sheet.reasoned, sheet.label) == ("digit", True, "verbatim/digit+reasons")
    prompt = render(sheet, ITEM)
    assert (prompt.user, prompt.alone) == ("Judge The kettle boils fast.. Reason, then <score>N</score>.", False)
    assert sheets((one,))[0].label == "verbatim"
    with pytest.raises(SetupError, match="the prompt file of 'mine' asks for several"):
        sheets((replace(one, answer="form"),), answer="digit")


# Through a server


def test_a_run_by_digit_is_scored_by_expectation(
    server: JudgeServer, evaluate: Evaluate, write_items: WriteItems
) -> None:
    server.always(answers.chat("4", logprobs={"content": [rivals_of("4", FOUR)]}))
    run = evaluate(write_items(3), answer="digit")
    scores = [judgment.verdict.score for judgment in run.judgments()]
    assert scores == pytest.approx([(4 * 0.6 + 3 * 0.3 + 5 * 0.05) / 0.95] * 3)
    body = server.requests[0].body
    assert (body["logprobs"], body["top_logprobs"], body["max_tokens"]) == (True, 20, 5)


# A real model behind a real server: llama.cpp's own, over HTTP


@pytest.fixture(scope="module")
def llama() -> Iterator[str]:
    library = pytest.importorskip("xllamacpp")
    try:
        path = get("smollm2-135m-instruct")
    except WeightsError as exc:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"SmolLM2 cannot be fetched here: {exc}")
    parameters = library.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx, parameters.n_parallel = 4096, 2
    parameters.verbosity, parameters.warmup = -1, False
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = default_threads()
    parameters.hostnames, parameters.port = ["127.0.0.1"], 0
    running = library.Server(parameters)
    yield f"{running.listening_address}/v1"
    del running


def ask_llama(base_url: str, *questions: Question, count: int = 1) -> tuple[OpenAIJudge, list[Any]]:
    async def once() -> tuple[OpenAIJudge, list[Any]]:
        judge = make_judge("openai/smollm2", Settings(base_url=base_url))
        assert isinstance(judge, OpenAIJudge)
        try:
            await judge.learn_context()
            return judge, [
                (await asyncio.gather(judge.ask_several(question, count), return_exceptions=True))[0]
                for question in questions
            ]
        finally:
            await judge.close()

    return asyncio.run(once())


def test_llama_cpp_gives_probabilities_of_a_bare_digit(llama: str) -> None:
    prompt = Prompt("How good is the sentence 'It boils fast.', from 1 to 5? Answer with one digit.", alone=True)
    _, (replies,) = ask_llama(llama, Question(ITEM, (FLUENCY,), prompt, "digit"))
    (reply,) = replies
    assert reply.scale is not None
    assert 0 < sum(reply.scale.values()) <= 1
    assert reply.tokens_cached is not None


def test_llama_cpp_gives_probabilities_inside_a_tag(llama: str) -> None:
    """So small a model keeps to no form by itself; a schema makes it, and its probabilities are its own."""
    forms = {"type": "string", "enum": [f"It reads well. Score- <score>{step}</score>" for step in SCALE]}
    prompt = Prompt("How good is the sentence 'The kettle boils fast.', from 1 to 5?", schema=forms)
    _, (replies,) = ask_llama(llama, Question(ITEM, (FLUENCY,), prompt, "digit", Sampling(max_tokens=40)))
    (reply,) = replies
    span = score_span(reply.text)
    assert span is not None, reply.text
    assert reply.scale is not None
    assert reply.scale[int(reply.text[slice(*span)])] > 0
    assert 0 < sum(reply.scale.values()) <= 1


def test_llama_cpp_has_as_many_answers_at_once_as_slots_and_tells_its_context(llama: str) -> None:
    short = Question(ITEM, (FLUENCY,), Prompt("Say a colour."), "tag", Sampling(1.0, max_tokens=4))
    long = replace(short, prompt=Prompt("kettle " * 6000))
    judge, (replies, raised) = ask_llama(llama, short, long, count=3)
    assert len(replies) == 2
    assert sum(reply.tokens_out for reply in replies) <= 8
    assert raised.too_long
    assert judge.context is not None
    assert f"({judge.context} tokens)" in str(raised)
