"""Keys and addresses: the environment first, then `.env`; a foreign directory gets no key; no message shows a value."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

import server as answers
from conftest import Command, WriteItems
from jurybox.errors import JudgeFailure, JudgeRejection, JudgeSpecError
from jurybox.judges import Judge, Settings, make_judge
from jurybox.judges.environment import find_setting, is_loopback, setting
from jurybox.judges.ollama import OllamaJudge, address_of
from jurybox.types import Item, Prompt, Question, Reply, Rubric
from server import JudgeServer, mark

KEY, OTHER = "sk-very-secret-0123456789", "sk-of-the-file-9876543210"
QUESTION = Question(
    Item("p1", "base", "A summary.", {}),
    (Rubric(name="fluency", title="Fluency"),),
    Prompt(f"Metric\n\nFluency: Is it fluent?\n{mark(1)}"),
    "tag",
)


def ask(judge: Judge) -> Reply:
    async def once() -> Reply:
        try:
            return await judge.ask(QUESTION)
        finally:
            await judge.close()

    return asyncio.run(once())


def write(text: str | bytes) -> Path:
    path = Path(".env")
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_without_a_file_only_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert setting("OPENAI_API_KEY") == ""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert setting("OPENAI_API_KEY") == KEY


def test_the_environment_comes_before_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write(f"OPENAI_API_KEY={OTHER}\n")
    assert (setting("OPENAI_API_KEY"), find_setting("OPENAI_API_KEY").from_file) == (OTHER, True)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert (setting("OPENAI_API_KEY"), find_setting("OPENAI_API_KEY").from_file) == (KEY, False)
    monkeypatch.setenv("OPENAI_API_KEY", "")
    assert setting("OPENAI_API_KEY") == "", "set to nothing is how to turn it off"


def test_usual_spellings_are_read_and_nothing_is_filled_in() -> None:
    write("\ufeff# keys\nexport A='single quoted' # note\nB=\"two words\"\nC=${HOME}/x\n\nD\nE=\n")
    assert [setting(name) for name in "ABCDE"] == ["single quoted", "two words", "${HOME}/x", "", ""]


def test_the_environment_is_left_as_it_is() -> None:
    before = dict(os.environ)
    write(f"OPENAI_API_KEY={OTHER}\nPATH=/nowhere\n")
    assert setting("OPENAI_API_KEY") == OTHER
    assert dict(os.environ) == before


def test_a_changed_file_is_read_again() -> None:
    path = write("A=1\n")
    assert setting("A") == "1"
    path.write_text("A=2\n")
    os.utime(path, ns=(1, 1))
    assert setting("A") == "2"


def test_a_directory_of_that_name_is_no_file() -> None:
    Path(".env").mkdir()
    assert setting("A") == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"A=1\n={OTHER}\n", "line 2: should be NAME=value"),
        (f"A=1\nB='{OTHER}\nC=2\n", "line 2: should be NAME=value"),
        (f"A={OTHER}\xff".encode("latin-1"), "is not text in UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_without_its_content(text: str | bytes, said: str) -> None:
    write(text)
    with pytest.raises(JudgeSpecError, match=said) as caught:
        setting("OPENAI_API_KEY")
    assert OTHER not in repr(caught.value)
    assert caught.value.__cause__ is None


def test_key_and_address_of_the_file_reach_the_server(server: JudgeServer) -> None:
    write(f"OPENAI_API_KEY={OTHER}\nOPENAI_BASE_URL={server.base_url}\nOPENAI_ORGANIZATION=org-1\n")
    assert ask(make_judge("openai/judge-1", Settings())).text
    assert server.requests[0].headers["Authorization"] == f"Bearer {OTHER}"
    assert "OpenAI-Organization" not in server.requests[0].headers, "that is for OpenAI's own host"


# A foreign directory must not be able to send a key elsewhere


def test_a_key_of_the_environment_does_not_go_where_a_file_points(monkeypatch: pytest.MonkeyPatch) -> None:
    write("OPENAI_BASE_URL=https://collector.example/v1\n")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(
        JudgeSpecError, match=r"\.env in this directory sets OPENAI_BASE_URL to collector\.example"
    ) as caught:
        make_judge("openai/judge-1", Settings())
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "OPENAI_BASE_URL=http://127.0.0.1:9/v1\n",
        "OPENAI_BASE_URL=http://[::1]:9/v1\n",
        "OPENAI_BASE_URL=http://localhost:9/v1\n",
        "OPENAI_BASE_URL=https://api.openai.com/v1\n",
        f"OPENAI_BASE_URL=https://collector.example/v1\nOPENAI_API_KEY={OTHER}\n",
    ],
)
def test_nearby_hosts_the_providers_own_and_a_file_with_its_own_key_are_fine(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    write(text)
    if OTHER not in text:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert make_judge("openai/judge-1", Settings()).spec == "openai/judge-1"


def test_an_address_that_was_named_may_have_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    write("OPENAI_BASE_URL=https://collector.example/v1\n")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    named = make_judge("openai/judge-1", Settings(base_url="https://mine.example/v1"))
    assert named.address == "https://mine.example/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "https://mine.example/v1")
    assert make_judge("openai/judge-1", Settings()).address == "https://mine.example/v1"


@pytest.mark.parametrize(
    ("host", "near"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("10.0.0.1", False),
        ("0x7f.example", False),
    ],
)
def test_what_is_this_machine(host: str, near: bool) -> None:
    assert is_loopback(host) == near


def test_the_command_line_reads_the_file_and_shows_nothing_of_it(
    jurybox: Command, server: JudgeServer, write_items: WriteItems, tmp_path: Path
) -> None:
    write(f"OPENAI_API_KEY={OTHER}\nOPENAI_BASE_URL={server.base_url}\n")
    server.plan = lambda request: answers.echo_key(401) if request.item == 1 else None
    done = jurybox("run", write_items(2), "--rubrics", "fluency", "--judge", "openai/judge-1", "--out", "run.db")
    assert {request.headers["Authorization"] for request in server.requests} == {f"Bearer {OTHER}"}
    assert done.returncode == 2
    assert OTHER not in done.stdout + done.stderr
    for path in tmp_path.rglob("*"):
        if path.is_file() and path.name != ".env":
            assert OTHER.encode() not in path.read_bytes()


# Ollama


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("gpu", "http://gpu:11434/v1"),
        ("gpu:8080", "http://gpu:8080/v1"),
        (":8080", "http://127.0.0.1:8080/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080/v1"),
        ("[::1]", "http://[::1]:11434/v1"),
        ("http://gpu:8080", "http://gpu:8080/v1"),
        ("http://gpu:8080/", "http://gpu:8080/v1"),
        ("http://gpu:8080/v1", "http://gpu:8080/v1"),
        ("https://gpu.example/ollama", "https://gpu.example/ollama/v1"),
        ('"gpu"', "http://gpu:11434/v1"),
    ],
)
def test_every_form_of_ollamas_host_is_understood(host: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert address_of(host) == address
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert make_judge("ollama/llama3", Settings()).address == address


def test_an_ollama_host_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "gpu:port")
    with pytest.raises(JudgeSpecError, match=r"OLLAMA_HOST .*gpu:port: should be an address such as http://127"):
        make_judge("ollama/llama3", Settings())


def test_ollama_is_asked_without_a_key_and_costs_nothing(server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OLLAMA_HOST", server.base_url.removesuffix("/v1"))
    judge = make_judge("ollama/llama3:8b", Settings())
    reply = ask(judge)
    assert judge.cost(reply) == 0.0
    (request,) = server.requests
    assert "Authorization" not in request.headers
    assert (request.path, request.body["model"]) == ("/v1/chat/completions", "llama3:8b")


def test_a_base_url_comes_before_ollamas_host(server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    assert ask(make_judge("ollama/llama3", Settings(base_url=server.base_url))).text


def test_a_silent_ollama_is_met_with_how_to_start_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    with pytest.raises(JudgeFailure, match=r"no connection .*ollama serve") as caught:
        ask(make_judge("ollama/llama3", Settings()))
    assert caught.value.retry


def test_a_missing_model_is_met_with_how_to_get_it(server: JudgeServer) -> None:
    missing = answers.error(404, "model 'llama9' not found")
    listed = answers.body('{"data": [{"id": "llama3:8b"}]}')
    server.plan = lambda request: listed if request.path == "/v1/models" else missing
    with pytest.raises(JudgeRejection, match=r"not found \(it has: llama3:8b\); get it with 'ollama pull llama9'"):
        ask(make_judge("ollama/llama9", Settings(base_url=server.base_url)))


@pytest.mark.parametrize(
    ("body", "context"),
    [
        ('{"models": [{"name": "llama3:latest", "context_length": 4096}]}', 4096),
        ('{"models": [{"name": "other:latest", "context_length": 4096}]}', None),
        ('{"models": []}', None),
        ("<html>", None),
    ],
)
def test_ollama_tells_its_context_while_the_model_is_loaded(
    server: JudgeServer, body: str, context: int | None
) -> None:
    server.always(answers.body(body))

    async def learn() -> int | None:
        judge = make_judge("ollama/llama3", Settings(base_url=server.base_url))
        assert isinstance(judge, OllamaJudge)
        try:
            return await judge.learn_context()
        finally:
            await judge.close()

    assert asyncio.run(learn()) == context
    assert [request.path for request in server.requests] == ["/api/ps"]
