"""`vllm/MODEL`: a vLLM engine in this process, on its GPU; with `--engine ray` one in every worker.

The engine is loaded at the first call, so that a driver without a GPU can plan and hand out the work. vLLM batches the
calls in flight by itself and keeps what prompts share (layout `shared`). It reports to nobody.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import time
import uuid
from collections.abc import Callable
from typing import Any

from jurybox.errors import JudgeFailure, JudgeRejection
from jurybox.judges.base import Judge, Settings
from jurybox.judges.local import MOST_TOKENS_A_RUBRIC, defuser
from jurybox.types import Question, Reply

INSTALL = "pip install vllm, on a machine with a GPU; or serve the model and use openai/MODEL with --base-url"


def make(spec: str, rest: str, settings: Settings) -> Judge:
    return VllmJudge(spec, rest, settings.context)


class VllmJudge(Judge):
    """`gpus` is how many a worker needs; a model that needs more of them together is served and asked over HTTP."""

    preferred_layout = "shared"
    gpus = 1

    def __init__(self, spec: str, model: str, context: int | None) -> None:
        self.spec, self.model, self.context = spec, model, context
        self._loading = asyncio.Lock()
        self._engine: Any = None
        self._render: Callable[[Question], str] = _not_loaded
        self._vllm: Any = None

    def __getstate__(self) -> dict[str, Any]:
        raise TypeError("an engine on a GPU does not travel: every worker makes its own judge")

    async def ask(self, question: Question) -> Reply:
        await self._load()
        request = uuid.uuid4().hex
        answer: Any = None
        started = time.perf_counter()
        try:
            async for so_far in self._engine.generate(self._render(question), self._sampling(question), request):
                answer = so_far
        except ValueError as exc:  # vLLM's own word for a prompt that it cannot hold
            raise JudgeFailure(f"{self.spec}: {exc}", retry=False, too_long="model length" in str(exc)) from exc
        except Exception as exc:
            if getattr(self._engine, "errored", False):
                raise JudgeRejection(f"{self.spec}: the engine is dead: {exc}") from exc
            raise JudgeFailure(f"{self.spec}: {exc}", retry=True) from exc
        if answer is None or not answer.outputs:
            raise JudgeFailure(f"{self.spec}: the engine gave no answer", retry=True)
        return self._reply(answer, time.perf_counter() - started)

    def cost(self, reply: Reply) -> float | None:
        return 0.0

    async def close(self) -> None:
        if self._engine is not None:
            self._engine.shutdown()
            self._engine = None

    async def _load(self) -> None:
        async with self._loading:
            if self._engine is not None:
                return
            os.environ["VLLM_NO_USAGE_STATS"] = os.environ["DO_NOT_TRACK"] = "1"
            try:
                self._vllm = importlib.import_module("vllm")
            except ImportError as exc:
                raise JudgeRejection(f"--judge {self.spec}: vLLM is not installed here: {INSTALL}") from exc
            options = {} if self.context is None else {"max_model_len": self.context}
            arguments = self._vllm.AsyncEngineArgs(model=self.model, enable_prefix_caching=True, **options)
            try:
                engine = self._vllm.AsyncLLMEngine.from_engine_args(arguments)
                tokenizer = await _awaited(engine.get_tokenizer())
            except Exception as exc:
                raise JudgeRejection(f"--judge {self.spec}: vLLM cannot load it: {exc}") from exc
            self._render = _renderer(tokenizer)
            self._engine = engine

    def _sampling(self, question: Question) -> Any:
        sampling = question.sampling
        options: dict[str, Any] = {
            "temperature": sampling.temperature,
            "max_tokens": sampling.max_tokens or MOST_TOKENS_A_RUBRIC * len(question.rubrics),
        }
        if sampling.seed is not None:
            options["seed"] = sampling.seed + question.sample - 1
        if question.prompt.schema is not None:
            parameters = importlib.import_module("vllm.sampling_params")
            options["structured_outputs"] = parameters.StructuredOutputsParams(json=dict(question.prompt.schema))
        return self._vllm.SamplingParams(**options)

    def _reply(self, answer: Any, seconds: float) -> Reply:
        first = answer.outputs[0]
        return Reply(
            text=first.text,
            finish=first.finish_reason or "stop",
            model=self.model,
            tokens_in=len(answer.prompt_token_ids or ()),
            tokens_out=len(first.token_ids),
            tokens_cached=getattr(answer, "num_cached_tokens", None),
            seconds=seconds,
        )


def _renderer(tokenizer: Any) -> Callable[[Question], str]:
    """Messages through the model's own chat template; judged text must not end its own turn."""
    defuse = defuser(tokenizer.all_special_tokens)

    def render(question: Question) -> str:
        messages = [{"role": "user", "content": defuse(question.prompt.user)}]
        if question.prompt.system:
            messages.insert(0, {"role": "system", "content": defuse(question.prompt.system)})
        return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))

    return render


def _not_loaded(question: Question) -> str:
    raise AssertionError("the engine is loaded before a prompt is rendered")


async def _awaited(value: Any) -> Any:
    """Some versions hand over the tokenizer, some a coroutine for it."""
    return await value if asyncio.iscoroutine(value) else value
