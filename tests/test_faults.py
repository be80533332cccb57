"""Faults harsher than a bad status: each judgment ends scored and right, or with a status that says why.

Real servers on loopback that break off, trickle, mislabel, talk out of turn, or hold a certificate of their own; and
the C mock of ../shared with one request in eleven going wrong. Never a wrong score, never a judgment lost or twice.
"""

from __future__ import annotations

import asyncio
import email.utils
import gzip
import json
import re
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time
import urllib.request
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import server as answers
from conftest import Command, Evaluate, WriteItems, assert_right, item
from jurybox import evaluate as jurybox_evaluate
from jurybox.errors import JudgeRejection
from jurybox.store import RunReader
from jurybox.types import Judgment
from server import Answer, JudgeServer, Request, right_score

KEY = "sk-very-secret-0123456789"
MOCK = Path(__file__).parent.parent.parent / "shared" / "tools" / "mock_openai.c"


def judgments(path: Path) -> list[Judgment]:
    with RunReader(path) as reader:
        return sorted(reader.judgments(), key=lambda judgment: int(judgment.id[1:]))


def completion(score: int, **message: Any) -> bytes:
    content = f"Reason: counted.\nScore- <score>{score}</score>"
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": "stop"}
    return json.dumps({"id": "chatcmpl-1", "model": "judge-1", "choices": [choice]}).encode()


def right_body(request: Request) -> bytes:
    return completion(right_score(request.item, request.titles[0]))


def wrong_score(request: Request) -> int:
    return right_score(request.item, request.titles[0]) % 5 + 1


# Answers that are written to the socket itself, byte by byte if need be


def head(*lines: str, status: str = "200 OK") -> bytes:
    return "\r\n".join((f"HTTP/1.1 {status}", "Content-Type: application/json", *lines, "", "")).encode()


def over_the_wire(http: web.Request, raw: bytes) -> None:
    assert http.transport is not None, "the request came over a connection"
    http.transport.write(raw)


async def hang_up(http: web.Request, *, rudely: bool = False) -> web.StreamResponse:
    """End the connection: with what was written delivered, or by a reset."""
    assert http.transport is not None, "the request came over a connection"
    if rudely:
        await asyncio.sleep(0.05)  # what was written leaves first
        connection = http.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        http.transport.abort()
    else:
        http.transport.close()
    return web.Response()


async def half_then_closed(http: web.Request, request: Request) -> web.StreamResponse:
    raw = right_body(request)
    over_the_wire(http, head(f"Content-Length: {len(raw)}") + raw[: len(raw) // 2])
    return await hang_up(http)


async def half_then_reset(http: web.Request, request: Request) -> web.StreamResponse:
    raw = right_body(request)
    over_the_wire(http, head(f"Content-Length: {len(raw)}") + raw[: len(raw) // 2])
    return await hang_up(http, rudely=True)


async def chunks_without_an_end(http: web.Request, request: Request) -> web.StreamResponse:
    """All of the JSON came, but not the chunk that says so: nobody knows whether more was to come."""
    raw = right_body(request)
    over_the_wire(http, head("Transfer-Encoding: chunked") + f"{len(raw):x}\r\n".encode() + raw + b"\r\n")
    return await hang_up(http)


async def short_length(http: web.Request, request: Request) -> web.StreamResponse:
    """The head promises less than comes."""
    raw = right_body(request)
    over_the_wire(http, head(f"Content-Length: {len(raw) - 20}", "Connection: close") + raw)
    return await hang_up(http)


async def another_protocol(http: web.Request, request: Request) -> web.StreamResponse:
    over_the_wire(http, b"SSH-2.0-OpenSSH_9.6\r\n")
    return await hang_up(http)


async def broken_gzip(http: web.Request, request: Request) -> web.StreamResponse:
    raw = gzip.compress(right_body(request))[:-12]
    return web.Response(body=raw, headers={"Content-Type": "application/json", "Content-Encoding": "gzip"})


def long_header(length: int) -> Answer:
    async def answer(http: web.Request, request: Request) -> web.StreamResponse:
        return web.Response(body=right_body(request), headers={"X-Trace": "x" * length})

    return answer


HTML = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
PASSING = [
    pytest.param(half_then_closed, "", id="half a body, then closed"),
    pytest.param(half_then_reset, "", id="half a body, then reset"),
    pytest.param(chunks_without_an_end, "", id="chunks without an end"),
    pytest.param(short_length, "", id="less promised than sent"),
    pytest.param(another_protocol, "", id="another protocol"),
    pytest.param(broken_gzip, "", id="gzip cut short"),
    pytest.param(long_header(60_000), "", id="endless header"),
    pytest.param(answers.body(HTML, kind="text/html"), "Bad Gateway", id="HTML page with 200"),
    pytest.param(answers.body(HTML, kind="text/html", status=502), "502 Bad Gateway", id="HTML page with 502"),
    pytest.param(answers.body("", kind="text/html"), "an empty answer", id="empty page with 200"),
    pytest.param(answers.body("", status=503), "answered 503: an empty answer", id="503 without a word"),
    pytest.param(answers.error(200, "upstream is overloaded"), "upstream is overloaded", id="error object with 200"),
    pytest.param(
        answers.body('{"choices": null, "error": {"message": "provider returned 502"}}'),
        "provider returned 502",
        id="error object beside null choices",
    ),
    pytest.param(answers.body('"Score- <score>1</score>"'), "not a chat completion", id="a bare text"),
]


@pytest.mark.parametrize(("fault", "said"), PASSING)
def test_an_answer_that_cannot_be_trusted_is_no_answer(evaluate: Evaluate, fault: Answer, said: str) -> None:
    """Once: the next answer counts. Always: `failed` with the server's address and its words, and every try kept."""
    evaluate.server.plan = lambda request: fault if request.item == 0 or request.nth == 1 else None
    run = evaluate([item(0), item(1)], retries=1)
    lost, found = judgments(evaluate.out)
    assert (lost.verdict.status, lost.verdict.score, lost.reply) == ("failed", None, None)
    assert lost.verdict.reason.startswith(evaluate.server.base_url)
    assert said in lost.verdict.reason
    assert (found.verdict.status, found.verdict.score) == ("scored", right_score(1, "Fluency"))
    assert sorted(Counter(request.item for request in evaluate.server.requests).items()) == [(0, 2), (1, 2)]
    assert run.tally is not None
    assert (run.tally.done, run.tally.unscored, run.tally.retried) == (2, 1, 2)


# Odd answers that are right all the same


def answer_with(headers: dict[str, str], squeeze: Any = bytes) -> Answer:
    async def answer(http: web.Request, request: Request) -> web.StreamResponse:
        return web.Response(body=squeeze(right_body(request)), headers=headers)

    return answer


def trickle(pause: float, blank_lines: int = 0) -> Answer:
    """A byte at a time, as chunks; perhaps after blank lines that only keep the line open."""

    async def answer(http: web.Request, request: Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(http)
        for byte in b"\n" * blank_lines + right_body(request):
            await response.write(bytes([byte]))
            await asyncio.sleep(pause)
        return response

    return answer


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(answer_with({"Content-Type": "text/plain"}), id="called plain text"),
        pytest.param(answer_with({"Content-Type": "text/html; charset=latin-1"}), id="called HTML in Latin-1"),
        pytest.param(answer_with({"Content-Type": "nonsense"}), id="called nonsense"),
        pytest.param(answer_with({"Content-Encoding": "gzip"}, gzip.compress), id="gzip"),
        pytest.param(answer_with({"Content-Encoding": "deflate"}, zlib.compress), id="deflate"),
        pytest.param(long_header(7_000), id="long header"),
        pytest.param(trickle(0.002), id="a byte every 2 ms"),
        pytest.param(trickle(0.001, blank_lines=50), id="blank lines first"),
    ],
)
def test_a_right_answer_in_an_odd_coat_is_read_at_once(evaluate: Evaluate, odd: Answer) -> None:
    evaluate.server.always(odd)
    evaluate([item(0), item(1)])
    assert len(assert_right(evaluate.out)) == 2
    assert len(evaluate.server.requests) == 2


def test_an_answer_that_trickles_for_ever_ends_with_the_deadline(evaluate: Evaluate) -> None:
    """Bytes that keep coming are no answer: the deadline holds for the whole call, not for each read."""

    async def endless(http: web.Request, request: Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(http)
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.005)

    evaluate.server.plan = lambda request: endless if request.item == 0 else None
    evaluate([item(0), item(1)], deadline=1.5)
    lost, found = judgments(evaluate.out)
    assert (lost.verdict.status, lost.verdict.reason) == ("failed", "no answer within 1.5 s")
    assert found.verdict.score == right_score(1, "Fluency")
    assert len(evaluate.server.requests) == 2


# Answers that could be taken for another


def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next_one(evaluate: Evaluate) -> None:
    """A server or proxy out of step sends two answers to one request; the second has a wrong score for the next."""

    async def twice(http: web.Request, request: Request) -> web.StreamResponse:
        raw, stray = right_body(request), completion(wrong_score(Request("", {}, next_body(request), 1)))
        over_the_wire(http, b"".join(head(f"Content-Length: {len(part)}") + part for part in (raw, stray)))
        await asyncio.sleep(0.1)  # the connection stays open for the next question
        return await hang_up(http)

    evaluate.server.plan = lambda request: twice if request.item < 3 else None
    evaluate([item(number) for number in range(6)], concurrency=1)
    assert len(assert_right(evaluate.out)) == 6


def next_body(request: Request) -> bytes:
    """The request as it would be about the next item."""
    return re.sub(rb"\[\[item \d+\]\]", f"[[item {request.item + 1}]]".encode(), request.raw)


def content_twice(request: Request) -> bytes:
    """A chat completion whose message has two contents with different scores."""
    wrong = json.dumps(f"Score- <score>{wrong_score(request)}</score>").encode()
    return right_body(request).replace(b'"role":', b'"content": ' + wrong + b', "role":')


def choices_twice(request: Request) -> bytes:
    other = json.loads(completion(wrong_score(request)))["choices"]
    return right_body(request).replace(b'{"id":', b'{"choices": ' + json.dumps(other).encode() + b', "id":', 1)


@pytest.mark.parametrize("doubled", [content_twice, choices_twice])
def test_a_message_with_two_contents_is_not_read_as_either(evaluate: Evaluate, doubled: Any) -> None:
    """RFC 8259, 4: with equal names in an object, what a reader sees is unpredictable. Neither score can be trusted."""

    async def answer(http: web.Request, request: Request) -> web.StreamResponse:
        return web.Response(body=doubled(request), content_type="application/json")

    evaluate.server.plan = lambda request: answer if request.item == 0 else None
    evaluate([item(0), item(1)], retries=1, reasks=1)
    lost, found = judgments(evaluate.out)
    assert (lost.verdict.status, lost.verdict.score) in {("failed", None), ("unparsed", None)}
    assert found.verdict.score == right_score(1, "Fluency")
    assert Counter(request.item for request in evaluate.server.requests) == {0: 2, 1: 1}


def test_a_json_verdict_with_two_scores_is_unparsed(evaluate: Evaluate) -> None:
    """One object is one statement; two tags in one statement that contradict each other are not read either."""
    evaluate.server.always(answers.completion('{"reasoning": "Counted.", "score": 2, "score": 5}'))
    evaluate([item(0)], answer="json", reasks=1)
    (judgment,) = judgments(evaluate.out)
    assert (judgment.verdict.status, judgment.verdict.score) == ("unparsed", None)
    assert len(evaluate.server.requests) == 2


# Judges that never come to a verdict

MUSING = "Let me weigh this again, claim by claim. " * 40 + "\nScore- <score>5</score>"


@pytest.mark.parametrize(
    ("endless", "status"),
    [
        pytest.param(answers.completion(f"<think>{MUSING}", finish="length"), "truncated", id="<think>, cut off"),
        pytest.param(answers.completion(f"<think>{MUSING}"), "unparsed", id="<think>, stopped"),
        pytest.param(
            answers.completion("", finish="length", reasoning_content=MUSING), "truncated", id="field, cut off"
        ),
        pytest.param(answers.completion("", reasoning=MUSING), "unparsed", id="field, stopped"),
        pytest.param(answers.completion(None, finish="length"), "truncated", id="null, cut off"),
        pytest.param(answers.completion(None), "unparsed", id="null, stopped"),
        pytest.param(answers.completion([]), "unparsed", id="no parts"),
    ],
)
def test_thinking_that_never_ends_in_an_answer_gives_no_score(evaluate: Evaluate, endless: Answer, status: str) -> None:
    """Scores that were only thought of are not given."""
    evaluate.server.plan = lambda request: endless if request.item == 0 else None
    evaluate([item(0), item(1)], reasks=1)
    lost, found = judgments(evaluate.out)
    assert (lost.verdict.status, lost.verdict.score) == (status, None)
    assert lost.verdict.reason
    assert found.verdict.score == right_score(1, "Fluency")
    assert Counter(request.item for request in evaluate.server.requests) == {0: 2, 1: 1}


# Redirects, waits


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_takes_neither_the_key_nor_the_prompt_elsewhere(
    evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with JudgeServer() as elsewhere:
        evaluate.server.always(answers.body("", status=status, Location=f"{elsewhere.base_url}/chat/completions"))
        with pytest.raises(JudgeRejection, match=f"answered {status}"):
            evaluate([item(0)])
        assert elsewhere.requests == []
    assert len(evaluate.server.requests) == 1


def test_a_date_in_retry_after_is_waited_for(evaluate: Evaluate) -> None:
    """The clock of the second arrival is compared with the date that was given."""
    date = int(time.time()) + 2
    arrivals: list[float] = []

    def plan(request: Request) -> Answer | None:
        arrivals.append(time.time())
        when = email.utils.formatdate(date, usegmt=True)
        return answers.error(429, "slow down", Retry_After=when) if len(arrivals) == 1 else None

    evaluate.server.plan = plan
    evaluate([item(0)], retries=1)
    assert len(assert_right(evaluate.out)) == 1
    assert len(arrivals) == 2
    assert arrivals[1] >= date


# Certificates


class EncryptedServer:
    """Chat completions over TLS; counts handshakes that were refused and requests that came."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.requests = 0
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            heading = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", heading, re.IGNORECASE)
            assert length is not None, "jurybox says how long its requests are"
            request = Request("/v1/chat/completions", {}, await reader.readexactly(int(length[1])), 1)
            self.requests += 1
            raw = right_body(request)
            writer.write(head(f"Content-Length: {len(raw)}", "Connection: close") + raw)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            pass  # the client went away, as it should from a server it does not trust
        finally:
            writer.close()

    def __enter__(self) -> EncryptedServer:
        self._thread.start()
        starting = asyncio.start_server(self._handle, "127.0.0.1", 0, ssl=self.context)
        self._server = asyncio.run_coroutine_threadsafe(starting, self._loop).result(10)
        self._loop.set_exception_handler(lambda loop, context: None)  # refused handshakes are the point
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *exc: object) -> None:
        async def close() -> None:
            self._server.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1 with its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is needed to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    paths = folder / "certificate.pem", folder / "key.pem"
    words = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-out", str(paths[0]), "-keyout", str(paths[1]), "-days", "2"]
    words += ["-subj", "/CN=jurybox test", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(words, check=True, capture_output=True)
    return paths


def test_a_certificate_that_nobody_vouches_for_stops_the_run(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    """No prompt and no key leave for a server that may be anyone; and no retry makes a certificate better."""
    with EncryptedServer(*certificate) as server:
        with pytest.raises(JudgeRejection, match="certificate"):
            jurybox_evaluate(
                [item(0)],
                rubrics="fluency",
                judge="openai/judge-1",
                base_url=f"https://127.0.0.1:{server.port}/v1",
                out=tmp_path / "run.db",
            )
        assert server.requests == 0


def test_a_certificate_that_the_user_vouches_for_is_enough(
    certificate: tuple[Path, Path], jurybox: Command, write_items: WriteItems, tmp_path: Path
) -> None:
    """The other side of the test above: it is the certificate that was refused, not the server."""
    with EncryptedServer(*certificate) as server:
        address = f"https://127.0.0.1:{server.port}/v1"
        words = ["run", write_items(2), "--rubrics", "fluency", "--judge", "openai/judge-1", "--base-url", address]
        done = jurybox(*words, "--out", tmp_path / "run.db", env={"SSL_CERT_FILE": str(certificate[0])})
        assert done.returncode == 0, done.stderr
        assert server.requests == 2
    assert len(assert_right(tmp_path / "run.db")) == 2


def test_plain_words_to_an_encrypted_port_fail_clearly(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    with EncryptedServer(*certificate) as server:
        address = f"http://127.0.0.1:{server.port}/v1"
        options: dict[str, Any] = {"base_url": address, "out": tmp_path / "run.db", "retries": 1}
        jurybox_evaluate([item(0)], rubrics="fluency", judge="openai/judge-1", **options)
        assert server.requests == 0
    (lost,) = judgments(tmp_path / "run.db")
    assert lost.verdict.status == "failed"
    assert lost.verdict.reason.startswith(address)


def test_encrypted_words_to_a_plain_port_do_not_pass(evaluate: Evaluate) -> None:
    address = evaluate.server.base_url.replace("http://", "https://")
    evaluate([item(0)], base_url=address, retries=1)
    (lost,) = judgments(evaluate.out)
    assert lost.verdict.status == "failed"
    assert lost.verdict.reason.startswith(address)
    assert evaluate.server.requests == []


# The C mock: 5 % 429, 2 % 500, 1 % nonsense, 1 % reset


@contextmanager
def mock(folder: Path) -> Iterator[str]:
    compiler = shutil.which("gcc")
    if compiler is None or not MOCK.exists():
        pytest.skip("gcc and ../shared/tools/mock_openai.c are needed")
    binary = folder / "mock"
    subprocess.run([compiler, "-O2", "-w", "-o", str(binary), str(MOCK)], check=True)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    process = subprocess.Popen([str(binary), str(port)])
    try:
        wait_for_port(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def wait_for_port(port: int) -> None:
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.02)
    pytest.fail("the mock did not start")


def control(root: str, command: str) -> str:
    with urllib.request.urlopen(f"{root}/ctl/{command}", timeout=10) as response:
        return str(response.read().decode())


def marked(number: int) -> dict[str, Any]:
    source, metric = divmod(number, 5)
    return item(number, summary=f"Buyers like the kettle. [[S:{source:04d}]] [[M:{metric}]]")


def gold(number: int) -> int:
    """What the mock holds for right."""
    source, metric = divmod(number, 5)
    return 1 + (source * 7 + metric * 3) % 5


@pytest.mark.parametrize("seed", [5, 7])
def test_none_of_300_judgments_is_lost_or_wrong_or_paid_twice(tmp_path: Path, seed: int) -> None:
    with mock(tmp_path) as root:
        control(root, f"config?latency=5&faults=1&seed={seed}")
        options: dict[str, Any] = {"base_url": f"{root}/score/v1", "out": tmp_path / "run.db", "concurrency": 32}
        data = [marked(number) for number in range(300)]
        run = jurybox_evaluate(data, rubrics="fluency", judge="openai/mock", **options)
        counts = [tuple(map(int, line.split())) for line in control(root, "counts").splitlines()]
        stats = json.loads(control(root, "stats"))
        jurybox_evaluate(data, rubrics="fluency", judge="openai/mock", **options)
        asked_again = json.loads(control(root, "stats"))["requests"] - stats["requests"]
    found = judgments(tmp_path / "run.db")
    assert [judgment.id for judgment in found] == [f"p{number}" for number in range(300)]
    for judgment in found:
        verdict = judgment.verdict
        assert verdict.status == "scored", f"{judgment.id}: {verdict}"
        assert verdict.score == gold(int(judgment.id[1:])), judgment.id
    assert min(stats[fault] for fault in ("e429", "e500", "malformed", "reset")) > 0, "every kind of fault struck"
    assert [(number, good) for number, good, *_ in counts] == [(number, 1) for number in range(300)]
    assert run.tally is not None
    assert run.tally.retried == stats["requests"] - 300
    assert asked_again == 0
