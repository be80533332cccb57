"""llama.cpp in this process, through xllamacpp: one model, one context, one call at a time.

Owns what is peculiar to that library. Its server part always listens somewhere; here that is a socket in a folder that
only this user may enter (on Windows a loopback port), locked with a key that nobody is told, and never spoken to. Calls
are streamed, because a callback is the only way to stop one. Verified with the version that pyproject.toml pins.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jurybox.errors import JudgeFailure, JudgeRejection

# Tokens evaluated together: also how often a call that nobody waits for any more is noticed while its prompt is read.
BATCH = 256


@dataclass(slots=True)
class Completion:
    """What the stream of one call brought. `evaluated` tokens were computed, `cached` ones were there from before."""

    text: str = ""
    reasoning: str = ""
    finish: str = "stop"
    tokens_out: int = 0
    evaluated: int = 0
    cached: int = 0
    first: list[Mapping[str, Any]] = field(default_factory=list)  # the likeliest tokens in the first place
    error: Mapping[str, Any] | None = None

    def add(self, chunk: Mapping[str, Any]) -> None:
        if "error" in chunk:
            self.error = chunk["error"]
        for choice in chunk.get("choices") or ():
            delta = choice.get("delta") or {}
            self.text += delta.get("content") or ""
            self.reasoning += delta.get("reasoning_content") or ""
            self.finish = choice.get("finish_reason") or self.finish
            self._add_probabilities(choice.get("logprobs") or {})
        timings = chunk.get("timings")
        if timings:
            self.evaluated, self.cached = timings["prompt_n"], timings["cache_n"]
            self.tokens_out = timings["predicted_n"]

    def _add_probabilities(self, probabilities: Mapping[str, Any]) -> None:
        if not self.first and probabilities.get("content"):
            self.first = probabilities["content"][0]["top_logprobs"]


class Engine:
    """A loaded model. Not for two threads at once: the judge's one thread owns it."""

    def __init__(self, path: Path, threads: int, context: int) -> None:
        import xllamacpp

        self._folder = tempfile.TemporaryDirectory(prefix="jurybox-")
        try:
            self._server: Any = xllamacpp.Server(_parameters(xllamacpp, path, threads, context, self._folder.name))
        except RuntimeError as exc:
            self._folder.cleanup()
            raise JudgeRejection(
                f"{path}: llama.cpp cannot load this model: the file is damaged, of a kind that this version does not "
                f"know, or larger than the memory ({exc})"
            ) from exc

    def chat(self, request: Mapping[str, Any], given_up: Callable[[], bool]) -> Completion:
        """One completion; ends early, with what came so far, once `given_up` says so."""
        answer = Completion()

        def on_chunk(chunk: Mapping[str, Any]) -> bool:
            answer.add(chunk)
            return given_up()

        whole = {**request, "stream": True, "return_progress": True, "cache_prompt": True}
        try:
            returned = self._server.handle_chat_completions(whole, on_chunk)
        except (RuntimeError, ValueError) as exc:  # also what a chat template refuses
            raise JudgeFailure(f"llama.cpp refused the call: {exc}", retry=False) from exc
        if isinstance(returned, dict):
            answer.add(returned)
        if answer.error is not None:
            raise JudgeFailure(_refusal(answer.error), retry=False)
        return answer

    def close(self) -> None:
        """Free the model: the library does it when its object goes."""
        self._server = None
        self._folder.cleanup()


def _parameters(library: Any, path: Path, threads: int, context: int, folder: str) -> Any:
    parameters = library.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx = context
    parameters.n_batch = parameters.n_ubatch = BATCH
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.cache_ram_mib = 0  # prompts of earlier items are not asked again; 8 GiB of them is the default
    parameters.warmup = parameters.fit_params = False
    parameters.verbosity = -1
    parameters.offline = True
    parameters.ui = parameters.endpoint_slots = parameters.endpoint_metrics = False
    parameters.api_keys = [secrets.token_urlsafe(32)]
    if os.name == "posix":
        parameters.hostnames = [os.path.join(folder, "llama.sock")]
    return parameters


def _refusal(error: Mapping[str, Any]) -> str:
    if error.get("type") == "exceed_context_size_error":
        return (
            f"the prompt has {error.get('n_prompt_tokens'):,} tokens, and the model holds {error.get('n_ctx'):,} "
            "(--context, if it was trained for more)"
        )
    return f"llama.cpp refused the call: {error.get('message') or error}"
