"""`local/PATH.gguf` or `local/NAME`: any instruct model in GGUF, in this process, as an ordinary prompted judge.

Messages go through the model's own chat template. Calls run one at a time in one thread, in the order they come, so the
calls about one item find its material evaluated (layout `shared`). The model is loaded at the first call and freed by
`close`. What can be known without loading it (no such file, not GGUF, no engine) is refused before anything is asked.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from jurybox.errors import JudgeFailure, JudgeSpecError, unknown_name
from jurybox.judges.base import Judge, Settings
from jurybox.judges.cores import default_threads
from jurybox.judges.engine import Completion, Engine
from jurybox.judges.gguf import Head, NotGGUF, read_head
from jurybox.judges.tokens import scale_of
from jurybox.types import ANSWERS, Question, Reply
from jurybox.weights import known_models, local_path

# Memory grows with it; a longer one is asked for with --context.
DEFAULT_CONTEXT = 8192
# A small model may never stop. A reasoned answer has some 350 tokens; this leaves room for three of them.
MOST_TOKENS_A_RUBRIC = 1024
# Characters of a reasoning in a JSON answer: what some 350 tokens of English have.
MOST_REASON = 1500
# For `digit`: the likeliest tokens looked at. A step that is not among them has a probability below 1/256, and less
# than the least of those seen.
LOOKED_AT = 256
INSTALL = "pip install 'jurybox[embedded]'"


def make(spec: str, rest: str, settings: Settings) -> Judge:
    path = _find(spec, rest)
    try:
        head = read_head(path)
    except NotGGUF as exc:
        raise JudgeSpecError(
            f"--judge {spec}: {path} is not a GGUF file: {exc}; name another: local/PATH.gguf"
        ) from exc
    except (OSError, ValueError) as exc:  # ValueError: an empty file cannot be mapped
        raise JudgeSpecError(f"--judge {spec}: {path} cannot be read: {exc}") from exc
    if not head.chat_template:
        raise JudgeSpecError(
            f"--judge {spec}: {path} has no chat template, so it is no instruct model; take one that is"
        )
    if importlib.util.find_spec("xllamacpp") is None:
        raise JudgeSpecError(f"--judge {spec}: needs llama.cpp, which is not installed: {INSTALL}")
    return LocalJudge(spec, path, head, settings)


def _find(spec: str, rest: str) -> Path:
    """A registry name first: it has no slash and no suffix, so a file of that name can be given as ./NAME."""
    if rest in known_models():
        path = local_path(rest)
        if path is None:
            raise JudgeSpecError(f"--judge {spec}: its weights are not on this machine: jurybox models get {rest}")
        if path.is_dir():
            raise JudgeSpecError(f"--judge {spec}: '{rest}' is not a language model in GGUF; see jurybox models list")
        return path
    path = Path(rest).expanduser()
    if not path.is_file():
        hint = "see jurybox models list" if path.suffix else unknown_name("model", rest, known_models())
        raise JudgeSpecError(f"--judge {spec}: there is no file {path}; {hint}")
    return path


class LocalJudge(Judge):
    answers = frozenset(ANSWERS)
    preferred_layout = "shared"
    most_at_once = 1
    cached = True
    in_process = True

    def __init__(self, spec: str, path: Path, head: Head, settings: Settings) -> None:
        self.spec, self.model = spec, path.name
        self.fingerprint = content_digest(path)
        self.evaluated_tokens = 0
        self._path = path
        self._threads = settings.threads or default_threads()
        wanted = settings.context or DEFAULT_CONTEXT
        self._context = self.context = min(wanted, head.context or wanted)
        self._defuse = defuser(head.special)
        self._engine: Engine | None = None
        self._thread = ThreadPoolExecutor(1, "jurybox-local")
        self._closed = threading.Event()

    async def ask(self, question: Question) -> Reply:
        given_up = threading.Event()
        answered = asyncio.get_running_loop().run_in_executor(self._thread, self._ask, question, given_up)
        try:
            return await answered
        except asyncio.CancelledError:
            given_up.set()
            raise

    def cost(self, reply: Reply) -> float | None:
        return 0.0

    async def close(self) -> None:
        """End the call under way, free the model, let the thread go."""
        if self._closed.is_set():
            return
        self._closed.set()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._free)
        self._thread.shutdown(wait=False)

    def _free(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _ask(self, question: Question, given_up: threading.Event) -> Reply:
        def over() -> bool:
            return given_up.is_set() or self._closed.is_set()

        if over():
            raise JudgeFailure("the call was given up before its turn came", retry=False)
        if self._engine is None:
            self._engine = Engine(self._path, self._threads, self._context)
        started = time.perf_counter()
        answer = self._engine.chat(self._request(question), over)
        self.evaluated_tokens += answer.evaluated
        return self._reply(question, answer, time.perf_counter() - started)

    def _request(self, question: Question) -> dict[str, Any]:
        prompt, sampling = question.prompt, question.sampling
        messages = [{"role": "user", "content": self._defuse(prompt.user)}]
        if prompt.system:
            messages.insert(0, {"role": "system", "content": self._defuse(prompt.system)})
        request: dict[str, Any] = {"messages": messages, "temperature": sampling.temperature}
        if sampling.seed is not None:
            request["seed"] = sampling.seed + question.sample - 1
        if question.answer == "digit":
            # The next token is the answer, so a model that can think first must not.
            alone = {"max_tokens": 1, "logprobs": True, "top_logprobs": LOOKED_AT}
            return request | alone | {"chat_template_kwargs": {"enable_thinking": False}}
        request["max_tokens"] = sampling.max_tokens or MOST_TOKENS_A_RUBRIC * len(question.rubrics)
        if prompt.schema is not None:
            share = request["max_tokens"] // len(question.rubrics)
            request["json_schema"] = with_room_for_scores(prompt.schema, share)
        return request

    def _reply(self, question: Question, answer: Completion, seconds: float) -> Reply:
        by_digit = question.answer == "digit"
        return Reply(
            text=answer.text,
            reasoning=answer.reasoning,
            finish="stop" if by_digit else answer.finish,  # one token was asked for; nothing was cut
            model=self.model,
            tokens_in=answer.evaluated + answer.cached,
            tokens_out=answer.tokens_out,
            tokens_cached=answer.cached,
            seconds=seconds,
            scale=scale_of(answer.first) if by_digit else None,
        )


def with_room_for_scores(schema: Any, tokens: int) -> Any:
    """The schema with its texts bounded so that what follows them still fits into so many tokens: a small model may
    reason in a circle, and the score comes last. Two characters a token are fewer than any English text has."""
    if isinstance(schema, Mapping):
        bounded = {name: with_room_for_scores(value, tokens) for name, value in schema.items()}
        return bounded | {"maxLength": min(2 * tokens, MOST_REASON)} if schema.get("type") == "string" else bounded
    return schema


def defuser(special: Iterable[str]) -> Callable[[str], str]:
    """Judged text must not end its own turn: llama.cpp reads `<|im_end|>` in a message as the control token itself. A
    space after its first character makes it words again."""
    texts = sorted(special, key=len, reverse=True)
    if not texts:
        return lambda text: text
    pattern = re.compile("|".join(map(re.escape, texts)))
    return lambda text: pattern.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)


_DIGESTS: dict[tuple[str, int, int], str] = {}


def content_digest(path: Path) -> str:
    """SHA-256 of a file; read once for as long as its size and time stay the same."""
    status = path.stat()
    key = (str(path.resolve()), status.st_size, status.st_mtime_ns)
    if key not in _DIGESTS:
        with path.open("rb") as file:
            _DIGESTS[key] = hashlib.file_digest(file, "sha256").hexdigest()
    return _DIGESTS[key]
