"""Judges by specification: `embedded`, `openai/MODEL`, `ollama/MODEL`, `anthropic/MODEL`, `local/PATH.gguf`, ….

A judge is one coroutine, `ask(question) -> Reply`. It tries once: it raises `JudgeFailure` when that call failed and
`JudgeRejection` when no call can succeed. Trying again, limits and storage are the runner's. Vendor code stays in here.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from jurybox.errors import JudgeSpecError, unknown_name
from jurybox.judges.base import Judge, Settings

__all__ = ["PROVIDERS", "Judge", "Settings", "make_judge"]

# What stands before the first slash of a specification -> the module whose `make(spec, rest, settings)` builds it.
PROVIDERS: Mapping[str, str] = {
    "embedded": "jurybox.judges.embedded",
    "openai": "jurybox.judges.openai",
    "ollama": "jurybox.judges.ollama",
    "anthropic": "jurybox.judges.anthropic",
    "local": "jurybox.judges.local",
    "vllm": "jurybox.judges.vllm",
    "baseline": "jurybox.judges.baselines",
    "replay": "jurybox.judges.replay",
}
# Those that are a whole specification by themselves.
ALONE = frozenset({"embedded"})


def make_judge(spec: str, settings: Settings) -> Judge:
    """The judge that a specification names. Raises `JudgeSpecError` before anything is asked."""
    provider, slash, rest = spec.partition("/")
    if provider not in PROVIDERS:
        raise JudgeSpecError(f"--judge {spec}: {unknown_name('judge', provider, PROVIDERS)}")
    if provider in ALONE and slash:
        raise JudgeSpecError(f"--judge {spec}: takes nothing behind it: --judge {provider}")
    if provider not in ALONE and not rest:
        raise JudgeSpecError(f"--judge {spec}: name what stands behind the slash, as in {provider}/NAME")
    judge: Judge = importlib.import_module(PROVIDERS[provider]).make(spec, rest, settings)
    return judge
